"""Lifted conditions on a decision: properties of the state and of the operator that the policy chose.

A condition names no object. It refers to the arguments of the chosen operator by their positions, to the number of
objects of a type with some properties (none, one, many), to what an operator of the better schema could do, and to the
goal. So it has a value in every state of every task of the domain, whether the decision was good or not. In particular
it never uses the operator that was in fact better, because there is none for a good decision.

A `Property` describes objects: `at(., ?1)` are those that are at the second argument of the chosen operator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from misstep.comparison.families.ground import Arguments, Scene

STATUS = ("open", "done", "none")


@dataclass(frozen=True, order=True)
class Property:
    """Objects at a `place` of atoms of a predicate, true ones or those of the goal; or objects by their own goal.

    `fixed` are pairs of another place and the argument of the chosen operator that stands there; at all other places
    there may be anything.
    """

    name: str  # of a predicate, or one of STATUS
    kind: str = "atom"  # atom, goal or status
    place: int = 0
    fixed: tuple[tuple[int, int], ...] = ()
    arity: int = 1

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.kind, self.place, self.fixed))

    def __hash__(self) -> int:  # looked up for every condition and decision
        return self._hash

    @property
    def text(self) -> str:
        if self.kind == "status":
            return self.name
        given = dict(self.fixed)
        terms = [
            "." if k == self.place else f"?{given[k]}" if k in given else "_"
            for k in range(self.arity)
        ]
        return f"{'goal ' if self.kind == 'goal' else ''}{self.name}({', '.join(terms)})"

    @property
    def weight(self) -> int:
        """How much there is to say."""
        return len(self.fixed) if self.kind != "status" else 0


class Decided:
    """A decision: a scene and the operator that was chosen there, None if the policy stopped."""

    def __init__(self, scene: Scene, operator: int | None) -> None:
        self.scene = scene
        self.operator = operator
        self.arguments: Arguments = ()
        if operator is not None:
            self.arguments = scene.ground.operator(operator)[1]
        self._objects: dict[Property, int] = {}

    def objects(self, own: Property) -> int:
        """The objects that have a property, as a bit set."""
        found = self._objects.get(own)
        if found is None:
            found = self._objects[own] = self._look_up(own)
        return found

    def _look_up(self, own: Property) -> int:
        if own.kind == "status":
            return self.scene.status[own.name]
        places = tuple(place for place, _ in own.fixed)
        index = self.scene.index(own.name, own.kind == "goal", own.place, places)
        if any(argument >= len(self.arguments) for _, argument in own.fixed):
            return 0
        return index.get(tuple(self.arguments[argument] for _, argument in own.fixed), 0)

    @cached_property
    def others(self) -> int:
        """All objects but the arguments of the decision."""
        found = self.scene.ground.all
        for number in self.arguments:
            found &= ~(1 << number)
        return found


class Condition(ABC):
    """Something that holds of a decision or does not."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Canonical: equal texts, equal conditions."""

    @property
    @abstractmethod
    def weight(self) -> int:
        """Of two conditions that separate the same decisions, the one with the smaller weight is used."""

    @abstractmethod
    def holds(self, decided: Decided) -> bool: ...


@dataclass(frozen=True)
class Argument(Condition):
    """An argument of the chosen operator has a property."""

    argument: int
    own: Property

    @property
    def text(self) -> str:
        return f"?{self.argument}: {self.own.text}"

    @property
    def weight(self) -> int:
        return 1 + self.own.weight

    def holds(self, decided: Decided) -> bool:
        if self.argument >= len(decided.arguments):
            return False
        return bool(decided.objects(self.own) >> decided.arguments[self.argument] & 1)


