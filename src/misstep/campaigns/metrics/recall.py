"""Recall: the share of states that an oracle proves to be bugs.

P22 computes it per instance and kind of bug; P23 compares oracles on the states that all of them processed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from misstep.campaigns.metrics.sets import BasicSets, ratio
from misstep.campaigns.records import Record

# An oracle that processed fewer states per task on average is left out, because it would shrink the joint pool.
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
    records: Iterable[Record],
    *,
    tasks: int | None = None,
    min_states_a_task: float = MIN_STATES_A_TASK,
) -> JointRecall:
    """Recall of each oracle on the joint pool: bugs / |J|, summed over the tasks of the domain.

    `records` are those of all tasks, each with the verdicts of the oracles that judged it. `tasks` is the number
    of tasks, if some have no tested state at all. Oracles are dropped first, then J is formed.
    """
    processed: dict[str, set[str]] = defaultdict(set)
    convicted: dict[str, set[str]] = defaultdict(set)
    names = set()
    for record in records:
        names.add(record.task)
        for opinion in record.verdicts:
            processed[opinion.oracle].add(record.id)
            if opinion.is_bug:
                convicted[opinion.oracle].add(record.id)
    if tasks is None:
        tasks = len(names)
    kept = [o for o, states in processed.items() if len(states) >= min_states_a_task * tasks]
    joint = set.intersection(*(processed[oracle] for oracle in kept)) if kept else set()
    shares: dict[str, float | None] = dict.fromkeys(processed)
    for oracle in kept:
        shares[oracle] = ratio(len(convicted[oracle] & joint), len(joint))
    return JointRecall(len(joint), shares, tuple(o for o in processed if o not in kept))
