"""Does it help to learn from bugs? Three trainings on the same small tasks, with the same seed and number of epochs:

    plain    without anything more
    random   with labelled states from other tasks, drawn at random: more data, but not of faults
    faults   with as many samples from the same tasks that are proven faults of the plain policy

The policies are compared on the pools of held-out tasks, pair by pair over tasks and seeds. The result is what it is.

    python -m benchmarks.from_bugs [--domain blocksworld] [--seeds 3] [--epochs 8]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch

import misstep
from benchmarks.common import remark, report
from benchmarks.models import read_tree, results_of
from benchmarks.train_shipped import SUBJECTS, make_tasks
from misstep._core import CounterRandom
from misstep.tasks.task import Task
from misstep.training.bugs import TaskFaults, read_faults
from misstep.training.selection import rank
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.teachers import make_teacher
from misstep.training.testing import TaskResult, TestSettings
from misstep.training.trainer import TrainingSummary, train

ENUMERATED = 100_000  # tasks up to this size are enumerated by the teacher of random samples
ARMS = ("faults", "random", "plain")


def settings_of(seed: int, epochs: int, steps: int) -> TrainingSettings:
    # One line, and its last model: no selection, which could hide what the data does.
    return TrainingSettings(
        config="line",
        epochs=epochs,
        n_init=1,
        seed=seed,
        criterion="early-train",
        learner=LearnerSettings(steps=steps),
    )


def find_faults(
    summary: TrainingSummary, tasks: list[Task], pool: int, seed: int
) -> list[TaskFaults]:
    found = misstep.test(tasks, f"asnet:{summary.best}", preset="p24", pool=pool, seed=seed)
    return [own for own in read_faults(found) if own.samples]


def random_samples(faults: list[TaskFaults], seed: int) -> list[TaskFaults]:
    """As many samples from each task, at random walks' ends, with the labels of a teacher."""
    result = []
    for number, own in enumerate(faults):
        teacher = make_teacher("auto", own.task, max_states=ENUMERATED)
        random = CounterRandom(seed, number)
        found: dict[Any, Any] = {}
        for _ in range(100 * len(own.samples)):
            if len(found) >= len(own.samples):
                break
            state = own.task.initial_state
            for _ in range(random.below(30)):
                operators = own.task.applicable(state)
                if operators:
                    state = own.task.apply(state, operators[random.below(len(operators))])
            lesson = teacher.lesson(state)
            if lesson and len(own.task.applicable(state)) > 1:
                found.setdefault(state, lesson[0])
        result.append(TaskFaults(own.task, list(found.values())))
    return result


def one_seed(domain: str, seed: int, arguments: Any, folder: Path) -> dict[str, list[TaskResult]]:
    subject = SUBJECTS[domain]
    tasks = make_tasks(domain, subject.train, folder / "tasks")
    # Not the largest: the truth about these is known, so every fault on their runs is found.
    bug_tasks = make_tasks(domain, subject.validate[: arguments.bug_tasks], folder / "tasks")
    held_out = make_tasks(domain, subject.test, folder / "tasks")
    settings = settings_of(seed, arguments.epochs, arguments.steps)
    plain = train(tasks, [], folder / f"plain-{seed}", settings)
    faults = find_faults(plain, bug_tasks, arguments.pool, seed)
    extra = {"plain": [], "faults": faults, "random": random_samples(faults, seed)}
    remark(f"seed {seed}: {sum(len(own.samples) for own in faults)} faults")
    found = {}
    for arm in ARMS:
        place = folder / f"{arm}-{seed}"
        summary = plain if arm == "plain" else train(tasks, [], place, settings, faults=extra[arm])
        test = TestSettings(pool_size=arguments.pool, seed=99)
        results = results_of(place, read_tree(place), held_out, test, [summary.chosen])
        found[arm] = results[summary.chosen]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", default="blocksworld", choices=SUBJECTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--bug-tasks", type=int, default=4)
    parser.add_argument("--pool", type=int, default=30)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pooled: dict[str, list[TaskResult]] = {arm: [] for arm in ARMS}
    with tempfile.TemporaryDirectory(prefix="misstep-bugs-") as folder:
        for seed in range(1, arguments.seeds + 1):
            for arm, results in one_seed(arguments.domain, seed, arguments, Path(folder)).items():
                pooled[arm] += results
    selection = rank(ARMS, [pooled[arm] for arm in ARMS], 0).as_dict()
    for row in selection["ranking"]:
        del row["tasks"]
        remark(
            f"{row['policy']:8} coverage {row['coverage']} solved {row['solved']} bugs {row['bugs']}"
        )
    report(
        "from_bugs",
        {
            "domain": arguments.domain,
            "seeds": arguments.seeds,
            "epochs": arguments.epochs,
            **selection,
        },
    )


if __name__ == "__main__":
    main()
