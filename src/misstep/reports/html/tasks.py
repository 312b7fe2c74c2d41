"""The data of a task in the page: names of facts, and the effects of operators that some run or plan uses.

With these the browser follows a run by itself, so that a state is stored once and its successors not at all.
"""

from __future__ import annotations

import hashlib
from typing import Any

from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task


class TaskBook:
    """A task, and which of its operators are talked about."""

    def __init__(self, task: AnyTask) -> None:
        self.task = task
        self.used: set[int] = set()

    @property
    def is_model(self) -> bool:
        return isinstance(self.task, JaniTask)

    def size(self) -> dict[str, Any]:
        """How large it is, for the table of tasks."""
        task = self.task
        if isinstance(task, JaniTask):
            return {"variables": len(task.variables), "operators": len(task.labels), "goals": None}
        return {
            "variables": task.variable_count,
            "operators": task.operator_count,
            "goals": len(task.goal),
        }

    def content(self) -> dict[str, Any]:
        task = self.task
        if isinstance(task, JaniTask):
            return {
                "variables": list(task.variable_names),
                "types": [str(variable[1]) for variable in task.variables],
                "locations": {name: list(own) for name, own in task.locations.items()},
                "labels": list(task.labels),
            }
        return {
            "facts": [list(names) for names in task.fact_names],
            "goal": [list(fact) for fact in task.goal],
            "operators": {
                str(op): [task.operator_name(op), task.cost(op), _effects(task, op)]
                for op in sorted(self.used)
            },
        }


def _effects(task: Task, op: int) -> list[Any]:
    return [
        [[list(fact) for fact in conditions], variable, value]
        for conditions, variable, value in task.effects(op)
    ]


def digest_of(task: AnyTask) -> str:
    """A short name of the task's content, to tell whether two campaigns are about the same one."""
    return hashlib.sha256(f"{task.world} {task.digest}".encode()).hexdigest()[:16]


__all__ = ["TaskBook", "digest_of"]
