"""The functions behind the commands `train` and `select`.

Keywords have the names of the commands' options. PyTorch is loaded only when a training begins.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from misstep.campaigns.arguments import as_path
from misstep.campaigns.campaign import Campaign
from misstep.errors import UnsupportedError, UsageError
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.tasks.keywords import check_names, make_settings
from misstep.tasks.load import AnyTask, load_task
from misstep.tasks.task import Task
from misstep.training.bugs import TaskFaults, read_faults
from misstep.training.explore import Exploration
from misstep.training.feedback import Feedback
from misstep.training.qlearning.settings import QSettings
from misstep.training.selection import Progress, Selection, select_policies
from misstep.training.settings import RECIPES, LearnerSettings, TrainingSettings
from misstep.training.testing import POOL_SIZE, TEST_ORACLE, TestSettings

if TYPE_CHECKING:
    from misstep.tasks.jani.property import State
    from misstep.tasks.jani.task import JaniTask
    from misstep.training.qlearning.trainer import QSummary
    from misstep.training.trainer import TrainingSummary

StrPath = str | os.PathLike[str]

# Keywords of ASNets, table by table, and the name of the field if it differs.
_OF_TRAINING = {
    **{name: name for name in ("config", "epochs", "seed", "hidden", "layers", "teacher")},
    **{
        name: name
        for name in ("exhaustive_states", "teacher_expansions", "unit_costs", "all_states")
    },
    **{name: name for name in ("initial", "single")},
    "inits": "n_init",
    "start": "n_start",
    "select": "criterion",
}
_OF_LEARNER = {own.name: own.name for own in dataclasses.fields(LearnerSettings)}
_OF_EXPLORATION = {own.name: own.name for own in dataclasses.fields(Exploration)}
_OF_TEST = {"pool": "pool_size", "oracle": "oracle"}
_OF_FEEDBACK = {
    "retest": "every",
    "bug_states": "source",
    "bug_labels": "labels",
    "by_regret": "weighted",
    "bug_ratio": "ratio",
    "bug_number": "states",
}
_OF_ASNETS = (
    "recipe",
    *_OF_TRAINING,
    *_OF_LEARNER,
    *_OF_EXPLORATION,
    *_OF_TEST,
    *_OF_FEEDBACK,
)

_OF_REWARDS = {f"{name}_reward": name for name in ("goal", "unsafe", "dead_end", "step")}
_OF_QLEARNING = (
    *(own.name for own in dataclasses.fields(QSettings) if own.name != "rewards"),
    *_OF_REWARDS,
)


def train(
    tasks: Any,
    out: StrPath,
    *,
    validate: Any = (),
    from_bugs: Campaign | StrPath | Sequence[TaskFaults] | None = None,
    resume: bool = False,
    keep: int | None = None,
    init: StrPath | None = None,
    device: str = "cpu",
    report: Callable[..., None] | None = None,
    **settings: Any,
) -> TrainingSummary | QSummary:
    """Train a policy and keep all checkpoints in the folder `out`; `best` of the result is the chosen one.

    For planning tasks (small tasks of one domain), an ASNet learns from a teacher. Every checkpoint is tested on the
    tasks `validate`. `from_bugs` is a campaign, or its folder: the ASNet also learns from its faults, and its tasks are
    tested again after every `retest` epochs. Settings are `config`, `epochs`, `select`, `steps`, `hidden`, `layers`,
    `teacher`, `pool`, `oracle`, `seed` and all other options of `misstep train asnet`.

    For a model, a network learns by deep Q-learning. Settings are `hidden`, `steps`, `seed`, `episodes`, `checkpoints`
    and all other options of `misstep train qlearning`. `from_bugs` is a campaign on the model: some episodes begin in
    its bugs. `init` is the interface of a network to start with.

    `resume=True` continues the training in `out`; with `keep=N`, after its first N models. `device` is cpu or cuda.
    `report` is called with each checkpoint.
    """
    loaded = _tasks(tasks)
    if not isinstance(out, (str, os.PathLike)):
        raise UsageError(f"out is {out!r:.60}", expected="the path of a folder")
    folder = Path(out)
    if not isinstance(resume, bool):
        raise UsageError(f"resume is {resume!r:.60}", expected="True or False")
    if keep is not None and not (type(keep) is int and keep >= 0):
        raise UsageError(f"keep is {keep!r:.60}", expected="a number of models")
    if keep is not None and not resume:
        raise UsageError(
            "keep needs resume=True: it is the number of models after which the training continues"
        )
    planning = [task for task in loaded if isinstance(task, Task)]
    if planning and len(planning) < len(loaded):
        raise UsageError(
            "planning tasks and models are mixed", expected="planning tasks, or one model"
        )
    if not planning:
        for name, value in (("validate", validate), ("keep", keep)):
            if value is not None and value != ():
                raise UsageError(f"{name} is an option of planning tasks", where=loaded[0].name)
        beginning = _Beginning(from_bugs, init)
        return _train_model(loaded, folder, resume, device, report, settings, beginning)
    if init is not None:
        raise UsageError("init is an option of models", where=planning[0].name)
    asked = asnet_settings(settings)
    validation = [] if isinstance(validate, (list, tuple)) and not validate else _tasks(validate)
    faults = _faults(from_bugs)
    check_device(device)
    from misstep.training import trainer

    if resume:
        return trainer.resume(
            planning,
            _planning(validation),
            folder,
            asked=asked,
            keep=keep,
            faults=faults,
            report=report,
            device=device,
        )
    return trainer.train(
        planning,
        _planning(validation),
        folder,
        asked,
        faults=faults,
        report=report,
        device=device,
    )


def asnet_settings(given: Mapping[str, Any]) -> TrainingSettings:
    """The settings of an ASNet's training from keywords."""
    check_names(given, _OF_ASNETS, "the training on planning tasks")
    recipe = given.get("recipe", "own")
    if recipe not in RECIPES:
        raise UsageError(f"no recipe {recipe!r:.60}", expected=" or ".join(RECIPES))
    given = {**RECIPES[recipe], **given}
    seed = {"seed": given["seed"]} if "seed" in given else {}
    return make_settings(
        TrainingSettings,
        _of(given, _OF_TRAINING),
        _OF_TRAINING,
        learner=make_settings(LearnerSettings, _of(given, _OF_LEARNER)),
        exploration=make_settings(Exploration, _of(given, _OF_EXPLORATION)),
        feedback=make_settings(Feedback, _of(given, _OF_FEEDBACK), _OF_FEEDBACK),
        test=make_settings(TestSettings, {**_of(given, _OF_TEST), **seed}, _OF_TEST),
    )


