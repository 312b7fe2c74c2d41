"""How a run of a policy can end, in the words of every record, and which of these ends are failures.

    goal          a goal state is reached; in a goal state the run is over before the policy is asked
    loop          a state comes up for the second time
    stuck         the policy names no operator
    inapplicable  the policy names an operator that does not apply
    error         the policy crashes, or answers what is no operator
    cut           the step limit is reached
    timeout       the policy does not answer in time
    open          the run was not followed to its end; no run that was asked for ends like this

A failing run deserves the attention of a fuzzer and of a user. The proven failures cost infinitely much. A crash is one
of them: a policy that crashes in a state does so whenever it gets there, as it is a function of the state, and a run
that crashes has not reached the goal. Campaigns ask again before they report it, and count it apart (kind `crash`). An
answer that did not come in time proves nothing: on another day, or with more time, it may come.
"""

from __future__ import annotations

from misstep import _core

OUTCOMES: tuple[str, ...] = _core.OUTCOMES  # run ends name an outcome by its index in here
GOAL = OUTCOMES.index("goal")

DEFAULT_MAX_STEPS = 1000  # of a run
MOST_STEPS = 2**31 - 1  # what the core counts up to, and far more than any run has
DEFAULT_LIMIT = 5_000  # states that are explored from a state, of a set-valued policy
REVISIT = ("stop", "avoid")  # what a run does where it would come back to a state

STOPPING = ("stuck", "inapplicable", "error")  # the policy was asked and has no way to go on
# A deterministic policy without memory goes on doing what it did, so no goal can follow after these.
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
