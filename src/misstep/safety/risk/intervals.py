"""What is known of risks: intervals, samples, faults by the risk they add, and the report that holds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from misstep.binomial import clopper_pearson
from misstep.tasks.jani.task import State


@dataclass(frozen=True)
class Interval:
    """Between which numbers a probability lies."""

    low: float = 0.0
    high: float = 1.0

    @property
    def width(self) -> float:
        return self.high - self.low

    def __str__(self) -> str:
        """Rounded; but both ends are rounded outward, and only what is certain looks like it."""
        if self.low == self.high:
            text, digits = f"{self.low:.6g}", 9
        elif self.width < 1e-9:
            text, digits = f"{(self.low + self.high) / 2:.9f}", 9
        else:
            text, digits = "", 6
        if text and (float(text) not in (0, 1) or self.low == self.high == float(text)):
            return text
        low = Decimal(repr(self.low)).quantize(Decimal(10) ** -digits, ROUND_FLOOR)
        high = Decimal(repr(self.high)).quantize(Decimal(10) ** -digits, ROUND_CEILING)
        return f"[{low:f}, {high:f}]"

    def as_list(self) -> list[float]:
        return [self.low, self.high]


@dataclass(frozen=True)
class Sample:
    """Runs of the policy with drawn outcomes, and what they say of its risk.

    A run that was cut is neither unsafe nor safe: it counts as safe for the lower end and as unsafe for the upper
    one. Where the environment has a choice between edges of one label, the sample draws among them, while the risk is
    that of its worst choice: then nothing is said from above.
    """

    runs: int
    unsafe: int
    cut: int
    level: float  # the probability that such an interval holds, at least
    seed: int
    max_steps: int
    several_edges: bool = False

    @property
    def interval(self) -> Interval:
        low, _ = clopper_pearson(self.unsafe, self.runs, self.level)
        _, high = clopper_pearson(self.unsafe + self.cut, self.runs, self.level)
        return Interval(low, 1.0 if self.several_edges else high)

    def as_dict(self) -> dict[str, Any]:
        return {
            "interval": self.interval.as_list(),
            "level": self.level,
            "runs": self.runs,
            "unsafe": self.unsafe,
            "cut": self.cut,
            "seed": self.seed,
            "max_steps": self.max_steps,
            "several_edges": self.several_edges,
        }


@dataclass(frozen=True)
class StateRisk:
    """Of one state: the probability that the policy gets into an unsafe state, and the least of any strategy."""

    state: State
    policy: Interval
    least: Interval
    sample: Sample | None = None

    @property
    def size(self) -> float:
        """How much of the policy's risk could be avoided, at least. Certified."""
        return max(0.0, self.policy.low - self.least.high)

    @property
    def sampled_size(self) -> float | None:
        """The same from the sample, which holds with its level."""
        if self.sample is None:
            return None
        return max(0.0, self.sample.interval.low - self.least.high)

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": list(self.state),
            "policy": self.policy.as_list(),
            "least": self.least.as_list(),
            "size": self.size,
            "sample": None if self.sample is None else self.sample.as_dict(),
            "sampled_size": self.sampled_size,
        }


@dataclass(frozen=True)
class RiskFault:
    """A decision of the policy that adds risk: what is risked after it, against the least possible before it."""

    state: State
    label: str
    better: str | None  # a label with the least risk
    value: Interval  # the risk after the decision, if all later ones were as good as possible
    least: Interval  # of the state
    visits: float  # how often a run gets there, on average over the starts

    @property
    def added(self) -> float:
        """The risk that this decision adds, at least. Certified."""
        return max(0.0, self.value.low - self.least.high)

    @property
    def share(self) -> float:
        """What it adds to the risk of a run. Over all decisions this sums up to what could be avoided."""
        middle = (self.value.low + self.value.high - self.least.low - self.least.high) / 2
        return self.visits * max(0.0, middle)

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": list(self.state),
            "label": self.label,
            "better": self.better,
            "value": self.value.as_list(),
            "least": self.least.as_list(),
            "added": self.added,
            "visits": self.visits,
            "share": self.share,
        }


@dataclass(frozen=True)
class LikelyRun:
    """The unsafe run that is most likely among all from the starts."""

    states: tuple[State, ...]
    labels: tuple[str, ...]
    probability: float

    def as_dict(self) -> dict[str, Any]:
        return {
            "states": [list(state) for state in self.states],
            "labels": list(self.labels),
            "probability": self.probability,
        }


@dataclass(frozen=True)
class RiskReport:
    """The risks of start states. `complete`: everything that matters was explored, and the bounds have met."""

    starts: tuple[StateRisk, ...]
    policy: Interval  # on average over the starts
    least: Interval
    sample: Sample | None  # from starts drawn at random
    faults: tuple[RiskFault, ...]
    likely: LikelyRun | None
    steps: int | None
    precision: float
    chain_states: int  # that the policy can get to, as far as was explored
    states: int  # that any strategy can get to
    complete: bool
    remarks: tuple[str, ...]

    @property
    def size(self) -> float:
        return max(0.0, self.policy.low - self.least.high)

    @property
    def avoidable(self) -> int:
        """Starts where the policy is certainly riskier than it need be."""
        return sum(start.size > 0 for start in self.starts)

    def as_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy.as_list(),
            "least": self.least.as_list(),
            "size": self.size,
            "sample": None if self.sample is None else self.sample.as_dict(),
            "starts": [start.as_dict() for start in self.starts],
            "avoidable": self.avoidable,
            "faults": [fault.as_dict() for fault in self.faults],
            "likely": None if self.likely is None else self.likely.as_dict(),
            "steps": self.steps,
            "precision": self.precision,
            "chain_states": self.chain_states,
            "states": self.states,
            "complete": self.complete,
            "remarks": list(self.remarks),
        }


def mean(intervals: Sequence[Interval]) -> Interval:
    """Of numbers that lie in these intervals; sums are exact but for one rounding, which is made up for."""
    if not intervals:
        return Interval()
    low = math.fsum(own.low for own in intervals) / len(intervals)
    high = math.fsum(own.high for own in intervals) / len(intervals)
    # A mean may be rounded to 1 or 0, where some of its terms are not.
    return Interval(
        1.0 if all(own.low == 1 for own in intervals) else max(0.0, low - 4 * math.ulp(low)),
        0.0 if all(own.high == 0 for own in intervals) else min(1.0, high + 4 * math.ulp(high)),
    )


__all__ = ["Interval", "LikelyRun", "RiskFault", "RiskReport", "Sample", "StateRisk", "mean"]
