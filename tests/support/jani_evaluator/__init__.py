"""JANI by the letter, in plain Python: the twin that the native engine is compared with.

    task = SafetyTask(document)            a model with its first safety property
    task.starts(), task.outcomes(state)    states are tuples in the order of task.model.slots
    census(task)                           the exact numbers of a small task

Slow on purpose: each rule of the format is written once, where one would look for it.
"""

from support.jani_evaluator.expressions import ModelError, OutOfBoundsError, Value, evaluate
from support.jani_evaluator.ground_truth import (
    Census,
    Space,
    census,
    explore,
    faults,
    is_safe,
    safe_states,
    values,
)
from support.jani_evaluator.model import SILENT, Model, State
from support.jani_evaluator.task import SafetyTask, load, read

__all__ = [
    "SILENT",
    "Census",
    "Model",
    "ModelError",
    "OutOfBoundsError",
    "SafetyTask",
    "Space",
    "State",
    "Value",
    "census",
    "evaluate",
    "explore",
    "faults",
    "is_safe",
    "load",
    "read",
    "safe_states",
    "values",
]
