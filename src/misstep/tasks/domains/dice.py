"""Random draws that are the same on every platform and Python version.

Of `random.Random` only the seeding from a string and `getrandbits` are used: the shuffling and
sampling methods of the standard library have changed between versions, and may again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A stream of random draws, fixed by its key."""

    def __init__(self, key: str) -> None:
        self._random = random.Random(key)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound); `bound` may be arbitrarily large."""
        bits = bound.bit_length()
        value = self._random.getrandbits(bits)
        while value >= bound:
            value = self._random.getrandbits(bits)
        return value

    def choice(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` of the items, without repetition, in random order."""
        pool = list(items)
        for i in range(count):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.sample(items, len(items))

    def unlike(self, other: T, draw: Callable[[], T]) -> T:
        """Draw until the result differs from `other`."""
        result = draw()
        while result == other:
            result = draw()
        return result
