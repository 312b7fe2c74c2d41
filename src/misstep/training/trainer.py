"""Training an ASNet from beginning to end: epochs, tests, files.

`train` follows the algorithms, one model after the other, and stores each in the folder before it continues. A model
depends on the settings, the tasks and the models before it, never on the clock or on whether the training was
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from misstep.errors import (
    BudgetLimitError,
    InputFormatError,
    Interrupted,
    UnsupportedError,
    UsageError,
)
from misstep.oracles.trust import given_oracle, require_oracle_trust
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import Shape, difference, shape_of
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import Weights, random_weights
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from misstep.training.algorithms import CRITERIA, next_step, select_offline
from misstep.training.explore import ask, explore
from misstep.training.feedback import Candidate, FeedbackTask, collect
from misstep.training.folder import TrainingFolder
from misstep.training.samples import Samples
from misstep.training.settings import TrainingSettings
from misstep.training.teachers import (
    ExhaustiveTeacher,
    Teacher,
    make_teacher,
    runs_program,
    with_unit_costs,
)
from misstep.training.testing import TaskResult, TestedTask, summarise
from misstep.training.tree import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from misstep.training.bugs import TaskFaults
    from misstep.training.learner import Learner, Model

Report = Callable[[Node], None]


@dataclass
class TrainingSummary:
    """How a training ended."""

    folder: str
    models: int
    chosen: int
    criterion: str
    best: str
    success: float
    loss: float | None
    test: dict[str, Any] | None
    samples: int
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def train(
    tasks: Sequence[Task],
    validation: Sequence[Task],
    out: Path,
    settings: TrainingSettings,
    *,
    faults: Sequence[TaskFaults] = (),
    report: Report | None = None,
    device: str = "cpu",
) -> TrainingSummary:
    """Train on the tasks, and on faults of earlier policies, and test on the validation tasks, in a new folder."""
    TrainingFolder.require_new(out)
    # All errors in tasks, teacher and settings are found before the folder is made.
    trainer = Trainer(tasks, validation, settings, faults, device)
    trainer.first_lessons()
    about = {
        "settings": settings.as_dict(),
        "train": [_identity(task) for task in tasks],
        "validate": [_identity(task) for task in validation],
        "faults": [_identity(own.task) for own in faults],
    }
    with TrainingFolder.create(out, about) as folder:
        return trainer.run(folder, report)


def _require_oracle(stored: dict[str, Any], asked: TrainingSettings | None, where: str) -> None:
    """Refuses a stored oracle from another package, whose code would run when the settings are read."""
    own: Any = stored.get("settings")
    test = own.get("test") if isinstance(own, dict) else None
    if asked is not None:
        given_oracle(asked.test.oracle)
    if isinstance(test, dict):
        hint = "if you trust it, give the same --oracle again"
        require_oracle_trust(test.get("oracle"), False, where, hint=hint)


def resume(
    tasks: Sequence[Task],
    validation: Sequence[Task],
    out: Path,
    *,
    asked: TrainingSettings | None = None,
    keep: int | None = None,
    faults: Sequence[TaskFaults] = (),
    report: Report | None = None,
    device: str = "cpu",
) -> TrainingSummary:
    """Continue a training that was stopped, on the same tasks; with `keep`, from an earlier model on.

    Its settings are those it was begun with. It is an error to ask for others (`asked`).
    """
    with TrainingFolder.open_folder(out, keep=keep) as folder:
        where = str(out / "settings.json")
        _require_oracle(folder.settings, asked, where)
        settings = TrainingSettings.from_dict(folder.settings.get("settings", {}), where)
        if asked is not None:
            settings.require_same(asked, where)
        # The folder is untrusted, and this would run a command from it.
        if runs_program(settings.teacher) and settings.teacher != (asked and asked.teacher):
            raise UsageError(
                f"the stored teacher {settings.teacher!r:.300} would run a program",
                where=where,
                expected="the user's word on it",
                hint="if you trust it, give the same --teacher again",
            )
        fault_tasks = [own.task for own in faults]
        for name, given in (("train", tasks), ("validate", validation), ("faults", fault_tasks)):
            known = _identities(folder.settings.get(name), where)
            if [task["digest"] for task in known] != [task.digest for task in given]:
                raise UsageError(
                    "the tasks are not those that the training began with",
                    where=where,
                    expected=", ".join(task["name"] for task in known) or "none",
                )
        trainer = Trainer(tasks, validation, settings, faults, device)
        if not len(folder.tree):
            trainer.first_lessons()
        return trainer.run(folder, report)


class Trainer:
    """One training."""

    folder: TrainingFolder  # from `run` on

    def __init__(
        self,
        tasks: Sequence[Task],
        validation: Sequence[Task],
        settings: TrainingSettings,
        faults: Sequence[TaskFaults] = (),
        device: str = "cpu",
    ) -> None:
        self.check(tasks, validation, settings, faults)
        self.faults = list(faults)
        self.settings = settings
        # Tasks that are used only for faults add data, but the policy is not run on them.
        self.train_count = len(tasks)
        self.fed = self._fed()
        known = set() if self.fed else {task.digest for task in tasks}
        further = self.fed or [own.task for own in faults]
        self.tasks = [*tasks, *(own for own in further if own.digest not in known)]
        self.device = device
        self.shape = shape_of(self.tasks[0].lifted)
        self.structures = [structure_of(task, self.shape) for task in self.tasks]
        self.validation = [TestedTask(task, settings.test) for task in validation]
        self.validation_structures = [structure_of(task, self.shape) for task in validation]
        self.remarks: list[str] = []
        self.teachers: list[Teacher] = [self._teacher(task) for task in tasks]
        taught = settings.feedback.taught
        self.sources = [
            FeedbackTask(own, self._teacher(own) if taught else None, settings.test)
            for own in self.fed
        ]
        self.samples = Samples(self.tasks, single=settings.single)
        self.seconds: dict[str, float] = {"explore": 0.0, "learn": 0.0, "test": 0.0}
        self._told: dict[str, float] = {}  # seconds that are in the log already

    def _fed(self) -> list[Task]:
        """The tasks that are tested between epochs. Their states have their own places in a minibatch, so a task
        that is also a training task is in the list twice."""
        if not self.settings.feedback.every:
            return []
        unit = self.settings.unit_costs
        return [with_unit_costs(own.task) if unit else own.task for own in self.faults]

    def _teacher(self, task: Task) -> Teacher:
        """The teacher that was asked for, or A* on a task that is too large for it."""
        settings = self.settings
        own = with_unit_costs(task) if settings.unit_costs else task
        try:
            return make_teacher(
                settings.teacher,
                own,
                max_states=settings.exhaustive_states,
                expansions=settings.teacher_expansions,
            )
        except BudgetLimitError as error:
            self.remarks.append(f"{task.name}: A* teaches here: {error.what}")
            return make_teacher("astar", own, expansions=settings.teacher_expansions)

    @staticmethod
    def check(
        tasks: Sequence[Task],
        validation: Sequence[Task],
        settings: TrainingSettings,
        faults: Sequence[TaskFaults] = (),
    ) -> None:
        """Refuse settings that cannot work before anything is written."""
        if not tasks:
            raise UsageError("no training tasks", expected="at least one")
        shape = shape_of(tasks[0].lifted)
        for task in [*tasks[1:], *validation, *(own.task for own in faults)]:
            _require_same(shape, tasks[0], task)
        if settings.configuration.needs_validation and not validation:
            raise UsageError(
                f"the configuration {settings.config} selects by tests on validation tasks, and there are none",
                hint="use --validate, or the configuration line or tree",
            )
        criterion_of(settings, bool(validation))
        if faults and settings.feedback.every and settings.learner.sampling != "shares":
            raise UsageError(
                "states of bugs have a share of each minibatch, and with the sampling of P25 no task has one",
                hint="use --retest 0",
            )

    def run(self, folder: TrainingFolder, report: Report | None = None) -> TrainingSummary:
        """Make all models that are not in the folder yet. An empty folder first needs the initial data."""
        from misstep.training.learner import Learner

        self.folder = folder
        settings, tree = self.settings, folder.tree
        learner = Learner(
            self.tasks,
            self.structures,
            settings.learner,
            self.device,
            fed=len(self.fed),
            ratio=settings.feedback.ratio if self.fed else None,
        )
        config = settings.configuration
        self.folder.read_data(self.samples)
        try:
            while (step := next_step(tree, config, settings.derived_seed("online"))) is not None:
                mark = self.samples.mark() if len(tree) else Samples(self.tasks).mark()
                node = (
                    self._start(mark)
                    if step.parent is None
                    else self._expand(learner, step.parent, mark)
                )
                self.folder.add(node)
                if report is not None:
                    report(node)
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped by the user after {len(tree)} of {config.models} models",
                where=str(self.folder.path),
                hint="all of them are kept; --resume continues",
            ) from None
        return self._finish()

    # -- steps ------------------------------------------------------------------------------------

    def _start(self, mark: list[tuple[int, int]]) -> Node:
        """Random weights."""
        tree, settings = self.folder.tree, self.settings
        id = len(tree)
        number = sum(node.parent is None for node in tree)
        seed = settings.derived_seed("weights", number)
        weights = random_weights(
            self.shape,
            seed=seed,
            hidden=settings.hidden,
            layers=settings.layers,
            initial=settings.initial,
        )
        return self._keep(id, None, seed, weights, None, mark, 0)

    def first_lessons(self) -> None:
        """The data that is there from the beginning; it is kept with the first model."""
        with self._clock("explore"):
            self._first_lessons()

    def _first_lessons(self) -> None:
        unsolved = []
        for t, teacher in enumerate(self.teachers):
            ask(teacher, self.samples, t, self.tasks[t].initial_state)
            if self.samples[t].failed:
                unsolved.append(self.tasks[t].name)
            elif self.settings.all_states and isinstance(teacher, ExhaustiveTeacher):
                self.samples.add_all(t, teacher.all_states())
        if len(unsolved) == self.train_count:
            raise UnsupportedError(
                "the teacher solves none of the training tasks",
                where=", ".join(unsolved),
                hint="try the command of the teacher by hand"
                if self.settings.teacher.startswith("command:")
                else "use smaller tasks, or allow it more with --teacher-expansions",
            )
        if unsolved:
            self.remarks.append(
                f"the teacher does not solve {', '.join(unsolved)}: only states that the policy meets can help"
            )
        if self.fed:
            self._first_faults()
            return
        place = {task.digest: t for t, task in enumerate(self.tasks)}
        for own in self.faults:
            self.samples.add_all(place[own.task.digest], own.samples)

    def _first_faults(self) -> None:
        """The campaign's faults, with the teacher's labels if these are asked for and it has one."""
        feedback = self.settings.feedback
        for k, (source, own) in enumerate(zip(self.sources, self.faults, strict=True)):
            for sample in own.samples:
                weight = sample.weight if feedback.weighted else 1.0
                candidate = Candidate(sample.state, weight, sample.good[0])
                found = source.label(candidate, feedback.taught) or source.label(candidate, False)
                if found is not None:
                    self.samples.add(self.train_count + k, found)

    def _feed(self, parent: int, weights: Weights, seed: int) -> None:
        """Test the model on the tasks of the campaign, if a test is due, and add the states that are found."""
        epochs, feedback = self.folder.tree[parent].epochs, self.settings.feedback
        if self.fed and epochs and epochs % feedback.every == 0:
            structures = self.structures[self.train_count :]
            policies = [
                ASNetPolicy(task, weights, structure=structure)
                for task, structure in zip(self.fed, structures, strict=True)
            ]
            collect(self.sources, policies, self.samples, self.train_count, feedback, seed)

    def _expand(self, learner: Learner, parent: int, mark: list[tuple[int, int]]) -> Node:
        """Train a copy of a model for an epoch."""
        from misstep.training.adam import Moments
        from misstep.training.learner import Model

        tree = self.folder.tree
        id = len(tree)
        weights = self.folder.read_model(parent)
        moments = (
            Moments(*self.folder.read_moments(parent)) if tree[parent].loss is not None else None
        )
        seed = self.settings.derived_seed("epoch", id)
        with self._clock("test"):
            self._feed(parent, weights, self.settings.derived_seed("feedback", id))
        with self._clock("explore"):
            policies = self._policies(weights)
            explore(policies, self.teachers, self.samples, self.settings.exploration, seed)
        with self._clock("learn"):
            model, loss = learner.epoch(Model(weights, moments), self.samples, seed)
        return self._keep(id, parent, seed, model.weights, loss, mark, 1, model)

    def _keep(
        self,
        id: int,
        parent: int | None,
        seed: int,
        weights: Weights,
        loss: float | None,
        mark: list[tuple[int, int]],
        epochs: int,
        model: Model | None = None,
    ) -> Node:
        if parent is not None:
            epochs += self.folder.tree[parent].epochs
        success = self._success(weights)
        notes = {
            "origin": "misstep train asnet",
            "tasks": [task.name for task in self.tasks[: self.train_count]],
            "seed": self.settings.seed,
            "model": id,
            "parent": parent,
            "epochs": epochs,
            "loss": loss,
            "success": success,
        }
        weights = Weights(weights.shape, weights.hidden, weights.layers, weights.tensors, notes)
        with self._clock("test"):
            results = self.test(weights)
        self.folder.write_data(id, self.samples, mark)
        if model is not None and model.moments is not None:
            self.folder.write_moments(id, *model.moments)
        digest = self.folder.write_model(id, weights)
        seconds = {
            name: round(spent - self._told.get(name, 0.0), 3)
            for name, spent in self.seconds.items()
        }
        self._told = dict(self.seconds)
        return Node(
            id, parent, epochs, seed, loss, success, len(self.samples), digest, results, seconds
        )

    def _finish(self) -> TrainingSummary:
        tree = self.folder.tree
        criterion = criterion_of(self.settings, bool(self.validation))
        chosen = select_offline(tree, criterion)
        best = self.folder.finish(chosen, {"criterion": criterion})
        node = tree[chosen]
        return TrainingSummary(
            folder=str(self.folder.path),
            models=len(tree),
            chosen=chosen,
            criterion=criterion,
            best=str(best),
            success=node.success,
            loss=node.loss,
            test=summarise(node.results) if node.results else None,
            samples=len(self.samples),
            seconds={name: round(spent, 3) for name, spent in self.seconds.items()},
            remarks=self.remarks,
        )

    # -- policies ---------------------------------------------------------------------------------

    def _policies(self, weights: Weights) -> list[ASNetPolicy]:
        return [
            ASNetPolicy(self.tasks[t], weights, structure=self.structures[t])
            for t in range(self.train_count)
        ]

    def _success(self, weights: Weights) -> float:
        """The share of the training tasks that the policy solves."""
        solved = 0
        for policy in self._policies(weights):
            steps = self.settings.exploration.rollout_steps
            trace = PolicyRunner(policy).trace(policy.task.initial_state, steps)
            solved += trace.outcome == "goal"
        return solved / self.train_count

    def test(self, weights: Weights) -> tuple[TaskResult, ...]:
        """The test on the validation tasks."""
        return tuple(
            tested.test(ASNetPolicy(tested.task, weights, structure=structure))
            for tested, structure in zip(self.validation, self.validation_structures, strict=True)
        )

    @contextmanager
    def _clock(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += perf_counter() - began


def criterion_of(settings: TrainingSettings, validated: bool) -> str:
    """The offline criterion: by test if there is one, else what Algorithm 1 does."""
    if settings.criterion == "auto":
        return "pi-test-val" if validated else "early-train"
    if settings.criterion not in CRITERIA or settings.criterion == "solved-test":
        raise UsageError(
            f"no criterion {settings.criterion!r} for training",
            expected=", ".join(c for c in CRITERIA if c != "solved-test"),
        )
    if settings.criterion.endswith("-val") and not validated:
        raise UsageError(
            f"the criterion {settings.criterion} needs validation tasks, and there are none",
            hint="use --validate, or --select loss-train",
        )
    return settings.criterion


def _require_same(shape: Shape, first: Task, task: Task) -> None:
    found = difference(shape, shape_of(task.lifted))
    if found:
        raise UnsupportedError(
            f"the tasks {first.name} and {task.name} are of different domains: {found}",
            hint="a network is trained for one domain",
        )


def _identities(stored: Any, where: str) -> list[dict[str, str]]:
    try:
        return [{name: str(task[name]) for name in ("name", "digest")} for task in stored]
    except (KeyError, TypeError) as error:
        raise InputFormatError(
            f"the tasks of the training are not as expected: {error}", where=where
        ) from None


def _identity(task: Task) -> dict[str, str]:
    return {"name": task.name, "digest": task.digest}


__all__ = ["Trainer", "TrainingSummary", "criterion_of", "resume", "train"]
