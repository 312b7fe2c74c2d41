"""The stage that asks the policy again, to find out whether it is a function of the state.

A verdict is a claim about a policy, but a campaign only sees runs. If the policy is not a function of the state, a run
is an accident, and a bug that rests on it is false. So before any decision is blamed, the policy is asked again about
every decision of a reported run and about one decision of each other run: later, in another order, in other batches, in
another process with another PYTHONHASHSEED, after loading it anew. Two different answers to one state are a
contradiction. It is stored with both answers, and every record whose run meets such a state is FLAKY.

    ask     the decisions of reported runs, and the sample
    weigh   which runs cross each other with different decisions, and which runs meet a contradiction
    often   if there is any contradiction: the bugs that are left, many more times, in two further processes
    weigh   once more

If more than a tenth of the repeated answers differ, the policy counts as not being a function of the state at all; so
does a policy that declares this itself. Native policies are functions of the state by construction and are not asked
again.

As in all stages, units are pure functions of the stored data, so a killed campaign can continue.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from misstep.campaigns.confirmed import (
    ASKED,
    ASKED_OFTEN,
    SAMPLED,
    withdrawn,
)
from misstep.campaigns.rows import ContradictionRow, Ids, RunRow, StateRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.tables import CONFIRM, CONFIRMED, Findings
from misstep.campaigns.units import Result, Stage, Unit
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.native import NativePolicy
from misstep.policies.policy import FAILED, NO_ACTION, Policy

ASK_UNIT = 50  # reported runs
SAMPLE_UNIT = 1000  # other runs
# A policy may also remember what it was asked before. So this many decisions of a unit are asked a second time in the
# same process, this many a third time, and so on.
REPEATED = (32, 8, 8, 8, 2, 2, 2, 2, 2)
OFTEN = 14  # times in each of two further processes: with the first two answers 30 in all
NO_FUNCTION = 0.1  # share of the decisions asked again that may differ
ENDS_WITHOUT_ANSWER = ("goal", "loop", "cut", "timeout", "unsafe", "safe")


@dataclass(frozen=True)
class Asking:
    """How to ask a policy again."""

    asks: bool = True  # whether asking it again makes sense
    deterministic: bool = True  # what it declares about itself
    memoryless: bool = True  # its runs may be compared with each other


def asking_of(policy: Policy | LabelPolicy, settings: Settings) -> Asking:
    if isinstance(policy, LabelPolicy):
        return Asking(not policy.native, policy.deterministic)
    avoids = settings.of_planning.revisit == "avoid"
    if isinstance(policy, NativePolicy):
        return Asking(asks=False)
    # For a policy that permits or draws from a set, the set has to stay the same; we choose which operator a run takes.
    sets = policy.set_valued or policy.stochastic
    return Asking(True, policy.deterministic or sets, not (sets or policy.plans or avoids))


class AskedRun(NamedTuple):
    """A run to ask about, at one of its steps or at all of them."""

    state: Values  # where it starts
    run: RunRow
    step: int | None
    graph: bool = False  # of a set-valued policy: a verdict rests on all its permitted runs


class AskPayload(NamedTuple):
    runs: tuple[AskedRun, ...]
    before: int  # how often each decision was asked for until now
    times: int
    salt: str  # of the order
    known: frozenset[Values]  # states that are contradicted already
    permitted: Mapping[
        Values, Ids
    ]  # of a set-valued policy: what it permitted, as far as it is stored


class Asked(NamedTuple):
    contradictions: tuple[ContradictionRow, ...]
    decisions: int  # distinct ones


class WeighPayload(NamedTuple):
    runs: tuple[tuple[Values, RunRow], ...]
    contradictions: tuple[ContradictionRow, ...]
    compare: bool  # whether runs that cross each other have to agree
    graphs: frozenset[int] = frozenset()  # runs with a verdict that rests on all permitted runs
    permitted: Mapping[Values, Ids] = {}


class Weighed(NamedTuple):
    crossing: tuple[ContradictionRow, ...]
    met: dict[int, int]  # run -> the last of its steps where the policy contradicts itself


Decisions = Sequence[tuple[Values, int]]
"""Of a run: each state where the policy was asked, and its answer."""


def answers_of(run: RunRow) -> list[int]:
    """What the policy said on a run, step by step."""
    answers = list(run.operators)
    if run.outcome not in ENDS_WITHOUT_ANSWER:
        last = {"stuck": NO_ACTION, "error": FAILED}.get(run.outcome, run.named)
        assert last is not None
        answers.append(last)
    return answers


def weigh(runs: Sequence[tuple[int, Decisions]], payload: WeighPayload) -> Weighed:
    """Compare runs with each other, and look which of them meet a contradiction. A run is given by number."""
    first: dict[Values, int] = {}
    crossing: dict[Values, ContradictionRow] = {}
    for _, decisions in runs if payload.compare else ():
        for state, answer in decisions:
            if first.setdefault(state, answer) != answer:
                crossing.setdefault(state, ContradictionRow(state, first[state], answer, 2))
    bad = {row.state for row in payload.contradictions} | crossing.keys()
    met = {}
    for number, decisions in runs if bad else ():
        steps = [step for step, (state, _) in enumerate(decisions) if state in bad]
        if steps:
            met[number] = steps[-1]
    return Weighed(tuple(crossing.values()), met)


class Questions:
    """The decisions that a unit asks about, their order and batches, and the answers."""

    def __init__(self, payload: AskPayload, runs: Sequence[Decisions]) -> None:
        self.payload = payload
        self.recorded: dict[Values, int] = {}
        self.found: dict[Values, ContradictionRow] = {}
        self.asked = 0
        for own, decisions in zip(payload.runs, runs, strict=True):
            for step, (state, answer) in enumerate(decisions):
                if own.step in (None, step) and state not in payload.known:
                    self.recorded.setdefault(state, answer)

    def batches(self, most: int) -> Iterator[list[Values]]:
        """States in batches of any size up to the largest, in another order each time."""
        times = self.payload.times
        repeated = REPEATED if times == 1 else ()
        for time in range(times + len(repeated)):
            order = random.Random(f"{self.payload.salt} {time}")
            left = [state for state in self.recorded if state not in self.found]
            order.shuffle(left)
            if time >= times:
                left = left[: min(repeated[time - times], 2 + len(left) // 10)]
            first = 0
            while first < len(left):
                size = order.randint((most + 1) // 2, most)
                yield left[first : first + size]
                first += size
            self.asked += 1

    def answered(self, states: Sequence[Values], answers: Sequence[int]) -> None:
        for state, second in zip(states, answers, strict=True):
            if second != self.recorded[state]:
                times = self.payload.before + self.asked + 1
                row = ContradictionRow(state, self.recorded[state], second, times)
                self.found.setdefault(state, row)

    def outcome(self) -> Asked:
        return Asked(tuple(self.found.values()), len(self.recorded))


class ConfirmStage(Stage):
    """Asks the policy again before its bugs count."""

    name = CONFIRM
    title = "asking again"

    def __init__(self, findings: Findings, asking: Asking, oracle: str, seed: int) -> None:
        super().__init__(findings)
        self.asking = asking
        self.oracle = oracle
        self.seed = seed
        self.asked = 0
        self.total = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        if not self.asking.asks:
            return
        if self.asking.deterministic:
            yield self._first()
        yield self._weigh()
        if self.asking.deterministic and self.findings.contradictions():
            yield self._often()
            yield self._weigh()

    # -- which units ------------------------------------------------------------------------------

    def _first(self) -> list[Unit]:
        """Units for runs that are new since the policy was last asked again."""
        whole, part = self.findings.marked(ASKED), self.findings.marked(SAMPLED)
        reported = self._reported()
        full = [own for own in self._runs() if own[1].number in reported - whole]
        rest = [own for own in self._runs() if own[1].number not in reported | whole | part]
        self.total = len(full) + len(rest)
        units = []
        for first in range(0, len(full), ASK_UNIT):
            members = self._members(full[first : first + ASK_UNIT])
            units.append(self._ask("ask", members, 1, 1, 1))
        for first in range(0, len(rest), SAMPLE_UNIT):
            chosen = [self._sampled(*own) for own in rest[first : first + SAMPLE_UNIT]]
            members = [own for own in chosen if own is not None]
            if members:
                units.append(self._ask("sample", members, 1, 1, 1))
        return units

    def _sampled(self, state: Values, run: RunRow) -> AskedRun | None:
        count = len(answers_of(run))
        if count == 0:
            return None
        draw = random.Random(f"{self.seed} {self.findings.name} {run.number}")
        return AskedRun(state, run, draw.randrange(count))

    def _often(self) -> list[Unit]:
        """Units for the remaining bugs, in two further processes."""
        done = self.findings.done(self.name)
        reported = self._reported() - self.findings.marked(ASKED_OFTEN)
        members = self._members([own for own in self._runs() if own[1].number in reported])
        self.asked, self.total = 0, 2 * len(members)
        units = []
        for first in range(0, len(members), ASK_UNIT):
            for process in (2, 3):
                before = 2 + OFTEN * (process - 2)
                part = members[first : first + ASK_UNIT]
                units.append(self._ask("often", part, before, OFTEN, process))
        return [unit for unit in units if unit.key not in done]

    def _members(self, runs: Sequence[tuple[Values, RunRow]]) -> list[AskedRun]:
        graphs = self._graphs()
        return [AskedRun(state, run, None, run.number in graphs) for state, run in runs]

    def _graphs(self) -> frozenset[int]:
        """Runs with a verdict that the run alone does not prove."""
        states = self.findings.states()
        return frozenset(
            states[row.number].run for row in self.findings.verdicts() if rests_on_graph(row)
        )

    def _ask(
        self, what: str, members: list[AskedRun], before: int, times: int, process: int
    ) -> Unit:
        first, last = members[0].run.number, members[-1].run.number
        key = f"{what} {process}: runs {first} to {last}"
        known = frozenset(row.state for row in self.findings.contradictions())
        salt = f"{self.seed} {self.findings.name} {key}"
        permitted = self.findings.permitted_sets()
        payload = AskPayload(tuple(members), before, times, salt, known, permitted)
        return Unit(self.findings.name, self.name, key, what, payload, process=process)

    def _weigh(self) -> list[Unit]:
        """The unit that weighs, unless it was done with the same runs, verdicts and contradictions.

        It compares all runs. On a model, those through known states only have no verdict, but they show decisions, too.
        """
        states, everything = self.findings.states(), self.findings.runs()
        judged = judged_runs(states, everything, self.findings.verdicts())
        runs, contradictions = with_starts(states, everything), self.findings.contradictions()
        count = f"{len(judged)} of {len(runs)} runs"
        key = f"weigh {self.oracle}: {count}, {len(contradictions)} contradictions"
        done = key in self.findings.done(self.name)
        if not judged or (done and not self._newly_confirmed(judged)):
            return []
        graphs, permitted = self._graphs(), self.findings.permitted_sets()
        payload = WeighPayload(
            tuple(runs), tuple(contradictions), self.asking.memoryless, graphs, permitted
        )
        return [Unit(self.findings.name, self.name, key, "weigh", payload)]

    def _runs(self) -> list[tuple[Values, RunRow]]:
        """All runs that a verdict rests on, each with its first state."""
        return judged_runs(self.findings.states(), self.findings.runs(), self.findings.verdicts())

    def _reported(self) -> set[int]:
        """Runs of bugs, and those on which the policy crashed."""
        states = self.findings.states()
        crashed = {run.number for run in self.findings.runs() if run.outcome == "error"}
        return {
            states[row.number].run
            for row in self.findings.verdicts()
            if row.is_bug or (row.verdict != "FLAKY" and states[row.number].run in crashed)
        }

    # -- what came of them ------------------------------------------------------------------------

    def keep(self, unit: Unit, result: Result) -> None:
        if unit.job == "weigh":
            self._apply(result.content)
            self.findings.mark_all_done(CONFIRMED, map(str, self._newly_confirmed(self._runs())))
            return
        asked: Asked = result.content
        payload: AskPayload = unit.payload
        self.findings.add_contradictions(asked.contradictions)
        self.asked += len(payload.runs)
        mark = {"ask": ASKED, "sample": SAMPLED}.get(unit.job)
        if unit.process == 3:
            mark = ASKED_OFTEN
        if mark is not None:
            for own in payload.runs:
                self.findings.mark_done(mark, str(own.run.number), 0.0, 0)

    def _apply(self, weighed: Weighed) -> None:
        """Verdicts that do not hold become FLAKY, and their faults are dropped."""
        findings = self.findings
        findings.add_contradictions(weighed.crossing)
        nothing = not self.asking.deterministic or is_no_function(findings)
        states = findings.states()
        # Of an undecided state the run is told, too: a retest would call it fixed if the run is good enough.
        late = (
            {run.number for run in findings.runs() if run.outcome == "timeout"} if nothing else ()
        )
        flaky = []
        for row in findings.verdicts():
            state = states[row.number]
            meets = state.step <= weighed.met.get(state.run, -1)
            if row.verdict != "FLAKY" and (meets or (nothing and state.run not in late)):
                flaky.append(made_flaky(row))
        findings.add_verdicts(flaky)
        for run, last in weighed.met.items():
            findings.drop_faults(run, last)
        if nothing:
            findings.forget_faults()

    def _newly_confirmed(self, runs: Sequence[tuple[Values, RunRow]]) -> list[int]:
        """The runs that were asked about, or on which the policy was asked nothing, and that are not marked yet."""
        marked = self.findings.marked
        asked, known = marked(ASKED) | marked(SAMPLED), marked(CONFIRMED)
        return [
            run.number
            for _, run in runs
            if run.number not in known and (run.number in asked or not answers_of(run))
        ]

    def progress(self) -> tuple[int, int | None]:
        return self.asked, self.total


def judged_runs(
    states: Sequence[StateRow], runs: Sequence[RunRow], verdicts: Sequence[VerdictRow]
) -> list[tuple[Values, RunRow]]:
    """The runs that a verdict rests on, each with its first state."""
    judged = {states[row.number].run for row in verdicts}
    return [own for own in with_starts(states, runs) if own[1].number in judged]


def with_starts(states: Sequence[StateRow], runs: Sequence[RunRow]) -> list[tuple[Values, RunRow]]:
    """Runs, each with its first state."""
    starts = {row.run: row.state for row in states}
    return [(starts[run.number] if run.states is None else run.states[0], run) for run in runs]


def is_no_function(findings: Findings) -> bool:
    """Whether the policy's answers differ so often that none of them is reliable."""
    return len(findings.contradictions()) > NO_FUNCTION * findings.asked_again()


def rests_on_graph(row: VerdictRow) -> bool:
    """Whether the verdict on a set-valued policy is about all permitted runs, or about the cheapest one."""
    if row.is_bug:
        return row.kind not in ("fails-some", "crash")
    return row.verdict == "OPTIMAL" and not row.is_unsolvable


def made_flaky(row: VerdictRow) -> VerdictRow:
    """The verdict on a run that cannot be relied on. What needs no run stays."""
    return row if row.is_unsolvable else withdrawn(row, "FLAKY")


__all__ = [
    "AskPayload",
    "Asked",
    "AskedRun",
    "Asking",
    "ConfirmStage",
    "Decisions",
    "Questions",
    "WeighPayload",
    "Weighed",
    "answers_of",
    "asking_of",
    "made_flaky",
    "rests_on_graph",
    "weigh",
]
