"""Any Python callable as a policy: the decorator, and `python:FILE:NAME`.

The callable gets a `StateView` and returns the operator: its name, its number, or None for no action. A class is
called with the task first, once, and its instances then take the states: the place for set-up work.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from misstep.errors import InputFormatError, UsageError
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.user_code import named_object, users_code
from misstep.tasks.task import State, Task


@dataclass(frozen=True)
class StateView:
    """A state as a user's policy sees it."""

    state: State
    task: Task

    @cached_property
    def facts(self) -> frozenset[str]:
        """The atoms that are true, such as `on(a, b)`."""
        return frozenset(self.task.facts(self.state))

    @cached_property
    def operators(self) -> list[str]:
        """Names of the applicable operators."""
        return [self.task.operator_name(op) for op in self.task.applicable(self.state)]

    @property
    def values(self) -> tuple[int, ...]:
        return self.state.values

    def after(self, operator: str) -> StateView:
        """The state that the operator leads to."""
        return StateView(self.task.apply(self.state, self.task.operator_id(operator)), self.task)


Decide = Callable[[StateView], "str | int | None"]


class FunctionPolicy(Policy):
    """A policy that calls a Python function for each state."""

    def __init__(self, task: Task, function: Decide, *, name: str = "", digest: str = "") -> None:
        super().__init__(task)
        made: Any = function(task) if inspect.isclass(function) else function  # type: ignore[call-arg]
        self.function: Decide = made
        self.name = name or getattr(function, "__qualname__", type(function).__qualname__)
        self.digest = digest

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UsageError(f"the policy {self.name} cannot choose among candidates")
        states = checked_states(states, self.task)
        operators = np.full(len(states), FAILED, dtype=np.int32)
        messages = {}
        for row, values in enumerate(states.tolist()):
            with users_code() as failure:
                operators[row] = self._number(self.function(StateView(State(values), self.task)))
            if failure:
                messages[row] = failure[0]
        return Answers(operators, messages)

    def _number(self, answer: object) -> int:
        if answer is None:
            return NO_ACTION
        if isinstance(answer, str):
            return self.task.operator_id(answer)
        if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool):
            if 0 <= answer < self.task.operator_count:
                return int(answer)
            raise ValueError(f"the task has no operator {answer}")
        raise TypeError(
            f"the policy answered {answer!r}, not the name or number of an operator, or None"
        )


def policy(function: Decide) -> Callable[[Task], FunctionPolicy]:
    """Decorator: `@policy def f(state): ...` makes `f(task)` a policy on the task."""

    def bind(task: Task) -> FunctionPolicy:
        return FunctionPolicy(task, function)

    bind.__name__ = getattr(function, "__name__", "policy")
    bind.__doc__ = function.__doc__
    bind.__wrapped__ = function  # type: ignore[attr-defined]
    return bind


def load(argument: str, task: Task) -> Policy:
    own = named_object(argument)
    function = getattr(own.value, "__wrapped__", own.value)
    if not callable(function):
        raise own.is_none("callable")
    digest = hashlib.sha256(own.source + own.name.encode()).hexdigest()
    with users_code() as failure:
        return FunctionPolicy(task, function, name=f"python:{argument}", digest=digest)
    raise InputFormatError(f"{own.name}(task) raises {failure[0]}", where=own.file)
