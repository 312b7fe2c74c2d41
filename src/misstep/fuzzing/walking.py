"""One walk of a fuzzer, which can pause whenever the policy has to be asked.

A walk is a generator. It yields the states that the policy has to be asked about before the walk can continue, and
returns what it has found. The caller may add other states to the same batch. A walk only changes the policy graph: the
fuzzer puts its result into the pool when it is the walk's turn.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]
NO_IDS: Ids = np.empty(0, dtype=np.uint32)


class Start(NamedTuple):
    """Where a walk begins, drawn from the stream of its iteration and the size of the pool."""

    reference: int  # place in the pool
    length: int
    is_biased: bool


class Offer(NamedTuple):
    """A state for the pool, and the operators that lead to it from the reference state."""

    id: int
    walk: tuple[int, ...]


class Found(NamedTuple):
    """The result of a walk."""

    offers: tuple[Offer, ...]  # in this order
    steps: int
    run_steps: int = 0  # of the policy's runs that the bias looked at
    cut_weights: int = 0  # weights that rest on a distance whose search was cut
    weighed: tuple[Ids, ...] = ()  # the successors that the bias looked at, an array for each step


Walking = Generator[Ids, None, Found]


class Walker:
    """A walk in progress. It can be paused at any time and continued later."""

    def __init__(self, walking: Walking) -> None:
        self.found: Found | None = None
        self.asked: set[int] = set()  # states that the policy was asked about early, for this walk
        self._walking = walking

    def advance(self) -> Ids:
        """Go on as far as the decisions of the policy are known; returns the states to ask about, or it is done."""
        if self.found is not None:
            return NO_IDS
        try:
            return next(self._walking)
        except StopIteration as end:
            self.found = end.value
            return NO_IDS


__all__ = ["NO_IDS", "Found", "Ids", "Offer", "Start", "Walker", "Walking"]
