"""`misstep risk`: compute how likely a policy gets into an unsafe state, and how much of that risk is avoidable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import (
    AsJson,
    MemoryLimit,
    TimeLimit,
    check_limits,
)
from misstep.cli.defaults import (
    MAX_STEPS,
    RISK_LEVEL,
    RISK_PRECISION,
    RISK_RUNS,
    RISK_STATES,
)
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    HEADING,
    Inapplicable,
    LabelPolicySpec,
    ModelPath,
    Reading,
    is_model,
    read_model,
)
from misstep.cli.output import print_json, print_pairs, print_table, remark, say, search_progress
from misstep.errors import UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.safety.risk import RiskAnalysis, RiskReport, RiskSettings
    from misstep.tasks.jani.task import JaniTask

INTERRUPTED = 23
UNDECIDED = 10


@dataclass(frozen=True)
class What(Group, heading="Options"):
    task: ModelPath
    policy: LabelPolicySpec
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Count only unsafe states within N steps. Default: no limit."
        ),
    ] = None
    min_size: Annotated[
        float,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="Exit code 1 only if more than P of a start's risk could be avoided.",
        ),
    ] = 0.0
    rows: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Number of initial states and faults to print, the largest first.",
        ),
    ] = 20
    as_json: AsJson = False


@dataclass(frozen=True)
class Exploring(Group, heading="Exploring"):
    precision: Annotated[
        float,
        typer.Option(metavar="P", help="Width of an interval at which the computation stops."),
    ] = RISK_PRECISION
    max_states: Annotated[
        int,
        typer.Option(
            metavar="N", help="Explore at most N states; states beyond them may have any risk."
        ),
    ] = RISK_STATES
    time_limit: TimeLimit = None
    memory_limit: MemoryLimit = None


@dataclass(frozen=True)
class Drawing(Group, heading="Runs that are drawn where the model is too large"):
    runs: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of runs to draw; 0: none.")
    ] = RISK_RUNS
    level: Annotated[
        float,
        typer.Option(
            metavar="P", help="Confidence level of an interval that is estimated from drawn runs."
        ),
    ] = RISK_LEVEL
    max_steps: Annotated[
        int, typer.Option(metavar="N", help="Cut a drawn run after this many steps.")
    ] = MAX_STEPS
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the drawn runs.")] = 0


@dataclass(frozen=True)
class OfModels(Reading, heading=HEADING):
    inapplicable: Inapplicable = None


@takes(What, Exploring, Drawing, OfModels)
def risk_command(
    context: typer.Context,  # noqa: ARG001 (every command of groups gets it)
    what: What,
    exploring: Exploring,
    drawing: Drawing,
    models: OfModels,
) -> int:
    """Compute how likely a policy reaches an unsafe state of a model, and the least possible risk of any strategy.

    Both are proven intervals for each initial state (`--start` names others). The difference between them is avoidable
    risk; the decisions that add most to it are listed. Exit code 1 means that some risk is certainly avoidable, 10 that
    the model was too large to decide.

    Example: misstep risk model.jani --policy first --start "pos = 0 and cargo = 2"
    """
    settings = _settings(what, exploring, drawing)
    if not is_model(what.task):
        raise UsageError(
            f"{what.task[0]} is not a model",
            expected="MODEL.jani",
            hint="planning tasks have no unsafe states",
        )
    loaded = read_model(what.task, models)
    from misstep.policies.load import load_policy
    from misstep.safety.risk import RiskAnalysis

    handle = load_policy(what.policy, loaded, inapplicable=models.inapplicable)
    try:
        analysis = RiskAnalysis(loaded, handle, settings)
        stopped = _work(analysis)
        if not stopped:
            analysis.require_function(handle)
        report = analysis.report()
    finally:
        handle.close()
    if what.as_json:
        told = {"task": loaded.name, "spec": what.policy, "interrupted": stopped}
        print_json({**told, **report.as_dict()})
    else:
        _print(loaded, report, what.rows)
        for text in report.remarks:
            remark(f"Note: {text}.")
    if stopped:
        return INTERRUPTED
    return UNDECIDED if analysis.unasked else _exit_code(report, what.min_size)


def _settings(what: What, exploring: Exploring, drawing: Drawing) -> RiskSettings:
    from misstep.safety.risk import RiskSettings

    check_limits(
        **exploring.values(["time_limit", "memory_limit", "max_states"]),
        max_steps=drawing.max_steps,
    )
    for option, share in (("--precision", exploring.precision), ("--level", drawing.level)):
        if not 0 < share < 1:
            raise UsageError(f"{option} is {share:g}", expected="a number between 0 and 1")
    return RiskSettings(
        what.steps,
        exploring.precision,
        exploring.max_states,
        exploring.time_limit,
        exploring.memory_limit,
        drawing.runs,
        drawing.level,
        drawing.max_steps,
        drawing.seed,
        what.rows,
    )


def _work(analysis: RiskAnalysis) -> bool:
    """Do the work; returns whether Ctrl-C ended it. The results of earlier stages are kept."""
    stages = analysis.stages
    try:
        with search_progress("computing risks", "states") as progress:
            for _ in stages(progress):
                pass
    except KeyboardInterrupt:
        analysis.remarks.append("stopped by Ctrl-C: what was not computed lies between 0 and 1")
        return True
    return False


def _exit_code(report: RiskReport, min_size: float) -> int:
    sizes = [start.size for start in report.starts]
    sizes += [start.sampled_size for start in report.starts if start.sampled_size is not None]
    if any(size > min_size for size in sizes):
        return 1
    return 0 if report.complete else UNDECIDED


def _print(task: JaniTask, report: RiskReport, rows: int) -> None:
    many = len(report.starts) > 1
    within = "" if report.steps is None else f" within {report.steps:,} steps"
    pairs: dict[str, Any] = {
        "starts": len(report.starts),
        "states of the policy": report.chain_states,
        "states": report.states,
        f"risk of the policy{within}": f"{report.policy}{' on average' if many else ''}",
    }
    if report.sample is not None:
        own = report.sample
        pairs["the same, from drawn runs"] = (
            f"{own.interval} at level {own.level:g}: {own.unsafe:,} of {own.runs:,} runs unsafe, {own.cut:,} cut"
        )
    pairs[f"least possible risk{within}"] = f"{report.least}{' on average' if many else ''}"
    pairs["avoidable"] = f"at least {report.size:.6g}, in {report.avoidable:,} starts"
    print_pairs(pairs)
    worst = sorted(report.starts, key=lambda own: (-own.size, -own.policy.low))[:rows]
    if many and worst:
        say(f"\nStarts, the most avoidable risk first ({len(worst):,} of {len(report.starts):,})")
        print_table(
            ("policy", "least", "avoidable", "state"),
            (
                (str(own.policy), str(own.least), f"{own.size:.6g}", task.text(own.state))
                for own in worst
            ),
            left=4,
        )
    if report.faults:
        say("\nFaults: decisions that add risk, the largest share first")
        print_table(
            ("share", "added", "visits", "label", "better", "state"),
            (
                (
                    f"{own.share:.4g}",
                    f"{own.added:.4g}",
                    f"{own.visits:.4g}",
                    own.label,
                    own.better or "-",
                    task.text(own.state),
                )
                for own in report.faults[:rows]
            ),
            left=6,
        )
    if report.likely is not None:
        run = report.likely
        say(f"\nThe most likely unsafe run (probability {run.probability:.4g})")
        for label, state in zip(("", *run.labels), run.states, strict=True):
            say(escaped(f"  {label + ': ' if label else ''}{task.text(state)}"))
