"""The function behind the command `dominance`."""

from __future__ import annotations

import dataclasses
from typing import Any

from misstep.errors import UnsupportedError
from misstep.oracles.dominance.compute import Progress
from misstep.oracles.dominance.function import DominanceFunction
from misstep.oracles.dominance.settings import DominanceSettings
from misstep.tasks.keywords import check_names, make_settings
from misstep.tasks.load import load_task
from misstep.tasks.task import Task


def dominance(task: Any, *, progress: Progress | None = None, **settings: Any) -> DominanceFunction:
    """Compute lower bounds on how much farther from the goal a state is than another: D(s, t) <= h*(s) - h*(t).

    `task` is anything that `load_task` takes; `value(s, t)` of the result is D(s, t), or None if nothing is known.
    Settings are those of `DominanceSettings`: `atomic` and `merged` choose the factors, `limit_states` and
    `limit_transitions` bound them, `reduce_labels` and `shrink` simplify them, `prune_unreachable`, `steps`, `seconds`
    and `threads` say how the work is done.
    """
    loaded = load_task(task)
    if not isinstance(loaded, Task):
        raise UnsupportedError(
            "states of a model are not compared by dominance",
            where=loaded.name,
            expected="a planning task",
            hint="misstep.census counts the safe states of a small model",
        )
    known = [own.name for own in dataclasses.fields(DominanceSettings)]
    check_names(settings, known, "dominance functions")
    return DominanceFunction.compute(loaded, make_settings(DominanceSettings, settings), progress)


__all__ = ["dominance"]
