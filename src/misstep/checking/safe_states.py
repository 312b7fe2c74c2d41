"""Computes from which states of a model unsafe states can be avoided for ever, by listing all reachable states.

This needs neither a strategy nor the engine. It is slow, so there is a limit on the number of states. It is done for
bugs whose strategy was too large to be stored, and, in full replays, for verdicts NOT A BUG and for faults. Deviations
from the policy are not counted here: a state that is lost here is also lost within any radius, but nothing follows from
a state that is not lost.
"""

from __future__ import annotations

from collections import defaultdict

from misstep.checking.jani import SafetyTask, State

LIMIT = 5_000  # states
FULL_LIMIT = 50_000


class SafeStates:
    def __init__(self, task: SafetyTask, limit: int = LIMIT) -> None:
        self._task = task
        self._limit = limit
        self._spent = 0
        self._safe: dict[State, bool] = {}

    def is_safe(self, state: State) -> bool | None:
        """None: too many states would have to be listed. The limit holds for all questions together."""
        if state not in self._safe:
            choices = self._listed(state)
            if choices is None:
                return None
            self._decide(choices)
        return self._safe[state]

    def _listed(self, start: State) -> dict[State, list[list[State]]] | None:
        """All reachable states that are not decided yet, with the outcomes of each applicable label."""
        found: dict[State, list[list[State]]] = {}
        queue, seen = [start], {start}
        for state in queue:  # grows
            if self._spent >= self._limit:
                return None
            self._spent += 1
            ends = self._task.is_unsafe(state) or self._task.is_goal(state)
            found[state] = [] if ends else list(self._task.outcomes(state).values())
            for outcomes in found[state]:
                for outcome in outcomes:
                    if outcome not in seen and outcome not in self._safe:
                        seen.add(outcome)
                        queue.append(outcome)
        return found

    def _decide(self, choices: dict[State, list[list[State]]]) -> None:
        """A state is lost if it is unsafe, or if each of its labels may lead to a lost state."""
        leading: dict[State, list[tuple[State, int]]] = defaultdict(list)
        alive = {state: set(range(len(labels))) for state, labels in choices.items()}
        for state, labels in choices.items():
            for number, outcomes in enumerate(labels):
                for outcome in outcomes:
                    leading[outcome].append((state, number))
        lost = [state for state in choices if self._task.is_unsafe(state)]
        lost += [state for state in leading if self._safe.get(state) is False]
        dead = set(lost)
        for state in lost:  # grows
            for before, number in leading[state]:
                alive[before].discard(number)
                if not alive[before] and before not in dead:
                    dead.add(before)
                    lost.append(before)
        for state in choices:
            self._safe[state] = state not in dead


__all__ = ["FULL_LIMIT", "LIMIT", "SafeStates"]
