"""`misstep plan`: find a plan for a task."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from misstep.checking import parse_sas, validate_plan
from misstep.cli.arguments import (
    AsJson,
    KeepUnimportant,
    MemoryLimit,
    TaskPaths,
    TimeLimit,
    check_limits,
    read_task,
)
from misstep.cli.output import print_json, remark, search_progress
from misstep.errors import (
    BudgetLimitError,
    MemoryLimitError,
    MisstepError,
    TimeLimitError,
    UndecidedError,
)
from misstep.files import check_target, write_bytes
from misstep.planning import SEARCHES, PlanResult, plan
from misstep.tasks.task import Task


def plan_command(
    task: TaskPaths,
    search: Annotated[
        str, typer.Option(help="One of " + ", ".join(SEARCHES) + ".", metavar="NAME")
    ] = "astar-lmcut",
    state: Annotated[
        str | None,
        typer.Option("--from", metavar="STATE", help="Start here: values or atoms of a state."),
    ] = None,
    bound: Annotated[
        int | None, typer.Option(metavar="COST", help="Only look for plans cheaper than this.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the plan here.")
    ] = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    max_expansions: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after expanding this many states.")
    ] = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Find a plan and print it in the format of the planning competitions.

    The plan is checked by the independent checker before it is printed. Exit codes: 0 a plan, or
    the proof that there is none; 10 the search gave up; 20-22 a limit.

    Example: misstep plan domain.pddl problem.pddl --search gbfs-ff -o some.plan
    """
    check_limits(time_limit=time_limit, memory_limit=memory_limit, max_expansions=max_expansions)
    if output is not None:
        check_target(output, "a plan", _begins_plan)
    loaded = read_task(task, keep_unimportant)
    start = loaded.initial_state if state is None else loaded.parse_state(state)
    began = monotonic()
    with search_progress(search) as progress:
        result = plan(
            loaded,
            search,
            start=start,
            bound=bound,
            time_limit=time_limit,
            memory_limit_mb=memory_limit,
            max_expansions=max_expansions,
            progress=progress,
        )
    seconds = monotonic() - began
    if result.status == "plan":
        _check(loaded, result, start.values)
        if output is not None:
            write_bytes(output, result.text.encode())
    if as_json:
        print_json(
            {
                "task": loaded.name,
                "search": search,
                "optimal": result.status == "plan" and SEARCHES[search].optimal,
                **asdict(result),
                "seconds": round(seconds, 3),
            }
        )
    elif result.status == "plan" and output is None:
        print(result.text, end="")
    return _report(loaded, result, search, bound, seconds, as_json)


def _begins_plan(start: bytes) -> bool:
    """Whether the first line that is no comment is a step; that of a PDDL file has parentheses inside."""
    lines = (line.partition(b";")[0].strip() for line in start.split(b"\n"))
    first = next(filter(None, lines), b"()")
    return re.fullmatch(rb"\([^()]*\)", first) is not None


def _check(task: Task, result: PlanResult, start: tuple[int, ...]) -> None:
    report = validate_plan(
        parse_sas(task.sas.decode(errors="replace"), task.name),
        result.operators,
        state=start,
        claimed_cost=result.cost,
    )
    if not report.valid:
        raise MisstepError(
            f"internal error: the checker refuses the plan: {report.reason}",
            where=task.name,
            hint="please report it with the task",
        )


def _report(
    task: Task, result: PlanResult, search: str, bound: int | None, seconds: float, as_json: bool
) -> int:
    """Print one line about the result; returns the exit code."""
    below = "" if bound is None else f" cheaper than {bound}"
    effort = f"{result.expansions:,} expansions, {seconds:.2f} s"
    if result.status == "plan":
        best = "cheapest plan" if SEARCHES[search].optimal else "plan"
        remark(f"{best}: {len(result.operators)} steps, cost {result.cost}, checked; {effort}")
        return 0
    if result.status in ("unsolvable", "none-below-bound"):
        remark(f"proven: there is no plan{below}; {effort}")
        return 0
    errors: dict[str | None, type[MisstepError]] = {
        "time": TimeLimitError,
        "memory": MemoryLimitError,
    }
    if result.status == "undecided":
        error: MisstepError = UndecidedError(
            f"{search} gave up without a plan{below} or a proof; {effort}",
            where=task.name,
            hint="try another --search, such as astar-lmcut",
        )
    else:
        error = errors.get(result.limit, BudgetLimitError)(
            f"no plan{below} within the {result.limit} limit; {effort}",
            where=task.name,
            hint="raise the limit or try another --search",
        )
    if not as_json:  # the JSON object already carries status and limit
        raise error
    remark(f"misstep: {error}")
    return error.exit_code
