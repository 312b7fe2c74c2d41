"""The common parts of the folders of all trainings: settings, a lock, and files that a full disk does not damage.

settings.json      what was asked for, and of which tasks
run.lock           held while the training is open
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from misstep.campaigns.lock import WriterLock
from misstep.decoding import parse_json, read_npz
from misstep.errors import InputFileError, InputFormatError
from misstep.files import read_bytes, reason, refuse_link, write_bytes

if TYPE_CHECKING:
    from typing_extensions import Self

SETTINGS = "settings.json"
MAX_BYTES = 1 << 30
MAX_UNPACKED = 1 << 33
Arrays = dict[str, NDArray[Any]]


class ResumableFolder:
    """Open it with `create` or `open_folder`; it holds the lock until `close`."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1
    PARTS: ClassVar[tuple[str, ...]]  # folders inside
    RESULTS: ClassVar[tuple[str, ...]] = ()  # files that it writes beside them once it is begun

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings = settings
        _refuse_links(path, self.PARTS)
        self._lock = WriterLock(path)

    @classmethod
    def require_new(cls, path: Path) -> None:
        if (path / SETTINGS).exists():
            raise InputFileError(
                "there is a training in this folder",
                where=str(path),
                hint="continue it with --resume, or choose another folder",
            )
        for name in cls.RESULTS:
            if (path / name).exists():
                raise InputFileError(
                    "the training would replace this file, and no training is in its folder",
                    where=str(path / name),
                    hint="choose another folder",
                )

    @classmethod
    def create(
        cls, path: Path, settings: dict[str, Any], prepare: Callable[[Self], None] | None = None
    ) -> Self:
        """A new folder. The settings, which make it a training, come after what `prepare` writes."""
        cls.require_new(path)
        try:
            for part in cls.PARTS:
                (path / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputFileError(
                f"cannot make the folder: {error.strerror or error}", where=str(path)
            ) from error
        folder = cls(path, settings)
        try:
            if prepare is not None:
                prepare(folder)
            folder.write_settings()
        except BaseException as error:
            folder.close()
            if isinstance(error, InputFileError):
                error.hint = "nothing was begun; make room or choose another folder, then try again"
            raise
        return folder

    @classmethod
    def open_folder(cls, path: Path) -> Self:
        file = path / SETTINGS
        if not file.exists():
            raise InputFileError(
                "no training in this folder", where=str(path), hint="leave out --resume"
            )
        content = read_bytes(file, MAX_BYTES, "the settings of a training", follow=False)
        settings = json_object(content, str(file))
        if (settings.pop("format", None), settings.pop("version", None)) != (
            cls.FORMAT,
            cls.VERSION,
        ):
            raise InputFormatError(
                "these are not the settings of a training of this kind",
                where=str(file),
                expected=f"{cls.FORMAT}, version {cls.VERSION}",
            )
        return cls(path, settings)

    def close(self) -> None:
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write_settings(self) -> None:
        document = {"format": self.FORMAT, "version": self.VERSION, **self.settings}
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        write_bytes(self.path / SETTINGS, text.encode(), follow=False)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wraps all writing during a training, so that a failure loses only the last step."""
        try:
            yield
        except InputFileError as error:
            raise InputFileError(
                error.what,
                where=error.where,
                hint="everything before it is kept; free space or repair the folder, then continue with --resume",
            ) from error

    def write_arrays(self, name: str, arrays: Arrays) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        with self.writing():
            write_bytes(self.path / name, buffer.getvalue(), follow=False)

    def read_arrays(self, name: str, expected: Iterable[str]) -> Arrays:
        path = self.path / name
        content = read_bytes(path, MAX_BYTES, "a file of the training", follow=False)
        try:
            arrays = read_npz(content, MAX_UNPACKED)
        except ValueError as error:
            raise InputFormatError(
                f"the file is damaged: {str(error)[:80]}", where=str(path)
            ) from error
        missing = [array for array in expected if array not in arrays]
        if missing:
            raise InputFormatError(
                f"the file is damaged: there is no array {missing[0]}", where=str(path)
            )
        return arrays


def _refuse_links(path: Path, parts: Iterable[str]) -> None:
    """Refuse links: the folder is untrusted, and nothing in it may make us read or write elsewhere."""
    try:
        for folder in (path, *(path / part for part in parts)):
            if folder != path and folder.is_symlink():
                raise InputFileError(
                    "this is a symbolic link, which is not followed here",
                    where=str(folder),
                    expected="a folder of the training",
                )
            for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
                if entry.is_symlink() or not entry.is_dir():
                    refuse_link(entry)
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(path)) from error


def json_object(content: bytes, where: str) -> dict[str, Any]:
    try:
        document = parse_json(content)
    except ValueError as error:
        raise InputFormatError(f"not JSON: {error}", where=where) from error
    if not isinstance(document, dict):
        raise InputFormatError("not a JSON object", where=where)
    return document


__all__ = ["Arrays", "ResumableFolder", "json_object"]
