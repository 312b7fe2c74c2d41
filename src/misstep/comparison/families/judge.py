"""Whether a decision is the fault that a family describes: proven, proven not to be, or undecided."""

from __future__ import annotations

import math

from misstep.comparison.families.ground import Scene
from misstep.faults.distances import Distances
from misstep.faults.regret import Value
from misstep.safety.decider import Answer, Decider
from misstep.tasks.jani.task import State as Values
from misstep.tasks.task import State, Task


class Judge:
    """Of decisions on a planning task, by exact distances or by bounds.

    The decision must lose something, and an operator of the better schema must be better than it. With bounds
    l <= h* <= u, a decision that leads from s to s' at cost c loses if c + l(s') > u(s), and does not if
    c + u(s') <= l(s). Where a plan does not exist, nothing can be lost.
    """

    def __init__(self, task: Task, known: Distances) -> None:
        self.task = task
        self.known = known

    def same_fault(self, scene: Scene, operator: int | None, better: str | None) -> bool | None:
        state = State(list(scene.values))
        low, high = self.known.lower(state), self.known.upper(state)
        if math.isinf(low):
            return False
        least, most = self._price(state, operator)
        if most <= low:
            return False
        loses = least > high
        if better is None:
            return True if loses else None
        alternatives = scene.applicable(better)
        if not alternatives:
            return False
        if not loses and self.known.exact:
            return False
        prices = [self._price(state, op) for op in alternatives if op != operator]
        if any(price[1] < least for price in prices):
            return True  # one that is better, which also proves that something is lost
        if all(price[0] >= most for price in prices):
            return False
        return None

    def _price(self, state: State, operator: int | None) -> tuple[Value, Value]:
        """Between which numbers the cheapest plan lies that begins with the decision."""
        if operator is None:
            return math.inf, math.inf
        after = self.task.apply(state, operator)
        cost = self.task.cost(operator)
        return cost + self.known.lower(after), cost + self.known.upper(after)


def same_model_fault(
    decider: Decider[Values, str], id: int, better: int | None, radius: float
) -> bool | None:
    """Whether the policy's decision in a safe state may lead out of safety while the better label does not."""
    system = decider.system.native

    def safe(state: int) -> Answer:
        return Answer(decider.decide_id(state, radius).answer)

    here = safe(id)
    if here is not Answer.SAFE:
        return False if here is Answer.NOT_SAFE else None
    own = [safe(outcome) for outcome in system.policy_outcomes(id)]
    if Answer.NOT_SAFE not in own:
        return None if Answer.UNKNOWN in own else False
    if better is None:
        return True
    ways = dict(system.actions(id))
    if better not in ways:
        return False
    other = [safe(outcome) for outcome in ways[better]]
    if Answer.NOT_SAFE in other:
        return False
    return None if Answer.UNKNOWN in other else True


__all__ = ["Judge", "same_model_fault"]
