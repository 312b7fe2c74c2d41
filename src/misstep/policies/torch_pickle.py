"""Read the pickle inside a file written by PyTorch, by a stack machine that cannot call anything.

A pickle is a program for a small stack machine. This one knows the instructions for containers, numbers, texts and
tensors. Names of functions and classes are only texts to it. If the program asks for a call, our own code builds one of
four known things: a dictionary, a tensor, a numpy scalar, the bytes of a text. Any other call becomes a `Foreign`
object, which only has a name. So a checkpoint may contain other objects beside the weights, such as a numpy learning
rate or the configuration of a class, and they can be skipped safely.

An instruction takes two bytes, and may ask for something that exists a second time. So what is made by one never grows
with the file: names are short, and a tensor is a view of its numbers.
"""

from __future__ import annotations

import math
import pickletools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_INSTRUCTIONS = 1_000_000
MAX_SCALAR_BYTES = 16
MAX_NAME = 1_000  # letters of a function, a class or a key
MAX_BITS = 64  # of a number that is a key
TYPES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch BFloat16Storage": "<u2",  # widened by us
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
    "torch ShortStorage": "<i2",
    "torch CharStorage": "<i1",
    "torch ByteStorage": "<u1",
    "torch BoolStorage": "<u1",
}
BFLOAT16 = "torch BFloat16Storage"
DICTS = ("collections OrderedDict", "builtins dict", "__builtin__ dict")
TENSORS = ("torch._utils _rebuild_tensor_v2",)
PARAMETERS = ("torch._utils _rebuild_parameter",)
SCALARS = ("numpy.core.multiarray scalar", "numpy._core.multiarray scalar")
DTYPE, ENCODE = "numpy dtype", "_codecs encode"
PLAIN_KEYS = (str, int, float, bool, type(None))
_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = frozenset(
    (
        *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "INT", "FLOAT"),
        *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING"),
    )
)
Storage = Callable[[str, str], NDArray[Any]]  # type of the numbers, file


class Global(str):
    """The name of a function or class, which is never imported."""


@dataclass
class Foreign:
    """A placeholder for the result of a call of foreign code, which was not executed."""

    name: str


@dataclass
class _Dtype:
    """A type of numpy; its state tells the byte order."""

    code: str
    order: str = "<"


