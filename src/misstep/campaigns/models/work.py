"""The work on a model: runs of the fuzzer, and verdicts and faults on the states of unsafe runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from misstep.campaigns.models.confirm import ask_again, contradictions_on, weigh_runs
from misstep.campaigns.models.retest import retest_states
from misstep.campaigns.models.risk import weigh_risks
from misstep.campaigns.models.room import FORGET_AFTER, room
from misstep.campaigns.models.witnesses import BatchWitnesses
from misstep.campaigns.rows import ContradictionRow, FaultRow, RunRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.units import Result, Unit, Work
from misstep.checking.shared import SharedStrategy
from misstep.errors import MisstepError, PolicyCrashError, PolicyTimeoutError
from misstep.policies.load import load_policy
from misstep.safety.decider import Answer, Decider, Stock
from misstep.safety.faults import Fault, PathReport, StepReport, analyse
from misstep.safety.fuzz import UnsafeRun, fuzz
from misstep.safety.jani import system_of
from misstep.safety.severity import ALL, NONE, severities
from misstep.safety.shared import Packed, UnionChecker
from misstep.safety.system import System
from misstep.safety.witness import check_run
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.verdicts import Effort

FUZZING_BYTES = 2**29  # of states met by runs; beyond, the next batch starts without them
VERDICTS = {Answer.SAFE: "BUG", Answer.NOT_SAFE: "NOT A BUG", Answer.UNKNOWN: "UNKNOWN"}
ANSWERS = {verdict: answer for answer, verdict in VERDICTS.items()}


class FuzzPayload(NamedTuple):
    first: int
    runs: int


class Fuzzed(NamedTuple):
    runs: tuple[RunRow, ...]  # unsafe ones
    ends: dict[str, int]  # how all runs ended, and what happened on the way


class Known(NamedTuple):
    """A state that an earlier round has decided."""

    verdict: str
    fault: bool | None
    better: int | None
    outcome: Values | None
    decision: int | None = None  # the one that is a fault


class JudgePayload(NamedTuple):
    oracle: str
    round: int
    runs: tuple[RunRow, ...]
    known: Mapping[Values, Known]  # states of these runs


class JudgedState(NamedTuple):
    state: Values
    run: int
    step: int
    verdict: VerdictRow  # its number is for the coordinator to say
    fault: bool | None
    strategy: int | None = None  # among those of the batch


class JudgedRuns(NamedTuple):
    states: tuple[JudgedState, ...]
    faults: tuple[FaultRow, ...]
    contradictions: tuple[ContradictionRow, ...]  # where the policy now says otherwise
    strategies: tuple[Packed, ...] = ()  # that the bugs rest on


class ModelWork(Work):
    """A model and its policy."""

    def __init__(
        self, task: AnyTask, settings: Settings, policy: Any, batch_size: int | None
    ) -> None:
        assert isinstance(task, JaniTask)
        self.task = task
        self.settings = settings
        self.own = settings.of_model
        self._source = policy
        self._batch_size = batch_size
        self._calls_before = 0  # on engines that are forgotten
        # In a retest: strategies of the other campaign that were read, None for one that does not hold.
        self.lent: dict[int, tuple[Packed, SharedStrategy | None]] = {}
        self._room = room()
        self._bind()

    def _bind(self) -> None:
        """Bind the policy to a new engine."""
        self.engine = self.task.new_engine()
        self.policy = load_policy(
            self._source, self.task, engine=self.engine, inapplicable=self.own.inapplicable
        )
        self.system: System[Values, str] = system_of(self.task, self.policy, self.engine)

    def _make_room(self) -> None:
        if self.engine.bytes + self.system.native.bytes > min(FUZZING_BYTES, self._room // 2):
            self._rebind()

    def stock(self) -> Stock:
        return Stock(self.own.open_evaluations)

    def decider(self, oracle: str, stock: Stock) -> Decider[Values, str]:
        """A new decider. States that need more memory than there is are left open."""
        budget = replace(self.own.budget, bytes=self._room)
        return Decider(self.system, oracle, budget=budget, stock=stock)

    def _is_crowded(self, decider: Decider[Values, str]) -> bool:
        own = decider.native.bytes + self.system.native.bytes
        return own >= self._room or own + self.engine.bytes > 2 * self._room

    def _rebind(self) -> None:
        self._calls_before += self.system.native.policy_calls
        self.policy.close()
        self._bind()

    @cached_property
    def checker(self) -> UnionChecker:
        """The independent checker of strategies, which has its own reader of models."""
        return UnionChecker(self.task)

    def close(self) -> None:
        self.policy.close()

    def do(self, unit: Unit, resources: Mapping[str, Any]) -> Result:  # noqa: ARG002
        began = perf_counter()
        before = self._calls()
        try:
            limits: tuple[str, ...] = ()
            remarks: tuple[str, ...] = ()
            content: Any
            if unit.job == "fuzz":
                content, remarks = self._fuzz(unit.payload)
            elif unit.job == "retest":
                self._make_room()
                content, limits = retest_states(self, unit.payload)
            elif unit.job == "risk":
                self._make_room()
                content, remarks = weigh_risks(self.task, self.policy, self.engine, unit.payload)
            elif unit.job == "weigh":
                content = weigh_runs(unit.payload)
            elif unit.job in ("ask", "sample", "often"):
                content = ask_again(self.system, unit.payload)
                self._calls_before += content.decisions
            else:
                content, limits = self._judge(unit.payload)
        except MisstepError as error:
            error.where = error.where or self.task.name
            raise
        return Result(content, perf_counter() - began, self._calls() - before, remarks, limits)

    def _calls(self) -> int:
        return self._calls_before + self.system.native.policy_calls

    # -- fuzzing ----------------------------------------------------------------------------------

    def _fuzz(self, payload: FuzzPayload) -> tuple[Fuzzed, tuple[str, ...]]:
        self._make_room()
        settings = self.own.fuzzing(payload.runs, self.settings.max_steps)
        began = perf_counter()
        found = fuzz(self.system, settings, seed=self.settings.seed, first=payload.first)
        seconds = (perf_counter() - began) / payload.runs
        runs = []
        for run in found.runs:
            assert run.number is not None
            labels = tuple(map(self.task.label_id, run.labels))
            runs.append(RunRow(run.number, "unsafe", None, labels, run.states, seconds=seconds))
        ends = {
            **found.ends,
            "unsafe starts": found.unsafe_starts,
            "cut lookaheads": found.cut_lookaheads,
        }
        remarks = [] if found.message is None else [f"the policy failed: {found.message}"]
        if payload.first == 0 and self.task.engine.initial_method == "searched":
            remarks.append(
                "start states are found by a random search, which finds some more often than others: there are too "
                "many to list, and random values are hardly ever start states"
            )
        return Fuzzed(tuple(runs), ends), tuple(remarks)

    # -- judging ----------------------------------------------------------------------------------

    def _judge(self, payload: JudgePayload) -> tuple[JudgedRuns, tuple[str, ...]]:
        """Judge a batch with a new decider, so that the result depends only on what was stored before."""
        self._make_room()
        witnesses = BatchWitnesses(self.checker, self.own.within)
        stock = self.stock()  # for the whole batch, even if it gets another decider
        decider, spent = self.decider(payload.oracle, stock), 0
        known = {state: self._report(state, own) for state, own in payload.known.items()}
        better = {state: own.better for state, own in payload.known.items()}  # of earlier rounds
        new: dict[Values, JudgedState] = {}
        faults: list[FaultRow] = []
        limits: list[str] = []
        contradictions: list[ContradictionRow] = []
        began = perf_counter()
        for row in payload.runs:
            assert row.states is not None
            started = perf_counter()
            fresh: list[tuple[StepReport[Values, str], float]] = []
            labels = tuple(self.task.labels[label] for label in row.operators)
            run = UnsafeRun(row.states, labels, row.number)
            differing = contradictions_on(self.system, row)
            contradictions += differing
            report = None if differing else self._analysed(decider, run, known, limits)
            if report is not None and self._is_crowded(decider) and _leaves_open(report):
                # The memory was full before everything was decided: try again with an empty decider.
                decider, spent = self._fresh(decider, witnesses, new, limits, payload.oracle), 0
                report = self._analysed(decider, run, known, limits)
            if report is None:
                decider = self.decider(payload.oracle, stock)
                report = _left_open(run, self.own.within, known)
            for step in report.steps:
                if step.state not in known:
                    if step.safety is Answer.SAFE:
                        witnesses.want(decider, step.state)
                    fresh.append((step, perf_counter() - began))
                    known[step.state] = step
                if step.fault is not None:
                    label = self.task.label_id(step.label)
                    earlier = payload.known.get(step.state)
                    if earlier is not None and earlier.decision not in (None, label):
                        first = earlier.decision
                        contradictions.append(ContradictionRow(step.state, first, label, 2))
                        continue
                    faults.append(
                        FaultRow(
                            row.number,
                            step.step,
                            step.state,
                            label,
                            better.get(step.state),
                            None,
                            None,
                            outcome=step.fault.outcome,
                        )
                    )
            # The work on one state of a run also decides others, so they share the time.
            seconds = (perf_counter() - started) / max(1, len(fresh))
            for step, at in fresh:
                new[step.state] = self._judged(payload, row.number, step, seconds, at)
            spent += sum(step.effort.evaluations for step in report.steps)
            if spent > FORGET_AFTER or self._is_crowded(decider):
                decider, spent = self._fresh(decider, witnesses, new, limits, payload.oracle), 0
        witnesses.rest(new, limits)
        faults = witnesses.blamed(faults)
        self._add_severity(decider, new, limits)
        unknown = sum(own.verdict.verdict == "UNKNOWN" for own in new.values())
        if unknown and not limits and not contradictions:
            limits.append(f"{unknown} states were left undecided by the budget of the oracle")
        judged_runs = JudgedRuns(
            tuple(new.values()), tuple(faults), tuple(contradictions), tuple(witnesses.strategies)
        )
        return judged_runs, tuple(limits)

    def _fresh(
        self,
        decider: Decider[Values, str],
        witnesses: BatchWitnesses,
        judged: dict[Values, JudgedState],
        limits: list[str],
        oracle: str,
    ) -> Decider[Values, str]:
        """A new decider on a new engine; the witnesses of the old decider are added first."""
        witnesses.settle(decider, judged, limits)
        self._rebind()
        assert decider.stock is not None
        return self.decider(oracle, decider.stock)

    def _analysed(
        self,
        decider: Decider[Values, str],
        run: UnsafeRun[Values, str],
        known: Mapping[Values, StepReport[Values, str]],
        limits: list[str],
    ) -> PathReport[Values, str] | None:
        """The analysis of a run; None if the policy fails, because its decisions are then unknown."""
        check_run(self.system, run)
        try:
            return analyse(decider, run, self.own.within, largest=None, known=known)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            limits.append(f"states were left undecided, because the policy failed: {error.what}")
        return None

    def _add_severity(
        self,
        decider: Decider[Values, str],
        new: dict[Values, JudgedState],
        limits: list[str],
    ) -> None:
        """Add the severity to the verdicts of one batch; they share a budget."""
        asked = {own.state: own.verdict for own in new.values() if self.has_severity(own.verdict)}
        spent = sum(own.verdict.evaluations for own in new.values())
        for state, verdict in self.with_severity(decider, asked, spent, limits).items():
            new[state] = new[state]._replace(verdict=verdict)

    def has_severity(self, verdict: VerdictRow) -> bool:
        """Whether to compute how many deviations avoid unsafe states."""
        if self.own.severity == NONE or (verdict.low, verdict.high) == (None, None):
            return False
        return verdict.is_bug or self.own.severity == ALL

    def with_severity(
        self,
        decider: Decider[Values, str],
        asked: Mapping[Values, VerdictRow],
        spent: int,
        limits: list[str],
    ) -> dict[Values, VerdictRow]:
        """Add the severity to verdicts on states with an unsafe run; the verdicts took `spent` evaluations."""
        if not asked:
            return {}
        budget = self.own.severity_evaluations(spent, len(asked))
        found = severities(decider, asked, self.own.largest, evaluations=budget)
        if found.failure is not None:
            limits.append(
                f"a radius was left undecided, because the policy failed: {found.failure}"
            )
        return {state: self._within(asked[state], *own) for state, own in found.radii.items()}

    def _within(self, verdict: VerdictRow, low: int, high: int | None) -> VerdictRow:
        """The verdict with its severity. A verdict within a finite radius also bounds the severity."""
        if self.own.within != math.inf:
            within = int(self.own.within)
            if verdict.is_bug and high is None:
                high = within
            elif verdict.verdict == "NOT A BUG":
                low = max(low, within + 1)
        return verdict._replace(low=low, high=high)

    def _report(self, state: Values, own: Known) -> StepReport[Values, str]:
        """The report of a known state, as if it had just been decided."""
        fault = None
        if own.fault and own.outcome is not None:
            fault = Fault(state, "", self.own.within, own.outcome)
        return StepReport(0, state, "", ANSWERS[own.verdict], own.fault, fault, None)

    def _judged(
        self,
        payload: JudgePayload,
        run: int,
        step: StepReport[Values, str],
        seconds: float,
        at: float,
    ) -> JudgedState:
        """The verdict on a state. The witnesses of bugs are added later, for the whole batch."""
        answer = step.safety
        verdict = self.verdict_row(
            payload.oracle,
            answer,
            self.radius_of(answer),
            payload.round,
            step.effort.evaluations,
            (seconds, at),
        )
        return JudgedState(step.state, run, step.step, verdict, step.is_fault)

    def verdict_row(
        self,
        oracle: str,
        answer: Answer,
        radius: tuple[int | None, int | None],
        round: int = 0,
        evaluations: int = 0,
        times: tuple[float, float] = (0.0, 0.0),
    ) -> VerdictRow:
        """The row of a verdict, without its number, which the coordinator assigns.

        A worker expands each state only once for all its units. So the number of expansions depends on earlier units
        and is left out; the number of evaluations does not.
        """
        seconds, at = times
        return VerdictRow(
            -1,
            oracle,
            round,
            VERDICTS[answer],
            "unsafe" if answer is Answer.SAFE else None,
            *radius,
            source=oracle if answer is not Answer.UNKNOWN else None,
            evaluations=evaluations,
            seconds=seconds,
            at=at,
        )

    def radius_of(self, answer: Answer) -> tuple[int | None, int | None]:
        """Bounds on the smallest radius that follow from the verdict; [0, infinity] if nothing follows."""
        if answer is not Answer.NOT_SAFE:
            return 0, None
        return (None, None) if self.own.within == math.inf else (int(self.own.within) + 1, None)


def _leaves_open(report: PathReport[Values, str]) -> bool:
    return any(step.safety is Answer.UNKNOWN or step.is_fault is None for step in report.steps)


def _left_open(
    run: UnsafeRun[Values, str], radius: float, known: Mapping[Values, StepReport[Values, str]]
) -> PathReport[Values, str]:
    """The result that only has what is known already."""
    steps = [
        known.get(state) or StepReport(0, state, label, Answer.UNKNOWN, None, None, None)
        for state, label in zip(run.states, run.labels, strict=False)
    ]
    return PathReport(
        run,
        radius,
        tuple(
            replace(own, step=step, label=run.labels[step], effort=Effort())
            for step, own in enumerate(steps)
        ),
    )


__all__ = [
    "FuzzPayload",
    "Fuzzed",
    "JudgePayload",
    "JudgedRuns",
    "JudgedState",
    "Known",
    "ModelWork",
]
