"""`misstep dominance`: compute a dominance function and tell how much it knows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, KeepUnimportant, TaskPaths, check_limits, read_task
from misstep.cli.defaults import DOMINANCE_STATES, DOMINANCE_STEPS, DOMINANCE_TRANSITIONS
from misstep.cli.output import print_json, print_pairs, remark, search_progress
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.oracles.dominance import FactorInfo


def dominance_command(
    task: TaskPaths,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="One factor a variable; merge nothing.")
    ] = False,
    simplify: Annotated[
        bool,
        typer.Option("--simplify", help="Reduce labels and shrink factors while merging (exact)."),
    ] = False,
    both: Annotated[
        bool,
        typer.Option(
            "--both", help="What the oracles use: atomic factors and merged, simplified ones."
        ),
    ] = False,
    limit_transitions: Annotated[
        int, typer.Option(metavar="N", help="Merge no factors to more transitions than this.")
    ] = DOMINANCE_TRANSITIONS,
    limit_states: Annotated[
        int, typer.Option(metavar="N", help="Merge no factors to more states than this.")
    ] = DOMINANCE_STATES,
    keep_unreachable: Annotated[
        bool, typer.Option("--keep-unreachable", help="Compare unreachable states as well.")
    ] = False,
    steps: Annotated[
        int, typer.Option(metavar="N", help="Budget of a factor, in table entries read.")
    ] = DOMINANCE_STEPS,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Use what is there after so many seconds."),
    ] = None,
    threads: Annotated[
        int, typer.Option(metavar="N", help="Work on so many factors at a time.")
    ] = 1,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Compare all pairs of states with the truth (small tasks)."),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the function to a file.")
    ] = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Compute how much better states are than others, at least: D(s, t) <= h*(s) - h*(t)."""
    check_limits(
        limit_transitions=limit_transitions,
        limit_states=limit_states,
        steps=steps,
        time_limit=time_limit,
        threads=threads,
    )
    if atomic and (simplify or both):
        raise UsageError("--atomic goes with neither --simplify nor --both")
    loaded = read_task(task, keep_unimportant)
    from misstep.oracles.dominance import dominance

    with search_progress("comparing states", unit="table entries read") as update:
        function = dominance(
            loaded,
            progress=lambda _, steps, seconds: update(steps, 0, 0, 0, seconds),
            atomic=atomic or both,
            merged=not atomic,
            reduce_labels=simplify or both,
            shrink=simplify or both,
            limit_states=limit_states,
            limit_transitions=limit_transitions,
            prune_unreachable=not keep_unreachable,
            steps=steps,
            seconds=time_limit,
            threads=threads,
        )
    for text in function.remarks:
        remark(text)
    result: dict[str, Any] = {
        "task": loaded.name,
        "solvable": function.solvable,
        "factors": [_as_dict(factor, both) for factor in function.factors],
        "merges": function.merges,
        "rounds": list(function.rounds),
        "seconds": round(function.seconds, 3),
        "table_bytes": function.bytes,
    }
    if pairs:
        from misstep.oracles.dominance.pairs import count_pairs

        result |= asdict(count_pairs(function))
    if save is not None:
        function.save(save)
        result["saved"] = str(save)
    if as_json:
        print_json(result)
    else:
        _print_table(result, function.factors)
    return 0


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
