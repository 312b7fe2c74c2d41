"""Ask a policy again about decisions that a result rests on, outside of campaigns.

The answers of one run prove something only about a policy that is a function of the state. So a sample is asked again:
one by one instead of in batches, in another order, some of it several times, and in a new process that loads the policy
again with another PYTHONHASHSEED. Native policies are functions of the state by construction and are not asked again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import monotonic

import numpy as np

from misstep.errors import FlakyPolicyError, TimeLimitError
from misstep.policies.conformance import answers_of
from misstep.policies.elsewhere import decide_elsewhere
from misstep.policies.native import NativePolicy
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT, Policy, States
from misstep.tasks.task import State

SAMPLE = 1000  # decisions
REPEATED = (32, 8, 8, 8)  # how many of them are asked a second time, a third time, and so on
INSTEAD = {NO_ACTION: "no action", FAILED: "a crash", TIMED_OUT: "no answer in time"}


class Clock:
    """The time that is left for asking again; None: as much as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - monotonic())

    def look(self) -> None:
        if self.left == 0.0:
            raise TimeLimitError("the policy was not asked again about all decisions")


def sampled(count: int, most: int, seed: int) -> list[int]:
    """The numbers of the decisions that are asked again."""
    return sorted(random.Random(f"{seed} sample").sample(range(count), min(count, most)))


def contradicted(
    policy: Policy,
    states: States,
    said: Sequence[int],
    seed: int = 0,
    seconds: float | None = None,
) -> dict[int, int]:
    """The rows where the policy now answers differently, with that answer; `said` has the earlier answers.

    After so many seconds the error is a TimeLimitError.
    """
    clock = Clock(seconds)
    found: dict[int, int] = {}
    # What did not come in time is not waited for again.
    given = [row for row, answer in enumerate(said) if answer != TIMED_OUT]
    if isinstance(policy, NativePolicy) or not given:
        return found

    def compare(rows: Sequence[int], answers: Sequence[int]) -> None:
        for row, answer in zip(rows, answers, strict=True):
            if answer != said[row]:
                found.setdefault(row, answer)

    order = random.Random(f"{seed} asked again")
    for count in (len(given), *REPEATED):
        rows = order.sample(given, min(count, len(given)))
        for row in rows:
            clock.look()
            compare([row], answers_of(policy, states[[row]], again=True).operators.tolist())
    if not policy.in_memory:
        rows = order.sample(given, len(given))
        elsewhere = decide_elsewhere(policy.spec, policy.task, states[rows], clock.left)
        compare(rows, elsewhere.tolist())
    return found


def require_function(
    policy: Policy,
    states: States,
    said: Sequence[int],
    seed: int = 0,
    seconds: float | None = None,
) -> None:
    """An error if the policy is not a function of the state, as far as a sample of these decisions tells."""
    require_declared(policy.spec, policy.deterministic)
    chosen = sampled(len(said), SAMPLE, seed)
    given = [int(said[row]) for row in chosen]
    found = contradicted(policy, np.asarray(states)[chosen], given, seed, seconds)
    for row, second in sorted(found.items())[:1]:
        task = policy.task
        words = [INSTEAD.get(own) or f"({task.operator_name(own)})" for own in (given[row], second)]
        raise flaky(
            policy.spec, len(found), len(chosen), words, str(State(states[chosen[row]].tolist()))
        )


def require_declared(spec: str, deterministic: bool) -> None:
    if not deterministic:
        raise FlakyPolicyError(
            "the policy says that it is not deterministic", where=f"policy {spec}"
        )


def flaky(
    spec: str, count: int, asked: int, answers: Sequence[str | None], state: str
) -> FlakyPolicyError:
    first, second = (own or "no label" for own in answers)
    return FlakyPolicyError(
        f"asked again, the policy answers differently in {count:,} of {asked:,} states: "
        f"{first}, then {second}, in {state[:200]}",
        where=f"policy {spec}",
        hint="nothing is counted, because every number would be an accident; see misstep check-policy",
    )


__all__ = [
    "REPEATED",
    "SAMPLE",
    "Clock",
    "contradicted",
    "flaky",
    "require_declared",
    "require_function",
    "sampled",
]
