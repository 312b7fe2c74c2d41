"""Python code as a policy of planning tasks: functions, objects, the decorator, and `python:FILE.py:NAME`.

`misstep.policies.contract` describes the contract. The code gets a `StateView`, or a `StateBatch` if it answers for
many states at once; a batch is one array, and makes views of single states only on demand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, UsageError
from misstep.policies.contract import (
    Roles,
    answers_of,
    collection_of,
    distribution,
    is_number,
    is_policy_code,
    made_by,
    mapping_of,
    plain,
    roles_of,
)
from misstep.policies.home import Home
from misstep.policies.identity import in_memory_name, object_digest
from misstep.policies.options import positive, split_options
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    Answers,
    Candidates,
    Operators,
    Policy,
    States,
    checked_states,
)
from misstep.policies.user_code import file_digest, named_object
from misstep.stops import ends_work
from misstep.tasks.state_view import Action, StateBatch, StateView
from misstep.tasks.task import State, Task

OperatorChoice = Action | str | int | np.integer[Any] | None
Decide = Callable[[StateView], OperatorChoice]


class Actor(Protocol):
    """An object that is a policy. It may also have the other methods of the contract."""

    def act(self, state: StateView, /) -> OperatorChoice: ...


class FunctionPolicy(Policy):
    """A policy that calls Python code."""

    def __init__(
        self,
        task: Task,
        code: Decide | Actor | type,
        *,
        name: str = "",
        digest: str = "",
        home: Home | None = None,
    ) -> None:
        super().__init__(task)
        self.home = home or Home()
        self.name = name or in_memory_name(code)
        made = made_by(code, task, {}, self.home, f"policy {self.name}")
        with self.home:
            self.roles: Roles = roles_of(made, f"policy {self.name}")
        self._made = made
        self.digest = digest or object_digest(code)
        self.deterministic = self.roles.deterministic
        self.chooses = self.roles.values is not None
        self.stochastic = self.roles.probabilities is not None
        self.set_valued = self.stochastic or self.roles.permitted is not None
        self.plans = self.roles.plan is not None
        if self.roles.batch_size is not None:
            self.batch_size = self.roles.batch_size
        elif self.roles.act_batch is None and not self.set_valued:
            self.batch_size = (
                1  # one state after the other anyway: nothing is gained by asking early
            )

    @property
    def environment(self) -> dict[str, str | None]:  # type: ignore[override]
        return self.home.environment

    # -- decisions ----------------------------------------------------------------------------------

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        batch = StateBatch(checked_states(states, self.task), self.task)
        with self.home:
            if candidates is not None:
                return self._rows(batch, self._chooser(batch, candidates))
            if self.roles.act_batch is not None and len(batch) > 1:
                try:
                    given = answers_of(self.roles.act_batch(batch), len(batch))
                except BaseException as error:
                    if ends_work(error):
                        raise
                    # Ask state by state, so that one bad state does not spoil its batch.
                else:
                    return self._read(batch, given)
            return self._rows(batch, lambda row: self._one(batch, row))

    def _read(self, batch: StateBatch, given: Sequence[object] | NDArray[Any]) -> Answers:
        if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in "iu":
            return self._rows(batch, lambda row: self._number(given[row], batch, row))
        known = (given >= NO_ACTION) & (given < self.task.operator_count)
        operators: Operators = np.full(len(given), FAILED, dtype=np.int32)
        operators[known] = given[known]
        wrong = np.flatnonzero(~known).tolist()
        return Answers(
            operators, {row: f"ValueError: the task has no operator {given[row]}" for row in wrong}
        )

    def _rows(self, batch: StateBatch, choice: Callable[[int], int]) -> Answers:
        operators = np.full(len(batch), FAILED, dtype=np.int32)
        messages = {}
        for row in range(len(batch)):
            try:
                operators[row] = choice(row)
            except BaseException as error:
                if ends_work(error):
                    raise  # the user or a limit ends the work
                messages[row] = self.home.told(error)
        return Answers(operators, messages)

    def _one(self, batch: StateBatch, row: int) -> int:
        roles = self.roles
        if roles.act_batch is not None:
            answers = answers_of(roles.act_batch(batch[row : row + 1]), 1)
            return self._number(answers[0], batch, row)
        if roles.act is not None:
            return self._number(roles.act(batch[row]), batch, row)
        if roles.plan is not None:  # its first step
            steps = self._plan(batch[row])
            return steps[0] if steps else NO_ACTION
        permitted = self._weights(batch, row)
        return next(iter(permitted), NO_ACTION)

    def _chooser(self, batch: StateBatch, candidates: Candidates) -> Callable[[int], int]:
        """A function that returns the best-valued candidate of a row, the first one of equals."""
        valued = self.roles.values
        if valued is None:
            raise UsageError(
                f"the policy {self.name} cannot choose among candidates",
                hint="give it values(state)",
            )

        def best(row: int) -> int:
            own = candidates.operators[candidates.offsets[row] : candidates.offsets[row + 1]]
            given = mapping_of(valued(batch[row]), "values").items()
            values = {self._number(key, batch, row): float(value) for key, value in given}  # type: ignore[arg-type]
            known = [op for op in own.tolist() if op in values]
            return max(known, key=values.__getitem__) if known else NO_ACTION

        return best

    # -- sets, distributions and plans --------------------------------------------------------------

    def permitted(self, states: States) -> Candidates:
        return self.probabilities(states)[0] if self.set_valued else super().permitted(states)

    def probabilities(self, states: States) -> tuple[Candidates, NDArray[np.float64]]:
        if not self.set_valued:
            return super().probabilities(states)
        batch = StateBatch(checked_states(states, self.task), self.task)
        found: list[dict[int, float]] = []
        with self.home:
            for row in range(len(batch)):
                try:
                    found.append(self._weights(batch, row))
                except BaseException as error:
                    if ends_work(error):
                        raise
                    raise ValueError(self.home.told(error)) from error
        offsets = np.concatenate([[0], np.cumsum([len(own) for own in found], dtype=np.int64)])
        operators = np.array([op for own in found for op in own], dtype=np.int32)
        weights = np.array([weight for own in found for weight in own.values()], dtype=np.float64)
        return Candidates(offsets.astype(np.int64), operators), weights

    def _weights(self, batch: StateBatch, row: int) -> dict[int, float]:
        """The permitted operators in increasing order, with probabilities; equal ones if the policy gives none."""
        if self.roles.probabilities is not None:
            given = mapping_of(self.roles.probabilities(batch[row]), "probabilities")
            pairs = [(self._number(key, batch, row), weight) for key, weight in given.items()]
            return distribution(pairs)
        assert self.roles.permitted is not None
        chosen = collection_of(self.roles.permitted(batch[row]), "permitted")
        numbers = sorted({self._number(answer, batch, row) for answer in chosen})
        if NO_ACTION in numbers:
            raise TypeError("permitted answered None among the operators")
        return dict.fromkeys(numbers, 1 / max(len(numbers), 1))

    def plan(self, state: State) -> Sequence[int]:
        if self.roles.plan is None:
            return super().plan(state)
        with self.home:
            try:
                return self._plan(StateView(state, self.task))
            except BaseException as error:
                if ends_work(error):
                    raise
                raise ValueError(self.home.told(error)) from error

    def _plan(self, view: StateView) -> list[int]:
        """The operators of a plan; a name means the operator of that name that applies at its step."""
        assert self.roles.plan is not None
        steps: list[int] = []
        state = view.state
        leads = True
        for answer in collection_of(self.roles.plan(view), "plan"):
            number = self._resolved(answer, state)
            if number == NO_ACTION:
                raise TypeError("plan answered None among the operators")
            steps.append(number)
            leads = leads and number in self.task.applicable(state)
            if leads:
                state = self.task.apply(state, number)
        return steps

    # -- answers ------------------------------------------------------------------------------------

    def _number(self, answer: object, batch: StateBatch, row: int) -> int:
        return self._resolved(answer, batch[row].state if isinstance(answer, str) else None)

    def _resolved(self, answer: object, state: State | None) -> int:
        if isinstance(answer, Action):
            answer = answer.number
        answer = plain(answer)
        if answer is None:
            return NO_ACTION
        if isinstance(answer, str):
            assert state is not None
            return self.task.resolve(answer, state)
        if is_number(answer):
            assert isinstance(answer, int)
            if NO_ACTION <= answer < self.task.operator_count:
                return answer
            raise ValueError(f"the task has no operator {answer}")
        raise TypeError(
            f"the policy answered {answer!r:.60}, not an operator, its name, its number, or None"
        )


class PolicyMaker:
    """The result of the decorator: called with a task, it returns the policy on that task."""

    def __init__(self, function: Decide) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "policy")
        self.__doc__ = function.__doc__

    def __call__(self, task: Task) -> FunctionPolicy:
        return FunctionPolicy(task, self.function)


def policy(function: Decide) -> PolicyMaker:
    """Decorator: after `@policy def f(state): ...`, `f(task)` is a policy on the task."""
    return PolicyMaker(function)


def unwrapped(code: object) -> object:
    """The function without the decorator."""
    return code.function if isinstance(code, PolicyMaker) else code


def load(argument: str, task: Task) -> Policy:
    """Loads `python:[--timeout=S] FILE.py:NAME`; with a time limit the code runs in a process of its own."""
    options, rest = split_options(argument, "python", dict.fromkeys(("timeout",), positive))
    if "timeout" in options:
        from misstep.policies.process.python import PythonProcess

        return PythonProcess(task, rest, timeout=options["timeout"])
    from misstep.policies.service.code import device_of, served_policy

    own = named_object(rest)
    code: Any = unwrapped(own.value)
    if not is_policy_code(code):
        raise own.is_none("callable", "a function, or an object or class with act")
    device = device_of(code)
    served = None if device is None else served_policy(task, f"python:{argument}", device)
    if served is not None:
        return served
    where = f"policy python:{rest}"
    made = unwrapped(made_by(code, task, own.arguments, own.home, where))
    named = roles_of(made, where).files if not isinstance(made, Policy) else ()
    loaded = bound(made, task, f"python:{argument}", own.digest(named), where, own.home)
    loaded.files = tuple(map(str, own.files(named)))
    return loaded


def of_object(code: Any, task: Task) -> Policy:
    """The policy of a Python object in memory."""
    name = in_memory_name(code)
    where = f"policy {name}"
    home = Home()
    made = unwrapped(made_by(code, task, {}, home, where))
    digest = object_digest(code)
    files = () if isinstance(made, Policy) else roles_of(made, where).files
    if files:
        parts = [digest, *(file_digest(Path(file)) for file in files)]
        digest = digest[: len(digest) - 64] + hashlib.sha256(" ".join(parts).encode()).hexdigest()
    loaded = bound(made, task, name, digest, where, home)
    loaded.files = tuple(files)
    return loaded


def bound(made: Any, task: Task, name: str, digest: str, where: str, home: Home) -> Policy:
    """The policy for the object that the user's code has made, which may be a `Policy` already."""
    if isinstance(made, Policy):
        if made.task.digest != task.digest:
            raise InputFormatError("the policy is bound to another task", where=where)
        made.name, made.digest = name, digest
        return made
    return FunctionPolicy(task, made, name=name, digest=digest, home=home)


__all__ = ["FunctionPolicy", "PolicyMaker", "StateView", "is_policy_code", "of_object", "policy"]
