"""Reads JSON documents such that every error names the file and the path inside it.

A `Cursor` is a value together with its place. Any object may be `{"file": "other.jani"}`: it then
stands for the content of that file, and the path starts anew there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes

MAX_BYTES = 256 * 2**20
MAX_DEPTH = 900  # chains of operators are nested in JANI
MAX_INCLUDES = 10_000
# About so many members of all lists and objects of a file: a file of nothing but lists takes 25 times its size.
MAX_MEMBERS = 2**25
# Keys that do not affect the model.
REMARKS = {"comment", "metadata"}


class Documents:
    """The files of a model. Their content is kept: files may change while the model is in use.

    `stored` contents are those of a campaign, which may come from a stranger: no other file is read then, because a
    model can include any file of the user.
    """

    def __init__(self, contents: dict[str, bytes] | None = None, *, stored: bool = False) -> None:
        self.contents: dict[str, bytes] = dict(contents or {})
        self._frozen = contents is not None
        self._stored = stored
        self._parsed: dict[str, Any] = {}
        self._resolved: dict[str, str] = {}
        self._includes = 0

    def open(self, path: Path) -> Cursor:
        return Cursor(self, (path,), "", self._value(path))

    def give(self, name: str, content: bytes) -> None:
        """Keep a document that is not in a file."""
        self.contents[name] = content
        self._parsed[name] = parse(content, name)

    def may_read(self, path: Path) -> bool:
        return not self._stored or str(path) in self.contents

    def include(self, path: Path, place: Cursor) -> Any:
        self._includes += 1
        if self._includes > MAX_INCLUDES:
            place.fail(f"more than {MAX_INCLUDES} files are included", "fewer")
        return self._value(path)

    def resolved(self, path: Path) -> str:
        key = str(path)
        if key not in self._resolved:
            try:
                self._resolved[key] = os.path.realpath(key)
            except ValueError as error:  # half a surrogate pair, or a null character
                raise InputFormatError(f"no name of a file: {error}", where=repr(key)) from None
        return self._resolved[key]

    def _value(self, path: Path) -> Any:
        key = str(path)
        if key not in self._parsed:
            if not self.may_read(path):
                raise InputFormatError("the file was not stored with the model", where=key)
            if key not in self.contents or not self._frozen:
                self.contents[key] = read_bytes(path, MAX_BYTES, "a JANI file")
            self._parsed[key] = parse(self.contents[key], key)
        return self._parsed[key]


def parse(content: bytes, name: str) -> Any:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputFormatError(
                f"an object has the key {twice!r} twice", where=name, expected="distinct keys"
            )
        return result

    if len(content) > MAX_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MAX_MEMBERS:
        raise InputFormatError(
            "the file is too large", where=name, expected=f"at most {MAX_MEMBERS:,} values"
        )
    try:
        return parse_json(content, members=members, max_depth=MAX_DEPTH, tiny=False)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputFormatError("not UTF-8 text", where=f"{name}:{line}", expected="JSON") from None
    except json.JSONDecodeError as error:
        raise InputFormatError(
            f"not JSON: {error.msg}", where=f"{name}:{error.lineno}:{error.colno}", expected="JSON"
        ) from None
    except RecursionError:
        raise InputFormatError("nested too deeply", where=name, expected="flatter JSON") from None
    except ValueError as error:  # nested too deeply, or a number of thousands of digits
        raise InputFormatError(f"not JSON: {error}", where=name, expected="JSON") from None


class Cursor:
    """A JSON value and its place. Includes are resolved on the way."""

    __slots__ = ("documents", "path", "trail", "value")

    def __init__(
        self, documents: Documents, trail: tuple[Path, ...], path: str, value: Any
    ) -> None:
        self.documents = documents
        self.trail = trail  # the files that include it, then the file itself
        self.path = path
        self.value = value
        while isinstance(self.value, dict) and self.value.keys() - REMARKS == {"file"}:
            if not self._enter(self.value["file"]):
                break

    def _enter(self, name: Any) -> bool:
        if not isinstance(name, str):
            self.fail("the name of an included file is not text", "a path")
        target = self.trail[-1].parent / name
        if not self.documents.may_read(target):
            return False  # the model did not need it, as in a remark
        if self.documents.resolved(target) in map(self.documents.resolved, self.trail):
            self.fail(f"{name} includes itself", "files that do not include each other in a circle")
        self.value = self.documents.include(target, self)
        self.trail = (*self.trail, target)
        self.path = ""
        return True

    # -- errors -----------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        return f"{self.trail[-1]}: {self.path}" if self.path else str(self.trail[-1])

    def error(
        self, what: str, expected: str | None = None, hint: str | None = None
    ) -> InputFormatError:
        return InputFormatError(what, where=self.where, expected=expected, hint=hint)

    def fail(self, what: str, expected: str | None = None, hint: str | None = None) -> NoReturn:
        raise self.error(what, expected, hint)

    def unsupported(self, what: str, hint: str | None = None) -> NoReturn:
        raise UnsupportedError(what, where=self.where, hint=hint)

    def _wrong(self, expected: str) -> NoReturn:
        self.fail(f"found {shown(self.value)}", expected)

    # -- going down -------------------------------------------------------------------------------

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __getitem__(self, key: str) -> Cursor:
        if not isinstance(self.value, dict):
            self._wrong(f"an object with {key!r}")
        if key not in self.value:
            self.fail(f"{key!r} is missing", f"an object with {key!r}")
        path = f"{self.path}.{key}" if self.path else key
        return Cursor(self.documents, self.trail, path, self.value[key])

    def get(self, key: str) -> Cursor | None:
        if key not in self:
            return None
        return self[key]

    def items(self, expected: str = "a list") -> Iterator[Cursor]:
        if not isinstance(self.value, list):
            self._wrong(expected)
        for i, value in enumerate(self.value):
            yield Cursor(self.documents, self.trail, f"{self.path}[{i}]", value)

    def list_of(self, key: str) -> Iterator[Cursor]:
        """The items of an optional list."""
        return self[key].items() if key in self else iter(())

    def object(self, expected: str) -> Cursor:
        if not isinstance(self.value, dict):
            self._wrong(expected)
        return self

    # -- values -----------------------------------------------------------------------------------

    def text(self, expected: str = "text") -> str:
        if not isinstance(self.value, str):
            self._wrong(expected)
        # All texts of a model are names, and one with a line break could say anything on a line of its own.
        if "\n" in self.value:
            self.fail("a text with a line break", expected)
        if not self.value.isascii():
            try:
                self.value.encode()
            except UnicodeEncodeError:
                self.fail("a text with half of a surrogate pair", expected)
        return self.value

    def integer(self, expected: str = "an integer") -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self._wrong(expected)
        return self.value

    def boolean(self, expected: str = "true or false") -> bool:
        if not isinstance(self.value, bool):
            self._wrong(expected)
        return self.value


def shown(value: Any) -> str:
    """A value, shortened to fit in a message."""
    if isinstance(value, dict):
        return "an object with " + ", ".join(map(repr, list(value)[:4])) if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


__all__ = ["Cursor", "Documents", "shown"]
