"""Arguments that several verbs take, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misstep.cli.output import search_progress
from misstep.errors import UsageError
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

TaskPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="TASK...",
        help="DOMAIN.pddl PROBLEM.pddl, or PROBLEM.pddl with domain.pddl beside it, or TASK.sas, "
        "or a folder made by 'misstep generate'.",
        show_default=False,
    ),
]
PolicySpec = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="The policy, for example heuristic:ff or python:FILE.py:NAME; 'misstep list' names all kinds.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Stop after so many seconds."),
]
MemoryLimit = Annotated[
    int | None, typer.Option("--memory-limit", metavar="MB", help="Stop at so many megabytes.")
]
KeepUnimportant = Annotated[
    bool,
    typer.Option(
        "--keep-unimportant/--drop-unimportant",
        help="Keep variables that do not matter for the goal (a policy may look at them).",
    ),
]


def read_task(paths: list[Path], keep_unimportant: bool = True) -> Task:
    """Load the task of the command line, with progress while the translator works."""
    with search_progress("translating"):
        return load_task(*paths, keep_unimportant=keep_unimportant)


def check_limits(**limits: float | None) -> None:
    for name, value in limits.items():
        if value is not None and not value > 0:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is {value}", expected="a positive number")