class Machine:
    """Runs the instructions of a pickle; `storage` gives the numbers in a file."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self._numbers: dict[tuple[str, str], NDArray[Any]] = {}

    def run(self, program: bytes) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of texts with odd escapes, which nobody here looks at
            return self._run(program)

    def _run(self, program: bytes) -> Any:
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
            case "EMPTY_LIST" | "EMPTY_SET":  # a set is a list to us: nobody looks into it
                stack.append([])
            case "EMPTY_TUPLE":
                stack.append(())
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append(_CONSTANTS[name])
            case "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self.memo[argument])
            case "POP":
                self._pop(1)
            case "POP_MARK":
                self._since_mark()
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self._pop(int(name[-1]))))
            case "TUPLE":
                stack.append(tuple(self._since_mark()))
            case "LIST" | "FROZENSET":
                stack.append(self._since_mark())
            case "SETITEM" | "SETITEMS":
                self._fill(self._pop(2) if name == "SETITEM" else self._since_mark())
            case "APPEND" | "APPENDS" | "ADDITEMS":
                self._extend(self._pop(1) if name == "APPEND" else self._since_mark())
            case _ if name in _LITERALS:
                stack.append(argument)
            case _:
                self._object(name, argument)

    def _object(self, name: str, argument: Any) -> None:
        """Instructions that would import, call or fill objects."""
        match name:
            case "GLOBAL":
                self.stack.append(_name(argument))
            case "STACK_GLOBAL":
                module, attribute = self._pop(2)
                self.stack.append(_name(module, attribute))
            case "BINPERSID":
                self.stack.append(self._storage(self._pop(1)[0]))
            case "REDUCE" | "NEWOBJ":
                self.stack.append(self._call(*self._pop(2)))
            case "NEWOBJ_EX":
                self.stack.append(_foreign(self._pop(3)[0]))
            case "BUILD":
                self._build(self._pop(1)[0])
            case _:
                raise ValueError(f"the instruction {name}")

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
        if isinstance(table, Foreign):
            return
        if not isinstance(table, dict) or len(items) % 2:
            raise ValueError("no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Keys of other types could be nested so deep that hashing them ends the process.
            if type(key) in PLAIN_KEYS:
                if (type(key) is str and len(key) > MAX_NAME) or (
                    type(key) is int and key.bit_length() > MAX_BITS
                ):
                    raise ValueError("a name that is too long")
                table[key] = value

    def _extend(self, items: list[Any]) -> None:
        listed = self.stack[-1]
        if isinstance(listed, Foreign):
            return
        if not isinstance(listed, list):
            raise ValueError("no list")
        listed.extend(items)

    def _build(self, state: Any) -> None:
        """Attributes of an object: of a dictionary the versions of its modules, of a type of numpy its byte order."""
        if not self.stack:
            raise ValueError("an empty stack")
        match self.stack[-1], state:
            case _Dtype() as own, (int(), str(order), *_):
                own.order = order
            case _:
                pass

    def _storage(self, persistent: Any) -> NDArray[Any]:
        match persistent:
            case ("storage", Global() as kind, str(key), str(), int(size)) if kind in TYPES:
                numbers = self._stored(kind, key)
                if len(numbers) < size:
                    raise ValueError("a tensor that is cut short")
                return numbers[:size]
            case ("storage", Global() as kind, *_):
                raise ValueError(f"numbers of the type {kind[:60]}")
            case _:
                raise ValueError("no storage")

    def _stored(self, kind: str, key: str) -> NDArray[Any]:
        if (kind, key) not in self._numbers:
            numbers = self.storage(TYPES[kind], key)
            self._numbers[kind, key] = _widened(numbers) if kind == BFLOAT16 else numbers
        return self._numbers[kind, key]

    def _call(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, Global):
            return _foreign(function)
        match arguments:
            case () if function in DICTS:
                return {}
            case (np.ndarray() as numbers, int(offset), tuple(shape), tuple(strides), *_) if (
                function in TENSORS
            ):
                return _tensor(numbers, offset, shape, strides)
            case (np.ndarray() as tensor, *_) if function in PARAMETERS:
                return tensor
            case (str(text), str(coding)) if function == ENCODE and coding == "latin1":
                # Longer ones are cut, since only scalars are made of them.
                return text[: MAX_SCALAR_BYTES + 1].encode("latin1")
            case (str(code), *_) if function == DTYPE:
                return _Dtype(code)
            case (_Dtype() as kind, bytes(content)) if function in SCALARS:
                return _scalar(kind, content)
            case _ if function in (*DICTS, *TENSORS, *PARAMETERS):
                raise ValueError("a tensor or a dictionary that is none")
            case _:
                return _foreign(function)


def _name(*parts: Any) -> Global:
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("no name")
    if sum(map(len, parts)) > MAX_NAME:
        raise ValueError("a name that is too long")
    return Global(" ".join(parts))


def _foreign(function: Any) -> Foreign:
    if isinstance(function, Foreign):
        return Foreign(function.name)
    return Foreign(function if isinstance(function, Global) else "something unnamed")


def _widened(numbers: NDArray[Any]) -> NDArray[Any]:
    """The upper half of a number in single precision."""
    return (numbers.astype("<u4") << 16).view("<f4")


def _scalar(kind: _Dtype, content: bytes) -> float | int | bool | Foreign:
    """A number of numpy as a plain one; of other kinds nothing is made."""
    if not re.fullmatch(r"[fiub]\d{0,2}", kind.code) or len(content) > MAX_SCALAR_BYTES:
        return Foreign(SCALARS[0])
    order = kind.order if kind.order in ("<", ">") else "="
    read = np.frombuffer(content, dtype=np.dtype(f"{order}{kind.code}"))
    if len(read) != 1:
        raise ValueError("a number that is cut short")
    value: float | int | bool = read[0].item()
    return value


def _tensor(numbers: NDArray[Any], offset: int, shape: Any, strides: Any) -> NDArray[Any]:
    sizes = [*shape, *strides, offset]
    if not all(type(n) is int and 0 <= n < 2**40 for n in sizes) or len(shape) != len(strides):
        raise ValueError("a tensor of impossible shape")
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if not math.prod(shape):  # its other dimensions may be such that no array has them
        return np.empty((0,) * len(shape), numbers.dtype)
    if math.prod(shape) > len(numbers) or last >= len(numbers):
        raise ValueError("a tensor beyond its numbers")
    bytes_apart = [s * numbers.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(numbers[offset:], shape, bytes_apart, writeable=False)


__all__ = ["Foreign", "Machine"]
