"""Arguments that several verbs take, declared once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.output import search_progress
from misstep.errors import UsageError
from misstep.escaping import written_out

if TYPE_CHECKING:
    from misstep.tasks.task import Task

MOST_ASKED = 1000  # characters of a policy that somebody is asked about: it must fit on the screen with the question

TaskPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="TASK...",
        help="DOMAIN.pddl PROBLEM.pddl, or PROBLEM.pddl with domain.pddl beside it or up to three folders up, "
        "or TASK.sas, or a folder with one task.",
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
GivenPolicy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="The policy of the campaign. Giving it again allows Misstep to run it. Default: the stored one.",
        show_default=False,
    ),
]
TrustPolicy = Annotated[
    bool,
    typer.Option(
        "--trust-policy",
        help="Run the policy that the folder names even if it is code, a program or a server. "
        "Default: ask on a terminal, else refuse.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Time limit for one answer of a python:, exec: or program: policy, which then runs in a separate "
        "process. Default: no limit; 60 for exec:.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of a dask cluster do the work: tcp://HOST:PORT, tls://HOST:PORT, local:N or "
        "slurm:FILE.toml (docs/cluster.md). Default: processes of this machine.",
        show_default=False,
    ),
]
WorkerMemory = Annotated[
    int | None,
    typer.Option(
        metavar="MB",
        help="Memory of each worker process. Default: no limit.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Stop after this many seconds."),
]
MemoryLimit = Annotated[
    int | None, typer.Option("--memory-limit", metavar="MB", help="Stop at this many megabytes.")
]
KeepUnimportant = Annotated[
    bool,
    typer.Option(
        "--keep-unimportant/--drop-unimportant",
        help="Keep variables that do not matter for the goal (a policy may look at them).",
    ),
]


def user_trusts(trust_policy: bool) -> bool | Callable[[str], bool]:
    """Whether the user allows a stored policy to run: by an option, or asked once on a terminal."""
    if trust_policy or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return trust_policy
    answers: dict[str, bool] = {}

    def ask(spec: str) -> bool:
        # On one line, and all of it: after a page of empty lines, another question could stand in its place.
        shown = written_out(spec)
        if len(shown) > MOST_ASKED:
            return False
        if spec not in answers:
            what = "an oracle" if spec.startswith("--oracle ") else "a policy"
            sys.stderr.write(f"The folder names {what} that runs code: {shown}\n")
            sys.stderr.write("Run it with your permissions? [y/N] ")
            sys.stderr.flush()
            answers[spec] = sys.stdin.readline().strip().lower() in ("y", "yes")
        return answers[spec]

    return ask


def read_task(paths: list[Path], keep_unimportant: bool = True) -> Task:
    """Load the task of the command line, with progress while the translator works."""
    from misstep.tasks.pddl.load import load_planning_task

    with search_progress("translating"):
        return load_planning_task(*paths, keep_unimportant=keep_unimportant)


def read_problems(paths: list[Path], domain: Path | None = None) -> list[Task]:
    """Load many tasks as `misstep.load_suite` does: with one domain file for all, or each with its own."""
    from misstep.tasks.suites import suite_files

    tasks = []
    for name, files in suite_files(paths, domain) if paths else []:
        task = read_task(list(files))
        task.name = name
        tasks.append(task)
    return tasks


def domain_of_suite(paths: list[Path] | None) -> Path | None:
    """What may stand before --suite: the domain of all its problems."""
    from misstep.tasks.files import is_domain

    if not paths:
        return None
    if len(paths) > 1 or (paths[0].exists() and not is_domain(paths[0])):
        raise UsageError(
            "both a task and a suite",
            expected="one of them, or DOMAIN.pddl --suite FOLDER: one domain for all problems of the folder",
        )
    return paths[0]


# Options that take several values in a row, as in `--validate a.pddl b.pddl`.
SEVERAL = {"train": ("--validate",), "select": ("--policies",)}


def repeat_options(arguments: list[str]) -> list[str]:
    """Rewrite `--validate a b` as `--validate a --validate b`, which typer can read."""
    several = SEVERAL.get(arguments[0] if arguments else "", ())
    result: list[str] = []
    option: str | None = None
    for argument in arguments:
        if argument.startswith("-"):
            option = argument if argument in several else None
            result.append(argument)
        elif option is not None and result[-1] != option:
            result += [option, argument]
        else:
            result.append(argument)
    return result


def typed(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Those of these parameters that the user has given, as written on the command line."""
    wanted = set(names)
    found = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in wanted and source is not None and source.name == "COMMANDLINE":
            found.append(parameter.opts[0])
    return found


def check_limits(**limits: float | None) -> None:
    for name, value in limits.items():
        option = "--" + name.replace("_", "-")
        if value is not None and not value > 0:
            raise UsageError(f"{option} is {value}", expected="a positive number")
        if isinstance(value, int) and value >= 2**63:
            raise UsageError(f"{option} is {value}", expected="a number below 2^63")
