"""A state and the goal as the deciders read them, and the operators that their steps stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from misstep.errors import UnsupportedError
from misstep.tasks.pddl.atoms import AtomTable, goal_atoms
from misstep.tasks.task import State, Task

Arguments = tuple[str, ...]
Fact = tuple[str, ...]  # the predicate, then its arguments
Step = tuple[Fact, ...]  # what holds after an operator, and not all of it before


class Situation:
    """The facts of a state and of the goal, by their predicates."""

    def __init__(
        self,
        facts: Iterable[Fact],
        goal: Iterable[Fact],
        objects: Mapping[str, Sequence[str]],
    ) -> None:
        self._objects = objects
        self._facts: dict[str, set[Arguments]] = {}
        for predicate, *arguments in facts:
            self._facts.setdefault(predicate, set()).add(tuple(arguments))
        self._goal: dict[str, set[Arguments]] = {}
        for predicate, *arguments in goal:
            self._goal.setdefault(predicate, set()).add(tuple(arguments))

    def facts(self, *predicates: str) -> set[Arguments]:
        return {found for name in predicates for found in self._facts.get(name, ())}

    def objects(self, kind: str) -> Sequence[str]:
        return self._objects.get(kind, ())

    def goal(self, predicate: str) -> set[Arguments]:
        return self._goal.get(predicate, set())

    def pairs(self, predicate: str) -> dict[str, str]:
        """The facts of a predicate of two arguments that is a function."""
        return {fact[0]: fact[1] for fact in self.facts(predicate)}

    def goal_pairs(self, predicate: str) -> dict[str, str]:
        return {fact[0]: fact[1] for fact in self.goal(predicate)}

    def goal_is_about(self, *predicates: str) -> bool:
        return set(self._goal) <= set(predicates)


class Reader:
    """Reads the states of one task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._table = AtomTable(task)
        goal = goal_atoms(task.lifted, task.name, "the deciders of solvability read no other goals")
        self._goal = [(atom.predicate, *atom.terms) for atom in goal]

    def situation(self, state: State) -> Situation:
        return Situation(self._true(state), self._goal, self._task.vocabulary.objects)

    def operators(self, state: State, steps: Sequence[Step]) -> list[int]:
        """An operator for each step of a plan: the cheapest that applies and makes all of its facts true.

        An error if there is none, or if the plan does not reach the goal: then the task is not of the usual form.
        """
        chosen = []
        for step in steps:
            before = self._true(state)
            best: tuple[int, int, State] | None = None
            for operator in self._task.applicable(state):
                after = self._task.apply(state, operator)
                cost = self._task.cost(operator)
                is_better = best is None or cost < best[0]
                if is_better and not before.issuperset(step) and self._true(after).issuperset(step):
                    best = (cost, operator, after)
            if best is None:
                raise UnsupportedError(
                    f"the decider does not know such tasks: no operator leads to {' and '.join(map(str, step))}"
                )
            chosen.append(best[1])
            state = best[2]
        if not self._task.is_goal(state):
            raise UnsupportedError("the decider does not know such tasks: its plan ends elsewhere")
        return chosen

    def _true(self, state: State) -> set[Fact]:
        return {(atom.predicate, *atom.terms) for atom in self._table.true(state.values)}


def require(condition: bool, domain: str, why: str) -> None:
    """The decider of a domain speaks of tasks of the usual form only."""
    if not condition:
        raise UnsupportedError(f"the decider of {domain} does not know tasks where {why}")


__all__ = ["Fact", "Reader", "Situation", "Step", "require"]
