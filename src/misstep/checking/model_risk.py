"""How likely it is to get unsafe, computed again from the files of a model.

All states that can be reached are listed: by the decisions of the policy that are stored, for its own risk, or by all
labels, for the least possible one. Where several edges of a label are enabled, the worst is taken. The probability is
the least solution of its equations. It is approached from below, starting with 0, and from above, starting with
1 where unsafe states cannot be avoided for certain. Every mean is moved outward by more than rounding can do, so the
truth lies in between at any time. Where the environment can go round in circles, the upper end may stay too
high; then a claim is not checked, which is said.

A claim is refused if it excludes what was computed here. The two methods are as close as `PRECISION`: a claim that is
off by less is not noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask, State

LIMIT = 5_000  # states, for all questions together
FULL_LIMIT = 50_000
SWEEPS = 20_000
PRECISION = 1e-9
Interval = tuple[float, float]
Floats = NDArray[np.float64]
Choice = Callable[[State], Sequence[int] | None]
"""The labels that are followed in a state; None: it is not known."""


class TooLargeError(CheckError):
    """More would have to be computed than is done in a replay."""


class Risks:
    """The risks of the states of a model, of the policy or the least ones."""

    def __init__(self, task: SafetyTask, choice: Choice, limit: int = LIMIT) -> None:
        self._task = task
        self._choice = choice
        self._limit = limit
        self._known: dict[State, Interval] = {}

    def of(self, state: State) -> Interval:
        if state not in self._known:
            self._solve(state)
        return self._known[state]

    def problem(self, state: State, claimed: Interval) -> str | None:
        """What is wrong with the claim that the risk lies between two numbers."""
        low, high = self.of(state)
        if claimed[0] > high or claimed[1] < low:
            return f"it is between {low:.9f} and {high:.9f}, and not {claimed[0]:.9f} to {claimed[1]:.9f}"
        if high - low > PRECISION:
            raise TooLargeError(f"the bounds of the checker are {high - low:.1e} apart")
        return None

    def _solve(self, start: State) -> None:
        equations = self._equations(start)
        low, high = equations.solved()
        for state, number in equations.numbers.items():
            self._known[state] = (float(low[number]), float(high[number]))

    def _equations(self, start: State) -> _Equations:
        found = _Equations()
        queue = [start]
        found.number(start)
        for state in queue:  # grows
            if len(self._known) + len(queue) > self._limit:
                raise TooLargeError(f"more than {self._limit:,} states would have to be listed")
            known = self._known.get(state)
            if known is not None:
                found.fix(state, known)
                continue
            labels = self._labels(state)
            if not labels:
                risk = float(self._task.is_unsafe(state))
                found.fix(state, (risk, risk))
                continue
            steps = [list(self._task.model.steps(state, label)) for label in labels]
            if not all(steps):
                raise CheckError(f"a label that is followed does not apply in {state!r}")
            queue += found.add(state, steps)
        return found

    def _labels(self, state: State) -> Sequence[int]:
        if self._task.is_unsafe(state) or self._task.is_goal(state):
            return ()
        labels = self._choice(state)
        if labels is None:
            raise TooLargeError("the decisions of the policy are not all stored")
        return labels


class _Equations:
    """V(s) = min over labels of max over edges of the mean over outcomes, as arrays."""

    def __init__(self) -> None:
        self.numbers: dict[State, int] = {}
        self._fixed: dict[int, Interval] = {}
        self._owners: list[int] = []  # of labels: states
        self._labels: list[int] = []  # of edges: labels
        self._edges: list[int] = []  # of outcomes: edges
        self._outcomes: list[int] = []
        self._weights: list[float] = []

    def number(self, state: State) -> int:
        return self.numbers.setdefault(state, len(self.numbers))

    def fix(self, state: State, risk: Interval) -> None:
        self._fixed[self.number(state)] = risk

    def add(
        self, state: State, steps: Sequence[Sequence[Sequence[tuple[State, float]]]]
    ) -> list[State]:
        """The equation of a state; returns the states that it meets first."""
        fresh = []
        for edges in steps:
            for edge in edges:
                for outcome, weight in edge:
                    if outcome not in self.numbers:
                        fresh.append(outcome)
                    self._outcomes.append(self.number(outcome))
                    self._weights.append(weight)
                    self._edges.append(len(self._labels))
                self._labels.append(len(self._owners))
            self._owners.append(self.number(state))
        return fresh

    def solved(self) -> tuple[Floats, Floats]:
        low, high = np.zeros(len(self.numbers)), np.ones(len(self.numbers))
        for number, (least, most) in self._fixed.items():
            low[number], high[number] = least, most
        if not self._owners:
            return low, high
        outcomes, weights = np.array(self._outcomes), np.array(self._weights)
        labels, owners = np.array(self._labels), np.array(self._owners)
        first_outcome = np.searchsorted(np.array(self._edges), np.arange(len(labels)))
        first_edge = np.searchsorted(labels, np.arange(len(owners)))
        places, first_label = np.unique(owners, return_index=True)
        order = np.argsort(first_label)
        places, first_label = places[order], first_label[order]
        sums = np.add.reduceat(weights, first_outcome)
        counts = np.diff([*first_outcome, len(outcomes)])
        slack = (2 * counts + 64) * 2.0**-53

        def risk(values: Floats, sign: int) -> Floats:
            terms = values[outcomes]
            mean = np.add.reduceat(weights * terms, first_outcome) / sums
            mean = mean * (1 + sign * slack) + sign * 1e-290
            # A mean lies between what it is the mean of.
            mean = np.maximum(mean, np.minimum.reduceat(terms, first_outcome))
            mean = np.minimum(mean, np.maximum.reduceat(terms, first_outcome))
            worst = np.maximum.reduceat(mean, first_edge)
            return np.asarray(np.minimum.reduceat(worst, first_label), np.float64)

        # From below as yes or no first: what is never reached can be avoided for certain.
        lost = high > 0
        lost[places] = False
        while True:
            again = risk(lost.astype(np.float64), 1)[:] > 0
            if (again == lost[places]).all():
                break
            lost[places] |= again
        high[~lost] = 0.0
        for _ in range(SWEEPS):
            new_low, new_high = risk(low, -1), risk(high, 1)
            new_high = np.where(lost[places], np.minimum(new_high, high[places]), 0.0)
            new_low = np.maximum(new_low, low[places])
            same = (new_low == low[places]).all() and (new_high == high[places]).all()
            low[places], high[places] = new_low, new_high
            if same or (high - low).max() <= PRECISION / 100:
                break
        return low, high


def least_risks(task: SafetyTask, limit: int = LIMIT) -> Risks:
    """The least risks that any strategy can reach."""
    labels = range(len(task.labels))
    return Risks(
        task, lambda state: [x for x in labels if task.model.is_applicable(state, x)], limit
    )


def policy_risks(
    task: SafetyTask, decisions: Mapping[State, int | None], limit: int = LIMIT
) -> Risks:
    """The risks of a policy by its stored decisions; None: it stops there, which is safe."""

    def choice(state: State) -> Sequence[int] | None:
        if state not in decisions:
            return () if task.model.is_dead_end(state) else None
        label = decisions[state]
        return () if label is None else (label,)

    return Risks(task, choice, limit)


__all__ = [
    "FULL_LIMIT",
    "LIMIT",
    "PRECISION",
    "Risks",
    "TooLargeError",
    "least_risks",
    "policy_risks",
]
