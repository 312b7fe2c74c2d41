"""What is fuzzed: a reader with the files that it begins from, and what it may answer to damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attack.fuzzing.mutators import Files, mutated
from misstep.errors import MisstepError, UsageError

# A damaged file is malformed, unreadable, unsupported or does not hold; working on it may meet a limit.
CODES = frozenset({20, 21, 22, 30, 31, 32, 35})


class DisagreementError(Exception):
    """Two readers of one format do not read the same."""


@dataclass(frozen=True)
class Reader:
    name: str
    seeds: Callable[[], Sequence[Files]]
    read: Callable[[Files, Path], object]
    """Given files and an empty folder. What it raises is judged by `problem`."""
    allowed: tuple[type[Exception], ...] = ()
    """Errors of a part inside, which its caller is known to turn into an answer."""
    codes: frozenset[int] = CODES
    cases: int = 400
    """In `make test`."""
    mutate: Callable[[Sequence[Files], Random, Path], Files] | None = None

    def case(self, seed: int, number: int, place: Path, seeds: Sequence[Files]) -> Files:
        """The damaged files of one case: the same for the same numbers."""
        random = Random(f"{self.name}:{seed}:{number}")
        return mutated(seeds, random) if self.mutate is None else self.mutate(seeds, random, place)

    def problem(self, error: Exception) -> str | None:
        """What is wrong with this answer to a damaged file, if anything is."""
        if isinstance(error, self.allowed):
            return None
        if not isinstance(error, MisstepError):
            return f"{type(error).__name__}: {error}"
        if isinstance(error, UsageError) and 2 not in self.codes:
            return f"the user is blamed for a damaged file: {error}"
        if error.exit_code not in self.codes:
            return f"exit code {error.exit_code} of {type(error).__name__}: {error}"
        text = str(error)
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in text) and "\n" in text:
            return f"more than one line: {text!r}"
        return None


def placed(files: Files, place: Path) -> Path:
    """Write the files into the folder."""
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


__all__ = ["CODES", "DisagreementError", "Reader", "placed"]
