"""`misstep census`: exact numbers of a small task, and of a policy on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import (
    AsJson,
    Cluster,
    KeepUnimportant,
    MemoryLimit,
    TimeLimit,
    check_limits,
    domain_of_suite,
    read_task,
)
from misstep.cli.defaults import CENSUS_STATES
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    HEADING,
    MODEL_OPTIONS,
    Inapplicable,
    Reading,
    is_model,
    read_model,
    reading_options,
    refuse_options,
)
from misstep.cli.output import (
    phase_progress,
    print_json,
    print_pairs,
    print_table,
    remark,
    search_progress,
)
from misstep.errors import Interrupted, PolicyCrashError, PolicyTimeoutError, UsageError
from misstep.escaping import escaped

# What is not clear from its name in the code.
TITLES = {
    "h_star_initial": "cheapest plan",
    "max_h_star": "largest distance",
    "safe_initial": "safe starts",
    "initial": "starts",
    "spec": "policy",
}

if TYPE_CHECKING:
    from misstep.experiments.kinds import Json
    from misstep.tasks.jani.task import JaniTask
    from misstep.tasks.suites import TaskFiles
    from misstep.tasks.task import Task


@dataclass(frozen=True)
class What(Group, heading="Options"):
    task: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TASK...",
            help="MODEL.jani, or DOMAIN.pddl PROBLEM.pddl, or PROBLEM.pddl with domain.pddl beside it or up to three "
            "folders up, or TASK.sas, or a folder with one task or model; or several tasks or folders. With --suite: "
            "the domain of all its problems, or nothing.",
            show_default=False,
        ),
    ] = None
    suite: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Count every problem, or every .jani model, in this folder and below; also a pattern "
            "('tasks/p0*.pddl') or a list of tasks (tasks.txt).",
            show_default=False,
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="Also run this policy from every state and count its bugs and faults.",
        ),
    ] = None
    max_states: Annotated[
        int, typer.Option(metavar="N", help="Refuse tasks with more reachable states.")
    ] = CENSUS_STATES
    time_limit: TimeLimit = None
    memory_limit: MemoryLimit = None
    keep_unimportant: KeepUnimportant = True
    as_json: AsJson = False


@dataclass(frozen=True)
class Sharing(Group, heading="Many tasks"):
    """Where to count, and the limits of time and memory for each task."""

    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of worker processes; each counts one task at a time."
        ),
    ] = 1
    cluster: Cluster = None


@dataclass(frozen=True)
class OfModels(Reading, heading=HEADING):
    inapplicable: Inapplicable = None


@takes(What, Sharing, OfModels)
def census_command(context: typer.Context, what: What, sharing: Sharing, models: OfModels) -> int:
    """Enumerate the reachable states of a small task and count them, with exact distances to the goal.

    For a MODEL.jani, count the unsafe states, the safe ones, and those that are safe under the policy (default: first).
    With a policy, exit code 1 means that it has bugs. With several tasks, a task that fails is reported and the others
    continue; limits hold for each task.

    Example: misstep census domain.pddl problem.pddl --policy heuristic:ff

    Example: misstep census --suite tasks --policy heuristic:ff --jobs 2 --memory-limit 2000
    """
    check_limits(**what.values(["time_limit", "memory_limit", "max_states"]), jobs=sharing.jobs)
    suite = _suite(what)
    if suite is not None:
        return _many(context, what, models, suite, sharing)
    assert what.task
    if sharing.cluster is not None:
        raise UsageError("--cluster with one task", expected="several tasks, or --suite FOLDER")
    if is_model(what.task):
        refuse_options(context, ["keep_unimportant"], "a planning task")
        loaded: Task | JaniTask = read_model(what.task, models)
    else:
        refuse_options(context, MODEL_OPTIONS, "MODEL.jani as the task")
        loaded = read_task(what.task, what.keep_unimportant)
    from misstep.faults.census import census, counted

    with search_progress("enumerating") as progress:
        found = census(
            loaded,
            what.policy,
            inapplicable=models.inapplicable,
            max_states=what.max_states,
            time_limit=what.time_limit,
            memory_limit_mb=what.memory_limit,
            progress=progress,
        )
    counts, bugs = counted(loaded.name, what.policy, found)
    if what.as_json:
        print_json(counts)
    else:
        _print(counts)
    return _exit_code(counts, bugs)


def _exit_code(counts: dict[str, Any], bugs: int) -> int:
    """That of a policy, whose crashes and time-outs leave open what it does there."""
    if bugs:
        return 1
    own = counts.get("policy")
    of_policy = own if isinstance(own, dict) else {}
    if of_policy.get("errors"):
        return PolicyCrashError.exit_code
    return PolicyTimeoutError.exit_code if of_policy.get("timeouts") else 0


# -- many tasks -----------------------------------------------------------------------------------


def _suite(what: What) -> list[TaskFiles] | None:
    """The tasks, if they are several; None: one task."""
    from misstep.tasks.suites import is_suite, suite_files

    given = what.task or []
    if what.suite is not None:
        return suite_files([what.suite], domain_of_suite(given))
    if not given:
        raise UsageError("no task to count", expected="TASK..., or --suite FOLDER")
    several = len(given) > 1 and any(path.is_dir() for path in given)
    return suite_files(given) if several or is_suite(given) else None


def _many(
    context: typer.Context, what: What, models: OfModels, suite: list[TaskFiles], sharing: Sharing
) -> int:
    from misstep.experiments.apart import FAILURE, Where, carried, done_apart

    where = Where(sharing.jobs, sharing.cluster, what.memory_limit)
    where.check()
    of_models = is_model(list(suite[0].files))
    if of_models:
        refuse_options(context, ["keep_unimportant"], "planning tasks")
    else:
        refuse_options(context, MODEL_OPTIONS, "models as the tasks")
    common = {
        **what.values(["policy", "max_states", "time_limit", "memory_limit", "keep_unimportant"]),
        "inapplicable": models.inapplicable,
        "model": reading_options(models) if of_models else None,
    }
    payloads = [
        {
            **common,
            "name": own.name,
            "files": [str(file.resolve()) for file in own.files],
            "carried": carried(where, what.policy, own.files),
        }
        for own in suite
    ]
    found: dict[int, Json] = {}
    try:
        with phase_progress() as progress:
            for number, result in done_apart("census", payloads, where, remark):
                found[number] = result
                progress("tasks", len(found), len(suite))
    except (KeyboardInterrupt, Interrupted):
        remark(f"stopped by the user after {len(found)} of {len(suite)} tasks")
    stopped = {FAILURE: "stopped by the user", "exit_code": Interrupted.exit_code}
    rows = [(own.name, found.get(number, stopped)) for number, own in enumerate(suite)]
    return _tell_many(rows, what.as_json)


def _tell_many(rows: list[tuple[str, Json]], as_json: bool) -> int:
    """Print all results; return 1 if there are bugs, else the exit code of the first task that has another one."""
    from misstep.experiments.apart import FAILURE

    failed = {name: row for name, row in rows if FAILURE in row}
    counts = {name: row["counts"] for name, row in rows if FAILURE not in row}
    bugs = sum(row["bugs"] for _, row in rows if FAILURE not in row)
    if as_json:
        told = [counts.get(name, {"task": name, **row}) for name, row in rows]
        print_json({"tasks": told, "done": len(counts), "failed": len(failed), "bugs": bugs})
    else:
        _print_many(list(counts.values()))
        for name, row in failed.items():
            remark(f"{escaped(name)}: {escaped(row[FAILURE])}")
        if failed:
            remark(f"{len(failed)} of {len(rows)} tasks have no census")
    codes = [
        int(row["exit_code"]) if FAILURE in row else _exit_code(row["counts"], row["bugs"])
        for _, row in rows
    ]
    if Interrupted.exit_code in codes:
        return Interrupted.exit_code
    return 1 if bugs else next(filter(None, codes), 0)


def _print_many(counts: list[dict[str, Any]]) -> None:
    rows = [_row(own) for own in counts]
    if rows:
        print_table([_title(name) for name in rows[0]], [list(own.values()) for own in rows])


def _row(counts: dict[str, Any]) -> dict[str, str]:
    """A line of the table: all numbers, first those of the task, then those of the policy."""
    of_policy = counts["policy"] if isinstance(counts.get("policy"), dict) else {}
    by_radius = _by_radius(counts.get("safe", {}))
    safe = {f"safe, radius {radius}": number for radius, number in by_radius.items()}
    task = {name: own for name, own in counts.items() if name not in ("policy", "safe")}
    more = {name: own for name, own in of_policy.items() if name not in ("spec", "states")}
    return {
        name: "-" if own is None else str(own) for name, own in {**task, **safe, **more}.items()
    }


def _print(counts: dict[str, Any]) -> None:
    of_policy = counts["policy"] if isinstance(counts.get("policy"), dict) else None
    shown = {n: v for n, v in counts.items() if of_policy is None or n != "policy"}
    by_radius = _by_radius(shown.pop("safe", {}))
    titled = {_title(name): number for name, number in shown.items()}
    print_pairs({**titled, **{f"safe, radius {radius}": n for radius, n in by_radius.items()}})
    if of_policy is not None:
        print()
        print_pairs({_title(name): number for name, number in of_policy.items()})


def _title(name: str) -> str:
    """A number's name for people; --json has the names of the code."""
    return TITLES.get(name, name.replace("_", " "))


def _by_radius(safe: dict[str, int]) -> dict[str, int]:
    """The smallest radius first, `inf` last."""
    return dict(sorted(safe.items(), key=lambda own: float(own[0])))
