"""`misstep train loop`: test, learn from bugs, test again, beside a network that just learns on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from misstep.binomial import percent
from misstep.cli.arguments import AsJson, check_limits, typed
from misstep.cli.groups import Group, takes
from misstep.cli.models import Constants, Property, Reading, read_model
from misstep.cli.output import print_json, remark
from misstep.cli.train_qlearning import EPSILON_OF_INIT, sizes
from misstep.errors import Interrupted, UsageError
from misstep.training.qlearning.settings import QSettings

LEARNING = QSettings(hidden=(32, 32), steps=20_000, horizon=200, checkpoints=5)


@dataclass(frozen=True)
class Model(Group, heading="Model"):
    model: Annotated[Path, typer.Argument(metavar="MODEL.jani", help="The model.")]
    init: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jani2nnet",
            help="The network to begin with. Default: one that is trained first.",
            show_default=False,
        ),
    ] = None
    property: Property = None
    constant: Constants = None


@dataclass(frozen=True)
class Rounds(Group, heading="Rounds"):
    rounds: Annotated[int, typer.Option(min=1, help="How often to learn and to test again.")] = 3
    steps: Annotated[int, typer.Option(min=1, help="Steps in the model of each round.")] = (
        LEARNING.steps
    )
    runs: Annotated[int, typer.Option(min=1, help="Runs of the fuzzer in each test.")] = 200
    test_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time limit of each test.")
    ] = 60.0
    episodes: Annotated[
        int, typer.Option(min=1, help="Episodes from which the risk is estimated.")
    ] = 1000
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Confidence of the intervals of the risk.")
    ] = 0.95
    plain: Annotated[
        bool,
        typer.Option(
            "--plain/--no-plain", help="Also let the network learn on without its bugs, to compare."
        ),
    ] = True


@dataclass(frozen=True)
class Learning(Group, heading="Learning"):
    start_ratio: Annotated[
        float, typer.Option("--ratio", help="Share of episodes that begin in bugs.")
    ] = LEARNING.start_ratio
    shield: Annotated[
        bool,
        typer.Option(
            "--shield", help="Take no label while learning that may lead to an unsafe state."
        ),
    ] = False
    hidden: Annotated[
        str, typer.Option(metavar="SIZES", help="Hidden layers of the first network.")
    ] = ",".join(map(str, LEARNING.hidden))
    horizon: Annotated[int, typer.Option(help="Most steps of an episode.")] = LEARNING.horizon
    epsilon: Annotated[
        float, typer.Option(metavar="SHARE", help="Random labels at the beginning of a round.")
    ] = EPSILON_OF_INIT
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seed of all random choices: the same seed gives the same rounds on one machine.",
        ),
    ] = 0


@dataclass(frozen=True)
class Keeping(Group, heading="Output"):
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to keep all in.")]
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the loop in DIR, also for more --rounds.")
    ] = False
    as_json: AsJson = False


@takes(Model, Rounds, Learning, Keeping)
def loop_command(
    context: typer.Context, model: Model, rounds: Rounds, learning: Learning, keeping: Keeping
) -> int:
    """Test a network on a JANI model, let it learn from its bugs, and test it again, several times.

    Episodes of a round begin in the bugs of all tests before it. Beside it the same network learns on for as many steps
    without hearing of bugs. The table has a line for each round of both: the share of episodes that end unsafe with
    an exact interval, unsafe runs of the fuzzer, and proven bugs. DIR has all tests and trainings; Ctrl-C keeps them.

    Example: misstep train loop model.jani --init training/last.jani2nnet -o better --rounds 2
    """
    from misstep.training.api import check_device
    from misstep.training.qlearning.loop import LoopSettings, run_loop, table

    check_limits(test_time=rounds.test_time)
    if model.init is not None and (asked := typed(context, ["hidden"])):
        raise UsageError(f"{asked[0]} has no meaning with --init", expected="one of them")
    settings = LoopSettings(
        rounds=rounds.rounds,
        runs=rounds.runs,
        episodes=rounds.episodes,
        test_seconds=rounds.test_time,
        confidence=rounds.confidence,
        plain=rounds.plain,
        learning=replace(
            LEARNING,
            hidden=sizes(learning.hidden),
            steps=rounds.steps,
            horizon=learning.horizon,
            seed=learning.seed,
            start_ratio=learning.start_ratio,
            shield=learning.shield,
            epsilon_first=learning.epsilon,
            epsilon_last=min(learning.epsilon, LEARNING.epsilon_last),
        ),
    )
    task = read_model([model.model], Reading(model.property, model.constant))
    check_device("cpu")
    try:
        rows = run_loop(
            task, model.init, keeping.out, settings, resume=keeping.resume, report=_told
        )
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            "stopped by the user; what is done is kept",
            where=str(keeping.out),
            hint="the same command with --resume continues",
        ) from None
    if keeping.as_json:
        print_json({"folder": str(keeping.out), "rounds": [asdict(row) for row in rows]})
    else:
        print(table(rows))
    return 0


def _told(what: str, figures: dict[str, Any]) -> None:
    if "step" in figures:
        test = figures["test"]
        what += f", step {figures['step']:,}: goal {percent(test['goal_rate'])}%, "
        what += f"unsafe {percent(test['unsafe_rate'])}%"
    elif "bugs" in figures:
        what += f": unsafe {percent(figures['unsafe_rate'], 1)}%, {figures['bugs']} bugs"
    remark(what)


__all__ = ["loop_command"]
