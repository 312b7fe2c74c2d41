"""`misstep test`: find the states where a policy does worse than it could, prove it, and keep it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, KeepUnimportant, check_limits, read_task, typed
from misstep.cli.defaults import LOOKAHEAD_CAP, MAX_STEPS, ORACLE, SAFETY_EVALUATIONS
from misstep.cli.models import (
    MODEL_OPTIONS,
    Constants,
    Inapplicable,
    Property,
    is_model,
    refuse_options,
)
from misstep.cli.output import QUIET_SECONDS, print_json, print_table, remark
from misstep.errors import InputFileError, UndecidedError, UsageError
from misstep.fuzzing.settings import DEAD_ENDS, PRESETS, preset

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Progress, Summary
    from misstep.campaigns.safety_settings import SafetySettings
    from misstep.campaigns.store import CampaignStore
    from misstep.tasks.task import Task

TaskPaths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="TASK...",
        help="The task, as for the other commands, or MODEL.jani; left out with --suite and --resume.",
        show_default=False,
    ),
]


# What makes sense only where a planning task is tested, or only where a model is.
OF_TASKS = (
    *(
        "suite",
        "paper",
        "objective",
        "pool",
        "min_weight",
        "walk_length",
        "estimate",
        "state_budget",
    ),
    *("expansion_budget", "novelty", "dead_ends", "patience", "fuzz_time", "require_solved"),
    "keep_unimportant",
)
OF_MODELS = ("runs", "lookahead_cap", "evaluations", "radius", *MODEL_OPTIONS)
SHARED = ("policy", "bias", "oracle", "seed", "max_steps")


def command(
    context: typer.Context,
    task: TaskPaths = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", metavar="SPEC", help="The policy; 'misstep list' names all kinds."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the campaign.")
    ] = Path("misstep-campaign"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the campaign in DIR.")
    ] = False,
    suite: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Test on every problem of this folder.")
    ] = None,
    paper: Annotated[
        str,
        typer.Option(
            "--preset", metavar="NAME", help="Fuzzer of a paper: " + ", ".join(PRESETS) + "."
        ),
    ] = "p24",
    bias: Annotated[
        str | None,
        typer.Option(
            "--fuzz", metavar="BIAS", help="Bias: none, policy-cost, loop, detour, surface."
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help=f"Oracles; default {ORACLE}, for a model localfix "
            "(or tarjan, lrtdp, lao, vi, ipi).",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="cost|goal", help="What is tested for.")
    ] = "cost",
    pool: Annotated[int | None, typer.Option(metavar="N", help="States to test.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same records.")] = 0,
    max_steps: Annotated[int, typer.Option(metavar="N", help="Cut runs here.")] = MAX_STEPS,
    min_weight: Annotated[
        float | None,
        typer.Option(metavar="P", help="Smooth the bias with P once fuzzing is stuck."),
    ] = None,
    walk_length: Annotated[
        int | None, typer.Option(metavar="N", help="Longest walk (L of the papers).")
    ] = None,
    estimate: Annotated[
        str | None, typer.Option(metavar="ff|h*", help="Distances that the bias uses.")
    ] = None,
    state_budget: Annotated[
        int | None, typer.Option(metavar="N", help="Steps of the policy for one candidate.")
    ] = None,
    expansion_budget: Annotated[
        int | None, typer.Option(metavar="N", help="Steps of the policy for all candidates.")
    ] = None,
    novelty: Annotated[
        int | None, typer.Option(metavar="1|2", help="Keep states with a new fact or pair.")
    ] = None,
    dead_ends: Annotated[
        str | None, typer.Option(metavar="FILTER", help=", ".join(DEAD_ENDS) + ".")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", help="Rounds without a new state before it stops.")
    ] = None,
    fuzz_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Safety net for the fuzzing.")
    ] = None,
    require_solved: Annotated[
        bool,
        typer.Option("--require-solved", help="Skip tasks whose initial state it does not solve."),
    ] = False,
    jobs: Annotated[int, typer.Option(metavar="N", help="Of planning tasks: processes.")] = 1,
    batch_size: Annotated[
        int | None, typer.Option(metavar="N", help="States per question.")
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", help="Of a model: runs of the fuzzer.")] = 1000,
    lookahead_cap: Annotated[
        int, typer.Option(metavar="N", help="Of a model: states of one lookahead of the fuzzer.")
    ] = LOOKAHEAD_CAP,
    evaluations: Annotated[
        int, typer.Option(metavar="N", help="Of a model: effort for one question to the oracle.")
    ] = SAFETY_EVALUATIONS,
    radius: Annotated[
        str,
        typer.Option(metavar="R", help="Of a model: deviations that may repair a bug; inf: any."),
    ] = "inf",
    property: Property = None,
    constant: Constants = None,
    inapplicable: Inapplicable = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Test a policy: fuzz states, run the policy from them, let oracles judge, check every witness, keep all of it.

    The campaign in DIR can be interrupted at any time and continued with --resume. Exit code 1 if bugs were found,
    10 if the policy failed to answer in every run.
    """
    check_limits(
        jobs=jobs,
        pool=pool,
        max_steps=max_steps,
        batch_size=batch_size,
        runs=runs,
        lookahead_cap=lookahead_cap,
        evaluations=evaluations,
    )
    began = monotonic()
    again = typed(context, ("task", *SHARED, *OF_TASKS, *OF_MODELS))
    if resume and again and (policy is None or not (task or suite)):
        raise UsageError(
            f"{again[0]} with --resume",
            expected="--resume and --out alone, or the whole command again",
        )
    if is_model(task) if task else resume and _is_safety_campaign(out):
        from misstep.cli.jani_test import test_model

        refuse_options(context, OF_TASKS, "a planning task")
        begins = bool(again) or not resume
        subject = _required(policy) if begins else ""

        def chosen() -> SafetySettings:
            from misstep.campaigns.safety_settings import SafetySettings, parse_radius

            return SafetySettings(
                subject,
                bias or "greedy-inf",
                runs,
                max_steps,
                seed,
                oracle or "localfix",
                parse_radius(radius),
                evaluations,
                lookahead_cap=lookahead_cap,
                inapplicable=inapplicable,
            )

        return test_model(
            task or [],
            chosen if begins else None,
            out,
            property,
            constant,
            _progress(),
            as_json,
            resume=resume,
        )
    refuse_options(context, OF_MODELS, "MODEL.jani as the task")
    if again or not resume:
        changes: dict[str, Any] = {
            "bias": bias,
            "max_states": pool,
            "min_weight": min_weight,
            "max_walk_length": walk_length,
            "estimate": estimate,
            "state_budget": state_budget,
            "expansion_budget": expansion_budget,
            "novelty": novelty,
            "dead_ends": dead_ends,
            "patience": patience,
            "time_limit": fuzz_time,
        }
        fuzzing = preset(paper, **{name: v for name, v in changes.items() if v is not None})
        subject = _required(policy)
        tasks = _read_tasks(task, suite, keep_unimportant)
        from misstep.campaigns.campaign import start_store
        from misstep.campaigns.configuration import CampaignSettings

        settings = CampaignSettings(
            subject,
            oracle or ORACLE,
            objective,
            seed,
            max_steps,
            require_solved=require_solved,
            fuzzing=fuzzing,
        )
        store = start_store(out, settings, resume=resume)
    else:
        from misstep.campaigns.campaign import resume_store

        store, settings, tasks = resume_store(out)
    from misstep.campaigns.campaign import Campaign
    from misstep.cli.jani_test import stopped

    try:
        with store, _progress() as progress:
            summary = Campaign(
                store, settings, jobs=jobs, batch_size=batch_size, progress=progress
            ).run(tasks)
    except KeyboardInterrupt:
        raise stopped(out) from None
    summary.seconds["total"] = round(monotonic() - began, 3)
    _print(summary, store, as_json)
    if summary.bugs["total"]:
        return 1
    # A policy that answers nowhere was not tested; "nothing found" would be read as praise.
    return UndecidedError.exit_code if summary.errors == summary.tested > 0 else 0


