"""Before anything is reported: the independent checker replays strategies and unsafe runs.

The fragment that it gets is asked from the model again, not taken from what the deciders keep.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import cast

from misstep.checking import Situation, StrategyReport, validate_strategy, validate_unsafe_run
from misstep.errors import MisstepError
from misstep.safety.decider import Strategy
from misstep.safety.fuzz import UnsafeRun
from misstep.safety.system import LabelT, StateT, System

_UNSAFE, _GOAL = 1, 2


def check_strategy(
    system: System[StateT, LabelT], strategy: Strategy[StateT, LabelT]
) -> StrategyReport:
    """An error if the strategy is not what it claims to be."""
    states = {strategy.start, *strategy.labels}
    # Outcomes belong to the fragment as well; the strategy names only states where something is to be done.
    # The policy has no say where deviations do not count.
    counts = strategy.radius != math.inf
    with_actions = fragment(system, states, counts)
    outcomes = {
        outcome
        for state, label in strategy.labels.items()
        for outcome in with_actions[state].actions.get(label, ())
    }
    # The checker knows no types, so that what it hands back is any hashable.
    with_actions.update(fragment(system, cast(set[StateT], outcomes - states), counts))
    report = validate_strategy(
        with_actions,
        strategy.start,
        strategy.labels,
        strategy.radius,
        system.dead_end != "unsafe",
    )
    if not report.valid:
        raise MisstepError(f"internal error: this is not a safe strategy: {report.reason}")
    return report


def check_run(system: System[StateT, LabelT], run: UnsafeRun[StateT, LabelT]) -> None:
    """An error if this is not a run of the policy into an unsafe state."""
    if reason := run_problem(system, run):
        raise MisstepError(f"internal error: this is not an unsafe run of the policy: {reason}")


def run_problem(system: System[StateT, LabelT], run: UnsafeRun[StateT, LabelT]) -> str:
    """Why this is no run of the policy into an unsafe state; empty if it is one."""
    # States and labels by their ids: the checker knows neither, and a run is looked at in a fraction of the time.
    ids = [system.id(state) for state in run.states]
    labels = [system.label_id(label) for label in run.labels]
    known = {id: _numbered_situation(system, id) for id in ids}
    return validate_unsafe_run(known, ids, labels, system.dead_end != "unsafe")


def fragment(
    system: System[StateT, LabelT], states: Iterable[StateT], with_policy: bool
) -> dict[StateT, Situation]:
    """What the model says about these states, and what the policy does there."""
    return {state: _situation(system, state, with_policy) for state in states}


def _numbered_situation(system: System[StateT, LabelT], id: int) -> Situation:
    native = system.native
    flags = native.fresh_flags(id)
    if flags:
        return Situation(bool(flags & _UNSAFE), bool(flags & _GOAL), None, {})
    labels, offsets, outcomes = native.fresh_expansion(id)
    actions: dict[Hashable, Sequence[Hashable]] = {
        label: outcomes[offsets[i] : offsets[i + 1]] for i, label in enumerate(labels)
    }
    return Situation(False, False, native.decision(id), actions)


def _situation(system: System[StateT, LabelT], state: StateT, with_policy: bool) -> Situation:
    native = system.native
    id = system.id(state)
    flags = native.fresh_flags(id)
    if flags:
        return Situation(bool(flags & _UNSAFE), bool(flags & _GOAL), None, {})
    labels, offsets, outcomes = native.fresh_expansion(id)
    actions: dict[Hashable, Sequence[Hashable]] = {
        system.label(label): system.states(outcomes[offsets[i] : offsets[i + 1]])
        for i, label in enumerate(labels)
    }
    decision = native.decision(id) if with_policy else None
    policy = None if decision is None else system.label(decision)
    return Situation(False, False, policy, actions)


__all__ = ["check_run", "check_strategy", "fragment", "run_problem"]
