"""The check of a strategy with array operations, and what "independent" means here.

A campaign rests on thousands of states for which a strategy gives a label. This package checks all of them together:
no state is unsafe, the label of each applies, and each outcome is in the set again, or a goal, or a dead end. It takes
linear time, about a microsecond per state.

What it shares, and what it does not:

* It shares nothing with the engine that found the strategy: neither the programs to which expressions are compiled, nor
  packed states, the index of edges, or what deciders remember. It gets values of variables and numbers of labels, and
  derives every transition again from the text of the model.
* It shares the reader of models with the slow checker (`misstep.checking.jani`): declarations, types, which vectors
  there are. The meaning of expressions and edges is implemented a third time here, over columns instead of values.
* Where a column holds a case that the arrays do not decide (a division by zero, an index outside, a value outside its
  bounds, a number that may not fit in 64 bits), the state is doubtful, and the slow checker derives its outcomes. A
  doubt is never resolved in favour of the strategy. A model that needs more than is known here is left to the slow
  checker as a whole (`NotForArraysError`).
* For some states of every set, the slow checker computes the outcomes as well, and they must agree. This guards against
  mistakes in this package; it replaces nothing, as all states are checked here.

`misstep replay` does not use this package. It derives every transition of every strategy in plain Python, once for all
records that rest on it, and needs nothing but Python; this package needs numpy, and nothing else of the checker imports
it. So a strategy in a folder was checked twice, by code that has only the reader of models in common.

`columns`, `numbers` and `terms` say what expressions mean, `moves` what edges do, `sets` finds states among others, and
`closed` is the check.
"""

from misstep.checking.arrays.closed import ArrayChecker, Checked
from misstep.checking.arrays.columns import NotForArraysError

__all__ = ["ArrayChecker", "Checked", "NotForArraysError"]
