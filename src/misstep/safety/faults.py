"""Find the decisions of an unsafe run that lost safety.

A fault is a safe state where the policy takes a label that has an outcome that is not safe; the run need not have
passed that outcome. A run from a safe state into an unsafe one has at least one fault, and may have several, since
outcomes can lead back to safe states. A run has no fault if all its states are lost: the fault was made before.

Runs are analysed from their end: states near the end are decided quickly, and the results answer most questions about
earlier states. With a finite radius r, an r-fault leads from an r-safe state to one that is not r-safe. This notion is
neither weaker nor stronger than a fault: an r-fault may come later, and more than r deviations may still repair it.
Reports say which of the two they mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic

from misstep.safety.decider import Answer, Decider, effort_of
from misstep.safety.fuzz import UnsafeRun
from misstep.safety.system import LabelT, Radius, StateT, native_radius
from misstep.verdicts import Effort

_SAFE, _NOT_SAFE = Answer.SAFE.value, Answer.NOT_SAFE.value  # as the core says it


@dataclass(frozen=True)
class Fault(Generic[StateT, LabelT]):
    """The policy's decision in a state that is safe within the radius, with an outcome that is not."""

    state: StateT
    label: LabelT
    radius: Radius
    outcome: StateT = field(compare=False)  # a different path may show another one

    @property
    def kind(self) -> str:
        return "fault" if self.radius == math.inf else f"{int(self.radius)}-fault"


@dataclass(frozen=True)
class StepReport(Generic[StateT, LabelT]):
    """One decision of a run. Its state is a bug exactly if it is safe, because the run is unsafe."""

    step: int
    state: StateT
    label: LabelT
    safety: Answer  # within the radius of the analysis
    is_fault: bool | None  # None: not known
    fault: Fault[StateT, LabelT] | None
    smallest_radius: Radius | None  # the severity of the bug; None: not safe, or not known
    effort: Effort = field(default_factory=Effort, compare=False)


@dataclass(frozen=True)
class PathReport(Generic[StateT, LabelT]):
    run: UnsafeRun[StateT, LabelT]
    radius: Radius
    steps: tuple[StepReport[StateT, LabelT], ...]

    @property
    def faults(self) -> tuple[Fault[StateT, LabelT], ...]:
        """Distinct ones, in the order of the run."""
        return tuple(dict.fromkeys(step.fault for step in self.steps if step.fault is not None))

    @property
    def is_complete(self) -> bool:
        return all(step.is_fault is not None for step in self.steps)


@dataclass(frozen=True)
class FaultReport(Generic[StateT, LabelT]):
    """Many runs: each fault once, with the runs that pass it."""

    radius: Radius
    paths: tuple[PathReport[StateT, LabelT], ...]
    faults: dict[Fault[StateT, LabelT], tuple[int, ...]]  # indices of paths
    bugs: dict[StateT, Radius | None]  # bug states with their smallest radius
    effort: Effort = field(default_factory=Effort, compare=False)


def analyse(
    decider: Decider[StateT, LabelT],
    run: UnsafeRun[StateT, LabelT],
    radius: Radius = math.inf,
    *,
    largest: int | None = 2,
    known: Mapping[StateT, StepReport[StateT, LabelT]] | None = None,
) -> PathReport[StateT, LabelT]:
    """The faults of an unsafe run, and the severity of its bugs: the least radius up to `largest` (None: not asked
    for). Of states in `known` the reports of earlier analyses with the same radius are taken, and cost nothing."""
    ids = [decider.system.id(state) for state in run.states]
    found: dict[StateT, StepReport[StateT, LabelT]] = {}  # runs may pass a state more than once
    steps: list[StepReport[StateT, LabelT]] = []
    for i in reversed(range(len(run.labels))):
        state, label = run.states[i], run.labels[i]
        report = found.get(state) or (known or {}).get(state)
        if report is None:
            report = found[state] = _look_at(decider, run, ids, i, radius, largest)
            steps.append(report)
            continue
        # The policy is a function of the state: whoever reported it before, the label is the same.
        fault = None if report.fault is None else replace(report.fault, label=label)
        steps.append(replace(report, step=i, label=label, fault=fault, effort=Effort()))
    return PathReport(run, radius, tuple(reversed(steps)))


def _look_at(
    decider: Decider[StateT, LabelT],
    run: UnsafeRun[StateT, LabelT],
    ids: list[int],
    i: int,
    radius: Radius,
    largest: int | None,
) -> StepReport[StateT, LabelT]:
    state, label = run.states[i], run.labels[i]
    decision = decider.decide_id(ids[i], radius)
    effort = effort_of(decision)
    safety = Answer(decision.answer)
    is_fault: bool | None = False if safety is Answer.NOT_SAFE else None
    fault = None
    if safety is Answer.SAFE:
        is_fault, lost, spent = _losing_outcome(decider, ids[i], ids[i + 1], radius)
        effort += spent
        if lost is not None:
            fault = Fault(state, label, radius, decider.system.state(lost))
    smallest = None
    if largest is not None and not (safety is Answer.NOT_SAFE and radius == math.inf):
        smallest, asked = decider.smallest_radius(state, largest)
        effort += asked.effort
    return StepReport(i, state, label, safety, is_fault, fault, smallest, effort)


def _losing_outcome(
    decider: Decider[StateT, LabelT], id: int, passed: int, radius: Radius
) -> tuple[bool | None, int | None, Effort]:
    """Whether an outcome of the policy's decision is not safe, and which. The one that the run passed was decided
    before."""
    effort = Effort()
    bound, known = native_radius(radius), decider.native.known
    asked = []
    others = decider.system.native.policy_outcomes(id)
    for outcome in (passed, *(own for own in others if own != passed)):
        answer = known(outcome, bound)
        if answer == _NOT_SAFE:  # one that is known to be lost settles the question
            return True, outcome, effort
        if answer != _SAFE:
            asked.append(outcome)
    unknown = False
    for outcome in asked:
        decision = decider.decide_id(outcome, radius)
        effort += effort_of(decision)
        if decision.answer == _NOT_SAFE:
            return True, outcome, effort
        unknown = unknown or decision.answer != _SAFE
    return None if unknown else False, None, effort


def analyse_all(
    decider: Decider[StateT, LabelT],
    runs: Iterable[UnsafeRun[StateT, LabelT]],
    radius: Radius = math.inf,
    *,
    largest: int | None = 2,
) -> FaultReport[StateT, LabelT]:
    """All runs, with everything that is found out about one of them at hand for the next."""
    paths: list[PathReport[StateT, LabelT]] = []
    faults: dict[Fault[StateT, LabelT], list[int]] = {}
    bugs: dict[StateT, Radius | None] = {}
    effort = Effort()
    for number, run in enumerate(runs):
        path = analyse(decider, run, radius, largest=largest)
        paths.append(path)
        for fault in path.faults:
            faults.setdefault(fault, []).append(number)
        for step in path.steps:
            effort += step.effort
            if step.safety is Answer.SAFE:
                bugs[step.state] = step.smallest_radius
    return FaultReport(
        radius,
        tuple(paths),
        {fault: tuple(numbers) for fault, numbers in faults.items()},
        bugs,
        effort,
    )


__all__ = [
    "Fault",
    "FaultReport",
    "PathReport",
    "StepReport",
    "analyse",
    "analyse_all",
]
