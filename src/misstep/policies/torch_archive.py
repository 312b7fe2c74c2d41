"""State dicts in files written by PyTorch, read without PyTorch and without unpickling.

Such a file is an archive: `data.pkl`, and the numbers of each tensor in `data/N`, as they lie in memory. The pickle
is a program for a small stack machine. Here is a machine that knows the few instructions that write down dictionaries,
names and tensors, and nothing else; it has no instruction that calls a function of anybody.
"""

from __future__ import annotations

import math
import pickletools
import zipfile
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.archives import archive_of

MAX_INSTRUCTIONS = 1_000_000
Tensors = dict[str, NDArray[np.float64]]
TYPES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
}
_DICT, _TENSOR = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"
_MARK = object()


class _Global(str):
    """The name of a function or class, which is never imported."""


class _Machine:
    """Runs the instructions of a pickle; `storage` gives the numbers of a tensor by type, file and size."""

    def __init__(self, storage: Callable[[str, str, int], NDArray[Any]], where: str) -> None:
        self.storage = storage
        self.where = where
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        for count, (code, argument, _) in enumerate(pickletools.genops(program)):
            if count > MAX_INSTRUCTIONS:
                raise ValueError("too long")
            if code.name == "STOP":
                return self.stack.pop()
            self._step(code.name, argument)
        raise ValueError("no end")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        match name:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                stack.append(_MARK)
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "EMPTY_TUPLE":
                stack.append(())
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[name])
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                stack.append(argument)
            case "SHORT_BINUNICODE":
                stack.append(argument)
            case "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self.memo[argument])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self._pop(int(name[-1]))))
            case "TUPLE":
                stack.append(tuple(self._since_mark()))
            case "SETITEM" | "SETITEMS":
                self._fill(self._pop(2) if name == "SETITEM" else self._since_mark())
            case "APPEND" | "APPENDS":
                items = self._pop(1) if name == "APPEND" else self._since_mark()
                if not isinstance(stack[-1], list):
                    raise ValueError("no list")
                stack[-1].extend(items)
            case "BUILD":  # attributes of a dictionary: versions of its modules
                self._pop(1)
            case "GLOBAL":
                self._name(str(argument))
            case "BINPERSID":
                stack.append(self._storage(stack.pop()))
            case "REDUCE":
                self._reduce()
            case _:
                self._foreign(f"the instruction {name}")

    def _pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("an empty stack")
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def _since_mark(self) -> list[Any]:
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at] is _MARK:
                items = self.stack[at + 1 :]
                del self.stack[at:]
                return items
        raise ValueError("no mark")

    def _fill(self, items: list[Any]) -> None:
        table = self.stack[-1]
        # Keys of other types could be nested so deep that hashing them ends the process.
        if not isinstance(table, dict) or not all(type(key) in (str, int) for key in items[::2]):
            raise ValueError("no dictionary")
        table.update(zip(items[::2], items[1::2], strict=True))

    def _name(self, name: str) -> None:
        if name not in (_DICT, _TENSOR, *TYPES):
            self._foreign(name.replace(" ", "."))
        self.stack.append(_Global(name))

    def _storage(self, persistent: Any) -> NDArray[Any]:
        match persistent:
            case ("storage", _Global() as kind, str(key), str(), int(size)) if kind in TYPES:
                return self.storage(TYPES[kind], key, size)
            case _:
                raise ValueError("no storage")

    def _reduce(self) -> None:
        function, arguments = self._pop(2)
        match function, arguments:
            case "collections OrderedDict", ():
                self.stack.append({})
            case "torch._utils _rebuild_tensor_v2", (
                np.ndarray() as numbers,
                int(offset),
                tuple(shape),
                tuple(strides),
                *_,
            ):
                self.stack.append(_tensor(numbers, offset, shape, strides))
            case _:
                raise ValueError("a call of something else")

    def _foreign(self, what: str) -> NoReturn:
        raise UnsupportedError(
            f"the file contains code or objects of other programs ({what[:80]})",
            where=self.where,
            expected="weights and plain values only",
            hint="nothing of it was executed; save the network again without them",
        )


def _tensor(numbers: NDArray[Any], offset: int, shape: Any, strides: Any) -> NDArray[Any]:
    sizes = [*shape, *strides, offset]
    if not all(type(n) is int and 0 <= n < 2**40 for n in sizes) or len(shape) != len(strides):
        raise ValueError("a tensor of impossible shape")
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if math.prod(shape) > len(numbers) or (math.prod(shape) and last >= len(numbers)):
        raise ValueError("a tensor beyond its numbers")
    bytes_apart = [s * numbers.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(numbers[offset:], shape, bytes_apart, writeable=False)


def read_state_dict(content: bytes, where: str, kind: str, max_bytes: int) -> Tensors:
    """The tensors of a state dict by name, in double precision; `kind` says what was hoped for."""
    try:
        with archive_of(content, where, "state dict", kind, max_bytes) as archive:
            stored = _unpack(archive, where)
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputFormatError(
            f"the weights cannot be read ({str(error)[:60] or type(error).__name__})",
            where=where,
            expected=kind,
            hint="fetch the file again",
        ) from error
    if not isinstance(stored, dict) or not stored:
        raise InputFormatError("this is no state dict", where=where, expected=kind)
    if sum(t.size for t in stored.values() if isinstance(t, np.ndarray)) > max_bytes // 4:
        raise UnsupportedError(  # many tensors may show the same numbers
            "the tensors are larger than the file that holds them", where=where, expected=kind
        )
    for name, tensor in stored.items():
        if not isinstance(name, str) or not isinstance(tensor, np.ndarray):
            raise InputFormatError(f"{name!r:.60} is no tensor", where=where, expected=kind)
        if not np.isfinite(tensor).all():
            raise InputFormatError(
                f"{name[:60]} holds infinite or undefined numbers",
                where=where,
                expected="finite numbers",
                hint="the training diverged; take an earlier checkpoint",
            )
    return {name: np.array(tensor, dtype=np.float64) for name, tensor in stored.items()}


def _unpack(archive: zipfile.ZipFile, where: str) -> Any:
    pickles = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1:
        raise ValueError("no data.pkl")
    folder = pickles[0][: -len("data.pkl")]
    if (
        f"{folder}byteorder" in archive.namelist()
        and archive.read(f"{folder}byteorder") != b"little"
    ):
        raise ValueError("numbers of another byte order")

    contents: dict[str, bytes] = {}  # several tensors may share their numbers

    def storage(kind: str, key: str, size: int) -> NDArray[Any]:
        if key not in contents:
            contents[key] = archive.read(f"{folder}data/{key}")
        numbers = np.frombuffer(contents[key], dtype=kind)
        if len(numbers) < size:
            raise ValueError("a tensor that is cut short")
        return numbers[:size]

    return _Machine(storage, where).run(archive.read(pickles[0]))


__all__ = ["Tensors", "read_state_dict"]
