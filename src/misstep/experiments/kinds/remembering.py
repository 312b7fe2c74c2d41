"""A policy with a cache, so that several campaigns ask it only once about each state.

Pools of different biases start at the same initial state and overlap a lot. Without a cache, a network that takes
milliseconds for a decision would be asked the same in each campaign. Native policies are faster than a cache.
"""

from __future__ import annotations

import numpy as np

from misstep.policies.native import NativePolicy
from misstep.policies.policy import (
    FAILED,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)


class RememberingPolicy(Policy):
    """A policy and its cached answers. States without an answer are asked again."""

    def __init__(self, inner: Policy) -> None:
        super().__init__(inner.task)
        self.inner = inner
        self.name = inner.name
        self.digest = inner.digest
        self.deterministic = inner.deterministic
        self.batch_size = inner.batch_size
        self.files = inner.files
        self._known: dict[bytes, int] = {}

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:  # restricted to candidates, for which nothing is cached
            return self.inner.decide(states, candidates)
        states = np.ascontiguousarray(checked_states(states, self.task))
        keys = [row.tobytes() for row in states]
        new = list({key: row for row, key in enumerate(keys) if key not in self._known}.values())
        found = self.inner.decide(states[new]) if new else Answers(np.empty(0, dtype=np.int32))
        fresh: dict[bytes, tuple[int, str | None]] = {}
        for place, row in enumerate(new):
            operator = int(found.operators[place])
            fresh[keys[row]] = operator, found.messages.get(place)
            if operator not in (FAILED, TIMED_OUT):
                self._known[keys[row]] = operator
        operators, messages = np.empty(len(states), dtype=np.int32), {}
        for row, key in enumerate(keys):
            operator, message = fresh.get(key) or (self._known[key], None)
            operators[row] = operator
            if message is not None:
                messages[row] = message
        return Answers(operators, messages, evaluations=found.evaluations)

    def ask_again(self, states: States) -> Answers:
        return self.inner.ask_again(states)

    def close(self) -> None:
        self.inner.close()


def remembering(policy: Policy) -> Policy:
    """The policy with a cache, unless it is native or does not give one fixed answer per state."""
    plain = not (policy.set_valued or policy.stochastic or policy.plans)
    return RememberingPolicy(policy) if plain and not isinstance(policy, NativePolicy) else policy


__all__ = ["RememberingPolicy", "remembering"]
