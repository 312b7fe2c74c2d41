"""Isolate a user's code while it runs in this process.

`with home:` surrounds the loading of the code and each call. Inside, the code can import from its own folder. Modules
imported from there are hidden outside, so that the `helper.py` of one policy is never used by another. Output of the
code goes to standard error, streams that it replaces (`sys.stderr = None`) are put back after the call, and a folder
that it changes to is the current one for it alone. If the code forks and the child returns to us, the child is ended;
`os._exit` raises an exception like `sys.exit`; and the environment variables that the code reads are recorded.

Native code is not isolated: `exit()` in a C library ends this process, and `getenv()` is not recorded. A policy with a
time limit runs in a separate process (`misstep.policies.process.host`), which may end.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import sysconfig
import threading
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn, TextIO

from misstep.raised import in_words

_INSTALLED = tuple(
    str(Path(sysconfig.get_path(kind)).resolve()) + os.sep
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_BETWEEN = {"os", "collections.abc", "_collections_abc"}  # frames between a reader and os.environ
WHOLE_ENVIRONMENT = "*"
_real_exit = os._exit
_inside: list[Home] = []  # the homes that were entered and not left, the innermost last
_Streams = tuple[TextIO, TextIO]
_streams: list[_Streams] = []  # output and errors where no home is entered
_changing = threading.Lock()  # of the two above and of both streams, which all threads share


class Exited(SystemExit):
    """The code called `os._exit`."""


class Home:
    """The folder and the modules of a policy's code; None: the code is in memory, part of a running program."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = None if folder is None else folder.resolve()
        self.modules: dict[str, ModuleType] = {}
        self.environment: dict[str, str | None] = {}  # what the code read, None: not set
        self._names = frozenset() if self.folder is None else _importable(self.folder)
        self._outside: list[tuple[_Streams, int, int, dict[str, ModuleType], str | None]] = []
        self._inside_at: str | None = None  # the folder that the code has changed to
        _build_walls()

    def __enter__(self) -> Home:
        hidden: dict[str, ModuleType] = {}
        if self.folder is not None:
            sys.path.insert(0, str(self.folder))
            for name in self._names & sys.modules.keys():
                if name not in self.modules and self._is_foreign(sys.modules[name]):
                    hidden[name] = sys.modules.pop(name)
            for name, module in self.modules.items():
                if name in sys.modules:
                    hidden[name] = sys.modules.pop(name)
                sys.modules[name] = module
        here = _current_folder()
        if self._inside_at is not None:
            _change_to(self._inside_at)
        with _changing:
            streams = sys.stdout, sys.stderr
            if not _inside:
                _streams[:] = [streams]
            self._outside.append((streams, os.getpid(), len(sys.modules), hidden, here))
            sys.stdout = sys.stderr
            _inside.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        streams, process, count, hidden, here = self._outside.pop()
        if os.getpid() != process:
            _real_exit(0)  # a fork that the code made must not continue our work
        with _changing:
            _inside.remove(self)
            # Another thread may have entered a home before us, or be in one still.
            sys.stdout, sys.stderr = streams if _inside else _streams[0]
            if _inside and sys.stdout is _streams[0][0]:
                sys.stdout = sys.stderr
        there = _current_folder()
        self._inside_at = None if there == here else there
        if there != here and here is not None:
            _change_to(here)
        if self.folder is not None:
            self._take_modules(len(sys.modules) - count)
            for name in self.modules:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)
            if str(self.folder) in sys.path:
                sys.path.remove(str(self.folder))

    def _take_modules(self, added: int) -> None:
        """Hide the modules that were imported from the folder; the newest are the last."""
        for name in list(reversed(sys.modules))[: max(added, 0)]:
            module = sys.modules[name]
            file = _file_of(module)
            if file and is_users(file) and Path(file).resolve().is_relative_to(str(self.folder)):
                self.modules[name] = module

    def _is_foreign(self, module: ModuleType) -> bool:
        """Whether the module is neither from this folder, nor from Python, nor from an installed package."""
        file = _file_of(module)
        if not file or not is_users(file):
            return False
        return not Path(file).resolve().is_relative_to(str(self.folder))

    @property
    def files(self) -> list[Path]:
        """The source files of its modules."""
        found = map(_file_of, self.modules.values())
        return sorted({Path(file).resolve() for file in found if file})

    def told(self, error: BaseException) -> str:
        """One line: the last place in the user's files, and what happened there."""
        shown = SystemExit(*error.args) if isinstance(error, Exited) else error
        text = " ".join(in_words(shown).split())
        place = self.place(error)
        return f"{place}: {text}" if place else text

    def place(self, error: BaseException) -> str | None:
        """Such as `mine.py:12`."""
        found: tuple[str, int] | None = None
        traceback = error.__traceback__
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if is_users(file):
                found = file, traceback.tb_lineno
            traceback = traceback.tb_next
        return None if found is None else f"{self._shown(Path(found[0]))}:{found[1]}"

    def _shown(self, file: Path) -> str:
        if self.folder is not None and file.resolve().is_relative_to(self.folder):
            return str(file.resolve().relative_to(self.folder))
        return file.name

    def note(self, name: str, value: str | None, frame: FrameType | None) -> None:
        """Record that a variable was read, unless a library read it."""
        while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
            frame = frame.f_back
        if frame is None or name in self.environment or not is_users(frame.f_code.co_filename):
            return
        if value is not None and _SECRET.search(name):  # campaigns are handed around
            value = "sha256:" + hashlib.sha256(value.encode(errors="replace")).hexdigest()[:16]
        self.environment[name] = value


