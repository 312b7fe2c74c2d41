"""Policies that run in native code: `first`, `random:SEED`, `heuristic:NAME`, `plan:FILE`, `optimal`.

They need no training and no optional package, and serve as baselines and examples.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.decoding import excerpt, whole_number
from misstep.errors import InputFormatError, UsageError
from misstep.files import decoded, read_bytes
from misstep.planning import HEURISTICS
from misstep.policies.policy import FAILED, Answers, Candidates, Policy, States, checked_states
from misstep.tasks.census import state_space
from misstep.tasks.task import Task

MAX_PLAN_BYTES = 64 * 2**20
# Enumerating more states for an optimal policy would take too much memory.
MAX_OPTIMAL_STATES = 2_000_000


class NativePolicy(Policy):
    """A policy of the native core. The policy graph runs it without coming back to Python."""

    failure = "the policy failed"  # the message for states where it fails

    def __init__(
        self, task: Task, native: _core.NativePolicy, *, chooses: bool = True, valued: bool = False
    ) -> None:
        super().__init__(task)
        self.native = native
        self.chooses = chooses
        self.valued = valued

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        before = self.native.evaluations
        if candidates is None:
            operators, values = self.native.decide_batch(states)
        else:
            operators, values = self.native.decide_batch(states, *candidates)
        return Answers(
            operators,
            dict.fromkeys(np.flatnonzero(operators == FAILED).tolist(), self.failure),
            values=values if self.valued else None,
            evaluations=self.native.evaluations - before,
        )

    def values(self, states: States) -> NDArray[np.float64]:
        if not self.valued:
            return super().values(states)
        return self.native.value_batch(checked_states(states, self.task))


def load_first(argument: str, task: Task) -> Policy:
    _no_argument("first", argument)
    return NativePolicy(task, _core.first_policy(task))


def load_random(argument: str, task: Task) -> Policy:
    seed = parse_seed(argument or "0", f"random:{argument}")
    return NativePolicy(task, _core.noisy_policy(task, 1.0, seed, None))


def load_heuristic(argument: str, task: Task) -> Policy:
    if argument not in HEURISTICS:
        raise UsageError(
            f"no heuristic {argument!r}",
            where=f"heuristic:{argument}",
            expected=", ".join(HEURISTICS),
        )
    return NativePolicy(task, _core.heuristic_policy(task, argument), valued=True)


def load_optimal(argument: str, task: Task) -> Policy:
    """Follows h*: a cheapest and then shortest way to the goal from every reachable state."""
    _no_argument("optimal", argument)
    space = state_space(task, max_states=MAX_OPTIMAL_STATES)
    solvable = space.best_operator >= 0
    table = _core.table_policy(task, space.states()[solvable], space.best_operator[solvable])
    return NativePolicy(task, table, chooses=False)


def load_plan(argument: str, task: Task) -> Policy:
    """Follows a plan from the initial state, and has no action anywhere else.

    A plan may come back to a state. The policy has one decision there: that of the last time, which leads to the end.
    """
    path = Path(argument)
    content = read_bytes(path, MAX_PLAN_BYTES, "a plan file")
    text = decoded(content, str(path), "a plan file")
    decisions: dict[tuple[int, ...], int] = {}
    named: dict[str, tuple[int, ...]] = {}  # a long plan takes the same steps again and again
    state = task.initial_state
    for place, step in _steps(text):
        try:
            if step not in named:
                named[step] = _operators(step, task)
            operator = task.first_applicable(named[step], state)
            after = task.apply(state, operator)
        except (UsageError, ValueError) as error:
            line = text.count("\n", 0, place) + 1
            raise InputFormatError(
                f"this is not a plan for {task.name}: {excerpt(str(error), 160)}",
                where=f"{path}:{line}",
                expected="(operator arguments) or a comment after ;",
            ) from None
        decisions[state.values] = operator
        state = after
    table = _core.table_policy(
        task,
        np.array(list(decisions), dtype=np.int32).reshape(len(decisions), task.variable_count),
        np.array(list(decisions.values()), dtype=np.int32),
    )
    policy = NativePolicy(task, table, chooses=False)
    policy.digest = hashlib.sha256(content).hexdigest()
    return policy


def _steps(text: str) -> Iterator[tuple[int, str]]:
    """The steps of a plan, each with the place of its line in the text. The independent checker reads it likewise."""
    for line in re.finditer(r"[^\n]+", text):
        if step := line[0].partition(";")[0].strip():
            yield line.start(), step


def _operators(step: str, task: Task) -> tuple[int, ...]:
    if re.fullmatch(r"\([^()]*\)", step) is None:
        raise UsageError(f"found {step!r:.100}")
    return task.operators_named(step)


def parse_seed(text: str, where: str) -> int:
    seed = whole_number(text)
    if seed is None:
        raise UsageError(f"the seed is {text!r}", where=where, expected="a whole number")
    return seed


def _no_argument(kind: str, argument: str) -> None:
    if argument:
        raise UsageError(f"the policy {kind} takes no argument", where=f"{kind}:{argument}")
