"""Open policies that are zip archives, with the same error messages for all kinds."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.decoding import DamagedArchiveError, LargeArchiveError, open_archive
from misstep.errors import InputFormatError, UnsupportedError


@contextmanager
def archive_of(
    content: bytes, where: str, noun: str, kind: str, max_bytes: int
) -> Iterator[zipfile.ZipFile]:
    """The archive; `noun` is what it contains (agent, ranker, checkpoint), `kind` is the expected kind of file."""
    try:
        with open_archive(content, max_bytes) as archive:
            yield archive
    except LargeArchiveError as error:
        raise UnsupportedError(f"the {noun} {error}", where=where, expected=kind) from None
    except DamagedArchiveError as error:
        is_archive = content[:2] == b"PK"
        raise InputFormatError(
            "the file is cut short or damaged" if is_archive else f"the file is not a {noun}",
            where=where,
            expected=kind,
            hint="fetch the file again" if is_archive else "is this the right file?",
        ) from error


__all__ = ["archive_of"]
