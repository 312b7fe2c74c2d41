"""Actions that may fail at a price, as blocksworld and the n-puzzle have them.

Each thing that is moved has a cost. A move succeeds, or it fails and the cost of the thing goes up by
one. At the highest cost a move succeeds for sure, or, in the terminal variant, the thing cannot be
moved any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from misstep.errors import UsageError
from misstep.tasks.models.expressions import Expression, add, all_of, eq, le
from misstep.tasks.models.model import Edge, Outcome, sure
from misstep.tasks.parameters import Flag, Parameter

FAILURE = 0.5

PARAMETERS = (
    Parameter("max_cost", 2, 0, 100, "how often each thing can fail to move"),
    Flag("terminal", "a thing that failed this often cannot be moved any more"),
)


def check(max_cost: int, terminal: bool) -> None:
    if terminal and max_cost == 0:
        raise UsageError("terminal costs, and a highest cost of 0", expected="max_cost 1 or more")


def attempts(
    label: str,
    guard: Sequence[Expression],
    moved: Mapping[str, Expression],
    cost: str,
    max_cost: int,
    terminal: bool,
) -> Iterator[Edge]:
    """The edges of one move; `cost` is the variable of the thing that is moved."""
    if max_cost:
        failed = Outcome({cost: add(cost, 1)}, FAILURE)
        may_fail = all_of(*guard, le(cost, max_cost - 1))
        yield Edge(label, may_fail, [Outcome(moved, 1 - FAILURE), failed])
    if not terminal:
        yield sure(label, [*guard, eq(cost, max_cost)], **moved)
