"""`misstep census`: exact numbers of a small task."""

from __future__ import annotations

from typing import Annotated

import typer

from misstep.cli.arguments import (
    AsJson,
    KeepUnimportant,
    MemoryLimit,
    TaskPaths,
    TimeLimit,
    check_limits,
    read_task,
)
from misstep.cli.output import print_json, print_pairs, search_progress
from misstep.tasks.census import DEFAULT_MAX_STATES, census


def census_command(
    task: TaskPaths,
    max_states: Annotated[
        int, typer.Option(metavar="N", help="Refuse tasks with more reachable states.")
    ] = DEFAULT_MAX_STATES,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Enumerate the reachable states of a small task and count them, with exact distances to the goal."""
    check_limits(time_limit=time_limit, memory_limit=memory_limit, max_states=max_states)
    loaded = read_task(task, keep_unimportant)
    with search_progress("enumerating") as progress:
        counts = census(
            loaded,
            max_states=max_states,
            time_limit=time_limit,
            memory_limit_mb=memory_limit,
            progress=progress,
        )
    if as_json:
        print_json({"task": loaded.name, **counts.as_dict()})
    else:
        print_pairs({"task": loaded.name, **counts.as_dict()})
    return 0
