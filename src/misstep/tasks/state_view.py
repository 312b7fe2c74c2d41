"""A state of a planning task for a user's policy: by names, by structure, or as an array for a network.

Everything is computed on demand, and data of the task (names, objects, goals, parsed operators) are computed once per
task, in its `Vocabulary`. So an unused view costs almost nothing, and a batch is one array until a single state is
requested. docs/states.md is the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from misstep._core import State
from misstep.errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from misstep.tasks.pddl.lifted import LiftedTask
    from misstep.tasks.task import Task

Arrays = NDArray[np.int32]  # shape (n, variables)
_Other = TypeVar("_Other")


@dataclass(frozen=True, slots=True)
class Action:
    """An operator: its number, and the parts of its name."""

    number: int
    schema: str  # such as `pick`
    arguments: tuple[str, ...]  # such as `("ball1", "room-a", "left")`
    name: str  # such as `pick ball1 room-a left`
    cost: int

    def __str__(self) -> str:
        return self.name


class Facts(Set[str]):
    """Names of facts, each once, in the order of the task's variables.

    It is compared and combined like a set. A fact is found in any usual spelling: `on(a, b)`, `on(a,b)`, `(on a b)`.
    """

    __slots__ = ("_names", "_set")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._set: frozenset[str] | None = None

    @classmethod
    def _from_iterable(cls, it: Iterable[_Other]) -> Facts:  # type: ignore[override]
        return cls(dict.fromkeys(str(name) for name in it))

    def __contains__(self, fact: object) -> bool:
        if self._set is None:
            self._set = frozenset(self._names)
        if fact in self._set:
            return True
        return isinstance(fact, str) and _spelled(fact) in self._set

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> str:
        return self._names[index]

    def __hash__(self) -> int:
        return hash(frozenset(self._names))

    def __repr__(self) -> str:
        return f"Facts({', '.join(self._names)})"


def _spelled(fact: str) -> str:
    """The fact as the task spells it."""
    text = fact.strip().lower()
    if text.startswith("("):
        predicate, *arguments = text.strip("()").split() or [""]
    else:
        predicate, _, inside = text.partition("(")
        arguments = [part.strip() for part in inside.rstrip(")").split(",") if part.strip()]
    return f"{predicate.strip()}({', '.join(arguments)})"


class Vocabulary:
    """The names of a task and what they refer to; the same for all its states."""

    def __init__(self, task: Task) -> None:
        # Keep the names, not the task: a reference cycle would keep both alive.
        self._names = task.fact_names
        self._goal = task.goal
        self._files = task.pddl
        self._where = task.name
        self._operators = [task.operator_name(op) for op in range(task.operator_count)]
        self._costs = [task.cost(op) for op in range(task.operator_count)]
        self._actions: dict[int, Action] = {}

    def action(self, operator: int) -> Action:
        found = self._actions.get(operator)
        if found is None:
            name = self._operators[operator]
            schema, *arguments = name.split() or [""]
            found = Action(operator, schema, tuple(arguments), name, self._costs[operator])
            self._actions[operator] = found
        return found

    @cached_property
    def atoms(self) -> tuple[tuple[str | None, ...], ...]:
        """The fact for each variable and value, if there is one."""
        return tuple(
            tuple(name[5:] if name.startswith("Atom ") else None for name in names)
            for names in self._names
        )

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """The columns of `fact_array`: the facts that can be true or false."""
        return tuple(fact for facts in self.atoms for fact in facts if fact is not None)

    @cached_property
    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The offset of each variable in the list of all values, and the fact column of each value, or -1."""
        starts: list[int] = []
        column: list[bool] = []
        for facts in self.atoms:
            starts.append(len(column))
            column += [fact is not None for fact in facts]
        has = np.array(column, dtype=np.int64)
        return np.array(starts, dtype=np.int64), np.where(has == 1, np.cumsum(has) - 1, -1)

    @cached_property
    def goals(self) -> tuple[tuple[str, int, int], ...]:
        """Each fact of the goal, with its variable and value; `not FACT` where it must be false."""
        found = []
        for variable, value in self._goal:
            name = self._names[variable][value]
            text = name.removeprefix("Atom ")
            if name.startswith("NegatedAtom "):
                text = "not " + name.removeprefix("NegatedAtom ")
            found.append((text, variable, value))
        return tuple(found)

    @cached_property
    def objects(self) -> dict[str, tuple[str, ...]]:
        """The objects of each type, including those of its subtypes."""
        lifted = self._lifted
        found: dict[str, list[str]] = {name: [] for name in lifted.types}
        for thing in lifted.objects:
            kinds = dict.fromkeys(kind for own in thing.types for kind in lifted.supertypes(own))
            for kind in kinds:
                found.setdefault(kind, []).append(thing.name)
        return {kind: tuple(names) for kind, names in found.items()}

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Facts that are true in every state and are therefore not part of the state."""
        lifted = self._lifted
        known = set(self.facts)
        named = [(atom, f"{atom.predicate}({', '.join(atom.terms)})") for atom in lifted.init]
        outside = [(atom, name) for atom, name in named if name not in known]
        fluent = [atom for atom, _ in outside if atom.predicate in lifted.fluent_predicates]
        # The translator drops what never changes. Without --keep-unimportant it also drops what does not matter for
        # the goal, of which nothing is known here.
        changing = self._deleted({atom.predicate for atom in fluent}) if fluent else set()
        return tuple(name for _, name in outside if name not in changing)

    def _deleted(self, predicates: set[str]) -> set[str]:
        lifted = self._lifted
        deleted = set()
        for name in dict.fromkeys(self._operators):
            schema_name, *arguments = name.split()
            schema = lifted.schema(schema_name)
            binding = schema.binding(arguments)
            for literal in schema.effect:
                if not literal.positive and literal.atom.predicate in predicates:
                    atom = literal.atom.ground(binding)
                    deleted.add(f"{atom.predicate}({', '.join(atom.terms)})")
        return deleted

    @cached_property
    def _lifted(self) -> LiftedTask:
        from misstep.tasks.pddl.lifted import lift

        if self._files is None:
            raise UnsupportedError(
                "a SAS file has neither objects nor facts that never change",
                where=self._where,
                hint="load the task from its PDDL files",
            )
        return lift(*self._files)


class StateView:
    """A state as a user's policy sees it; docs/states.md describes each attribute."""

    def __init__(self, state: State, task: Task) -> None:
        self.state = state
        self.task = task

    # -- facts --------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """The facts that are true, such as `on(a, b)`, in the order of the task's variables."""
        atoms = self.task.vocabulary.atoms
        found = (own[value] for own, value in zip(atoms, self.state.values, strict=True))
        return Facts(fact for fact in found if fact is not None)

    @cached_property
    def atoms(self) -> Facts:
        """All facts that are true, including those that are true in every state (roads, sizes, ...)."""
        return Facts((*self.facts, *self.task.vocabulary.constant))

    @cached_property
    def goals(self) -> Facts:
        """The facts of the goal."""
        return Facts(name for name, _, _ in self.task.vocabulary.goals)

    @cached_property
    def open_goals(self) -> Facts:
        """The facts of the goal that do not hold."""
        values = self.state.values
        goals = self.task.vocabulary.goals
        return Facts(name for name, variable, value in goals if values[variable] != value)

    @property
    def is_goal(self) -> bool:
        return self.task.is_goal(self.state)

    @property
    def objects(self) -> dict[str, tuple[str, ...]]:
        """The objects of each type, including those of its subtypes."""
        return self.task.vocabulary.objects

    # -- operators ----------------------------------------------------------------------------------

    @cached_property
    def operators(self) -> list[str]:
        """Names of the applicable operators."""
        return [self.task.operator_name(op) for op in self.task.applicable(self.state)]

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The applicable operators, with their schemas and arguments."""
        action = self.task.vocabulary.action
        return tuple(action(op) for op in self.task.applicable(self.state))

    def after(self, operator: str | int | Action) -> StateView:
        """The state that the operator leads to."""
        if isinstance(operator, Action):
            number = operator.number
        elif isinstance(operator, str):
            number = self.task.resolve(operator, self.state)
        else:
            number = int(operator)
            if not 0 <= number < self.task.operator_count:
                raise UsageError(f"the task has no operator {number}", where=self.task.name)
        return StateView(self.task.apply(self.state, number), self.task)

    def successors(self) -> list[tuple[Action, StateView]]:
        """Each applicable operator and the state that it leads to."""
        return [(action, self.after(action)) for action in self.actions]

    # -- numbers ------------------------------------------------------------------------------------

    @property
    def values(self) -> tuple[int, ...]:
        """The value of each variable of the task."""
        return self.state.values

    @property
    def array(self) -> NDArray[np.int32]:
        """The values as an array."""
        return np.array(self.state.values, dtype=np.int32)

    @property
    def fact_array(self) -> NDArray[np.bool_]:
        """Whether each fact in `task.vocabulary.facts` is true."""
        row: NDArray[np.bool_] = _fact_arrays(self.array[None, :], self.task)[0]
        return row

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each operator applies."""
        found = np.zeros(self.task.operator_count, dtype=np.bool_)
        found[self.task.applicable(self.state)] = True
        return found

    # -- as a value ---------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateView):
            return NotImplemented
        same = self.task is other.task or self.task.digest == other.task.digest
        return same and self.state == other.state

    def __hash__(self) -> int:
        return hash(self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        return StateView, (self.state, self.task)

    def __str__(self) -> str:
        return ", ".join(self.facts)

    def __repr__(self) -> str:
        return f"<StateView {self}>"


class StateBatch(Sequence[StateView]):
    """Many states of one task: one array, and a sequence of views that are made on demand."""

    def __init__(self, array: Arrays, task: Task) -> None:
        self._array = array
        self.task = task
        self._views: list[StateView | None] = [None] * len(array)

    @property
    def array(self) -> Arrays:
        """One row per state, one column per variable; read-only."""
        view: Arrays = self._array.view()
        view.flags.writeable = False
        return view

    @property
    def fact_array(self) -> NDArray[np.bool_]:
        """Whether facts are true: one row per state, one column per fact of `task.vocabulary.facts`."""
        return _fact_arrays(self._array, self.task)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether operators apply: one row per state, one column per operator."""
        offsets, operators = self.task.applicable_batch(self._array)
        found = np.zeros((len(self), self.task.operator_count), dtype=np.bool_)
        found[np.repeat(np.arange(len(self)), np.diff(offsets)), operators] = True
        return found

    def __len__(self) -> int:
        return len(self._views)

    @overload
    def __getitem__(self, index: int) -> StateView: ...
    @overload
    def __getitem__(self, index: slice) -> StateBatch: ...
    def __getitem__(self, index: int | slice) -> StateView | StateBatch:
        if isinstance(index, slice):
            return StateBatch(self._array[index], self.task)
        view = self._views[index]
        if view is None:
            view = StateView(State(self._array[index].tolist()), self.task)
            self._views[index] = view
        return view

    def __repr__(self) -> str:
        return f"<StateBatch of {len(self)} states of {self.task.name}>"


def _fact_arrays(states: Arrays, task: Task) -> NDArray[np.bool_]:
    starts, columns = task.vocabulary.columns
    # Values that stand for no fact have the column -1, the last one, which is cut off.
    found = np.zeros((len(states), len(task.vocabulary.facts) + 1), dtype=np.bool_)
    found[np.arange(len(states))[:, None], columns[starts + states]] = True
    return np.ascontiguousarray(found[:, :-1])


__all__ = ["Action", "Facts", "StateBatch", "StateView", "Vocabulary"]
