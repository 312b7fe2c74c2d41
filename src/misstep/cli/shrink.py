"""`misstep shrink`: find small tasks that still show the bugs of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.campaigns.arguments import check_cluster
from misstep.campaigns.limits import Limits
from misstep.cli.arguments import AsJson, GivenPolicy, TrustPolicy, check_limits
from misstep.cli.campaigns import Folder, keeping, open_folder, say_unfinished
from misstep.cli.groups import Group, takes
from misstep.cli.output import counting, print_json, print_table, remark
from misstep.errors import MisstepError, TimeLimitError, UndecidedError, UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.records import Record
    from misstep.comparison.shrink import Shrunk
    from misstep.comparison.shrink.elsewhere import OnCluster
    from misstep.comparison.shrink.planning import Progress


DEFAULT_LEGAL = "mutex"


@dataclass(frozen=True)
class Request(Group, heading="What to shrink"):
    folder: Folder
    bugs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="TASK:NUMBER of bugs, or their numbers if there is one task. Default: all bugs, one of each family "
            "first.",
            show_default=False,
        ),
    ] = None
    legal: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="Which initial states a small task may have: reachable (a state of the original task; only goals are "
            "removed), mutex (states that satisfy the translator's invariants), any.",
        ),
    ] = DEFAULT_LEGAL
    families: Annotated[
        bool,
        typer.Option(
            "--families", help="Shrink one bug of each family only; not together with ID."
        ),
    ] = False
    again: Annotated[
        bool, typer.Option("--again", help="Start again, even if there is a result already.")
    ] = False
    policy: GivenPolicy = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Spending(Group, heading="Limits"):
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of worker processes. The result does not depend on it."
        ),
    ] = 1
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Let the workers of a dask cluster examine smaller tasks: tcp://HOST:PORT, tls://HOST:PORT, local:N "
            "or slurm:FILE.toml (docs/cluster.md). Models are shrunk by this process.",
        ),
    ] = None
    time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time limit for all bugs together. Default: no limit."
        ),
    ] = None
    candidates: Annotated[
        int,
        typer.Option(
            metavar="N", help="The largest number of smaller tasks that are examined for one bug."
        ),
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

    Objects, goals and facts are removed as long as the policy still makes the same fault; the independent checker
    certifies every step. Each result is a campaign of its own in DIR/shrunk/, with its problem.pddl; 'misstep explain'
    and 'misstep replay' take it. After an interruption the same command continues. Exit codes: 0 done; 10 a bug does
    not show when the run starts in its state; 20 the time ended before all bugs were shrunk.

    Example: misstep shrink found problem:3 --jobs 2
    """
    check_limits(jobs=spending.jobs, time=spending.time, candidates=spending.candidates)
    _check_words(request)
    if spending.cluster is not None:
        check_cluster(spending.cluster, spending.jobs, Limits())
    again = _same_command(request)
    subject = open_folder(request.folder, request.policy, request.trust_policy)
    with subject as campaign, keeping(request.folder, again), _workers(spending) as workers:
        bugs = _chosen(campaign, request)
        failed: list[MisstepError] = []
        results = list(_results(campaign, bugs, request, spending, failed, workers))
        if output.as_json:
            done = {own.id for own in results}
            open_ones = [bug.id for bug in bugs if bug.id not in done]
            print_json({"shrunk": [own.as_dict() for own in results], "left": open_ones})
        else:
            _print(results, request.folder)
        begun = len(results) + len(failed)
        if begun < len(bugs) or any("time limit" in own.reason for own in results):
            left = len(bugs) - begun
            untouched = f": {left} of {len(bugs)} bugs were not begun" if left else ""
            remark(f"the time limit ended the work{untouched}; {again} continues")
            return TimeLimitError.exit_code
    return UndecidedError.exit_code if failed else 0


@contextmanager
def _workers(spending: Spending) -> Iterator[OnCluster | None]:
    """The workers of a cluster, the same ones for all bugs."""
    if spending.cluster is None:
        yield None
        return
    from misstep.comparison.shrink.elsewhere import OnCluster

    workers = OnCluster(spending.cluster, remark)
    try:
        yield workers
    finally:
        workers.close()


def _check_words(request: Request) -> None:
    from misstep.comparison.shrink.legal import LEGAL

    if request.legal not in LEGAL:
        raise UsageError(f"--legal is {request.legal!r:.40}", expected=" or ".join(LEGAL))
    if request.bugs and request.families:
        raise UsageError("--families has no meaning here", expected="no ID")


def _same_command(request: Request) -> str:
    """The command that continues the work, without the option that allows the policy to run."""
    words = ["misstep", "shrink", str(request.folder), *(request.bugs or ())]
    if request.families:
        words.append("--families")
    if request.legal != DEFAULT_LEGAL:
        words += ["--legal", request.legal]
    return " ".join(map(quote, words))


def _chosen(campaign: Campaign, request: Request) -> list[Record]:
    from misstep.comparison.shrink.api import in_order

    if request.bugs:
        return [campaign.record(handle) for handle in request.bugs]
    bugs = in_order(campaign.bugs)
    say_unfinished(campaign)
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
    workers: OnCluster | None,
) -> Iterator[Shrunk]:
    """The result for each bug. Bugs that do not show from their state alone are reported and skipped."""
    ends = None if spending.time is None else monotonic() + spending.time
    for place, bug in enumerate(bugs, 1):
        left = None if ends is None else ends - monotonic()
        if left is not None and left <= 0:
            return
        title = f"{bug.id} ({place} of {len(bugs)} bugs):"
        with _progress(title) as progress:
            try:
                yield campaign.shrink(
                    bug,
                    legal=request.legal,
                    jobs=spending.jobs,
                    candidates=spending.candidates,
                    time_limit=left,
                    again=request.again,
                    progress=progress,
                    cluster=workers,
                )
            except UndecidedError as error:
                failed.append(error)
                remark(f"misstep: {error}")


@contextmanager
def _progress(title: str) -> Iterator[Progress]:
    """Count the candidates without a bar: their limit is hardly ever reached, so a bar would mislead."""
    with counting(title, "smaller tasks examined") as show:
        yield lambda _, done, __: show(done)


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
        remark(f"next: misstep explain {place} {results[0].record.number}")


def _change(own: Shrunk, name: str) -> str:
    before, after = (sizes.as_dict()[name] for sizes in (own.note.before, own.note.after))
    if before is None and after is None:
        return "-"
    return f"{'-' if before is None else before} -> {'-' if after is None else after}"
