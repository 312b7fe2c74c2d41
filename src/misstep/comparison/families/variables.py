"""Conditions on states of models: bounds on single variables, and comparisons of two variables of one type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from misstep.campaigns.rows import Values
from misstep.comparison.families.words import harmless
from misstep.tasks.jani.task import JaniTask

MOST_THRESHOLDS = 24  # of a variable
MOST_PAIRS = 200
MOST_VARIABLES = 200


@dataclass(frozen=True)
class Bound:
    """`x >= c`; its negation is `x < c`, which for whole numbers is told as `x <= c - 1`."""

    variable: int
    name: str
    least: float
    whole: bool

    @property
    def text(self) -> str:
        return f"{self.name} >= {_number(self.least)}"

    @property
    def weight(self) -> int:
        return 1

    def holds(self, state: Values) -> bool:
        return state[self.variable] >= self.least

    def in_words(self, positive: bool) -> str:
        if positive:
            return self.text
        if self.whole:
            return f"{self.name} <= {_number(self.least - 1)}"
        return f"{self.name} < {_number(self.least)}"


@dataclass(frozen=True)
class Is:
    """A truth value, or a place of an automaton."""

    variable: int
    name: str
    value: int
    shown: str | None  # None of a truth value

    @property
    def text(self) -> str:
        return self.name if self.shown is None else f"{self.name} = {self.shown}"

    @property
    def weight(self) -> int:
        return 0

    def holds(self, state: Values) -> bool:
        return int(state[self.variable]) == self.value

    def in_words(self, positive: bool) -> str:
        if self.shown is None:
            return self.name if positive else f"not {self.name}"
        return f"{self.name} {'=' if positive else '!='} {self.shown}"


@dataclass(frozen=True)
class Compared:
    """`x <= y`, or `x < y`."""

    left: int
    right: int
    names: tuple[str, str]
    strict: bool

    @property
    def text(self) -> str:
        return f"{self.names[0]} {'<' if self.strict else '<='} {self.names[1]}"

    @property
    def weight(self) -> int:
        return 3

    def holds(self, state: Values) -> bool:
        left, right = state[self.left], state[self.right]
        return left < right if self.strict else left <= right

    def in_words(self, positive: bool) -> str:
        if positive:
            return self.text
        return f"{self.names[0]} {'>=' if self.strict else '>'} {self.names[1]}"


ModelCondition = Bound | Is | Compared


def model_conditions(task: JaniTask, states: Sequence[Values]) -> list[ModelCondition]:
    """The conditions on states of a model; bounds are values at which some of the states differ."""
    found: list[ModelCondition] = []
    numbers: list[int] = []
    for number, (given, kind, *_) in enumerate(task.variables[:MOST_VARIABLES]):
        places, name = task.places(given), harmless(given)
        values = sorted({state[number] for state in states})
        if kind == "bool" or places is not None:
            shown = [None, None] if places is None else list(map(harmless, places))
            options = [1] if places is None else [int(value) for value in values]
            found += [Is(number, name, value, shown[value]) for value in options[:MOST_THRESHOLDS]]
            continue
        numbers.append(number)
        whole = kind == "int"
        found += [Bound(number, name, float(least), whole) for least in _spread(values[1:], whole)]
    pairs = [
        (a, b) for a, b in combinations(numbers, 2) if task.variables[a][1] == task.variables[b][1]
    ]
    for a, b in pairs[:MOST_PAIRS]:
        names = (harmless(task.variables[a][0]), harmless(task.variables[b][0]))
        found += [Compared(a, b, names, strict) for strict in (False, True)]
    return found


def _spread(values: Sequence[float], whole: bool) -> Iterable[float]:
    """A limited number of the values, evenly spread; reals are rounded up to three digits if they stay distinct."""
    if len(values) > MOST_THRESHOLDS:
        step = len(values) / MOST_THRESHOLDS
        values = [values[int(k * step)] for k in range(MOST_THRESHOLDS)]
    return values if whole else sorted({float(f"{value:.3g}") for value in values})


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


__all__ = ["Bound", "Compared", "Is", "ModelCondition", "model_conditions"]
