"""The policies `sketch:[--choose=first|last|hash|all] --width=0 FILE`.

A sketch permits several steps in most states. By default the policy is therefore set-valued. With `--choose` it is an
ordinary policy, and then a bug may lie in the sketch or in the way of choosing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep._core import Sketch as CoreSketch
from misstep.errors import UnsupportedError, UsageError
from misstep.files import decoded, read_bytes
from misstep.policies.native import NativePolicy
from misstep.policies.options import split_options, whole
from misstep.policies.policy import Answers, Candidates, Policy, States, checked_states
from misstep.policies.sketch.compile import INFINITE, core_sketch
from misstep.policies.sketch.document import Sketch, parse_sketch
from misstep.tasks.task import Task

MAX_BYTES = 2**20
ALL = "all"
CHOICES = ("first", "last", "hash", ALL)
SPEC = "sketch:[--choose=first|last|hash|all] --width=0 FILE"


class SketchPolicy(Policy):
    """All steps that the sketch permits."""

    set_valued = True
    chooses = True
    chooser: str | None = None

    def __init__(self, task: Task, sketch: Sketch) -> None:
        super().__init__(task)
        self.sketch = sketch
        self.core = core_sketch(task, sketch, "first")
        self._first = NativePolicy(task, self.core.policy())

    def permitted(self, states: States) -> Candidates:
        return Candidates(*self.core.permitted(checked_states(states, self.task)))

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        """The permitted operator with the lowest number: one of the choices that the sketch leaves open."""
        return self._first.decide(states, candidates)

    def features(self, states: States) -> NDArray[np.float64]:
        """The features of each state, in the order of the file."""
        return feature_values(self.core, checked_states(states, self.task))


class ChosenSketchPolicy(NativePolicy):
    """One of the permitted steps: the lowest or highest operator, or one chosen by a hash of the state."""

    def __init__(self, task: Task, sketch: Sketch, chooser: str) -> None:
        self.sketch = sketch
        self.core = core_sketch(task, sketch, chooser)
        super().__init__(task, self.core.policy())
        self.chooser = chooser

    def features(self, states: States) -> NDArray[np.float64]:
        """The features of each state, in the order of the file."""
        return feature_values(self.core, checked_states(states, self.task))


def feature_values(core: CoreSketch, states: States) -> NDArray[np.float64]:
    values = core.features(states).astype(np.float64)
    values[values == INFINITE] = np.inf
    return values


def load(argument: str, task: Task) -> Policy:
    """The policy `sketch:FILE`."""
    options, file = split_options(argument, "sketch", {"choose": _choice, "width": whole})
    chooser = options.get("choose", ALL)
    if not file:
        raise UsageError("sketch needs a file", expected=SPEC)
    _check_width(options.get("width"), file)
    content = read_bytes(Path(file), MAX_BYTES, "a sketch")
    sketch = parse_sketch(decoded(content, file, "a sketch, (:policy ...)"), file)
    whole_set = chooser == ALL
    policy = SketchPolicy(task, sketch) if whole_set else ChosenSketchPolicy(task, sketch, chooser)
    policy.digest = hashlib.sha256(f"sketch {chooser}\n".encode() + content).hexdigest()
    return policy


def _choice(text: str) -> str:
    if text not in CHOICES:
        raise ValueError(" or ".join(CHOICES))
    return text


def _check_width(width: int | None, file: str) -> None:
    """Ask the user to state the width, since the file does not contain it."""
    if width is None:
        raise UsageError(
            "a sketch of width 1 or more is not a policy, and the file does not say its width",
            where=file,
            expected=SPEC,
            hint=f"if every rule is meant for a single step, confirm with sketch:--width=0 {file}",
        )
    if width > 0:
        raise UnsupportedError(
            f"a sketch of width {width} is not a policy: its rules speak of goals several steps away",
            where=file,
            expected="--width=0",
        )


__all__ = ["ChosenSketchPolicy", "SketchPolicy", "load"]
