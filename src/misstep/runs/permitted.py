"""Set-valued policies: their permitted operators, and a chooser that turns the worst case into an ordinary policy.

A set-valued policy permits several operators in a state, or none. A run that always takes a permitted operator is a
permitted run. It fails if it reaches a state where nothing is permitted, or an operator that does not apply, or if it
can loop for ever. A claim about all permitted runs needs their whole graph, so this module explores that graph from a
state, breadth-first, up to a limit of states. If the exploration is complete, the state is *closed*.

`WorstCase` is a policy that takes one permitted operator in each state: towards a failure where one can be reached,
else towards a crash, else a cheapest way to the goal (`core/policygraph/permitted_graph.h` has the definition). It is a
function of the state, so the policy graph, the fuzzers, the oracles and the search for faults work on it as on any
other policy. Each of its runs is a permitted run: if it fails, some permitted run fails. If it reaches the goal and the
state is closed, every permitted run reaches the goal, and this one is a cheapest. If it reaches the goal and the state
is not closed, then nothing follows but a lower bound on what permitted runs cost (`PermittedRuns.least`).

A policy that draws at random is treated through its support: what it may draw is what it permits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import MisstepError, UnsupportedError
from misstep.policies.policy import (
    FAILED,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.raised import in_words
from misstep.runs.outcomes import DEFAULT_LIMIT
from misstep.runs.risk import Risk, risk_of
from misstep.stops import ends_work
from misstep.tasks.task import State, Task

SUM_TOLERANCE = 1e-6  # of the probabilities in a state


class PermittedRuns(NamedTuple):
    """What is known about all permitted runs from a state. None means infinite."""

    closed: bool  # all of them are known
    least: int | None  # none is cheaper; None, of a closed state: none reaches the goal
    most: int | None  # for a closed state where all reach the goal: the cost of the most expensive
    risk: Risk | None = None  # of a stochastic policy: the probability not to reach the goal


class PermittedSet(NamedTuple):
    """The permitted operators of a state, with probabilities if the policy has any."""

    state: State
    operators: tuple[int, ...]
    probabilities: tuple[float, ...] | None


@dataclass
class Sets:
    """The permitted operators of each state of a batch; `failures` has the states without an answer, and why."""

    offsets: NDArray[np.int64]
    operators: NDArray[np.int32]
    probabilities: NDArray[np.float64] | None = None
    failures: dict[int, tuple[str, bool]] = field(default_factory=dict)


class WorstCase(Policy):
    """The chooser of a set-valued policy, as an ordinary policy."""

    def __init__(
        self,
        policy: Policy,
        *,
        limit: int = DEFAULT_LIMIT,
        dearest: bool = False,
        risk: bool = False,
        batch_size: int | None = None,
    ) -> None:
        """With `dearest`, take a most expensive run where all permitted runs reach the goal."""
        super().__init__(policy.task)
        self.inner = policy
        self.name = policy.name
        self.digest = policy.digest
        self.in_memory = policy.in_memory
        self.deterministic = policy.deterministic
        self.batch_size = batch_size or policy.batch_size
        self.dearest = dearest
        self.asked = 0  # states, each once
        self._risk = risk and policy.stochastic
        self._graph = _core.PermittedGraph(policy.task, limit, dearest)
        self._messages: dict[int, str] = {}
        self._probabilities: dict[int, tuple[float, ...]] = {}
        self._facts: dict[State, PermittedRuns] = {}

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among other operators")
        ids = self._explored(checked_states(states, self.task))
        choices = self._graph.choices(ids)
        rows = np.flatnonzero((choices == FAILED) | (choices == TIMED_OUT)).tolist()
        return Answers(choices, {row: self._messages[int(ids[row])] for row in rows})

    def close(self) -> None:
        self.inner.close()

    def facts(self, state: State) -> PermittedRuns:
        """What is known about the permitted runs from a state."""
        if state not in self._facts:
            (id,) = self._explored(_rows([state])).tolist()
            closed, least, most = self._graph.facts(id)
            risk = self._risk_of(id) if self._risk and closed else None
            self._facts[state] = PermittedRuns(closed, least, most, risk)
        return self._facts[state]

    def recall(self, state: State, facts: PermittedRuns) -> None:
        """Add what is known about a state from before, so that it need not be explored again."""
        self._facts.setdefault(state, facts)

    def agrees(
        self, states: Sequence[State], answers: Sequence[int], facts: PermittedRuns | None
    ) -> bool:
        """Whether asking the policy here leads to these choices, and to these facts in the first state if they are
        known; what was recalled does not count."""
        ids = self._explored(_rows(states[: max(1, len(answers))]))
        known = None if facts is None else (facts.closed, facts.least, facts.most)
        if known not in (None, self._graph.facts(int(ids[0]))):
            return False
        choices: list[int] = self._graph.choices(ids)[: len(answers)].tolist()
        return choices == list(answers)

    def sets(self, states: Sequence[State]) -> list[PermittedSet]:
        """The permitted operators of these states; goals and states without an answer are left out."""
        return self._sets(self._explored(_rows(states))) if states else []

    def certificate(self, state: State) -> list[PermittedSet]:
        """The permitted operators of all states that are needed to prove the facts about a state."""
        (id,) = self._explored(_rows([state])).tolist()
        return self._sets(self._graph.region(id))

    def _explored(self, states: States) -> NDArray[np.uint32]:
        ids = self._graph.add(states)
        while len(pending := self._graph.explore(ids)):
            for first in range(0, len(pending), self.batch_size):
                self._ask(pending[first : first + self.batch_size])
        return ids

    def _ask(self, ids: NDArray[np.uint32]) -> None:
        self.asked += len(ids)
        found = ask_permitted(self.inner, self._graph.states(ids))
        for row, (message, late) in found.failures.items():
            self._graph.fail(int(ids[row]), late)
            self._messages[int(ids[row])] = message
        if found.probabilities is not None:
            for row, id in enumerate(ids.tolist()):
                own = found.probabilities[found.offsets[row] : found.offsets[row + 1]]
                self._probabilities[id] = tuple(own.tolist())
        self._graph.permit(ids, found.offsets, found.operators)

    def _sets(self, ids: NDArray[np.uint32]) -> list[PermittedSet]:
        ids = ids[self._graph.answered(ids) != 0]
        offsets, operators, _ = self._graph.edges(ids)
        own = np.split(operators, offsets[1:-1]) if len(ids) else []
        return [
            PermittedSet(State(values), tuple(ops.tolist()), self._probabilities.get(id))
            for id, values, ops in zip(
                ids.tolist(), self._graph.states(ids).tolist(), own, strict=True
            )
        ]

    def _risk_of(self, id: int) -> Risk:
        ids = self._graph.region(id)
        offsets, _, successors = self._graph.edges(ids)
        probabilities = [self._probabilities.get(own, ()) for own in ids.tolist()]
        known = np.unique([id, *successors[successors >= 0]]).astype(np.uint32)
        goals = known[self._graph.goals(known) != 0]
        return risk_of(id, ids, offsets, successors, probabilities, goals)


def ask_permitted(policy: Policy, states: States) -> Sets:
    """Ask a policy for permitted operators; exceptions and invalid answers become failures of the states concerned."""
    try:
        if policy.stochastic:
            candidates, probabilities = policy.probabilities(states)
            return _checked(policy.task, candidates, len(states), probabilities)
        return _checked(policy.task, policy.permitted(states), len(states))
    except BaseException as error:  # also SystemExit: a policy does not end the test
        if isinstance(error, MisstepError) or ends_work(error):
            raise  # the policy as a whole is unusable, or the user or a limit ends the work
        if len(states) == 1:
            message = in_words(error)
            nothing = np.empty(0, np.int32)
            failures = {0: (message, isinstance(error, TimeoutError))}
            return Sets(np.zeros(2, np.int64), nothing, failures=failures)
    # Row by row, so that one bad state does not spoil its batch.
    return _joined([ask_permitted(policy, states[[row]]) for row in range(len(states))])


def _joined(parts: list[Sets]) -> Sets:
    lengths = [len(part.operators) for part in parts]
    probabilities = None
    if any(part.probabilities is not None for part in parts):
        probabilities = np.concatenate(
            [np.empty(0) if part.probabilities is None else part.probabilities for part in parts]
        )
    return Sets(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([part.operators for part in parts]),
        probabilities,
        {row: part.failures[0] for row, part in enumerate(parts) if part.failures},
    )


def _checked(
    task: Task, candidates: Candidates, count: int, probabilities: object | None = None
) -> Sets:
    """The answer to `count` states, with increasing operators, each once; raises ValueError if it is invalid."""
    offsets: NDArray[Any] = np.asarray(candidates[0])
    operators: NDArray[Any] = np.asarray(candidates[1])
    if offsets.shape != (count + 1,) or offsets.dtype.kind not in "iu" or operators.ndim != 1:
        raise ValueError(
            "the permitted operators are not a flat array with an offset for each state"
        )
    if offsets[0] != 0 or offsets[-1] != len(operators) or (np.diff(offsets) < 0).any():
        raise ValueError("the offsets of the permitted operators are out of order")
    if len(operators) and operators.dtype.kind not in "iu":
        raise ValueError(f"the permitted operators are of type {operators.dtype}")
    wrong = operators[(operators < 0) | (operators >= task.operator_count)]
    if len(wrong):
        raise ValueError(f"the task has no operator {wrong[0]}")
    offsets, operators = offsets.astype(np.int64), operators.astype(np.int32)
    weights = None if probabilities is None else _weights(probabilities, offsets)
    inside = np.ones(len(operators), dtype=bool)  # whether the operator before is of the same state
    inside[offsets[:-1][offsets[:-1] < len(operators)]] = False
    ordered = len(operators) == 0 or bool((np.diff(operators)[inside[1:]] > 0).all())
    if ordered and (weights is None or bool((weights > 0).all())):
        return Sets(offsets, operators, weights)
    return _sorted(offsets, operators, weights)


def _weights(probabilities: object, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    weights = np.asarray(probabilities, dtype=np.float64)
    if weights.shape != (offsets[-1],):
        raise ValueError("some operators have no probability")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("a probability is negative or not a number")
    totals = np.concatenate([[0.0], np.cumsum(weights)])
    sums = totals[offsets[1:]] - totals[offsets[:-1]]
    some = np.diff(offsets) > 0
    if (np.abs(sums[some] - 1) > SUM_TOLERANCE).any():
        raise ValueError(
            f"the probabilities in a state add up to {sums[some][0]:g}; expected 1"
            if len(sums) == 1
            else "the probabilities in a state do not add up to 1"
        )
    return weights


def _sorted(
    offsets: NDArray[np.int64],
    operators: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> Sets:
    """The same with the operators of each state increasing, each once, and of positive probability."""
    lengths: list[int] = []
    sets: list[int] = []
    own: list[float] = []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        total: dict[int, float] = {}
        for place in range(first, last):
            weight = 1.0 if weights is None else float(weights[place])
            if weight > 0:
                op = int(operators[place])
                total[op] = total.get(op, 0.0) + weight
        lengths.append(len(total))
        sets += sorted(total)
        own += [total[op] for op in sorted(total)]
    return Sets(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(sets, dtype=np.int32),
        None if weights is None else np.array(own),
    )


def _rows(states: Sequence[State]) -> States:
    return np.array([state.values for state in states], dtype=np.int32)


__all__ = ["DEFAULT_LIMIT", "PermittedRuns", "PermittedSet", "WorstCase", "ask_permitted"]
