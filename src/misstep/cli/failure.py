"""How the program ends when it fails. It imports almost nothing, because it is needed while the commands load."""

from __future__ import annotations

import os
import sys

from misstep.cli.colours import painted, takes_colours
from misstep.cli.plain import to_json
from misstep.errors import MisstepError, ToolError

MOST_LETTERS = 2000  # characters of an error line, about one screen


def tell(error: MisstepError, *, as_json: bool) -> int:
    """Print an error as one line, and with `--json` as one object; returns the exit code."""
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
    except OSError:  # the terminal is gone; only the exit code is left
        close_output(sys.stderr.fileno())
    return error.exit_code


def ended_by_itself(how: str) -> ToolError:
    """What to say where the code of a policy has ended the process or tried to: the exit code is never the policy's."""
    return ToolError(
        f"the command ended by itself ({how})",
        hint="the policy may have ended it, or there was too little memory; what was stored is kept",
    )


def close_output(number: int | None = None) -> None:
    """Close a stream (default: the output), so that the interpreter does not fail when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno() if number is None else number)


__all__ = ["close_output", "ended_by_itself", "tell"]
