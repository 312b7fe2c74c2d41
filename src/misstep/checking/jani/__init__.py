"""An independent implementation of JANI in plain Python.

The engine compiles a model to programs over packed states, indexes its edges and remembers what it computed. This
package shares nothing with it but the format. It reads the JSON text again and answers the same questions from it:
which labels apply in a state, what their outcomes are, and whether a state is unsafe, a goal or a start.

Three decisions keep it simple:

* An expression becomes a `Term`: its type, and a Python function from the values of all variables to its value.
  Types are known before anything is computed, as `ite` turns its integer branch into a real number if the other one
  is real.
* A state is a flat tuple: the location of each automaton that has several, then each variable, an array cell by
  cell. This is the order of the engine and of the records. An array in an expression is the tuple of the terms of
  its cells.
* A step walks through all vectors and all edges of the location again. Nothing is indexed by values or reordered.

What is not supported is refused by name (`ModelError`), never skipped. `operators` and `expressions` say what
expressions mean, `types` what variables can hold, `model` and `declarations` how a model is read, `steps` what
edges do, `task` what the safety property says, and `documents` finds the files.
"""

from misstep.checking.jani.errors import ModelError, OutOfBoundsError
from misstep.checking.jani.expressions import evaluate
from misstep.checking.jani.model import Model
from misstep.checking.jani.operators import Scalar, Value
from misstep.checking.jani.task import SafetyTask, State

__all__ = [
    "Model",
    "ModelError",
    "OutOfBoundsError",
    "SafetyTask",
    "Scalar",
    "State",
    "Value",
    "evaluate",
]
