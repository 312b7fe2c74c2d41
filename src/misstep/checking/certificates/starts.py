"""All start states of a model, listed by the checker itself.

A certificate has to contain every start, so they have to be listed independently of the engine. Variables get
values one after the other. The start condition is a conjunction, and each conjunct is evaluated as soon as it can be:
evaluating one that reads a variable without a value says which one it is, and the conjunct waits for that variable. A
comparison of sums of whole numbers is also checked before: it fails if the bounds of the variables without a value
leave no way to fulfil it. At the end the whole condition is tested once more.

Starts cannot be listed if a real variable is not given one value, if an integer variable has no bounds, or if it takes
too many steps. Then nothing is proven, and the checker says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from misstep.checking.jani.errors import ModelError
from misstep.checking.jani.expressions import (
    Function,
    compile_expression,
    condition,
    fixed_value,
)
from misstep.checking.jani.nodes import Node, optional
from misstep.checking.jani.operators import Scalar, Value
from misstep.checking.jani.task import SafetyTask, State, is_unbounded

MAX_STEPS = 20_000_000  # values that are tried
Interval = tuple[int, int]


class TooManyStartsError(Exception):
    """The starts cannot be listed; the text says why."""


class _OpenError(Exception):
    """A variable that has no value yet is read."""

    def __init__(self, slot: int) -> None:
        super().__init__(slot)
        self.slot = slot


class _Partial(tuple[Any, ...]):
    """A state in which some variables have no value. A new one for each evaluation, as terms remember states."""

    __slots__ = ()

    def __getitem__(self, slot: Any) -> Any:
        value = tuple.__getitem__(self, slot)
        if value is None:
            raise _OpenError(slot)
        return value


def start_states(task: SafetyTask, max_steps: int = MAX_STEPS) -> Iterator[State]:
    """Every start, some perhaps twice. `TooManyStartsError` if they cannot be listed."""
    start = optional(task.property, "start")
    if optional(start, "op") == "states-values":
        return task.listed_starts(start)
    return _Listing(task, start, max_steps).all()


class _Listing:
    def __init__(self, task: SafetyTask, start: Node, max_steps: int) -> None:
        self.task = task
        self.steps_left = max_steps
        self.tests: list[Function] = []
        self.sums: list[_Comparison] = []
        self.domains: list[Sequence[Scalar]] = []
        # Restrictions of automata have names of their own, and are left to the last test.
        restricted = optional(task.model.document, "restrict-initial") if start is None else start
        conjuncts = list(_conjuncts(restricted))
        for node in conjuncts:
            self._add(node)
        pinned = dict(self._pinned(conjuncts))
        given = (
            start is None
        )  # the initial states of the model: variables with an initial value have it
        for number, slot in enumerate(task.model.slots):
            fixed = slot.initial is not None and (given or is_unbounded(slot.type))
            if fixed:
                assert slot.initial is not None
                self.domains.append([slot.initial])
            else:
                self.domains.append(self._domain(number, pinned.get(number)))

    def _add(self, node: Node) -> None:
        task = self.task
        if any(variable.transient for variable in task.model.variables):
            return  # what transient variables hold is known when the state is: left to the last test
        self.tests.append(condition(node, task.model.property_scope()))
        compared = _Comparison.of(node, self._integer)
        if compared is not None:
            self.sums.append(compared)

    def _cell(self, name: str) -> int | None:
        found = self.task.model.cells.get(name)
        return found if isinstance(found, int) and found < len(self.task.model.slots) else None

    def _integer(self, name: str) -> int | Interval | None:
        """The cell of an integer variable, or the value of an integer constant, twice."""
        cell = self._cell(name)
        if cell is not None:
            return cell if self.task.model.slots[cell].type.base == "int" else None
        operand = self.task.model.constants.names.get(name)
        value = None if operand is None else fixed_value(operand)
        return (value, value) if type(value) is int else None

    def _pinned(self, conjuncts: Sequence[Node]) -> Iterator[tuple[int, Scalar]]:
        """Variables that a conjunct gives a value."""
        for node in conjuncts:
            if optional(node, "op") != "=":
                continue
            sides = [optional(node, "left"), optional(node, "right")]
            for one, other in (sides, sides[::-1]):
                cell = self._cell(one) if isinstance(one, str) else None
                if cell is None:
                    continue
                base, value = self.task.model.slots[cell].type.base, self._constant(other)
                if type(value) is int or (type(value) is float and base == "real"):
                    yield cell, value

    def _constant(self, node: Node) -> Value | None:
        """The value of an expression that reads no variable."""
        try:
            return fixed_value(compile_expression(node, self.task.model.property_scope()))
        except ModelError:
            return None

    def _domain(self, number: int, pinned: Scalar | None) -> Sequence[Scalar]:
        slot = self.task.model.slots[number]
        kind = slot.type
        if kind.base == "bool":
            return [False, True]
        if pinned is not None:
            try:
                return [kind.read(pinned)]
            except ModelError:
                return []  # no value of the variable fulfils the condition
        if kind.base == "real":
            if kind.low is not None and kind.low == kind.high:
                return [kind.low]
            raise TooManyStartsError(
                f"the start condition leaves the real variable {slot.name!r} open"
            )
        if kind.low is None or kind.high is None:
            raise TooManyStartsError(f"the variable {slot.name!r} has no bounds")
        return range(int(kind.low), int(kind.high) + 1)

    def all(self) -> Iterator[State]:
        values: list[Scalar | None] = [None] * len(self.domains)
        waiting: list[list[Function]] = [[] for _ in self.domains]
        if self._settle(values, self.tests, waiting) is not None:
            yield from self._from(0, values, waiting)

    def _from(
        self, slot: int, values: list[Scalar | None], waiting: list[list[Function]]
    ) -> Iterator[State]:
        if slot == len(values):
            state = tuple(value for value in values if value is not None)
            if self.task.is_start(state):
                yield state
            return
        tests, waiting[slot] = waiting[slot], []
        for value in self.domains[slot]:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise TooManyStartsError("listing the starts takes too long")
            values[slot] = value
            moved = self._settle(values, tests, waiting)
            if moved is not None and all(own.possible(values, self.domains) for own in self.sums):
                yield from self._from(slot + 1, values, waiting)
            for place in reversed(moved or ()):
                waiting[place].pop()
        values[slot], waiting[slot] = None, tests

    @staticmethod
    def _settle(
        values: list[Scalar | None], tests: Sequence[Function], waiting: list[list[Function]]
    ) -> list[int] | None:
        """Evaluate tests; returns where the unevaluated ones wait. None if one fails, and then none waits."""
        moved: list[int] = []
        for test in tests:
            try:
                if test(_Partial(values)):
                    continue
            except _OpenError as found:
                waiting[found.slot].append(test)
                moved.append(found.slot)
                continue
            except ModelError:
                continue  # another conjunct may protect this one: the whole condition decides
            for place in reversed(moved):
                waiting[place].pop()
            return None
        return moved


def _conjuncts(node: Node) -> Iterator[Node]:
    """The conjuncts of a condition, without wrappers."""
    open_parts = [] if node is None else [node]
    while open_parts:
        part = open_parts.pop()
        op = optional(part, "op")
        if op == "∧":
            open_parts += [part["right"], part["left"]]
        elif op == "state-condition":
            if optional(part, "exp") is not None:
                open_parts.append(part["exp"])
        elif op is None and isinstance(part, Mapping) and ("exp" in part or "expression" in part):
            open_parts.append(part.get("exp", part.get("expression")))
        else:
            yield part


class _Comparison:
    """A comparison of sums of whole numbers: whether bounds leave a way to fulfil it."""

    def __init__(self, op: str, left: _Bounds, right: _Bounds, cells: frozenset[int]) -> None:
        self.op, self.left, self.right, self.cells = op, left, right, cells

    @staticmethod
    def of(node: Node, cell: Callable[[str], int | Interval | None]) -> _Comparison | None:
        op = optional(node, "op")
        if op not in ("=", "<", "≤", ">", "≥"):
            return None
        cells: set[int] = set()
        left, right = (_bounds(optional(node, key), cell, cells) for key in ("left", "right"))
        if left is None or right is None or len(cells) < 2:
            return None
        return _Comparison(op, left, right, frozenset(cells))

    def possible(self, values: list[Scalar | None], domains: list[Sequence[Scalar]]) -> bool:
        def bounds(cell: int) -> Interval:
            value = values[cell]
            if value is not None:
                return int(value), int(value)
            domain = domains[cell]
            return (int(domain[0]), int(domain[-1])) if len(domain) else (0, 0)

        (low, high), (least, most) = self.left(bounds), self.right(bounds)
        if self.op == "=":
            return low <= most and least <= high
        if self.op in ("<", "≤"):
            return low < most if self.op == "<" else low <= most
        return high > least if self.op == ">" else high >= least


_Bounds = Callable[[Callable[[int], Interval]], Interval]


def _bounds(
    node: Node, cell: Callable[[str], int | Interval | None], cells: set[int]
) -> _Bounds | None:
    """The range of an expression of sums and differences; None for other expressions."""
    if type(node) is int:
        return lambda _: (node, node)
    if isinstance(node, str):
        number = cell(node)
        if number is None:
            return None
        if isinstance(number, tuple):
            return lambda _: number
        cells.add(number)
        return lambda of: of(number)
    if optional(node, "op") not in ("+", "-"):
        return None
    left, right = (_bounds(optional(node, key), cell, cells) for key in ("left", "right"))
    if left is None or right is None:
        return None
    first, second, plus = left, right, node["op"] == "+"

    def both(of: Callable[[int], Interval]) -> Interval:
        (a, b), (c, d) = first(of), second(of)
        return (a + c, b + d) if plus else (a - d, b - c)

    return both


__all__ = ["MAX_STEPS", "TooManyStartsError", "start_states"]
