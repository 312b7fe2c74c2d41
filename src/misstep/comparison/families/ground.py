"""A planning task as families use it: objects with types, and true atoms by predicate, as numbers and bit sets.

A set of objects is one Python integer with one bit per object, so that "some ball in this room that is not at its goal"
takes two intersections. A task from PDDL files has types and static atoms. A SAS file only has the atoms that its names
spell out; all its objects have one type, and values with other names are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from misstep.campaigns.signatures import schema_of
from misstep.errors import MisstepError
from misstep.tasks.pddl.atoms import atom_of
from misstep.tasks.pddl.lifted import Atom, LiftedTask
from misstep.tasks.task import State, Task

Arguments = tuple[int, ...]
Relations = dict[str, list[Arguments]]
Index = dict[Arguments, int]
ANY = "object"


class Ground:
    """What does not change from state to state."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.lifted = lifted_of(task)
        self.objects: dict[str, int] = {}
        self.kinds: dict[str, int] = {}  # type -> its objects, those of subtypes included
        if self.lifted is not None:
            self._add_types(self.lifted)
        self.of_values = [[self._fact(name) for name in names] for names in task.fact_names]
        named = {fact for facts in self.of_values for fact in facts if fact is not None}
        self.constant: Relations = {}
        for atom in () if self.lifted is None else self.lifted.init:
            fact = (atom.predicate, self._numbers(atom.terms))
            if fact not in named:
                self.constant.setdefault(fact[0], []).append(fact[1])
        self.changing = frozenset(predicate for predicate, _ in named)
        self._operators: dict[int, tuple[str, Arguments]] = {}
        for op in range(task.operator_count if self.lifted is None else 0):
            self.operator(op)  # meets the objects that no fact names
        self.goals: Relations = {}
        for predicate, arguments in self._goal():
            self.goals.setdefault(predicate, []).append(arguments)
        self.all = (1 << len(self.objects)) - 1
        if self.lifted is None:
            self.kinds = {ANY: self.all}
        self.indexes: dict[tuple[str, bool, int, Arguments], Index] = {}

    def _add_types(self, lifted: LiftedTask) -> None:
        for named in lifted.objects:
            bit = 1 << self.objects.setdefault(named.name, len(self.objects))
            for kind in {above for own in named.types for above in lifted.supertypes(own)}:
                self.kinds[kind] = self.kinds.get(kind, 0) | bit

    def _numbers(self, names: Iterable[str]) -> Arguments:
        return tuple(self.objects.setdefault(name, len(self.objects)) for name in names)

    def _fact(self, name: str) -> tuple[str, Arguments] | None:
        try:
            atom: Atom | None = atom_of(name)
        except MisstepError:
            return None  # a name of somebody else's making
        return None if atom is None else (atom.predicate, self._numbers(atom.terms))

    def _goal(self) -> list[tuple[str, Arguments]]:
        """The positive atoms of a conjunctive goal. Other goals are left to the ground task."""
        lifted = self.lifted
        if lifted is not None and not lifted.unsupported_goal:
            atoms = [literal.atom for literal in lifted.goal if literal.positive]
            return [(atom.predicate, self._numbers(atom.terms)) for atom in atoms]
        found = [self.of_values[variable][value] for variable, value in self.task.goal]
        return [fact for fact in found if fact is not None]

    def operator(self, number: int) -> tuple[str, Arguments]:
        """The schema and the arguments of an operator."""
        found = self._operators.get(number)
        if found is None:
            name = self.task.operator_name(number)
            words = name.lower().split()[1:]
            found = self._operators[number] = (schema_of(name), self._numbers(words))
        return found

    @cached_property
    def goal_values(self) -> dict[int, int]:
        return dict(self.task.goal)

    @cached_property
    def goal_effects(self) -> dict[int, list[tuple[list[tuple[int, int]], int, int]]]:
        """The effects of each operator on variables of the goal, where it has any."""
        found = {}
        for op in range(self.task.operator_count):
            own = [effect for effect in self.task.effects(op) if effect[1] in self.goal_values]
            if own:
                found[op] = own
        return found

    @cached_property
    def with_goal(self) -> int:
        """The objects that a goal begins with."""
        return _bits(own[0] for facts in self.goals.values() for own in facts if own)


