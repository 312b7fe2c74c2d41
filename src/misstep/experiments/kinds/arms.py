"""The arms of a study of learning from bugs, as they are written in a definition.

`faults`, `faults, ratio 0.25`, `faults, by regret`, `faults, labels of the test`, `faults, once`, `control`, `none`,
`again`. The defaults are the same in all arms: half of a minibatch, labels of the teacher, equal weights, and new
states in every round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from misstep.errors import UsageError
from misstep.training.feedback import SOURCES, Feedback

NONE, AGAIN, CONTROL = "none", "again", "control"
_RATIO = re.compile(r"ratio (0?\.\d+|1)")


@dataclass(frozen=True)
class Arm:
    name: str
    feedback: Feedback | None  # None: nothing is added
    control: bool = False  # states of the test tasks
    once: bool = False  # all states in the first round

    @property
    def chance(self) -> str:
        """The name of the stream of random numbers of its epochs: the same in all arms but `again`."""
        return AGAIN if self.name == AGAIN else "epoch"

    def all_at_once(self, rounds: int) -> Feedback:
        assert self.feedback is not None
        return replace(self.feedback, states=rounds * self.feedback.states)


def read_arm(name: str, states: int) -> Arm:
    """An arm that adds so many states per round."""
    source, *parts = name.split(", ")
    if source in (NONE, AGAIN) and not parts:
        return Arm(name, None)
    if source not in (*SOURCES, CONTROL):
        raise UsageError(
            f"no arm {name!r:.60}", expected=f"one of {', '.join((*SOURCES, CONTROL, NONE, AGAIN))}"
        )
    control = source == CONTROL
    feedback = Feedback(source="on-policy" if control else source, labels="teacher", states=states)
    once = False
    for part in parts:
        ratio = _RATIO.fullmatch(part)
        if ratio:
            feedback = replace(feedback, ratio=float(ratio[1]))
        elif part == "by regret":
            feedback = replace(feedback, weighted=True)
        elif part == "labels of the test":
            feedback = replace(feedback, labels="found")
        elif part == "once":
            once = True
        else:
            raise UsageError(
                f"no part {part!r:.60} of the arm {name!r:.60}",
                expected="ratio 0.25, by regret, labels of the test, or once",
            )
    return Arm(name, feedback, control, once)


__all__ = ["AGAIN", "CONTROL", "NONE", "Arm", "read_arm"]
