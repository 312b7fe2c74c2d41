"""A shield during training: labels all of whose outcomes are decided to be safe.

If such a label exists, episodes take no other label. If the network chose another one, that one is learnt as if it had
led to an unsafe state: otherwise the network would never learn that it is bad, and would always need the shield. If no
label is decided to be safe, because the state is not safe or the decider reached its limit, the episode continues
without the shield.

The limit is a number of evaluations, not a time, so that the same seed gives the same training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from misstep._core import JaniEngine
from misstep.safety import Budget, Decider, OracleShield, System
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.task import JaniTask, State
from misstep.training.qlearning.environments import Masks

EVALUATIONS = 20_000  # for one state


class Guard:
    """The allowed labels in the states of one engine."""

    def __init__(self, task: JaniTask, engine: JaniEngine) -> None:
        system: System[State, str] = System(jani_transitions(task, engine), "first")
        budget = Budget(evaluations=EVALUATIONS, seconds=None)
        self.engine = engine
        self._shield = OracleShield(Decider(system, budget=budget)).native
        self._labels = len(task.labels)
        self._known: dict[int, NDArray[np.bool_] | None] = {}

    def masks(self, states: Sequence[int], applicable: Masks) -> Masks:
        """The labels that may be taken: the safe ones, or all applicable ones if the shield cannot help."""
        masks: Masks = applicable.copy()
        for row, state in enumerate(states):
            if state not in self._known:
                self._known[state] = self._mask(state)
            own = self._known[state]
            if own is not None:
                masks[row] = own
        return masks

    def _mask(self, state: int) -> NDArray[np.bool_] | None:
        allowed = self._shield.allowed(state)
        if not allowed:
            return None
        mask = np.zeros(self._labels, np.bool_)
        mask[allowed] = True
        return mask


__all__ = ["Guard"]
