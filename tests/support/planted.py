"""Policies that are perfect but for one planted kind of wrong decision, and the whole truth about them.

The truth is that of the whole state space, so a planted decision is known to lose, and every other one not to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from misstep._core import StateSpace
from misstep.policies.function import StateView
from misstep.tasks.domains import generate
from misstep.tasks.jani.task import State as Values
from misstep.tasks.load import load_task
from misstep.tasks.models import generate_model
from misstep.tasks.task import State, Task

PERFECT = object()
"""What a plant answers where it leaves the decision to the perfect policy."""


@dataclass(frozen=True)
class PlanningTruth:
    """A small task with its cheapest plans."""

    task: Task

    @cached_property
    def space(self) -> StateSpace:
        space = StateSpace(self.task, [self.task.initial_state])
        assert space.complete
        return space

    def distance(self, state: State) -> float:
        return float(self.space.h_star[self.space.find(state)])

    def depth(self, state: State) -> int:
        """The number of steps on a shortest walk from the initial state."""
        return self._depths[self.space.find(state)]

    @cached_property
    def _depths(self) -> list[int]:
        depths = [0]  # states are numbered breadth first
        for parent in self.space.parents[1:].tolist():
            depths.append(depths[parent] + 1)
        return depths

    def best(self, view: StateView) -> str | None:
        """The name of a first operator of a cheapest plan."""
        operator = int(self.space.best_operator[self.space.find(view.state)])
        return None if operator < 0 else self.task.operator_name(operator)

    def loses(self, state: State, choice: object) -> bool:
        """Whether a decision gives something away. Whatever is no applicable operator gives all away."""
        before = self.distance(state)
        if before in (0, float("inf")):
            return False
        names = {self.task.operator_name(op): op for op in self.task.applicable(state)}
        if not isinstance(choice, str) or choice not in names:
            return True
        operator = names[choice]
        after = self.distance(self.task.apply(state, operator))
        return self.task.cost(operator) + after > before


Wrong = Callable[[StateView, PlanningTruth], Any]


@dataclass(frozen=True)
class Plant:
    """A fault planted into the perfect policy of a task."""

    name: str
    domain: str
    sizes: dict[str, int]
    wrong: Wrong  # the decision in a state, or PERFECT
    pool: int = 20

    def truth(self) -> PlanningTruth:
        return PlanningTruth(load_task(generate(self.domain, seed=1, **self.sizes)))

    def policy(self, truth: PlanningTruth) -> Callable[[StateView], Any]:
        def planted(view: StateView) -> Any:
            choice = self.wrong(view, truth)
            return truth.best(view) if choice is PERFECT else choice

        return planted

    def faults(self, truth: PlanningTruth) -> set[tuple[int, ...]]:
        """The states where the planted decision loses; it is an error if another one does."""
        found = set()
        for number in range(len(truth.space)):
            view = StateView(truth.space.state(number), truth.task)
            try:
                choice = self.wrong(view, truth)
            except ZeroDivisionError:  # the crash that is planted
                choice = None
            if choice is PERFECT:
                best = truth.best(view)
                assert truth.distance(view.state) in (0, float("inf")) or not truth.loses(
                    view.state, best
                )
            elif truth.loses(view.state, choice):
                found.add(view.state.values)
        return found


class ModelTruth:
    """A small model with its safe states."""

    def __init__(self, name: str, choices: dict[str, Any]) -> None:
        self.task = load_task(generate_model(name, **choices))
        self._outcomes = self._explore()
        self.safe = self._safe_states()
        self._distances = self._goal_distances()

    def _explore(self) -> dict[Values, dict[str, list[Values]]]:
        outcomes: dict[Values, dict[str, list[Values]]] = {}
        left = self.task.initial_states()
        while left:
            state = left.pop()
            if state not in outcomes:
                over = self.task.is_unsafe(state) or self.task.is_goal(state)
                labels = [] if over else [self.task.labels[x] for x in self.task.applicable(state)]
                outcomes[state] = {label: self.task.outcomes(state, label) for label in labels}
                left += [other for reached in outcomes[state].values() for other in reached]
        return outcomes

    def _safe_states(self) -> set[Values]:
        """The largest set of states that are not unsafe and can be kept within itself."""
        safe = {state for state in self._outcomes if not self.task.is_unsafe(state)}
        while True:
            lost = {
                state
                for state in safe
                if (labels := self._outcomes[state])
                and not any(safe.issuperset(reached) for reached in labels.values())
            }
            if not lost:
                return safe
            safe -= lost

    def _goal_distances(self) -> dict[Values, int]:
        """Steps to a goal by safe labels, with luck: what the policy goes by, so that it does not walk in circles."""
        before: dict[Values, set[Values]] = {}
        for state in self.safe:
            for reached in self._outcomes[state].values():
                if self.safe.issuperset(reached):
                    for other in reached:
                        before.setdefault(other, set()).add(state)
        layer = {state for state in self.safe if self.task.is_goal(state)}
        distances: dict[Values, int] = {}
        while layer:
            distances.update(dict.fromkeys(layer, len(distances) and max(distances.values()) + 1))
            layer = {s for other in layer for s in before.get(other, ())} - distances.keys()
        return distances

    def labels(self, state: Values) -> dict[str, list[Values]]:
        """The labels that apply, with their outcomes."""
        return self._outcomes.get(state, {})

    def best(self, state: Values) -> str | None:
        """The safe label that seems closest to a goal; any, in states that are lost."""
        labels = self.labels(state)
        good = [label for label in labels if self.is_safe(state, label)] or list(labels)
        far = len(self._outcomes)
        return min(
            good,
            key=lambda label: min(self._distances.get(other, far) for other in labels[label]),
            default=None,
        )

    def is_safe(self, state: Values, label: str) -> bool:
        return self.safe.issuperset(self._outcomes[state][label])

    def named(self, values: dict[str, Any]) -> Values:
        return tuple(values[name] for name in self.task.variable_names)


ModelWrong = Callable[[dict[str, Any], ModelTruth], Any]


@dataclass(frozen=True)
class ModelPlant:
    """An unsafe decision planted into a policy that is safe wherever that is possible."""

    name: str
    model: str
    choices: dict[str, Any]
    wrong: ModelWrong
    runs: int = 100

    def truth(self) -> ModelTruth:
        return ModelTruth(self.model, self.choices)

    def policy(self, truth: ModelTruth) -> Callable[[dict[str, Any]], Any]:
        def planted(values: dict[str, Any]) -> Any:
            choice = self.wrong(values, truth)
            return truth.best(truth.named(values)) if choice is PERFECT else choice

        return planted

    def faults(self, truth: ModelTruth) -> set[Values]:
        """The safe states where the planted label may lead to one that is not safe."""
        found = set()
        for state in truth.safe:
            if not truth.labels(state):
                continue
            choice = self.wrong(dict(zip(truth.task.variable_names, state, strict=True)), truth)
            if choice is PERFECT:
                assert truth.is_safe(state, str(truth.best(state)))
            elif not truth.is_safe(state, choice):
                found.add(state)
        return found
