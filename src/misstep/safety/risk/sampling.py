"""The risk of a policy from runs: what is left where a model is too large to be explored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from misstep import _core
from misstep.errors import TimeLimitError, UsageError
from misstep.safety.risk.intervals import Sample
from misstep.safety.system import System
from misstep.tasks.jani.task import State


def sample_risk(
    system: System[State, str],
    starts: Sequence[State],
    *,
    runs: int,
    level: float,
    seed: int,
    max_steps: int,
    time_limit: float | None = None,
    progress: Callable[..., None] | None = None,
) -> Sample:
    """Runs from starts that are equally likely; without starts, from those that the task draws.

    The number of runs is fixed before, since the interval holds for a size that does not depend on what was seen. A
    time limit that ends the runs early is therefore an error.
    """
    if runs < 1 or not 0 < level < 1 or max_steps < 0:
        raise UsageError(
            f"{runs} runs of {max_steps} steps with level {level}",
            expected="at least one run, and a level between 0 and 1",
        )
    transitions = system.transitions
    assert isinstance(transitions, _core.JaniTransitions)
    ids = [system.id(state) for state in starts]
    done, unsafe, cut, _, several, limit = _core.sample_jani_risk(
        system.native,
        transitions,
        ids,
        runs,
        seed,
        max_steps,
        seconds=time_limit,
        progress=progress,
    )
    if limit != "none":
        raise TimeLimitError(
            f"{done:,} of {runs:,} runs were made, and a sample of another size proves nothing",
            hint="ask for fewer runs or give more time",
        )
    return Sample(runs, unsafe, cut, level, seed, max_steps, several)


__all__ = ["sample_risk"]
