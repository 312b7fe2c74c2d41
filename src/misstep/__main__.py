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


def _has_threads() -> bool:
    """Whether Python would wait for a thread before it ends; a policy may have started one that never does."""
    import threading

    ours = threading.current_thread()
    return any(own is not ours and not own.daemon for own in threading.enumerate())


def _open_streams() -> None:
    """Open the standard streams that are closed (`misstep ... >&-`, some cron jobs) on nothing.

    Otherwise the next file that is opened would get the number of the stream, and all that is printed.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:  # something has the number already
                os.dup2(nothing, number)
                os.close(nothing)
            os.set_inheritable(number, True)
            stream = open(number, mode, encoding="utf-8", errors="backslashreplace")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


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
        from misstep.kept import end_in_time, leave

        if _has_threads():
            leave(code)
        end_in_time(code)
        raise
    except KeyboardInterrupt:
        if not quiet:
            raise
        _stop()


if __name__ == "__main__":
    main()
