"""`misstep explain`: why the policy fails, and which decisions are to blame."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, GivenPolicy, TrustPolicy, check_limits, typed
from misstep.cli.campaigns import Folder, open_folder
from misstep.cli.defaults import EXPLAIN_SECONDS
from misstep.cli.output import print_json, remark, tracked, waiting
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.explain import BlamedDecision
    from misstep.campaigns.records import Record
    from misstep.campaigns.rows import Values


def explain_command(
    context: typer.Context,
    folder: Folder,
    bug: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="TASK:NUMBER of a bug, or its number if there is one task; left out: the decisions behind all bugs.",
            show_default=False,
        ),
    ] = None,
    deeper: Annotated[
        bool,
        typer.Option(
            "--deeper",
            help="Look further than the campaign did: exact distances or longer searches, and the smallest repair.",
        ),
    ] = False,
    time: Annotated[
        float, typer.Option(metavar="SECONDS", help="What --deeper may take.")
    ] = EXPLAIN_SECONDS,
    top: Annotated[int, typer.Option(metavar="N", help="How many decisions to print.")] = 20,
    shield: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Of a model: write the faults as a blacklist for shield:FILE+SPEC."
        ),
    ] = None,
    policy: GivenPolicy = None,
    trust_policy: TrustPolicy = False,
    as_json: AsJson = False,
) -> int:
    """Explain a bug: the policy's run beside the better plan, the missteps with their share of the gap, the repair.

    Without ID: the decisions behind all bugs of the campaign, those that cause most of them first. What the campaign
    has stored is shown at once; --deeper asks the policy again.

    Example: misstep explain found problem:3 --deeper --time 20
    """
    check_limits(top=top, time=time)
    if not deeper and (asked := typed(context, ["time", "policy", "trust_policy"])):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--deeper")
    with open_folder(folder, policy, trust_policy) as campaign:
        if bug is None:
            faults = _deeper_faults(campaign, time) if deeper else campaign.faults
            if shield is not None:
                _write_shield(campaign, faults, shield)
            _print_faults(faults, top, as_json)
            if not faults and any(record.faults is None for record in campaign.bugs):
                remark("faults were not looked for in all bugs; --deeper looks for them")
            return 0
        with waiting(f"looking deeper, for {time:g} s at most", shown=deeper):
            explanation = campaign.explain(bug, deeper=deeper, time_limit=time)
        if shield is not None:
            name = explanation.record.task
            _write_shield(campaign, [own for own in campaign.faults if own.task == name], shield)
        if as_json:
            print_json(explanation.as_dict())
        else:
            print(explanation)
    return 0


def _deeper_faults(campaign: Campaign, seconds: float) -> list[BlamedDecision]:
    """The decisions behind all bugs, as far as the time allows to look at them again."""
    from misstep.campaigns.explain import blamed_decisions

    ends = monotonic() + seconds
    bugs = campaign.bugs
    found: list[Record] = []
    for bug in tracked(bugs, "looking deeper", len(bugs)):
        left = ends - monotonic()
        if left <= 0:
            remark(f"the time was enough for {len(found)} of {len(bugs)} bugs (--time)")
            break
        found.append(campaign.explain(bug, deeper=True, time_limit=left).record)
    return blamed_decisions([*found, *bugs[len(found) :]])


def _print_faults(faults: list[BlamedDecision], top: int, as_json: bool) -> None:
    if as_json:
        print_json({"faults": [fault.as_dict() for fault in faults]})
        return
    if not faults:
        print("no faults proven")
    for fault in faults[:top]:
        print(fault)
    if len(faults) > top:
        remark(f"... and {len(faults) - top} more (--top)")


def _write_shield(campaign: Campaign, faults: list[BlamedDecision], file: Path) -> None:
    """A blacklist of what was found, and within which radius."""
    settings = campaign.settings
    if settings.model is None:
        raise UsageError("--shield has no meaning here", expected="a campaign on a model")
    models = {fault.task for fault in faults}
    if len(models) > 1:
        raise UsageError(
            f"the campaign has several models: {', '.join(sorted(models)[:5])}",
            expected="the id of a bug: the shield is then for its model",
        )
    from misstep.files import write_bytes
    from misstep.safety.shield import Blacklist

    forbidden: dict[Values, tuple[str, ...]] = {}
    for fault in faults:
        if fault.decision is not None:
            known = forbidden.get(fault.state, ())
            forbidden[fault.state] = (*known, fault.decision.name)
    blacklist = Blacklist(forbidden, settings.model.radius)
    write_bytes(file, blacklist.to_json().encode())
