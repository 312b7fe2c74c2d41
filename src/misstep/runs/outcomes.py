"""How a run of a policy can end, in the words of every record, and which of these ends are failures.

    goal          a goal state is reached; in a goal state the run is over before the policy is asked
    loop          a state comes up for the second time
    stuck         the policy names no operator
    inapplicable  the policy names an operator that does not apply
    error         the policy crashes, or answers what is no operator
    cut           the step limit is reached
    timeout       the policy does not answer in time
    open          the run was not followed to its end; no run that was asked for ends like this

A failing run deserves the attention of a fuzzer and of a user. That is less than a proof: a policy that crashes might
have reached the goal had it answered. Only the proven failures cost infinitely much.
"""

from __future__ import annotations

from misstep import _core

OUTCOMES: tuple[str, ...] = _core.OUTCOMES  # run ends name an outcome by its index in here
GOAL = OUTCOMES.index("goal")

DEFAULT_MAX_STEPS = 1000  # of a run

STOPPING = ("stuck", "inapplicable")  # the policy was asked and has no way to go on
# A deterministic policy without memory goes on doing what it did, so no goal can follow after these.
PROVEN_FAILING = ("loop", *STOPPING)
FAILING = (*PROVEN_FAILING, "error", "timeout")

__all__ = ["DEFAULT_MAX_STEPS", "FAILING", "GOAL", "OUTCOMES", "PROVEN_FAILING", "STOPPING"]
