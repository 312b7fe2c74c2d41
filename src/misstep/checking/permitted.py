"""Claims about all permitted runs of a set-valued policy, checked from what it permits, state by state.

What the policy permits in a state is taken from a row of the table `permitted`. Everything else is computed again here:
where the permitted operators lead, that no state is missing, whether a goal can be reached, whether a run can cycle for
ever, and the costs of the cheapest and of the most expensive run. Runs end in goal states, so nothing is permitted
there.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Container, Hashable, Sequence
from typing import NamedTuple

from misstep.checking.errors import CheckError
from misstep.checking.gaps import Claim, Cost
from misstep.checking.sas import SasTask, State
from misstep.checking.semantics import apply, is_applicable, is_goal


class Step(NamedTuple):
    cost: int
    successor: State | None  # None: the operator does not apply


class PermittedSets:
    """What a policy permits on a task, as far as it is recorded."""

    def __init__(self, task: SasTask) -> None:
        self.task = task
        self._sets: dict[State, tuple[int, ...]] = {}
        self._steps: dict[State, list[Step]] = {}
        self._goals: dict[State, bool] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, state: State, operators: Sequence[int]) -> None:
        """Add a row; an error if it is malformed or contradicts an earlier one."""
        given = tuple(operators)
        if any(not 0 <= op < len(self.task.operators) for op in given):
            raise CheckError(f"an operator is permitted that does not exist: {list(given)}")
        if list(given) != sorted(set(given)):
            raise CheckError(f"permitted operators are not increasing: {list(given)}")
        if is_goal(state, self.task):
            raise CheckError("operators are permitted in a goal state")
        if self._sets.setdefault(state, given) != given:
            raise CheckError("a state has two sets of permitted operators")

    def operators(self, state: State) -> tuple[int, ...] | None:
        """The permitted operators in a state; None if they are not recorded."""
        return self._sets.get(state)

    def is_goal(self, state: State) -> bool:
        if state not in self._goals:
            self._goals[state] = is_goal(state, self.task)
        return self._goals[state]

    def steps(self, state: State) -> list[Step]:
        if state not in self._steps:
            found = []
            for number in self._sets[state]:
                operator = self.task.operators[number]
                applies = is_applicable(state, operator)
                found.append(Step(operator.cost, apply(state, operator) if applies else None))
            self._steps[state] = found
        return self._steps[state]

    def decisions(self) -> list[tuple[State, int]]:
        """Each state with each of its operators, or with -1 if nothing is permitted."""
        return [(state, op) for state, own in self._sets.items() for op in own or (-1,)]

    def reached(self, start: State) -> list[State]:
        """The states that permitted runs reach, as far as the permitted operators are recorded."""
        found = {start: None} if start in self._sets else {}
        queue = list(found)
        for state in queue:
            for _, successor in self.steps(state):
                if successor in self._sets and successor not in found:
                    found[successor] = None
                    queue.append(successor)
        return queue

    # Claims, each with what is wrong about it, or None

    def run_problem(
        self,
        states: Sequence[State],
        operators: Sequence[int],
        outcome: str,
        named: int | None,
        contradicted: Container[Hashable] = (),
    ) -> str | None:
        """Checks a run: it takes only permitted operators, and stops only where the recorded operators allow it.

        Where the policy contradicts itself, the recorded set need not be the one of this run."""
        asked = len(operators) + (outcome in ("stuck", "inapplicable"))
        for step in range(asked):
            known = self._sets.get(states[step])
            if known is None:
                return f"step {step}: it is not recorded what is permitted there"
            if states[step] in contradicted:
                continue
            if step < len(operators):
                if operators[step] not in known:
                    return f"step {step}: operator {operators[step]} is not permitted"
            elif outcome == "stuck" and known:
                return f"it gets stuck where {len(known)} operators are permitted"
            elif outcome == "inapplicable" and named not in known:
                return f"operator {named}, which does not apply, is not permitted"
        return None

    def bound_problem(self, state: State, claim: Claim) -> str | None:
        """Checks that no permitted run is cheaper than claimed. More rows may be recorded than the claim was made from,
        also of states in which the policy has crashed before; they can only raise the bound."""
        least = self._least(state)
        return (
            f"a permitted run may cost {least}, less than {claim.least}"
            if least < claim.least
            else None
        )

    def claim_problem(self, state: State, claim: Claim) -> str | None:
        """Checks the claim about the cheapest run, and, if all runs are known, about the most expensive one."""
        if not claim.closed:
            return self.bound_problem(state, claim)
        least = self._least(state)
        closure = self.closure(state)
        if isinstance(closure, str):
            return closure
        if least != claim.least:
            return f"the cheapest permitted run costs {least}, not {claim.least}"
        if math.isinf(claim.most):
            return None
        most = self._most(state, closure)
        if isinstance(most, str):
            return most
        if most != claim.most:
            return f"the dearest permitted run costs {most}, not {claim.most}"
        return None

    def no_goal_problem(self, state: State) -> str | None:
        """Checks the claim that no permitted run reaches the goal."""
        closure = self.closure(state)
        if isinstance(closure, str):
            return closure
        if any(self.is_goal(other) for other in closure):
            return "a permitted run reaches the goal"
        return None

    # Graphs

    def closure(self, start: State) -> list[State] | str:
        """All states that permitted runs reach, or that they are not known."""
        found = {start: None}
        queue = [start]
        for state in queue:
            if self.is_goal(state):
                continue
            if state not in self._sets:
                return f"it is not recorded what is permitted in {list(state)}"
            for _, successor in self.steps(state):
                if successor is not None and successor not in found:
                    found[successor] = None
                    queue.append(successor)
        return queue

    def _least(self, start: State) -> Cost:
        """The least cost of a permitted run to a goal or to a state about which nothing is recorded."""
        best: dict[State, int] = {start: 0}
        done: set[State] = set()
        heap: list[tuple[int, State]] = [(0, start)]
        while heap:
            cost, state = heapq.heappop(heap)
            if state in done:
                continue
            if state not in self._sets:  # also of goals nothing is recorded
                return cost
            done.add(state)
            for own, successor in self.steps(state):
                if successor is not None and cost + own < best.get(successor, math.inf):
                    best[successor] = cost + own
                    heapq.heappush(heap, (cost + own, successor))
        return math.inf

    def _most(self, start: State, closure: list[State]) -> Cost | str:
        """The cost of the most expensive run, or the reason why there is none: some run fails."""
        waiting = dict.fromkeys(closure, 0)  # predecessors that are not done
        for state in closure:
            if self.is_goal(state):
                continue
            steps = self.steps(state)
            if not steps:
                return "a permitted run gets stuck"
            for _, successor in steps:
                if successor is None:
                    return "an operator is permitted that does not apply"
                waiting[successor] += 1
        if waiting[start]:
            return "a permitted run can go round for ever"
        spent: dict[State, int] = {start: 0}
        queue = [start]
        for state in queue:
            for cost, successor in () if self.is_goal(state) else self.steps(state):
                assert successor is not None
                spent[successor] = max(spent.get(successor, 0), spent[state] + cost)
                waiting[successor] -= 1
                if waiting[successor] == 0:
                    queue.append(successor)
        if len(queue) < len(closure):
            return "a permitted run can go round for ever"
        return max(spent[state] for state in closure if self.is_goal(state))


__all__ = ["PermittedSets"]
