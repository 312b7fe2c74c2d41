"""Computes the probability of becoming unsafe again, from the files of a model.

All reachable states are listed: by the stored decisions of the policy, for its own risk, or by all labels, for the
least possible one. If several edges of a label are enabled, the worst is taken. The probability is the least solution
of its equations. It is approached from below, starting with 0, and from above, starting with 1 where unsafe states
cannot be avoided for certain. Every mean is moved outward by more than the rounding error, so the truth always lies in
between. If the environment can cycle, the upper bound may stay too high; then the claim is reported as not checked.

A claim is refused if it excludes the result computed here. The two methods agree up to `PRECISION`: smaller errors of a
claim are not noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence

from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask, State

LIMIT = 5_000  # states, for all questions together
FULL_LIMIT = 50_000
WORK = 10_000_000  # terms that are added up for one question
PRECISION = 1e-9
Interval = tuple[float, float]
Edge = list[tuple[int, float]]
Choice = Callable[[State], Sequence[int] | None]
"""The labels that are followed in a state; None: it is not known."""


class TooLargeError(CheckError):
    """The computation is too large for a replay."""


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
        """The error in the claim that the risk lies between two numbers."""
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
    """V(s) = min over labels of max over edges of the mean over outcomes, by numbers of states."""

    def __init__(self) -> None:
        self.numbers: dict[State, int] = {}
        self._fixed: dict[int, Interval] = {}
        self._labels: dict[int, list[list[Edge]]] = {}

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
                for outcome, _ in edge:
                    if outcome not in self.numbers:
                        fresh.append(outcome)
                        self.number(outcome)
        self._labels[self.number(state)] = [
            [[(self.numbers[outcome], weight) for outcome, weight in edge] for edge in edges]
            for edges in steps
        ]
        return fresh

    def solved(self) -> tuple[list[float], list[float]]:
        """Bounds for each state. States that were found last come first, because values propagate backwards."""
        low, high = [0.0] * len(self.numbers), [1.0] * len(self.numbers)
        for number, (least, most) in self._fixed.items():
            low[number], high[number] = least, most
        order = sorted(self._labels, reverse=True)
        lost = self._lost(order, high)
        for number in order:
            if not lost[number]:
                high[number] = 0.0
        active = [number for number in order if lost[number]]
        terms = sum(len(edge) for own in active for label in self._labels[own] for edge in label)
        for _ in range(max(1, WORK // max(1, terms))):
            change = gap = 0.0
            for number in active:
                below = max(low[number], self._risk(number, low, -1))
                above = min(high[number], self._risk(number, high, 1))
                change = max(change, below - low[number], high[number] - above)
                gap = max(gap, above - below)
                low[number], high[number] = below, above
            if change == 0 or gap <= PRECISION / 100:
                break
        return low, high

    def _lost(self, order: Sequence[int], high: Sequence[float]) -> list[bool]:
        """Where unsafe states cannot be avoided for certain: each label has an outcome where they cannot."""
        lost = [most > 0 for most in high]
        for number in order:
            lost[number] = False
        more = True
        while more:
            more = False
            for number in order:
                if not lost[number] and all(
                    any(lost[outcome] for edge in edges for outcome, _ in edge)
                    for edges in self._labels[number]
                ):
                    lost[number] = more = True
        return lost

    def _risk(self, number: int, values: Sequence[float], sign: int) -> float:
        return min(
            max(_mean(edge, values, sign) for edge in edges) for edges in self._labels[number]
        )


def _mean(edge: Edge, values: Sequence[float], sign: int) -> float:
    """The mean, moved outward, but never beyond the exact range of its terms."""
    terms = [values[outcome] for outcome, _ in edge]
    least, most = min(terms), max(terms)
    if least == most:
        return least
    mean = sum(weight * values[outcome] for outcome, weight in edge)
    mean /= sum(weight for _, weight in edge)
    mean = mean * (1 + sign * (2 * len(edge) + 64) * 2.0**-53) + sign * 1e-290
    return min(max(mean, least), most)


def least_risks(task: SafetyTask, limit: int = LIMIT) -> Risks:
    """The least risks that any strategy can reach."""
    labels = range(len(task.labels))
    return Risks(
        task, lambda state: [x for x in labels if task.model.is_applicable(state, x)], limit
    )


def policy_risks(
    task: SafetyTask,
    decisions: Mapping[State, int | None],
    limit: int = LIMIT,
    contradicted: Container[Hashable] = (),
) -> Risks:
    """The risks of a policy by its stored decisions; None: it stops there, which is safe.

    Where it contradicts itself it has no decision, so nothing that leads there has a risk."""

    def choice(state: State) -> Sequence[int] | None:
        if state in contradicted:
            raise CheckError("the policy contradicts itself in a state that it can get to")
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
