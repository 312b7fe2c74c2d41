"""A command that asks a policy is watched by its parent, which does nothing else.

Code of a policy runs in the process of the command. Native code in it can end that process with any exit code, also
with those that mean "nothing found" and "bugs found", and nothing in the same process can notice. So the command works
in a fork, which says with which code it ends before it does. The parent ends with that code; without it, it says that
the command has ended by itself. Signals for the parent are handed on, and the fork ends when the parent is killed.

With `--debug` nothing is watched, so that debuggers see one process.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NoReturn

# Commands that may ask a policy in their own process.
ASKING = {
    "check-policy",
    "compare",
    "explain",
    "judge",
    "replay",
    "retest",
    "run",
    "select",
    "serve-policy",
    "shrink",
    "test",
}
_HANDED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_ONCE = 0.3  # seconds: a Ctrl-C that is sent to the whole group and handed on as well is one Ctrl-C
_BROKEN_OUTPUT = 120  # what Python ends with if the last of its output cannot be written

Report = Callable[[int], None]


def watched(arguments: Sequence[str]) -> Report:
    """Returns in the process that is to do the work, with what it calls at its end. The watching one never returns."""
    verb = next((word for word in arguments if not word.startswith("-")), "")
    if verb not in ASKING or "--debug" in arguments or "_MISSTEP_COMPLETE" in os.environ:
        return lambda _: None
    from misstep.kept import adopt_orphans, end_with_parent

    told, tell = os.pipe()
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_HANDED_ON, signal.SIGCHLD})
    worker = os.fork()
    if worker != 0:
        os.close(tell)
        adopt_orphans()
        _watch(worker, told, "--json" in arguments)
    os.close(told)
    end_with_parent()
    if os.getppid() != parent:
        os._exit(1)  # nobody is there to see it
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    own = os.getpid()

    def report(code: int) -> None:
        if os.getpid() == own:
            os.write(tell, bytes([code & 255]))

    return report


_last = -1.0


def interrupt_once(*_: object) -> None:
    """The handler of Ctrl-C and of requests to end: deaf for a moment after each."""
    global _last
    now = monotonic()
    if now - _last >= _ONCE:
        _last = now
        raise KeyboardInterrupt


def _watch(worker: int, told: int, as_json: bool) -> NoReturn:
    status = _wait(worker)
    os.set_blocking(told, False)  # a process that the worker left behind may hold the other end
    try:
        said = os.read(told, 1)
    except BlockingIOError:
        said = b""
    ended = os.waitstatus_to_exitcode(status)
    if said:
        os._exit(ended if ended == _BROKEN_OUTPUT else said[0])
    from misstep.kept import end_children

    end_children()  # what the policy has started
    from misstep.cli.failure import tell
    from misstep.errors import Interrupted, MisstepError, ToolError

    error: MisstepError
    if -ended in _STOPS:
        error = Interrupted("stopped by the user")
    else:
        how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
        error = ToolError(
            f"the command ended by itself ({how})",
            hint="the policy may have ended it, or there was too little memory; what was stored is kept",
        )
    code = tell(error, as_json=as_json)
    sys.stderr.flush()
    os._exit(code)


def _wait(worker: int) -> int:
    """How the worker has ended. Signals that were sent to us alone are handed on; those of a terminal reach both."""
    while True:
        info = signal.sigwaitinfo({*_HANDED_ON, signal.SIGCHLD})
        if info.si_signo != signal.SIGCHLD:
            # A process sent it, not the terminal; of a terminal that is closed only the first process hears.
            if info.si_code <= 0 or info.si_signo == signal.SIGHUP:
                os.kill(worker, info.si_signo)
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


__all__ = ["interrupt_once", "watched"]