def _current_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 (this is done for each question)
    except OSError:  # it was removed
        return None


def _change_to(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.chdir(folder)


@cache
def is_users(file: str) -> bool:
    """Whether a source file is neither of Python, nor of an installed package, nor ours."""
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    path = str(Path(file).resolve())
    return not path.startswith((*_INSTALLED, _OURS))


def _file_of(module: ModuleType) -> str | None:
    """Where a module was read from. Libraries also make modules by hand, as PyTorch does with `__file__ = "_ops.py"`:
    such a name is of no file, although it looks like one of the current folder."""
    file = getattr(module, "__file__", None)
    return file if file and Path(file).is_absolute() else None


def _importable(folder: Path) -> frozenset[str]:
    """The modules that code in the folder can import from there."""
    names = set()
    try:
        for entry in os.scandir(folder):
            stem, dot, suffix = entry.name.partition(".")
            if stem.isidentifier() and (suffix == "py" or (not dot and entry.is_dir())):
                names.add(stem)
    except OSError:
        pass
    return frozenset(names)


class _Environment(os._Environ[str]):
    """`os.environ` that reports reads to the innermost home."""

    def __getitem__(self, key: str) -> str:
        if _inside and WHOLE_ENVIRONMENT not in _inside[-1].environment:
            _inside[-1].note(key, self._value(key), sys._getframe(1))
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        if _inside:
            _inside[-1].note(key, self._value(key), sys._getframe(1))
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        if _inside and isinstance(key, str):
            _inside[-1].note(key, self._value(key), sys._getframe(1))
        return super().__contains__(key)

    def __iter__(self) -> Any:
        if _inside:  # all of it; what is in there is nobody's business
            _inside[-1].note(WHOLE_ENVIRONMENT, None, sys._getframe(1))
        return super().__iter__()

    def _value(self, key: str) -> str | None:
        try:
            return super().__getitem__(key)
        except KeyError:
            return None


def _exit(status: int) -> NoReturn:
    """`os._exit`, of which a policy must not make the exit code of the command that asks it."""
    if _inside and _inside[-1]._outside[-1][1] == os.getpid():
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if not caller.startswith(("misstep.", "multiprocessing.")):
            raise Exited(f"os._exit({status})")
    _real_exit(status)


def _build_walls() -> None:
    if os._exit is not _exit:
        os._exit = _exit
    if type(os.environ) is os._Environ:
        os.environ.__class__ = _Environment


__all__ = ["Exited", "Home", "is_users"]
