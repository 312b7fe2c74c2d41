"""How much a dominance function knows of a small task: all pairs of assignments, against exact distances."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from misstep._core import MINUS_INFINITY, StateSpace
from misstep.errors import BudgetLimitError
from misstep.oracles.dominance.function import DominanceFunction
from misstep.tasks.task import State

MAX_STATES = 4096
_CHUNK = 256


@dataclass(frozen=True)
class PairCounts:
    """Pairs (s, t) of assignments to all variables, reachable or not, where h*(s) is finite."""

    all_pairs: int
    finite_pairs: int  # D(s, t) says something
    tight_pairs: int  # and that is exactly h*(s) - h*(t)


def count_pairs(function: DominanceFunction, max_states: int = MAX_STATES) -> PairCounts:
    """Enumerate the task and compare; refuses tasks with more assignments than that."""
    task = function.task
    total = prod(task.domain_sizes)
    if total > max_states:
        raise BudgetLimitError(
            f"the task has {total:,} assignments, too many to compare all pairs",
            where=task.name,
            expected=f"at most {max_states:,}",
        )
    states = np.array(list(product(*map(range, task.domain_sizes))), dtype=np.int32)
    roots = [State(row) for row in states.tolist()]
    space = StateSpace(task, roots)
    h_star = space.h_star[[space.find(root) for root in roots]]
    solvable = np.flatnonzero(np.isfinite(h_star))
    finite = tight = 0
    for start in range(0, len(solvable), _CHUNK):
        chunk = solvable[start : start + _CHUNK]
        values = function.matrix(states[chunk], states)
        known = values > MINUS_INFINITY
        finite += int(known.sum())
        tight += int((known & (values == h_star[chunk][:, None] - h_star[None, :])).sum())
    return PairCounts(len(solvable) * total, finite, tight)


__all__ = ["MAX_STATES", "PairCounts", "count_pairs"]
