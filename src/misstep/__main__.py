"""The `misstep` program. Loading the commands takes a moment, in which Ctrl-C must do what it does later."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

# What `Interrupted("stopped by the user")` gives. It is written down here because an import may be under way.
CODE = 23
LINE = b"misstep: stopped by the user\n"
OBJECT = (
    b'{"error": "Interrupted", "what": "stopped by the user", "where": null, "expected": null, '
    b'"hint": null, "exit_code": 23}\n'
)


_report: Callable[[int], None] = lambda _: None  # noqa: E731


def _stop(*_: object) -> None:
    """End at once. Nothing has begun that would need cleaning up, and an exception could get lost in an import."""
    try:
        if "--json" in sys.argv:
            # A command may have moved its output away from descriptor 1, which policies print to.
            os.write(sys.stdout.fileno(), OBJECT)
        os.write(2, LINE)
    finally:
        _report(CODE)
        os._exit(CODE)


def main() -> None:
    global _report
    # Who starts a program with Ctrl-C ignored (`nohup`, a job in the background) means it.
    quiet = "--debug" not in sys.argv and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if quiet:
        signal.signal(signal.SIGINT, _stop)
    from misstep.cli.watch import interrupt_once, watched

    _report = watched(sys.argv[1:])
    from misstep.cli.main import main as command

    try:
        if quiet:
            signal.signal(signal.SIGINT, interrupt_once)
        command()
    except SystemExit as stop:
        _report(stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1)
        raise
    except KeyboardInterrupt:
        if not quiet:
            raise
        _stop()


if __name__ == "__main__":
    main()
