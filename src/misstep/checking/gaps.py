"""What follows from a policy's run and bounds on the cheapest plan: the gap, the verdict and the kind of a bug.

A run that reaches the goal costs what it costs. A run that ends in a loop, gets stuck or names an operator that
does not apply costs infinitely much. A run that was cut or broken off has an unknown cost, which is at least what
was spent. A state without any plan is nobody's fault: its gap is 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from misstep.checking.run import FAILURES

Cost = int | float  # a whole number, or infinity


class Conclusion(NamedTuple):
    low: Cost  # the gap lies between these
    high: Cost
    verdict: str
    kind: str | None


def concluded(outcome: str, spent: int, lower: Cost, upper: Cost, objective: str) -> Conclusion:
    fails, reaches = outcome in FAILURES, outcome == "goal"
    least = math.inf if fails else spent
    low: Cost
    high: Cost
    if math.isinf(lower):
        low = high = 0
    elif objective == "cost":
        low = 0 if math.isinf(upper) else max(0, least - upper)
        high = max(0, least - lower) if fails or reaches else math.inf
    else:
        low = 1 if fails and not math.isinf(upper) else 0
        high = 0 if reaches else 1
    if low > 0:
        return Conclusion(
            low, high, "BUG", "fails" if fails else "costly" if reaches else "unclassified"
        )
    return Conclusion(low, high, "OPTIMAL" if high == 0 else "UNKNOWN", None)


__all__ = ["Conclusion", "Cost", "concluded"]
