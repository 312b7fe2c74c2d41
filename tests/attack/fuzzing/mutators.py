"""Damage: what may happen to a file on its way, and what somebody who knows its format may do to it.

Flipped bytes alone never get past the first check of a format with a length or a checksum in it. So damage is done at
the level that a file allows: to the members of an archive, which is packed again; to the values of a JSON document; to
the header of a file of tensors, whose length is then put right; to the fields of a message of protocol buffers, which
is encoded again; to the numbers and words of a text; and to plain bytes.
"""

from __future__ import annotations

import io
import json
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from support.onnx_files import number_field, part_field

Files = dict[str, bytes]
"""What a reader is given: the content of each file by its name."""

NUMBERS = (
    *(
        "0",
        "-1",
        "1",
        "2",
        "00",
        "-0",
        "0.5",
        "1e400",
        "-1e400",
        "1e308",
        "1e-400",
        "NaN",
        "Infinity",
    ),
    *map(str, (255, 2**15, 2**30, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63))),
    *("9" * 50, "9" * 5000, "1_0", "+1", "٣", "0x10", "1.", ".5", "1e5", "true"),
)
PIECES = (
    *(b"\0", b"\n", b"\r\n", b"\t", b" ", b"\xff", b"\xef\xbb\xbf", b"\x1b[31m", b"\xe2\x80\xa8"),
    *(b"(", b")", b"[", b"]", b"{", b"}", b'"', b",", b";", b":", b"-", b"#", b"=", b"'''"),
    *(b"((" * 400, b")" * 400, b"[" * 700, b'{"a":' * 300, b"not (" * 200, b"9" * 3000),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30),
    *("", "x", "\0", "\x1b[31m", "\ud800", "é" * 50, "0", "a" * 10_000),
    *([], [[]], {}, [0], [None], {"op": "+"}, [1e300] * 50, [[0] * 100] * 100, list(range(1000))),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_?:][\w?:-]*")
_TENSORS = struct.Struct("<Q")
KNOWLEDGE = b"MSK1"
KNOWLEDGE_HEADER = 28  # bytes before what is packed


def mutated(seeds: Sequence[Files], random: Random) -> Files:
    """One of the seeds with some damage, most often in one of its files."""
    files = dict(random.choice(seeds))
    names = sorted(files)
    for _ in range(1 if random.random() < 0.9 else 2):
        name = random.choice(names)
        others = [other[name] for other in seeds if name in other]
        for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
            files[name] = damaged(files[name], others, random)
    return files


def damaged(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """One change, at the level that the content allows."""
    if random.random() < 0.7:
        for change in (_archive, _tensors, _knowledge, _document, _message):
            result = change(content, random)
            if result is not None:
                return result
    if random.random() < 0.08:
        return _spliced(content, random.choice(others), random)
    changes: tuple[Callable[[bytes, Random], bytes], ...] = (
        *(_number, _number, _number, _word, _word, _lines, _lines),
        *(_flip, _flip, _cut, _double, _insert, _insert),
    )
    return random.choice(changes)(content, random)


# -- bytes ----------------------------------------------------------------------------------------


def _span(content: bytes, random: Random, most: int = 0) -> tuple[int, int]:
    begin = random.randrange(len(content) + 1)
    longest = most or random.choice((1, 4, 16, 256, 4096))
    return begin, min(len(content), begin + random.randint(1, longest))


def _flip(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8)) if content else 0):
        place = random.randrange(len(changed))
        changed[place] = random.choice(
            (changed[place] ^ 1 << random.randrange(8), 0, 0xFF, 0x7F, 0x80)
        )
    return bytes(changed)


def _cut(content: bytes, random: Random) -> bytes:
    begin, end = _span(content, random)
    return content[:begin] if random.random() < 0.3 else content[:begin] + content[end:]


def _double(content: bytes, random: Random) -> bytes:
    begin, end = _span(content, random)
    piece = content[begin:end]
    times = random.choice((2, 2, 2, 3, 50)) if len(piece) < 1000 else 2
    return content[:begin] + piece * times + content[end:]


def _insert(content: bytes, random: Random) -> bytes:
    begin, end = _span(content, random, 3)
    return content[:begin] + random.choice(PIECES) + content[random.choice((begin, end)) :]


def _spliced(content: bytes, other: bytes, random: Random) -> bytes:
    here = random.randrange(len(content) + 1)
    there = here if random.random() < 0.5 else random.randrange(len(other) + 1)
    return content[:here] + other[there:]


# -- text -----------------------------------------------------------------------------------------


def _number(content: bytes, random: Random) -> bytes:
    return _replaced(_NUMBER, content, random, lambda _: random.choice(NUMBERS).encode())


def _word(content: bytes, random: Random) -> bytes:
    """A word becomes another one of the same text."""
    words = list(_WORD.finditer(content, 0, 200_000))
    if not words:
        return _flip(content, random)
    return _replaced(_WORD, content, random, lambda _: random.choice(words)[0])


def _replaced(
    pattern: re.Pattern[bytes], content: bytes, random: Random, other: Callable[[bytes], bytes]
) -> bytes:
    found = list(pattern.finditer(content, 0, 200_000))
    if not found:
        return _flip(content, random)
    match = random.choice(found)
    return content[: match.start()] + other(match[0]) + content[match.end() :]


