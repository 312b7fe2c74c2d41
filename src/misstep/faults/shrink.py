"""The last state of a run that is still a bug: all that matters happens from there on.

Along a run the gap never grows, so the bugs among its states are a first part of it. The decision at the last bug is
then a fault: after it nothing is left to lose. An oracle may also stay undecided; then its neighbours are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from misstep.runs.runner import Trace
from misstep.tasks.task import State

# True: proven bug. False: proven that it is none. None: undecided.
IsBug = Callable[[State], bool | None]


@dataclass(frozen=True)
class LastBug:
    """The last state of a run that is a proven bug; `tight` if the state after it is proven to be none."""

    step: int
    state: State
    tight: bool
    questions: int


def last_bug(trace: Trace, is_bug: IsBug, max_questions: int | None = None) -> LastBug | None:
    """Binary search for the last proven bug; None: no state of the run is proven to be one."""
    # The last state of a loop is one of those before it.
    states = trace.states[:-1] if trace.outcome == "loop" else trace.states
    proven, refuted = -1, len(states)
    undecided: set[int] = set()
    questions = 0
    while max_questions is None or questions < max_questions:
        middle = (proven + refuted) // 2
        untested = [k for k in range(proven + 1, refuted) if k not in undecided]
        if not untested:
            break
        step = min(untested, key=lambda k: abs(k - middle))
        questions += 1
        answer = is_bug(states[step])
        if answer is None:
            undecided.add(step)
        elif answer:
            proven = step
        else:
            refuted = step
    if proven < 0:
        return None
    tight = refuted == proven + 1 and refuted < len(states)
    return LastBug(proven, states[proven], tight, questions)


__all__ = ["LastBug", "last_bug"]
