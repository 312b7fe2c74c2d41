"""Decoding what others have written, within limits.

A few kilobytes can stand for gigabytes (zlib), for a nest of lists that ends the interpreter's stack, or for a number
of a million digits that takes minutes to read. Whoever decodes what comes from a file, a program or a server does it
here, and gets a `ValueError` that says what is wrong, to be told with the place.
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
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, NoReturn

# numpy is loaded where it is needed: whoever looks for a campaign that is not there does not wait for it.
if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DEPTH = 500  # of lists and objects within each other
MAX_ARRAYS = 100_000  # of an archive
MAX_DIGITS = 40  # of a number without a fraction
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# Numbers that are long or large enough to be looked at one by one.
_SUSPECT = re.compile(r"\d{19}|[eE]\+?\d{3}")


def unpack(data: object, max_bytes: int) -> bytes:
    """What zlib has packed, if it is not more than that many bytes."""
    if not isinstance(data, (bytes, memoryview)):
        raise ValueError("compressed data are missing")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, max_bytes + 1)  # one more, to see that there is more
    except zlib.error as error:
        raise ValueError(f"compressed data are damaged ({error})") from None
    if len(found) > max_bytes:
        raise ValueError(f"compressed data stand for more than {max_bytes:,} bytes")
    if not stream.eof or stream.unused_data:
        raise ValueError("compressed data are cut off, or something follows them")
    return found


def read_npz(content: bytes, max_bytes: int) -> dict[str, NDArray[Any]]:
    """The arrays of an archive of numpy, if they are no larger than their bytes and than the limit together."""
    import numpy as np

    try:
        # numpy warns of headers that it has to guess at; ours are not of that kind.
        with warnings.catch_warnings(), zipfile.ZipFile(io.BytesIO(content)) as archive:
            warnings.simplefilter("error", UserWarning)
            members = archive.infolist()
            if len(members) > MAX_ARRAYS or sum(own.file_size for own in members) > max_bytes:
                raise ValueError(f"more than {MAX_ARRAYS:,} arrays or {max_bytes:,} bytes")
            for member in members:
                with archive.open(member) as file:
                    _check_array(file, member.file_size)
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return dict(stored)
    except ValueError:
        raise
    except UserWarning as error:
        raise ValueError("an array with a header that is not ours") from error
    except (OSError, EOFError, KeyError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise ValueError(f"no archive of arrays ({type(error).__name__})") from error
    # numpy takes the header of an array apart as a piece of Python, as far as that goes.
    except (zipfile.BadZipFile, SyntaxError, tokenize.TokenError, TypeError, MemoryError) as error:
        raise ValueError(f"a damaged archive of arrays ({type(error).__name__})") from error


def _check_array(file: IO[bytes], size: int) -> None:
    """Compare what the header promises with what is there, before room is made for it."""
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
) -> Any:
    """JSON of limited depth and of finite numbers; `members` makes an object of its keys and values.

    With `constants`, NaN and Infinity are read as well: other programs write them where they mean nothing.
    """
    if isinstance(text, (bytes, bytearray, memoryview)):
        text = bytes(text).decode("utf-8-sig")
    if not isinstance(text, str):
        raise ValueError("no text")
    if text.count("[") + text.count("{") > max_depth and _depth(text) > max_depth:
        raise ValueError(f"nested too deeply: more than {max_depth} lists or objects in each other")
    # Looking at each number takes time, so that is done only where one could be too long.
    if _SUSPECT.search(text) is None:
        return json.loads(
            text, parse_constant=float if constants else _refused, object_pairs_hook=members
        )
    return json.loads(
        text,
        parse_constant=float if constants else _refused,
        parse_int=_integer,
        parse_float=_finite,
        object_pairs_hook=members,
    )


def _depth(text: str) -> int:
    """How deeply lists and objects are nested."""
    import numpy as np

    letters = np.frombuffer(_STRINGS.sub("", text).encode("utf-32-le", "replace"), np.uint32)
    opening = (letters == ord("[")) | (letters == ord("{"))
    closing = (letters == ord("]")) | (letters == ord("}"))
    steps = opening.astype(np.int32) - closing
    return int(np.cumsum(steps).max(initial=0))


def excerpt(text: str, letters: int = 60) -> str:
    """The beginning of what stands in a file, for an error: short, and nothing that a terminal would obey."""
    shown = text if len(text) <= letters else text[:letters] + "..."
    return "".join(own if own.isprintable() else repr(own)[1:-1] for own in shown)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text):,} digits, of which {MAX_DIGITS} are allowed")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


__all__ = ["MAX_DEPTH", "MAX_DIGITS", "excerpt", "parse_json", "read_npz", "unpack"]
