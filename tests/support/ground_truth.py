"""Everything there is to know about a small safety task, by listing all its states.

Unsafe states and goals are never left. The policy is the first applicable label. Values are the
least fixpoint, computed by repeating the equation until nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

Radius = float  # 0, 1, 2, ... or infinity


class System(Protocol):
    """What is explored: a PlainTask, or anything with these four methods."""

    def starts(self) -> Any: ...
    def is_unsafe(self, state: Any) -> bool: ...
    def is_goal(self, state: Any) -> bool: ...
    def outcomes(self, state: Any) -> dict[str, list[Any]]: ...


@dataclass(frozen=True)
class Space:
    """All reachable states, initial ones first; outcomes by index, none for terminal states."""

    states: list[Any]
    initial: int
    unsafe: set[int]
    goals: set[int]
    dead_ends: set[int]
    outcomes: list[dict[str, list[int]]]

    def policy(self) -> list[str | None]:
        """The first applicable label of each state; none in terminal states."""
        return [next(iter(choices), None) for choices in self.outcomes]


def explore(system: System, starts: Iterable[Any] | None = None, limit: int = 10**6) -> Space:
    states = list(dict.fromkeys(system.starts() if starts is None else starts))
    number = {state: i for i, state in enumerate(states)}
    space = Space(states, len(states), set(), set(), set(), [])
    for i, state in enumerate(states):  # grows while we go
        choices: dict[str, list[int]] = {}
        if system.is_unsafe(state):
            space.unsafe.add(i)
        elif system.is_goal(state):
            space.goals.add(i)
        else:
            for label, reached in system.outcomes(state).items():
                for outcome in reached:
                    if outcome not in number:
                        number[outcome] = len(states)
                        states.append(outcome)
                choices[label] = [number[outcome] for outcome in reached]
            if not choices:
                space.dead_ends.add(i)
        space.outcomes.append(choices)
        assert len(states) <= limit, "more states than the test has time for"
    return space


def values(space: Space, policy: list[str | None], radius: Radius) -> list[int]:
    """J* of every state: at most `radius` means safe within it; for infinity, 0 means safe."""
    finite = not math.isinf(radius)
    worst = int(radius) + 1 if finite else 1
    value = [worst if i in space.unsafe else 0 for i in range(len(space.states))]
    changed = True
    while changed:
        changed = False
        for i, choices in enumerate(space.outcomes):
            if not choices:
                continue
            new = min(
                min(worst, (finite and label != policy[i]) + max(value[t] for t in reached))
                for label, reached in choices.items()
            )
            if new != value[i]:
                value[i], changed = new, True
    return value


def safe_states(space: Space, policy: list[str | None], radius: Radius) -> set[int]:
    bound = 0 if math.isinf(radius) else int(radius)
    return {i for i, v in enumerate(values(space, policy, radius)) if v <= bound}


def faults(space: Space, policy: list[str | None], radius: Radius) -> set[int]:
    """States that are safe and where some outcome of the policy's choice is not."""
    safe = safe_states(space, policy, radius)
    return {
        i
        for i in safe
        if (label := policy[i]) is not None and any(t not in safe for t in space.outcomes[i][label])
    }


@dataclass(frozen=True)
class Census:
    initial: int
    states: int
    outcomes: int
    unsafe: int
    goals: int
    dead_ends: int
    safe: int
    safe_within: tuple[int, int, int]  # 0, 1 and 2 deviations
    safe_initial: int
    faults: int


def census(system: System) -> Census:
    space = explore(system)
    policy = space.policy()
    safe = safe_states(space, policy, math.inf)
    zero, one, two = (len(safe_states(space, policy, r)) for r in (0, 1, 2))
    return Census(
        initial=space.initial,
        states=len(space.states),
        outcomes=sum(len(reached) for choices in space.outcomes for reached in choices.values()),
        unsafe=len(space.unsafe),
        goals=len(space.goals),
        dead_ends=len(space.dead_ends),
        safe=len(safe),
        safe_within=(zero, one, two),
        safe_initial=sum(i < space.initial for i in safe),
        faults=len(faults(space, policy, math.inf)),
    )


def is_safe(system: System, state: Any, known: dict[Any, bool] | None = None) -> bool:
    """Whether some policy is safe in a state of a system without cycles, by depth-first search."""
    known = {} if known is None else known
    if state not in known:
        if system.is_unsafe(state):
            known[state] = False
        elif system.is_goal(state):
            known[state] = True
        else:
            choices = system.outcomes(state)
            known[state] = not choices or any(
                all(is_safe(system, outcome, known) for outcome in reached)
                for reached in choices.values()
            )
    return known[state]
