"""Policies that are perfect but for one planted kind of wrong decision, and the whole truth about them.

The truth is that of the whole state space, so a planted decision is known to lose, and every other one not to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from misstep._core import StateSpace
from misstep.policies.function import StateView
from misstep.tasks.domains import generate
from misstep.tasks.jani.task import JaniTask
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
        self.safe = self._safe_states(self.task.initial_states())

    def _safe_states(self, starts: Iterable[Values]) -> set[Values]:
        """The largest set of states that are not unsafe and can be kept within itself."""
        outcomes: dict[Values, list[list[Values]]] = {}
        left = list(starts)
        while left:
            state = left.pop()
            if state not in outcomes:
                over = self.task.is_unsafe(state) or self.task.is_goal(state)
                labels = [] if over else self.task.applicable(state)
                outcomes[state] = [self.task.outcomes(state, label) for label in labels]
                left += [other for reached in outcomes[state] for other in reached]
        safe = {state for state in outcomes if not self.task.is_unsafe(state)}
        while True:
            lost = {
                state
                for state in safe
                if outcomes[state]
                and not any(all(other in safe for other in reached) for reached in outcomes[state])
            }
            if not lost:
                return safe
            safe -= lost

    def label(self, state: Values, avoid: str = "") -> str | None:
        """A label that keeps safe, if there is one, other than that to be avoided if possible."""
        names = [self.task.labels[label] for label in self.task.applicable(state)]
        good = [name for name in names if self.is_safe(state, name)] or names
        return next((name for name in good if name != avoid), good[0] if good else None)

    def is_safe(self, state: Values, label: str) -> bool:
        return all(other in self.safe for other in self.task.outcomes(state, label))

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
            return truth.label(truth.named(values)) if choice is PERFECT else choice

        return planted

    def faults(self, truth: ModelTruth) -> set[Values]:
        """The safe states where the planted label may lead to one that is not safe."""
        found = set()
        for state in truth.safe:
            task: JaniTask = truth.task
            if task.is_goal(state) or not task.applicable(state):
                continue
            choice = self.wrong(dict(zip(task.variable_names, state, strict=True)), truth)
            if choice is PERFECT:
                assert truth.is_safe(state, str(truth.label(state)))
            elif not truth.is_safe(state, choice):
                found.add(state)
        return found
