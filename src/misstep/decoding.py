"""Decode untrusted data within limits.

A few kilobytes can unpack to gigabytes (zlib), hold lists nested so deeply that the interpreter's stack overflows, or a
number of a million digits that takes minutes to read. All data from files, programs and servers is therefore decoded
here. The functions raise a `ValueError` that says what is wrong; the caller adds the file or address.
"""

from __future__ import annotations

import io
import json
import math
import re
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

# numpy is imported inside the functions that need it, so that a command that fails early need not wait for it.
if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DEPTH = 500  # of lists and objects within each other
MAX_ARRAYS = 100_000  # of an archive
MAX_DIGITS = 40  # of a number without a fraction
# The errors that `zipfile` raises for an archive that is cut off, damaged or encrypted (RuntimeError).
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The last string of a damaged text may have no end. It is taken as one to the end, or else the search for its end would
# begin again at every quotation mark inside, which takes hours for a megabyte of \".
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
# Numbers that are long or large enough to be looked at one by one.
_NOT_ZERO = re.compile(r"[-.0]*[1-9]")
_SUSPECT = re.compile(r"\d{19}|[eE][+-]?\d{3}")


def unpack(data: object, max_bytes: int) -> bytes:
    """Decompress zlib data, unless the result is larger than `max_bytes`."""
    if not isinstance(data, (bytes, memoryview)):
        raise ValueError("compressed data are missing")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, max_bytes + 1)  # one more byte shows that there is more
    except zlib.error as error:
        raise ValueError(f"compressed data are damaged ({error})") from None
    if len(found) > max_bytes:
        raise ValueError(f"compressed data unpack to more than {max_bytes:,} bytes")
    if not stream.eof or stream.unused_data:
        raise ValueError("compressed data are cut off, or something follows them")
    return found


class DamagedArchiveError(ValueError):
    """A zip archive that cannot be read."""


class LargeArchiveError(ValueError):
    """A zip archive that unpacks to more than is allowed."""


class _Archive(zipfile.ZipFile):
    """Raises BadZipFile if a member lies before the start of the file or its name is not valid text."""

    def open(
        self,
        name: str | zipfile.ZipInfo,
        mode: Literal["r", "w"] = "r",
        pwd: bytes | None = None,
        *,
        force_zip64: bool = False,
    ) -> IO[bytes]:
        try:
            return super().open(name, mode, pwd, force_zip64=force_zip64)
        except ValueError as error:
            raise zipfile.BadZipFile(str(error)) from error


