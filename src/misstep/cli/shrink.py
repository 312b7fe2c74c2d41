"""`misstep shrink`: the smallest tasks that still show the bugs of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, GivenPolicy, TrustPolicy, check_limits
from misstep.cli.campaigns import Folder, keeping, open_folder
from misstep.cli.groups import Group, takes
from misstep.cli.output import phase_progress, print_json, print_table, remark
from misstep.cli.plain import escaped
from misstep.errors import MisstepError, TimeLimitError, UndecidedError, UsageError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.records import Record
    from misstep.comparison.shrink import Shrunk
    from misstep.comparison.shrink.planning import Progress


@dataclass(frozen=True)
class Request(Group, heading="What to shrink"):
    folder: Folder
    bugs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="TASK:NUMBER of bugs, or their numbers if there is one task; left out: all bugs, one of each family "
            "first.",
            show_default=False,
        ),
    ] = None
    legal: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="What the start of a small task may be: reachable (a state of the original task: only goals are "
            "removed), mutex (agrees with the translator's invariants), any.",
        ),
    ] = "mutex"
    families: Annotated[
        bool, typer.Option("--families", help="Without ID: one bug of each family and no more.")
    ] = False
    again: Annotated[
        bool, typer.Option("--again", help="Begin anew, also where a result is there already.")
    ] = False
    policy: GivenPolicy = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Spending(Group, heading="What it may take"):
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Number of processes. The result is the same.")
    ] = 1
    time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Seconds for all bugs together. Default: no limit."),
    ] = None
    candidates: Annotated[
        int, typer.Option(metavar="N", help="Candidates that are examined for one bug.")
    ] = 5000


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    as_json: AsJson = False


@takes(Request, Spending, Output)
def shrink_command(
    context: typer.Context,  # noqa: ARG001
    request: Request,
    spending: Spending,
    output: Output,
) -> int:
    """Shrink bugs: find the smallest task that still shows the same fault of the policy.

    Objects, goals and facts are removed as long as the policy still makes the same mistake; the independent checker
    certifies every step. Each result is a campaign of its own in DIR/shrunk/, with its problem.pddl; 'misstep explain'
    and 'misstep replay' take it. Interrupted, the command goes on where it was. Exit codes: 0 done; 10 a bug does not
    show from its state alone; 20 the time ended before all bugs were shrunk.

    Example: misstep shrink found problem:3 --jobs 2
    """
    check_limits(jobs=spending.jobs, time=spending.time, candidates=spending.candidates)
    again = f"misstep shrink {' '.join(quote(str(own)) for own in (request.folder, *(request.bugs or ())))}"
    subject = open_folder(request.folder, request.policy, request.trust_policy)
    with subject as campaign, keeping(request.folder, again):
        bugs = _chosen(campaign, request)
        failed: list[MisstepError] = []
        results = list(_results(campaign, bugs, request, spending, failed))
        if output.as_json:
            done = {own.id for own in results}
            open_ones = [bug.id for bug in bugs if bug.id not in done]
            print_json({"shrunk": [own.as_dict() for own in results], "left": open_ones})
        else:
            _print(results, request.folder)
        begun = len(results) + len(failed)
        if begun < len(bugs) or any("time limit" in own.reason for own in results):
            left = len(bugs) - begun
            remark(
                f"the time ended the work: {left} of {len(bugs)} bugs were not begun; {again} goes on"
            )
            return TimeLimitError.exit_code
    return UndecidedError.exit_code if failed else 0


def _chosen(campaign: Campaign, request: Request) -> list[Record]:
    from misstep.comparison.shrink.api import in_order

    if request.bugs:
        if request.families:
            raise UsageError("--families has no meaning here", expected="no ID")
        return [campaign.record(handle) for handle in request.bugs]
    bugs = in_order(campaign.bugs)
    if not bugs:
        remark("the campaign has no bugs")
    if not request.families:
        return bugs
    first: dict[tuple[str | None, str | None], Record] = {}
    for bug in bugs:
        first.setdefault((bug.family, bug.kind), bug)
    return list(first.values())


def _results(
    campaign: Campaign,
    bugs: list[Record],
    request: Request,
    spending: Spending,
    failed: list[MisstepError],
) -> Iterator[Shrunk]:
    """What became of each bug; those that do not show alone are said, and the others go on."""
    ends = None if spending.time is None else monotonic() + spending.time
    for place, bug in enumerate(bugs, 1):
        left = None if ends is None else ends - monotonic()
        if left is not None and left <= 0:
            return
        title = f"{bug.id} ({place} of {len(bugs)}): candidates, at most"
        with _progress(title, spending.candidates) as progress:
            try:
                yield campaign.shrink(
                    bug,
                    legal=request.legal,
                    jobs=spending.jobs,
                    candidates=spending.candidates,
                    time_limit=left,
                    again=request.again,
                    progress=progress,
                )
            except UndecidedError as error:
                failed.append(error)
                remark(f"misstep: {error}")


@contextmanager
def _progress(title: str, most: int) -> Iterator[Progress]:
    with phase_progress() as show:
        yield lambda _, done, __: show(title, done, most)


def _print(results: list[Shrunk], folder: Path) -> None:
    if not results:
        return
    names = ("objects", "goals", "facts", "plan", "run", "walk", "changed", "constants", "strategy")
    shown = [
        name
        for name in names
        if any(own.note.before.as_dict()[name] is not None for own in results)
    ]
    print_table(
        ["bug", *shown, "legal", "minimal", "seconds"],
        [
            [
                own.id,
                *(_change(own, name) for name in shown),
                own.legal,
                "yes" if own.minimal else "no",
                f"{own.note.effort.seconds:.1f}",
            ]
            for own in results
        ],
    )
    for own in results:
        if not own.minimal:
            remark(f"{escaped(own.id)}: {escaped(own.reason)}")
    example = results[0].campaign.folder
    if example is not None:
        place = quote(str(folder / example.relative_to(folder)))
        remark(f"see one: misstep explain {place} {results[0].record.number}")


def _change(own: Shrunk, name: str) -> str:
    before, after = (sizes.as_dict()[name] for sizes in (own.note.before, own.note.after))
    if before is None and after is None:
        return "-"
    return f"{'-' if before is None else before} -> {'-' if after is None else after}"
