"""Validate bounds that are derived by dominance: operators and jumps from a state to a goal.

A jump from t to s claims h*(t) <= h*(s) - D(s,t). D is computed again here, from the tables as they were saved: a
state has an abstract state in each factor, found by a tree of look-ups; D is the sum of the entries of the factors'
tables, the largest over all factorings. It is not checked that the tables are a dominance function, only the bounds
that are computed from them.

The tables are numbers in little-endian order, 8 bytes each but for the entries of the tables themselves:

    factorings; for each: transitive, rounds, steps, factors; for each: variables (count, then each), size,
    fallback, length of the look-up, the look-up, 1 byte for the width (0: none, 1: 2, 2: 4, 3: 8 bytes), size^2
    entries look-up: nodes; for each: variable or -1, left, right, size of right, entries (count, then each; -1:
    pruned)
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from misstep.checking.plan import after, normalise, operators_of, step_name
from misstep.checking.sas import SasTask, State
from misstep.checking.semantics import check_state, is_goal, refuse_axioms

Summands = list[tuple[tuple[int, ...], int]]  # of each factor: its variables and its value


class Values(Protocol):
    """Gives D(dominated, dominating); None means minus infinity."""

    def value(self, dominated: State, dominating: State) -> int | None: ...

    def summands(self, dominated: State, dominating: State) -> list[Summands]:
        """The values of the factors, for each factoring whose factors all have a value."""


class TableError(ValueError):
    """The tables cannot be read."""


class _Node(NamedTuple):
    variable: int
    left: int
    right: int
    right_size: int
    entries: Sequence[int]


@dataclass(frozen=True)
class _Factor:
    variables: tuple[int, ...]
    nodes: tuple[_Node, ...]
    size: int
    table: Sequence[int] | None  # None: 0 for equal states, nothing for others
    nothing: int  # the entry for no value

    def abstract(self, state: State) -> int:
        return self._abstract(state, -1, {})

    def _abstract(self, state: State, node: int, known: dict[int, int]) -> int:
        """Each node once, also if a file lets many others lead to it."""
        if node not in known:
            found = self.nodes[node]
            if found.variable >= 0:
                known[node] = found.entries[state[found.variable]]
            else:
                left, right = (
                    self._abstract(state, own, known) for own in (found.left, found.right)
                )
                known[node] = (
                    -1 if min(left, right) < 0 else found.entries[left * found.right_size + right]
                )
        return known[node]

    def value(self, dominated: State, dominating: State) -> int | None:
        s, t = self.abstract(dominated), self.abstract(dominating)
        if min(s, t) < 0:
            return None
        if self.table is None:
            return 0 if s == t else None
        value = self.table[s * self.size + t]
        return None if value == self.nothing else value


class DominanceTables:
    """A dominance function as it was saved."""

    def __init__(self, data: bytes) -> None:
        try:
            reader = _Reader(data)
            self.factorings = [
                [_factor(reader) for _ in range(reader.numbers(4)[3])]
                for _ in range(reader.number())
            ]
        except (IndexError, KeyError, ValueError, OverflowError) as error:
            raise TableError(f"no dominance tables: {error}") from None
        if reader.left:
            raise TableError(f"no dominance tables: {reader.left} bytes too many")

    def value(self, dominated: State, dominating: State) -> int | None:
        """D(dominated, dominating); None: minus infinity."""
        found = self.summands(dominated, dominating)
        return max((sum(value for _, value in summands) for summands in found), default=None)

    def summands(self, dominated: State, dominating: State) -> list[Summands]:
        found = []
        for factors in self.factorings:
            values = [(f.variables, f.value(dominated, dominating)) for f in factors]
            known = [(variables, value) for variables, value in values if value is not None]
            if len(known) == len(values):
                found.append(known)
        return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, code: str, count: int) -> array[int]:
        values: array[int] = array(code)
        size = values.itemsize * count
        if count < 0 or size > self.left:
            raise ValueError("cut off")
        values.frombytes(self.data[self.at : self.at + size])
        if sys.byteorder == "big":
            values.byteswap()
        self.at += size
        return values

    def numbers(self, count: int) -> array[int]:
        return self.take("q", count)

    def number(self) -> int:
        return self.numbers(1)[0]


def _factor(reader: _Reader) -> _Factor:
    variables = tuple(reader.numbers(reader.number()))
    size, _, length = reader.numbers(3)
    lookup = reader.numbers(length)
    nodes, at = [], 1
    for _ in range(lookup[0]):
        variable, left, right, right_size, count = lookup[at : at + 5]
        nodes.append(_Node(variable, left, right, right_size, lookup[at + 5 : at + 5 + count]))
        at += 5 + count
    width = reader.take("b", 1)[0]
    if width == 0:
        return _Factor(variables, tuple(nodes), size, None, 0)
    code, bits = {1: ("h", 16), 2: ("i", 32), 3: ("q", 64)}[width]
    return _Factor(
        variables, tuple(nodes), size, reader.take(code, size * size), -(2 ** (bits - 1))
    )


@dataclass(frozen=True, slots=True)
class DerivationReport:
    """Whether the derivation holds, the bound that it proves, and otherwise the first error."""

    valid: bool
    bound: int
    reason: str = ""


def validate_derivation(
    task: SasTask,
    steps: Sequence[Mapping[str, Any]],
    *,
    state: Sequence[int],
    claimed_bound: int,
    tables: Values,
) -> DerivationReport:
    """Follow a derivation, a list of operators and jumps.

    `{"operator": NAME}` and `{"operator": NUMBER, "name": NAME}` apply an operator, `{"state": VALUES, "value": D}`
    jumps to a state. A jump may carry what its value is made of, `"factors": [{"variables": NUMBERS, "value": N},
    ...]`.
    """
    refuse_axioms(task)
    reached = [(check_state(task, state), 0)]
    for number, step in enumerate(steps, 1):
        if not _is_step(task, step):
            return DerivationReport(
                False, 0, f"step {number} is neither an operator nor a jump: {step}"
            )
    meant = iter(operators_of(task, [s["operator"] for s in steps if "operator" in s]))
    # Names need not be unique: some choice among the operators of each name has to prove the bound.
    for number, step in enumerate(steps, 1):
        bound = reached[0][1]
        if "operator" in step:
            reached = after(reached, next(meant))
            if not reached:
                name = step_name(task, step["operator"])
                reason = f"step {number} ({name}) does not apply"
                return DerivationReport(False, bound, reason)
            continue
        problems = [_jump_problem(step, here, tables) for here, _ in reached]
        if all(problems):
            return DerivationReport(False, bound, f"step {number} claims {problems[0]}")
        reached = list(
            dict.fromkeys(
                (tuple(step["state"]), spent - step["value"])
                for (_, spent), problem in zip(reached, problems, strict=True)
                if not problem
            )
        )
    bounds = [bound for here, bound in reached if is_goal(here, task)]
    if not bounds:
        return DerivationReport(False, reached[0][1], "it does not end in a goal")
    if claimed_bound not in bounds or claimed_bound < 0:
        return DerivationReport(False, bounds[0], f"it proves {bounds[0]}, not {claimed_bound}")
    return DerivationReport(True, claimed_bound)


def _jump_problem(step: Mapping[str, Any], here: State, tables: Values) -> str:
    """The claims of a jump from here that the tables do not support; empty if there are none."""
    dominated = tuple(step["state"])
    value = tables.value(dominated, here)
    if value is None or value != step["value"]:
        return f"a value of {step['value']}, it is {value}"
    if "factors" in step and not _makes_up(
        step["factors"], value, tables.summands(dominated, here)
    ):
        return f"{step['factors']} by factor, the tables do not"
    return ""


def _is_step(task: SasTask, step: Any) -> bool:
    """Whether the step is well-formed; records are files, and files can be changed."""
    if not isinstance(step, Mapping):
        return False
    if "operator" in step:
        operator = step["operator"]
        if type(operator) is not int:
            return isinstance(operator, str)
        name = step.get("name")
        return isinstance(name, str) and normalise(name) == step_name(task, operator)
    state = step.get("state")
    return (
        isinstance(step.get("value"), int)
        and isinstance(state, Sequence)
        and len(state) == len(task.variables)
        and all(
            isinstance(value, int) and 0 <= value < len(variable.values)
            for value, variable in zip(state, task.variables, strict=True)
        )
    )


def _makes_up(factors: Any, value: int, known: Sequence[Summands]) -> bool:
    """Whether these are the summands of a factoring that gives the value; several factorings may give it."""
    return any(
        factors == [{"variables": list(variables), "value": part} for variables, part in summands]
        for summands in known
        if sum(part for _, part in summands) == value
    )


__all__ = ["DerivationReport", "DominanceTables", "TableError", "validate_derivation"]
