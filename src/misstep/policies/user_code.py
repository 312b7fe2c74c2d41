"""Load a user's Python code by its spec: `FILE.py:NAME` or `MODULE:NAME`, with arguments as in `Make?model=w.pt&k=3`.

The spec is parsed, the code is loaded in its own `Home`, and the files that it depends on are recorded: its source,
modules imported from its folder, files among its arguments, and files that it names itself.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from urllib.parse import parse_qsl

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import is_there, not_waiting, read_bytes
from misstep.policies.home import Home
from misstep.raised import in_words
from misstep.stops import ends_work

MAX_SOURCE_BYTES = 16 * 2**20
MAX_DIGESTED_BYTES = 2**36  # of a file that a policy depends on, such as its weights
EXPECTED = "python:FILE.py:NAME or python:MODULE:NAME"


@dataclass(frozen=True)
class NamedObject:
    """The loaded object that a spec names."""

    where: str  # the file or the module
    name: str
    value: Any  # None if there is no such name
    home: Home
    source: Path | None
    arguments: dict[str, str] = field(default_factory=dict)

    def is_none(self, kind: str, expected: str | None = None) -> InputFormatError:
        """The error that the object is not of the expected kind."""
        return InputFormatError(
            f"the file defines no {kind} {self.name!r}",
            where=self.where,
            expected=expected,
            hint="check the name after the colon",
        )

    def files(self, named: Iterable[str | Path] = ()) -> tuple[Path, ...]:
        """The known files that the policy depends on; `named` are the files that the code names."""
        own = [] if self.source is None else [self.source.resolve()]
        given = [found for text in self.arguments.values() if (found := self._file(text))]
        others = [found for text in named if (found := self._file(str(text)))]
        return tuple(dict.fromkeys([*own, *self.home.files, *given, *others]))

    def _file(self, text: str) -> Path | None:
        """The file that an argument names, relative to the current folder or to the code."""
        for folder in (Path(), self.home.folder or Path()):
            try:
                if text and (folder / text).is_file():
                    return (folder / text).resolve()
            except (OSError, ValueError):
                pass
        return None

    def digest(self, named: Iterable[str | Path] = ()) -> str:
        """A digest of the names and contents of the files, independent of their location."""
        parts = [self.name, self.where if self.source is None else self.source.name]
        for key, text in self.arguments.items():
            parts += [key, "a file" if self._file(text) else text]
        for file in self.files(named):
            parts += [file.name, file_digest(file)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def file_digest(file: Path) -> str:
    """Of a file that may be named by a stranger: a device may never end, and a pipe lets us wait forever."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_DIGESTED_BYTES:
            raise InputFileError("this is not a file of usual size", where=str(file))
        digest = hashlib.sha256()
        with open(file, "rb", opener=not_waiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):  # put there since
                raise InputFileError("this is not a regular file", where=str(file))
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        why = getattr(error, "strerror", None) or error
        raise InputFileError(f"cannot be read: {why}", where=str(file)) from None


def _is_file(path: Path) -> bool:
    return is_there(path) and path.is_file()


def named_object(argument: str) -> NamedObject:
    """What `python:ARGUMENT` names."""
    head, mark, query = argument.partition("?")
    place, _, name = head.rpartition(":")
    where = f"policy python:{argument}"
    if not place or not name:
        raise UsageError("the policy is incomplete", where=where, expected=EXPECTED)
    arguments = _arguments(query, where) if mark else {}
    if place.endswith(".py") or "/" in place or _is_file(Path(place)):
        path = Path(place)
        read_bytes(path, MAX_SOURCE_BYTES, "a Python file")  # says what is wrong with it
        home = Home(path.absolute().parent)
        module = _module_of_file(path, home)
        return NamedObject(place, name, getattr(module, name, None), home, path, arguments)
    if not all(part.isidentifier() for part in place.split(".")):
        raise UsageError(
            f"{place!r} is neither a file nor a module", where=where, expected=EXPECTED
        )
    home = Home(Path.cwd())
    module = _imported(place, home)
    file = getattr(module, "__file__", None)
    if file is None and Path(place).is_dir():  # to Python, any folder is a package
        read_bytes(Path(place), MAX_SOURCE_BYTES, "a Python file")  # says that it is a folder
    source = Path(file) if file and file.endswith(".py") else None
    return NamedObject(place, name, getattr(module, name, None), home, source, arguments)


def _arguments(query: str, where: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        pairs = [("", "")]
    for position, (key, _) in enumerate(pairs):
        if not key.isidentifier() or key in dict(pairs[:position]):
            raise UsageError(
                f"the arguments are {query!r}", where=where, expected="NAME?model=w.pt&k=3"
            )
    return dict(pairs)


class _AsItIs(SourceFileLoader):
    """Reads the source file, never a compiled file.

    Python uses the compiled file in `__pycache__` if the source has the same size and the same modification time in
    seconds, so a policy that was edited within a second could be tested in its old form.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _module_of_file(path: Path, home: Home) -> ModuleType:
    name = f"misstep_user_policy_{hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputFileError("this is not a Python file", where=str(path), expected="FILE.py")
    spec.loader = _AsItIs(name, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    try:
        with home:
            spec.loader.exec_module(module)
    except BaseException as error:
        if ends_work(error):
            raise
        raise _cannot_be_run(error, home, path) from error
    return module


def _imported(name: str, home: Home) -> ModuleType:
    try:
        with home:
            importlib.invalidate_caches()
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _cannot_be_run(error, home, name) from error
        raise InputFileError(
            f"there is no module {error.name!r}",
            where=f"policy python:{name}",
            expected=EXPECTED,
            hint="modules are looked for in the current folder and among the installed packages",
        ) from None
    except BaseException as error:
        if ends_work(error):
            raise
        raise _cannot_be_run(error, home, name) from error


def _cannot_be_run(error: BaseException, home: Home, code: Path | str) -> InputFormatError:
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}:{error.lineno}"
        text = f"{type(error).__name__}: {error.msg}"
    else:
        place = home.place(error)
        where = str(code)
        if place and isinstance(code, Path) and place.rpartition(":")[0] == code.name:
            where = f"{code}:{place.rpartition(':')[2]}"
        elif place:
            where = place
        text = in_words(error)
    return InputFormatError(f"the file cannot be run: {text}", where=where)


__all__ = ["NamedObject", "file_digest", "named_object"]