@dataclass(frozen=True)
class Objects(Condition):
    """At least a number of objects of a type, besides the arguments of the decision, have all the properties."""

    kind: str
    own: tuple[Property, ...]
    at_least: int = 1

    @property
    def text(self) -> str:
        number = {1: "some", 2: "several"}[self.at_least]
        return f"{number} {self.kind}: {' & '.join(own.text for own in self.own)}"

    @property
    def weight(self) -> int:
        return 2 * len(self.own) + sum(own.weight for own in self.own) + self.at_least - 1

    def holds(self, decided: Decided) -> bool:
        found = decided.others & decided.scene.ground.kinds.get(self.kind, 0)
        for own in self.own:
            found &= decided.objects(own)
        return found.bit_count() >= self.at_least


@dataclass(frozen=True)
class Possible(Condition):
    """An operator of a schema applies that shares arguments, has arguments with properties, or reaches a goal."""

    schema: str
    same: tuple[
        tuple[int, int], ...
    ] = ()  # an argument of it, and the equal one of the chosen operator
    own: tuple[tuple[int, Property], ...] = ()  # an argument of it, and its property
    wanted: tuple[str, tuple[int, ...]] | None = None  # the goal asks for this of its arguments
    reaches: bool = False  # it makes a fact of the goal true
    cheaper: bool = False  # it costs less than the chosen operator

    @property
    def text(self) -> str:
        parts = [f".{j} = ?{i}" for j, i in self.same]
        parts += [f".{j}: {own.text}" for j, own in self.own]
        if self.wanted is not None:
            parts.append(f"goal {self.wanted[0]}({', '.join(f'.{j}' for j in self.wanted[1])})")
        if self.reaches:
            parts.append("reaches a goal")
        if self.cheaper:
            parts.append("costs less")
        return f"possible {self.schema}: {' & '.join(parts) or 'any'}"

    @property
    def weight(self) -> int:
        parts = len(self.same) + len(self.own) + (self.wanted is not None)
        parts += self.reaches + self.cheaper
        return 2 + 2 * parts + sum(own.weight for _, own in self.own)

    def holds(self, decided: Decided) -> bool:
        return any(self.fits(decided, op) for op in decided.scene.applicable(self.schema))

    def fits(self, decided: Decided, operator: int) -> bool:
        arguments = decided.scene.ground.operator(operator)[1]
        count, given = len(arguments), decided.arguments
        for j, i in self.same:
            if j >= count or i >= len(given) or arguments[j] != given[i]:
                return False
        for j, own in self.own:
            if j >= count or not decided.objects(own) >> arguments[j] & 1:
                return False
        if self.wanted is not None:
            name, places = self.wanted
            if max(places) >= count:
                return False
            asked = tuple(arguments[j] for j in places)
            if asked not in decided.scene.atoms(name, goal=True):
                return False
        task = decided.scene.ground.task
        if self.cheaper and (
            decided.operator is None or task.cost(operator) >= task.cost(decided.operator)
        ):
            return False
        return not self.reaches or decided.scene.reaches_goal(operator)


@dataclass(frozen=True)
class Plain(Condition):
    """An atom without arguments is true."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    @property
    def weight(self) -> int:
        return 0

    def holds(self, decided: Decided) -> bool:
        return () in decided.scene.atoms(self.name)


@dataclass(frozen=True)
class OpenGoals(Condition):
    """At least a number of facts of the goal do not hold."""

    at_least: int

    @property
    def text(self) -> str:
        return f"{self.at_least} open goals"

    @property
    def weight(self) -> int:
        return 2

    def holds(self, decided: Decided) -> bool:
        return len(decided.scene.open_goals) >= self.at_least


@dataclass(frozen=True)
class Effect(Condition):
    """What the chosen operator does to the goal."""

    undoes: bool

    @property
    def text(self) -> str:
        return "undoes a goal" if self.undoes else "reaches a goal"

    @property
    def weight(self) -> int:
        return 1

    def holds(self, decided: Decided) -> bool:
        if decided.operator is None:
            return False
        scene = decided.scene
        return (scene.undoes_goal if self.undoes else scene.reaches_goal)(decided.operator)


__all__ = [
    "STATUS",
    "Argument",
    "Condition",
    "Decided",
    "Effect",
    "Objects",
    "OpenGoals",
    "Plain",
    "Possible",
    "Property",
]
