"""`misstep check-policy`: check that a policy is a function of the state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from misstep.cli.arguments import (
    AsJson,
    KeepUnimportant,
    PolicySpec,
    TaskPaths,
    check_limits,
    read_task,
)
from misstep.cli.output import print_json, say, search_progress


def check_policy_command(
    task: TaskPaths,
    policy: PolicySpec,
    states: Annotated[int, typer.Option(metavar="N", help="Number of states to ask about.")] = 200,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the random walks that find the states.")
    ] = 0,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Check that a policy is a function of the state: asked twice, alone, in a batch, in any order, after reload, in
    another process.

    Lists everything it finds. Exit code 1 if there are findings.

    Example: misstep check-policy domain.pddl problem.pddl --policy heuristic:ff --states 50
    """
    check_limits(states=states)
    loaded = read_task(task, keep_unimportant)
    from misstep.policies.conformance import check_policy
    from misstep.policies.load import load_policy

    with search_progress("asking the policy"):
        asked, findings = check_policy(
            lambda: load_policy(policy, loaded), states=states, seed=seed
        )
    if as_json:
        print_json(
            {
                "task": loaded.name,
                "policy": policy,
                "states": asked,
                "findings": [asdict(finding) for finding in findings],
            }
        )
        return 1 if findings else 0
    for finding in findings:
        say(
            f"violated: {finding.rule} ({finding.count} of {asked} states), for example {finding.example}"
        )
    if not findings:
        say(f"no findings on {asked} states of {loaded.name}")
    return 1 if findings else 0
