"""Learning from bugs: what a policy learns from states that were selected in different ways.

A unit is a domain and a seed. A network is trained on small tasks until it solves a part of larger ones, and no
further. From there each arm continues alone, with the same number of minibatches: in each round it gets the same number
of new states of the larger tasks, selected by a source (see `training/feedback.py`), and learns from them and from the
small tasks. Each round ends with a test on other tasks of the same sizes, with pools that do not depend on the arm. The
speed of learning says more than the end, where all arms may have learnt everything.

An arm is written as its source and its differences from the defaults: `faults, ratio 0.25`. Besides the sources there
are

    none     no states are added: the same minibatches, on the small tasks alone
    again    the same with other random numbers: how much two trainings differ that differ in nothing else
    control  states on the policy's runs on the test tasks themselves: if any arm can gain, this one must
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from misstep.errors import UnsupportedError
from misstep.experiments.expressions import Value
from misstep.experiments.journal import add_to_journal, read_journal
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.kinds.arms import NONE, Arm, read_arm
from misstep.experiments.kinds.learning import open_tasks, pinned, spread
from misstep.experiments.kinds.paired import compare_arms
from misstep.experiments.schema import Key, number, text, texts, whole
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import Structure, structure_of
from misstep.policies.asnet.weights import HIDDEN, LAYERS, Weights, random_weights
from misstep.runs.runner import PolicyRunner
from misstep.tasks.census import small_task
from misstep.tasks.task import Task
from misstep.training.api import check_device
from misstep.training.explore import Exploration, ask, explore
from misstep.training.feedback import FeedbackTask, collect
from misstep.training.samples import Samples
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.teachers import ExhaustiveTeacher, Teacher, make_teacher
from misstep.training.testing import TestedTask, TestSettings

if TYPE_CHECKING:
    from misstep.training.learner import Model

WORLD = "learning"
VERSION = 1
POOL_SEED = 11  # of the test: the same pools for all
START = "start"  # the network from which all arms continue
REFERENCES = (NONE, "random", "on-policy", "faults")  # that all arms are compared with
KEYS: dict[str, Key] = {
    "arms": texts(),
    "together": whole(100),  # arms of a unit, which share the training of the start
    "train": whole(),
    "train_states": whole(2_000),  # a training task with no more gives all its states at once
    "bug_tasks": whole(),
    "test": whole(),
    "most_operators": whole(1_000_000),
    "start_epochs": whole(),
    "start_steps": whole(),
    "start_solved": number(0.4),
    "rounds": whole(),
    "epochs": whole(),
    "steps": whole(),
    "states": whole(),
    "exhaustive_states": whole(200_000),
    "teacher_expansions": whole(5_000),
    "pool": whole(),
    "oracle": text("bmo(100)"),
    "budget": whole(50_000),
    "test_pool": whole(),
    "test_oracle": text("bmo(100)+aras/ehc"),
    "test_budget": whole(200_000),
    "max_steps": whole(1_000),
}
COLUMNS = (
    *(
        "arm",
        "round",
        "last",
        "task",
        "solved",
        "states",
        "solved_states",
        "bugs",
        "cost",
        "best",
        "added",
    ),
    *("start_epochs", "compared", "measure", "against", "pairs", "difference", "low", "high"),
    *("p", "corrected"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    found = row["subject"]
    arms = list(dict.fromkeys(step["arms"]))
    for own in arms:
        read_arm(own, step["states"])
    tasks: dict[str, list[Json]] = {"train": [found], "bug_tasks": [], "test": []}
    if MISSING not in found:
        tasks = {
            "train": found["training"][: step["train"]],
            # Alternately, so that both have all sizes and no task in common.
            "bug_tasks": spread(found["easy"][1::2], step["bug_tasks"]),
            "test": spread(found["easy"][::2], step["test"]),
        }
        tasks = {name: [pinned(one) for one in own] for name, own in tasks.items()}
    left_out = ("name", "kind", "rows", "arms", "together", *tasks)
    about = {name: value for name, value in step.items() if name not in left_out}
    size = step["together"]
    for begin in range(0, len(arms), size):
        own = arms[begin : begin + size]
        payload = {**about, **tasks, "arms": own, "first": begin == 0, "seed": seed}
        yield Part(f"{own[0]} to {own[-1]}", payload, len(own) + 1)


def run(payload: Json) -> Json:
    raise UnsupportedError("a training needs a folder", where=", ".join(payload["arms"]))


def run_in(payload: Json, place: Path) -> Json:
    check_device("cpu")
    log = place / "arms.jsonl"
    done = read_journal(log)
    if all(arm in done for arm in payload["arms"]):
        return {"start": done[START], "arms": {arm: done[arm] for arm in payload["arms"]}}
    study = Study(payload)
    begun = study.begin()
    if START not in done:
        tests = [study.test(begun.model.weights)]
        done[START] = {"rounds": tests, "epochs": begun.epochs, "added": 0}
        add_to_journal(log, START, done[START])
    for arm in payload["arms"]:
        if arm not in done:
            done[arm] = study.go_on(begun, read_arm(arm, payload["states"]))
            add_to_journal(log, arm, done[arm])
    return {"start": done[START], "arms": {arm: done[arm] for arm in payload["arms"]}}


@dataclass
class Begun:
    """The partly trained network, and the data that it has learnt from."""

    model: Model
    samples: Samples
    epochs: int


@dataclass
class _Group:
    """Tasks, prepared for running a network on them."""

    tasks: list[Task]
    structures: list[Structure] = field(init=False)

    def __post_init__(self) -> None:
        self.structures = [structure_of(task, shape_of(task.lifted)) for task in self.tasks]

    def policies(self, weights: Weights) -> list[ASNetPolicy]:
        return [
            ASNetPolicy(task, weights, structure=structure)
            for task, structure in zip(self.tasks, self.structures, strict=True)
        ]


class Study:
    """The tasks of a unit, and what is done on them."""

    def __init__(self, payload: Json) -> None:
        self.given = payload
        self.seeds = TrainingSettings(seed=payload["seed"])
        self.train, self.bugs, self.tests = (
            _Group(_open(payload, name)) for name in ("train", "bug_tasks", "test")
        )
        self.teachers = [self._teacher(task) for task in self.train.tasks]
        test = TestSettings(
            pool_size=payload["test_pool"],
            seed=POOL_SEED,
            oracle=payload["test_oracle"],
            budget=payload["test_budget"],
            max_steps=payload["max_steps"],
        )
        self.tested = [TestedTask(task, test) for task in self.tests.tasks]
        self._sources: dict[bool, list[FeedbackTask]] = {}

    def _teacher(self, task: Task) -> Teacher:
        own = self.given
        limits = {"max_states": own["exhaustive_states"], "expansions": own["teacher_expansions"]}
        return make_teacher("auto", task, **limits)

    def sources(self, arm: Arm) -> tuple[_Group, list[FeedbackTask]]:
        """The tasks from which an arm takes states: only the control uses the test tasks."""
        group = self.tests if arm.control else self.bugs
        if arm.control not in self._sources:
            own = self.given
            test = TestSettings(
                pool_size=own["pool"],
                oracle=own["oracle"],
                budget=own["budget"],
                max_steps=own["max_steps"],
            )
            self._sources[arm.control] = [
                FeedbackTask(task, self._teacher(task), test) for task in group.tasks
            ]
        return group, self._sources[arm.control]

    # -- training ---------------------------------------------------------------------------------

    def begin(self) -> Begun:
        """Train on the small tasks until a part of the larger ones is solved."""
        from misstep.training.learner import Learner, Model

        own = self.given
        samples = Samples(self.train.tasks)
        for t, teacher in enumerate(self.teachers):
            ask(teacher, samples, t, self.train.tasks[t].initial_state)
            if isinstance(teacher, ExhaustiveTeacher) and len(teacher.space) <= own["train_states"]:
                samples.add_all(t, teacher.all_states())
        seed = self.seeds.derived_seed("weights", 0)
        shape = shape_of(self.train.tasks[0].lifted)
        model = Model(random_weights(shape, seed=seed, hidden=HIDDEN, layers=LAYERS))
        settings = LearnerSettings(steps=own["start_steps"])
        learner = Learner(self.train.tasks, self.train.structures, settings)
        for epoch in range(1, own["start_epochs"] + 1):
            model, _ = learner.epoch(model, samples, self.seeds.derived_seed("start", epoch))
            if self._solved(model.weights) >= own["start_solved"]:
                break
        return Begun(model, samples, epoch)

    def _solved(self, weights: Weights) -> float:
        policies = self.bugs.policies(weights)
        most = self.given["max_steps"]
        outcomes = [PolicyRunner(p).trace(p.task.initial_state, most).outcome for p in policies]
        return outcomes.count("goal") / len(outcomes)

    def go_on(self, begun: Begun, arm: Arm) -> Json:
        """One arm from the common start on: the test of its policy after each round, and how many states it got."""
        from misstep.training.learner import Learner

        own = self.given
        group, sources = self.sources(arm)
        fed = 0 if arm.feedback is None else len(group.tasks)
        tasks = self.train.tasks + group.tasks[:fed]
        structures = self.train.structures + group.structures[:fed]
        samples = Samples(tasks)
        for t in range(len(self.train.tasks)):
            samples.add_all(t, begun.samples[t].samples)
        ratio = None if arm.feedback is None else arm.feedback.ratio
        settings = LearnerSettings(steps=own["steps"])
        learner = Learner(tasks, structures, settings, fed=fed, ratio=ratio)
        model, added, tests = begun.model, 0, []
        for round in range(own["rounds"]):
            if arm.feedback is not None and (round == 0 or not arm.once):
                policies = group.policies(model.weights)
                seed = self.seeds.derived_seed("feedback", round)
                feedback = arm.feedback if not arm.once else arm.all_at_once(own["rounds"])
                first = len(self.train.tasks)
                added += collect(sources, policies, samples, first, feedback, seed)
            for epoch in range(own["epochs"]):
                seed = self.seeds.derived_seed(arm.chance, round, epoch)
                policies = self.train.policies(model.weights)
                explore(policies, self.teachers, samples, Exploration(own["max_steps"]), seed)
                model, _ = learner.epoch(model, samples, seed)
            tests.append(self.test(model.weights))
        return {"rounds": tests, "added": added}

    # -- the test ---------------------------------------------------------------------------------

    def test(self, weights: Weights) -> list[list[int]]:
        """The results of a network on each test task."""
        return [
            self._test(tested, policy)
            for tested, policy in zip(self.tested, self.tests.policies(weights), strict=True)
        ]

    def _test(self, tested: TestedTask, policy: ASNetPolicy) -> list[int]:
        """Solved, states, solved ones, bugs; what runs from solved states cost, and would cost at best."""
        result = tested.test(policy, abstain=False)
        runner, cost, best = PolicyRunner(policy), 0, 0
        truth = small_task(tested.task)
        for state in tested.pool.states if truth is not None else ():
            trace = runner.trace(state, self.given["max_steps"])
            least = truth.distance(state) if truth is not None else None
            if trace.outcome == "goal" and least is not None and math.isfinite(least):
                cost += trace.cost
                best += int(least)
        own = result
        return [int(own.initial_solved), own.processed, own.solved, own.bugs, cost, best]


def _open(payload: Json, name: str) -> list[Task]:
    opened = open_tasks(payload[name], payload["most_operators"])
    if not opened.tasks:
        raise UnsupportedError(f"there is no task for {name}", where=str(opened.left_out)[:300])
    return opened.tasks


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    # All units of a row and a seed have the same start; only one of them reports it.
    arms = {START: result["start"]} if payload["first"] else {}
    for arm, own in {**arms, **result["arms"]}.items():
        for round, tests in enumerate(own["rounds"], start=1):
            for place, test in enumerate(tests):
                solved, *numbers = test
                names = ("states", "solved_states", "bugs", "cost", "best")
                yield {
                    "arm": arm,
                    "round": round,
                    "last": round == len(own["rounds"]),
                    "task": place,
                    "solved": bool(solved),
                    **dict(zip(names, numbers, strict=True)),
                    "added": own["added"],
                    "start_epochs": result["start"]["epochs"],
                    "compared": False,
                }


def joined(observations: list[dict[str, Value]]) -> None:
    """Compare every arm with some, pair by pair."""
    observations += compare_arms(observations, REFERENCES, left_out=(START,))


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None


__all__ = ["START", "Study", "joined", "observations", "run", "run_in", "units"]
