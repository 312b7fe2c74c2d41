"""Complete a partial state by the translator's mutex groups, by unit propagation.

At most one fact of a mutex group is true in a reachable state. So a known fact excludes the other facts of its groups,
and a variable with one value left has that value. The translator drops preconditions that are implied in this way (the
gripper's `drop` does not mention that the gripper is not free); the completion brings them back.

Facts are bits of one integer, so that a step of the propagation is a single operation on all variables.
"""

from __future__ import annotations

from collections.abc import Iterable

from misstep.tasks.task import Task

Fact = tuple[int, int]


class MutexCompletion:
    """Sets of facts that are possible in one reachable state, as bit sets."""

    def __init__(self, task: Task) -> None:
        sizes = task.domain_sizes
        self._first = [0] * len(sizes)  # bit of value 0
        for v in range(1, len(sizes)):
            self._first[v] = self._first[v - 1] + sizes[v - 1]
        self.variables = [
            ((1 << size) - 1) << first for size, first in zip(sizes, self._first, strict=True)
        ]
        self.everything = sum(self.variables)
        self._variable_of = [v for v, size in enumerate(sizes) for _ in range(size)]
        self._excluded = [self.variables[v] for v in self._variable_of]
        for group in task.mutex_groups:
            bits = sum({self.bit(fact) for fact in group})
            for fact in group:
                self._excluded[self.bit(fact).bit_length() - 1] |= bits
        # A fact does not exclude itself.
        self._excluded = [bits & ~(1 << i) for i, bits in enumerate(self._excluded)]

    def bit(self, fact: Fact) -> int:
        variable, value = fact
        return 1 << (self._first[variable] + value)

    def values(self, possible: int, variable: int) -> list[int]:
        """The values that a variable may have."""
        bits = (possible & self.variables[variable]) >> self._first[variable]
        return [i for i in range(bits.bit_length()) if bits >> i & 1]

    def complete(self, facts: Iterable[Fact], possible: int | None = None) -> int | None:
        """The facts that are possible together with the given ones; None if these exclude each other."""
        possible = self.everything if possible is None else possible
        known = 0
        for fact in facts:
            known |= self.bit(fact)
        if known & ~possible:
            return None
        return self._propagate(possible, known)

    def _propagate(self, possible: int, new: int) -> int | None:
        done = 0
        while True:
            while new:
                fact = new & -new
                new ^= fact
                done |= fact
                possible &= ~self._excluded[fact.bit_length() - 1]
            for bits in self.variables:
                left = possible & bits
                if not left:
                    return None
                if not left & (left - 1) and not left & done:
                    new |= left
            if not new:
                return possible


__all__ = ["Fact", "MutexCompletion"]
