"""The knowledge of a bound store about some states, as data that can be stored and added to other stores.

A worker that has tested a part of a pool has found plans, comparisons and proofs that help the other parts too. A whole
store is too large to send. But the bounds of the states that matter rest on few steps, and only these are sent
(core/bounds/knowledge.h). Several pieces of knowledge are merged by adding all of them to one store.

As bytes: a header of fixed size with the numbers of states, variables and edges, then the arrays, compressed. The
header says how large the arrays are, and it is compared with the length of the rest before anything is unpacked.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError
from misstep.policies.policy import States

_HEADER = struct.Struct("<4s3Q")  # states, variables, edges
_MAGIC = b"MSK1"
_EDGE = 4  # numbers
_RATIO = 1100  # zlib never compresses better than 1:1032


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Rows of states; a lower bound for each, -1 if infinite; edges (source row, operator, target row, 0) and jumps
    (row, -1, row of the dominated state, value)."""

    states: States
    lower: NDArray[np.int64]
    edges: NDArray[np.int64]

    def to_bytes(self) -> bytes:
        states, variables = self.states.shape
        # Column by column: numbers that mean the same compress better side by side.
        body = (
            self.states.T.astype("<i4").tobytes()
            + self.lower.astype("<i8").tobytes()
            + self.edges.T.astype("<i8").tobytes()
        )
        return _HEADER.pack(_MAGIC, states, variables, len(self.edges)) + zlib.compress(body, 1)

    @classmethod
    def from_bytes(cls, data: bytes, variables: int) -> Knowledge:
        """The knowledge that `to_bytes` has written, about states with that many variables."""
        if len(data) < _HEADER.size:
            raise InputFormatError("stored knowledge is cut off")
        magic, states, width, edges = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise InputFormatError("stored knowledge does not begin as it should")
        if width != variables:
            raise InputFormatError(
                f"stored knowledge is about states of {width} variables",
                expected=f"{variables}, as the task has",
            )
        packed = memoryview(data)[_HEADER.size :]
        size = 4 * states * width + 8 * states + 8 * _EDGE * edges
        if size > _RATIO * len(packed):
            raise InputFormatError("stored knowledge is said to be larger than it can be")
        body = _unpacked(packed, size)
        values = np.frombuffer(body, "<i4", states * width)
        lower = np.frombuffer(body, "<i8", states, offset=values.nbytes)
        rest = np.frombuffer(body, "<i8", _EDGE * edges, offset=values.nbytes + lower.nbytes)
        return cls(
            np.ascontiguousarray(values.reshape(width, states).T, np.int32),
            lower.astype(np.int64),
            np.ascontiguousarray(rest.reshape(_EDGE, edges).T, np.int64),
        )


def _unpacked(packed: memoryview, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(packed, size + 1)  # one more, to see that there is more
    except zlib.error as error:
        raise InputFormatError(f"stored knowledge is damaged: {error}") from error
    if len(body) != size or not stream.eof or stream.unused_data:
        raise InputFormatError(
            "stored knowledge is damaged: its length is not what it is said to be"
        )
    return body


__all__ = ["Knowledge"]
