"""A PDDL problem as parts that can be removed: objects, facts, goals.

The domain is never changed. A problem is read into its objects with their types, its facts, its values of functions
and the conjuncts of its goal, and written again from the parts that are left. A conjunct that is not a literal is kept
unchanged, and the objects that it names stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from misstep.errors import InputFormatError
from misstep.tasks.pddl.names import parse_fact_name
from misstep.tasks.pddl.text import Block, Source, parse_tree
from misstep.tasks.task import State, Task

Fact = tuple[str, ...]
"""A predicate and its objects."""


@dataclass(frozen=True)
class Goal:
    """A conjunct of the goal."""

    text: str
    objects: frozenset[str]
    literal: Fact | None  # None: something else than a literal
    positive: bool = True


@dataclass(frozen=True)
class Problem:
    """The parts of a problem, in the order in which they were written."""

    domain: str
    objects: tuple[tuple[str, str], ...]  # name and type
    facts: tuple[Fact, ...]
    goals: tuple[Goal, ...]
    values: tuple[tuple[str, frozenset[str]], ...] = ()  # of functions: the text, and the objects
    rest: tuple[str, ...] = ()  # sections such as the requirements and the metric

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.objects)

    @property
    def pinned(self) -> frozenset[str]:
        """Objects that cannot be removed, because a goal that is not a literal names them."""
        return frozenset().union(*(goal.objects for goal in self.goals if goal.literal is None))

    def without_objects(self, gone: Collection[str]) -> Problem:
        """The problem without these objects and without all facts, values and goals that name them."""
        lost = frozenset(gone)
        return replace(
            self,
            objects=tuple(own for own in self.objects if own[0] not in lost),
            facts=tuple(fact for fact in self.facts if not lost.intersection(fact[1:])),
            goals=tuple(goal for goal in self.goals if not lost & goal.objects),
            values=tuple(own for own in self.values if not lost & own[1]),
        )

    def without_goals(self, gone: Collection[Goal]) -> Problem:
        return replace(self, goals=tuple(goal for goal in self.goals if goal not in gone))

    def without_facts(self, gone: Collection[Fact]) -> Problem:
        return replace(self, facts=tuple(fact for fact in self.facts if fact not in gone))

    def with_facts(self, more: Iterable[Fact]) -> Problem:
        return replace(self, facts=tuple(dict.fromkeys((*self.facts, *more))))

    def text(self, name: str) -> str:
        """The problem as PDDL."""
        lines = [f"(define (problem {pddl_name(name)})", f"  (:domain {self.domain})"]
        lines += [f"  {part}" for part in self.rest if part.startswith("(:requirements")]
        if self.objects:
            lines += ["  (:objects", *(f"    {own} - {kind}" for own, kind in self.objects), "  )"]
        lines += ["  (:init", *(f"    {text_of(fact)}" for fact in self.facts)]
        lines += [*(f"    {text}" for text, _ in self.values), "  )"]
        lines += ["  (:goal (and", *(f"    {goal.text}" for goal in self.goals), "  ))"]
        lines += [f"  {part}" for part in self.rest if not part.startswith("(:requirements")]
        return "\n".join(lines) + "\n)\n"


def pddl_name(name: str) -> str:
    """A name that every PDDL parser accepts."""
    word = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")
    return word if word[:1].isalpha() else f"p-{word}"


def text_of(fact: Fact) -> str:
    return f"({' '.join(fact)})"


def read_problem(source: Source) -> Problem:
    """The parts of a problem that the translator has accepted."""
    tree = parse_tree(source)
    domain, objects, facts, goals = "", [], [], []
    values: list[tuple[str, frozenset[str]]] = []
    rest: list[str] = []
    for section in tree[2:]:
        if not isinstance(section, Block):
            raise InputFormatError(f"{section!r:.60} between the sections", where=source.path)
        if section.tag == ":domain":
            domain = str(section[1])
        elif section.tag == ":objects":
            objects += _typed(section)
        elif section.tag == ":init":
            for item in section[1:]:
                if not isinstance(item, Block) or item.tag == "not":
                    continue
                if item.tag == "=" and len(item) == 3:
                    values.append((_written(item), _words(item)))
                else:
                    facts.append(tuple(str(word) for word in item))
        elif section.tag == ":goal":
            goals = [_goal(part) for part in _conjuncts(section[1])]
        else:
            rest.append(_written(section))
    return Problem(
        domain,
        tuple(objects),
        tuple(dict.fromkeys(facts)),
        tuple(goals),
        tuple(values),
        tuple(rest),
    )


def _typed(section: Block) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    waiting: list[str] = []
    items = iter(section[1:])
    for item in items:
        if item == "-":
            kind = next(items)
            text = _written(kind) if isinstance(kind, Block) else str(kind)
            found += [(name, text) for name in waiting]
            waiting = []
        else:
            waiting.append(str(item))
    return found + [(name, "object") for name in waiting]


def _conjuncts(goal: object) -> list[Block]:
    assert isinstance(goal, Block)
    if goal.tag != "and":
        return [goal] if goal else []
    return [part for item in goal[1:] for part in _conjuncts(item)]


def _goal(part: Block) -> Goal:
    inner, positive = part, True
    if part.tag == "not" and len(part) == 2 and isinstance(part[1], Block):
        inner, positive = part[1], False
    plain = all(not isinstance(item, Block) for item in inner)
    is_literal = plain and inner.tag not in ("and", "or", "not", "imply", "forall", "exists", "=")
    literal = tuple(str(item) for item in inner) if is_literal else None
    return Goal(_written(part), _words(part), literal, positive)


def _words(block: Block) -> frozenset[str]:
    """The words that may be objects. Names of predicates among them only matter if an object has the same name."""
    found: set[str] = set()
    for inner in block.walk():
        found.update(str(item) for item in inner[1:] if not isinstance(item, Block))
    return frozenset(found)


def _written(item: object) -> str:
    if isinstance(item, Block):
        return f"({' '.join(_written(inner) for inner in item)})"
    return str(item)


# -- states of a task -----------------------------------------------------------------------------


def atoms_of(task: Task) -> dict[Fact, tuple[int, int]]:
    """Each atom that can change, with its variable and value."""
    found: dict[Fact, tuple[int, int]] = {}
    for variable, names in enumerate(task.fact_names):
        for value, name in enumerate(names):
            fact = parse_fact_name(name)
            if fact is None:
                continue
            atom = (fact.predicate, *fact.arguments)
            if fact.positive:
                found[atom] = (variable, value)
            else:
                found.setdefault(atom, (variable, -1))
    return found


def from_state(problem: Problem, task: Task, state: State) -> Problem:
    """The problem that starts in a state of its task; static facts stay unchanged."""
    known = atoms_of(task)
    values = state.values
    true = [
        fact
        for fact, (variable, value) in known.items()
        if value >= 0 and values[variable] == value
    ]
    constant = [fact for fact in problem.facts if fact not in known]
    order = {fact: place for place, fact in enumerate(problem.facts)}
    facts = sorted(
        dict.fromkeys([*constant, *true]), key=lambda fact: (order.get(fact, len(order)), fact)
    )
    return replace(problem, facts=tuple(facts))


__all__ = [
    "Fact",
    "Goal",
    "Problem",
    "atoms_of",
    "from_state",
    "pddl_name",
    "read_problem",
    "text_of",
]
