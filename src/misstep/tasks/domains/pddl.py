"""Problems as data, and the text of their PDDL files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Fact = tuple[str, ...]  # the predicate, then its arguments


@dataclass(frozen=True)
class Problem:
    """A planning problem; its text lists everything in the order given here."""

    objects: Mapping[str, Sequence[str]]  # by type
    init: Sequence[Fact]
    goal: Sequence[Fact]
    costs: Mapping[Fact, int] | None = None  # None: no total-cost, every action costs one


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(1, count + 1)]


def render(problem: Problem, *, name: str, domain: str) -> str:
    return "\n".join(_lines(problem, name, domain)) + "\n"


def _lines(problem: Problem, name: str, domain: str) -> Iterator[str]:
    yield f"(define (problem {name})"
    yield f"  (:domain {domain})"
    yield "  (:objects"
    for kind, members in problem.objects.items():
        if members:
            yield f"    {' '.join(members)} - {kind}"
    yield "  )"
    yield "  (:init"
    if problem.costs is not None:
        yield "    (= (total-cost) 0)"
        for term, value in problem.costs.items():
            yield f"    (= {_atom(term)} {value})"
    for fact in problem.init:
        yield f"    {_atom(fact)}"
    yield "  )"
    yield "  (:goal (and"
    for fact in problem.goal:
        yield f"    {_atom(fact)}"
    yield "  ))"
    if problem.costs is not None:
        yield "  (:metric minimize (total-cost))"
    yield ")"


def _atom(fact: Fact) -> str:
    return f"({' '.join(fact)})"
