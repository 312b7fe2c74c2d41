"""A conformance kit for policies: is this a function of the state, and does it answer sensibly?

Everything that Misstep concludes rests on a policy being a function of the state. The kit asks about states along
random walks and along the policy's own runs, in several ways that must not make a difference, and lists all findings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from misstep._core import CounterRandom
from misstep.errors import MisstepError
from misstep.policies.elsewhere import decide_elsewhere
from misstep.policies.native import NativePolicy
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Operators,
    Policy,
    States,
)
from misstep.tasks.task import State, Task

WALK_STEPS = 20
PATIENCE = 2000


@dataclass(frozen=True)
class Finding:
    """Something a policy must not do: how often, and one example."""

    rule: str
    count: int
    example: str


def sample_states(task: Task, policy: Policy, count: int, seed: int) -> States:
    """Distinct non-goal states on random walks and on runs of the policy from them."""
    random = CounterRandom(seed)
    found: dict[State, None] = {}
    state, steps, tries = task.initial_state, 0, 0
    # A small task may not have that many states: give up when nothing new has turned up for long.
    while len(found) < count and tries < PATIENCE:
        tries += 1
        if not task.is_goal(state) and state not in found:
            found[state] = None
            tries = 0
        operators = task.applicable(state)
        steps += 1
        if not operators or steps > WALK_STEPS:
            state, steps = task.initial_state, 0
            continue
        operator = operators[random.below(len(operators))]
        if random.below(2):  # half of the steps follow the policy
            answer = int(answers_of(policy, _rows([state])).operators[0])
            operator = answer if answer in operators else operator
        state = task.apply(state, operator)
    return _rows(list(found))


def check_policy(
    load: Callable[[], Policy], *, states: int = 200, seed: int = 0
) -> tuple[int, list[Finding]]:
    """Examine the policy that `load` makes; the number of states examined and all findings."""
    policy = load()
    try:
        return _examine(policy, load, states, seed)
    finally:
        policy.close()


def _examine(
    policy: Policy, load: Callable[[], Policy], count: int, seed: int
) -> tuple[int, list[Finding]]:
    task = policy.task
    states = sample_states(task, policy, count, seed)
    if len(states) == 0:
        return 0, []
    findings: list[Finding] = []
    if not policy.deterministic:
        said = "the policy declares that it is not deterministic"
        findings.append(Finding("is a function of the state", 1, said))

    def report(rule: str, rows: list[int], describe: Callable[[int], str]) -> None:
        if rows:
            findings.append(Finding(rule, len(rows), describe(rows[0])))

    copy = states.copy()
    answers = answers_of(policy, states)
    if not np.array_equal(copy, states):
        findings.append(Finding("leaves the states it is given alone", 1, "the array was changed"))
        states = copy.copy()
    first = np.asarray(answers.operators)
    if first.shape != (len(states),) or first.dtype != np.int32:
        example = f"{len(states)} states, an answer of shape {first.shape} and type {first.dtype}"
        return len(states), [*findings, Finding("one operator a state", 1, example)]

    def where(row: int) -> str:
        return f"in state {State(states[row].tolist())}"

    def shown(operator: int) -> str:
        if operator in (NO_ACTION, FAILED, TIMED_OUT):
            words = {NO_ACTION: "no action", FAILED: "a crash"}
            return words.get(operator, "no answer in time")
        known = 0 <= operator < task.operator_count
        return f"({task.operator_name(operator)})" if known else f"operator {operator}"

    report(
        "answers every state",
        np.flatnonzero((first == FAILED) | (first == TIMED_OUT)).tolist(),
        lambda row: f"{answers.messages.get(row, 'no message')}, {where(row)}",
    )
    report(
        "answers in time",
        np.flatnonzero(first == TIMED_OUT).tolist(),
        lambda row: f"{answers.messages.get(row, 'no message')}, {where(row)}",
    )
    report(
        "names operators that exist",
        np.flatnonzero(
            ((first < FAILED) & (first != TIMED_OUT)) | (first >= task.operator_count)
        ).tolist(),
        lambda row: f"operator {first[row]}, {where(row)}",
    )
    offsets, applicable = task.applicable_batch(states)
    report(
        "names operators that apply",
        [
            row
            for row, operator in enumerate(first.tolist())
            if 0 <= operator < task.operator_count
            and operator not in applicable[offsets[row] : offsets[row + 1]]
        ],
        lambda row: f"{shown(int(first[row]))}, {where(row)}",
    )

    def compare(rule: str, again: Callable[[], Operators]) -> None:
        try:
            second = np.asarray(again())
        except MisstepError as error:
            findings.append(Finding(rule, 1, str(error)))
            return
        report(
            rule,
            np.flatnonzero(first != second).tolist(),
            lambda row: f"{shown(int(first[row]))}, then {shown(int(second[row]))}, {where(row)}",
        )

    compare("says the same when asked twice", lambda: answers_of(policy, states).operators)
    compare(
        "says the same alone and in a batch",
        lambda: np.concatenate(
            [answers_of(policy, states[i : i + 1]).operators for i in range(len(states))]
        ),
    )
    compare(
        "says the same in another order",
        lambda: answers_of(policy, np.ascontiguousarray(states[::-1])).operators[::-1],
    )
    compare("says the same after it is loaded again", lambda: _reloaded(load, states))
    if not policy.in_memory and not isinstance(policy, NativePolicy):
        compare(
            "says the same in another process, with another order of hashes",
            lambda: decide_elsewhere(policy.spec, task, states),
        )
    return len(states), findings


def answers_of(policy: Policy, states: States) -> Answers:
    """What the policy says; if it raises instead, a failure in every state."""
    try:
        return policy.decide(states)
    except (MisstepError, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = f"it raises {type(error).__name__}: {error}"
        failed = np.full(len(states), FAILED, dtype=np.int32)
        return Answers(failed, dict.fromkeys(range(len(states)), why))


def _reloaded(load: Callable[[], Policy], states: States) -> Operators:
    policy = load()
    try:
        return answers_of(policy, states).operators
    finally:
        policy.close()


def _rows(states: list[State]) -> States:
    width = len(states[0]) if states else 0
    return np.array([state.values for state in states], dtype=np.int32).reshape(len(states), width)
