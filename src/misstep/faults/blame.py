"""The decisions of a run that are to blame, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from misstep.faults.distances import Distances
from misstep.runs.runner import Trace


class FoundFault(NamedTuple):
    """A decision that is proven to lose something. A loss of None is infinite; a decision of None is to stop."""

    step: int
    state: tuple[int, ...]
    decision: int | None
    better: int | None  # None: a derivation proves that there is something, but not what
    low: int | None
    high: int | None
    share: float | None  # of the gap; None: not all losses of the run are known
    recurring: bool


def find_faults(trace: Trace, plan: Sequence[int] | None, known: Distances) -> Iterator[FoundFault]:
    """The proven faults of a run, in its order; `plan` is a better plan from its start, if there is one."""
    if plan is not None:
        known.add_path(trace.states[0], plan)
    regrets = known.regrets(trace)
    shares = regrets.shares()
    for fault in sorted(regrets.faults, key=lambda own: own.step):
        # The least cost after this decision: a plan of that cost would not be better.
        below = math.inf if fault.idle else known.upper(fault.state) + fault.low
        yield FoundFault(
            fault.step,
            tuple(fault.state.values),
            fault.operator,
            known.best_operator(fault.state, below),
            _finite(fault.low),
            _finite(fault.high),
            None if shares is None else shares[fault.step],
            fault.recurring,
        )


def _finite(value: float) -> int | None:
    return None if math.isinf(value) else int(value)


__all__ = ["FoundFault", "find_faults"]
