"""One writer a campaign.

A record lock (`fcntl.lockf`) on a file of the campaign's folder. The system drops it when the process ends, however it
ends, so nobody ever has to delete a stale lock; and a worker process that was forked does not inherit it, so
orphans of a killed campaign do not keep it. Two properties of these locks need care: they do not
keep a process from locking twice, and closing any handle on the file gives the lock up. Hence the table of held locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path
from time import sleep

from misstep.errors import InputFileError
from misstep.files import open_inside, reason

LOCK_NAME = "run.lock"
_TRIES = 10
_PAUSE = 0.02  # seconds

# File -> the process that holds it. A forked child sees the entries of its parent, which are not its own.
_HELD: dict[tuple[int, int], int] = {}


class WriterLock:
    """Held from the moment it is made until `release`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        try:
            known = os.lstat(self._path)
            if _HELD.get((known.st_dev, known.st_ino)) == os.getpid():
                raise self._refusal("this process has it open already")
        except OSError:
            pass  # opening it says what is wrong
        try:
            self._handle = open_inside(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise InputFileError(
                f"cannot write to this folder: {reason(error)}",
                where=str(folder),
                hint="change its permissions or choose another one",
            ) from error
        try:
            _lock(self._handle)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                os.close(self._handle)
                raise InputFileError(
                    f"the campaign cannot be locked: {reason(error)}",
                    where=str(folder),
                    hint="choose a folder on a local disk",
                ) from error
            holder = os.read(self._handle, 200).decode(errors="replace").strip()
            os.close(self._handle)
            raise self._refusal(f"{holder or 'another process'} is writing to it") from error
        try:
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError:
            pass  # On a full disk the lock holds all the same, only without a name.
        held = os.fstat(self._handle)
        self._key = (held.st_dev, held.st_ino)
        _HELD[self._key] = os.getpid()

    def _refusal(self, why: str) -> InputFileError:
        return InputFileError(
            f"the campaign is in use: {why}",
            where=str(self._path.parent),
            hint="wait for it or stop it; reading is possible meanwhile",
        )

    def release(self) -> None:
        """Give the lock up; a second call does nothing."""
        if self._handle >= 0:
            if _HELD.get(self._key) == os.getpid():
                del _HELD[self._key]
            os.close(self._handle)
            self._handle = -1


def _lock(handle: int) -> None:
    """Waits for a moment: a writer whose parent was killed ends a little later than its parent."""
    for _ in range(_TRIES - 1):
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
        sleep(_PAUSE)
    fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


__all__ = ["LOCK_NAME", "WriterLock"]
