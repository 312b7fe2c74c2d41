"""From which states of a model unsafe states can be avoided for ever, by listing all states that can be reached.

This needs no strategy and no word of the engine. It is slow, so it is done up to a number of states: for bugs whose
strategy was too large to be kept, and, in full replays, for verdicts NOT A BUG and for faults. How often the policy is
deviated from does not count here: within a radius, a state that is lost here is lost, and nothing follows from one
that is not.
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
        """All states that can be reached and are not decided, with the outcomes of each label that applies."""
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
        """Lost is what is unsafe, and a state each of whose labels may lead to one that is lost."""
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
