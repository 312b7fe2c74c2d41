"""`misstep explain`: why a state is a bug, and which decisions are faults."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, GivenPolicy, TrustPolicy, check_limits, typed
from misstep.cli.campaigns import Folder, open_folder, say_unfinished
from misstep.cli.defaults import EXPLAIN_SECONDS, MEASURE_STATES
from misstep.cli.families import as_data, print_families
from misstep.cli.groups import Group, takes
from misstep.cli.output import columns, phase_progress, print_json, remark, say, tracked, waiting
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.explain import BlamedDecision
    from misstep.campaigns.records import Record
    from misstep.campaigns.rows import Values

FEW = 5  # decisions below the families


@dataclass(frozen=True)
class Request(Group, heading="What to explain"):
    folder: Folder
    bug: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="TASK:NUMBER of a bug, or its number if there is one task; left out: the families of all bugs.",
            show_default=False,
        ),
    ] = None
    deeper: Annotated[
        bool,
        typer.Option(
            "--deeper",
            help="Look further than the campaign did: exact distances or longer searches, and the smallest repair.",
        ),
    ] = False
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Ask the policy in fresh states that fit the descriptions of the families, and keep how often it "
            "makes the same fault there.",
        ),
    ] = False
    decisions: Annotated[
        bool,
        typer.Option("--decisions", help="Print the faults one by one, without families."),
    ] = False
    shield: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For a model: write the faults as a blacklist for shield:FILE+SPEC.",
        ),
    ] = None
    policy: GivenPolicy = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Spending(Group, heading="Limits of --deeper and --measure"):
    time: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time limit of --deeper or --measure.")
    ] = EXPLAIN_SECONDS
    states: Annotated[
        int,
        typer.Option(
            metavar="N", help="With --measure: the largest number of fresh states for one family."
        ),
    ] = MEASURE_STATES
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --measure: the seed of the fresh states. Default: one more than that of the campaign.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    top: Annotated[
        int, typer.Option(metavar="N", help="How many families and how many faults to print.")
    ] = 20
    as_json: AsJson = False


@takes(Request, Spending, Output)
def explain_command(
    context: typer.Context, request: Request, spending: Spending, output: Output
) -> int:
    """Explain a bug: the policy's run beside the better plan, the faults with their share of the gap, the repair.

    Without ID: the families of bugs, most bugs first, each with a sentence, an example and the command that explains
    it, and below them the faults behind most bugs. What the campaign has stored is shown at once; --deeper and
    --measure ask the policy again.

    Example: misstep explain found problem:3 --deeper --time 20
    """
    check_limits(top=output.top, time=spending.time, states=spending.states)
    _check_options(context, request)
    with open_folder(request.folder, request.policy, request.trust_policy) as campaign:
        if request.bug is None:
            _explain_all(campaign, request, spending, output)
        else:
            _explain_one(campaign, request.bug, request, spending, output)
    return 0


def _explain_all(campaign: Campaign, request: Request, spending: Spending, output: Output) -> None:
    say_unfinished(campaign)
    if request.measure:
        with phase_progress() as report:
            campaign.measure_families(
                states=spending.states,
                time_limit=spending.time,
                seed=spending.seed,
                progress=report,
            )
    if request.deeper:
        faults = _deeper_faults(campaign, spending.time)
    else:
        with waiting("reading records"):
            faults = campaign.faults
            _ = campaign.families  # kept: what is printed below asks for them again
    if request.shield is not None:
        _write_shield(campaign, faults, request.shield)
    if output.as_json:
        print_json(as_data(campaign, faults))
    else:
        alone = request.decisions or request.deeper
        _print_all(campaign, request.folder, faults, output.top, alone)


def _explain_one(
    campaign: Campaign, bug: str, request: Request, spending: Spending, output: Output
) -> None:
    seconds = spending.time
    doing = f"looking deeper, for {seconds:g} s at most" if request.deeper else "reading records"
    with waiting(doing):
        explanation = campaign.explain(bug, deeper=request.deeper, time_limit=seconds)
    if request.shield is not None:
        name = explanation.record.task
        faults = [own for own in campaign.faults if own.task == name]
        _write_shield(campaign, faults, request.shield)
    if output.as_json:
        print_json(explanation.as_dict())
    else:
        from misstep.campaigns.words import in_words

        say(in_words(explanation, columns(sys.stdout)))


def _print_all(
    campaign: Campaign, folder: Path, faults: list[BlamedDecision], top: int, alone: bool
) -> None:
    """The families and a few decisions below them, or the decisions alone."""
    if alone:
        _print_faults(faults, top)
    else:
        print_families(campaign, folder, top)
        if campaign.families and faults:
            say("The faults behind most bugs:")
        _print_faults(faults, min(top, FEW) if campaign.families else top)
    if not faults and any(record.faults is None for record in campaign.bugs):
        remark("faults were not looked for in all bugs; --deeper looks for them")


def _check_options(context: typer.Context, request: Request) -> None:
    """Refuse what would have no effect."""
    deeper, measure = request.deeper, request.measure
    if not deeper and not measure and (asked := typed(context, ["time", "policy", "trust_policy"])):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--deeper or --measure")
    if not measure and (asked := typed(context, ["states", "seed"])):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--measure")
    if measure and deeper:
        raise UsageError("--measure and --deeper do not go together", expected="one of them")
    if request.bug is not None and (asked := typed(context, ["measure", "decisions"])):
        raise UsageError(
            f"{asked[0]} has no meaning here", expected="no ID: families are those of the campaign"
        )


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


def _print_faults(faults: list[BlamedDecision], top: int) -> None:
    if not faults:
        say("no fault is proven")
    for fault in faults[:top]:
        say(fault)
    if len(faults) > top:
        remark(f"... and {len(faults) - top} more faults (--decisions, --top)")


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
    from misstep.files import check_target, write_bytes
    from misstep.safety.shield import FORMAT, Blacklist

    check_target(file, "a shield", lambda start: FORMAT.encode() in start)

    forbidden: dict[Values, tuple[str, ...]] = {}
    for fault in faults:
        if fault.decision is not None:
            known = forbidden.get(fault.state, ())
            forbidden[fault.state] = (*known, fault.decision.name)
    blacklist = Blacklist(forbidden, settings.model.radius)
    write_bytes(file, blacklist.to_json().encode())
