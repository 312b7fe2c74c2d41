"""The states that may be the initial state of a smaller task.

`reachable` means a reachable state of the original task: then only the initial state and the goals can change. `mutex`
means a state that satisfies the invariants that the translator has found on the original task: at most one fact of each
mutex group is true, and a group that had a true fact in the bug state still has one, unless no fact of the group is
left. `any` means any set of facts.

After objects are removed, `reachable` has no meaning, because the smaller task has only the initial state that it is
given; `mutex` is the closest replacement. If the true fact of a group is removed with an object, another fact of the
group becomes true: a tower closes over a block that is taken out of it, and a ball in a removed room is now in another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from misstep.comparison.shrink.problem import Fact, Problem, atoms_of
from misstep.tasks.task import State, Task

LEGAL = ("reachable", "mutex", "any")
DEFAULT_LEGAL = "mutex"


class Invariants:
    """The mutex groups of a task, and which of them must have a true fact."""

    def __init__(self, task: Task, start: State) -> None:
        # Objects that the domain declares: a problem does not name them among its own.
        declared = () if task.pddl is None else task.lifted.constants
        self.constants = frozenset(own.name for own in declared)
        known = atoms_of(task)
        by_place = {place: fact for fact, place in known.items() if place[1] >= 0}
        groups: list[tuple[Fact, ...]] = []
        for variable, names in enumerate(task.fact_names):
            places = ((variable, value) for value in range(len(names)))
            groups.append(tuple(by_place[place] for place in places if place in by_place))
        for places_of in task.mutex_groups:
            facts = (by_place.get((variable, value)) for variable, value in places_of)
            groups.append(tuple(fact for fact in facts if fact is not None))
        values = start.values
        true = {fact for (variable, value), fact in by_place.items() if values[variable] == value}
        self.fluent = frozenset(by_place.values())
        several = [group for group in dict.fromkeys(groups) if len(group) > 1]
        self.groups = [(group, any(fact in true for fact in group)) for group in several]
        self._of: dict[Fact, list[int]] = {}
        for number, (group, _) in enumerate(self.groups):
            for fact in group:
                self._of.setdefault(fact, []).append(number)

    def removable(self, fact: Fact) -> bool:
        """Whether the state stays legal without this true fact alone."""
        return not any(self.groups[number][1] for number in self._of.get(fact, ()))

    def broken(self, problem: Problem) -> list[int]:
        """The groups that must have a true fact, have facts left, and have none that is true."""
        true, objects = set(problem.facts), set(problem.names)
        gone = {term for group, _ in self.groups for fact in group for term in fact[1:]}
        gone -= objects | self.constants
        return [
            number
            for number, (group, required) in enumerate(self.groups)
            if required
            and not any(fact in true for fact in group)
            and any(not gone.intersection(fact[1:]) for fact in group)
        ]

    def consistent(self, problem: Problem) -> bool:
        true = set(problem.facts)
        once = all(sum(fact in true for fact in group) <= 1 for group, _ in self.groups)
        return once and not self.broken(problem)

    def repairs(self, problem: Problem, most: int) -> Iterator[Problem]:
        """The problem, or versions with facts for the groups that lost theirs; fewest facts first, at most `most`."""
        for count, solution in enumerate(self._solutions(problem)):
            if count == most:
                return
            yield solution

    def _solutions(self, problem: Problem) -> Iterator[Problem]:
        broken = self.broken(problem)
        if not broken:
            yield problem
            return
        objects = set(problem.names) | self.constants
        true = set(problem.facts)
        lost = set(broken)
        choices = [
            fact
            for fact in self.groups[broken[0]][0]
            if objects.issuperset(fact[1:])
            and all(not true.intersection(self.groups[number][0]) for number in self._of[fact])
        ]
        choices.sort(key=lambda fact: -len(lost.intersection(self._of[fact])))  # stable
        for fact in choices:
            yield from self._solutions(problem.with_facts([fact]))


def level(
    problem: Problem, start: Problem, invariants: Invariants, objects: Collection[str]
) -> str:
    """The strongest of the three words that holds for the initial state of a problem."""
    if len(problem.objects) == len(objects) and set(problem.facts) == set(start.facts):
        return "reachable"
    return "mutex" if invariants.consistent(problem) else "any"


__all__ = ["DEFAULT_LEGAL", "LEGAL", "Invariants", "level"]
