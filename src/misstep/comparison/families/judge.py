"""Whether a decision is the fault that a family describes: proven, proven not to be, or undecided.

If the goal is out of reach or unsafe states are unavoidable, no decision is a fault and none is good. Such states are
ignored, both here and when a family is learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from misstep.comparison.families.ground import Scene
from misstep.faults.distances import Distances
from misstep.faults.regret import Value
from misstep.safety.decider import Answer, Decider
from misstep.tasks.jani.task import State as Values
from misstep.tasks.task import State, Task

MOST_OTHERS = 20  # operators that are searched behind, one by one


class Finding(Enum):
    """About one decision."""

    SAME = "same"
    OTHER = "other"
    UNDECIDED = "undecided"
    LOST = "lost"  # there was nothing to lose


class Judge:
    """Judges decisions on a planning task by exact distances or by bounds.

    The decision must lose something, and an operator of the better schema must be better than it. With bounds
    l <= h* <= u, a decision that leads from s to s' at cost c loses if c + l(s') > u(s), and does not if
    c + u(s') <= l(s).
    """

    def __init__(self, task: Task, known: Distances) -> None:
        self.task = task
        self.known = known

    def find(self, scene: Scene, operator: int | None, better: str | None) -> Finding:
        state = State(list(scene.values))
        low, high = self.known.lower(state), self.known.upper(state)
        if math.isinf(low):
            return Finding.LOST
        least, most = self._price(state, operator)
        if most <= low:
            return Finding.OTHER
        loses = least > high
        if not loses and self.known.exact:
            return Finding.OTHER
        if better is None:
            return Finding.SAME if loses else Finding.UNDECIDED
        best = self.known.best_operator(state, least)
        if best is not None and scene.ground.operator(best)[0] == better:
            return Finding.SAME  # a cheaper plan begins with it
        others = [op for op in scene.applicable(better) if op != operator]
        if len(others) > MOST_OTHERS and not self.known.exact:
            return Finding.UNDECIDED
        prices = [self._price(state, op) for op in others]
        if any(price[1] < least for price in prices):
            return Finding.SAME  # one that is better, which also proves that something is lost
        if all(price[0] >= most for price in prices):
            return Finding.OTHER
        return Finding.UNDECIDED

    def _price(self, state: State, operator: int | None) -> tuple[Value, Value]:
        """Bounds on the cost of the cheapest plan that begins with the decision."""
        if operator is None:
            return math.inf, math.inf
        after = self.task.apply(state, operator)
        cost = self.task.cost(operator)
        return cost + self.known.lower(after), cost + self.known.upper(after)


def find_in_model(
    decider: Decider[Values, str], id: int, better: Sequence[int] | None, radius: float
) -> Finding:
    """Whether the policy's decision in a safe state may lead to an unsafe one while one of the better labels does
    not."""
    system = decider.system.native

    def safe(state: int) -> Answer:
        return Answer(decider.decide_id(state, radius).answer)

    here = safe(id)
    if here is not Answer.SAFE:
        return Finding.LOST if here is Answer.NOT_SAFE else Finding.UNDECIDED
    own = [safe(outcome) for outcome in system.policy_outcomes(id)]
    if Answer.NOT_SAFE not in own:
        return Finding.UNDECIDED if Answer.UNKNOWN in own else Finding.OTHER
    if better is None:
        return Finding.SAME
    ways = dict(system.actions(id))
    answers = [[safe(outcome) for outcome in ways[label]] for label in better if ways.get(label)]
    if any(all(own is Answer.SAFE for own in other) for other in answers):
        return Finding.SAME
    open_ = any(Answer.NOT_SAFE not in other for other in answers)
    return Finding.UNDECIDED if open_ else Finding.OTHER


__all__ = ["Finding", "Judge", "find_in_model"]
