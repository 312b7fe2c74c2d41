"""How the program ends when it fails. Imports next to nothing: it serves while the commands are still being loaded."""

from __future__ import annotations

import os
import sys

from misstep.cli.colours import painted, takes_colours
from misstep.cli.plain import to_json
from misstep.errors import MisstepError

MOST_LETTERS = 2000  # of a line: a screen, not a book


def tell(error: MisstepError, *, as_json: bool) -> int:
    """One line, and with `--json` one object; returns the exit code."""
    try:
        if as_json:
            print(to_json(error.as_dict()), flush=True)
    except OSError:
        close_output()
    # Not through rich: it would wrap the line at the width of the terminal.
    text = str(error)
    if len(text) > MOST_LETTERS:
        text = f"{text[:MOST_LETTERS]}... ({len(text):,} characters)"
    try:
        name = "misstep:"
        if takes_colours(sys.stderr):
            target = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
            target.write(painted(name, "red"))
            name = ""
        sys.stderr.write(f"{name} {text}\n")
        sys.stderr.flush()
    except OSError:  # the terminal is gone; the exit code is for whoever asks
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return error.exit_code


def close_output() -> None:
    """Nothing more can be written, also not what the interpreter flushes when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["close_output", "tell"]
