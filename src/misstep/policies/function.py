"""Python code as a policy of planning tasks: functions, objects with `act`, the decorator, and `python:FILE:NAME`.

A function gets a `StateView` and returns the operator: its name, its number, or None for no action. An object has
`act(state)`, which does the same. Optional are `act_batch(states)`, which answers for many states at once, and
`values(state)`, a dictionary from operators (names or numbers) to numbers, which lets it choose among some operators
only. A class is called with the task first, once, and its instances are then the policy: the place for set-up work.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from misstep.errors import InputFormatError, UsageError
from misstep.policies.identity import in_memory_name, object_digest
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

OperatorChoice = str | int | np.integer[Any] | None


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
        number = self.task.resolve(operator, self.state)
        return StateView(self.task.apply(self.state, number), self.task)


Decide = Callable[[StateView], OperatorChoice]


class Actor(Protocol):
    """An object that is a policy. It may also have `act_batch` and `values`."""

    def act(self, state: StateView, /) -> OperatorChoice: ...


class FunctionPolicy(Policy):
    """A policy that calls Python code for each state."""

    def __init__(
        self, task: Task, code: Decide | Actor | type, *, name: str = "", digest: str = ""
    ) -> None:
        super().__init__(task)
        maker: Any = code
        made = maker(task) if inspect.isclass(code) else maker
        self._act: Callable[[StateView], object] = getattr(made, "act", made)
        self._act_batch: Callable[[list[StateView]], object] | None
        self._act_batch = getattr(made, "act_batch", None)
        if self._act_batch is None:
            self.batch_size = (
                1  # one state after the other anyway: nothing is gained by asking early
            )
        self._values: Callable[[StateView], Any] | None = getattr(made, "values", None)
        if not callable(self._act):
            raise TypeError(f"{made!r:.60} is neither callable nor has it act")
        self.chooses = self._values is not None
        self.name = name or in_memory_name(code)
        self.digest = digest or object_digest(code)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        views = [StateView(State(values), self.task) for values in states.tolist()]
        if candidates is not None:
            return self._choose(views, candidates)
        if self._act_batch is not None and len(views) > 1:
            with users_code():
                choices = self._act_batch(views)
                if isinstance(choices, (Sequence, np.ndarray)) and len(choices) == len(views):
                    return self._numbers(views, lambda row: choices[row])
            # Whatever went wrong: state by state, so that one bad state does not condemn its batch.
        return self._numbers(views, lambda row: self._ask(views[row]))

    def _ask(self, view: StateView) -> object:
        if self._act_batch is None:
            return self._act(view)
        choices = self._act_batch([view])
        if not isinstance(choices, (Sequence, np.ndarray)) or len(choices) != 1:
            raise TypeError(f"act_batch answered {choices!r:.60} to a list of one state")
        return choices[0]

    def _numbers(self, views: list[StateView], choice: Callable[[int], object]) -> Answers:
        operators = np.full(len(views), FAILED, dtype=np.int32)
        messages = {}
        for row, view in enumerate(views):
            with users_code() as failure:
                operators[row] = self._number(choice(row), view.state)
            if failure:
                messages[row] = failure[0]
        return Answers(operators, messages)

    def _choose(self, views: list[StateView], candidates: Candidates) -> Answers:
        """The best-valued operator among the candidates; of equals the first."""
        if self._values is None:
            raise UsageError(
                f"the policy {self.name} cannot choose among candidates",
                hint="give it values(state)",
            )
        valued = self._values

        def best(row: int) -> int | None:
            own = candidates.operators[candidates.offsets[row] : candidates.offsets[row + 1]]
            given = valued(views[row]).items()
            values = {self._number(key, views[row].state): float(value) for key, value in given}
            known = [op for op in own.tolist() if op in values]
            return max(known, key=values.__getitem__) if known else None

        return self._numbers(views, best)

    def _number(self, answer: object, state: State) -> int:
        if answer is None:
            return NO_ACTION
        if isinstance(answer, str):
            return self.task.resolve(answer, state)
        if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool):
            if 0 <= answer < self.task.operator_count:
                return int(answer)
            raise ValueError(f"the task has no operator {answer}")
        raise TypeError(
            f"the policy answered {answer!r}, not the name or number of an operator, or None"
        )


class PolicyMaker:
    """What the decorator makes of a function: called with a task, it gives the policy on that task."""

    def __init__(self, function: Decide) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "policy")
        self.__doc__ = function.__doc__

    def __call__(self, task: Task) -> FunctionPolicy:
        return FunctionPolicy(task, self.function)


def policy(function: Decide) -> PolicyMaker:
    """Decorator: `@policy def f(state): ...` makes `f(task)` a policy on the task."""
    return PolicyMaker(function)


def unwrapped(code: object) -> object:
    """The function below the decorator, if it is there."""
    return code.function if isinstance(code, PolicyMaker) else code


def load(argument: str, task: Task) -> Policy:
    own = named_object(argument)
    code: Any = unwrapped(own.value)
    if not is_policy_code(code):
        raise own.is_none("callable", "a function, or an object or class with act")
    digest = hashlib.sha256(own.source + own.name.encode()).hexdigest()
    return make(code, task, f"python:{argument}", digest, own.file)


def is_policy_code(code: object) -> bool:
    return callable(code) or callable(getattr(code, "act", None))


def make(code: Any, task: Task, name: str, digest: str, where: str) -> Policy:
    """The policy of a function, an object or a class, which may be a `Policy` itself."""
    with users_code() as failure:
        if inspect.isclass(code) and issubclass(code, Policy):
            made: Policy = code(task)
            made.name, made.digest = name, digest
            return made
        return FunctionPolicy(task, code, name=name, digest=digest)
    shown = getattr(code, "__name__", type(code).__name__)
    raise InputFormatError(f"{shown}(task) raises {failure[0]}", where=where)


__all__ = ["FunctionPolicy", "PolicyMaker", "StateView", "is_policy_code", "make", "policy"]
