"""The work on a model: runs of the fuzzer, and verdicts and faults on the states of unsafe runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from misstep.campaigns.models.confirm import ask_again, contradictions_on, weigh_runs
from misstep.campaigns.models.retest import retest_states
from misstep.campaigns.models.risk import weigh_risks
from misstep.campaigns.rows import ContradictionRow, FaultRow, RunRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.units import Result, Unit, Work
from misstep.errors import MisstepError, PolicyCrashError, PolicyTimeoutError
from misstep.policies.load import load_policy
from misstep.safety.decider import Answer, Decider, Strategy
from misstep.safety.faults import Fault, PathReport, StepReport, analyse
from misstep.safety.fuzz import UnsafeRun, fuzz
from misstep.safety.jani import system_of
from misstep.safety.system import System
from misstep.safety.witness import check_run, check_strategy
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.verdicts import Effort

FUZZING_BYTES = 2**29  # of states met by runs; beyond, the next batch starts without them
LARGEST_STRATEGY = 20_000  # states; larger witnesses are checked, but not stored
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


class JudgedRuns(NamedTuple):
    states: tuple[JudgedState, ...]
    faults: tuple[FaultRow, ...]
    contradictions: tuple[ContradictionRow, ...]  # where the policy now says otherwise


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
        self._bind()

    def _bind(self) -> None:
        """The policy on an engine that has met no state."""
        self.engine = self.task.new_engine()
        self.policy = load_policy(
            self._source, self.task, engine=self.engine, inapplicable=self.own.inapplicable
        )
        self.system: System[Values, str] = system_of(self.task, self.policy, self.engine)

    def _make_room(self) -> None:
        if self.engine.bytes + self.system.native.bytes > FUZZING_BYTES:
            self._rebind()

    def _rebind(self) -> None:
        self._calls_before += self.system.native.policy_calls
        self.policy.close()
        self._bind()

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
                "start states are found by a random search, and some come up more often than others: there are too "
                "many to list, and next to none among values drawn at random"
            )
        return Fuzzed(tuple(runs), ends), tuple(remarks)

    # -- judging ----------------------------------------------------------------------------------

    def _judge(self, payload: JudgePayload) -> tuple[JudgedRuns, tuple[str, ...]]:
        """Each batch has a decider of its own, so that it depends on nothing but what was stored before it."""
        decider = Decider(self.system, payload.oracle, budget=self.own.budget)
        known = {state: self._report(state, own) for state, own in payload.known.items()}
        better = {state: own.better for state, own in payload.known.items()}
        new: dict[Values, JudgedState] = {}
        faults: list[FaultRow] = []
        limits: list[str] = []
        contradictions: list[ContradictionRow] = []
        began = perf_counter()
        for row in payload.runs:
            assert row.states is not None
            started = perf_counter()
            fresh: list[Values] = []
            labels = tuple(self.task.labels[label] for label in row.operators)
            run = UnsafeRun(row.states, labels, row.number)
            differing = contradictions_on(self.system, row)
            contradictions += differing
            report = None if differing else self._analysed(decider, run, known, limits)
            if report is None:
                decider = Decider(self.system, payload.oracle, budget=self.own.budget)
                report = _left_open(run, self.own.within, known)
            for step in report.steps:
                if step.state not in known:
                    at = perf_counter() - began
                    try:
                        judged, instead = self._judged(decider, payload, row.number, step, at)
                    except (PolicyCrashError, PolicyTimeoutError) as error:
                        limits.append(f"a state was left open, as the policy failed: {error.what}")
                        step = replace(step, safety=Answer.UNKNOWN, is_fault=None, fault=None)
                        judged, instead = self._judged(decider, payload, row.number, step, at)
                    new[step.state] = judged
                    fresh.append(step.state)
                    known[step.state] = step
                    better[step.state] = instead
                if step.fault is not None:
                    label = self.task.label_id(step.label)
                    faults.append(
                        FaultRow(
                            row.number,
                            step.step,
                            step.state,
                            label,
                            better[step.state],
                            None,
                            None,
                            outcome=step.fault.outcome,
                        )
                    )
            # What is found out about one state of a run answers for the others: they share the time.
            seconds = (perf_counter() - started) / max(1, len(fresh))
            for state in fresh:
                verdict = new[state].verdict._replace(seconds=seconds)
                new[state] = new[state]._replace(verdict=verdict)
        unknown = sum(own.verdict.verdict == "UNKNOWN" for own in new.values())
        if unknown and not limits and not contradictions:
            limits.append(f"{unknown} states were left open by the budget of the oracle")
        judged_runs = JudgedRuns(tuple(new.values()), tuple(faults), tuple(contradictions))
        return judged_runs, tuple(limits)

    def _analysed(
        self,
        decider: Decider[Values, str],
        run: UnsafeRun[Values, str],
        known: Mapping[Values, StepReport[Values, str]],
        limits: list[str],
    ) -> PathReport[Values, str] | None:
        """None if the policy fails, so that it cannot be said what it would do."""
        check_run(self.system, run)
        for largest in (self.own.largest, None):  # how severe a bug is takes asking the policy
            try:
                return analyse(decider, run, self.own.within, largest=largest, known=known)
            except (PolicyCrashError, PolicyTimeoutError) as error:
                what = "a radius was" if largest is not None else "states were"
                limits.append(f"{what} left open, as the policy failed: {error.what}")
        return None

    def _report(self, state: Values, own: Known) -> StepReport[Values, str]:
        """What is known of a state, as if it had just been decided."""
        fault = None
        if own.fault and own.outcome is not None:
            fault = Fault(state, "", self.own.within, own.outcome)
        return StepReport(0, state, "", ANSWERS[own.verdict], own.fault, fault, None)

    def _judged(
        self,
        decider: Decider[Values, str],
        payload: JudgePayload,
        run: int,
        step: StepReport[Values, str],
        at: float,
    ) -> tuple[JudgedState, int | None]:
        """The verdict, and what would have been better there."""
        found = better = None
        if step.safety is Answer.SAFE:
            found = decider.strategy(step.state, self.own.within)
            check_strategy(decider.system, found)  # no bug without a witness that holds
            better = self.task.label_id(found.labels[step.state])
        row = self.verdict_row(payload.oracle, step.safety, found, self.radius_of(step))
        verdict = row._replace(
            round=payload.round,
            # A state is expanded once for all questions that this worker is asked, so that their number depends on who
            # was asked what before. Evaluations do not.
            expansions=0,
            evaluations=step.effort.evaluations,
            at=at,
        )
        return JudgedState(step.state, run, step.step, verdict, step.is_fault), better

    def verdict_row(
        self,
        oracle: str,
        answer: Answer,
        found: Strategy[Values, str] | None,
        radius: tuple[int | None, int | None],
    ) -> VerdictRow:
        """Without a number, which is for the coordinator to say."""
        strategy = size = None
        if found is not None:
            size = len(found)
            if size <= LARGEST_STRATEGY:
                strategy = tuple(
                    (state, self.task.label_id(label)) for state, label in found.labels.items()
                )
        return VerdictRow(
            -1,
            oracle,
            0,
            VERDICTS[answer],
            "unsafe" if answer is Answer.SAFE else None,
            *radius,
            source=oracle if answer is not Answer.UNKNOWN else None,
            strategy=strategy,
            size=size,
        )

    def radius_of(self, step: StepReport[Values, str]) -> tuple[int | None, int | None]:
        """Between which numbers the smallest radius lies that makes the state safe."""
        smallest = step.smallest_radius
        if smallest is None:
            lost = step.safety is Answer.NOT_SAFE and self.own.within == math.inf
            return (None, None) if lost else (0, None)
        if smallest == math.inf:
            return self.own.largest + 1, None
        return int(smallest), int(smallest)


def _left_open(
    run: UnsafeRun[Values, str], radius: float, known: Mapping[Values, StepReport[Values, str]]
) -> PathReport[Values, str]:
    """Nothing but what is known already."""
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
