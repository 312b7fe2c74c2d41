"""Evaluate many conditions on one decision at once with arrays; `Condition.holds` does it one by one.

A campaign has thousands of decisions and a domain a thousand conditions, and nearly all conditions are made of the same
few parts: properties of objects, and what two operators have in common. So for each decision the parts are looked up
once, as rows of packed bits with one bit per object or applicable operator; a condition is an intersection of rows.
`holds` is the definition; the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from misstep.comparison.families.conditions import (
    Condition,
    Decided,
    Objects,
    Possible,
    Property,
)
from misstep.comparison.families.ground import Ground
from misstep.comparison.families.learn import Bits, Truth, count

Places = NDArray[np.int64]
ALL = "all"  # the part that every object, or every operator, has
SAME, OWN, WANTED, REACHES, CHEAPER = range(5)  # sorts of parts of `Possible`


class _Parts:
    """Different parts, numbered; row 0 is the one that everything has."""

    def __init__(self) -> None:
        self.places: dict[Hashable, int] = {ALL: 0}

    def place(self, part: Hashable) -> int:
        return self.places.setdefault(part, len(self.places))

    @staticmethod
    def table(rows: Sequence[Sequence[int]]) -> Places:
        """Which parts each condition has, filled up with the one that everything has."""
        width = max(map(len, rows), default=0)
        return np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)


def _meet(rows: Bits, table: Places) -> Bits:
    """The intersection of the rows that the table names, a line each."""
    found: Bits = rows[table[:, 0]]
    for column in range(1, table.shape[1]):
        found &= rows[table[:, column]]
    return found


class Sheet:
    """Conditions, ready to be asked of many decisions."""

    def __init__(self, tried: Sequence[Condition]) -> None:
        self.tried = list(tried)
        self._properties: dict[Property, int] = {}
        self._others = [
            (column, own)
            for column, own in enumerate(tried)
            if not isinstance(own, (Objects, Possible))
        ]
        self._add_objects()
        self._add_possible()
        self._goals: dict[tuple[int, str], set[tuple[int, ...]]] = {}
        self._wanted_rows: dict[tuple[int, int], list[bool]] = {}

    def truth(self, decided: Sequence[Decided]) -> Truth:
        """A decision a row, a condition a column."""
        found = np.zeros((len(decided), len(self.tried)), dtype=np.bool_)
        for row, own in enumerate(decided):
            self._fill(own, found[row])
        return found

    def _property(self, own: Property) -> int:
        return self._properties.setdefault(own, len(self._properties))

    def _add_objects(self) -> None:
        columns, at_least, rows, parts = [], [], [], _Parts()
        for column, own in enumerate(self.tried):
            if isinstance(own, Objects):
                columns.append(column)
                at_least.append(own.at_least)
                names = [("kind", own.kind), *(("own", one) for one in own.own)]
                rows.append([parts.place(name) for name in names])
        self._sets_columns = np.array(columns, dtype=np.int64)
        self._sets_least = np.array(at_least, dtype=np.int64)
        self._sets_table = parts.table(rows)
        self._sets_parts: list[tuple[str, str | Property]] = [
            part for part in parts.places if isinstance(part, tuple)
        ]

    def _add_possible(self) -> None:
        columns, rows, parts = [], [], _Parts()
        schemas = {own.schema for own in self.tried if isinstance(own, Possible)}
        if len(schemas) > 1:
            raise ValueError("conditions on operators of more than one schema")
        self._schema = next(iter(schemas), None)
        for column, own in enumerate(self.tried):
            if isinstance(own, Possible):
                names: list[Hashable] = [(SAME, pair) for pair in own.same]
                names += [(OWN, j, self._property(one)) for j, one in own.own]
                names += [(WANTED, own.wanted)] * (own.wanted is not None)
                names += [(REACHES,)] * own.reaches + [(CHEAPER,)] * own.cheaper
                columns.append(column)
                rows.append([0, *(parts.place(name) for name in names)])
        self._possible_columns = np.array(columns, dtype=np.int64)
        self._possible_table = parts.table(rows)
        self._add_parts(parts)

    def _add_parts(self, parts: _Parts) -> None:
        """The parts by sorts, each with the row that it fills."""
        self._part_count = len(parts.places)
        self._same: list[tuple[int, int, int]] = []
        self._wanted: list[tuple[str, tuple[int, ...]]] = []
        self._wanted_at: list[int] = []
        self._reaches: list[int] = []
        self._cheaper: list[int] = []
        own: list[tuple[int, int, int]] = []
        for part, row in parts.places.items():
            match part:
                case (sort, (int(j), int(i))) if sort == SAME:
                    self._same.append((row, j, i))
                case (sort, int(j), int(number)) if sort == OWN:
                    own.append((row, j, number))
                case (sort, (str(name), tuple(places))) if sort == WANTED:
                    self._wanted_at.append(row)
                    self._wanted.append((name, places))
                case (sort,) if sort == REACHES:
                    self._reaches.append(row)
                case (sort,) if sort == CHEAPER:
                    self._cheaper.append(row)
        columns = np.array(own, dtype=np.int64).reshape(len(own), 3).T
        self._own_rows, self._own_places, self._own_numbers = columns

    # -- one decision -----------------------------------------------------------------------------

    def _fill(self, decided: Decided, row: Truth) -> None:
        for column, own in self._others:
            row[column] = own.holds(decided)
        if len(self._sets_columns):
            row[self._sets_columns] = self._sets(decided)
        if self._schema is not None:
            row[self._possible_columns] = self._possible(decided)

    def _sets(self, decided: Decided) -> Truth:
        ground = decided.scene.ground
        others = decided.others
        sets = [others]
        for sort, part in self._sets_parts:
            if isinstance(part, Property):
                sets.append(decided.objects(part))
            else:
                sets.append(others & ground.kinds.get(part, 0) if sort == "kind" else 0)
        found = count(_meet(_rows(sets, len(ground.objects)), self._sets_table))
        enough: Truth = found >= self._sets_least
        return enough

    def _possible(self, decided: Decided) -> Truth | bool:
        scene, ground = decided.scene, decided.scene.ground
        operators = scene.applicable(self._schema or "")
        if not operators:
            return False
        arguments = [ground.operator(op)[1] for op in operators]
        given = decided.arguments
        holds = np.zeros((self._part_count, len(operators)), dtype=np.bool_)
        holds[0] = True
        # A place that an operator does not have is filled with an object that has no property.
        nobody, width = len(ground.objects), max(map(len, arguments))
        table = np.array([[*own, *[nobody] * (width - len(own))] for own in arguments])
        table = table.reshape(len(operators), width).T
        for row, j, i in self._same:
            if j < width and i < len(given):
                holds[row] = table[j] == given[i]
        if len(self._own_rows) and width:
            bits = _rows([decided.objects(own) for own in self._properties], nobody + 1)
            facts = np.unpackbits(bits, axis=1, bitorder="little").view(np.bool_)
            there = self._own_places < width
            places = np.minimum(self._own_places, width - 1)
            own = facts[self._own_numbers[:, None], table[places]]
            holds[self._own_rows] = own & there[:, None]
        if self._wanted_at:
            holds[self._wanted_at] = np.array([self._asked(ground, op) for op in operators]).T
        for row in self._reaches:
            holds[row] = [scene.reaches_goal(op) for op in operators]
        if self._cheaper and decided.operator is not None:
            cost = ground.task.cost
            most = cost(decided.operator)
            holds[self._cheaper] = [cost(op) < most for op in operators]
        fitting = _meet(np.packbits(holds, axis=1), self._possible_table)
        found: Truth = fitting.max(axis=1) > 0
        return found

    def _asked(self, ground: Ground, operator: int) -> list[bool]:
        """Whether the goal asks for what each condition wants of the operator's arguments: the same in all states."""
        key = (id(ground), operator)
        found = self._wanted_rows.get(key)
        if found is None:
            arguments = ground.operator(operator)[1]
            found = self._wanted_rows[key] = [
                max(places) < len(arguments)
                and tuple(arguments[j] for j in places) in self._goal(ground, name)
                for name, places in self._wanted
            ]
        return found

    def _goal(self, ground: Ground, name: str) -> set[tuple[int, ...]]:
        key = (id(ground), name)
        if key not in self._goals:
            self._goals[key] = set(ground.goals.get(name, ()))
        return self._goals[key]


def _rows(sets: Sequence[int], size: int) -> Bits:
    """Sets of numbers below `size` as rows of packed bits."""
    width = size // 8 + 1
    joined = b"".join(own.to_bytes(width, "little") for own in sets)
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(sets), width)


__all__ = ["Sheet"]
