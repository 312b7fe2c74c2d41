"""`misstep census`: exact numbers of a small task, and of a policy on it."""

from __future__ import annotations

from typing import Annotated, Any

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
from misstep.cli.defaults import CENSUS_STATES
from misstep.cli.models import (
    MODEL_OPTIONS,
    Constants,
    Inapplicable,
    Property,
    is_model,
    refuse_options,
)
from misstep.cli.output import print_json, print_pairs, search_progress


def census_command(
    context: typer.Context,
    task: TaskPaths,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="Also run this policy from every state and count its bugs and faults.",
        ),
    ] = None,
    max_states: Annotated[
        int, typer.Option(metavar="N", help="Refuse tasks with more reachable states.")
    ] = CENSUS_STATES,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    property: Property = None,
    constant: Constants = None,
    inapplicable: Inapplicable = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Enumerate the reachable states of a small task and count them, with exact distances to the goal.

    Of a MODEL.jani, count those that are unsafe, safe, and safe under the policy (first if none is given).
    With a policy, exit code 1 says that it has bugs.
    """
    check_limits(time_limit=time_limit, memory_limit=memory_limit, max_states=max_states)
    if is_model(task):
        from misstep.cli.jani_census import jani_census

        refuse_options(context, ["keep_unimportant"], "a planning task")
        return jani_census(
            task,
            policy,
            property=property,
            constants=constant,
            inapplicable=inapplicable,
            max_states=max_states,
            time_limit=time_limit,
            memory_limit=memory_limit,
            as_json=as_json,
        )
    refuse_options(context, MODEL_OPTIONS, "MODEL.jani as the task")
    loaded = read_task(task, keep_unimportant)
    from misstep.tasks.census import Census, state_space

    with search_progress("enumerating") as progress:
        space = state_space(
            loaded,
            max_states=max_states,
            time_limit=time_limit,
            memory_limit_mb=memory_limit,
            progress=progress,
        )
    counts: dict[str, Any] = {"task": loaded.name, **Census.of(space).as_dict()}
    bugs = 0
    if policy is not None:
        from misstep.faults.census import policy_census
        from misstep.policies.load import load_policy

        tested = load_policy(policy, loaded)
        try:
            with search_progress("running the policy") as progress:
                found = policy_census(tested, space, progress)
        finally:
            tested.close()
        bugs = found.bugs
        counts["policy"] = {"spec": policy, **found.as_dict()}
    if as_json:
        print_json(counts)
    else:
        print_pairs({name: value for name, value in counts.items() if name != "policy"})
        if policy is not None:
            print()
            print_pairs(counts["policy"])
    return 1 if bugs else 0
