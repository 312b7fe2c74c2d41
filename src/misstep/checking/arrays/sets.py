"""Finds states in a set, exactly and without a Python loop over them.

States are sorted by a hash of their values. Whether two are equal is decided by their values, never by the hash: if two
different states of the set have the same hash, another hash is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from misstep.checking.arrays.columns import Column
from misstep.checking.errors import CheckError

TRIES = 20
Hash = NDArray[np.uint64]


class StateSet:
    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = [_bits(column) for column in columns]
        self.size = len(columns[0])
        for seed in range(TRIES):
            self._seed = seed
            keys = _hash(self.columns, seed)
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]
            twins = np.flatnonzero(self._keys[1:] == self._keys[:-1])
            if not len(twins):
                return
            if self._same(
                self._order[twins], [c[self._order[twins + 1]] for c in self.columns]
            ).any():
                raise CheckError("the strategy has a state twice")
        raise CheckError("the states of the strategy cannot be told apart by hashes")

    def places(self, columns: Sequence[Column]) -> NDArray[np.int64]:
        """The number of each state in the set, or -1."""
        wanted = [_bits(column) for column in columns]
        if not self.size or not len(wanted[0]):
            return np.full(len(wanted[0]), -1, np.int64)
        keys = _hash(wanted, self._seed)
        at = np.minimum(np.searchsorted(self._keys, keys), self.size - 1)
        number = self._order[at]
        return np.where((self._keys[at] == keys) & self._same(number, wanted), number, -1)

    def _same(self, numbers: NDArray[np.intp], wanted: Sequence[Column]) -> NDArray[np.bool_]:
        same = np.ones(len(numbers), bool)
        for own, other in zip(self.columns, wanted, strict=True):
            same &= own[numbers] == other
        return same


def _bits(column: Column) -> Hash:
    """Values that are equal have equal bits: there is one zero only."""
    if column.dtype == np.float64:
        return np.ascontiguousarray(column + 0.0).view(np.uint64)
    return np.ascontiguousarray(column, np.int64).view(np.uint64)


def _hash(columns: Sequence[Hash], seed: int) -> Hash:
    found = np.full(len(columns[0]), 0x9E3779B97F4A7C15 + 2 * seed, np.uint64)
    for column in columns:
        found ^= column
        found *= np.uint64(0xD6E8FEB86659FD93 + 2 * seed)
        found ^= found >> np.uint64(32)
    return found


__all__ = ["StateSet"]
