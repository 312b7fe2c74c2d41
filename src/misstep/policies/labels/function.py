"""Python code as a policy for models: functions, objects, and `python:FILE.py:NAME`.

`misstep.policies.contract` describes what is accepted: the same as for planning tasks, with labels instead of
operators. The code gets a `ModelStateView`, which is a dictionary from variables to values, or a `ModelStateBatch` if
it answers for many states. A subclass of `misstep.Policy` gets the array of the batch and returns numbers of labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from misstep import _core
from misstep.errors import InputFormatError, PolicyCrashError, UnsupportedError
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
from misstep.policies.function import unwrapped
from misstep.policies.home import Home
from misstep.policies.identity import object_digest
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.options import positive, split_options
from misstep.policies.policy import NO_ACTION, TIMED_OUT, Policy
from misstep.policies.user_code import named_object
from misstep.stops import ends_work
from misstep.tasks.jani.state_view import Label, ModelStateBatch, ModelStateView
from misstep.tasks.jani.task import JaniTask


class FunctionLabels:
    """Translates between the core, which uses ids, and a user's code, which uses names."""

    def __init__(
        self, made: Any, task: JaniTask, engine: _core.JaniEngine, where: str, home: Home
    ) -> None:
        self._task = task
        self._engine = engine
        self._where = where
        self.home = home
        self._ids = {name: i for i, name in enumerate(task.labels)}
        with home:
            self.roles: Roles = roles_of(made, where)

    def core(self) -> _core.PythonLabelPolicy:
        return _core.PythonLabelPolicy(
            self.act,
            None if self.roles.values is None else self.values,
            None if self.roles.act_batch is None else self.act_batch,
        )

    def act(self, id: int) -> int | None:
        roles = self.roles
        with self.home:
            try:
                if roles.act is not None:
                    return self._label(roles.act(self._state(id)))
                if roles.act_batch is not None:
                    return self._label(answers_of(roles.act_batch(self._batch([id])), 1)[0])
            except BaseException as error:
                if isinstance(error, PolicyCrashError) or ends_work(error):
                    raise
                raise self._crash(error) from error
        raise UnsupportedError(
            "a policy of a model decides on one label in each state",
            where=self._where,
            expected="an object with act",
            hint="permitted, probabilities and plan are for planning tasks",
        )

    def act_batch(self, ids: list[int]) -> list[int | None]:
        assert self.roles.act_batch is not None
        with self.home:
            try:
                answers = answers_of(self.roles.act_batch(self._batch(ids)), len(ids))
                return [self._label(answer) for answer in answers]
            except BaseException as error:
                if isinstance(error, PolicyCrashError) or ends_work(error):
                    raise
                raise self._crash(error) from error

    def values(self, id: int, labels: list[int]) -> list[float]:
        assert self.roles.values is not None
        with self.home:
            try:
                known = mapping_of(self.roles.values(self._state(id)), "values")
            except BaseException as error:
                if ends_work(error):
                    raise
                raise self._crash(error) from error
        try:
            by_label = {self._label(key): float(value) for key, value in known.items()}  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise self._fault("values did not answer with a number for each label") from None
        if any(map(math.isnan, by_label.values())):
            raise self._fault("a value is not a number")
        return [by_label.get(label, -math.inf) for label in labels]

    def weights(self, id: int) -> dict[int, float]:
        """The permitted labels in increasing order, each with its probability; without probabilities all are equal."""
        roles = self.roles
        with self.home:
            try:
                if roles.probabilities is not None:
                    given = mapping_of(roles.probabilities(self._state(id)), "probabilities")
                    pairs = [(self._one(key), weight) for key, weight in given.items()]
                    return distribution(pairs)
                if roles.permitted is None:
                    return {}
                chosen = collection_of(roles.permitted(self._state(id)), "permitted")
                labels = sorted({self._one(answer) for answer in chosen})
                return dict.fromkeys(labels, 1 / max(len(labels), 1))
            except BaseException as error:
                if isinstance(error, PolicyCrashError) or ends_work(error):
                    raise
                raise self._crash(error) from error

    def _state(self, id: int) -> ModelStateView:
        return ModelStateView.of_id(id, self._task, self._engine)

    def _batch(self, ids: Sequence[int]) -> ModelStateBatch:
        return ModelStateBatch(ids, self._task, self._engine)

    def _one(self, answer: object) -> int:
        label = self._label(answer)
        if label is None:
            raise self._fault("None is among the labels")
        return label

    def _label(self, answer: object) -> int | None:
        if isinstance(answer, Label):
            answer = answer.number
        answer = plain(answer)
        if answer is None:
            return None
        if isinstance(answer, str) and answer in self._ids:
            return self._ids[answer]
        if is_number(answer):
            assert isinstance(answer, int)
            if 0 <= answer < len(self._ids):
                return answer
            raise self._fault(f"the model has no label {answer}")
        raise self._fault(
            f"the policy answered {answer!r:.60}",
            expected="the name or number of a label, or None; labels: "
            + ", ".join(self._task.labels[:20]),
        )

    def _crash(self, error: BaseException) -> PolicyCrashError:
        return self._fault(f"the policy raises {self.home.told(error)}")

    def _fault(self, what: str, expected: str | None = None) -> PolicyCrashError:
        return PolicyCrashError(what, where=self._where, expected=expected)


