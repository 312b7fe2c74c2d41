"""The decisions of a run that are to blame, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from misstep.faults.distances import Distances
from misstep.faults.explain import missteps
from misstep.runs.runner import Trace


class FoundFault(NamedTuple):
    """A decision that is proven to lose something; None is infinite, and a decision of None is to stop."""

    step: int
    state: tuple[int, ...]
    decision: int | None
    better: int | None
    low: int | None
    high: int | None
    share: float | None
    recurring: bool


def find_faults(trace: Trace, plan: Sequence[int] | None, known: Distances) -> Iterator[FoundFault]:
    """The proven faults of a run, in its order; `plan` is a better way from its start, if there is one."""
    if plan is not None:
        known.add_path(trace.states[0], plan)
    found = {}
    for misstep in missteps(known.regrets(trace), known):
        regret = misstep.regret
        found[regret.step] = FoundFault(
            regret.step,
            tuple(regret.state.values),
            regret.operator,
            misstep.better,
            _finite(regret.low),
            _finite(regret.high),
            misstep.share,
            regret.recurring,
        )
    for step in sorted(found):
        yield found[step]


def _finite(value: float) -> int | None:
    return None if math.isinf(value) else int(value)


__all__ = ["FoundFault", "find_faults"]
