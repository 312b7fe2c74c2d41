"""`misstep train asnet`: train a policy, test every checkpoint, keep all of them, pick one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.binomial import percent
from misstep.cli.arguments import AsJson, read_problems, typed
from misstep.cli.defaults import (
    ALGORITHMS,
    BUG_LABELS,
    BUG_NUMBER,
    BUG_RATIO,
    BUG_SOURCE,
    BUG_STATES,
    CRITERIA,
    INITS,
    RECIPES,
    RETEST,
    START_EPOCHS,
    TEACHER_EXPANSIONS,
    TEACHER_STATES,
    TEST_ORACLE,
    TEST_POOL,
)
from misstep.cli.groups import Group, takes
from misstep.cli.output import controls, print_json, remark
from misstep.cli.repeats import Repeats, Training, repeat
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.training.bugs import TaskFaults
    from misstep.training.trainer import Report
    from misstep.training.tree import Node

SHOWN = 20  # rows of the live table


@dataclass(frozen=True)
class Tasks(Group, heading="Tasks"):
    """What the policy learns on and is tested on."""

    domain: Annotated[Path, typer.Argument(metavar="DOMAIN.pddl", help="The domain.")]
    train: Annotated[
        list[Path], typer.Argument(metavar="TRAIN...", help="Training problems, small ones.")
    ]
    validate: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="VAL...", help="Validation problems: every checkpoint is tested on them."
        ),
    ] = None
    from_bugs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also learn from the faults of this campaign."),
    ] = None


@dataclass(frozen=True)
class Algorithm(Group, heading="Algorithm"):
    """Which networks are trained, and which one is taken."""

    config: Annotated[
        str, typer.Option(metavar="NAME", help="Algorithm: " + ", ".join(ALGORITHMS) + ".")
    ] = "original"
    epochs: Annotated[int, typer.Option(help="Number of epochs in all, over all lines.")] = 60
    inits: Annotated[
        int, typer.Option(help="Number of random initialisations (not with --config original).")
    ] = INITS
    start: Annotated[
        int,
        typer.Option(
            help="Epochs of each initialisation before the main phase (tree, line-pitest, start)."
        ),
    ] = START_EPOCHS
    select: Annotated[
        str,
        typer.Option(
            metavar="CRITERION",
            help="Which checkpoint to keep as the best: "
            + ", ".join(CRITERIA[:-1])
            + "; auto: by tests if there are any.",
        ),
    ] = "auto"
    pool: Annotated[
        int, typer.Option(metavar="N", help="Number of states to test on each validation task.")
    ] = TEST_POOL
    oracle: Annotated[str, typer.Option(metavar="SPEC", help="Oracle of the tests.")] = TEST_ORACLE
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seed of all random choices: the same seed gives the same models on one machine.",
        ),
    ] = 0


@dataclass(frozen=True)
class Learning(Group, heading="Learning"):
    """The network and how it learns."""

    recipe: Annotated[
        str,
        typer.Option(
            metavar="|".join(RECIPES),
            help="How to learn; p25: loss, first weights, decay, labels and sampling of the trainer of P25.",
        ),
    ] = RECIPES[0]
    steps: Annotated[int, typer.Option(help="Minibatches of an epoch.")] = 700
    batch_size: Annotated[int, typer.Option(help="States of a minibatch.")] = 64
    learning_rate: Annotated[float, typer.Option(help="Learning rate of the optimizer, Adam.")] = (
        1e-3
    )
    dropout: Annotated[
        float, typer.Option(help="Share of features that are left out in each step of learning.")
    ] = 0.1
    weight_decay: Annotated[float, typer.Option(help="Weight of the L2 penalty.")] = 2e-4
    clip: Annotated[float, typer.Option(help="Largest norm of a gradient.")] = 5.0
    hidden: Annotated[int, typer.Option(help="Number of features of a module.")] = 16
    layers: Annotated[int, typer.Option(help="Proposition layers.")] = 2


@dataclass(frozen=True)
class Teaching(Group, heading="Teacher"):
    """Which states are learnt from, and who says what is right there."""

    teacher: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help="auto, exhaustive, astar or 'command:PROGRAM {sas} {plan}'."
        ),
    ] = "auto"
    exhaustive_states: Annotated[
        int, typer.Option(help="Tasks up to this size are enumerated by the auto teacher.")
    ] = TEACHER_STATES
    teacher_expansions: Annotated[
        int, typer.Option(help="Largest number of expansions of A* for one state.")
    ] = TEACHER_EXPANSIONS
    unit_costs: Annotated[bool, typer.Option("--unit-costs", help="Teach shortest plans.")] = False
    all_states: Annotated[
        bool, typer.Option("--all-states", help="Begin with all states of enumerated tasks.")
    ] = False
    walks: Annotated[
        int, typer.Option(help="Number of random walks that begin on each rollout.")
    ] = 0


@dataclass(frozen=True)
class Bugs(Group, heading="Learning from bugs"):
    """How much of what is learnt with --from-bugs."""

    retest: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Test the tasks of the campaign again after every K epochs, and learn from what is found; 0: never.",
        ),
    ] = RETEST
    bug_states: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Which states, when tested again: " + ", ".join(BUG_STATES) + "."
        ),
    ] = BUG_SOURCE
    bug_labels: Annotated[
        str,
        typer.Option(
            metavar="auto|teacher|found",
            help="Who says what is right there: the teacher, or what the test has found; auto: of faults, the latter.",
        ),
    ] = BUG_LABELS
    by_regret: Annotated[
        bool,
        typer.Option("--by-regret", help="Draw a fault the more often, the more it loses."),
    ] = False
    bug_ratio: Annotated[
        float, typer.Option(metavar="R", help="Share of a minibatch that these states have.")
    ] = BUG_RATIO
    bug_number: Annotated[
        int, typer.Option(metavar="N", help="New states each time, of all tasks together.")
    ] = BUG_NUMBER


@dataclass(frozen=True)
class Keeping(Group, heading="Output"):
    """Where the training is kept, and how it continues."""

    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to keep all in.")]
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training in DIR.")] = (
        False
    )
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --resume: continue after the first N models."),
    ] = None
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where to learn.")] = "cpu"
    as_json: AsJson = False


@takes(Tasks, Algorithm, Learning, Teaching, Bugs, Repeats, Keeping)
def asnet_command(
    context: typer.Context,
    tasks: Tasks,
    algorithm: Algorithm,
    learning: Learning,
    teaching: Teaching,
    bugs: Bugs,
    repeats: Repeats,
    keeping: Keeping,
) -> int:
    """Train an ASNet on small tasks of a domain.

    Every checkpoint is kept in DIR/models, tested on the validation tasks, and entered into the policy tree
    (DIR/tree.json); the chosen one is DIR/best.safetensors. An interrupted training continues with --resume.

    With --repeats it is trained several times, with several seeds, and the best network is named.

    Example: misstep train asnet domain.pddl small.pddl --validate larger.pddl --epochs 10 -o training

    Example: misstep train asnet domain.pddl small.pddl --validate larger.pddl --repeats 4 --jobs 2 -o trainings
    """
    if keeping.keep is not None and not keeping.resume:
        raise UsageError("--keep is for --resume")
    repeats.check(context)
    if keeping.keep is not None and repeats.repeats is not None:
        raise UsageError("--keep with --repeats", expected="one of them")
    from misstep.training.api import asnet_settings, check_device, train

    if tasks.from_bugs is None and (asked := typed(context, Bugs.names())):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--from-bugs DIR")
    settings = asdict(algorithm) | asdict(learning) | asdict(teaching) | asdict(bugs)
    if learning.recipe != RECIPES[0]:
        # A recipe says other things than the defaults of options, but not other things than the user.
        for name in set(settings) - {"recipe"}:
            if not typed(context, [name]):
                del settings[name]
    check_device(keeping.device)
    asnet_settings(settings)  # whatever is wrong is told before the translator works
    if repeats.repeats is not None:
        training = _training(tasks, settings, keeping.device)
        how = {"resume": keeping.resume, "as_json": keeping.as_json}
        return repeat(training, repeats, keeping.out, **how)
    problems = read_problems(tasks.train, tasks.domain)
    validation = read_problems(tasks.validate or [], tasks.domain)
    faults = None if tasks.from_bugs is None else _read_faults(tasks.from_bugs)
    began = monotonic()
    with _live(keeping.as_json) as report:
        summary: Any = train(
            problems,
            keeping.out,
            validate=validation,
            from_bugs=faults,
            resume=keeping.resume,
            keep=keeping.keep,
            device=keeping.device,
            report=report,
            **settings,
        )
    summary.seconds["total"] = round(monotonic() - began, 3)
    for text in summary.remarks:
        remark(f"note: {text}")
    if keeping.as_json:
        print_json(asdict(summary))
    else:
        _print(asdict(summary), keeping.out)
    return 0


def _training(tasks: Tasks, settings: dict[str, Any], device: str) -> Training:
    from misstep.tasks.suites import suite_files

    validate = suite_files(tasks.validate, tasks.domain) if tasks.validate else []
    more = {"from_bugs": tasks.from_bugs, "device": device}
    return Training(settings, more, suite_files(tasks.train, tasks.domain), validate)


def _read_faults(folder: Path) -> list[TaskFaults]:
    from misstep.training.bugs import read_faults

    faults = read_faults(folder)
    samples = sum(len(own.samples) for own in faults)
    bugs = sum(own.bugs for own in faults)
    remark(f"{samples} proven faults behind {bugs} bugs of {folder}")
    return faults


def _print(summary: dict[str, Any], out: Path) -> None:
    from misstep.training.folder import TrainingFolder

    with TrainingFolder.open_folder(out) as folder:
        print(folder.tree.draw(summary["chosen"]))
    test = summary["test"]
    print(
        f"\nchosen    model {summary['chosen']} of {summary['models']}, by {summary['criterion']}"
    )
    print(f"train     {percent(summary['success'])}% of the tasks solved")
    if test:
        states = f"{test['solved']} of {test['processed']} states solved, {test['bugs']} bugs"
        print(f"validate  {test['coverage']} of {test['tasks']} tasks; {states}")
    print(f"policy    asnet:{summary['best']}")


@contextmanager
def _live(quiet: bool) -> Iterator[Report]:
    """A table that grows with the models on a terminal; a line a model elsewhere."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    console = Console(file=controls())
    rows: list[list[str]] = []
    if quiet or not console.is_terminal:

        def line(node: Node) -> None:
            remark(
                "  ".join(f"{name} {text}" for name, text in zip(COLUMNS, _row(node), strict=True))
            )

        yield line
        return
    with Live(
        console=console,
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:

        def update(node: Node) -> None:
            rows.append(_row(node))
            table = Table(*COLUMNS, box=None, header_style="bold")
            for row in rows[-SHOWN:]:
                table.add_row(*row)
            live.update(table)

        yield update


COLUMNS = ("model", "from", "loss", "train", "validation", "states", "bugs", "samples", "seconds")


def _row(node: Node) -> list[str]:
    from misstep.training.testing import summarise

    test = summarise(node.results) if node.results else None
    share = max(1, test["processed"]) if test else 1
    return [
        str(node.id),
        "-" if node.parent is None else str(node.parent),
        "-" if node.loss is None else f"{node.loss:.4f}",
        f"{percent(node.success)}%",
        f"{test['coverage']}/{test['tasks']}" if test else "-",
        f"{percent(test['solved'] / share)}%" if test else "-",
        f"{percent(test['bugs'] / share)}%" if test else "-",
        str(node.samples),
        f"{sum(node.seconds.values()):.1f}",
    ]
