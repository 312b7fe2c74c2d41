"""Which labels are safe in a state, for learners in an environment.

A label is **safe** in a state if after each of its outcomes some strategy avoids unsafe states for ever, whatever the
model does; that is what the deciders decide (docs/safety.md). A learner that only ever takes safe labels from a safe
state never meets an unsafe one. What a budget leaves open is None, never a guess.
"""

from __future__ import annotations

from misstep._core import JaniEngine
from misstep.safety.decider import Answer, Budget, Decider
from misstep.safety.jani import jani_transitions
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State

# Of one question; a learner asks many.
BUDGET = Budget(evaluations=100_000, seconds=10.0)
_WORTH = {Answer.SAFE: True, Answer.NOT_SAFE: False, Answer.UNKNOWN: None}


class Lookahead:
    """By ids of the engine. Answers are kept, so that asking again costs nothing."""

    def __init__(self, task: JaniTask, engine: JaniEngine, budget: Budget | None = None) -> None:
        system: System[State, str] = System(jani_transitions(task, engine), "first")
        self._engine = engine
        self._decider = Decider(system, budget=budget or BUDGET)

    def is_safe(self, state: int) -> bool | None:
        """Whether some strategy avoids unsafe states from here on."""
        return _WORTH[Answer(self._decider.decide_id(state).answer)]

    def label_is_safe(self, state: int, label: int) -> bool | None:
        """Whether all outcomes of a label that applies are safe; False if it does not apply."""
        outcomes = self._engine.outcomes(state, label)
        if not outcomes:
            return False
        answers = [self.is_safe(outcome) for outcome in outcomes]
        if False in answers:
            return False
        return None if None in answers else True

    def safe_labels(self, state: int) -> list[int]:
        """Those that are known to be safe, in declared order."""
        labels = self._engine.applicable(state)
        return [label for label in labels if self.label_is_safe(state, label)]

    def safe_label(self, state: int) -> int | None:
        """The safe label whose worst outcome is farthest from being unsafe; None if none is known to be safe."""
        labels = self.safe_labels(state)
        return max(labels, key=lambda label: self._worst_distance(state, label), default=None)

    def _worst_distance(self, state: int, label: int) -> float:
        return min(map(self._engine.distance, self._engine.outcomes(state, label)))


__all__ = ["BUDGET", "Lookahead"]
