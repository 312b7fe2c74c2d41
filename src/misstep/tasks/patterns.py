"""Files that match a pattern such as `tasks/**/p0*.pddl`, with the meaning of `glob.glob`.

`glob` follows links to folders below `**`, so two links to their own folder give it 2^40 paths to go. Here each folder
is entered once below a `**`, and a pattern that looks at too many files, such as `/**/*.pddl` in a list of tasks from a
stranger, is refused.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from misstep.errors import InputFileError

MAX_LOOKED_AT = 1_000_000
MAX_WILD_PARTS = 100
_ANY_FOLDERS = "**"


def files_matching(pattern: Path) -> list[Path]:
    parts = pattern.parts
    if sum(map(glob.has_magic, parts)) > MAX_WILD_PARTS:
        raise InputFileError(
            f"a pattern with more than {MAX_WILD_PARTS} parts to fill in", where=str(pattern)[:200]
        )
    start = Path(pattern.anchor) if pattern.anchor else Path()
    return sorted(set(_Search(str(pattern)).below(start, parts[1:] if pattern.anchor else parts)))


class _Search:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._looked_at = 0

    def below(self, folder: Path, parts: Sequence[str]) -> Iterator[Path]:
        plain = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
        folder, parts = folder.joinpath(*parts[:plain]), parts[plain:]
        if not parts:
            if folder.exists() or folder.is_symlink():
                yield folder
        elif parts[0] == _ANY_FOLDERS:
            rest = parts[1:] or ["*"]
            if len(parts) == 1 and folder != Path():
                yield folder
            for own in self._folders(folder):
                yield from self.below(own, rest)
        else:
            for entry in self._entries(folder):
                fits = fnmatch.fnmatch(entry.name, parts[0])
                if fits and (not entry.name.startswith(".") or parts[0].startswith(".")):
                    yield from self.below(folder / entry.name, parts[1:])

    def _folders(self, folder: Path) -> Iterator[Path]:
        """The folder and all below it, each once, without hidden ones."""
        known: set[tuple[int, int]] = set()
        waiting = [folder]
        while waiting:
            own = waiting.pop()
            try:
                found = own.stat()
            except OSError:
                continue
            if (found.st_dev, found.st_ino) in known:
                continue
            known.add((found.st_dev, found.st_ino))
            yield own
            for entry in reversed(self._entries(own)):
                if not entry.name.startswith(".") and _is_folder(entry):
                    waiting.append(own / entry.name)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                # Links last: a folder is met under its own name first.
                entries = sorted(found, key=lambda own: (own.is_symlink(), own.name))
        except OSError:  # not a folder, or not readable: nothing matches there
            return []
        self._looked_at += len(entries)
        if self._looked_at > MAX_LOOKED_AT:
            raise InputFileError(
                f"this pattern looks at more than {MAX_LOOKED_AT:,} files",
                where=self._pattern,
                hint="name the folder of the tasks",
            )
        return entries


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


__all__ = ["files_matching"]
