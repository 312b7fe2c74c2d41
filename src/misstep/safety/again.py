"""Ask a policy on a model again about a sample of its decisions.

A proof, a census and a risk rest on one answer of the policy in each state. They say nothing about a policy that is not
a function of the state. So a sample is asked again, as in campaigns: one by one instead of in batches, in another
order, some of it several times, and in a new process that loads the policy again with another PYTHONHASHSEED. Native
policies are functions of the state by construction and are not asked again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from misstep.errors import PolicyCrashError, PolicyTimeoutError
from misstep.policies.elsewhere import ask_elsewhere
from misstep.policies.labels.load import load_label_policy
from misstep.policies.labels.policy import LabelPolicy
from misstep.runs.again import REPEATED, Clock, flaky, require_declared
from misstep.safety.jani import system_of
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State

Said = tuple[State, str | None]  # a state, and the label that the policy takes there


@dataclass(frozen=True)
class Contradiction:
    """Two answers to one state. None means no label; a crash or a missing answer is described in words."""

    state: State
    first: str | None
    second: str | None


def ask_again(
    task: JaniTask,
    policy: LabelPolicy,
    said: Sequence[Said],
    seed: int = 0,
    seconds: float | None = None,
) -> list[Contradiction]:
    """The states where the policy now answers differently; `said` has the earlier answers.

    After so many seconds the error is a TimeLimitError.
    """
    clock = Clock(seconds)
    if policy.native or not said:
        return []
    found: dict[State, Contradiction] = {}

    def compare(asked: Sequence[Said], answers: Sequence[str | None]) -> None:
        for (state, first), second in zip(asked, answers, strict=True):
            if first != second:
                found.setdefault(state, Contradiction(state, first, second))

    system = system_of(task, policy, policy.engine)
    order = random.Random(f"{seed} asked again")
    for count in (len(said), *REPEATED):
        asked = order.sample(list(said), min(count, len(said)))
        compare(asked, _answers(system, [state for state, _ in asked], clock))
    if not policy.in_memory:
        asked = order.sample(list(said), len(said))
        states = [state for state, _ in asked]
        question = (policy.spec, policy.inapplicable, task, states)
        compare(asked, ask_elsewhere(f"{__name__}:decide", *question, seconds=clock.left))
    return list(found.values())


def require_function(
    task: JaniTask,
    policy: LabelPolicy,
    said: Sequence[Said],
    seed: int = 0,
    seconds: float | None = None,
) -> None:
    """An error if the policy is not a function of the state, as far as these decisions tell."""
    require_declared(policy.spec, policy.deterministic)
    found = ask_again(task, policy, said, seed, seconds)
    for own in found[:1]:
        raise flaky(
            policy.spec, len(found), len(said), (own.first, own.second), task.text(own.state)
        )


def _answers(system: System[State, str], states: Sequence[State], clock: Clock) -> list[str | None]:
    """A system remembers what its policy said, so this one starts with nothing."""
    assert system.policy is not None
    fresh = system.with_policy(system.policy)
    answers: list[str | None] = []
    for state in states:
        clock.look()
        try:
            label = fresh.native.decision(fresh.id(state))
        except PolicyTimeoutError:
            answers.append("(no answer in time)")
        except PolicyCrashError:
            answers.append("(a crash)")
        else:
            answers.append(None if label is None else fresh.label(label))
    return answers


def decide(
    spec: str, inapplicable: str | None, task: JaniTask, states: list[State]
) -> list[str | None]:
    """The labels that the policy names, once it is loaded anew."""
    policy = load_label_policy(spec, task, inapplicable=inapplicable)
    try:
        return _answers(system_of(task, policy, policy.engine), states, Clock(None))
    finally:
        policy.close()


__all__ = ["Contradiction", "Said", "ask_again", "require_function"]
