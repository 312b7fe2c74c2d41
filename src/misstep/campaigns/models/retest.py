"""Test a new policy from states that another campaign has recorded, over all outcomes.

All states that the policy can reach from a recorded state are explored (`safety.fuzz.envelope`):

    an unsafe state is met     the shortest run there is kept. The state is a bug if unsafe states can be avoided: the
                               strategy that the other campaign has kept shows it, once the checker has replayed it
                               against the model; where there is none, the oracle decides.
    all explored, none met     the policy is proven to be safe from there. Its decisions are the strategy that shows it,
                               kept where they are few.
    too many states            nothing is said.
    the policy fails           nothing is said, and it is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from misstep.campaigns.rows import LENT_ROUND, FaultRow, RunRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.strategies import add_strategies, packed_strategy
from misstep.campaigns.tables import Findings
from misstep.campaigns.units import Result, Stage, Unit
from misstep.checking.shared import LARGEST_STRATEGY, SharedStrategy, read_shared
from misstep.errors import InputFormatError, MisstepError, PolicyCrashError, PolicyTimeoutError
from misstep.safety.decider import Answer, Budget
from misstep.safety.faults import analyse
from misstep.safety.fuzz import Envelope, UnsafeRun, envelope
from misstep.safety.shared import Packed, Union
from misstep.safety.system import System, native_radius
from misstep.safety.witness import check_run

if TYPE_CHECKING:
    from misstep.campaigns.models.work import ModelWork

WITNESS, EXPLORED = "witness", "all runs"  # instead of the oracle that decided
SHOWN = 20  # steps that are shown of a run without a particular end
KEPT = 4  # strategies of the other campaign that are unpacked at one time
NO_STRATEGY = "a strategy of the other campaign does not hold, and was left out"
UNDECIDED = "states were left undecided, because the policy failed"
LARGEST_PROOF = 200  # states of a safe envelope that are kept


class RetestPayload(NamedTuple):
    oracle: str
    states: tuple[tuple[int, Values], ...]
    lent: Mapping[
        int, int
    ]  # of states: the numbers of the strategies that the other campaign has kept
    strategies: Mapping[int, Packed]  # by number


class Retested(NamedTuple):
    runs: tuple[RunRow, ...]
    verdicts: tuple[VerdictRow, ...]
    faults: tuple[FaultRow, ...]
    unsure: tuple[int, ...]  # bugs of which it is not known who is to blame
    ends: dict[str, int]
    strategies: tuple[Packed, ...] = ()  # made here
    resting: Mapping[int, int] = {}  # states on them, by number


class RetestStage(Stage):
    """Runs, verdicts and faults of the recorded states."""

    title = "testing again"

    def __init__(self, findings: Findings, settings: Settings) -> None:
        super().__init__(findings)
        self.settings = settings.of_model
        self.oracle = settings.oracle
        self.name = f"retest {settings.oracle}"
        self.size = findings.state_count()
        self.tested = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        done = self.findings.done(self.name)
        states = self.findings.states()
        lent = self.findings.knowledge(self.oracle, LENT_ROUND)
        units = []
        for first in range(0, len(states), self.settings.batch):
            own = states[first : first + self.settings.batch]
            key = f"{first} to {first + len(own) - 1}"
            if key in done:
                self.tested += len(own)
                continue
            kept = {row.number: lent[row.number].given for row in own if row.number in lent}
            members = tuple((row.number, row.state) for row in own)
            packed = {
                number: Packed(*packed_strategy(self.findings, number))
                for number in sorted(set(kept.values()))
            }
            payload = RetestPayload(self.oracle, members, kept, packed)
            units.append(Unit(self.findings.name, self.name, key, "retest", payload))
        yield units

    def keep(self, unit: Unit, result: Result) -> None:
        payload: RetestPayload = unit.payload
        found: Retested = result.content
        began = self.findings.clock()
        self.findings.add_runs(found.runs)
        made = add_strategies(self.findings, found.strategies)
        for row in found.verdicts:
            resting = found.resting.get(row.number)
            number = row.strategy if resting is None else made[resting]
            self.findings.add_verdicts([row._replace(at=began + row.at, strategy=number)])
        self.findings.add_faults(found.faults)
        self.findings.add_fuzzed(payload.states[0][0], len(payload.states), found.ends)
        for row in found.verdicts:
            if row.is_bug:
                self.findings.mark_done("blamed", str(row.number), 0.0, 0)
        for number in found.unsure:
            self.findings.mark_done(f"unsure {self.oracle}", str(number), 0.0, 0)
        self.tested += len(payload.states)

    def progress(self) -> tuple[int, int | None]:
        return self.tested, self.size


# -- what a worker does ---------------------------------------------------------------------------


def retest_states(work: ModelWork, payload: RetestPayload) -> tuple[Retested, tuple[str, ...]]:
    """Retest states with a new decider, so that a unit depends only on what was stored before it."""
    tester = _Tester(work, payload)
    for number, state in payload.states:
        tester.test(number, state)
    tester.rest()
    tester.add_severity()
    found = Retested(
        tuple(tester.runs),
        tuple(tester.verdicts),
        tuple(tester.faults),
        tuple(tester.unsure),
        dict(tester.ends),
        tuple(tester.strategies),
        tester.resting,
    )
    return found, tuple(tester.limits)


class _Tester:
    def __init__(self, work: ModelWork, payload: RetestPayload) -> None:
        self.work = work
        self.payload = payload
        self.system: System[Values, str] = work.system
        self.decider = work.decider(payload.oracle, work.stock())
        self.runs: list[RunRow] = []
        self.verdicts: list[VerdictRow] = []
        self.faults: list[FaultRow] = []
        self.unsure: list[int] = []
        self.limits: list[str] = []
        self.strategies: list[Packed] = []
        self.resting: dict[int, int] = {}
        self._lent_ones: dict[int, SharedStrategy | None] = {}  # None: it is none
        self._wanted: dict[int, Values] = {}  # bugs that the oracle has found
        self._safe: dict[int, Values] = {}  # where the policy is safe, and its decisions are few
        self.ends: Counter[str] = Counter()
        self.began = perf_counter()

    def test(self, number: int, state: Values) -> None:
        started = perf_counter()
        self._refuse_ends(number, state)
        budget = Budget(expansions=self.work.own.evaluations)
        try:
            found = envelope(self.system, [state], budget)
            run = found.run
            shown = shown_run(self.system, state) if run is None else (run.states, run.labels)
        except (PolicyCrashError, PolicyTimeoutError):
            failed = failing_run(self.system, state)
            verdict = VerdictRow(number, self.payload.oracle, 0, "UNKNOWN")
            self._keep(number, failed, started, verdict)
            return
        states, labels = shown
        if run is None and self.system.native.kind(self.system.id(states[-1])) == "unsafe":
            run = UnsafeRun(states, labels)  # it goes further than what the budget let explore
        if run is not None:
            self._judge(number, state, run, started)
        elif found.answer is Answer.SAFE:
            verdict = self._proven(number, state, found)
            self._keep(number, ("safe", states, labels, None), started, verdict)
        else:
            self.limits.append(
                "a state was left undecided: the policy can reach more states than may be explored"
            )
            verdict = VerdictRow(number, self.payload.oracle, 0, "UNKNOWN")
            self._keep(number, ("cut", states, labels, None), started, verdict)

    def _refuse_ends(self, number: int, state: Values) -> None:
        try:
            kind = self.system.native.kind(self.system.id(state))
        except MisstepError as error:
            raise InputFormatError(
                f"state {number}: {error.what}", where=self.work.task.name
            ) from error
        if kind in ("unsafe", "goal"):
            raise InputFormatError(
                f"state {number} is {kind}: no run begins there",
                where=self.work.task.name,
                hint="'misstep replay DIR' says what else is wrong with the campaign to test again",
            )

    def _keep(self, number: int, run: ShownRun, started: float, verdict: VerdictRow) -> None:
        outcome, states, labels, message = run
        self.ends[outcome] += 1
        ids = tuple(map(self.work.task.label_id, labels))
        seconds = perf_counter() - started
        own = RunRow(number, outcome, None, ids, states, message=message, seconds=seconds)
        self.runs.append(own)
        self.verdicts.append(verdict._replace(seconds=seconds, at=perf_counter() - self.began))

    def _proven(self, number: int, state: Values, found: Envelope[Values, str]) -> VerdictRow:
        """The verdict if no run of the policy is unsafe. Its decisions are kept as proof if there are only a few."""
        verdict = VerdictRow(
            number, self.payload.oracle, LENT_ROUND, "NOT A BUG", low=0, high=0, source=EXPLORED
        )
        if not found.stops and found.reached <= LARGEST_PROOF:
            self._safe[number] = state
        return verdict

    def rest(self) -> None:
        """Check and store one strategy for the bugs of the oracle, and one made of the policy's safe decisions."""
        checker, within = self.work.checker, self.work.own.within
        if self._wanted:
            try:
                union = checker.of_bugs(self.decider, list(self._wanted.values()), within)
                self._keep_strategy(union, self._wanted)
            except (PolicyCrashError, PolicyTimeoutError) as error:
                self.limits.append(f"{UNDECIDED}: {error.what}")
                self._leave_open(self._wanted.keys())
        if self._safe:
            decisions: dict[int, int] = {}
            for state in self._safe.values():
                decisions.update(decisions_from(self.system, state))
            ids = np.array(list(decisions), np.uint32)
            labels = np.array(list(decisions.values()), np.int64)
            starts = [self.system.id(state) for state in self._safe.values()]
            self._keep_strategy(checker.checked(self.system, ids, labels, starts, 0), self._safe)

    def _leave_open(self, numbers: Collection[int]) -> None:
        """Turn bugs without a witness into UNKNOWN."""
        self.verdicts = [
            VerdictRow(own.number, own.oracle, 0, "UNKNOWN", seconds=own.seconds, at=own.at)
            if own.number in numbers
            else own
            for own in self.verdicts
        ]
        self.faults = [own for own in self.faults if own.run not in numbers]

    def _keep_strategy(self, union: Union, states: Mapping[int, Values]) -> None:
        if len(union) <= LARGEST_STRATEGY:
            self.resting.update(dict.fromkeys(states, len(self.strategies)))
            self.strategies.append(union.packed())
            return
        for place, row in enumerate(self.verdicts):
            if row.number in states:
                self.verdicts[place] = row._replace(size=len(union))

    # -- unsafe runs ------------------------------------------------------------------------------

    def _judge(
        self, number: int, state: Values, run: UnsafeRun[Values, str], started: float
    ) -> None:
        check_run(self.system, run)
        lent, source, answer = self._lent(number, state), WITNESS, Answer.SAFE
        evaluations = 0
        if lent is None:
            source = self.payload.oracle
            answer, evaluations = self._decided(state)
            if answer is Answer.SAFE:
                self._wanted[number] = state
        verdict = self.work.verdict_row(self.payload.oracle, answer, self.work.radius_of(answer))
        verdict = verdict._replace(
            number=number,
            round=LENT_ROUND if source == WITNESS else 0,
            source=None if answer is Answer.UNKNOWN else source,
            evaluations=evaluations,
            strategy=lent,
        )
        if answer is Answer.SAFE:
            self._blame(number, run)
        self._keep(number, ("unsafe", run.states, run.labels, None), started, verdict)

    def _decided(self, state: Values) -> tuple[Answer, int]:
        """The oracle's answer and its evaluations. With a radius it asks the policy, which may fail."""
        try:
            decided = self.decider.decide(state, self.work.own.within)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            self.limits.append(f"{UNDECIDED}: {error.what}")
            return Answer.UNKNOWN, 0
        if decided.answer is Answer.UNKNOWN:
            self.limits.append("a state was left undecided by the budget of the oracle")
        return decided.answer, decided.effort.evaluations

    def _lent(self, number: int, state: Values) -> int | None:
        """The strategy of the other campaign, if it is valid, also within the radius of this policy."""
        lent = self.payload.lent.get(number)
        if lent is None:
            return None
        if lent not in self._lent_ones:
            self._lent_ones[lent] = self._read_lent(lent)
        strategy = self._lent_ones[lent]
        within = self.work.own.within
        if strategy is None:
            return None
        if state not in strategy.numbers:
            self.limits.append(NO_STRATEGY)
            return None
        try:
            near = within == math.inf or self.work.checker.accepted(
                self.system, strategy, [state], within
            )
        except (PolicyCrashError, PolicyTimeoutError):
            return None
        return lent if near else None

    def _read_lent(self, number: int) -> SharedStrategy | None:
        """Read and check a strategy, once for all states that rest on it; those of other units are kept, too."""
        packed, known = self.payload.strategies[number], self.work.lent
        if number not in known or known[number][0] != packed:
            while len(known) >= KEPT:
                del known[next(iter(known))]
            known[number] = packed, self._checked(packed)
        strategy = known[number][1]
        if strategy is None:
            self.limits.append(NO_STRATEGY)
        return strategy

    def _checked(self, packed: Packed) -> SharedStrategy | None:
        try:
            strategy = read_shared(packed.content, packed.states)
            if self.work.checker.accepted(self.system, strategy, [], math.inf):
                return strategy
        except (MisstepError, ValueError):
            pass
        return None

    def add_severity(self) -> None:
        """Add the severity to the verdicts on unsafe runs; they share a budget."""
        unsafe = {run.number for run in self.runs if run.outcome == "unsafe"}
        states = dict(self.payload.states)
        asked = {
            states[own.number]: own
            for own in self.verdicts
            if own.number in unsafe and self.work.has_severity(own)
        }
        spent = sum(own.evaluations for own in self.verdicts)
        found = self.work.with_severity(self.decider, asked, spent, self.limits)
        by_number = {own.number: own for own in found.values()}
        self.verdicts = [by_number.get(own.number, own) for own in self.verdicts]

    def _blame(self, number: int, run: UnsafeRun[Values, str]) -> None:
        try:
            self.faults += self._faults(number, run)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            self.limits.append(f"no decision is blamed, because the policy failed: {error.what}")
            self.unsure.append(number)

    def _faults(self, number: int, run: UnsafeRun[Values, str]) -> list[FaultRow]:
        report = analyse(self.decider, run, self.work.own.within, largest=None)
        found = []
        for step in report.steps:
            if step.fault is None:
                continue
            here = [self.system.id(step.state)]
            within = native_radius(self.work.own.within)
            better = int(self.decider.native.strategy_of_all(here, within)[1][0])
            label = self.work.task.label_id
            found.append(
                FaultRow(
                    number,
                    step.step,
                    step.state,
                    label(step.label),
                    better,
                    None,
                    None,
                    outcome=step.fault.outcome,
                )
            )
        if any(step.is_fault is None for step in report.steps):
            self.unsure.append(number)
        return found


