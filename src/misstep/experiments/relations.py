"""The condition of a claim on a number: `>= 0.9`, `== 0`, `between 0.76 and 0.96`.

A number from a sample has an interval. The condition holds for all of the interval, for none of it, or is left open.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from misstep.experiments.expressions import ExpressionError

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_SINGLE = re.compile(rf"\s*(>=|<=|==|>|<)\s*{_NUMBER}\s*")
_BETWEEN = re.compile(rf"\s*between\s+{_NUMBER}\s+and\s+{_NUMBER}\s*")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda x, y: x >= y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    "<": lambda x, y: x < y,
    "==": lambda x, y: x == y,
}


@dataclass(frozen=True)
class Relation:
    text: str
    holds: Callable[[float], bool]
    rises: bool | None  # holds for large numbers, for small ones, or in the middle
    edges: tuple[float, ...]

    def decide(self, value: float, low: float, high: float) -> bool | None:
        """Whether the condition holds for a value with its interval; None if the interval lies on both sides."""
        if self.rises is None and len(set(self.edges)) == 1:
            return self.holds(value)  # an equation, which no interval can satisfy
        at_ends = {self.holds(low), self.holds(high)}
        crosses = self.rises is None and any(low < edge < high for edge in self.edges)
        if len(at_ends) == 2 or crosses:
            return None
        return at_ends.pop()


def relation(text: str) -> Relation:
    single, between = _SINGLE.fullmatch(text), _BETWEEN.fullmatch(text)
    if single:
        test, bound = _TESTS[single[1]], float(single[2])
        rises = None if single[1] == "==" else single[1].startswith(">")
        return Relation(text, lambda x: test(x, bound), rises, (bound,))
    if between:
        low, high = float(between[1]), float(between[2])
        if low <= high:
            return Relation(text, lambda x: low <= x <= high, None, (low, high))
    raise ExpressionError("expected such as '>= 0.9', '== 0' or 'between 0.7 and 0.9'")


__all__ = ["Relation", "relation"]
