"""The pool: the states to test, in the order in which they were found, and how each was reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from misstep.tasks.task import State, Task


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """A test state. The walk leads to it from its reference state, the pool's entry of that index."""

    state: State
    reference: int
    walk: tuple[int, ...]  # operators
    iteration: int  # of the fuzzer's outer loop; -1 for the initial state


@dataclass
class Pool:
    """Test states without duplicates; entry 0 is the initial state.

    All counters but the last are the same whenever the pool is. `policy_calls` depends on what the policy had been
    asked before, and on how many questions it likes at once.
    """

    entries: list[PoolEntry]
    iterations: int = 0  # of the outer loop, done
    duplicates: int = 0  # walks that ended in a state of the pool
    rejected: int = 0  # states that were not novel enough
    discarded: int = 0  # walks that got stuck
    walk_steps: int = 0
    run_steps: int = 0  # of the policy's runs that the bias looked at
    cut_weights: int = 0  # weights that rest on a distance whose search was cut
    smoothed_at: int | None = None  # iteration from which on the choice was smoothed
    remarks: list[str] = field(default_factory=list)
    policy_calls: int = field(default=0, compare=False)

    @classmethod
    def of(cls, task: Task) -> Pool:
        """The pool before the first iteration."""
        return cls([PoolEntry(task.initial_state, 0, (), -1)])

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[PoolEntry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> PoolEntry:
        return self.entries[index]

    @property
    def states(self) -> list[State]:
        return [entry.state for entry in self.entries]

    def idle(self) -> int:
        """Iterations without a new state, since the last one or since the choice was smoothed."""
        return self.iterations - 1 - max(self.entries[-1].iteration, (self.smoothed_at or 0) - 1)

    def remark(self, text: str, *, replacing: str | None = None) -> None:
        """Note something down once; in the place of the remark that begins with `replacing`, if there is one."""
        if text in self.remarks:
            return
        for i, old in enumerate(self.remarks):
            if replacing is not None and old.startswith(replacing):
                self.remarks[i] = text
                return
        self.remarks.append(text)


def whole_walk(entries: Sequence[PoolEntry], entry: PoolEntry) -> tuple[State, tuple[int, ...]]:
    """How an entry of a pool was found from the initial state: through all reference states."""
    walks = []
    while entry.walk:
        walks.append(entry.walk)
        entry = entries[entry.reference]
    return entry.state, tuple(op for walk in reversed(walks) for op in walk)


__all__ = ["Pool", "PoolEntry", "whole_walk"]
