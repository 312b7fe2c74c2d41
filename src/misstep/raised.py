"""What the code of others has raised, in words.

The text of an exception comes from a method of its class. If that class is foreign, the method may itself raise
anything: SystemExit, which would end the command with an exit code of the policy's choice, or KeyboardInterrupt, which
would pass for Ctrl-C.
"""

from __future__ import annotations

from misstep.stops import ends_work

MOST_LETTERS = 2000


def in_words(error: BaseException) -> str:
    """The kind of an exception and its text, cut at about one screen."""
    try:
        text = f"{type(error).__name__}: {error}"
        return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}..."
    except BaseException as second:
        if isinstance(second, KeyboardInterrupt) and ends_work(second):
            raise
        return "an exception whose text cannot be shown"


__all__ = ["in_words"]
