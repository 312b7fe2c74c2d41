"""`noisy:P:SEED+SPEC`: another policy that errs with probability P, reproducibly.

Whether it errs in a state, and how, depends on a hash of the state: asked twice, it makes the same error twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.kinds import check_inside
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
        self.files = inner.files
        self._noise = _core.noisy_policy(inner.task, probability, seed, None)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        return self._decide(states, candidates, self.inner.decide)

    def _decide(
        self, states: States, candidates: Candidates | None, ask: Callable[..., Answers]
    ) -> Answers:
        states = checked_states(states, self.task)
        if candidates is None:
            operators, _ = self._noise.decide_batch(states)
        else:
            operators, _ = self._noise.decide_batch(states, *candidates)
        calm = np.flatnonzero(operators < 0)
        if len(calm) == 0:
            return Answers(operators)
        own = None if candidates is None else candidates.of(calm)
        calm_states = np.ascontiguousarray(states[calm])
        answers = ask(calm_states) if own is None else ask(calm_states, own)
        problem = answers.problem(len(calm), self.task)
        if problem is not None:
            raise ValueError(problem)
        operators[calm] = answers.operators
        return Answers(
            operators,
            messages={int(calm[row]): text for row, text in answers.messages.items()},
            evaluations=answers.evaluations,
        )

    def ask_again(self, states: States) -> Answers:
        return self._decide(states, None, self.inner.ask_again)

    def close(self) -> None:
        self.inner.close()


def load(argument: str, task: Task) -> Policy:
    from misstep.policies.load import load_policy

    check_inside(f"noisy:{argument}")
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
    if inner.set_valued or inner.stochastic or inner.plans:
        inner.close()
        raise UsageError(
            f"the policy {spec} is not a function of the state",
            where=where,
            expected="a policy that names one operator in each state",
        )
    if isinstance(inner, NativePolicy):
        native = _core.noisy_policy(task, probability, number, inner.native)
        noisy: Policy = NativePolicy(task, native, chooses=inner.chooses)
    else:
        noisy = NoisyPolicy(inner, probability, number)
    noisy.digest = hashlib.sha256(f"{probability}:{number}+{inner.digest}".encode()).hexdigest()
    return noisy
