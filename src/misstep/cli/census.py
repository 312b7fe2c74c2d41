"""`misstep census`: exact numbers of a small task, and of a policy on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import (
    AsJson,
    KeepUnimportant,
    MemoryLimit,
    TimeLimit,
    check_limits,
    read_task,
)
from misstep.cli.defaults import CENSUS_STATES
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    HEADING,
    MODEL_OPTIONS,
    Inapplicable,
    Reading,
    TaskOrModel,
    is_model,
    read_model,
    refuse_options,
)
from misstep.cli.output import print_json, print_pairs, search_progress

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask
    from misstep.tasks.task import Task


@dataclass(frozen=True)
class What(Group, heading="Options"):
    task: TaskOrModel
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
class OfModels(Reading, heading=HEADING):
    inapplicable: Inapplicable = None


@takes(What, OfModels)
def census_command(context: typer.Context, what: What, models: OfModels) -> int:
    """Enumerate the reachable states of a small task and count them, with exact distances to the goal.

    Of a MODEL.jani, count those that are unsafe, safe, and safe under the policy (first if none is given).
    With a policy, exit code 1 says that it has bugs.

    Example: misstep census domain.pddl problem.pddl --policy heuristic:ff
    """
    check_limits(**what.values(["time_limit", "memory_limit", "max_states"]))
    if is_model(what.task):
        refuse_options(context, ["keep_unimportant"], "a planning task")
        loaded: Task | JaniTask = read_model(what.task, models)
    else:
        refuse_options(context, MODEL_OPTIONS, "MODEL.jani as the task")
        loaded = read_task(what.task, what.keep_unimportant)
    from misstep.faults.census import FIRST, PolicyCensus, SafetyCensus, census

    policy = what.policy
    with search_progress("enumerating") as progress:
        found = census(
            loaded,
            policy,
            inapplicable=models.inapplicable,
            max_states=what.max_states,
            time_limit=what.time_limit,
            memory_limit_mb=what.memory_limit,
            progress=progress,
        )
    counts: dict[str, Any] = {"task": loaded.name}
    bugs = 0
    if isinstance(found, SafetyCensus):
        counts |= {"policy": policy or FIRST, **found.as_dict()}
        bugs = found.bugs if policy is not None else 0
    elif isinstance(found, PolicyCensus):
        counts |= {**found.of_task.as_dict(), "policy": {"spec": policy, **found.as_dict()}}
        bugs = found.bugs
    else:
        counts |= found.as_dict()
    if what.as_json:
        print_json(counts)
    else:
        _print(counts)
    return 1 if bugs else 0


def _print(counts: dict[str, Any]) -> None:
    of_policy = counts["policy"] if isinstance(counts.get("policy"), dict) else None
    shown = {n: v for n, v in counts.items() if of_policy is None or n != "policy"}
    by_radius = shown.pop("safe", {})
    print_pairs({**shown, **{f"safe, radius {radius}": n for radius, n in by_radius.items()}})
    if of_policy is not None:
        print()
        print_pairs(of_policy)
