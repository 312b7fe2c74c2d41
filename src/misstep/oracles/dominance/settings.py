"""How a dominance function is made."""

from __future__ import annotations

from dataclasses import dataclass

from misstep.errors import UsageError
from misstep.ranges import MOST, check_whole
from misstep.tasks.task import Task


@dataclass(frozen=True)
class DominanceSettings:
    """Which factors, which simulation, and how much work.

    By default there are two factorings, and D is the larger of their values: one with a factor per variable, and one
    with factors merged as far as the limits allow. Merged factors use exact label reduction together with exact
    shrinking, because each alone gains little.
    """

    atomic: bool = True
    merged: bool = True
    limit_states: int = 50_000  # of a product of two factors
    limit_transitions: int = 10_000
    reduce_labels: bool = True  # in the merged factors
    shrink: bool = True  # in the merged factors
    prune_unreachable: bool = True  # False: also about states that cannot be reached

    strict: bool = True  # internal moves are answered by internal moves; False has no proof
    recursive_tau: bool = True
    noop_tau: bool = False  # stronger, without a proof
    truncate: int | None = None  # lower values count as nothing; None: from the costs
    drops: int = 200  # values of a row that falls more often count as nothing

    steps: int = 2_000_000_000  # of merging, and of each factor; about one table entry read each
    cells: int = 2**24  # entries of a factor's table
    seconds: float | None = None  # a safety net: results depend on the machine if it is needed
    threads: int = 1  # no influence on the result

    def __post_init__(self) -> None:
        if not (self.atomic or self.merged):
            raise UsageError(
                "no factors to build a dominance function from", expected="atomic or merged"
            )
        for name in ("limit_states", "limit_transitions", "drops", "steps", "cells", "threads"):
            most = 2**31 - 1 if name in ("drops", "threads") else MOST
            check_whole(name, getattr(self, name), 1, most)
        if self.truncate is not None:
            check_whole("truncate", self.truncate, 0)
        if self.seconds is not None and not (
            type(self.seconds) in (int, float) and self.seconds >= 0
        ):
            raise UsageError(f"seconds is {self.seconds!r:.40}", expected="0 or more, or None")

    def truncate_for(self, task: Task) -> int:
        """Far below the values that matter: fifty times the dearest operator, and at least 1000."""
        if self.truncate is not None:
            return self.truncate
        costs = (task.cost(op) for op in range(task.operator_count))
        return max(1000, 50 * max(costs, default=0))


__all__ = ["DominanceSettings"]
