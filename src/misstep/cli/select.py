"""`misstep select`: which of these policies is the best, and how sure is that?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.binomial import ends, percent
from misstep.cli.arguments import AsJson, check_limits, domain_of_suite, read_problems
from misstep.cli.defaults import MAX_STEPS, TEST_ORACLE, TEST_POOL
from misstep.cli.groups import Group, takes
from misstep.cli.output import own_bars, print_json, print_table, remark, say
from misstep.errors import Interrupted, UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.comparison.statistics import Interval
    from misstep.tasks.task import Task
    from misstep.training.selection import Progress as Report
    from misstep.training.selection import Selection


@dataclass(frozen=True)
class What(Group, heading="What to test"):
    policies: Annotated[
        list[str],
        typer.Option(
            metavar="SPEC SPEC ...", help="The policies, two or more.", show_default=False
        ),
    ]
    tasks: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TASKS...",
            help="Problems with domain.pddl beside them or up to three folders up, folders, patterns, lists of tasks "
            "(tasks.txt), or DOMAIN.pddl and its problems. With --suite: the domain of all its problems, or nothing.",
            show_default=False,
        ),
    ] = None
    suite: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Test on every problem in this folder and below; also a pattern ('tasks/p0*.pddl') or a list of tasks "
            "(tasks.txt).",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class How(Group, heading="How"):
    pool: Annotated[
        int, typer.Option(metavar="N", help="Number of states to test on each task.")
    ] = TEST_POOL
    oracle: Annotated[
        str, typer.Option(metavar="SPEC", help="The oracles that judge the states.")
    ] = TEST_ORACLE
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Largest number of expansions and policy calls for each task and policy. Default: no limit.",
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the pools: the same seed gives the same states.")
    ] = 0
    max_steps: Annotated[
        int, typer.Option(metavar="N", help="Stop a run of the policy after so many steps.")
    ] = MAX_STEPS


@dataclass(frozen=True)
class Kept(Group, heading="Output"):
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Keep the records of each policy as a campaign in a folder of its own below DIR; what is there "
            "already is not tested again. Default: no records are kept.",
            show_default=False,
        ),
    ] = None
    as_json: AsJson = False


@takes(What, How, Kept)
def select_command(context: typer.Context, what: What, how: How, kept: Kept) -> int:  # noqa: ARG001
    """Test several policies on the same states and rank them by coverage, solved states and bugs.

    Numbers come with 95 % confidence intervals over tasks. The best policy is compared with each other one, task by
    task, and the comparison says when a difference may well be chance. With --out DIR the records are kept for misstep
    records, explain, replay and compare, and after Ctrl-C the same command continues.

    Example: misstep select --suite tasks --policies heuristic:ff heuristic:add --pool 20 --out chosen
    """
    check_limits(pool=how.pool, max_steps=how.max_steps, budget=how.budget)
    tasks = _tasks(what)
    from misstep.training.api import select

    began = monotonic()
    with _keeping(kept.out), _progress() as report:
        selection = select(
            tasks, what.policies, progress=report, out=kept.out, **how.values(How.names())
        )
    if kept.as_json:
        print_json({**selection.as_dict(), "seconds": round(monotonic() - began, 3)})
    else:
        _print(selection)
    return 0


def _tasks(what: What) -> list[Task]:
    if what.suite is not None:
        return read_problems([what.suite], domain_of_suite(what.tasks))
    if what.tasks:
        return read_problems(what.tasks)
    raise UsageError("no task to test on", expected="TASKS..., or --suite FOLDER")


def _print(selection: Selection) -> None:
    titles = ("policy", "score", "coverage", "solved", "bugs", "mean gap")
    rows = (
        (
            candidate.policy,
            _shown(candidate.score, 3),
            _percent(candidate.coverage),
            _percent(candidate.solved),
            _percent(candidate.bugs),
            _shown(candidate.mean_gap, 2),
        )
        for candidate in selection.candidates
    )
    print_table(titles, rows, left=len(titles))
    best = selection.candidates[0].policy
    if selection.candidates[0].campaign is not None:
        kept = [(own.policy, own.campaign or "-") for own in selection.candidates]
        say()
        print_table(("policy", "records"), kept, left=2)
        say()
    from misstep.comparison.statistics import ENOUGH_TASKS

    tasks = len(selection.candidates[0].results)
    if tasks < ENOUGH_TASKS:
        say(f"too few tasks to tell policies apart: {tasks}; at least {ENOUGH_TASKS} are needed")
        return
    for comparison in selection.comparisons:
        other = selection.candidates[comparison.worse].policy
        verdict = "better than" if comparison.significant else "NOT significantly better than"
        if comparison.contrary:  # the score weighs its parts by the best policy, the test does not
            verdict = "first by its score, but task by task significantly WORSE than"
        say(
            f"{best} is {verdict} {other}: difference a task {_shown(comparison.difference, 3)}, "
            f"p = {comparison.corrected:.4f}"
        )
    remark("intervals: 95 %, bootstrap over tasks; p: paired sign-flip test, corrected by Holm")


def _shown(value: Interval, digits: int) -> str:
    if value.value is None:
        return "-"
    text = f"{value.value:.{digits}f}"
    if value.low is not None and value.high is not None:
        text += f" [{value.low:.{digits}f}, {value.high:.{digits}f}]"
    return text


def _percent(value: Interval) -> str:
    if value.value is None or value.low is None or value.high is None:
        return "-"
    return f"{percent(value.value)}% [{ends(value.low, value.high, between='%, ')}%]"


@contextmanager
def _keeping(out: Path | None) -> Iterator[None]:
    """Ctrl-C in here says that the work is kept, if it is."""
    try:
        yield
    except KeyboardInterrupt:
        if out is None or not out.exists():
            raise
        raise Interrupted(
            "stopped by the user; what is done is kept",
            where=str(out),
            hint="the same command continues",
        ) from None


@contextmanager
def _progress() -> Iterator[Report]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    bar = own_bars(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    )
    with bar:
        row = bar.add_task("", total=None)

        def report(policy: str, task: str, done: int, total: int) -> None:
            bar.update(row, description=escaped(f"{policy} on {task}"), completed=done, total=total)

        yield report