@dataclass(frozen=True)
class LoadedCode:
    """A user's code, loaded and bound to a model."""

    labels: FunctionLabels
    digest: str
    files: tuple[str, ...]

    def bound(self, setting: Setting) -> LabelPolicy:
        roles = self.labels.roles
        loaded = setting.bind(self.labels.core(), self.digest)
        loaded.deterministic = roles.deterministic
        loaded.stochastic = roles.probabilities is not None
        loaded.set_valued = loaded.stochastic or roles.permitted is not None
        loaded.plans = roles.plan is not None
        loaded.weights = self.labels.weights if loaded.set_valued else None
        loaded.environment = self.labels.home.environment
        loaded.files = self.files
        return loaded


class _ArrayPolicy:
    """A `misstep.Policy` on a model: arrays of values in, numbers of labels out."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.deterministic = policy.deterministic

    def act_batch(self, states: ModelStateBatch) -> list[int | None]:
        given: Any = states.array  # numbers of any kind: the values of a model need not be integers
        answers = self._policy.decide(given)
        found: list[int | None] = []
        for row, number in enumerate(np.asarray(answers.operators).tolist()):
            if number < NO_ACTION:
                late = "did not answer in time" if number == TIMED_OUT else "failed"
                raise RuntimeError(answers.messages.get(row, f"the policy {late}"))
            found.append(None if number == NO_ACTION else number)
        return found


def load(argument: str, setting: Setting) -> LabelPolicy:
    """Loads `python:[--timeout=S] FILE.py:NAME`; with a time limit the code runs in a separate process."""
    options, rest = split_options(argument, "python", dict.fromkeys(("timeout",), positive))
    if "timeout" in options:
        from misstep.policies.labels.python import PythonLabels

        return PythonLabels(setting, rest, options["timeout"]).bound(setting)
    return load_code(rest, setting).bound(setting)


def load_code(argument: str, setting: Setting) -> LoadedCode:
    """The code that `python:ARGUMENT` names, for this process or for a host process."""
    own = named_object(argument)
    code = unwrapped(own.value)
    if not is_policy_code(code):
        raise own.is_none("policy", "a function, or an object or class with act")
    where = f"policy python:{argument}"
    made = unwrapped(made_by(code, setting.task, own.arguments, own.home, where))
    labels = _labels(made, setting, where, own.home)
    named = labels.roles.files
    files = tuple(map(str, own.files(named)))
    return LoadedCode(labels, digest_of("python", own.digest(named)), files)


def from_code(code: Any, setting: Setting, where: str) -> LabelPolicy:
    """The policy of a function, an object or a class in memory."""
    home = Home()
    made = unwrapped(made_by(code, setting.task, {}, home, where))
    labels = _labels(made, setting, where, home)
    return LoadedCode(labels, object_digest(code), labels.roles.files).bound(setting)


def _labels(made: Any, setting: Setting, where: str, home: Home) -> FunctionLabels:
    if isinstance(made, LabelPolicy):
        raise InputFormatError(
            "the code makes a policy that is loaded already",
            where=where,
            expected="an object with act",
            hint="give that policy to load_policy itself",
        )
    if isinstance(made, Policy):
        made = _ArrayPolicy(made)
    return FunctionLabels(made, setting.task, setting.engine, where, home)


__all__ = ["FunctionLabels", "LoadedCode", "from_code", "load", "load_code"]
