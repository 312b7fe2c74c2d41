"""Reading files that a user named, and writing files that survive a crash."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from pathlib import Path

from misstep.errors import InputFileError

_PIECE = 2**20


def read_bytes(path: Path, max_bytes: int, kind: str) -> bytes:
    """The content of a file, or one line on why that is impossible. `kind` says what was hoped for."""
    name = str(path)
    try:
        # Asking before opening: opening a pipe that nobody writes to would wait forever.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputFileError("this is a folder", where=name, expected=kind)
        if not stat.S_ISREG(mode):
            raise InputFileError("this is not a regular file", where=name, expected=kind)
        with path.open("rb") as file:
            content = bytearray()
            # In pieces: asked for so many bytes at once, Python makes room for all of them at once.
            while len(content) <= max_bytes and (piece := file.read(_PIECE)):
                content += piece
    except FileNotFoundError as error:
        raise InputFileError("no such file", where=name, hint="check the path") from error
    except PermissionError as error:
        raise InputFileError(
            "no permission to read this file", where=name, hint="change its permissions"
        ) from error
    except ValueError as error:  # A null character in the path.
        raise InputFileError(f"not a path: {error}", where=repr(name)) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputFileError("symbolic links in a circle", where=name) from error
        raise InputFileError(f"cannot read: {error.strerror or error}", where=name) from error
    if len(content) > max_bytes:
        raise InputFileError(
            f"the file is larger than {max_bytes / 2**20:.0f} MiB",
            where=name,
            expected=f"{kind} of usual size",
            hint="is this the right file?",
        )
    return bytes(content)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file all or nothing: after a crash, a kill or on a full disk there is the old one or the new one.

    Nothing but a regular file is replaced: not a device, and not a symbolic link, which is followed.
    """
    name = str(path)
    try:
        path = Path(os.path.realpath(path))
        if path.is_symlink():
            raise InputFileError("symbolic links in a circle", where=name)
        if path.is_dir():
            raise InputFileError("this is a folder", where=name, expected="a file to write to")
        if path.exists() and not path.is_file():
            raise InputFileError(
                "this is not a regular file", where=name, expected="a file to write to"
            )
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except ValueError as error:  # A null character in the path.
        raise InputFileError(f"not a path: {error}", where=repr(name)) from error
    except OSError as error:
        raise InputFileError(f"cannot write: {error.strerror or error}", where=name) from error


__all__ = ["read_bytes", "write_bytes"]