@contextmanager
def open_archive(content: bytes, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """Open an untrusted zip archive. No member may unpack to more than it declares, nor all together to too much.

    Errors while members are read, also inside the `with` block, are reported as a damaged archive.
    """
    try:
        archive = _Archive(io.BytesIO(content))
    except (*_DAMAGED, ValueError) as error:
        raise DamagedArchiveError(f"a damaged archive ({type(error).__name__})") from error
    try:
        with archive:
            members = archive.infolist()
            # With other methods the archive decides how much memory unpacking takes.
            if any(member.compress_type not in _METHODS for member in members):
                raise zipfile.BadZipFile("an unusual compression method")
            size = sum(member.file_size for member in members)
            if size > max_bytes:
                raise LargeArchiveError(f"unpacks to {size:,} bytes, more than {max_bytes:,}")
            yield archive
    except _DAMAGED as error:
        raise DamagedArchiveError(f"a damaged archive ({type(error).__name__})") from error


def read_npz(content: bytes, max_bytes: int) -> dict[str, NDArray[Any]]:
    """Read the arrays of an .npz file; each must fit its bytes, and all together the limit."""
    import numpy as np

    try:
        # numpy warns about headers that it has to guess and about sizes beyond its numbers; we never write such.
        with warnings.catch_warnings(), open_archive(content, max_bytes) as archive:
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            members = archive.infolist()
            if len(members) > MAX_ARRAYS:
                raise ValueError(f"more than {MAX_ARRAYS:,} arrays")
            for member in members:
                with archive.open(member) as file:
                    _check_array(file, member.file_size)
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                return dict(stored)
    except (UserWarning, RuntimeWarning) as error:
        raise ValueError("an array with a header that is not ours") from error
    # numpy parses the header of an array as a Python literal, which can raise any of these errors.
    except (
        LookupError,
        SyntaxError,
        tokenize.TokenError,
        TypeError,
        MemoryError,
        OverflowError,
    ) as error:
        raise ValueError(f"a damaged archive of arrays ({type(error).__name__})") from error


def _check_array(file: IO[bytes], size: int) -> None:
    """Compare the size in the header with the bytes that are there, before memory is allocated."""
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        header = np.lib.format.read_array_header_1_0(file)
    else:
        header = np.lib.format.read_array_header_2_0(file)
    shape, _, kind = header
    if kind.hasobject or math.prod(shape) * kind.itemsize > size:
        raise ValueError(f"an array of the shape {str(shape)[:60]} in {size:,} bytes")


def parse_json(
    text: str | bytes,
    *,
    members: Callable[[list[tuple[str, Any]]], Any] | None = None,
    max_depth: int = MAX_DEPTH,
    constants: bool = False,
    tiny: bool = True,
) -> Any:
    """Parse JSON of limited depth with finite numbers; `members` turns keys and values into an object.

    With `constants`, NaN and Infinity are read as well, because other programs write them for missing values. Without
    `tiny`, a number that is read as 0 only because it is too small for a double is an error.
    """
    if isinstance(text, (bytes, bytearray, memoryview)):
        text = bytes(text).decode("utf-8-sig")
    if not isinstance(text, str):
        raise ValueError("no text")
    if text.count("[") + text.count("{") > max_depth and _depth(text) > max_depth:
        raise ValueError(f"nested too deeply: more than {max_depth} lists or objects in each other")
    # Checking each number takes time, so it is done only if one could be too long.
    if _SUSPECT.search(text) is None:
        return json.loads(
            text, parse_constant=float if constants else _refused, object_pairs_hook=members
        )
    return json.loads(
        text,
        parse_constant=float if constants else _refused,
        parse_int=_integer,
        parse_float=_finite if tiny else _not_vanishing,
        object_pairs_hook=members,
    )


def _depth(text: str) -> int:
    """How deeply lists and objects are nested."""
    import numpy as np

    letters = np.frombuffer(_STRINGS.sub("", text).encode("ascii", "replace"), np.uint8)
    opening = (letters == ord("[")) | (letters == ord("{"))
    closing = (letters == ord("]")) | (letters == ord("}"))
    steps = opening.astype(np.int8) - closing
    return int(np.cumsum(steps[opening | closing], dtype=np.int32).max(initial=0))


def whole_number(text: str, limit: int = 2**64) -> int | None:
    """The number that decimal digits stand for; None if these are none, or the number is not below the limit.

    `int` alone would also read digits of other scripts, and has an error of its own for thousands of digits.
    """
    digits = text.lstrip("0") or "0"
    if not (text and text.isascii() and digits.isdigit()) or len(digits) > MAX_DIGITS:
        return None
    number = int(digits)
    return number if number < limit else None


def excerpt(text: str, letters: int = 60) -> str:
    """The beginning of a text for an error message: short, and without control characters."""
    shown = text if len(text) <= letters else text[:letters] + "..."
    return "".join(own if own.isprintable() else repr(own)[1:-1] for own in shown)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text):,} digits; at most {MAX_DIGITS} are allowed")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _not_vanishing(text: str) -> float:
    number = _finite(text)
    if number == 0 and _NOT_ZERO.match(text):
        raise ValueError(f"the number {text[:40]} is too small for a double, but not 0")
    return number


__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "DamagedArchiveError",
    "LargeArchiveError",
    "excerpt",
    "open_archive",
    "parse_json",
    "read_npz",
    "unpack",
    "whole_number",
]
