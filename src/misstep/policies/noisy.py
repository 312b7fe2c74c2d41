"""`noisy:P:SEED+SPEC`: another policy that errs with probability P, reproducibly.

Whether it errs in a state, and how, is drawn from a hash of the state: asked twice it errs twice in the same way.
"""

from __future__ import annotations

import hashlib

import numpy as np

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.native import NativePolicy, parse_seed
from misstep.policies.policy import Answers, Candidates, Policy, States, checked_states
from misstep.tasks.task import Task


class NoisyPolicy(Policy):
    """Noise around a policy that is not native."""

    def __init__(self, inner: Policy, probability: float, seed: int) -> None:
        super().__init__(inner.task)
        self.inner = inner
        self.chooses = inner.chooses
        self.deterministic = inner.deterministic
        self.batch_size = inner.batch_size
        self._noise = _core.noisy_policy(inner.task, probability, seed, None)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        if candidates is None:
            operators, _ = self._noise.decide_batch(states)
        else:
            operators, _ = self._noise.decide_batch(states, *candidates)
        calm = np.flatnonzero(operators < 0)
        if len(calm) == 0:
            return Answers(operators)
        own = None if candidates is None else candidates.of(calm)
        answers = self.inner.decide(np.ascontiguousarray(states[calm]), own)
        problem = answers.problem(len(calm), self.task)
        if problem is not None:
            raise ValueError(problem)
        operators[calm] = answers.operators
        return Answers(
            operators,
            messages={int(calm[row]): text for row, text in answers.messages.items()},
            evaluations=answers.evaluations,
        )

    def close(self) -> None:
        self.inner.close()


def load(argument: str, task: Task) -> Policy:
    from misstep.policies.load import load_policy

    head, plus, spec = argument.partition("+")
    chance, _, seed = head.partition(":")
    where = f"noisy:{argument}"
    expected = "noisy:P:SEED+SPEC, for example noisy:0.1:7+heuristic:ff"
    if not plus:
        raise UsageError("the inner policy is missing", where=where, expected=expected)
    try:
        probability = float(chance)
    except ValueError:
        probability = -1.0
    if not 0 <= probability <= 1:
        raise UsageError(
            f"the probability is {chance!r}", where=where, expected=f"0 to 1 in {expected}"
        )
    inner = load_policy(spec, task)
    number = parse_seed(seed or "0", where)
    if isinstance(inner, NativePolicy):
        native = _core.noisy_policy(task, probability, number, inner.native)
        noisy: Policy = NativePolicy(task, native, chooses=inner.chooses)
    else:
        noisy = NoisyPolicy(inner, probability, number)
    noisy.digest = hashlib.sha256(f"{probability}:{number}+{inner.digest}".encode()).hexdigest()
    return noisy
