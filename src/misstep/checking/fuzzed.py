"""Compares what is said of batches of runs on a model with the runs that are kept.

A fuzzed run is kept if it was unsafe, made a step, and was not the same as an earlier one. So no more runs of a batch
are kept than are said to have been unsafe, and some are kept if any was. In a retest every run is kept, and the batches
say of all of them how they have ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from misstep.checking.errors import CheckError
from misstep.checking.stored import Store, integer, loaded

BESIDE = ("unsafe starts", "cut lookaheads")  # counted beside how runs have ended


class Batches:
    """The batches of runs of a task."""

    def __init__(self, store: Store, task: int) -> None:
        self.rows: list[tuple[int, int, dict[str, int]]] = []
        for first, runs, text in store.fuzzed(task):
            ends = loaded(text, "how runs have ended")
            if not isinstance(ends, dict):
                raise CheckError("it is not said how runs have ended")
            numbers = integer(first, "the first run"), integer(runs, "a number of runs")
            counts = {end: integer(count, "a number of runs") for end, count in ends.items()}
            if min(*numbers, *counts.values()) < 0:
                raise CheckError("there are fewer than 0 runs of a kind")
            self.rows.append((*numbers, counts))

    @property
    def runs(self) -> int:
        return sum(runs for _, runs, _ in self.rows)

    def problems(self, kept: Mapping[int, object], *, is_retest: bool) -> Iterator[str]:
        """`kept`: how the runs that are kept have ended, by their numbers."""
        total: Counter[object] = Counter()
        walked = found = after = 0
        for first, runs, ends in self.rows:
            ended = Counter({end: count for end, count in ends.items() if end not in BESIDE})
            unsafe = ended["unsafe"] - ends.get("unsafe starts", 0)
            here = sum(first <= number < first + runs for number in kept)
            if ended.total() != runs:
                yield f"of {runs} runs from number {first} on it is said how {ended.total()} ended"
            if not is_retest and (here > unsafe or first < after):
                yield f"{unsafe} runs from number {first} on are said to be unsafe, and {here} are kept"
            total, walked, found, after = total + ended, walked + unsafe, found + here, first + runs
        if is_retest and total != Counter(kept.values()):
            yield "the runs are said to have ended otherwise than those that are kept"
        if not is_retest and (found < len(kept) or (walked > 0 and not kept)):
            yield f"{walked} runs are said to be unsafe, and {len(kept)} are kept"


__all__ = ["Batches"]
