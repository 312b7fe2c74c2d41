"""Find the operators that a single operator can undo, wherever they are applied.

For an operator a, the facts known before it are its precondition with the mutex completion; those known after it are
these with its effects, completed again. An operator b undoes a if b's precondition is known to hold after a and the
result is, on every variable, the old value (*strict*) or a value at least as good as every old value that is
possible (*at least invertible*, after Hoffmann 2005). In the second case "do nothing" may be enough. If every operator
can be undone and the initial state is solvable, so is every reachable state. The claims hold in reachable states
only: mutexes say nothing about others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from misstep.errors import UnsupportedError
from misstep.tasks.mutexes import Fact, MutexCompletion
from misstep.tasks.preorder import ValuePreorder
from misstep.tasks.task import Task

_AtLeast = Callable[[int, int, int], bool]


@dataclass(frozen=True)
class Inverse:
    """The inverse of an operator: another operator, or doing nothing (None)."""

    operator: int | None
    cost: int


@dataclass(frozen=True)
class Invertibility:
    """A cheapest inverse of each operator, or None; dead operators apply in no reachable state and need none."""

    strict: tuple[Inverse | None, ...]
    at_least: tuple[Inverse | None, ...]
    dead: tuple[bool, ...]

    @property
    def invertible(self) -> bool:
        """Whether after every operator, at most one other leads to a state at least as good as before."""
        return self.at_least_count == len(self.at_least)

    @property
    def strict_count(self) -> int:
        return _passing(self.strict, self.dead)

    @property
    def at_least_count(self) -> int:
        return _passing(self.at_least, self.dead)


def invertibility(task: Task) -> Invertibility:
    """Test every operator of the task. Tasks with conditional effects are refused."""
    if task.has_conditional_effects:
        raise UnsupportedError(
            "conditional effects: no inverse operators can be derived",
            where=task.name,
            hint="walks can still be undone one by one, see misstep.oracles.undo",
        )
    search = _InverseSearch(task)
    strict: list[Inverse | None] = []
    at_least: list[Inverse | None] = []
    dead = []
    for op in range(task.operator_count):
        known = search.around(op)
        dead.append(known is None)
        inverse = None if known is None else search.inverse(op, *known, _equal)
        strict.append(inverse)
        # A strict inverse that costs nothing cannot be beaten.
        if known is not None and (inverse is None or inverse.cost > 0):
            inverse = search.inverse(op, *known, search.order.value_at_least)
        at_least.append(inverse)
    return Invertibility(tuple(strict), tuple(at_least), tuple(dead))


def _equal(variable: int, x: int, y: int) -> bool:  # noqa: ARG001
    return x == y


def _passing(inverses: tuple[Inverse | None, ...], dead: tuple[bool, ...]) -> int:
    return sum(
        inverse is not None or is_dead for inverse, is_dead in zip(inverses, dead, strict=True)
    )


class _InverseSearch:
    def __init__(self, task: Task) -> None:
        operators = range(task.operator_count)
        self.task = task
        self.order = ValuePreorder(task)
        self.mutexes = MutexCompletion(task)
        self.costs = [task.cost(op) for op in operators]
        self.preconditions: list[list[Fact]] = [task.preconditions(op) for op in operators]
        self.effects: list[dict[int, int]] = [
            {variable: value for _, variable, value in task.effects(op)} for op in operators
        ]
        self.achievers: dict[Fact, list[int]] = defaultdict(list)
        for op in operators:
            for fact in self.effects[op].items():
                self.achievers[fact].append(op)

    def around(self, op: int) -> tuple[int, int] | None:
        """The facts possible before and after the operator; None: it is dead."""
        effects = self.effects[op]
        changed = sum(self.mutexes.variables[v] for v in effects)
        before = self.mutexes.complete(self.preconditions[op])
        while before is not None:
            after = self.mutexes.complete(effects.items(), before | changed)
            if after is None:
                return None
            # What the effects exclude on other variables was not there before the operator either.
            narrowed = before & (after | changed)
            if narrowed == before:
                return before, after
            before = self.mutexes.complete(self.preconditions[op], narrowed)
        return None

    def inverse(self, op: int, before: int, after: int, at_least: _AtLeast) -> Inverse | None:
        """A cheapest operator that leads back, the first one among equals."""
        old: dict[int, list[int]] = {}

        def good(variable: int, value: int) -> bool:
            if variable not in old:
                old[variable] = self.mutexes.values(before, variable)
            return all(at_least(variable, value, y) for y in old[variable])

        effects = self.effects[op]
        broken = [fact[0] for fact in effects.items() if not good(*fact)]
        if not broken:
            return Inverse(None, 0)
        best: Inverse | None = None
        for candidate in self._candidates(broken, good):
            if best is not None and self.costs[candidate] >= best.cost:
                continue
            restored = self.effects[candidate]
            if (
                all(v in restored for v in broken)
                and all(good(v, value) for v, value in restored.items())
                and self._holds(candidate, after)
            ):
                best = Inverse(candidate, self.costs[candidate])
        return best

    def _candidates(self, broken: list[int], good: Callable[[int, int], bool]) -> list[int]:
        """The operators with an effect that repairs the variable which fewest operators repair."""
        sizes = self.order.domain_sizes
        repairs = [[(v, x) for x in range(sizes[v]) if good(v, x)] for v in broken]
        fewest = min(
            repairs, key=lambda facts: sum(len(self.achievers.get(fact, ())) for fact in facts)
        )
        return sorted(op for fact in fewest for op in self.achievers.get(fact, ()))

    def _holds(self, op: int, possible: int) -> bool:
        # Known to hold: no other value of the variable is possible.
        return all(
            possible & self.mutexes.variables[fact[0]] == self.mutexes.bit(fact)
            for fact in self.preconditions[op]
        )


__all__ = ["Inverse", "Invertibility", "invertibility"]
