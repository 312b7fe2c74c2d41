"""Any Python callable as a policy: the decorator, and `python:FILE:NAME`.

The callable gets a `StateView` and returns the operator: its name, its number, or None for no action. A class is
called with the task first, once, and its instances then take the states: the place for set-up work.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import read_bytes
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.tasks.task import State, Task

MAX_SOURCE_BYTES = 16 * 2**20


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


@contextmanager
def users_code() -> Iterator[list[str]]:
    """Whatever the user's code raises, SystemExit too, is noted down; what it prints does not mix with our output."""
    failure: list[str] = []
    with redirect_stdout(sys.stderr):
        try:
            yield failure
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure.append(" ".join(f"{type(error).__name__}: {error}".split()))


def policy(function: Decide) -> Callable[[Task], FunctionPolicy]:
    """Decorator: `@policy def f(state): ...` makes `f(task)` a policy on the task."""

    def bind(task: Task) -> FunctionPolicy:
        return FunctionPolicy(task, function)

    bind.__name__ = getattr(function, "__name__", "policy")
    bind.__doc__ = function.__doc__
    bind.__wrapped__ = function  # type: ignore[attr-defined]
    return bind


def load(argument: str, task: Task) -> Policy:
    file, _, name = argument.rpartition(":")
    where = f"python:{argument}"
    if not file or not name:
        raise UsageError("the policy is incomplete", where=where, expected="python:FILE.py:NAME")
    path = Path(file)
    source = read_bytes(path, MAX_SOURCE_BYTES, "a Python file")
    found = getattr(user_module(path), name, None)
    found = getattr(found, "__wrapped__", found)
    if not callable(found):
        raise InputFormatError(
            f"the file defines no callable {name!r}",
            where=file,
            hint="check the name after the colon",
        )
    digest = hashlib.sha256(source + name.encode()).hexdigest()
    with users_code() as failure:
        return FunctionPolicy(task, found, name=where, digest=digest)
    raise InputFormatError(f"{name}(task) raises {failure[0]}", where=file)


def user_module(path: Path) -> Any:
    name = f"misstep_user_policy_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputFileError("this is not a Python file", where=str(path), expected="FILE.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    with redirect_stdout(sys.stderr):
        try:
            spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            line = _line_of(error, path)
            raise InputFormatError(
                f"the file cannot be run: {type(error).__name__}: {error}",
                where=f"{path}:{line}" if line else str(path),
            ) from error
    return module


def _line_of(error: BaseException, path: Path) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return lines[-1] if lines else None
