"""A program that answers lines with lines, and its certain end.

The program runs in a session of its own, so that Ctrl-C reaches only us, and below a keeper (`misstep.kept`), so that
it ends, with all that it started, when we end it or end ourselves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep

from misstep.errors import ToolError
from misstep.files import reason
from misstep.kept import Kept, start

STDERR_KEPT = 4096
FORGOT_TO_FLUSH = "; does the program flush its output after every line?"
MAX_LINE_BYTES = 256 * 2**20
_SLICE = 0.25  # how often to look whether a silent program still lives, in seconds
_LAST_WORDS = 0.5  # how long to wait for the exit code and the end of standard error


class ProgramError(Exception):
    """The program did not answer as it should."""

    in_step = False  # whether the next question can still be asked

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class _Tail:
    """Drains standard error, so that the program can never block on it, and keeps the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""
        self.thread = threading.Thread(target=self._drain, daemon=True, name="policy-stderr")
        self.thread.start()

    def _drain(self) -> None:
        while chunk := os.read(self._descriptor, 65536):
            self._kept = (self._kept + chunk)[-STDERR_KEPT:]
        os.close(self._descriptor)

    def text(self) -> str:
        lines = self._kept.decode(errors="replace").strip().splitlines()
        return " | ".join(line.strip() for line in lines[-5:])[-600:]


class Channel:
    """One running program."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        memory_limit_mb: int | None = None,
        why_late: str = FORGOT_TO_FLUSH,
        folder: Path | None = None,
    ) -> None:
        self._memory_limit_mb = memory_limit_mb
        self._why_late = why_late
        self._program = _spawn(command, memory_limit_mb, folder)
        process = self._program.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin = process.stdin.fileno()
        self._stdout = process.stdout.fileno()
        # The thread owns a descriptor of its own: it may outlive the channel by a moment.
        self._tail = _Tail(os.dup(process.stderr.fileno()))
        process.stderr.close()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        self._received = bytearray()

    @property
    def pid(self) -> int:
        return self._program.pid

    def exchange(self, line: bytes, timeout: float) -> bytes:
        """Send a line and return the line that answers it; ends the program if that fails."""
        try:
            return self._exchange(line, monotonic() + timeout, timeout)
        except BaseException:
            self.end()
            raise

    def _exchange(self, line: bytes, deadline: float, timeout: float) -> bytes:
        if self._received:
            raise ProgramError(_unasked(bytes(self._received)) + self._words())
        # Both directions at once: a program may answer while it still reads, and pipes are small.
        unsent = memoryview(line)
        poller = select.poll()
        poller.register(self._stdin, select.POLLOUT)
        poller.register(self._stdout, select.POLLIN)
        while True:
            left = deadline - monotonic()
            if left <= 0:
                raise ProgramError(
                    f"no answer within {timeout:g} s{self._why_late}" + self._words(),
                    timed_out=True,
                )
            events = poller.poll(min(left, _SLICE) * 1000)
            if not events and self._program.exited():
                raise self._death()
            for descriptor, _ in events:
                if descriptor == self._stdin:
                    unsent = self._send(unsent)
                    if not unsent:
                        poller.unregister(self._stdin)
                elif (answer := self._receive()) is not None:
                    return answer

    def _send(self, data: memoryview) -> memoryview:
        try:
            return data[os.write(self._stdin, data[: 1 << 16]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            raise self._death() from None

    def _receive(self) -> bytes | None:
        try:
            chunk = os.read(self._stdout, 1 << 18)
        except BlockingIOError:
            return None
        if not chunk:
            raise self._death()
        self._received += chunk
        if b"\n" in chunk:
            line, _, rest = self._received.partition(b"\n")
            self._received = rest
            return bytes(line)
        if len(self._received) > MAX_LINE_BYTES:
            raise ProgramError("the program wrote an endless line" + self._words())
        return None

    def _death(self) -> ProgramError:
        alive = not _wait(self._program.exited, _LAST_WORDS)
        self.end()
        code = self._program.returncode
        assert code is not None
        if alive:
            what = "the program closed its input or output and kept running"
        elif code < 0:
            what = f"the program was ended by {_signal_name(-code)}"
        else:
            what = f"the program ended with exit code {code}"
        if self._memory_limit_mb is not None:
            what += f" (its memory is limited to {self._memory_limit_mb} MB)"
        self._tail.thread.join(_LAST_WORDS)
        return ProgramError(what + self._words())

    def _words(self) -> str:
        text = self._tail.text()
        return f"; it wrote to standard error: {text}" if text else ""

    def close(self, grace: float = 0.5) -> None:
        """Let the program end by itself at the end of its input, then end what is left."""
        if self._program.end.alive and self._program.stdin is not None:
            with contextlib.suppress(OSError):
                self._program.stdin.close()
            _wait(self._program.exited, grace)
        self.end()

    def end(self) -> None:
        """End the program and all it started, now."""
        self._program.end()


def _spawn(command: Sequence[str], memory_limit_mb: int | None, folder: Path | None) -> Kept:
    # A Python program that forgets to flush would look as if it hung, and one that goes by the order of a set would
    # decide differently in each process.
    # Workers, and the processes that ask again, each have a seed of their own, which is handed on.
    environment = {"PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", **os.environ}
    hint: str | None
    try:
        return start(
            command,
            memory_bytes=None if memory_limit_mb is None else memory_limit_mb * 2**20,
            folder=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment,
        )
    except FileNotFoundError:
        if shutil.which(command[0]) is not None:
            what, hint = "its interpreter does not exist", "look at the first line of the script"
        else:
            what, hint = (
                "no such program",
                "give its path, or its name if it is on PATH",
            )
    except PermissionError:
        what, hint = "not executable", "chmod +x it, or name its interpreter: exec:python FILE"
    except OSError as error:
        what, hint = (
            f"cannot be run: {reason(error)}",
            "a script starts with a line such as #!/bin/sh"
            if error.errno == errno.ENOEXEC
            else None,
        )
    raise ToolError(what, where=f"policy program {command[0]}", hint=hint) from None


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = monotonic() + seconds
    while not condition():
        if monotonic() >= deadline:
            return False
        sleep(0.005)
    return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _unasked(text: bytes) -> str:
    return (
        f"the program wrote more than its answer: {text[:80].decode(errors='replace')!r}; "
        "standard output is for answers, one line each, remarks go to standard error"
    )


__all__ = ["FORGOT_TO_FLUSH", "Channel", "ProgramError"]
