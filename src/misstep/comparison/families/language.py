"""The conditions to try for a signature: all that its domain can express, up to a size.

The number of conditions is bounded, and simple ones come first: in domains with many predicates, some combinations of
two properties are left out. The conditions depend only on the types of the tasks and the predicates of their goals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from misstep.comparison.families.conditions import (
    STATUS,
    Argument,
    Condition,
    Effect,
    Objects,
    OpenGoals,
    Plain,
    Possible,
    Property,
)
from misstep.comparison.families.ground import ANY, Ground
from misstep.tasks.pddl.lifted import LiftedTask

MOST_CONDITIONS = 1_200
MOST_KINDS = 10
MOST_PREDICATES = 40
MOST_PROPERTIES = 300  # of an object
MOST_PAIRED = 40  # of them that are combined
MOST_SHARED = 12  # pairs of arguments that two operators have in common
LONGEST = 3  # arguments of a predicate beyond which nothing is said about it
Kinds = tuple[str, ...]  # the alternatives of one parameter


@dataclass(frozen=True)
class Domain:
    """What all tasks of a domain share."""

    name: str
    predicates: dict[str, tuple[Kinds, ...]]
    schemas: dict[str, tuple[tuple[str, Kinds], ...]]  # parameters with their types
    above: dict[str, tuple[str, ...]]  # of a type: itself and its supertypes
    kinds: tuple[str, ...]  # types that objects have
    goals: frozenset[str]  # predicates that occur in goals
    pursued: frozenset[str]  # types of objects that a goal begins with

    def fits(self, kinds: Kinds, others: Kinds) -> bool:
        """Whether one object can be of both."""
        return any(a in self._above(b) or b in self._above(a) for a in kinds for b in others)

    def _above(self, kind: str) -> tuple[str, ...]:
        return self.above.get(kind, (kind, ANY))


def domain_of(grounds: Sequence[Ground]) -> Domain:
    """The domain of tasks that belong together."""
    lifted = grounds[0].lifted
    goals = frozenset(name for ground in grounds for name in ground.goals)
    if lifted is None:
        return _spelled_out(grounds, goals)
    kinds = dict.fromkeys(
        kind
        for ground in grounds
        for named in (ground.lifted.objects if ground.lifted is not None else ())
        for kind in named.types
    )
    predicates = {p.name: tuple(t.types for t in p.parameters) for p in lifted.predicates}
    pursued = frozenset(predicates[name][0][0] for name in goals if predicates.get(name))
    return Domain(
        lifted.domain_name,
        dict(islice(predicates.items(), MOST_PREDICATES)),
        {
            s.name: tuple((p.name.lstrip("?"), p.types) for p in s.parameters)
            for s in lifted.schemas
        },
        {kind: lifted.supertypes(kind) for kind in lifted.types},
        tuple(kinds)[:MOST_KINDS],
        goals,
        pursued,
    )


def _spelled_out(grounds: Sequence[Ground], goals: frozenset[str]) -> Domain:
    """Of SAS files: what their names say."""
    arities: dict[str, int] = {}
    schemas: dict[str, int] = {}
    for ground in grounds:
        for facts in ground.of_values:
            for fact in facts:
                if fact is not None:
                    arities[fact[0]] = max(arities.get(fact[0], 0), len(fact[1]))
        for op in range(ground.task.operator_count):
            schema, arguments = ground.operator(op)
            schemas[schema] = max(schemas.get(schema, 0), len(arguments))
    names = islice(sorted(arities), MOST_PREDICATES)
    return Domain(
        "",
        {name: ((ANY,),) * arities[name] for name in names},
        {name: tuple((str(k + 1), (ANY,)) for k in range(n)) for name, n in schemas.items()},
        {ANY: (ANY,)},
        (ANY,),
        goals,
        frozenset([ANY] if goals else ()),
    )


def domain_key(lifted: LiftedTask | None) -> str:
    """The key of a domain; tasks with the same key share families."""
    if lifted is None:
        return ""
    parts = [f"{p.name}/{p.arity}" for p in lifted.predicates]
    parts += [f"{s.name}({','.join(p.type for p in s.parameters)})" for s in lifted.schemas]
    return "\n".join([lifted.domain_name, *parts])


def conditions(domain: Domain, chosen: str | None, better: str | None) -> list[Condition]:
    """The conditions on decisions for the schema `chosen` where `better` would have been better."""
    given = [kinds for _, kinds in domain.schemas.get(chosen or "", ())]
    found: list[Condition] = [Plain(name) for name, own in domain.predicates.items() if not own]
    found += [OpenGoals(2), OpenGoals(3)]
    if chosen is not None:
        found += [Effect(undoes=False), Effect(undoes=True)]
    for i, kinds in enumerate(given):
        found += [Argument(i, own) for own in properties(domain, kinds, given, skip=i)]
    sets: list[Condition] = []
    for kind in domain.kinds:
        own = list(properties(domain, (kind,), given))
        singles = [(one,) for one in own]
        pairs = [pair for pair in combinations(own[:MOST_PAIRED], 2) if _worth_it(*pair)]
        for members in [*singles, *pairs]:
            sets += [Objects(kind, members, n) for n in (1, 2)]
    sets += _possible(domain, given, better)
    # Those with small weight first, in an order that depends only on the domain.
    sets.sort(key=lambda own: (own.weight, own.text))
    return [*found, *sets][:MOST_CONDITIONS]


def properties(
    domain: Domain, kinds: Kinds, given: Sequence[Kinds], skip: int | None = None
) -> Iterator[Property]:
    """The properties of an object of a type; `given` are the types of the arguments of the chosen operator."""
    return islice(_properties(domain, kinds, given, skip), MOST_PROPERTIES)


def _properties(
    domain: Domain, kinds: Kinds, given: Sequence[Kinds], skip: int | None
) -> Iterator[Property]:
    if domain.fits(kinds, tuple(domain.pursued)):
        yield from (Property(name, "status") for name in STATUS)
    for name, places in domain.predicates.items():
        if len(places) > LONGEST:
            continue
        for kind in ("atom", "goal") if name in domain.goals else ("atom",):
            for place, allowed in enumerate(places):
                if not domain.fits(kinds, allowed):
                    continue
                yield Property(name, kind, place, (), len(places))
                for other, wanted in enumerate(places):
                    for i, own in enumerate(given):
                        if other != place and i != skip and domain.fits(own, wanted):
                            yield Property(name, kind, place, ((other, i),), len(places))


def _worth_it(one: Property, two: Property) -> bool:
    """Whether to combine two properties: not two statuses, which exclude each other, nor one with its special case."""
    if one.kind == two.kind == "status":
        return False
    same = (one.name, one.kind, one.place) == (two.name, two.kind, two.place)
    return not (same and (not one.fixed or not two.fixed))


def _possible(domain: Domain, given: Sequence[Kinds], better: str | None) -> list[Condition]:
    if better is None or better not in domain.schemas:
        return []
    own = [kinds for _, kinds in domain.schemas[better]]
    shared = [(j, i) for j, a in enumerate(own) for i, b in enumerate(given) if domain.fits(a, b)]
    found: list[Possible] = [Possible(better), Possible(better, reaches=True)]
    if given:
        found.append(Possible(better, cheaper=True))
    parts: list[Possible] = []
    for j, kinds in enumerate(own):
        for one in properties(domain, kinds, given):
            parts.append(Possible(better, own=((j, one),)))
    for name in sorted(domain.goals & domain.predicates.keys()):
        places = domain.predicates[name]
        if len(places) == 2:
            for j, a in enumerate(own):
                for k, b in enumerate(own):
                    if j != k and domain.fits(a, places[0]) and domain.fits(b, places[1]):
                        parts.append(Possible(better, wanted=(name, (j, k))))
    found += parts
    for pair in shared[:MOST_SHARED]:
        found += [Possible(better, same=(pair,)), Possible(better, same=(pair,), reaches=True)]
        found.append(Possible(better, same=(pair,), cheaper=True))
        found += [
            Possible(better, (pair,), part.own, part.wanted)
            for part in parts[: MOST_PROPERTIES // 3]
            if part.wanted is not None or part.own[0][0] != pair[0] or part.own[0][1].weight == 0
        ]
    return list(found)


__all__ = ["Domain", "conditions", "domain_key", "domain_of", "properties"]