ShownRun = tuple[str, tuple[Values, ...], tuple[str, ...], str | None]
"""Outcome, states, labels, and what the policy said."""


def shown_run(
    system: System[Values, str], state: Values
) -> tuple[tuple[Values, ...], tuple[str, ...]]:
    """The beginning of one of the policy's runs, which takes the first outcome each time."""
    native = system.native
    ids = [system.id(state)]
    labels: list[int] = []
    while len(labels) < SHOWN:
        outcomes = native.policy_outcomes(ids[-1])
        decision = native.decision(ids[-1]) if outcomes else None
        if decision is None:
            break
        labels.append(decision)
        ids.append(outcomes[0])
        if outcomes[0] in ids[:-1] or native.kind(outcomes[0]) != "open":
            break
    return system.states(ids), system.labels(labels)


def failing_run(system: System[Values, str], state: Values) -> ShownRun:
    """The shortest run to a state where the policy does not answer."""
    native = system.native
    start = system.id(state)
    came_from: dict[int, int | None] = {start: None}
    reached = [start]
    for here in reached:  # grows
        if native.kind(here) != "open":
            continue
        try:
            outcomes = native.policy_outcomes(here)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            path: list[int] = []
            at: int | None = here
            while at is not None:
                path.append(at)
                at = came_from[at]
            path.reverse()
            labels = [label for own in path[:-1] if (label := native.decision(own)) is not None]
            outcome = "timeout" if isinstance(error, PolicyTimeoutError) else "error"
            return outcome, system.states(path), system.labels(labels), error.what
        for outcome_id in outcomes:
            if outcome_id not in came_from:
                came_from[outcome_id] = here
                reached.append(outcome_id)
    return "timeout", (state,), (), "the policy failed once, and answered when it was asked again"


def decisions_from(system: System[Values, str], state: Values) -> dict[int, int]:
    """The policy's decision in each state that it can reach, by ids."""
    native = system.native
    reached = [system.id(state)]
    seen = set(reached)
    decisions: dict[int, int] = {}
    for here in reached:  # grows
        if native.kind(here) != "open":
            continue
        outcomes = native.policy_outcomes(here)
        label = native.decision(here) if outcomes else None
        if label is None:
            continue
        decisions[here] = label
        for outcome in outcomes:
            if outcome not in seen:
                seen.add(outcome)
                reached.append(outcome)
    return decisions


__all__ = ["RetestPayload", "RetestStage", "Retested", "retest_states"]
