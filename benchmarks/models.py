"""All models of a training on held-out tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from misstep.policies.asnet.model_file import read_model
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import structure_of
from misstep.tasks.task import Task
from misstep.training.testing import TaskResult, TestedTask, TestSettings
from misstep.training.tree import Node, PolicyTree


def read_tree(folder: Path) -> PolicyTree:
    log = (folder / "log.jsonl").read_text().splitlines()
    return PolicyTree([Node.from_dict(json.loads(line), str(folder)) for line in log])


def results_of(
    folder: Path,
    tree: PolicyTree,
    tasks: list[Task],
    settings: TestSettings,
    models: Iterable[int] | None = None,
) -> dict[int, list[TaskResult]]:
    """The results of the models of a training on each task."""
    shape = shape_of(tasks[0].lifted)
    tested = [TestedTask(task, settings) for task in tasks]
    structures = [structure_of(task, shape) for task in tasks]
    results = {}
    for id in range(len(tree)) if models is None else sorted(set(models)):
        weights = read_model(folder / "models" / f"{id:04d}.safetensors")[0]
        results[id] = [
            one.test(ASNetPolicy(one.task, weights, structure=structure))
            for one, structure in zip(tested, structures, strict=True)
        ]
    return results


def common_states(results: dict[int, list[Any]], models: list[int]) -> dict[str, Any]:
    tasks = range(len(results[models[0]]))
    common = [t for t in tasks if all(results[m][t].initial_solved for m in models)]
    return {
        str(m): {
            "tasks": len(common),
            "processed": sum(results[m][t].processed for t in common),
            "solved": sum(results[m][t].solved for t in common),
            "bugs": sum(results[m][t].bugs for t in common),
        }
        for m in sorted(set(models))
    }