def qlearning_settings(given: Mapping[str, Any]) -> QSettings:
    """The settings of Q-learning from keywords."""
    check_names(given, _OF_QLEARNING, "the training on models")
    from misstep.tasks.jani.episodes import Rewards

    rewards = make_settings(Rewards, _of(given, _OF_REWARDS), _OF_REWARDS)
    own = {name: value for name, value in given.items() if name not in _OF_REWARDS}
    return make_settings(QSettings, own, rewards=rewards)


class _Beginning(NamedTuple):
    """What a training on a model begins with."""

    from_bugs: object
    init: StrPath | None

    def refuse(self) -> None:
        for name, value in zip(self._fields, self, strict=True):
            if value is not None:
                raise UsageError(
                    f"{name} with resume", expected="it with the beginning of a training only"
                )

    def states(self, model: JaniTask) -> list[State]:
        from misstep.training.qlearning.bug_states import read_bug_states

        if self.from_bugs is None:
            return []
        if not isinstance(self.from_bugs, (Campaign, str, os.PathLike)):
            raise UsageError(
                f"from_bugs is {self.from_bugs!r:.60}", expected="a campaign or its folder"
            )
        return read_bug_states(self.from_bugs, model)


def _train_model(
    models: Sequence[AnyTask],
    out: Path,
    resume: bool,
    device: str,
    report: Callable[..., None] | None,
    given: Mapping[str, Any],
    beginning: _Beginning,
) -> QSummary:
    if len(models) > 1:
        raise UsageError(f"{len(models)} models", expected="one model to train on")
    model: JaniTask = models[0]  # type: ignore[assignment]
    asked = qlearning_settings(given)
    check_device(device)
    from misstep.training.qlearning import trainer

    if resume:
        beginning.refuse()
        # More steps than before let the training grow; none given leaves them as they are.
        steps = given.get("steps")
        return trainer.resume(model, out, steps=steps, asked=asked, device=device, report=report)
    return trainer.train(
        model,
        out,
        asked,
        starts=beginning.states(model),
        init=None if beginning.init is None else Path(beginning.init),
        device=device,
        report=report,
    )


