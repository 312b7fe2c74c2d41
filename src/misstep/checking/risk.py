"""Computes again the probability that a run of a stochastic policy does not end in a goal, from what it permits.

Its runs are a Markov chain. In states from which no goal can be reached, the probability is 1. Elsewhere the equations
of the chain are iterated from 0 and from 1 until both agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from misstep.checking.errors import CheckError
from misstep.checking.permitted import PermittedSets
from misstep.checking.sas import State

LIMIT = 2_000_000  # terms that are added up
TOLERANCE = 1e-8
Chain = dict[State, list[tuple[float, State | None]]]
"""For each state: probabilities and successors; None: an operator that does not apply."""


def risk_problem(
    sets: PermittedSets,
    probabilities: Mapping[State, Sequence[float]],
    start: State,
    claimed: tuple[float, float],
) -> str | None:
    """The error in the claim that a risk lies between two numbers.

    An exception if this cannot be decided: what is permitted in all states is stored only if a verdict rests on it."""
    states = sets.closure(start)
    if isinstance(states, str):
        raise CheckError(states)
    chain: Chain = {}
    for state in states:
        if sets.is_goal(state):
            continue
        own, steps = probabilities.get(state, ()), sets.steps(state)
        if len(own) != len(steps) or any(not 0 <= p <= 1 for p in own):
            raise CheckError("it is not recorded how probable each permitted operator is")
        total = sum(own)
        if steps and abs(total - 1) > 1e-6:
            return f"the probabilities of permitted operators add up to {total}"
        chain[state] = [
            (p / total, step.successor) for p, step in zip(own, steps, strict=True) if p > 0
        ]
    low, high = _solved(chain, sets, start)
    if claimed[0] > high + TOLERANCE or claimed[1] < low - TOLERANCE:
        return f"the goal is missed with probability {low:.9f} to {high:.9f}"
    return None


def _solved(chain: Chain, sets: PermittedSets, start: State) -> tuple[float, float]:
    hopeful = _hopeful(chain, sets)
    if start not in chain:
        return 0.0, 0.0
    if start not in hopeful:
        return 1.0, 1.0
    low, high = dict.fromkeys(hopeful, 0.0), dict.fromkeys(hopeful, 1.0)
    terms = 0
    while high[start] - low[start] > TOLERANCE / 10:
        terms += sum(len(chain[state]) for state in hopeful)
        if terms > LIMIT:
            raise CheckError("it takes too long to compute the risk")
        for state in hopeful:
            for values in (low, high):
                values[state] = sum(
                    p * (1.0 if to is None else values.get(to, float(to in chain)))
                    for p, to in chain[state]
                )
    return low[start], high[start]


def _hopeful(chain: Chain, sets: PermittedSets) -> list[State]:
    """States that are not goals, but from which one can be reached."""
    before: dict[State, list[State]] = defaultdict(list)
    for state, steps in chain.items():
        for _, successor in steps:
            if successor is not None:
                before[successor].append(state)
    found = dict.fromkeys(state for state in before if sets.is_goal(state))
    queue = list(found)
    for state in queue:
        for other in before[state]:
            if other not in found:
                found[other] = None
                queue.append(other)
    return [state for state in queue if state in chain]


__all__ = ["LIMIT", "risk_problem"]
