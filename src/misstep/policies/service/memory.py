"""Blocks of shared memory without a name.

A block is a file that exists in memory only and is open in two processes. The system frees it when both have closed it
or have ended, however that happens, so that nothing has to be cleaned up. It is sealed against shrinking: reading what
the other process has cut off would end this one.

A question is stored in a block as three arrays: where each decision begins, the rows of the states, and space for the
answers, column by column.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 1 << 20


class Layout(NamedTuple):
    """The positions of the arrays of a question."""

    decisions: int
    rows: int
    width: int
    columns: int

    @property
    def states_at(self) -> int:
        return 8 * (self.decisions + 1)

    @property
    def answers_at(self) -> int:
        return -(-(self.states_at + 4 * self.rows * self.width) // 8) * 8

    @property
    def size(self) -> int:
        return self.answers_at + 8 * self.rows * self.columns


class Block:
    """A piece of memory that another process may see as well."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = os.fstat(fd).st_size
        self._map = mmap.mmap(fd, self.size)

    @classmethod
    def of_size(cls, size: int) -> Block:
        fd = os.memfd_create("misstep", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, max(size, LEAST))
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
            return cls(fd)
        except BaseException:
            os.close(fd)
            raise

    @classmethod
    def received(cls, fd: int) -> Block:
        """A block that another process made; the file is closed, because the memory stays without it."""
        try:
            # An OSError says that the file is no memory, whose size anybody could change.
            if not fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise ValueError("a block that may shrink")
            block = cls(fd)
            block.fd = -1
            return block
        finally:
            os.close(fd)

    def write(self, content: bytes) -> None:
        self._map[: len(content)] = content

    def read(self, size: int) -> bytes:
        return self._map[:size]

    def offsets(self, layout: Layout) -> NDArray[np.int64]:
        return np.frombuffer(self._map, dtype=np.int64, count=layout.decisions + 1)

    def states(self, layout: Layout) -> NDArray[np.int32]:
        count = layout.rows * layout.width
        flat = np.frombuffer(self._map, dtype=np.int32, count=count, offset=layout.states_at)
        return flat.reshape(layout.rows, layout.width)

    def answers(self, layout: Layout) -> NDArray[np.float64]:
        """The columns, one after the other."""
        count = layout.rows * layout.columns
        flat = np.frombuffer(self._map, dtype=np.float64, count=count, offset=layout.answers_at)
        return flat.reshape(layout.columns, layout.rows)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        with contextlib.suppress(BufferError):  # an array still uses it, and frees it at its end
            self._map.close()


__all__ = ["Block", "Layout"]