def _lines(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case _:
            lines[min(i, j) : max(i, j)] = []
    return b"\n".join(lines)


# -- formats --------------------------------------------------------------------------------------


def _document(content: bytes, random: Random) -> bytes | None:
    """JSON: a value is replaced, left out, doubled, nested or moved."""
    if content.lstrip()[:1] not in (b"{", b"[") or len(content) > 2**20:
        return None
    try:
        root = json.loads(content)
    except (ValueError, RecursionError):
        return None
    places: list[tuple[Any, Any]] = []
    _collect(root, places)
    if not places:
        return None
    holder, key = random.choice(places)
    other = random.choice(places)
    match random.randrange(8):
        case 0 | 1 | 2:
            holder[key] = random.choice(VALUES)
        case 3:
            holder[key] = other[0][other[1]]
        case 4:
            del holder[key]
        case 5:
            deep = holder[key]
            for _ in range(random.choice((1, 3, 600))):
                deep = [deep] if random.random() < 0.5 else {"op": "¬", "exp": deep}
            holder[key] = deep
        case 6 if isinstance(holder, list):
            holder[key:key] = [holder[key]] * random.choice((1, 2, 300))
        case _:
            number = holder[key]
            is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
            holder[key] = number + random.choice((-1, 1)) if is_number else [number, number]
    try:
        return json.dumps(root).encode()
    except (ValueError, RecursionError):  # it holds itself now, or is too deep to be written
        return None


def _collect(root: Any, places: list[tuple[Any, Any]]) -> None:
    """All places of a tree, which may be deeper than a recursion could go."""
    left = [root]
    while left:
        node = left.pop()
        keys = (
            node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        )
        for key in keys:
            places.append((node, key))
            left.append(node[key])


def _archive(content: bytes, random: Random) -> bytes | None:
    if content[:2] != b"PK":
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(own.filename, archive.read(own)) for own in archive.infolist()]
    except Exception:
        return None  # damaged before: the bytes are what is left to change
    if not members:
        return None
    i = random.randrange(len(members))
    name, data = members[i]
    match random.randrange(10):
        case 0:
            del members[i]
        case 1:
            members.append((name, data))
        case 2:
            members[i] = (random.choice(("../x", "/x", "x/", "x" * 300, "é")), data)
        case _:
            members[i] = (name, damaged(data, [data], random))
    buffer = io.BytesIO()
    kind = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        with zipfile.ZipFile(buffer, "w", kind) as archive:
            for name, data in members:
                archive.writestr(name, data)
    return buffer.getvalue()


def _tensors(content: bytes, random: Random) -> bytes | None:
    """A file of tensors: its header is changed, and its length put right."""
    if len(content) < 16 or content[8:9] != b"{":
        return None
    (size,) = _TENSORS.unpack_from(content)
    header, data = content[8 : 8 + size], content[8 + size :]
    if len(header) != size:
        return None
    if random.random() < 0.2:
        return content[: 8 + size] + damaged(data, [data], random)
    header = _document(header, random) or damaged(header, [header], random)
    return _TENSORS.pack(len(header)) + header + data


def _knowledge(content: bytes, random: Random) -> bytes | None:
    """The packed part is changed and packed again."""
    if content[:4] != KNOWLEDGE:
        return None
    header, packed = content[:KNOWLEDGE_HEADER], content[KNOWLEDGE_HEADER:]
    try:
        body = zlib.decompress(packed)
    except zlib.error:
        return None
    if random.random() < 0.3:
        header = _flip(header, random)
    else:
        body = _flip(body, random)
    return header + zlib.compress(body)


def _message(content: bytes, random: Random) -> bytes | None:
    """A network in ONNX: a field at any depth is left out, doubled, moved or changed, and all lengths are put right."""
    fields = _fields(content) if content[:1] == b"\x08" else None
    if not fields or not any(number == 7 for number, _ in fields):  # the graph
        return None
    return _with_change(fields, random)


def _with_change(fields: list[tuple[int, int | bytes]], random: Random) -> bytes:
    at = random.randrange(len(fields))
    number, value = fields[at]
    inner = _fields(value) if isinstance(value, bytes) else None
    if isinstance(value, bytes) and inner and random.random() < 0.8:
        fields[at] = (number, _with_change(inner, random))
        return _encoded(fields)
    match random.randrange(5):
        case 0:
            del fields[at]
        case 1:
            fields[at:at] = [fields[at]] * random.choice((1, 1, 2, 500))
        case 2:
            other = random.randrange(len(fields))
            fields[at], fields[other] = fields[other], fields[at]
        case 3:
            fields[at] = (random.choice((number, random.randint(1, 30))), random.choice(_VARINTS))
        case _:
            own = value if isinstance(value, bytes) else b"x"
            fields[at] = (number, damaged(own, [own], random))
    return _encoded(fields)


_VARINTS = (0, 1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)


def _fields(content: bytes) -> list[tuple[int, int | bytes]] | None:
    """Numbers and bytes by their fields; None if this is no message of such fields."""
    found: list[tuple[int, int | bytes]] = []
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            number |= (content[place] & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if content[place - 1] < 0x80:
                return number

    try:
        while place < len(content):
            key = varint()
            if key & 7 not in (0, 2) or not 0 < key >> 3 < 1000:
                return None
            value = varint()
            if key & 7 == 2:
                if value > len(content) - place:
                    return None
                place += value
                found.append((key >> 3, content[place - value : place]))
            else:
                found.append((key >> 3, value))
    except IndexError:
        return None
    return found


def _encoded(fields: list[tuple[int, int | bytes]]) -> bytes:
    return b"".join(
        part_field(number, value) if isinstance(value, bytes) else number_field(number, value)
        for number, value in fields
    )


__all__ = ["Files", "damaged", "mutated"]