def _is_safety_campaign(folder: Path) -> bool:
    from misstep.cli.jani_test import is_safety_campaign

    return is_safety_campaign(folder)


def _required(policy: str | None) -> str:
    if policy is None:
        raise UsageError("no policy to test", expected="--policy SPEC", hint="see misstep list")
    return policy


def _read_tasks(paths: list[Path] | None, suite: Path | None, keep_unimportant: bool) -> list[Task]:
    if suite is None:
        if not paths:
            raise UsageError("no task to test on", expected="TASK..., --suite FOLDER or --resume")
        return [read_task(paths, keep_unimportant)]
    if paths:
        raise UsageError("both a task and a suite", expected="one of them")
    if not suite.is_dir():
        raise InputFileError(
            "no such folder", where=str(suite), expected="a folder with PDDL files"
        )
    problems = sorted(
        file
        for file in suite.rglob("*.pddl")
        if not file.stem.endswith("domain") and file.is_file()
    )
    if not problems:
        raise InputFileError("the folder has no problem files", where=str(suite))
    tasks = []
    for problem in problems:
        loaded = read_task([problem], keep_unimportant)
        loaded.name = str(problem.relative_to(suite).with_suffix(""))
        tasks.append(loaded)
    return tasks


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error, once the work has taken a moment."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bugs]} bugs"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    began = monotonic()
    row: TaskID | None = None
    phase = ""
    start = (0, 0.0)  # states done and time when the phase was first seen

    def report(title: str, done: int, total: int | None, bugs: int) -> None:
        nonlocal row, phase, start
        if title != phase:  # a row for each phase: rates and times left are its own
            if row is not None:
                bar.stop_task(row)
            row, phase = bar.add_task(title, total=None, bugs=0, rate=""), title
            start = (done, monotonic())
        if not bar.live.is_started and bar.console.is_terminal:
            if monotonic() - began < QUIET_SECONDS:
                return
            bar.start()
        assert row is not None
        rate = (done - start[0]) / max(monotonic() - start[1], 1e-9)
        bar.update(row, completed=done, total=total, bugs=bugs, rate=f"{rate:,.1f}/s")

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


def _print(summary: Summary, store: CampaignStore, as_json: bool) -> None:
    if as_json:
        print_json({"campaign": str(store.folder), **asdict(summary)})
        return
    bugs = summary.bugs
    if summary.tasks > 1:
        print_table(
            ["task", *next(iter(summary.by_task.values()))],
            [[name, *map(str, own.values())] for name, own in summary.by_task.items()],
        )
        print()
    print(f"tested    {summary.tested} of {summary.pool} pool states on {summary.tasks} task(s)")
    print(f"solved    {summary.solved}")
    print(f"bugs      {bugs['total']} ({bugs['fails']} fails, {bugs['costly']} costly)")
    print(f"optimal   {summary.optimal}")
    print(f"unknown   {summary.unknown}")
    if summary.errors:
        print(f"errors    {summary.errors} (the policy crashed, or answered nonsense)")
    seconds = ", ".join(f"{name} {spent:.1f} s" for name, spent in summary.seconds.items())
    remark(f"{seconds}; {summary.policy_calls} policy calls; records in {store.folder}")
    for text in summary.remarks[:10]:
        remark(f"note: {text}")
