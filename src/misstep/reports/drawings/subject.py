"""The input of a drawing: the subject, which is the same in all states of a task, and the scene, which is one state.

A domain is recognised by its predicates and the kinds of its objects, never by file names. The spelling of a domain
varies: predicates are compared in lower case with `-` for `_`, a kind of an object is a type or a static unary
predicate (`(room ?r)` in older files), and `Subject.find` takes several spellings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, MisstepError
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task

Atom = tuple[str, ...]  # the predicate, then its arguments
Value = bool | int | float | str
StateLike = Sequence[str] | Sequence[bool | int | float] | State


def spelled(predicate: str) -> str:
    return predicate.lower().replace("_", "-")


def read_atom(fact: str) -> Atom:
    """`on(a, b)` is `("on", "a", "b")`."""
    predicate, _, inside = fact.partition("(")
    inside = inside.removesuffix(")")
    return (spelled(predicate.strip()), *(inside.split(", ") if inside else ()))


@dataclass(frozen=True)
class Variable:
    """A variable of a model; without a bound it may be infinite."""

    name: str
    type: str
    low: float
    high: float


@dataclass(frozen=True)
class Scene:
    """One state: the atoms that hold, or the values of a model's variables. `before` is the state before it."""

    atoms: frozenset[Atom] = frozenset()
    values: Mapping[str, Value] = field(default_factory=dict)
    before: Scene | None = None

    @cached_property
    def _by_predicate(self) -> dict[tuple[str, int], list[tuple[str, ...]]]:
        found: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        for atom in sorted(self.atoms):
            found.setdefault((atom[0], len(atom) - 1), []).append(atom[1:])
        return found

    def of(self, predicate: str | None) -> list[tuple[str, ...]]:
        """The arguments of the atoms of a predicate, such as `on/2`."""
        if predicate is None:
            return []
        name, _, arity = predicate.partition("/")
        return self._by_predicate.get((name, int(arity)), [])

    def pairs(self, predicate: str | None) -> dict[str, str]:
        """Of a predicate of two: from the first argument to the second."""
        return {own[0]: own[1] for own in self.of(predicate)}

    def holds(self, predicate: str | None, *arguments: str) -> bool:
        return predicate is not None and (predicate.partition("/")[0], *arguments) in self.atoms

    def number(self, name: str) -> float:
        value = self.values.get(name, 0)
        return float(value) if not isinstance(value, str) else 0.0

    def changed(self, name: str) -> bool:
        """Whether a variable of a model has another value than before."""
        return self.before is not None and self.before.values.get(name) != self.values.get(name)


@dataclass(frozen=True)
class Subject:
    """What all states of a task share."""

    name: str
    world: str
    objects: dict[str, tuple[str, ...]] = field(default_factory=dict)  # with all their kinds
    predicates: frozenset[str] = frozenset()  # such as `on/2`
    static: frozenset[Atom] = frozenset()  # atoms that hold in every state
    goals: tuple[Atom, ...] = ()
    variables: tuple[Variable, ...] = ()
    labels: tuple[str, ...] = ()
    initial: Scene = field(default_factory=Scene)
    task: AnyTask | None = None  # for drawings that need more

    def find(self, *spellings: str) -> str | None:
        """The first of the predicates that the task has, such as `find("ontable/1", "on-table/1")`."""
        return next((name for name in spellings if name in self.predicates), None)

    def has(self, *predicates: str) -> bool:
        return all(name in self.predicates for name in predicates)

    def kind(self, *kinds: str) -> list[str]:
        """The objects of any of these kinds, in the order of the task."""
        wanted = set(kinds)
        return [name for name, own in self.objects.items() if wanted & set(own)]

    def always(self, predicate: str | None) -> list[tuple[str, ...]]:
        """The arguments of the atoms of a predicate that hold in every state."""
        return self._always.of(predicate)

    def always_pairs(self, predicate: str | None) -> dict[str, str]:
        return self._always.pairs(predicate)

    @cached_property
    def _always(self) -> Scene:
        return Scene(self.static)

    def goals_of(self, predicate: str | None) -> list[tuple[str, ...]]:
        name, _, arity = (predicate or "/0").partition("/")
        return [goal[1:] for goal in self.goals if goal[0] == name and len(goal) == int(arity) + 1]

    def goal_pairs(self, predicate: str | None) -> dict[str, str]:
        """Of goals of two: from the first argument to the second."""
        return {own[0]: own[1] for own in self.goals_of(predicate)}

    def has_variables(self, *names: str) -> bool:
        return set(names) <= {variable.name for variable in self.variables}

    def numbered(self, prefix: str) -> list[str]:
        """The variables `PREFIX0`, `PREFIX1` and so on, by their numbers."""
        rest = ((own.name, own.name.removeprefix(prefix)) for own in self.variables)
        found = [(int(tail), name) for name, tail in rest if tail != name and tail.isdecimal()]
        return [name for _, name in sorted(found)]


