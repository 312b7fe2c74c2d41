"""`misstep dominance`: compute a dominance function and show how many pairs of states it compares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, KeepUnimportant, TaskPaths, check_limits, read_task
from misstep.cli.defaults import DOMINANCE_STATES, DOMINANCE_STEPS, DOMINANCE_TRANSITIONS
from misstep.cli.groups import Group, takes
from misstep.cli.output import print_json, print_pairs, remark, search_progress
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.oracles.dominance import DominanceFunction, FactorInfo
    from misstep.tasks.task import Task


@dataclass(frozen=True)
class Subject(Group, heading="Task"):
    """The task."""

    task: TaskPaths
    keep_unimportant: KeepUnimportant = True


@dataclass(frozen=True)
class Factors(Group, heading="Factors"):
    """Which factors the function is made of."""

    atomic: Annotated[
        bool, typer.Option("--atomic", help="Use one factor per variable; merge nothing.")
    ] = False
    simplify: Annotated[
        bool,
        typer.Option("--simplify", help="Reduce labels and shrink factors while merging (exact)."),
    ] = False
    both: Annotated[
        bool,
        typer.Option(
            "--both", help="Use both atomic factors and merged, simplified ones, as the oracles do."
        ),
    ] = False
    limit_transitions: Annotated[
        int, typer.Option(metavar="N", help="Largest number of transitions of a merged factor.")
    ] = DOMINANCE_TRANSITIONS
    limit_states: Annotated[
        int, typer.Option(metavar="N", help="Largest number of states of a merged factor.")
    ] = DOMINANCE_STATES
    keep_unreachable: Annotated[
        bool, typer.Option("--keep-unreachable", help="Compare unreachable states as well.")
    ] = False


@dataclass(frozen=True)
class Effort(Group, heading="Effort"):
    """Limits of the computation."""

    steps: Annotated[
        int, typer.Option(metavar="N", help="Budget for each factor, in table entries read.")
    ] = DOMINANCE_STEPS
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Stop after this many seconds and use the result so far."
        ),
    ] = None
    threads: Annotated[
        int, typer.Option(metavar="N", help="Number of factors to work on at a time.")
    ] = 1


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    """What to print and write."""

    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Compare the function with exact distances on all pairs of states (small tasks).",
        ),
    ] = False
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the function to a file.")
    ] = None
    as_json: AsJson = False


@takes(Subject, Factors, Effort, Output)
def dominance_command(
    context: typer.Context,  # noqa: ARG001
    subject: Subject,
    factors: Factors,
    effort: Effort,
    output: Output,
) -> int:
    """Compute lower bounds on how much farther from the goal a state is than another: D(s, t) <= h*(s) - h*(t).

    Example: misstep dominance domain.pddl problem.pddl --both
    """
    check_limits(
        limit_transitions=factors.limit_transitions,
        limit_states=factors.limit_states,
        **asdict(effort),
    )
    if factors.atomic and (factors.simplify or factors.both):
        raise UsageError("--atomic cannot be combined with --simplify or --both")
    task = read_task(subject.task, subject.keep_unimportant)
    function = _computed(task, factors, effort)
    for text in function.remarks:
        remark(text)
    result: dict[str, Any] = {
        "task": task.name,
        "solvable": function.solvable,
        "factors": [_as_dict(factor, factors.both) for factor in function.factors],
        "merges": function.merges,
        "rounds": list(function.rounds),
        "seconds": round(function.seconds, 3),
        "table_bytes": function.bytes,
    }
    if output.pairs:
        from misstep.oracles.dominance.pairs import count_pairs

        result |= asdict(count_pairs(function))
    if output.save is not None:
        function.save(output.save)
        result["saved"] = str(output.save)
    if output.as_json:
        print_json(result)
    else:
        _print_table(result, function.factors)
    return 0


def _computed(task: Task, factors: Factors, effort: Effort) -> DominanceFunction:
    from misstep.oracles.dominance import dominance

    simplify = factors.simplify or factors.both
    with search_progress("comparing states", unit="table entries read") as update:
        return dominance(
            task,
            progress=lambda _, steps, seconds: update(steps, 0, 0, 0, seconds),
            atomic=factors.atomic or factors.both,
            merged=not factors.atomic,
            reduce_labels=simplify,
            shrink=simplify,
            limit_states=factors.limit_states,
            limit_transitions=factors.limit_transitions,
            prune_unreachable=not factors.keep_unreachable,
            steps=effort.steps,
            seconds=effort.time_limit,
            threads=effort.threads,
        )


def _as_dict(factor: FactorInfo, several: bool) -> dict[str, Any]:
    result = asdict(factor) | {"variables": list(factor.variables)}
    if not several:
        del result["factoring"]
    return result


def _print_table(result: dict[str, Any], factors: list[FactorInfo]) -> None:
    known = sum(factor.finite for factor in factors)
    pairs = sum(factor.pairs for factor in factors)
    shown = {
        **result,
        "factors": len(factors),
        "rounds": ", ".join(map(str, result["rounds"])) or None,
        "largest_factor": max((factor.states for factor in factors), default=0),
        "known_share": f"{known / pairs:.3f}" if pairs else None,
    }
    print_pairs(shown)


__all__ = ["dominance_command"]
