"""The file of a certificate: a line that says what it is, a line of JSON, and columns of numbers.

    misstep certificate 1
    {"world": "model", "states": 331, "columns": [{"name": "pos", "kind": "int", "low": 0, "width": 1, "bytes": 97}...
    ... the columns, each packed by zlib, one after the other

A state is a row. A column holds a number of one, two, four or eight bytes for each state, the least significant byte
first, counted from `low`; a real number is given by its bits. The line of JSON says how large each column is; nothing
larger than that is unpacked.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from misstep.checking.errors import CheckError
from misstep.checking.texts import parse

MAGIC = b"misstep certificate 1\n"
MAX_HEADER = 2**24  # bytes
MAX_BODY = 2**33  # bytes, of all columns when they are unpacked
STATE = 40  # bytes that a state takes at least beside its columns: an integer of Python, and its place in a list
KINDS = ("bool", "int", "real")
WIDTHS = {"bool": (1,), "real": (8,)}
TYPES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of `array`


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    low: int
    numbers: Sequence[int]  # as they stand in the file, counted from `low`
    bits: int

    def values(self) -> Iterator[bool | int | float]:
        if self.kind == "real":
            return (_real(number) for number in self.numbers)
        if self.kind == "bool":
            return map(bool, self.numbers)
        return map(self.low.__add__, self.numbers)

    def whole(self) -> list[int]:
        """The values of a column of whole numbers."""
        return [self.low + number for number in self.numbers]

    def number(self, value: bool | int | float) -> int | None:
        """A value as it is written in the file; None if that is impossible."""
        found = (
            struct.unpack("<Q", struct.pack("<d", value))[0]
            if self.kind == "real"
            else int(value) - self.low
        )
        return found if 0 <= found < 1 << self.bits else None


@dataclass(frozen=True)
class Certificate:
    header: Mapping[str, Any]
    states: int
    columns: Sequence[Column]  # of the state's variables
    extra: Mapping[str, Column]  # what is said of each state

    def text(self, *keys: str) -> str:
        """A text of the header."""
        found: Any = self.header
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, str):
            raise CheckError(f"the certificate has no {' '.join(keys)}")
        return found

    def rows(self) -> Iterator[tuple[bool | int | float, ...]]:
        return zip(*(column.values() for column in self.columns), strict=True)

    def keys(self) -> list[int]:
        """A number for each state, for looking it up."""
        keys = [0] * self.states
        for column in self.columns:
            bits = column.bits
            keys = [key << bits | own for key, own in zip(keys, column.numbers, strict=True)]
        return keys

    def key(self, state: Iterable[bool | int | float]) -> int | None:
        """The number of any state; None if no state of the certificate can have these values."""
        key = 0
        for column, value in zip(self.columns, state, strict=True):
            number = column.number(value)
            if number is None:
                return None
            key = key << column.bits | number
        return key


def read_certificate(content: bytes) -> Certificate:
    """The content of a file; a `CheckError` if it is damaged or too large."""
    if not content.startswith(MAGIC):
        raise CheckError(
            "this is not a certificate", expected="the line " + MAGIC.decode().strip() + " first"
        )
    end = content.find(b"\n", len(MAGIC), len(MAGIC) + MAX_HEADER)
    if end < 0:
        raise CheckError("the certificate ends within its header, or the header is too long")
    try:
        header = parse(content[len(MAGIC) : end])
    except ValueError as error:
        raise CheckError(f"the header of the certificate is not JSON: {error!s:.120}") from None
    states, described = _member(header, "states", int), _member(header, "columns", list)
    if not 0 <= states < 2**32:
        raise CheckError(f"a certificate of {states} states")
    body = sum(states * _width(one) for one in described)
    if body > MAX_BODY:
        raise CheckError(f"the certificate unpacks to more than {MAX_BODY:,} bytes")
    if body + states * STATE > _memory():
        raise CheckError(
            f"checking {states:,} states takes more memory than this machine has",
            hint="check it on a machine with more memory",
        )
    columns: dict[str, Column] = {}
    place = end + 1
    for one in described:
        column, place = _column(one, states, content, place)
        if column.name in columns:
            raise CheckError(f"the column {column.name!r} stands twice")
        columns[column.name] = column
    if place != len(content):
        raise CheckError("something follows the last column")
    said = [name for name in columns if name.startswith("=")]
    return Certificate(
        header,
        states,
        [own for name, own in columns.items() if name not in said],
        {name[1:]: columns[name] for name in said},
    )


def _memory() -> int:
    """What the machine has, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _column(described: object, states: int, content: bytes, place: int) -> tuple[Column, int]:
    name, kind = _member(described, "name", str), _member(described, "kind", str)
    low, size = _member(described, "low", int), _member(described, "bytes", int)
    width = _width(described)
    # Each value has one number: otherwise an outcome could be taken for another state.
    if WIDTHS.get(kind, ()) and (low != 0 or width not in WIDTHS[kind]):
        raise CheckError(f"the column {name!r} does not hold values of the kind {kind!r}")
    if kind not in KINDS:
        raise CheckError(f"the column {name!r} holds values of the kind {kind[:40]!r}")
    if not 0 <= size <= len(content) - place:
        raise CheckError(f"the certificate ends within the column {name!r}")
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(content[place : place + size], states * width + 1)
    except zlib.error as error:
        raise CheckError(f"the column {name!r} is damaged ({error})") from None
    if len(data) != states * width or not stream.eof or stream.unused_data:
        raise CheckError(f"the column {name!r} has not one number for each of {states:,} states")
    numbers = array(TYPES[width])
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    if kind == "bool" and max(numbers, default=0) > 1:
        raise CheckError(f"the column {name!r} does not hold values of the kind 'bool'")
    return Column(name, kind, low, numbers, 8 * width), place + size


def _width(described: object) -> int:
    width: int = _member(described, "width", int)
    if width not in TYPES:
        raise CheckError(f"a column with numbers of {width} bytes")
    return width


def _member(node: object, key: str, kind: type) -> Any:
    found = node.get(key) if isinstance(node, Mapping) else None
    if type(found) is not kind:
        raise CheckError(f"the header of the certificate has no {key!r} that is a {kind.__name__}")
    return found


def _real(bits: int) -> float:
    found: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return found


def canonical(node: object) -> bytes:
    """JSON with one spelling, for digests."""
    return json.dumps(node, sort_keys=True, separators=(",", ":")).encode()


__all__ = ["MAGIC", "Certificate", "Column", "canonical", "read_certificate"]
