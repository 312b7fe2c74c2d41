"""Recall: which share of the states an oracle convicts.

P22 asks per instance and kind of bug; P23 compares oracles on the states that all of them processed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import BasicSets, ratio
from misstep.campaigns.records import TestedState, Values

# An oracle that processed fewer states a task on average says too little, and would shrink the joint pool.
MIN_STATES_A_TASK = 25


@dataclass(frozen=True, slots=True)
class Recall:
    fails: float | None
    costly: float | None


def recall(sets: BasicSets, *, fails_over: str = "unsolved") -> Recall:
    """P22: `fails_over` is `unsolved` in part C of its table, `pool` in parts D and E."""
    failing = sets.pool - sets.solved if fails_over == "unsolved" else sets.pool
    return Recall(ratio(sets.fails, failing), ratio(sets.costly, sets.solved))


@dataclass(frozen=True, slots=True)
class JointRecall:
    """P23: one domain, several oracles."""

    states: int
    """Size of the joint pool J."""
    recall: dict[str, float | None]
    """None for an oracle that was dropped, or if J is empty."""
    dropped: tuple[str, ...]


def joint_recall(
    tested: Mapping[str, Sequence[TestedState]],
    *,
    tasks: int | None = None,
    min_states_a_task: float = MIN_STATES_A_TASK,
) -> JointRecall:
    """Recall of each oracle on the joint pool: bugs / |J|, summed over the tasks of the domain.

    `tested` has for each oracle the states that it processed, of all tasks. `tasks` is the number of tasks of the
    domain, if some have no tested state at all. Oracles are dropped first, then J is formed.
    """
    processed = {oracle: {_place(state) for state in states} for oracle, states in tested.items()}
    if tasks is None:
        tasks = len({task for places in processed.values() for task, _ in places})
    kept = [o for o, places in processed.items() if len(places) >= min_states_a_task * tasks]
    joint = set.intersection(*(processed[oracle] for oracle in kept)) if kept else set()
    shares: dict[str, float | None] = dict.fromkeys(tested)
    for oracle in kept:
        bugs = {_place(state) for state in tested[oracle] if state.is_bug}
        shares[oracle] = ratio(len(bugs & joint), len(joint))
    return JointRecall(len(joint), shares, tuple(o for o in tested if o not in kept))


def _place(state: TestedState) -> tuple[str, Values]:
    return state.task, state.state
