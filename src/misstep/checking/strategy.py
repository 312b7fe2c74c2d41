"""Validate the witness of a safety bug: a run of the policy into an unsafe state, and a strategy that avoids them all.

Both are checked against a fragment of the transition system, which has the model's answers for each state that they
touch. The caller builds the fragment by querying the model, not the code that found the strategy. Everything else is
computed here: that the strategy has a label in every state that it can reach, that none of these states is unsafe, and
how often its runs deviate from the policy at most, which is infinitely often if a deviation lies on a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Situation:
    """One state, as the model and the policy have it. Without actions it is a dead end."""

    unsafe: bool
    goal: bool
    policy: Hashable | None  # the label that the policy takes; None: it stops, or was not asked
    actions: Mapping[Hashable, Sequence[Hashable]]  # labels that apply, with all their outcomes


@dataclass(frozen=True, slots=True)
class StrategyReport:
    valid: bool
    states: int = 0  # that the strategy can reach, including goals and dead ends
    deviations: float = 0
    reason: str = ""


Fragment = Mapping[Any, Situation]  # by state, which is hashable


def validate_strategy(
    fragment: Fragment,
    start: Hashable,
    strategy: Mapping[Any, Hashable],
    radius: float = math.inf,
    dead_ends_are_safe: bool = True,
) -> StrategyReport:
    """Follow a strategy to all states it can reach. `radius` bounds its deviations, if finite."""
    reached = [start]
    seen = {start}
    successors: dict[Hashable, list[Hashable]] = {}
    for state in reached:  # grows
        situation = fragment.get(state)
        if situation is None:
            return StrategyReport(False, len(reached), 0, f"nothing is known about {state!r}")
        if situation.unsafe or not (situation.goal or situation.actions or dead_ends_are_safe):
            return StrategyReport(False, len(reached), 0, f"{state!r} is unsafe")
        successors[state] = []
        if situation.goal or not situation.actions:
            continue
        if state not in strategy:
            return StrategyReport(False, len(reached), 0, f"no label is given for {state!r}")
        if strategy[state] not in situation.actions:
            return StrategyReport(
                False, len(reached), 0, f"{strategy[state]!r} does not apply in {state!r}"
            )
        successors[state] = list(situation.actions[strategy[state]])
        if not successors[state]:
            return StrategyReport(
                False, len(reached), 0, f"{strategy[state]!r} has no outcome in {state!r}"
            )
        for outcome in successors[state]:
            if outcome not in seen:
                seen.add(outcome)
                reached.append(outcome)
    costs = {
        state: int(bool(targets) and strategy[state] != fragment[state].policy)
        for state, targets in successors.items()
    }
    deviations = _most_expensive_run(start, successors, costs)
    if deviations > radius:
        return StrategyReport(
            False, len(reached), deviations, f"{deviations} deviations, not {radius} at most"
        )
    return StrategyReport(True, len(reached), deviations)


def validate_unsafe_run(
    fragment: Fragment,
    states: Sequence[Hashable],
    labels: Sequence[Hashable],
    dead_ends_are_safe: bool = True,
) -> str:
    """The reason why this is not a run of the policy whose last state is unsafe; empty if it is one."""
    if len(states) != len(labels) + 1:
        return f"no run: {len(states)} states, {len(labels)} labels"
    for step, (here, label, there) in enumerate(zip(states, labels, states[1:], strict=False), 1):
        situation = fragment.get(here)
        if situation is None:
            return f"nothing is known about the state before step {step}"
        if situation.unsafe or situation.goal:
            return f"step {step} leaves a state where runs end"
        if situation.policy != label:
            return f"step {step}: the policy takes {situation.policy!r}, not {label!r}"
        if there not in situation.actions.get(label, ()):
            return f"step {step} ({label!r}) does not lead to the next state"
    last = fragment.get(states[-1])
    if last is None:
        return "nothing is known about the last state"
    stuck = not (last.goal or last.actions or dead_ends_are_safe)
    return "" if last.unsafe or stuck else "the last state is not unsafe"


def _most_expensive_run(
    start: Hashable, successors: Mapping[Hashable, list[Hashable]], costs: Mapping[Hashable, int]
) -> float:
    """The largest sum of costs on a path from the start; infinite if a state with a cost lies on a cycle."""
    # First which states are on a cycle together: strongly connected components, by Tarjan, without recursion.
    number: dict[Hashable, int] = {}
    low: dict[Hashable, int] = {}
    component: dict[Hashable, int] = {}
    stack: list[Hashable] = []
    totals: list[float] = []  # by component; a component comes after all that it leads to
    calls: list[tuple[Hashable, int]] = [(start, 0)]
    while calls:
        state, next_outcome = calls.pop()
        if next_outcome == 0:
            number[state] = low[state] = len(number)
            stack.append(state)
        else:
            # Of a finished component the low link is its own number, which is larger: no harm.
            low[state] = min(low[state], low[successors[state][next_outcome - 1]])
        for i in range(next_outcome, len(successors[state])):
            outcome = successors[state][i]
            if outcome not in number:
                calls += [(state, i + 1), (outcome, 0)]
                break
            if outcome not in component:
                low[state] = min(low[state], number[outcome])
        else:
            if low[state] == number[state]:
                members: list[Hashable] = []
                while not members or members[-1] != state:
                    members.append(stack.pop())
                    component[members[-1]] = len(totals)
                totals.append(_total(members, len(totals), component, totals, successors, costs))
    return totals[component[start]]


def _total(
    members: list[Hashable],
    own: int,
    component: Mapping[Hashable, int],
    totals: list[float],
    successors: Mapping[Hashable, list[Hashable]],
    costs: Mapping[Hashable, int],
) -> float:
    total: float = 0
    for member in members:
        for outcome in successors[member]:
            if component[outcome] == own:
                if costs[member]:
                    return math.inf
            else:
                total = max(total, costs[member] + totals[component[outcome]])
    return total


__all__ = [
    "Fragment",
    "Situation",
    "StrategyReport",
    "validate_strategy",
    "validate_unsafe_run",
]
