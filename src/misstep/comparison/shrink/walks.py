"""Find the shortest walk to a state within a budget."""

from __future__ import annotations

from misstep.comparison.shrink.projection import read_sas
from misstep.planning import plan
from misstep.tasks.census import small_task
from misstep.tasks.task import State, Task

WALK_STATES = 50_000  # of the task: the walk is then read off all its states
WALK_EXPANSIONS = 20_000
WALK_SECONDS = 5.0  # a safety net


def shortest_walk(task: Task, target: State) -> tuple[str, ...] | None:
    """Names of operators from the initial state to a state, as few as possible; None: the budget was too small."""
    if target == task.initial_state:
        return ()
    small = small_task(task, WALK_STATES)
    if small is not None:
        place = small.space.find(target)
        if place < 0:
            return None
        parents, operators = small.space.parents, small.space.parent_operators
        walk = []
        while place:  # states are numbered breadth first
            walk.append(task.operator_name(int(operators[place])))
            place = int(parents[place])
        return tuple(reversed(walk))
    document = read_sas(task.sas)
    document.metric = 0  # every step counts one
    document.goal = list(enumerate(target.values))
    aimed = Task(document.text().encode(), name=task.name)
    search = "astar-blind" if task.has_conditional_effects else "astar-lmcut"
    found = plan(aimed, search, time_limit=WALK_SECONDS, max_expansions=WALK_EXPANSIONS)
    return tuple(found.operators) if found.status == "plan" else None


__all__ = ["shortest_walk"]
