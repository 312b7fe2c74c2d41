"""The messages of the policy-server protocol as bytes.

They are few and will not change, so they are encoded by hand, without generated code or a dependency
on a version of protobuf. Only field numbers matter; unknown fields are skipped, and packed and
unpacked numbers are both read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from misstep.policies.policy import States

SERVICE = "phrm.policy.Policy"
GET_TASK = "GetFDRTaskFD"
GET_OPERATOR = "GetFDRStateOperator"
GET_PROBABILITIES = "GetFDRStateOperatorsProb"
# Trailing metadata of a call that has failed: the policy itself has crashed. Without it nobody can tell, since gRPC has
# the same codes for faults of proxies and connections.
CRASHED = "misstep-policy-crashed"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIRST_VARINT = 1 << 3 | _VARINT
_FIRST_BYTES = 1 << 3 | _BYTES
_SECOND_FIXED32 = 2 << 3 | _FIXED32


def _varint(number: int) -> bytes:
    number &= 0xFFFF_FFFF_FFFF_FFFF  # negative numbers take ten bytes
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _int32(number: int) -> int:
    number &= 0xFFFF_FFFF
    return number - (1 << 32) if number & 0x8000_0000 else number


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and content of each field; for fields of fixed size, the content is bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            number, at = _read_varint(data, at)
            yield field, number
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"field {field} has the unknown type {kind}")
        if at + size > len(data):
            raise ValueError(f"field {field} is cut off")
        yield field, data[at : at + size]
        at += size


def _message(content: bytes) -> bytes:
    return bytes([_FIRST_BYTES]) + _varint(len(content)) + content


def _numbers(content: int | bytes) -> Iterator[int]:
    """One number, or several packed numbers."""
    if isinstance(content, int):
        yield _int32(content)
        return
    at = 0
    while at < len(content):
        number, at = _read_varint(content, at)
        yield _int32(number)


# -- the task ------------------------------------------------------------------------------------


def encode_text(text: bytes) -> bytes:
    return _message(text)


def decode_text(data: bytes) -> bytes:
    texts = [content for field, content in _fields(data) if field == 1]
    if not texts or not isinstance(texts[-1], bytes):
        raise ValueError("there is no text in field 1")
    return texts[-1]


# -- states --------------------------------------------------------------------------------------


def encode_state_request(values: Sequence[int]) -> bytes:
    return _message(b"".join(b"\x08" + _varint(value) for value in values))


def encode_state_requests(states: States) -> list[bytes]:
    """One request for each row."""
    if states.size == 0 or states.min() < 0 or states.max() > 0x7F:
        return [encode_state_request(row) for row in states.tolist()]
    # Every value takes one byte: write tags and values of all rows at once.
    rows = np.full((len(states), 2 * states.shape[1]), _FIRST_VARINT, dtype=np.uint8)
    rows[:, 1::2] = states
    header = bytes([_FIRST_BYTES]) + _varint(rows.shape[1])
    return [header + row.tobytes() for row in rows]


def decode_state_request(data: bytes) -> list[int]:
    states = [content for field, content in _fields(data) if field == 1]
    if not states or not isinstance(states[-1], bytes):
        raise ValueError("there is no state in field 1")
    content = states[-1]
    values = content[1::2]
    if (
        len(content) == 2 * len(values)
        and content[::2] == b"\x08" * len(values)
        and (not values or max(values) < 0x80)
    ):
        return list(values)  # the usual case: unpacked, one byte a value
    return [number for field, c in _fields(content) if field == 1 for number in _numbers(c)]


# -- operators -----------------------------------------------------------------------------------


def encode_operator(operator: int) -> bytes:
    return bytes([_FIRST_VARINT]) + _varint(operator)


def decode_operator(data: bytes) -> int:
    operator = 0  # a writer may omit a zero
    for field, content in _fields(data):
        if field == 1:
            if not isinstance(content, int):
                raise ValueError("the operator is not a number")
            operator = _int32(content)
    return operator


def encode_probabilities(choices: Iterable[tuple[int, float]]) -> bytes:
    return b"".join(
        _message(encode_operator(operator) + bytes([_SECOND_FIXED32]) + struct.pack("<f", p))
        for operator, p in choices
    )


def decode_probabilities(data: bytes) -> list[tuple[int, float]]:
    choices = []
    for field, content in _fields(data):
        if field == 1 and isinstance(content, bytes):
            p = 0.0
            for inner, value in _fields(content):
                if inner == 2 and isinstance(value, bytes) and len(value) == 4:
                    p = struct.unpack("<f", value)[0]
            choices.append((decode_operator(content), p))
    return choices
