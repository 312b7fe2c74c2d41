"""When a program that does not answer in time is given up.

A time-out is no proof that a program is lost: one state may be hard. But a program that hangs would cost its time limit
for every state there is. So a program is given up after `TIMEOUTS` time-outs with fewer than `RECOVERY` answers between
each and the next: also one that is started again, answers once and hangs. A batch that is late counts only as long as
there was no answer at all, because a large batch may just be slow and is asked again in smaller ones.
"""

from __future__ import annotations

TIMEOUTS = 3
RECOVERY = 10  # answers to questions, however many states a question is about


class Patience:
    """Counts time-outs and answers."""

    def __init__(self) -> None:
        self._late = 0
        self._answers = 0  # since the last time-out
        self._answered = False

    @property
    def lost(self) -> bool:
        return self._late >= TIMEOUTS

    def answered(self) -> None:
        self._answered = True
        self._answers += 1
        if self._answers >= RECOVERY:
            self._late = 0

    def timed_out(self, states: int) -> None:
        if states == 1 or not self._answered:
            self._late += 1
            self._answers = 0

    def why(self, timeout: float) -> str:
        return (
            f"the program was given up: {self._late} times it did not answer within {timeout:g} s, "
            f"with fewer than {RECOVERY} answers between"
        )


__all__ = ["RECOVERY", "TIMEOUTS", "Patience"]
