"""A user's Python code, `FILE.py:NAME`: loaded, and called so that whatever it does is told as its own doing."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import read_bytes

MAX_SOURCE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class NamedObject:
    file: str
    name: str
    value: Any  # None if the file defines no such name
    source: bytes

    def is_none(self, kind: str, expected: str | None = None) -> InputFormatError:
        """The error that it is not what was asked for."""
        return InputFormatError(
            f"the file defines no {kind} {self.name!r}",
            where=self.file,
            expected=expected,
            hint="check the name after the colon",
        )


def named_object(argument: str) -> NamedObject:
    """What `python:ARGUMENT` names."""
    file, _, name = argument.rpartition(":")
    if not file or not name:
        raise UsageError(
            "the policy is incomplete",
            where=f"policy python:{argument}",
            expected="python:FILE.py:NAME",
        )
    source = read_bytes(Path(file), MAX_SOURCE_BYTES, "a Python file")
    return NamedObject(file, name, getattr(_module(Path(file)), name, None), source)


@contextmanager
def users_code() -> Iterator[list[str]]:
    """Whatever the user's code raises, SystemExit too, is noted down; what it prints does not mix with our output."""
    failure: list[str] = []
    with redirect_stdout(sys.stderr):
        try:
            yield failure
        except (KeyboardInterrupt, MemoryError):
            raise  # the user, or a limit, ends the work: neither is an answer
        except BaseException as error:
            failure.append(" ".join(f"{type(error).__name__}: {error}".split()))


def _module(path: Path) -> Any:
    name = f"misstep_user_policy_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputFileError("this is not a Python file", where=str(path), expected="FILE.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    with redirect_stdout(sys.stderr):
        try:
            spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            line = _line_of(error, path)
            raise InputFormatError(
                f"the file cannot be run: {type(error).__name__}: {error}",
                where=f"{path}:{line}" if line else str(path),
            ) from error
    return module


def _line_of(error: BaseException, path: Path) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return lines[-1] if lines else None


__all__ = ["NamedObject", "named_object", "users_code"]
