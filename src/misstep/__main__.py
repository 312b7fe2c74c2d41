"""The `misstep` program. Ctrl-C must work in the same way while the commands are still being loaded."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

# The output of `Interrupted("stopped by the user")`, as a literal: an interrupted import cannot import the class.
CODE = 23
LINE = b"misstep: stopped by the user\n"
OBJECT = (
    b'{"error": "Interrupted", "what": "stopped by the user", "where": null, "expected": null, '
    b'"hint": null, "exit_code": 23}\n'
)


_report: Callable[[int], None] = lambda _: None  # noqa: E731


def _stop(*_: object) -> None:
    """End at once. Nothing needs cleaning up yet, and an import could swallow an exception."""
    try:
        if "--json" in sys.argv:
            # A command may have moved its own output away from descriptor 1, because policies print there.
            os.write(sys.stdout.fileno(), OBJECT)
        os.write(2, LINE)
    finally:
        _report(CODE)
        os._exit(CODE)


def _open_streams() -> None:
    """Open what was closed (`misstep ... >&-`). Otherwise a file of ours gets its number, and output goes there."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = sys.__stderr__ = open(2, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115


def _has_threads() -> bool:
    """Whether Python would wait for a thread before it ends; a policy may have started one that never does."""
    import threading

    ours = threading.current_thread()
    return any(own is not ours and not own.daemon for own in threading.enumerate())


def main() -> None:
    global _report
    _open_streams()
    # If Ctrl-C is ignored at the start (`nohup`, a background job), it stays ignored.
    quiet = "--debug" not in sys.argv and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if quiet:
        signal.signal(signal.SIGINT, _stop)
    from misstep.cli.watch import watched
    from misstep.stops import interrupt_once, mark_stops

    _report = watched(sys.argv[1:])
    from misstep.cli.main import main as command

    try:
        if quiet:
            signal.signal(signal.SIGINT, interrupt_once)
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            mark_stops()
        command()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        _report(code)
        if _has_threads():
            from misstep.kept import leave

            leave(code)
        raise
    except KeyboardInterrupt:
        if not quiet:
            raise
        _stop()


if __name__ == "__main__":
    main()
