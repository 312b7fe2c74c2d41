"""The lifted view of a PDDL task: types, predicates, action schemas, objects and facts.

The translator's output is ground. Policies that generalise over a domain (ASNets, graph networks)
are built from the schemas instead, and meet the ground task through the names of its operators
and facts (`parse_operator_name`, `parse_fact_name`); names are in lower case on both sides.

Literals keep their textual order: the shape of an ASNet depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from plado import pddl

from misstep.errors import UnsupportedError
from misstep.tasks.pddl.names import FactName, GroundName, parse_fact_name, parse_operator_name
from misstep.tasks.pddl.plado_bridge import parse_pair, split_type
from misstep.tasks.pddl.text import Source


@dataclass(frozen=True)
class TypedName:
    """A parameter or object and its type; `types` has several entries for `(either ...)`."""

    name: str
    types: tuple[str, ...]

    @property
    def type(self) -> str:
        return self.types[0] if len(self.types) == 1 else f"(either {' '.join(self.types)})"


@dataclass(frozen=True)
class Predicate:
    name: str
    parameters: tuple[TypedName, ...]

    @property
    def arity(self) -> int:
        return len(self.parameters)


@dataclass(frozen=True, order=True)
class Atom:
    """A predicate over terms: objects, and in schemas also parameters (`?x`)."""

    predicate: str
    terms: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.terms))})"

    def ground(self, binding: dict[str, str]) -> Atom:
        return Atom(self.predicate, tuple(binding.get(term, term) for term in self.terms))


@dataclass(frozen=True, order=True)
class Literal:
    atom: Atom
    positive: bool = True

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f"(not {self.atom})"


@dataclass(frozen=True)
class Schema:
    """An action schema.

    `unsupported` names what its formulas contain beyond conjunctions of literals (such as "or",
    "forall", "when"). The literals of those parts are listed too, in place, so that every atom the
    schema mentions is there; but then the lists are not the whole meaning of the schema. In
    particular `effect` holds the conditions of conditional effects; `affected` has only the
    predicates that the schema changes.
    """

    name: str
    parameters: tuple[TypedName, ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]
    affected: frozenset[str]
    unsupported: tuple[str, ...] = ()

    @property
    def normalised(self) -> bool:
        """Whether the precondition and the effect are plain conjunctions of literals."""
        return not self.unsupported

    def binding(self, arguments: Iterable[str]) -> dict[str, str]:
        """Parameter to object, for a ground operator of this schema."""
        names = (parameter.name for parameter in self.parameters)
        return dict(zip(names, arguments, strict=True))


@dataclass(frozen=True)
class LiftedTask:
    """A PDDL task as written, before grounding."""

    domain_name: str
    problem_name: str
    types: dict[str, str | None]
    """Each type and its parent; `object` has none."""
    predicates: tuple[Predicate, ...]
    constants: tuple[TypedName, ...]
    objects: tuple[TypedName, ...]
    """The constants of the domain first, then the objects of the problem."""
    schemas: tuple[Schema, ...]
    init: tuple[Atom, ...]
    goal: tuple[Literal, ...]
    unsupported_goal: tuple[str, ...] = ()
    derived: frozenset[str] = field(default=frozenset())
    """Predicates defined by axioms."""

    @cached_property
    def fluent_predicates(self) -> frozenset[str]:
        """Predicates whose facts can change."""
        return self.derived.union(*(schema.affected for schema in self.schemas))

    @cached_property
    def static_facts(self) -> tuple[Atom, ...]:
        """The facts of the initial state that hold in every state."""
        return tuple(atom for atom in self.init if atom.predicate not in self.fluent_predicates)

    def schema(self, name: str) -> Schema:
        return self._schemas_by_name[name]

    @cached_property
    def _schemas_by_name(self) -> dict[str, Schema]:
        return {schema.name: schema for schema in self.schemas}

    def supertypes(self, name: str) -> tuple[str, ...]:
        """The type, its parent, and so on up to `object`."""
        chain: list[str] = []
        current: str | None = name
        while current is not None and current not in chain:
            chain.append(current)
            current = self.types.get(current)
        return tuple(chain)


def lift(domain: Source, problem: Source) -> LiftedTask:
    """The lifted view of a task from its two files."""
    parsed, instance = parse_pair(domain, problem)
    types: dict[str, str | None] = {"object": None}
    for kind in parsed.types:
        types.setdefault(kind.name, kind.parent_type_name)
    for parent in [parent for parent in types.values() if parent is not None]:
        # Like the translator: a parent that is only mentioned is a type all the same.
        types.setdefault(parent, "object")
    constants = _typed(parsed.constants)
    goal, unsupported_goal = _literals(instance.goal, problem)
    return LiftedTask(
        domain_name=parsed.name,
        problem_name=instance.name,
        types=types,
        predicates=tuple(Predicate(p.name, _typed(p.parameters)) for p in parsed.predicates),
        constants=constants,
        objects=constants + _typed(instance.objects),
        schemas=tuple(_schema(action, domain) for action in parsed.actions),
        # Without repetitions, first occurrence first. Costs of actions are not facts.
        init=tuple(dict.fromkeys(_atom(a) for a in instance.initial if isinstance(a, pddl.Atom))),
        goal=goal,
        unsupported_goal=unsupported_goal,
        derived=frozenset(d.predicate.name for d in parsed.derived_predicates),
    )


def _typed(definitions: Iterable[Any]) -> tuple[TypedName, ...]:
    return tuple(TypedName(d.name, split_type(d.type_name)) for d in definitions)


def _atom(atom: Any) -> Atom:
    return Atom(atom.name, tuple(argument.name for argument in atom.arguments))


def _schema(action: Any, source: Source) -> Schema:
    before, odd_before = _literals(action.precondition, source)
    after, odd_after = _literals(action.effect, source)
    return Schema(
        name=action.name,
        parameters=_typed(action.parameters),
        precondition=before,
        effect=after,
        affected=frozenset(_affected(action.effect)),
        unsupported=tuple(dict.fromkeys(odd_before + odd_after)),
    )


def _affected(effect: Any) -> Iterator[str]:
    """The predicates that an effect changes, without those in its conditions."""
    match effect:
        case pddl.AtomEffect():
            yield effect.name
        case pddl.NegativeEffect():
            yield effect.atom.name
        case pddl.ConjunctiveEffect():
            for part in effect.effects:
                yield from _affected(part)
        case pddl.UniversalEffect() | pddl.ConditionalEffect():
            yield from _affected(effect.effect)


def _literals(root: Any, source: Source) -> tuple[tuple[Literal, ...], tuple[str, ...]]:
    """The literals of a condition or effect in textual order, and the names of its unsupported parts."""
    unsupported: dict[str, None] = {}
    literals = tuple(_walk(root, True, unsupported, source))
    return literals, tuple(unsupported)


def _walk(
    node: Any, positive: bool, unsupported: dict[str, None], source: Source
) -> Iterator[Literal]:
    children: Iterable[Any] = ()
    match node:
        case None | pddl.Truth():
            pass
        case pddl.Atom() | pddl.AtomEffect():
            yield Literal(_atom(node), positive)
        case pddl.NegativeEffect():
            yield Literal(_atom(node.atom), not positive)
        case pddl.Negation():
            positive, children = not positive, (node.sub_formula,)
        case pddl.Conjunction() | pddl.Disjunction():
            children = node.sub_formulas
            # A negation exchanges the two.
            if isinstance(node, pddl.Conjunction) != positive and len(children) > 1:
                unsupported["or"] = None
        case pddl.Quantification():
            children = (node.sub_formula,)
            unsupported["forall" if isinstance(node, pddl.Forall) == positive else "exists"] = None
        case pddl.ConjunctiveEffect():
            children = node.effects
        case pddl.UniversalEffect():
            children = (node.effect,)
            unsupported["forall"] = None
        case pddl.ConditionalEffect():
            unsupported["when"] = None
            yield from _walk(node.condition, True, unsupported, source)
            children = (node.effect,)
        case pddl.NumericEffect():
            if node.variable.name != "total-cost":
                unsupported["numeric"] = None
        case pddl.NumericComparison():
            unsupported["numeric"] = None
        case _:
            raise UnsupportedError(f"{type(node).__name__} has no lifted view", where=source.path)
    for child in children:
        yield from _walk(child, positive, unsupported, source)


__all__ = [
    "Atom",
    "FactName",
    "GroundName",
    "LiftedTask",
    "Literal",
    "Predicate",
    "Schema",
    "TypedName",
    "lift",
    "parse_fact_name",
    "parse_operator_name",
]
