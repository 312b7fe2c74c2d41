"""Check that a policy is a function of the state and gives valid answers.

All verdicts of Misstep assume that a policy is a function of the state. The check asks about states along random walks
and along the policy's own runs, in several ways that must give the same answers, and lists all findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
from misstep.raised import in_words
from misstep.ranges import check_limits, check_seed
from misstep.stops import ends_work
from misstep.tasks.task import State, Task

WALK_STEPS = 20
PATIENCE = 2000


@dataclass(frozen=True)
class Finding:
    """A rule that the policy violates: how often, and one example."""

    rule: str
    count: int
    example: str


def sample_states(task: Task, policy: Policy, count: int, seed: int) -> States:
    """Distinct non-goal states on random walks and on runs of the policy from them."""
    random = CounterRandom(seed)
    found: dict[State, None] = {}
    state, steps, tries = task.initial_state, 0, 0
    # A small task may not have that many states: stop if nothing new was found for a long time.
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
    """Check the policy that `load` makes; returns the number of states and all findings."""
    check_limits(states=states)
    check_seed(seed)
    policy = load()
    try:
        return _examine(policy, load, states, seed)
    finally:
        policy.close()


def _examine(
    policy: Policy, load: Callable[[], Policy], count: int, seed: int
) -> tuple[int, list[Finding]]:
    states = sample_states(policy.task, policy, count, seed)
    if len(states) == 0:
        return 0, []
    examination = _Examination(policy, states)
    if examination.ask():
        examination.check_answers()
        examination.check_repetition(load)
    return len(states), examination.findings


class _Examination:
    """The answers of a policy in these states, and what is wrong with them."""

    def __init__(self, policy: Policy, states: States) -> None:
        self.policy, self.task, self.states = policy, policy.task, states
        self.findings: list[Finding] = []
        self.first: Operators = np.zeros(0, dtype=np.int32)
        self.messages: Mapping[int, str] = {}

    def ask(self) -> bool:
        """Get the first answers; returns whether their form is valid, so that further checks make sense."""
        if not self.policy.deterministic:
            said = "the policy declares that it is not deterministic"
            self.findings.append(Finding("is a function of the state", 1, said))
        copy = self.states.copy()
        answers = answers_of(self.policy, self.states)
        if not np.array_equal(copy, self.states):
            rule = "leaves the states it is given alone"
            self.findings.append(Finding(rule, 1, "the array was changed"))
            self.states = copy
        self.first, self.messages = np.asarray(answers.operators), answers.messages
        shape, dtype = self.first.shape, self.first.dtype
        if shape == (len(self.states),) and dtype == np.int32:
            return True
        example = f"{len(self.states)} states, an answer of shape {shape} and type {dtype}"
        self.findings.append(Finding("one operator a state", 1, example))
        return False

    def check_answers(self) -> None:
        """Check each answer by itself."""
        first, count = self.first, self.task.operator_count

        def message(row: int) -> str:
            return f"{self.messages.get(row, 'no message')}, {self._where(row)}"

        self._report("answers every state", (first == FAILED) | (first == TIMED_OUT), message)
        self._report("answers in time", first == TIMED_OUT, message)
        self._report(
            "names operators that exist",
            ((first < FAILED) & (first != TIMED_OUT)) | (first >= count),
            lambda row: f"operator {first[row]}, {self._where(row)}",
        )
        offsets, applicable = self.task.applicable_batch(self.states)
        fails_to_apply = [
            0 <= operator < count and operator not in applicable[offsets[row] : offsets[row + 1]]
            for row, operator in enumerate(first.tolist())
        ]
        self._report(
            "names operators that apply",
            np.array(fails_to_apply),
            lambda row: f"{self._shown(int(first[row]))}, {self._where(row)}",
        )

    def check_repetition(self, load: Callable[[], Policy]) -> None:
        """Check that the answers are the same when the policy is asked in other ways."""
        policy, states = self.policy, self.states
        self._compare(
            "says the same when asked twice", lambda: answers_of(policy, states).operators
        )
        self._compare(
            "says the same alone and in a batch",
            lambda: np.concatenate(
                [answers_of(policy, states[i : i + 1]).operators for i in range(len(states))]
            ),
        )
        self._compare(
            "says the same in another order",
            lambda: answers_of(policy, np.ascontiguousarray(states[::-1])).operators[::-1],
        )
        self._compare("says the same after it is loaded again", lambda: _reloaded(load, states))
        if not policy.in_memory and not isinstance(policy, NativePolicy):
            self._compare(
                "says the same in another process, with another order of hashes",
                lambda: decide_elsewhere(policy.spec, self.task, states),
            )

    def _compare(self, rule: str, again: Callable[[], Operators]) -> None:
        try:
            second = np.asarray(again())
        except MisstepError as error:
            self.findings.append(Finding(rule, 1, str(error)))
            return
        self._report(
            rule,
            self.first != second,
            lambda row: (
                f"{self._shown(int(self.first[row]))}, then {self._shown(int(second[row]))}, "
                f"{self._where(row)}"
            ),
        )

    def _report(self, rule: str, wrong: NDArray[np.bool_], describe: Callable[[int], str]) -> None:
        rows = np.flatnonzero(wrong).tolist()
        if rows:
            self.findings.append(Finding(rule, len(rows), describe(rows[0])))

    def _where(self, row: int) -> str:
        return f"in state {State(self.states[row].tolist())}"

    def _shown(self, operator: int) -> str:
        if operator in (NO_ACTION, FAILED, TIMED_OUT):
            words = {NO_ACTION: "no action", FAILED: "a crash"}
            return words.get(operator, "no answer in time")
        known = 0 <= operator < self.task.operator_count
        return f"({self.task.operator_name(operator)})" if known else f"operator {operator}"


def answers_of(policy: Policy, states: States, *, again: bool = False) -> Answers:
    """The policy's answers; if it raises an exception, a failure in every state. `again`: without its caches."""
    try:
        return policy.ask_again(states) if again else policy.decide(states)
    except BaseException as error:
        if isinstance(error, MisstepError) or (
            isinstance(error, KeyboardInterrupt) and ends_work(error)
        ):
            raise
        why = f"it raises {in_words(error)}"
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
