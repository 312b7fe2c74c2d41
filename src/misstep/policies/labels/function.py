"""Python code as a policy of models: functions, objects with `act`, and `python:FILE.py:NAME`.

A state is a dictionary from variables to values. The answer is a label, by its name or number, or None for no label.
An object has `act(state)`; optional are `values(state)`, a dictionary from labels to numbers, which tells the best
label where the policy's own does not apply, and `act_batch(states)`, which answers for many states at once. A class is
called with the task first, once, and its instances are then the policy.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from misstep import _core
from misstep.errors import InputFormatError, PolicyCrashError
from misstep.policies.function import is_policy_code, unwrapped
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.user_code import named_object, users_code
from misstep.tasks.jani.task import JaniTask

StateDict = dict[str, Any]


class FunctionLabels:
    """Between the core, which knows ids, and a user's code, which knows names."""

    def __init__(self, policy: Any, task: JaniTask, engine: _core.JaniEngine, where: str) -> None:
        self._task = task
        self._engine = engine
        self._where = where
        self._ids = {name: i for i, name in enumerate(task.labels)}
        self._act: Callable[[StateDict], Any] = getattr(policy, "act", policy)
        self._values: Callable[[StateDict], Any] | None = getattr(policy, "values", None)
        self._batch: Callable[[list[StateDict]], Any] | None = getattr(policy, "act_batch", None)

    def core(self) -> _core.PythonLabelPolicy:
        return _core.PythonLabelPolicy(
            self.act,
            None if self._values is None else self.values,
            None if self._batch is None else self.act_batch,
        )

    def act(self, id: int) -> int | None:
        return self._label(self._call(self._act, self._state(id)))

    def act_batch(self, ids: list[int]) -> list[int | None]:
        assert self._batch is not None
        answers = self._call(self._batch, [self._state(id) for id in ids])
        if not isinstance(answers, (Sequence, np.ndarray)) or len(answers) != len(ids):
            raise self._fault(f"act_batch did not answer with a list of {len(ids)} labels")
        return [self._label(answer) for answer in answers]

    def values(self, id: int, labels: list[int]) -> list[float]:
        assert self._values is not None
        known = self._call(self._values, self._state(id))
        try:
            numbers = [float(known.get(self._task.labels[i], -math.inf)) for i in labels]
        except (AttributeError, TypeError, ValueError):
            raise self._fault("values did not answer with a number for each label") from None
        if any(map(math.isnan, numbers)):
            raise self._fault("a value is not a number")
        return numbers

    def _state(self, id: int) -> StateDict:
        return dict(zip(self._task.variable_names, self._engine.values(id), strict=True))

    def _call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        with users_code() as failure:
            return function(argument)
        raise self._fault(f"the policy raises {failure[0]}")

    def _label(self, answer: Any) -> int | None:
        if answer is None:
            return None
        if isinstance(answer, str) and answer in self._ids:
            return self._ids[answer]
        if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool):
            if 0 <= answer < len(self._ids):
                return int(answer)
            raise self._fault(f"the model has no label {answer}")
        raise self._fault(
            f"the policy answered {answer!r:.60}",
            expected="the name or number of a label, or None; labels: "
            + ", ".join(self._task.labels[:20]),
        )

    def _fault(self, what: str, expected: str | None = None) -> PolicyCrashError:
        return PolicyCrashError(what, where=self._where, expected=expected)


def load(argument: str, setting: Setting) -> LabelPolicy:
    own = named_object(argument)
    code = unwrapped(own.value)
    if not is_policy_code(code):
        raise own.is_none("policy", "a function, or an object or class with act")
    digest = digest_of("python", hashlib.sha256(own.source).hexdigest(), own.name)
    return from_code(code, setting, digest, f"policy python:{argument}")


def from_code(code: Any, setting: Setting, digest: str, where: str) -> LabelPolicy:
    """The policy of a function, an object or a class."""
    made = _made(code, setting.task, where) if inspect.isclass(code) else code
    if not is_policy_code(made):
        raise InputFormatError(
            f"{code.__name__}(task) makes {made!r:.60}", where=where, expected="an object with act"
        )
    labels = FunctionLabels(made, setting.task, setting.engine, where)
    deterministic = getattr(made, "deterministic", True) is not False
    return setting.bind(labels.core(), digest, deterministic=deterministic)


def _made(cls: type, task: JaniTask, where: str) -> object:
    with users_code() as failure:
        return cls(task)
    raise InputFormatError(f"{cls.__name__}(task) raises {failure[0]}", where=where)


__all__ = ["FunctionLabels", "StateDict", "from_code", "load"]
