"""The oracle `perfect`: whether a state has a plan at all, in the domains where that can be decided."""

from __future__ import annotations

import math
from collections.abc import Callable
from weakref import WeakKeyDictionary

from misstep.errors import UnsupportedError
from misstep.oracles.oracle import Question, Report, Source
from misstep.oracles.solvability import floortile, matching_blocksworld, spanner
from misstep.oracles.solvability.recognition import domain_of
from misstep.oracles.solvability.situation import Reader, Situation, Step
from misstep.tasks.task import Task

Decider = Callable[[Situation], list[Step] | None]
DECIDERS: dict[str, Decider] = {
    "floortile": floortile.decide,
    "matching blocksworld": matching_blocksworld.decide,
    "spanner": spanner.decide,
}
_READERS: WeakKeyDictionary[Task, tuple[Reader, Decider]] = WeakKeyDictionary()


class Perfect(Source):
    """Decides solvability for Matching Blocksworld, Floortile and Spanner, and gives a plan where there is one.

    The plan is any plan, not a cheap one: the oracle is perfect about reaching the goal, and says little about cost.
    """

    name = "perfect"

    def __init__(self) -> None:
        super().__init__()

    def search(self, question: Question) -> Report:
        task = question.bench.task
        reader, decide = _reader(task)
        steps = decide(reader.situation(question.state))
        store = question.bench.bounds
        if steps is None:
            store.raise_lower_bound(question.state, math.inf)
        else:
            plan = reader.operators(question.state, steps)
            store.add_plan(question.state, plan, sum(task.cost(operator) for operator in plan))
        return Report()


def _reader(task: Task) -> tuple[Reader, Decider]:
    if task not in _READERS:
        _READERS[task] = (Reader(task), decider_of(task))
    return _READERS[task]


def decider_of(task: Task) -> Decider:
    """The decider of the task's domain, which is told by what its actions do."""
    domain = domain_of(task.lifted)
    if domain is not None:
        return DECIDERS[domain]
    raise UnsupportedError(
        "it is not known how to decide whether a state of this domain has a plan",
        where=task.name,
        expected="one of " + ", ".join(sorted(DECIDERS)) + ", with the usual actions",
    )


__all__ = ["DECIDERS", "Perfect", "decider_of"]
