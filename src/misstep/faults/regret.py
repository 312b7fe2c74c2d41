"""The regret of each decision of a run: how much it loses.

The regret of a decision that leads from s to s' at cost c is r = c + h*(s') - h*(s) >= 0. Along a run the regrets
telescope: up to a goal they sum to the gap of its start. If the run fails, the gap is infinite, and its cause is one of
three:

* a decision into an unsolvable state, or to stop in a solvable one: its regret is infinite;
* a loop of positive cost: its regrets sum to its cost, again in every round, so they outweigh all before the loop;
* a loop of cost zero: its regrets are all 0. Plans are compared by cost and then by length; with d* the length of a
  shortest cheapest plan, 1 + d*(s') - d*(s) >= 0 wherever the regret is 0, and sums to the length of the loop.

With bounds l <= h* <= u instead of h*, regrets are intervals, and a decision is a proven fault if c + l(s') > u(s).
In an unsolvable state nothing can be lost any more: the regret is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from misstep.errors import UsageError
from misstep.runs.outcomes import PROVEN_FAILING, STOPPING
from misstep.runs.runner import Trace
from misstep.tasks.task import State, Task

# Whole numbers, or infinity. Not None, where the value is unknown.
Value = int | float
ValueOf = Callable[[State], Value | None]


@dataclass(frozen=True)
class Regret:
    """The regret of the decision at one step, between `low` and `high`. Without an operator, the policy stops."""

    step: int
    state: State
    operator: int | None
    low: Value
    high: Value
    recurring: bool  # part of the loop that the run ends in
    detour: int | None = None  # steps lost beside the cost: 1 + d*(s') - d*(s), where known

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def value(self) -> Value | None:
        return self.low if self.exact else None

    @property
    def proven_fault(self) -> bool:
        return self.low > 0

    @property
    def idle(self) -> bool:
        """Whether the decision lies in a loop and loses steps but no cost."""
        return self.recurring and self.high == 0 and self.detour is not None and self.detour > 0


@dataclass(frozen=True)
class Regrets:
    """The regrets of a run, and the gap of its start, between `gap_low` and `gap_high`."""

    decisions: tuple[Regret, ...]
    outcome: str
    loop_cost: int | None  # of a run that ends in a loop
    gap_low: Value
    gap_high: Value

    @property
    def total(self) -> Value | None:
        """The sum over the run, each step once; None if not all regrets are known."""
        values = [decision.value for decision in self.decisions]
        return None if None in values else sum(value for value in values if value is not None)

    @property
    def faults(self) -> list[Regret]:
        """The proven faults, largest share of the gap first; if the run ends in a loop of cost zero, also decisions
        that lose only steps."""
        shares = self.shares() or [0.0] * len(self.decisions)
        found = [
            (-share, -decision.low, decision.step, decision)
            for share, decision in zip(shares, self.decisions, strict=True)
            if decision.proven_fault or (self.loop_cost == 0 and decision.idle)
        ]
        return [decision for *_, decision in sorted(found, key=lambda entry: entry[:3])]

    def shares(self) -> list[float] | None:
        """The share of each decision in the gap; None if not all regrets are known, or there is no gap."""
        values = [decision.value for decision in self.decisions]
        if None in values or self.gap_low != self.gap_high or self.gap_low == 0:
            return None
        weights: list[Value] = [0 if value is None else value for value in values]
        if any(math.isinf(weight) for weight in weights):
            return [float(math.isinf(weight)) for weight in weights]
        if self.outcome == "loop":
            # Losses in every round of a loop outweigh losses that happen once.
            lost = [d.detour for d in self.decisions] if self.loop_cost == 0 else weights
            if None in lost:
                return None
            weights = [
                (value or 0) if decision.recurring else 0
                for value, decision in zip(lost, self.decisions, strict=True)
            ]
        total = sum(weights)
        return [weight / total for weight in weights]


def bounded_regrets(
    task: Task,
    trace: Trace,
    lower: Callable[[State], Value],
    upper: Callable[[State], Value],
    length: ValueOf | None = None,
) -> Regrets:
    """The regrets between the bounds: `lower` <= h* <= `upper` (0 and infinity where nothing is known)."""
    low = [_whole(lower(state)) for state in trace.states]
    high = [_whole(upper(state)) for state in trace.states]
    for k, (least, most) in enumerate(zip(low, high, strict=True)):
        if not 0 <= least <= most:
            raise UsageError(
                f"the bounds of state {k} of the run are {least} and {most}",
                expected="0 <= lower <= upper",
            )
    costs = [task.cost(op) for op in trace.operators]
    entry = trace.states.index(trace.states[-1]) if trace.outcome == "loop" else len(costs)
    steps = [None if length is None else length(state) for state in trace.states]
    decisions = []
    for k, (op, cost) in enumerate(zip(trace.operators, costs, strict=True)):
        least, most = _interval(cost, low[k], high[k], low[k + 1], high[k + 1])
        detour = _detour(steps[k], steps[k + 1])
        decisions.append(Regret(k, trace.states[k], op, least, most, k >= entry, detour))
    if trace.outcome in STOPPING:
        # Stopping is as bad as an unsolvable state.
        least, most = _interval(0, low[-1], high[-1], math.inf, math.inf)
        decisions.append(Regret(len(costs), trace.states[-1], None, least, most, False))
    gap_low, gap_high = _gap(trace.outcome, sum(costs), low, high)
    return Regrets(
        tuple(decisions),
        trace.outcome,
        sum(costs[entry:]) if trace.outcome == "loop" else None,
        gap_low,
        gap_high,
    )


def _interval(
    cost: int, low: Value, high: Value, next_low: Value, next_high: Value
) -> tuple[Value, Value]:
    if math.isinf(low):
        return 0, 0
    least = 0 if math.isinf(high) else max(0, cost + next_low - high)
    return least, max(0, cost + next_high - low)


def _gap(outcome: str, cost: int, low: list[Value], high: list[Value]) -> tuple[Value, Value]:
    if math.isinf(low[0]):
        return 0, 0  # no plan, no bug
    if outcome == "goal":
        return 0 if math.isinf(high[0]) else max(0, cost - high[0]), max(0, cost - low[0])
    if outcome in PROVEN_FAILING:
        return 0 if math.isinf(high[0]) else math.inf, math.inf
    # It is not known how the run continues; the losses so far remain.
    return 0 if math.isinf(high[0]) else max(0, cost + low[-1] - high[0]), math.inf


def _detour(here: Value | None, there: Value | None) -> int | None:
    if here is None or there is None or math.isinf(here) or math.isinf(there):
        return None
    return int(1 + there - here)


def _whole(value: Value) -> Value:
    """Convert a floating-point value from an array to a whole number, so that it prints well."""
    return int(value) if math.isfinite(value) and value == int(value) else float(value)


__all__ = ["Regret", "Regrets", "Value", "ValueOf", "bounded_regrets"]
