"""`misstep run`: run a policy once."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import (
    AsJson,
    KeepUnimportant,
    PolicySpec,
    TaskPaths,
    check_limits,
    read_task,
)
from misstep.cli.defaults import MAX_STEPS, REVISIT
from misstep.cli.output import print_json, remark, search_progress

if TYPE_CHECKING:
    from misstep.runs.runner import Trace
    from misstep.tasks.task import Task

EXIT_CODES = {"goal": 0, "cut": 10, "error": 11, "timeout": 12}


def run_command(
    task: TaskPaths,
    policy: PolicySpec,
    state: Annotated[
        str | None,
        typer.Option("--from", metavar="STATE", help="Start here: values or atoms of a state."),
    ] = None,
    revisit: Annotated[
        str,
        typer.Option(
            metavar="|".join(REVISIT),
            help="At a state seen before, stop; or never go to such a state (for policies that rank operators).",
        ),
    ] = "stop",
    max_steps: Annotated[
        int, typer.Option(metavar="N", help="Stop the run after this many steps.")
    ] = MAX_STEPS,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Run a policy once and print the operators it chooses. Standard error says how the run ends.

    Exit code 0 if the run reaches the goal, 1 if it does not (loop, stuck, inapplicable), 10 if it was cut, 11 if the
    policy crashed, 12 if it did not answer in time.

    Example: misstep run domain.pddl problem.pddl --policy heuristic:ff
    """
    check_limits(max_steps=max_steps)
    loaded = read_task(task, keep_unimportant)
    from misstep.runs.single import run

    began = monotonic()
    with search_progress("running"):
        trace = run(policy, loaded, state, revisit=revisit, max_steps=max_steps)
    if as_json:
        print_json(
            {
                "task": loaded.name,
                "policy": policy,
                "outcome": trace.outcome,
                "steps": len(trace.operators),
                "cost": trace.cost,
                "evaluations": trace.evaluations,
                "policy_calls": trace.policy_calls,
                "operators": [loaded.operator_name(op) for op in trace.operators],
                "values": trace.values,
                "message": trace.message,
                "last_state": list(trace.states[-1].values),
                "seconds": round(monotonic() - began, 3),
            }
        )
    else:
        _print(loaded, trace)
    return EXIT_CODES.get(trace.outcome, 1)


def _print(task: Task, trace: Trace) -> None:
    for i, operator in enumerate(trace.operators):
        value = "" if trace.values is None else f"  ; value {trace.values[i + 1]:g}"
        print(f"({task.operator_name(operator)}){value}")
    ended = f"cost = {trace.cost}" if trace.outcome == "goal" else f"no plan: {trace.outcome}"
    print(f"; {ended}")
    calls = f"{trace.policy_calls} policy calls, {trace.evaluations} evaluations"
    remark(f"{trace.outcome} after {len(trace.operators)} steps, cost {trace.cost}; {calls}")
    if trace.message:
        remark("the policy says: " + " ".join(trace.message.split()))
