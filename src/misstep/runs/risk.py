"""The risk of a stochastic policy: the probability that its run does not end in a goal.

From a closed state the run is a finite Markov chain. Goals have risk 0. States from which no goal can be reached have
risk 1. From all others, the run reaches one of the two with probability 1. So the risk is the only solution of its
equations, and iterating them from 0 and from 1 gives a lower and an upper bound that converge. The bounds are widened
by `ROUNDING`, which is more than all rounding errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Risk = tuple[float, float]  # at least, at most
PRECISION = 1e-9
ITERATIONS = 100_000
ROUNDING = (
    1e-9  # more than the errors of so many steps, each of which is an average of numbers up to 1
)


def risk_of(
    start: int,
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    successors: NDArray[np.int64],
    probabilities: Sequence[Sequence[float]],
    goals: NDArray[np.uint32],
) -> Risk:
    """The risk from a state. `ids` are the states with successors; all others but the goals are failures."""
    if len(ids) == 0:
        return (1.0, 1.0) if start not in goals.tolist() else (0.0, 0.0)
    place = {id: number for number, id in enumerate(ids.tolist())}
    goal, failure = len(ids), len(ids) + 1
    wins = set(goals.tolist())
    targets = np.array(
        [place.get(id, goal if id in wins else failure) for id in successors.tolist()], np.int64
    )
    weights = np.array([weight for own in probabilities for weight in own])
    sources = np.repeat(np.arange(len(ids)), np.diff(offsets))
    sums = np.bincount(sources, weights, minlength=len(ids))
    weights = weights / sums[sources]  # they add up to 1 but for rounding
    hopeful = _reaching(goal, sources, targets, len(ids) + 2)
    transient = np.flatnonzero(hopeful[: len(ids)])
    low, high = np.zeros(len(ids) + 2), np.ones(len(ids) + 2)
    low[~hopeful] = 1.0
    low[goal] = high[goal] = 0.0
    first = place.get(start, failure)
    for _ in range(ITERATIONS):
        if high[first] - low[first] <= PRECISION:
            break
        for values in (low, high):
            after = np.bincount(sources, weights * values[targets], minlength=len(ids))
            values[transient] = after[transient]
    at_least, at_most = float(low[first]) - ROUNDING, float(high[first]) + ROUNDING
    return max(0.0, at_least), min(1.0, at_most)


def _reaching(
    goal: int, sources: NDArray[np.int64], targets: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    found = np.zeros(count, dtype=bool)
    found[goal] = True
    while True:
        fresh = sources[found[targets]]
        if found[fresh].all():
            return found
        found[fresh] = True


__all__ = ["PRECISION", "Risk", "risk_of"]
