"""The name and the digest of a policy that is a Python object in memory.

Equal digests should mean equal decisions. So the digest covers the source code of the function or class, the user's
other code that it uses, and the values that it uses if they are plain data, arrays, or tasks. Of installed packages,
only the names that are used count. If a value cannot be inspected (a torch network, a random number generator), the
digest covers the name only and begins with `unknown:`, so that it does not look like a proof that the policy is
unchanged.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import numpy as np

from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import State, Task

UNKNOWN = "unknown:"
IN_MEMORY = "python object"
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset)
# Values of these classes contain nothing that could influence decisions.
_INSTALLED = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")]
_HARMLESS = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}


class _OpaqueError(Exception):
    """A value that cannot be inspected."""


def object_name(value: object) -> str:
    """Such as `agents.greedy` or `agents.Greedy`, of a function, a class or an instance."""
    named: Any = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def in_memory_name(value: object) -> str:
    """The name that is used in place of a spec."""
    return f"{IN_MEMORY} {object_name(value)}"


def object_digest(value: object) -> str:
    try:
        return _Description().of(value)
    except (_OpaqueError, RecursionError):
        return UNKNOWN + _hash("name", object_name(value))


class _Description:
    """Computes the hash of each object once."""

    def __init__(self) -> None:
        self._known: dict[
            int, tuple[object, str]
        ] = {}  # by id; the object is kept, so that the id stays its own

    def of(self, value: Any) -> str:
        if id(value) not in self._known:
            self._known[id(value)] = value, "circle"
            self._known[id(value)] = value, self._describe(value)
        return self._known[id(value)][1]

    def _describe(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return _hash(kind.__name__, repr(value))
        if kind in _CONTAINERS:
            return self._container(value)
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            content = np.ascontiguousarray(value).tobytes()
            return _hash("array", f"{value.dtype} {value.shape} {content.hex()}")
        if isinstance(value, (Task, JaniTask)):
            return _hash("task", value.digest)
        if isinstance(value, State):
            return _hash("state", str(value.values))
        if isinstance(value, types.ModuleType):
            return _hash("module", value.__name__)
        if inspect.ismethod(value):
            return _hash("method", self.of(value.__func__), self.of(value.__self__))
        if inspect.isroutine(value) or inspect.isclass(value):
            if not _is_users(value):
                return _hash("name", object_name(value))
            if inspect.isclass(value):
                return self._class(value)
            return self._function(value)
        return self._instance(value)

    def _container(self, value: Any) -> str:
        items = value.items() if isinstance(value, dict) else value
        parts = [self.of(item) for item in items]
        if isinstance(value, (set, frozenset)):
            parts.sort()
        return _hash(type(value).__name__, *parts)

    def _function(self, function: Any) -> str:
        if not inspect.isfunction(function):
            raise _OpaqueError
        code = function.__code__
        parts = [_source(function)]
        if function.__name__ == "<lambda>":  # its line may hold several
            constants = [c for c in code.co_consts if isinstance(c, _PLAIN)]
            parts += [code.co_code.hex(), *code.co_names, *map(self.of, constants)]
        parts += [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        used = inspect.getclosurevars(function)
        for name, value in (*used.nonlocals.items(), *sorted(used.globals.items())):
            parts += [name, self.of(value)]
        return _hash("function", *parts)

    def _class(self, cls: type) -> str:
        parts = [_source(cls), *map(self.of, cls.__bases__)]
        for member in vars(cls).values():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(function):
                parts.append(self.of(function))
        return _hash("class", *parts)

    def _instance(self, value: object) -> str:
        for cls in type(value).__mro__:
            name = object_name(cls)
            ours = _is_users(cls) or name.startswith("misstep.policies.")
            if name not in _HARMLESS and (not ours or vars(cls).get("__slots__")):
                raise _OpaqueError
        parts = [self.of(type(value))]
        # A plain object(), which stands for something, holds nothing.
        for name, held in sorted(getattr(value, "__dict__", {}).items()):
            parts += [name, self.of(held)]
        return _hash("instance", *parts)


def _is_users(value: Any) -> bool:
    """Whether a function or class is the user's own code, and not that of Python or of an installed package."""
    name = getattr(value, "__module__", None)
    if name is None or name == "__main__":
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if name.partition(".")[0] == "misstep" or file is None:
        return False
    return not any(Path(file).resolve().is_relative_to(folder) for folder in _INSTALLED)


def _hash(kind: str, *parts: str) -> str:
    return hashlib.sha256("\0".join((kind, *parts)).encode("utf-8", "surrogatepass")).hexdigest()


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        raise _OpaqueError from None


__all__ = ["UNKNOWN", "in_memory_name", "object_digest"]