def select(
    tasks: Any,
    policies: Iterable[Any],
    *,
    pool: int = POOL_SIZE,
    oracle: str = TEST_ORACLE,
    budget: int | None = None,
    seed: int = 0,
    max_steps: int = DEFAULT_MAX_STEPS,
    progress: Progress | None = None,
    out: StrPath | None = None,
) -> Selection:
    """Test policies on the same states of planning tasks and rank them by coverage, solved states and bugs.

    `tasks` is anything that `load_task` takes, or a list of these; `policies` are two or more policies as `load_policy`
    takes them. `pool` is the number of states per task, `budget` the largest number of expansions, evaluations and
    policy calls for one policy on one task. `candidates` of the result are the policies from best to worst, and
    `comparisons` say whether the best one is significantly better than each other one. With `out` the records of each
    policy are kept in a campaign of its own, in a folder below; a second call with the same folder tests nothing again.
    """
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise UsageError(f"policies is {policies!r:.60}", expected="a list of policies")
    given = {
        "pool": pool,
        "oracle": oracle,
        "budget": budget,
        "seed": seed,
        "max_steps": max_steps,
    }
    settings = make_settings(TestSettings, given, _OF_TEST)
    if out is not None and budget is not None:
        raise UsageError(
            f"budget is {budget}",
            expected="no budget where records are kept: a campaign tests all states of its pool",
        )
    folder = None if out is None else as_path("out", out, "the path of a folder")
    return select_policies(_planning(_tasks(tasks)), list(policies), settings, progress, folder)


def check_device(device: object) -> None:
    """Check that PyTorch and the device are available; the error says what is missing."""
    if not isinstance(device, str) or device.partition(":")[0] not in ("cpu", "cuda"):
        raise UsageError(f"no device {device!r:.60}", expected="cpu or cuda")
    from misstep.training.network import has_cuda

    if device.startswith("cuda") and not has_cuda():
        raise UsageError("there is no CUDA device that PyTorch can use", hint="use the device cpu")


def _faults(given: Campaign | StrPath | Sequence[TaskFaults] | None) -> list[TaskFaults]:
    if given is None:
        return []
    if isinstance(given, (Campaign, str, os.PathLike)):
        found = read_faults(given)
    elif isinstance(given, (list, tuple)) and all(isinstance(own, TaskFaults) for own in given):
        found = list(given)
    else:
        raise UsageError(f"from_bugs is {given!r:.60}", expected="a campaign or its folder")
    faults = [own for own in found if own.samples]
    if not faults:
        raise UsageError(
            "the campaign has no proven fault to learn from",
            where=given if isinstance(given, str) else None,
            hint="leave out from_bugs",
        )
    return faults


def _of(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _tasks(given: Any) -> list[AnyTask]:
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise UsageError("no tasks", expected="at least one")
    return [load_task(task) for task in several]


def _planning(tasks: Sequence[AnyTask]) -> list[Task]:
    found = []
    for task in tasks:
        if not isinstance(task, Task):
            raise UnsupportedError(
                "this works on planning tasks",
                where=task.name,
                hint="test each policy on the model with misstep.test",
            )
        found.append(task)
    return found


__all__ = ["asnet_settings", "check_device", "qlearning_settings", "select", "train"]
