"""Run a command that may ask a policy in a child process, and watch how that process ends.

The code of a policy runs in the process of the command. Its native part can end that process with any exit code, also
with those that mean "nothing found" and "bugs found", and nothing in the same process can notice. So the command works
in a fork, which reports its exit code to the parent before it ends. The parent exits with that code; if there was no
report, it says that the command ended by itself. The parent forwards signals, and the fork ends when the parent is
killed.

With `--debug` nothing is watched, so that debuggers see one process.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from misstep.cli.plain import out_of_the_way

# Commands that run nothing but our own code. All others may ask a policy in their own process, or run code of installed
# packages there.
UNWATCHED = {"", "doctor", "dominance", "generate", "list", "plan", "records"}
_HANDED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_GRACE = 0.3  # seconds for processes that end when they notice that ours has ended
_BROKEN_OUTPUT = 120  # what Python ends with if the last of its output cannot be written

Report = Callable[[int], None]


def watched(arguments: Sequence[str]) -> Report:
    """Fork. Returns in the child, with the function that it must call at its end; the parent never returns."""
    verb = next((word for word in arguments if not word.startswith("-")), "")
    if verb in UNWATCHED or "--debug" in arguments or "_MISSTEP_COMPLETE" in os.environ:
        return lambda _: None
    from misstep.kept import adopt_orphans, end_with_parent
    from misstep.stops import heard_by

    told, tell = os.pipe()
    stop = mmap.mmap(-1, 1)  # shared: whether the parent was asked to stop
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_HANDED_ON, signal.SIGCHLD})
    worker = os.fork()
    if worker != 0:
        os.close(tell)
        adopt_orphans()
        _watch(worker, told, stop, "--json" in arguments)
    os.close(told)
    end_with_parent()
    if os.getppid() != parent:
        os._exit(1)  # the parent is gone
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    heard_by(stop)
    tell = out_of_the_way(tell)
    own = os.getpid()

    def report(code: int) -> None:
        if os.getpid() != own:
            return
        # A policy may have closed it. Then the parent says that this process ended by itself.
        with suppress(OSError):
            os.write(tell, bytes([code & 255]))

    return report


def _watch(worker: int, told: int, stop: mmap.mmap, as_json: bool) -> NoReturn:
    status = _wait(worker, stop)
    os.set_blocking(told, False)  # a process that the worker left behind may hold the other end
    try:
        said = os.read(told, 1)
    except BlockingIOError:
        said = b""
    ended = os.waitstatus_to_exitcode(status)
    from misstep.kept import end_children

    # What the policy has started and left behind. A process in a session of its own was meant to stay: the inference
    # service, which other commands use too, or a server.
    end_children(daemons=not said, grace=_GRACE if said else 0.0)
    if said:
        os._exit(ended if ended == _BROKEN_OUTPUT else said[0])
    from misstep.cli.failure import ended_by_itself, tell
    from misstep.errors import Interrupted, MisstepError

    error: MisstepError
    if -ended in _STOPS and stop[0]:
        error = Interrupted("stopped by the user")
    else:
        how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
        error = ended_by_itself(how)
    code = tell(error, as_json=as_json)
    sys.stderr.flush()
    os._exit(code)


def _wait(worker: int, stop: mmap.mmap) -> int:
    """Wait for the worker; returns how it ended. Signals sent only to us are forwarded; a terminal's reach both."""
    while True:
        info = signal.sigwaitinfo({*_HANDED_ON, signal.SIGCHLD})
        if info.si_signo != signal.SIGCHLD:
            if info.si_signo in _STOPS:
                stop[0] = 1
            # Forward a signal that a process sent. When a terminal closes, only its first process gets the signal.
            if info.si_code <= 0 or info.si_signo == signal.SIGHUP:
                os.kill(worker, info.si_signo)
            if info.si_signo in _STOPS:
                os.kill(worker, signal.SIGCONT)  # a process that was stopped hears nothing
            continue
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == worker:
                return status
            if pid == 0:
                break


__all__ = ["watched"]
