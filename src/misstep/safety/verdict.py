"""Verdicts on safety: does the policy get from a state into an unsafe one, and could that be avoided?

    BUG        the policy may run into an unsafe state, and a strategy (with at most `radius` deviations) would not
    NOT A BUG  proven: the policy never gets into an unsafe state, or no such strategy exists
    UNKNOWN    a limit was reached

A bug carries both witnesses, the policy's unsafe run and the strategy, and both have been replayed by the
independent checker before anybody sees them. With a finite radius NOT A BUG means that there is no bug that so few
deviations could repair; there may be one that needs more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Generic

from misstep.errors import UsageError
from misstep.safety.decider import Answer, Budget, Decider, Strategy
from misstep.safety.fuzz import UnsafeRun, envelope
from misstep.safety.system import LabelT, Radius, StateT
from misstep.safety.witness import check_run, check_strategy, run_problem
from misstep.verdicts import Effort, Kind, Status


@dataclass(frozen=True)
class SafetyVerdict(Generic[StateT, LabelT]):
    state: StateT
    radius: Radius
    status: Status
    policy: Answer  # whether the policy is safe in the state
    safety: Answer  # whether the state is safe within the radius; UNKNOWN also if nobody had to ask
    run: UnsafeRun[StateT, LabelT] | None = None  # from the state into an unsafe one
    strategy: Strategy[StateT, LabelT] | None = None
    effort: Effort = field(default_factory=Effort, compare=False)
    limits: tuple[str, ...] = ()  # that ended something before it was done

    @property
    def kind(self) -> Kind | None:
        return Kind.UNSAFE if self.is_bug else None

    @property
    def is_bug(self) -> bool:
        return self.status is Status.BUG

    @property
    def is_decided(self) -> bool:
        return self.status is not Status.UNKNOWN


def judge(
    decider: Decider[StateT, LabelT],
    state: StateT,
    radius: Radius = math.inf,
    *,
    run: UnsafeRun[StateT, LabelT] | None = None,
    envelope_budget: Budget | None = None,
) -> SafetyVerdict[StateT, LabelT]:
    """The verdict on a state. `run` is an unsafe run from it, where one is known; otherwise one is looked for."""
    system = decider.system
    limits: list[str] = []
    policy = Answer.NOT_SAFE
    if run is None:
        found = envelope(system, [state], envelope_budget)
        run, policy = found.run, found.answer
        if found.limit is not None:
            limits.append(f"envelope: {found.limit}")
        if run is not None:
            check_run(system, run)
    elif not run.states or run.states[0] != state:
        raise UsageError("the run does not start in the state", expected=f"{state!r}")
    elif reason := run_problem(system, run):
        raise UsageError(f"this is not an unsafe run of the policy: {reason}")
    if policy is Answer.SAFE:
        return SafetyVerdict(state, radius, Status.NOT_A_BUG, policy, Answer.UNKNOWN)
    safety = decider.decide(state, radius)
    if safety.limit is not None:
        limits.append(f"{decider.kind}: {safety.limit}")
    strategy = None
    status = Status.UNKNOWN
    if safety.answer is Answer.NOT_SAFE:
        status = Status.NOT_A_BUG
    elif safety.is_safe and run is not None:
        strategy = decider.strategy(state, radius)
        check_strategy(system, strategy)
        status = Status.BUG
    return SafetyVerdict(
        state, radius, status, policy, safety.answer, run, strategy, safety.effort, tuple(limits)
    )


__all__ = ["SafetyVerdict", "Status", "judge"]
