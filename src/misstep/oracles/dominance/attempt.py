"""Compute a dominance function, or give the reason why there is none, so that a campaign can continue without it."""

from __future__ import annotations

from misstep.errors import MemoryLimitError, UnsupportedError
from misstep.oracles.dominance.function import DominanceFunction
from misstep.tasks.task import Task


def try_dominance(task: Task) -> DominanceFunction | str:
    try:
        function = DominanceFunction.compute(task)
    except (UnsupportedError, MemoryLimitError) as error:
        return error.what
    return function if function.solvable else "the task has no plan"


__all__ = ["try_dominance"]
