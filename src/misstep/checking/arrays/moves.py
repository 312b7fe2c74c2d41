"""The effects of edges in many states at once: where a label leads, and in which states it applies.

Rows are states. The edges of a label are taken one combination after the other, each in the rows where its guards
hold; the results are blocks of rows with the values afterwards. Rows with any doubt are returned separately, and their
blocks mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep.checking.arrays.columns import (
    LARGEST,
    SMALLEST,
    Column,
    Columns,
    Doubt,
    Function,
    NotForArraysError,
    Operand,
    Term,
    converted,
    either,
    literal,
    spread,
    variable,
)
from misstep.checking.arrays.terms import Scope, compiled, condition, scalar
from misstep.checking.jani.declarations import Cells, Variable
from misstep.checking.jani.expressions import fixed_value
from misstep.checking.jani.model import Automaton, Model, Vector
from misstep.checking.jani.nodes import Node, items, member, optional
from misstep.checking.jani.steps import TOLERANCE, flat_cells
from misstep.checking.jani.types import Type

REMARKS = {"comment", "metadata"}
EDGE = {"location", "action", "guard", "destinations", "rate"} | REMARKS
DESTINATION = {"location", "probability", "assignments"} | REMARKS
ASSIGNMENT = {"ref", "value", "index"} | REMARKS
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Write:
    """An assignment: which cells it writes."""

    level: int
    target: Cells
    indices: tuple[Term, ...]
    values: tuple[Term, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Target:
    """A destination of an edge."""

    probability: Function
    location: int
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    guard: Function
    targets: tuple[Target, ...]
    possible: (
        tuple[Target, ...] | None
    )  # those of positive probability, where that is the same in all states


class Block(NamedTuple):
    """Rows, and the state after a step from each of them."""

    rows: Rows
    after: list[Column]


class Moves:
    def __init__(self, model: Model) -> None:
        if any(own.transient for own in model.variables):
            raise NotForArraysError("transient variables are left to the slow checker")
        self.model = model
        self.edges: list[dict[tuple[int, str | None], list[Edge]]] = []
        for automaton in model.automata:
            if any(items(own, "transient-values") for own in items(automaton.node, "locations")):
                raise NotForArraysError("transient values are left to the slow checker")
            self.edges.append(self._edges(automaton))

    # Reading

    def scope(self, owner: str | None) -> Scope:
        """The names that expressions of an automaton can use, or, without one, expressions of properties."""
        own = self.model.property_scope() if owner is None else self.model.scope(owner)
        constants = self.model.constants.names
        names: dict[str, Operand] = {
            name: literal(fixed_value(value)) for name, value in constants.items()
        }
        for found in self.model.variables:
            name = found.name if owner is None else found.bare
            if owner is None or found.owner in (None, owner):
                names[name] = _terms(self.model.cells[found.name], found.type)
        if names.keys() != own.names.keys():
            raise NotForArraysError("an automaton names something that is not known here")
        return Scope(names, own.functions)

    def _edges(self, automaton: Automaton) -> dict[tuple[int, str | None], list[Edge]]:
        scope = self.scope(automaton.name)
        found: dict[tuple[int, str | None], list[Edge]] = {}
        for node in items(automaton.node, "edges"):
            _refuse_others(node, EDGE)
            guard = optional(node, "guard")
            targets = tuple(
                self._target(own, automaton, scope) for own in items(node, "destinations")
            )
            test = condition(True if guard is None else guard, scope)
            edge = Edge(test, targets, _always_possible(targets))
            key = automaton.location(member(node, "location")), optional(node, "action")
            found.setdefault(key, []).append(edge)
        if {key: len(own) for key, own in found.items()} != {
            key: len(own) for key, own in automaton.edges.items()
        }:
            raise NotForArraysError("the edges of an automaton are read in another way")
        return found

    def _target(self, node: Node, automaton: Automaton, scope: Scope) -> Target:
        _refuse_others(node, DESTINATION)
        given = optional(node, "probability")
        return Target(
            converted(scalar(1.0 if given is None else given, scope), "real").value,
            automaton.location(member(node, "location")),
            tuple(self._write(own, automaton, scope) for own in items(node, "assignments")),
        )

    def _write(self, node: Node, automaton: Automaton, scope: Scope) -> Write:
        _refuse_others(node, ASSIGNMENT)
        reference = member(node, "ref")
        indices: list[Term] = []
        while isinstance(reference, dict) and optional(reference, "op") == "aa":
            indices.insert(0, converted(scalar(member(reference, "index"), scope), "int"))
            reference = member(reference, "exp")
        own = self._variable(reference, automaton)
        values = tuple(_flat(compiled(member(node, "value"), scope), own.type.base))
        single = Type(own.type.base, own.type.low, own.type.high)
        level = optional(node, "index") or 0
        return Write(level, self.model.cells[own.name], tuple(indices), values, single)

    def _variable(self, name: Node, automaton: Automaton) -> Variable:
        for own in self.model.variables:
            if own.bare == name and own.owner in (None, automaton.name):
                return own
        raise NotForArraysError(f"{name!r} is not a variable of {automaton.name!r}")

    # Steps

    def steps(self, columns: Columns, label: int) -> tuple[list[Block], Column]:
        """Where the label leads from each row, and which rows are in doubt."""
        count = len(columns[0])
        doubt = self.refused(columns)
        blocks: list[Block] = []
        for vector in self.model.vectors[label]:
            for edges, rows in self._enabled(vector, columns, doubt):
                blocks += self._fired(vector, edges, rows, columns, doubt)
        assert len(doubt) == count
        return blocks, doubt

    def applies(self, columns: Columns, label: int) -> tuple[Column, Column]:
        """In which rows the label applies, and which are in doubt. Bounds that disable edges are not looked at."""
        doubt = self.refused(columns)
        found = np.zeros(len(doubt), bool)
        for vector in self.model.vectors[label]:
            for _, rows in self._enabled(vector, columns, doubt):
                found[rows] = True
        return found, doubt

    def refused(self, columns: Columns) -> Column:
        """The rows where a silent step is possible that no label chooses, which is an error of the model."""
        doubt = np.zeros(len(columns[0]), bool)
        for vector in self.model.refused:
            for _, rows in self._enabled(vector, columns, doubt):
                doubt[rows] = True
        return doubt

    def _enabled(
        self, vector: Vector, columns: Columns, doubt: Column
    ) -> Iterator[tuple[Sequence[Edge], Rows]]:
        count = len(doubt)
        choices: list[list[tuple[Edge, Column]]] = []
        for number, action in vector:
            own: list[tuple[Edge, Column]] = []
            slot = self.model.automata[number].slot
            for (location, name), edges in self.edges[number].items():
                if name != action:
                    continue
                here = None if slot is None else columns[slot] == location
                for edge in edges:
                    holds, unsure = edge.guard(columns)
                    if here is not None:
                        holds = holds & here
                        unsure = False if unsure is False else unsure & here
                    if unsure is not False:
                        doubt |= unsure
                    holds = spread(holds, count)
                    if holds.any():
                        own.append((edge, holds))
            choices.append(own)
        for combination in product(*choices):
            mask = combination[0][1]
            for _, holds in combination[1:]:
                mask = mask & holds
            rows = np.flatnonzero(mask)
            if len(rows):
                yield [edge for edge, _ in combination], rows

    def _fired(
        self, vector: Vector, edges: Sequence[Edge], rows: Rows, columns: Columns, doubt: Column
    ) -> Iterator[Block]:
        own = [column[rows] for column in columns]
        choices = []
        for edge in edges:
            possible, unsure = _possible(edge, own)
            _note(doubt, rows, unsure)
            choices.append(possible)
        for combination in product(*choices):
            here, before = rows, own
            for _, holds in combination:
                if holds is not None:
                    chosen = np.isin(here, rows[holds])
                    here, before = here[chosen], [column[chosen] for column in before]
            if not len(here):
                continue
            targets = [target for target, _ in combination]
            after, unsure = _assigned(targets, before)
            _note(doubt, here, unsure)
            for (number, _), target in zip(vector, targets, strict=True):
                slot = self.model.automata[number].slot
                if slot is not None:
                    after[slot] = np.full(len(here), target.location, np.int64)
            yield Block(here, after)


def _note(doubt: Column, rows: Rows, unsure: Doubt) -> None:
    if unsure is not False:
        doubt[rows[spread(unsure, len(rows))]] = True


def _always_possible(targets: Sequence[Target]) -> tuple[Target, ...] | None:
    """The destinations of positive probability, if no probability depends on the state and all is well with them."""
    try:
        shares = [target.probability(()) for target in targets]
    except IndexError:  # it reads a variable
        return None
    values = [float(value) for value, _ in shares]
    if (
        any(doubt is not False and np.any(doubt) for _, doubt in shares)
        or min(values, default=0) < 0
    ):
        return None
    if not abs(sum(values) - 1) <= 0.5 * TOLERANCE:
        return None
    return tuple(target for target, value in zip(targets, values, strict=True) if value > 0)


def _possible(edge: Edge, columns: Columns) -> tuple[list[tuple[Target, Column | None]], Doubt]:
    """The destinations with the rows where they have a positive probability (None: all)."""
    if edge.possible is not None:
        return [(target, None) for target in edge.possible], False
    doubt: Doubt = False
    total: Column = np.zeros(())
    found: list[tuple[Target, Column | None]] = []
    for target in edge.targets:
        probability, unsure = target.probability(columns)
        doubt = either(either(doubt, unsure), probability < 0)
        total = total + probability
        found.append((target, spread(probability > 0, len(columns[0]))))
    # The slow checker adds in the same order; close to its tolerance it has the word.
    return found, either(doubt, ~(np.abs(total - 1) <= 0.5 * TOLERANCE))


def _assigned(targets: Sequence[Target], columns: Columns) -> tuple[list[Column], Doubt]:
    writes = [write for target in targets for write in target.writes]
    doubt: Doubt = False
    now = list(columns)
    for level in sorted({write.level for write in writes}):
        before, written = now, dict[int, Column | None]()
        now = list(before)
        for write in writes:
            if write.level == level:
                doubt = either(doubt, _carried_out(write, before, now, written))
    return now, doubt


def _carried_out(
    write: Write, before: Columns, now: list[Column], written: dict[int, Column | None]
) -> Doubt:
    """Write into `now` what an assignment makes of `before`; `written` says where cells were written already."""
    doubt: Doubt = False
    values = []
    for term in write.values:
        value, unsure = term.value(before)
        if write.type.base == "real":
            value = value + 0.0  # one zero only
        doubt = either(doubt, unsure)
        whole, low, high = write.type.base == "int", write.type.low, write.type.high
        if low is not None and not (whole and term.low >= low):
            doubt = either(doubt, value < low)
        if high is not None and not (whole and term.high <= high):
            doubt = either(doubt, value > high)
        values.append(value)
    places, outside = _places(write.target, write.indices, before)
    doubt = either(doubt, outside)
    for cells, where in places:
        for cell, value in zip(flat_cells(cells), values, strict=True):
            if cell in written:
                first = written[cell]
                both = first if where is None else where if first is None else first & where
                doubt = either(doubt, True if both is None else both)
            known = written.get(cell, where)
            written[cell] = None if known is None or where is None else known | where
            old = now[cell]
            new = spread(value, len(old)) if where is None else np.where(where, value, old)
            now[cell] = new.astype(old.dtype, copy=False)
    return doubt


def _places(
    target: Cells, indices: Sequence[Term], columns: Columns
) -> tuple[list[tuple[Cells, Column | None]], Doubt]:
    """The cells that indices name, each with the rows where they do (None: everywhere)."""
    found: list[tuple[Cells, Column | None]] = [(target, None)]
    doubt: Doubt = False
    for index in indices:
        at, unsure = index.value(columns)
        doubt = either(doubt, unsure)
        deeper: list[tuple[Cells, Column | None]] = []
        for cells, where in found:
            if not isinstance(cells, tuple):
                raise NotForArraysError("more indices than an array has")
            doubt = either(doubt, (at < 0) | (at >= len(cells)))
            for number, inner in enumerate(cells):
                here = at == number
                deeper.append((inner, np.asarray(here if where is None else where & here)))
        found = deeper
    return found, doubt


def _terms(cells: Cells, kind: Type) -> Operand:
    if isinstance(cells, tuple):
        return tuple(_terms(cell, kind) for cell in cells)
    if kind.base != "int":
        return variable(cells, kind.base)
    low = SMALLEST if kind.low is None else int(kind.low)
    return variable(cells, "int", low, LARGEST if kind.high is None else int(kind.high))


def _flat(operand: Operand, kind: str) -> Iterator[Term]:
    if isinstance(operand, tuple):
        for element in operand:
            yield from _flat(element, kind)
    else:
        yield converted(operand, kind)


def _refuse_others(node: Node, known: set[str]) -> None:
    """Anything that is not known here, such as later extensions of the format, is left to the slow checker."""
    if not isinstance(node, dict) or node.keys() - known:
        raise NotForArraysError("a part of an edge is not known here")


__all__ = ["Block", "Moves"]