class Scene:
    """One state: its true atoms, looked up in any way, each index built when it is first needed."""

    def __init__(self, ground: Ground, values: Sequence[int]) -> None:
        self.ground = ground
        self.values = tuple(values)
        self._indexes: dict[tuple[str, bool, int, Arguments], Index] = {}
        self._applicable: dict[str, list[int]] | None = None

    @cached_property
    def relations(self) -> dict[str, list[Arguments]]:
        """The atoms of predicates that can change."""
        ground = self.ground
        found = {name: list(ground.constant.get(name, ())) for name in ground.changing}
        for facts, value in zip(ground.of_values, self.values, strict=True):
            fact = facts[value]
            if fact is not None:
                found[fact[0]].append(fact[1])
        return found

    def atoms(self, predicate: str, goal: bool = False) -> list[Arguments]:
        if goal:
            return self.ground.goals.get(predicate, [])
        if predicate in self.ground.changing:
            return self.relations[predicate]
        return self.ground.constant.get(predicate, [])

    def index(self, predicate: str, goal: bool, place: int, fixed: Arguments) -> Index:
        """From the objects at the places `fixed` to the objects at `place`."""
        key = (predicate, goal, place, fixed)
        lasting = goal or predicate not in self.ground.changing
        store = self.ground.indexes if lasting else self._indexes
        found = store.get(key)
        if found is None:
            found = store[key] = {}
            longest = max(place, *fixed) if fixed else place
            for own in self.atoms(predicate, goal):
                if longest < len(own):  # in SAS files a name may have any number of arguments
                    given = (own[fixed[0]],) if len(fixed) == 1 else tuple(own[k] for k in fixed)
                    found[given] = found.get(given, 0) | 1 << own[place]
        return found

    @cached_property
    def open_goals(self) -> list[tuple[str, Arguments]]:
        """The atoms of the goal that do not hold."""
        return [
            (predicate, own)
            for predicate, facts in self.ground.goals.items()
            for holding in [set(self.atoms(predicate))]
            for own in facts
            if own not in holding
        ]

    @cached_property
    def status(self) -> dict[str, int]:
        """Objects at their goal, not at it, and without one."""
        unmet = _bits(own[0] for _, own in self.open_goals if own)
        has = self.ground.with_goal
        return {"done": has & ~unmet, "open": unmet, "none": self.ground.all & ~has}

    def applicable(self, schema: str) -> list[int]:
        """The operators of a schema that apply."""
        if self._applicable is None:
            self._applicable = {}
            for op in self.ground.task.applicable(State(list(self.values))):
                self._applicable.setdefault(self.ground.operator(op)[0], []).append(op)
        return self._applicable.get(schema, [])

    def reaches_goal(self, operator: int) -> bool:
        """Whether the operator makes a fact of the goal true."""
        return any(
            self.values[variable] != value == self.ground.goal_values[variable]
            for variable, value in self._happening(operator)
        )

    def undoes_goal(self, operator: int) -> bool:
        """Whether the operator makes a fact of the goal false."""
        return any(
            self.values[variable] == self.ground.goal_values[variable] != value
            for variable, value in self._happening(operator)
        )

    def _happening(self, operator: int) -> list[tuple[int, int]]:
        return [
            (variable, value)
            for conditions, variable, value in self.ground.goal_effects.get(operator, ())
            if all(self.values[own] == needed for own, needed in conditions)
        ]


def lifted_of(task: Task) -> LiftedTask | None:
    """The lifted view, where there is one."""
    if task.pddl is None:
        return None
    try:
        return task.lifted
    except MisstepError:
        return None  # what the reader does not know is read as a SAS file


def _bits(numbers: Iterable[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


__all__ = ["ANY", "Arguments", "Ground", "Index", "Scene", "lifted_of"]
