"""Count the states of a small JANI task, and the bugs and faults of a policy, over all reachable states.

Unsafe states and goals are never left. `safe` counts the states from which some strategy avoids unsafe states for ever,
with any number of deviations from the policy (`inf`) or with at most 0, 1 or 2 on each run; unsafe states are not safe,
goals and dead ends are. A fault is a safe state whose decision has an outcome that is not safe. A bug is a safe state
from which the policy can get into an unsafe one. Where the policy stops (`stop_safe`) its run ends safely, but a
strategy has to act there, which is a deviation: such a state is not a bug, and need not be safe with 0 deviations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import InputFormatError, MemoryLimitError, TimeLimitError
from misstep.policies.labels.policy import LabelPolicy
from misstep.ranges import bytes_of
from misstep.runs.again import SAMPLE, require_declared, sampled
from misstep.safety.again import require_function
from misstep.safety.jani import jani_transitions
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask

LARGEST = 2
UNSAFE, GOAL, DEAD_END = 1, 2, 3  # kinds of states of a space


@dataclass(frozen=True)
class SafetyCensus:
    initial: int
    states: int
    outcomes: int
    unsafe: int
    goal: int
    dead_ends: int
    safe: dict[str, int]  # by radius: inf, 0, 1, 2
    safe_initial: int
    faults: int
    bugs: int

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def safety_census(
    task: JaniTask,
    handle: LabelPolicy,
    *,
    max_states: int | None = 10_000_000,
    time_limit: float | None = None,
    memory_limit_mb: int | None = None,
    progress: Callable[..., None] | None = None,
) -> SafetyCensus:
    """Explore everything and count. The policy was loaded for the task, on the task's own engine."""
    began = time.monotonic()
    space = task.space(
        max_states=max_states,
        time_limit=time_limit,
        memory_limit_mb=memory_limit_mb,
        progress=progress,
    )
    if space.root_count == 0:
        raise InputFormatError(
            "no state satisfies the start condition",
            where=task.name,
            expected="at least one start state",
        )
    require_declared(handle.spec, handle.deterministic)
    transitions = jani_transitions(task)
    system = System(transitions, handle.policy, inapplicable=handle.inapplicable)
    truth = _core.jani_ground_truth(
        space,
        transitions,
        system.native,
        LARGEST,
        seconds=None if time_limit is None else max(0.0, time_limit - time.monotonic() + began),
        bytes=bytes_of(memory_limit_mb),
        progress=progress,
    )
    if truth.limit == "time":
        raise TimeLimitError(
            "the policy was not asked about all states",
            where=task.name,
            hint=f"the limit was {time_limit} seconds",
        )
    if truth.limit != "none":
        raise MemoryLimitError(
            "the policy was not asked about all states",
            where=task.name,
            hint=f"the limit was {memory_limit_mb} MB",
        )
    left = None if time_limit is None else max(0.0, time_limit - time.monotonic() + began)
    _require_function(task, handle, system, space, left)
    kinds = space.kinds
    lost = truth.lost != 0
    safe = {str(r): _count(truth.deviations <= r) for r in range(LARGEST + 1)}
    return SafetyCensus(
        initial=space.root_count,
        states=len(space),
        outcomes=space.outcome_count,
        unsafe=_count(kinds == UNSAFE),
        goal=_count(kinds == GOAL),
        dead_ends=_count(kinds == DEAD_END),
        safe={str(math.inf): _count(~lost), **safe},
        safe_initial=_count(~lost[: space.root_count]),
        faults=_count(truth.faults != 0),
        bugs=_count(truth.bugs != 0),
    )


def _require_function(
    task: JaniTask,
    handle: LabelPolicy,
    system: System[Any, Any],
    space: _core.JaniSpace,
    seconds: float | None,
) -> None:
    """Ask the policy again about a sample of its decisions."""
    if handle.native:
        return
    asked = np.flatnonzero(space.kinds == 0)
    said = []
    for place in asked[sampled(len(asked), SAMPLE, 0)].tolist():
        state = space.state(place)
        label = system.native.decision(system.id(state))  # it remembers what the policy said
        said.append((state, None if label is None else system.label(label)))
    require_function(task, handle, said, seconds=seconds)


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))


__all__ = ["SafetyCensus", "safety_census"]
