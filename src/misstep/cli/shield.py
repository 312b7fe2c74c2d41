"""`misstep shield`: write a shield for a policy on a model. The file itself can be used as a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, TrustPolicy, check_limits, typed, user_trusts
from misstep.cli.campaigns import open_folder
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    MODEL_OPTIONS,
    Reading,
    read_model,
)
from misstep.cli.output import phase_progress, print_json, say, waiting
from misstep.errors import UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.safety.shield import DeciderShield
    from misstep.tasks.jani.task import JaniTask

STATES = 1_000_000


@dataclass(frozen=True)
class Request(Group, heading="What to shield"):
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|MODEL.jani", help="The folder of a campaign on one model, or a model."
        ),
    ]
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The policy to shield. Default: the policy of the campaign.",
            show_default=False,
        ),
    ] = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Deciding(Group, heading="Deciding"):
    oracle: Annotated[
        str,
        typer.Option(metavar="NAME", help="The decider: localfix, tarjan, lrtdp, lao, vi or ipi."),
    ] = "localfix"
    evaluations: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Evaluations that the decider may spend on one state."
        ),
    ] = 1_000_000
    starts: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of start states to decide now, to estimate how much the shield helps.",
        ),
    ] = 100
    seed: Annotated[int, typer.Option(min=0, help="Seed of these start states.")] = 0
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Store the allowed labels of all states that shielded runs can reach from any start state, so that "
            "nothing is decided while the policy runs. For small models.",
        ),
    ] = False
    states: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="With --table: the largest number of its states."),
    ] = STATES


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the shield.")
    ]
    as_json: AsJson = False


@takes(Request, Reading, Deciding, Output)
def shield_command(
    context: typer.Context, request: Request, reading: Reading, deciding: Deciding, output: Output
) -> int:
    """Write a shield for a policy on a model: it allows only labels that a decider proves to be safe.

    The file can be used as a policy, shield:FILE. In each state it takes the policy's most preferred label among those
    with only safe outcomes, so its runs from a safe state stay safe for ever. If no label is proven safe, because the
    state is lost or the evaluations ran out, the policy decides. The file works for this model only.

    Example: misstep shield found -o shield.json
    """
    check_limits(evaluations=deciding.evaluations, states=deciding.states)
    if not deciding.table and (asked := typed(context, ["states"])):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--table")
    from misstep.files import check_target, write_bytes
    from misstep.safety.shield import FORMAT

    check_target(output.out, "a shield", lambda start: FORMAT.encode() in start)
    task, made = _source(context, request, reading, deciding)
    from misstep.safety.jani_shield import decided_starts, table_of
    from misstep.safety.shield import GUARANTEE

    with phase_progress() as report:
        starts = decided_starts(
            task,
            made,
            deciding.starts,
            deciding.seed,
            lambda done, total: report("deciding start states", done, total),
        )
    told: dict[str, Any] = {
        "shield": str(output.out),
        "model": task.name,
        "digest": task.digest,
        "policy": made.policy,
        "decider": made.decider,
        "evaluations": made.evaluations,
        "starts": starts,
    }
    text = made.to_json()
    if deciding.table:
        with waiting("storing the allowed labels"):
            found = table_of(task, made, deciding.states)
        text, told["table"] = found.to_json(), len(found.allowed)
    write_bytes(output.out, text.encode())
    told |= {"guarantee": GUARANTEE, "use": f"--policy shield:{output.out}"}
    if output.as_json:
        print_json(told)
    else:
        _print(told)
    return 0


def _source(
    context: typer.Context, request: Request, reading: Reading, deciding: Deciding
) -> tuple[JaniTask, DeciderShield]:
    """The model, and the shield for the policy on it."""
    from misstep.policies.trust import given, require_trust
    from misstep.safety.jani_shield import shield_for

    asked: dict[str, Any] = {"decider": deciding.oracle, "evaluations": deciding.evaluations}

    if request.source.suffix == ".jani" or not request.source.is_dir():
        if request.policy is None:
            raise UsageError("the policy to shield is missing", expected="--policy SPEC")
        given(request.policy)
        task = read_model([request.source], reading)
        return task, shield_for([task], request.policy, None, **asked)
    for option in typed(context, MODEL_OPTIONS):
        raise UsageError(f"{option} has no meaning here", expected="the model of the campaign")
    where = str(request.source)
    with open_folder(request.source, request.policy, request.trust_policy) as campaign:
        spec = request.policy or campaign.settings.policy
        made = shield_for(campaign.tasks, spec, where, **asked)
        if request.policy is not None:
            given(spec)
        if deciding.table:
            require_trust(spec, user_trusts(request.trust_policy), where, of_model=True)
        return campaign.tasks[0], made  # type: ignore[return-value]


def _print(told: dict[str, Any]) -> None:
    starts = told["starts"]
    rows = [
        ("shield", told["shield"]),
        ("model", f"{escaped(told['model'])}, and no other"),
        ("policy", escaped(told["policy"])),
        ("decider", f"{told['decider']}, {told['evaluations']:,} evaluations for a state"),
        (
            "starts",
            f"{sum(starts.values())} drawn: {starts['safe']} safe, {starts['not safe']} not safe, "
            f"{starts['unknown']} undecided",
        ),
    ]
    if "table" in told:
        rows.append(("table", f"{told['table']:,} states"))
    rows += [
        ("promise", told["guarantee"]),
        ("use", f"--policy shield:{quote(told['shield'])}"),
    ]
    for name, text in rows:
        say(f"{name:8}  {text}")


__all__ = ["shield_command"]
