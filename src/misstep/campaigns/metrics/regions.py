"""Bug regions (P22): neighbouring bugs, which are likely to have the same cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from misstep.campaigns.rows import Values
from misstep.tasks.task import State, Task

Successors = Callable[[Values], Iterable[Values]]


def regions(states: Collection[Values], successors: Successors) -> list[list[Values]]:
    """Connected components of the states under single steps in both directions; each sorted, largest first."""
    parent = {state: state for state in states}

    def root(state: Values) -> Values:
        while parent[state] != state:
            parent[state] = state = parent[parent[state]]
        return state

    for state in parent:
        for successor in successors(state):
            if successor in parent:
                parent[root(successor)] = root(state)
    components: dict[Values, list[Values]] = {}
    for state in sorted(parent):
        components.setdefault(root(state), []).append(state)
    return sorted(components.values(), key=lambda region: (-len(region), region))


def successors_in(task: Task) -> Successors:
    """The successors in a planning task."""

    def successors(values: Values) -> list[Values]:
        state = State(list(map(int, values)))
        return [tuple(task.apply(state, op).values) for op in task.applicable(state)]

    return successors
