"""The outcomes of runs, as used in all records, and which of them are failures.

    goal          a goal state is reached; in a goal state the run is over before the policy is asked
    loop          a state comes up for the second time
    stuck         the policy names no operator
    inapplicable  the policy names an operator that does not apply
    error         the policy crashes, or its answer is not an operator
    cut           the step limit is reached
    timeout       the policy does not answer in time
    open          the run was not followed to its end; no run that was asked for ends like this

Proven failures have infinite cost. A crash is one of them: the policy is a function of the state, so it crashes
whenever it reaches that state, and the run has not reached the goal. Campaigns ask again before they report a crash,
and count it separately (kind `crash`). An answer that did not come in time proves nothing: with more time it may come.
"""

from __future__ import annotations

from misstep import _core

OUTCOMES: tuple[str, ...] = _core.OUTCOMES  # run ends name an outcome by its index in here
GOAL = OUTCOMES.index("goal")

DEFAULT_MAX_STEPS = 1000  # of a run
MOST_STEPS = 2**31 - 1  # what the core counts up to, and far more than any run has
DEFAULT_LIMIT = 5_000  # states that are explored from a state, of a set-valued policy
REVISIT = ("stop", "avoid")  # what a run does where it would come back to a state

STOPPING = ("stuck", "inapplicable", "error")  # the policy was asked and cannot continue
# A deterministic policy without memory repeats its decisions, so it cannot reach the goal after these.
PROVEN_FAILING = ("loop", *STOPPING)
FAILING = (*PROVEN_FAILING, "timeout")

__all__ = [
    "DEFAULT_LIMIT",
    "DEFAULT_MAX_STEPS",
    "FAILING",
    "GOAL",
    "MOST_STEPS",
    "OUTCOMES",
    "PROVEN_FAILING",
    "REVISIT",
    "STOPPING",
]
