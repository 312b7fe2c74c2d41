"""Make records from the rows of the store.

Each oracle that judged has its own verdict; the record takes the best of them. A verdict is a proof, so two decided
verdicts never contradict each other, and the better one of two bugs is the one that proves more.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from misstep.campaigns.database import uncollected
from misstep.campaigns.nature import read_nature
from misstep.campaigns.parts import Part, read_alone, read_parts
from misstep.campaigns.records import (
    Contradiction,
    Decision,
    Effort,
    Fault,
    Found,
    Interval,
    Operators,
    Opinion,
    Permitted,
    Record,
    Run,
    Times,
    Witness,
)
from misstep.campaigns.risks import RiskRow, read_risks
from misstep.campaigns.rows import (
    ContradictionRow,
    FaultRow,
    Ids,
    RunRow,
    StateRow,
    Values,
    VerdictRow,
)
from misstep.campaigns.shared import SharedStrategies
from misstep.campaigns.signatures import family_of
from misstep.campaigns.states import check_values, state_of
from misstep.campaigns.tables import Content, Findings
from misstep.campaigns.unasked import Unasked, read_unasked
from misstep.errors import InputFormatError
from misstep.oracles import values
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task


def read_records(content: Content, task: str, *, brief: bool = False) -> Iterator[Record]:
    """The records of a task, in the order of their numbers: one for each state with a verdict.

    With `brief`, facts, names and walks are left out, which halves the time for thousands of records.
    """
    view = make_view(content.task(task), content.findings(task))
    view.brief = brief
    yield from view.records()


def read_record(content: Content, task: str, number: int) -> Record | None:
    """One record, read without the others; None if there is no state of this number with a verdict."""
    return make_view(content.task(task), content.findings(task)).alone_if_there(number)


def make_view(task: AnyTask, findings: Findings) -> View:
    return ModelView(task, findings) if isinstance(task, JaniTask) else PlanningView(task, findings)


class View(ABC):
    """What records of planning tasks and models share: the choice of the verdict, and common parts."""

    world: str
    names: Sequence[str]  # of operators or labels
    brief = False

    def __init__(self, task: AnyTask, findings: Findings) -> None:
        self.where = findings.store.path
        self.name = task.name
        self.findings = findings
        self.states: dict[
            int, StateRow
        ] = {}  # also those of earlier parts: walks lead through them
        self.runs: dict[int, RunRow] = {}
        self.verdicts: dict[int, list[VerdictRow]] = {}
        self.best: dict[int, VerdictRow] = {}
        self.faults: dict[int, list[FaultRow]] = {}
        self.blamed: set[int] = set()
        self.version: tuple[int, int] | None = None  # of the store, when that was read
        self.chooser: str | None = None
        self.contradicted: dict[Values, ContradictionRow] = {}
        self.unasked: Unasked | None = None
        # Facts of the states of `faults`, by the identity of the row: a run may lead through many records.
        self.said: dict[int, tuple[str, ...]] = {}

    def take(self, part: Part) -> None:
        """Use the rows of a part for the next records."""
        self.states.update((state.number, state) for state in part.states)
        self.runs = {run.number: run for run in part.runs}
        version = self.findings.store.version
        if version != self.version:
            self.version = version
            self.read_common()
        verdicts: Iterable[VerdictRow] = part.verdicts
        if self.unasked is not None:
            verdicts = self.unasked.left(verdicts, self.states, self.runs)
        self.verdicts = {}
        for verdict in verdicts:
            self.verdicts.setdefault(verdict.number, []).append(verdict)
        self.best = {number: _best_of(own) for number, own in self.verdicts.items()}
        self.faults = {}
        for fault in part.faults:
            self.faults.setdefault(fault.run, []).append(fault)
        self.said = {}
        self.blamed = part.blamed

    def read_common(self) -> None:
        """Read what all parts share; again only if something was written meanwhile."""
        self.chooser = read_nature(self.findings.store).pair
        self.contradicted = {row.state: row for row in self.findings.contradictions()}
        self.unasked = read_unasked(self.findings)

    def records(self) -> Iterator[Record]:
        for part in read_parts(self.findings):
            self.take(part)
            with uncollected():
                made = [self.record(own) for own in part.states if own.number in self.verdicts]
            yield from made

    def alone(self, number: int) -> Record:
        """One record, read without the others."""
        with self.findings.store.snapshot():
            self.take(read_alone(self.findings, number))
        return self.record(self.states[number])

    def alone_if_there(self, number: int) -> Record | None:
        """The same of a number that somebody has typed."""
        with self.findings.store.snapshot():
            part = read_alone(self.findings, number)
        if not any(own.number == number for own in part.verdicts):
            return None
        self.take(part)
        return self.record(self.states[number])

    def record(self, state: StateRow) -> Record:
        if state.run not in self.runs:
            raise InputFormatError(f"state {state.number} has no run", where=self.where)
        row, verdicts = self.runs[state.run], self.verdicts[state.number]
        best = self.best[state.number]
        opinions = tuple(map(self.opinion, verdicts))
        own = opinions[verdicts.index(best)]
        blamed = state.number in self.blamed and own.is_bug
        faults = tuple(self.fault(row, state.step)) if blamed else None
        return Record(
            id=f"{self.name}:{state.number}",
            world=self.world,
            task=self.name,
            number=state.number,
            state=state.state,
            facts=() if self.brief else self.facts(state.state),
            found=self.found(state),
            run=self.run(row, state.step),
            chooser=self.chooser,
            verdict=own.verdict,
            kind=own.kind,
            gap=own.gap,
            radius=own.radius,
            bounds=own.bounds,
            witness=own.witness,
            oracle=own.oracle,
            source=own.source,
            verdicts=opinions,
            faults=faults,
            family=family_of(faults),
            contradictions=tuple(self.contradictions(state, row)) if own.verdict == "FLAKY" else (),
            effort=Effort(
                sum([v.expansions for v in verdicts]), sum([v.evaluations for v in verdicts])
            ),
            times=Times(state.seconds, row.seconds, sum([v.seconds for v in verdicts])),
            at=own.at,
            fuzzing_bug=None if self.brief else self.fuzzing_bug(state, best),
        )

    # -- parts ------------------------------------------------------------------------------------

    @abstractmethod
    def facts(self, state: Values) -> tuple[str, ...]: ...

    @abstractmethod
    def found(self, state: StateRow) -> Found: ...

    @abstractmethod
    def run(self, row: RunRow, step: int) -> Run: ...

    @abstractmethod
    def opinion(self, verdict: VerdictRow) -> Opinion: ...

    def fuzzing_bug(self, state: StateRow, verdict: VerdictRow) -> bool | None:  # noqa: ARG002
        return None

    def fault(self, run: RunRow, first: int) -> Iterator[Fault]:
        for fault in self.faults.get(run.number, ()):
            if fault.step >= first:
                said = self.said.get(id(fault))
                if said is None:
                    said = () if self.brief else self.facts(fault.state)
                    self.said[id(fault)] = said
                yield Fault(
                    fault.step - first,
                    fault.state,
                    said,
                    self.decision(fault.decision),
                    self.decision(fault.better),
                    (fault.low, fault.high),
                    fault.share,
                    fault.recurring,
                    fault.outcome,
                )

    @abstractmethod
    def passed(self, state: StateRow, row: RunRow) -> Iterator[Values]:
        """The states of a run, from one of them on."""

    def contradictions(self, state: StateRow, row: RunRow) -> Iterator[Contradiction]:
        seen: set[Values] = set()
        for step, here in enumerate(self.passed(state, row) if self.contradicted else ()):
            own = self.contradicted.get(here)
            if own is not None and here not in seen:
                seen.add(here)
                first, second = self.answer(own.first), self.answer(own.second)
                yield Contradiction(step, here, self.facts(here), first, second, own.asked)

    def answer(self, operator: int) -> Decision:
        """An operator, or what the policy did instead of choosing one."""
        return Decision(operator, INSTEAD.get(operator) or self.name_of(operator))

    def decision(self, operator: int | None) -> Decision | None:
        return None if operator is None else Decision(operator, self.name_of(operator))

    def name_of(self, operator: int) -> str:
        if not 0 <= operator < len(self.names):
            raise InputFormatError(f"no operator has the id {operator}", where=self.where)
        return self.names[operator]

    def names_of(self, operators: Ids) -> tuple[str, ...]:
        if not operators:
            return ()
        self.name_of(min(operators))
        self.name_of(max(operators))
        return () if self.brief else tuple(map(self.names.__getitem__, operators))


# The answers of a policy that are not operators, by the numbers of `misstep.policies.policy`.
INSTEAD = {-1: "no action", -2: "a crash", -4: "no answer in time"}


class PlanningView(View):
    world = "planning"

    def __init__(self, task: AnyTask, findings: Findings) -> None:
        assert isinstance(task, Task)
        super().__init__(task, findings)
        self.task = task
        self.names = task.operator_names
        self.costs = [task.cost(op) for op in range(task.operator_count)]
        self.gaps: dict[int, values.Interval] = {}  # of all states that came up

    def take(self, part: Part) -> None:
        super().take(part)
        if self.brief:
            return
        self.gaps.update((number, _gap(best)) for number, best in self.best.items())

    def facts(self, state: Values) -> tuple[str, ...]:
        check_values(self.task, state, self.where)
        # As `Task.facts`; the values are whole numbers, as that was checked.
        found = [
            atoms[int(value)] for atoms, value in zip(self.task.atom_names, state, strict=True)
        ]
        return tuple(atom for atom in found if atom is not None)

    def found(self, state: StateRow) -> Found:
        walk = None if self.brief else whole_walk(self.states, state)
        names = None if walk is None else Operators(walk, self.names_of(walk))
        return Found(names, state.reference, state.iteration, None, None)

    def run(self, row: RunRow, step: int) -> Run:  # noqa: ARG002
        names = self.names_of(row.operators)
        known = row.permitted
        return Run(
            row.outcome,
            row.operators,
            names,
            row.cost,
            None,
            row.message,
            None if known is None else Permitted(known.closed, known.least, known.most),
            None if known is None else known.risk,
        )

    def passed(self, state: StateRow, row: RunRow) -> Iterator[Values]:
        here = state_of(self.task, state.state, self.where)
        yield here.values
        for operator in row.operators:
            try:
                here = self.task.apply(here, operator)
            except (ValueError, IndexError, TypeError) as error:
                raise InputFormatError(f"run {row.number}: {error}", where=self.where) from None
            yield here.values

    def opinion(self, verdict: VerdictRow) -> Opinion:
        return Opinion(
            verdict.oracle,
            verdict.source,
            verdict.verdict,
            verdict.kind,
            (verdict.low, verdict.high),
            None,
            (verdict.lower, verdict.upper),
            self.witness(verdict),
            Effort(verdict.expansions, verdict.evaluations),
            verdict.seconds,
            verdict.at,
        )

    def witness(self, verdict: VerdictRow) -> Witness:
        plan, steps = verdict.plan, verdict.derivation
        for step in steps or ():
            self.check_step(step)
        return Witness(
            "derivation" if steps is not None else "none" if plan is None else "plan",
            plan,
            None if plan is None else self.names_of(plan),
            None if plan is None else sum(map(self.costs.__getitem__, plan)),
            steps,
            None if steps is None else verdict.upper,
            None,
            None,
        )

    def check_step(self, step: dict[str, Any]) -> None:
        """Refuse invalid steps of a derivation. A step is an operator, or a jump with the value of each factor."""
        if "operator" in step:
            operator = step["operator"]
            if type(operator) is not int or self.name_of(operator) != step.get("name"):
                raise InputFormatError("a derivation with a strange operator", where=self.where)
            return
        state, value, factors = step.get("state"), step.get("value"), step.get("factors")
        if not isinstance(state, list) or type(value) is not int or not isinstance(factors, list):
            raise InputFormatError("a derivation with a strange step", where=self.where)
        state_of(self.task, tuple(state), self.where)
        for factor in factors:
            variables = factor.get("variables") if isinstance(factor, dict) else None
            known = range(len(state))
            if (
                not isinstance(variables, list)
                or not all(type(v) is int and v in known for v in variables)
                or type(factor.get("value")) is not int
            ):
                raise InputFormatError("a derivation with a strange factor", where=self.where)

    def fuzzing_bug(self, state: StateRow, verdict: VerdictRow) -> bool | None:
        if state.reference is None or state.reference not in self.gaps:
            return None
        return _gap(verdict).is_above(self.gaps[state.reference])


class ModelView(View):
    world = "model"

    def __init__(self, task: AnyTask, findings: Findings) -> None:
        assert isinstance(task, JaniTask)
        super().__init__(task, findings)
        self.task = task
        self.names = task.labels
        self.shared = SharedStrategies(task, findings)
        self.risks: dict[int, RiskRow] = {}

    def read_common(self) -> None:
        super().read_common()
        self.risks = read_risks(self.findings)

    def record(self, state: StateRow) -> Record:
        found, risk = super().record(state), self.risks.get(state.number)
        if risk is None:
            return found
        run = replace(found.run, risk=risk.policy, least_risk=risk.least, avoidable=risk.avoidable)
        return replace(found, run=run)

    def facts(self, state: Values) -> tuple[str, ...]:
        return tuple(self.task.text(state).split(", "))

    def found(self, state: StateRow) -> Found:
        return Found(None, None, None, state.run, state.step)

    def run(self, row: RunRow, step: int) -> Run:
        labels, states = row.operators[step:], row.states
        if states is None or len(states) != len(row.operators) + 1:
            raise InputFormatError(f"run {row.number} does not say its states", where=self.where)
        return Run(row.outcome, labels, self.names_of(labels), None, states[step:], row.message)

    def passed(self, state: StateRow, row: RunRow) -> Iterator[Values]:
        return iter((row.states or ())[state.step :])

    def opinion(self, verdict: VerdictRow) -> Opinion:
        return Opinion(
            verdict.oracle,
            verdict.source,
            verdict.verdict,
            verdict.kind,
            None,
            radius_of(verdict),
            None,
            self.witness(verdict),
            Effort(verdict.expansions, verdict.evaluations),
            verdict.seconds,
            verdict.at,
        )

    def witness(self, verdict: VerdictRow) -> Witness:
        if verdict.strategy is not None:
            return self.shared.witness(verdict.strategy, self.states[verdict.number].state)
        kind = "none" if verdict.size is None else "strategy"
        return Witness(kind, None, None, None, None, None, None, verdict.size)


def radius_of(verdict: VerdictRow) -> Interval | None:
    """How many deviations avoid unsafe states; None if this was not computed or is not known."""
    radius = (verdict.low, verdict.high)
    return None if radius == (0, None) else radius


def rank(verdict: VerdictRow) -> tuple[float, ...]:
    """A rank of verdicts: the higher, the more is proven."""
    low, high, upper = (
        math.inf if bound is None else bound for bound in (verdict.low, verdict.high, verdict.upper)
    )
    # A FLAKY state stays FLAKY, whatever else an oracle has proven about that run.
    decided = {"UNKNOWN": 0, "FLAKY": 2}.get(verdict.verdict, 1)
    return decided, low, -high, -upper, verdict.derivation is None


def _best_of(verdicts: Sequence[VerdictRow]) -> VerdictRow:
    """The best verdict, the first one of equals."""
    return verdicts[0] if len(verdicts) == 1 else max(verdicts, key=rank)


def _gap(verdict: VerdictRow) -> values.Interval:
    low, high = verdict.low, verdict.high
    return values.Interval(math.inf if low is None else low, math.inf if high is None else high)


def whole_walk(states: Mapping[int, StateRow] | Sequence[StateRow], state: StateRow) -> Ids | None:
    """The walk from the initial state, through the reference states; None if it does not begin there.

    With the walk from the reference state alone, a reader who has only this record could not follow it.
    """
    walks = []
    while state.reference is not None:
        walks.append(state.walk)
        state = states[state.reference]
    if state.number != 0:
        return None
    return tuple(chain.from_iterable(reversed(walks)))


__all__ = [
    "PlanningView",
    "View",
    "make_view",
    "radius_of",
    "rank",
    "read_record",
    "read_records",
    "whole_walk",
]