# -- from tasks -----------------------------------------------------------------------------------


def subject_of(task: AnyTask) -> Subject:
    return _model(task) if isinstance(task, JaniTask) else _planning(task)


def _model(task: JaniTask) -> Subject:
    variables = tuple(
        Variable(
            name, kind, -inf if low is None else float(low), inf if high is None else float(high)
        )
        for name, kind, low, high in task.variables
    )
    return Subject(task.name, task.world, variables=variables, labels=task.labels, task=task)


def _planning(task: Task) -> Subject:
    words = task.vocabulary
    known = [read_atom(fact) for fact in words.facts]
    objects: dict[str, tuple[str, ...]] = {}
    static: set[Atom] = set()
    predicates = {f"{atom[0]}/{len(atom) - 1}" for atom in known}
    try:
        lifted = task.lifted
        static = {read_atom(fact) for fact in words.constant}
        predicates |= {f"{spelled(own.name)}/{own.arity}" for own in lifted.predicates}
        for thing in lifted.objects:
            kinds = [kind for own in thing.types for kind in lifted.supertypes(own)]
            objects[thing.name] = tuple(dict.fromkeys(kinds))
    except MisstepError:
        pass  # a SAS file, or PDDL that cannot be taken apart: the facts say what there is
    for atom in (*known, *sorted(static)):
        for name in atom[1:]:
            objects.setdefault(name, ())
    for atom in sorted(static):
        if len(atom) == 2:
            objects[atom[1]] += (atom[0],)
    goals = tuple(read_atom(text) for text, _, _ in words.goals if not text.startswith("not "))
    subject = Subject(
        *(task.name, task.world, objects, frozenset(predicates), frozenset(static), goals)
    )
    return replace(subject, initial=scene_of(subject, task, task.initial_state), task=task)


def scene_of(
    subject: Subject, task: AnyTask, state: StateLike, before: StateLike | None = None
) -> Scene:
    """A state as facts (`Record.facts`) or as values (`Record.state`)."""
    last = None if before is None else scene_of(subject, task, before)
    if isinstance(task, JaniTask):
        return Scene(values=_values(subject, state), before=last)
    facts = _facts(task, state)
    return Scene(subject.static | {read_atom(fact) for fact in facts}, before=last)


def _facts(task: Task, state: StateLike) -> Iterable[str]:
    if isinstance(state, State):
        return task.facts(state)
    if state and not isinstance(state[0], str):
        from misstep.campaigns.states import state_of

        return task.facts(state_of(task, tuple(state)))  # type: ignore[arg-type]
    return [str(fact) for fact in state]


def _values(subject: Subject, state: StateLike) -> dict[str, Value]:
    if isinstance(state, State):
        raise InputFormatError("a state of a planning task", expected=f"one of {subject.name}")
    values = [_value(own) if isinstance(own, str) else ("", own) for own in state]
    names = [variable.name for variable in subject.variables]
    if len(values) != len(names):
        raise InputFormatError(
            f"not a state of {subject.name}: {len(values)} values", expected=str(len(names))
        )
    return {own or name: value for name, (own, value) in zip(names, values, strict=True)}


def _value(fact: str) -> tuple[str, Value]:
    name, _, text = fact.rpartition("=")
    try:
        value = parse_json(text, constants=True)
    except ValueError:
        value = text  # the name of a location
    return name, value if isinstance(value, (bool, int, float)) else text


def nature_of(subject: Subject, scene: Scene) -> str:
    """Whether a state of a model is unsafe or a goal, for a line below its picture."""
    task = subject.task
    values = tuple(scene.values.values())
    if not isinstance(task, JaniTask) or any(isinstance(value, str) for value in values):
        return ""
    number = task.reader.intern(values)  # type: ignore[arg-type]
    if task.reader.is_unsafe(number):
        return "unsafe"
    return "a goal" if task.reader.is_goal(number) else "not unsafe, no goal"


__all__ = [
    "Atom",
    "Scene",
    "StateLike",
    "Subject",
    "Value",
    "Variable",
    "nature_of",
    "scene_of",
    "subject_of",
]
