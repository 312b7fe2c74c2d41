"""A task as a graph: wlplan's instance learning graph ("ilg").

Nodes are the objects, the atoms of the goal, and the atoms that are true. An edge joins an atom with each of its
arguments and is labelled with the position. The kind of a node is a number: 0 for an object; for an atom of predicate
number p it is 1 + 5p plus one of TRUE_GOAL, FALSE_GOAL (for goals), their negative counterparts, or PLAIN. As in
wlplan, negative goals have no edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from misstep.errors import UnsupportedError
from misstep.policies.wl.model_file import WlModel
from misstep.tasks.pddl.lifted import Atom, LiftedTask
from misstep.tasks.pddl.names import parse_fact_name
from misstep.tasks.task import Task

OBJECT = 0
TRUE_GOAL, FALSE_GOAL, TRUE_NEGATIVE, FALSE_NEGATIVE, PLAIN = range(5)
STATICS = ("auto", "all", "none")
Terms = tuple[int, ...]


class Node(NamedTuple):
    is_a: int
    terms: Terms = ()


class Fact(NamedTuple):
    """What a value of a variable adds to the graph: nothing, the truth of the goal node `goal`, or a new node."""

    is_a: int | None = None
    goal: int = -1
    terms: Terms = ()


@dataclass
class Layout:
    """The nodes of all states (objects, goals, atoms that never change), and what each fact adds."""

    objects: int
    nodes: list[Node] = field(default_factory=list)
    facts: list[list[Fact]] = field(default_factory=list)
    """By variable and value."""

    def graph(self, values: Sequence[int]) -> list[Node]:
        """The nodes of a state."""
        nodes = list(self.nodes)
        for facts, value in zip(self.facts, values, strict=True):
            fact = facts[value]
            if fact.is_a is not None and fact.goal >= 0:
                nodes[fact.goal] = nodes[fact.goal]._replace(is_a=fact.is_a)
            elif fact.is_a is not None:
                nodes.append(Node(fact.is_a, fact.terms))
        return nodes


def is_a(predicate: int, role: int) -> int:
    return 1 + 5 * predicate + role


def layout_of(
    task: Task,
    predicates: Sequence[tuple[str, int]],
    *,
    statics: str = "all",
    known: Mapping[int, int] | None = None,
) -> Layout:
    """`predicates`: the ranker's, in its order. `statics`: which of the atoms that never change become nodes; `auto`
    takes those whose colour is `known`."""
    lifted = task.lifted
    number = {name: index for index, (name, _) in enumerate(predicates)}
    index = {named.name: place for place, named in enumerate(lifted.objects)}
    layout = Layout(len(index), [Node(OBJECT)] * len(index))
    changing = [[_atom(name) for name in names] for names in task.fact_names]
    variable = {atom for atoms in changing for atom in atoms if atom is not None}
    always = [atom for atom in lifted.init if atom not in variable]
    goals: dict[Atom, int] = {}
    for literal in lifted.goal:
        atom = literal.atom
        if atom in goals:
            continue
        roles = (TRUE_GOAL, FALSE_GOAL) if literal.positive else (TRUE_NEGATIVE, FALSE_NEGATIVE)
        goals[atom] = len(layout.nodes)
        terms = tuple(index[term] for term in atom.terms) if literal.positive else ()
        layout.nodes.append(Node(is_a(number[atom.predicate], roles[atom not in always]), terms))
    for atom in always:
        if atom in goals or atom.predicate not in number or statics == "none":
            continue
        node = Node(is_a(number[atom.predicate], PLAIN), tuple(index[term] for term in atom.terms))
        if statics == "all" or known is None or node.is_a in known:
            layout.nodes.append(node)
    positive = {literal.atom for literal in lifted.goal if literal.positive}
    seen: set[Atom] = set()
    for atoms in changing:
        row: list[Fact] = []
        for found in atoms:
            if found is None or found in seen:  # an atom in a second variable counts once
                row.append(Fact())
                continue
            seen.add(found)
            p = number[found.predicate]
            if found in goals:
                role = TRUE_GOAL if found in positive else TRUE_NEGATIVE
                row.append(Fact(is_a(p, role), goals[found]))
            else:
                row.append(Fact(is_a(p, PLAIN), terms=tuple(index[t] for t in found.terms)))
        layout.facts.append(row)
    return layout


def _atom(name: str) -> Atom | None:
    fact = parse_fact_name(name)
    return Atom(fact.predicate, fact.arguments) if fact is not None and fact.positive else None


def require_domain(model: WlModel, lifted: LiftedTask, where: str) -> None:
    """Refuse a task of another domain, saying what differs."""
    if lifted.unsupported_goal:
        raise UnsupportedError(
            f"the goal of {lifted.problem_name} contains {lifted.unsupported_goal[0]}",
            where=where,
            expected="a conjunction of atoms: a ranker sees nothing else",
        )
    declared = {predicate.name: predicate.arity for predicate in lifted.predicates}
    known = dict(model.predicates)
    told = None
    for name, arity in model.predicates:
        if declared.get(name) != arity:
            has = f"has {declared[name]} arguments there" if name in declared else "is not there"
            told = f"its predicate {name}/{arity} {has}"
            break
    needed = sorted(lifted.fluent_predicates | {literal.atom.predicate for literal in lifted.goal})
    missing = [name for name in needed if name not in known]
    if told is None and missing:
        told = f"it does not know the predicate {missing[0]}"
    if told is not None:
        raise UnsupportedError(
            f"the ranker is of the domain {model.domain}, and the task of {lifted.domain_name}: {told}",
            where=where,
            expected=f"a ranker of {lifted.domain_name}",
        )


__all__ = ["STATICS", "Fact", "Layout", "Node", "is_a", "layout_of", "require_domain"]
