"""The lock that allows only one writer per campaign.

It is a record lock (`fcntl.lockf`) on a file in the campaign's folder. The system releases it when the process ends for
any reason, so there are no stale locks. Forked workers do not inherit it, so orphans of a killed campaign do not hold
it. Two properties need care: a process can lock the file twice, and closing any handle on the file releases the lock.
Hence the table of held locks.
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
            pass  # opening it reports the error
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
            pass  # On a full disk the lock works too, only without the name of its holder.
        held = os.fstat(self._handle)
        self._key = (held.st_dev, held.st_ino)
        _HELD[self._key] = os.getpid()

    def _refusal(self, why: str) -> InputFileError:
        return InputFileError(
            f"the campaign is in use: {why}",
            where=str(self._path.parent),
            hint="wait for it or stop it; reading is possible meanwhile",
        )

    def is_held(self) -> bool:
        """Whether the lock's file is still open: the code of a policy may close the files of its process."""
        try:
            held = os.fstat(self._handle)
        except OSError:
            return False
        return self._key == (held.st_dev, held.st_ino)

    def release(self) -> None:
        """Give the lock up; a second call does nothing."""
        if self._handle >= 0:
            if _HELD.get(self._key) == os.getpid():
                del _HELD[self._key]
            if self.is_held():
                os.close(self._handle)
            self._handle = -1


def _lock(handle: int) -> None:
    """Try for a moment: a writer whose parent was killed ends a little later than its parent."""
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
