"""The common part of all steps that train: one training in its own folder, continued after a kill.

A training is a function of its tasks and settings, however often it is interrupted. With a limit in seconds it ends
after the epoch that exceeds it: then the models are still determined by tasks and settings, but not their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from misstep.errors import UnsupportedError
from misstep.experiments.journal import add_to_journal, read_journal
from misstep.experiments.kinds import Json
from misstep.experiments.kinds.learning import Opened
from misstep.experiments.schema import Key, choice, flag, number, text, whole
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import structure_of
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from misstep.training.api import asnet_settings, check_device
from misstep.training.folder import TrainingFolder
from misstep.training.settings import RECIPES, TrainingSettings
from misstep.training.testing import TaskResult, TestedTask, TestSettings
from misstep.training.tree import Node

POOL_SEEDS = {"validation": 5, "test": 11}  # the same pools for all policies and repetitions
LEARNING_KEYS: dict[str, Key] = {
    "recipe": choice(*RECIPES, default="own", by_scale=True),
    "inits": whole(4),
    "start": whole(5),
    "steps": whole(700),
    "teacher_expansions": whole(100_000),
    "exhaustive_states": whole(20_000),
    "all_states": flag(False),
    "validation_pool": whole(50),
    "validation_oracle": text("bmo(100)"),
    "validation_budget": whole(200_000),
    "test_pool": whole(100),
    "test_oracle": text("bmo(100)+aras/ehc", by_scale=True),
    "test_budget": whole(1_000_000),
    "max_steps": whole(1_000_000),
    "seconds": number(None),
}


class _EnoughError(Exception):
    """The time of a training is over; all models are in its folder."""


def learning_of(step: Json, row: Json) -> Json:
    """The settings of the training, from the step and the row."""
    own = {key: step[key] for key in LEARNING_KEYS if key != "seconds"}
    return {**own, "layers": row["layers"]}


def settings_of(payload: Json, configuration: str, epochs: int) -> TrainingSettings:
    own = payload["learning"]
    chosen = asnet_settings(
        {
            "recipe": own["recipe"],
            "config": configuration,
            "epochs": epochs,
            "inits": own["inits"],
            "start": own["start"],
            "steps": own["steps"],
            "teacher_expansions": own["teacher_expansions"],
            "exhaustive_states": own["exhaustive_states"],
            "all_states": own["all_states"],
            "layers": own["layers"],
            "unit_costs": True,
            "seed": payload["seed"],
        }
    )
    test = TestSettings(
        pool_size=own["validation_pool"],
        seed=POOL_SEEDS["validation"],
        oracle=own["validation_oracle"],
        budget=own["validation_budget"],
        max_steps=own["max_steps"],
    )
    return TrainingSettings(**{**vars(chosen), "test": test})


def train_in(
    place: Path,
    tasks: Opened,
    validation: Opened,
    settings: TrainingSettings,
    seconds: float | None,
) -> None:
    """Train in the folder, from where it was left."""
    for kind, own in (("training", tasks), ("validation", validation)):
        if not own.tasks:
            reasons = "; ".join(f"{task}: {why}" for task, why in own.left_out[:3])
            raise UnsupportedError(f"there is no {kind} task{': ' * bool(reasons)}{reasons}")
    check_device("cpu")
    from misstep.training import trainer

    spent = 0.0
    if (place / "log.jsonl").exists():
        with TrainingFolder.open_folder(place) as kept:
            spent = sum(sum(node.seconds.values()) for node in kept.tree)
            if seconds is not None and spent >= seconds:
                return

    def watch(node: Node) -> None:
        nonlocal spent
        spent += sum(node.seconds.values())
        if seconds is not None and spent >= seconds:
            raise _EnoughError

    try:
        if (place / "settings.json").exists():
            trainer.resume(tasks.tasks, validation.tasks, place, asked=settings, report=watch)
        else:
            trainer.train(tasks.tasks, validation.tasks, place, settings, report=watch)
    except _EnoughError:
        return


class HeldOut:
    """Tests models of a training on tasks that it has not seen; every result is stored at once."""

    def __init__(self, kept: TrainingFolder, tasks: Sequence[Task], learning: Json, log: Path):
        self.kept = kept
        self.tasks = tasks
        self.max_steps = learning["max_steps"]
        self._settings = TestSettings(
            pool_size=learning["test_pool"],
            seed=POOL_SEEDS["test"],
            oracle=learning["test_oracle"],
            budget=learning["test_budget"],
            max_steps=learning["max_steps"],
        )
        self._structures = [structure_of(task, shape_of(task.lifted)) for task in tasks]
        self._tested: dict[int, TestedTask] = {}
        self._log = log
        self._known = read_journal(log)

    def solves(self, model: int) -> list[bool]:
        """Which initial states the model solves."""
        key = f"solves {model}"
        if key not in self._known:
            weights = self.kept.read_model(model)
            found = []
            for task, structure in zip(self.tasks, self._structures, strict=True):
                runner = PolicyRunner(ASNetPolicy(task, weights, structure=structure))
                trace = runner.trace(task.initial_state, self.max_steps)
                found.append(trace.outcome == "goal")
            self._keep(key, found)
        return list(self._known[key])

    def test(self, model: int, place: int) -> TaskResult:
        """The pi-test of a model on one task."""
        key = f"test {model} {place}"
        if key not in self._known:
            tested = self._tested.setdefault(place, TestedTask(self.tasks[place], self._settings))
            weights = self.kept.read_model(model)
            structure = self._structures[place]
            policy = ASNetPolicy(self.tasks[place], weights, structure=structure)
            self._keep(key, tested.test(policy).as_dict())
        return TaskResult(**self._known[key])

    def _keep(self, key: str, value: Any) -> None:
        self._known[key] = value
        add_to_journal(self._log, key, value)


__all__ = ["LEARNING_KEYS", "HeldOut", "learning_of", "settings_of", "train_in"]
