"""`misstep train qlearning`: a small network for a JANI model, with checkpoints on the way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from misstep.binomial import percent
from misstep.cli.arguments import AsJson, typed
from misstep.cli.groups import Group, takes
from misstep.cli.models import Constants, Property, Reading, read_model, reading_options
from misstep.cli.output import print_json, remark
from misstep.cli.repeats import Repeats, Training, repeat
from misstep.errors import UsageError
from misstep.training.qlearning.settings import QSettings

USUAL = QSettings()
# Settings whose options have other names.
_OPTIONS = {"start_ratio": "ratio", "epsilon_first": "epsilon"}
EPSILON_OF_INIT = 0.2  # a network that knows something is not to be drowned in random labels


@dataclass(frozen=True)
class Model(Group, heading="Model"):
    """What the policy learns on, and what it sees of it."""

    model: Annotated[Path, typer.Argument(metavar="MODEL.jani", help="The model.")]
    property: Property = None
    constant: Constants = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="VARIABLE", help="A variable that the policy does not see."),
    ] = None
    uniform_outcomes: Annotated[
        bool,
        typer.Option(
            "--uniform-outcomes",
            help="All outcomes of a label are equally likely, whatever the model says.",
        ),
    ] = False


@dataclass(frozen=True)
class Learning(Group, heading="Learning"):
    """The network, how it learns and how it is tested."""

    hidden: Annotated[str, typer.Option(metavar="SIZES", help="Sizes of the hidden layers.")] = (
        ",".join(map(str, USUAL.hidden))
    )
    steps: Annotated[
        int | None,
        typer.Option(
            help=f"Steps in the model, over all episodes; {USUAL.steps:,} if nothing is said.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seed of all random choices: the same seed gives the same networks on one machine.",
        ),
    ] = 0
    checkpoints: Annotated[int, typer.Option(help="How many checkpoints to keep.")] = (
        USUAL.checkpoints
    )
    episodes: Annotated[int, typer.Option(help="Episodes to test a checkpoint.")] = USUAL.episodes
    stop_at: Annotated[
        float | None,
        typer.Option(
            metavar="RATE", help="Stop when this share of a test's episodes meets a goal."
        ),
    ] = None
    horizon: Annotated[int, typer.Option(help="Most steps of an episode.")] = USUAL.horizon
    environments: Annotated[int, typer.Option(help="Episodes side by side.")] = USUAL.environments
    learning_rate: Annotated[float, typer.Option(help="Learning rate of Adam.")] = (
        USUAL.learning_rate
    )
    gamma: Annotated[float, typer.Option(help="Discount of a step.")] = USUAL.gamma


@dataclass(frozen=True)
class Beginning(Group, heading="Safety"):
    """Where the training begins, and what it may do."""

    init: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jani2nnet",
            help="Begin with this network; its layers and inputs take the place of --hidden and --ignore.",
            show_default=False,
        ),
    ] = None
    from_bugs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Begin episodes in the bugs of this campaign on the model too, and along their runs.",
            show_default=False,
        ),
    ] = None
    start_ratio: Annotated[
        float, typer.Option("--ratio", help="Share of episodes that begin in a bug of --from-bugs.")
    ] = USUAL.start_ratio
    shield: Annotated[
        bool,
        typer.Option(
            "--shield",
            help="Take no label while learning that may lead to a state that is not safe.",
        ),
    ] = False
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Random labels at first; 1 if nothing is said, 0.2 with --init.",
            show_default=False,
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        usual = USUAL.epsilon_first if self.init is None else EPSILON_OF_INIT
        first = usual if self.epsilon is None else self.epsilon
        return {
            "start_ratio": self.start_ratio,
            "shield": self.shield,
            "epsilon_first": first,
            "epsilon_last": min(first, USUAL.epsilon_last),
        }

    def check(self, context: typer.Context) -> None:
        """Refuse what would have no effect."""
        if self.from_bugs is None and (asked := typed(context, ["start_ratio"])):
            raise UsageError(f"{asked[0]} has no meaning here", expected="--from-bugs DIR")
        if self.init is not None and (asked := typed(context, ["hidden", "ignore"])):
            raise UsageError(
                f"{asked[0]} has no meaning with --init", expected="the layers of that network"
            )


@dataclass(frozen=True)
class Rewards(Group, heading="Rewards"):
    """Of a step, by where it leads."""

    goal_reward: Annotated[float, typer.Option(help="Reward of a step to a goal.")] = 100.0
    unsafe_reward: Annotated[float, typer.Option(help="To an unsafe state.")] = -100.0
    dead_end_reward: Annotated[float, typer.Option(help="To a state without a label.")] = -10.0
    step_reward: Annotated[float, typer.Option(help="To any other state.")] = -0.1


@dataclass(frozen=True)
class Keeping(Group, heading="Output"):
    """Where the training is kept, and how it continues."""

    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to keep all in.")]
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the training in DIR, also for more --steps."),
    ] = False
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where to learn.")] = "cpu"
    as_json: AsJson = False


@takes(Model, Learning, Beginning, Rewards, Repeats, Keeping)
def qlearning_command(
    context: typer.Context,
    model: Model,
    learning: Learning,
    beginning: Beginning,
    rewards: Rewards,
    repeats: Repeats,
    keeping: Keeping,
) -> int:
    """Train a network on a JANI model by deep Q-learning.

    Every checkpoint is kept in DIR/checkpoints as a network (.nnet) with its interface (.jani2nnet) and tested;
    DIR/log.jsonl has the figures. The best one is DIR/best.jani2nnet. Ctrl-C keeps the work; --resume continues.
    With --repeats it is trained several times, with several seeds, and the best network is named.

    Example: misstep train qlearning model.jani -o better --init training/best.jani2nnet --from-bugs found

    Example: misstep train qlearning model.jani -o trainings --repeats 4 --cluster local:2
    """
    from misstep.tasks.suites import suite_files
    from misstep.training.api import check_device, train

    beginning.check(context)
    repeats.check(context)
    settings: dict[str, Any] = {
        **asdict(learning),
        **asdict(rewards),
        **beginning.settings(),
        "hidden": sizes(learning.hidden),
        "ignore": tuple(model.ignore or ()),
        "uniform_outcomes": model.uniform_outcomes,
    }
    if learning.steps is None:
        del settings["steps"]
    _check(
        settings
    )  # whatever is wrong is told before the model is read, and PyTorch takes seconds to load
    reading = Reading(model.property, model.constant)
    check_device(keeping.device)
    if repeats.repeats is not None:
        more = {"init": beginning.init, "from_bugs": beginning.from_bugs, "device": keeping.device}
        tasks = suite_files([model.model])
        training = Training(settings, more, tasks, [], reading_options(reading))
        how = {"resume": keeping.resume, "as_json": keeping.as_json}
        return repeat(training, repeats, keeping.out, **how)
    task = read_model([model.model], reading)
    report = None if keeping.as_json else _line
    summary: Any = train(
        task,
        keeping.out,
        resume=keeping.resume,
        init=beginning.init,
        from_bugs=beginning.from_bugs,
        device=keeping.device,
        report=report,
        **settings,
    )
    if keeping.as_json:
        print_json(asdict(summary))
    else:
        print(_told(asdict(summary)))
    return 0


def _check(settings: dict[str, Any]) -> None:
    from misstep.training.api import qlearning_settings

    try:
        qlearning_settings(settings)
    except UsageError as error:
        name, blank, rest = error.what.partition(" ")
        if name in settings:
            option = _OPTIONS.get(name, name.replace("_", "-"))
            error.what = f"--{option}{blank}{rest}"
        raise


def sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"--hidden is {text!r}", expected="sizes of layers, such as 64,64"
        ) from None


def _line(line: dict[str, Any]) -> None:
    test = line["test"]
    remark(
        f"step {line['step']:,}  loss {line['loss']:.5f}  epsilon {line['epsilon']:.2f}  "
        f"goal {percent(test['goal_rate'])}%  unsafe {percent(test['unsafe_rate'])}%  return {test['return']:.1f}  "
        f"seconds {line['seconds']:.1f}"
    )


def _told(summary: dict[str, Any]) -> str:
    test = summary["test"]
    end = ", good enough" if summary["stopped"] else ""
    return (
        f"trained   {summary['steps']:,} steps, {summary['updates']:,} updates{end}\n"
        f"best      goal {percent(test['goal_rate'])}%, unsafe {percent(test['unsafe_rate'])}% of "
        f"{test['episodes']} episodes, of {summary['checkpoints']} checkpoints\n"
        f"policy    {summary['best']}"
    )


__all__ = ["qlearning_command", "sizes"]
