"""`misstep experiment`: run the experiments of the papers, or an experiment of the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import (
    AsJson,
    Cluster,
    WorkerMemory,
    check_limits,
    typed,
    user_trusts,
)
from misstep.cli.groups import Group, takes
from misstep.cli.output import phase_progress, print_json, print_table, remark, say, waiting
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.experiments.definition import Definition
    from misstep.experiments.driver import Outcome
    from misstep.experiments.plan import RunPlan
    from misstep.experiments.report import Report
    from misstep.experiments.sources import Sources

REPORT = "report"
_MOST_MISSING = 10  # lines


@dataclass(frozen=True)
class What(Group, heading="What"):
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml|report",
            help="A built-in experiment, a definition of your own, or report to write the report again.",
            show_default=False,
        ),
    ]
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="For report: the folder of an experiment.", show_default=False
        ),
    ] = None


@dataclass(frozen=True)
class How(Group, heading="How much"):
    scale: Annotated[
        str,
        typer.Option(
            metavar="smoke|small|medium|paper",
            help="How large: smoke takes seconds, small up to 30 minutes on two cores, paper is as in the paper.",
        ),
    ] = "smoke"
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Number of seeds. Default: by the scale.", show_default=False
        ),
    ] = None
    jobs: Annotated[int, typer.Option(metavar="N", help="Number of worker processes.")] = 1
    cluster: Cluster = None
    memory: WorkerMemory = None
    tasks: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with the files of the planning competitions. Default: generated tasks.",
            show_default=False,
        ),
    ] = None
    gnn: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with published relational networks: NAME/model.ckpt and NAME/tasks.",
            show_default=False,
        ),
    ] = None
    policies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with trained ASNets: DOMAIN.safetensors, or DOMAIN/best.safetensors. Default: shipped ones.",
            show_default=False,
        ),
    ] = None
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="Where relational networks run.")
    ] = "cpu"
    trust_policy: Annotated[
        bool,
        typer.Option(
            "--trust-policy",
            help="Run what FILE.toml names even if it is code, a program, a server or an oracle of another package. "
            "Default: ask on a terminal, else refuse.",
        ),
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its expected cost; run nothing.")
    ] = False


@dataclass(frozen=True)
class Kept(Group, heading="Output"):
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the experiment; an experiment that is there already is continued. "
            "Default: ./experiment-NAME-SCALE.",
            show_default=False,
        ),
    ] = None
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="For report: also write tables, claims and figures into this page, between two lines that name the "
            "experiment.",
            show_default=False,
        ),
    ] = None
    as_json: AsJson = False


@takes(What, How, Kept)
def experiment_command(context: typer.Context, what: What, how: How, kept: Kept) -> int:
    """Run an experiment of a paper, or one's own, and report it: tables, figures, claims, beside the paper's numbers.

    Built in are ps (safety testing), p22, p23 and p24 (oracles and fuzzing for planning tasks), p25 (testing in policy
    training), policies (trains one for every domain), and studies of our own: online, defaults, guidance, loop,
    from-bugs, p24-differences, p24-heads, p24-oracles.
    Everything is kept in DIR: after Ctrl-C, or any kill, the same command continues. The report is in DIR/report.

    Example: misstep experiment ps --scale smoke --jobs 2 --out ps
    """
    if what.name == REPORT:
        return _report(context, what, kept)
    if what.folder is not None:
        raise UsageError(f"{what.folder} is one argument too many", hint="--out names the folder")
    if kept.page is not None:
        raise UsageError("--page belongs to misstep experiment report DIR")
    check_limits(jobs=how.jobs, seeds=how.seeds, memory=how.memory)
    if how.cluster is not None:
        from misstep.campaigns.arguments import check_cluster
        from misstep.campaigns.limits import Limits

        check_cluster(how.cluster, how.jobs, Limits())
    from misstep.experiments.definition import load_definition

    definition = load_definition(what.name)
    folder = kept.out or Path(f"experiment-{definition.name}-{how.scale}")
    if how.dry_run:
        return _dry_run(definition, folder, how, kept.as_json)
    from misstep.experiments.trust import require_trusted

    require_trusted(definition, user_trusts(how.trust_policy))
    return _run(definition, folder, how, kept.as_json)


def _report(context: typer.Context, what: What, kept: Kept) -> int:
    given = typed(context, [*How.names(), "out"])
    if given:
        raise UsageError(f"{given[0]} has no effect on a report")
    if what.folder is None:
        raise UsageError(
            "the folder to report on is missing", expected="misstep experiment report DIR"
        )
    from misstep.experiments.report import write_report

    with waiting("writing the report"):
        written = write_report(what.folder)
        if kept.page is not None:
            from misstep.experiments.page import write_page

            written = replace(written, files=(*written.files, *write_page(what.folder, kept.page)))
    if kept.as_json:
        print_json(written.as_dict())
    else:
        _print_report(written, what.folder)
    return 0


def _dry_run(definition: Definition, folder: Path, how: How, as_json: bool) -> int:
    from misstep.experiments.plan import plan

    found = plan(definition, how.scale, how.seeds, how.jobs, folder, _sources(how))
    if as_json:
        print_json(found.as_dict())
    else:
        _print_plan(found)
    return 0


def _sources(how: How) -> Sources:
    from misstep.experiments.sources import Sources

    if how.device.partition(":")[0] not in ("cpu", "cuda"):
        raise UsageError(f"--device is {how.device!r:.40}", expected="cpu, cuda or cuda:N")
    for option, folder in (
        ("--tasks", how.tasks),
        ("--gnn", how.gnn),
        ("--policies", how.policies),
    ):
        if folder is not None and not folder.is_dir():
            raise UsageError(f"{option}: there is no folder {folder}", expected="a folder")
    return Sources(how.tasks, how.gnn, how.policies, how.device)


def _print_plan(found: RunPlan) -> None:
    rows = [
        (
            own.step,
            f"{own.units:,}",
            f"{own.done:,}",
            f"{own.work:,.0f}",
            _time(own.seconds),
            _time(own.longest),
        )
        for own in found.steps
    ]
    titles = ("step", "units", "done", "work left", "expected, one core", "at most, one core")
    print_table(titles, rows)
    jobs = f"{found.jobs} process{'' if found.jobs == 1 else 'es'}"
    known = "" if found.seconds is None else f"{found.bound} "
    say(
        f"\n{found.experiment}, scale {found.scale}, {found.seeds} seed(s): "
        f"{known}{_time(found.seconds)} with {jobs}; costs {found.costs_from}"
    )


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _run(definition: Definition, folder: Path, how: How, as_json: bool) -> int:
    from misstep.experiments.driver import run_experiment
    from misstep.experiments.report import write_report

    with phase_progress() as progress:
        found = run_experiment(
            definition,
            folder,
            how.scale,
            seeds=how.seeds,
            jobs=how.jobs,
            megabytes=how.memory,
            sources=_sources(how),
            cluster=how.cluster,
            progress=progress,
            note=remark,
        )
    with waiting("writing the report"):
        written = write_report(folder)
    _remarks(found, written)
    if as_json:
        print_json({**written.as_dict(), "seconds": round(found.seconds, 3)})
    else:
        _print_report(written, folder)
    return 0


def _remarks(found: Outcome, written: Report) -> None:
    changes = found.changes
    if changes.dropped:
        remark(
            f"{changes.dropped} results were dropped, because the definition no longer asks for them"
        )
    if changes.outdated:
        remark(f"{changes.outdated} results of another version of Misstep were computed again")
    if found.before:
        remark(f"{found.before} of {found.units} units were done before")
    for step, row, reason in written.missing[:_MOST_MISSING]:
        remark(f"no result for {step}, {row}: {reason}")
    if len(written.missing) > _MOST_MISSING:
        remark(f"and {len(written.missing) - _MOST_MISSING} further rows without results")


def _print_report(written: Report, folder: Path) -> None:
    from misstep.experiments.report import FOLDER, counted
    from misstep.reports.escaping import visible

    for own in written.claims:
        say(f"{own.verdict}: {visible(own.text)} [ours: {visible(own.ours)}]")
    say(f"\n{written.done} of {written.units} units done; claims: {counted(written.claims)}")
    say(f"report: {folder / FOLDER / 'report.md'}")
