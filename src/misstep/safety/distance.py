"""The distance of two policies, as in Definition 4 of the safety paper.

The distance from a state is the largest number of decisions, on any run of the second policy from there, where the
first policy would have decided differently. It is infinite exactly if such a decision lies on a cycle that the second
policy can reach, because a run along the cycle counts it again and again. Otherwise, the distance is the longest path
through the graph of the second policy's runs.

Runs end in unsafe states, goals and dead ends, and where the second policy names no label. Where only the first one
names none, whatever the second one does is a difference. A state is r-safe if and only if a policy that is safe there
has a distance of at most r: `Decider` decides that without listing policies.
"""

from __future__ import annotations

import math

from misstep.errors import MemoryLimitError
from misstep.safety.system import AnyPolicy, LabelT, StateT, System

MAX_STATES = 1_000_000


def policy_distance(
    system: System[StateT, LabelT],
    other: AnyPolicy[StateT, LabelT] | System[StateT, LabelT],
    state: StateT,
    *,
    max_states: int = MAX_STATES,
) -> float:
    """Of another policy from the system's own, from a state on: 0, 1, 2, ... or infinity.

    Exact: everything that the other policy can get to is explored; an error if that is more than `max_states`.
    """
    second = other if isinstance(other, System) else system.with_policy(other)
    outcomes, costs = _explored(system, second, system.id(state), max_states)
    longest: dict[int, float] = {}
    for component in _components(outcomes, system.id(state)):
        members = set(component)
        is_cycle = len(component) > 1 or component[0] in outcomes[component[0]]
        if is_cycle and any(costs[own] for own in component):
            return math.inf  # it is reached, as everything here
        below = max(
            (longest[t] for own in component for t in outcomes[own] if t not in members),
            default=0,
        )
        # Members of a cycle cost nothing, and each of them can get to wherever the others can.
        for own in component:
            longest[own] = costs[own] + below
    return longest[system.id(state)]


def _explored(
    first: System[StateT, LabelT], second: System[StateT, LabelT], start: int, max_states: int
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Where the second policy may get to from each state it gets to, and whether the first one disagrees there."""
    outcomes: dict[int, list[int]] = {}
    costs: dict[int, int] = {}
    found = [start]
    outcomes[start] = []
    for here in found:  # grows
        label = second.native.decision(here)
        if label is None:  # terminal, or the second policy stops
            costs[here] = 0
            continue
        costs[here] = int(label != first.native.decision(here))
        outcomes[here] = second.native.policy_outcomes(here)
        for outcome in outcomes[here]:
            if outcome in outcomes:
                continue
            if len(outcomes) >= max_states:
                raise MemoryLimitError(
                    f"the other policy gets to more than {max_states} states",
                    expected="a state from which it gets to fewer",
                    hint="max_states says how many may be explored",
                )
            outcomes[outcome] = []
            found.append(outcome)
    return outcomes, costs


def _components(outcomes: dict[int, list[int]], start: int) -> list[list[int]]:
    """Strongly connected ones, those first that lead to no other (Tarjan, without recursion)."""
    index: dict[int, int] = {start: 0}
    low: dict[int, int] = {start: 0}
    stack, on_stack = [start], {start}
    work = [(start, iter(outcomes[start]))]
    components: list[list[int]] = []
    while work:
        here, rest = work[-1]
        child = next((t for t in rest if t not in index or t in on_stack), None)
        if child is not None and child not in index:
            index[child] = low[child] = len(index)
            stack.append(child)
            on_stack.add(child)
            work.append((child, iter(outcomes[child])))
            continue
        if child is not None:
            low[here] = min(low[here], index[child])
            continue
        work.pop()
        if work:
            low[work[-1][0]] = min(low[work[-1][0]], low[here])
        if low[here] == index[here]:
            at = _last(stack, here)
            components.append(stack[at:])
            on_stack.difference_update(stack[at:])
            del stack[at:]
    return components


def _last(stack: list[int], wanted: int) -> int:
    at = len(stack) - 1
    while stack[at] != wanted:
        at -= 1
    return at


__all__ = ["policy_distance"]
