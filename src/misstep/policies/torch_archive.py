"""Checkpoints in files written by PyTorch, read without PyTorch and without unpickling.

Such a file is an archive: `data.pkl`, and the numbers of each tensor in `data/N`, as they lie in memory. The pickle is
read by `torch_pickle`, which executes nothing.
"""

from __future__ import annotations

import zipfile
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.archives import archive_of
from misstep.policies.torch_pickle import Foreign, Machine

MAX_PARTS = 1_000_000
MAX_TENSORS = 4_096  # of all networks in a file
MAX_TIMES, MAX_REST = 8, 2**20  # all tensors together may have as many times the bytes of the file
MAX_NAME = 250  # letters of the name of a tensor
MAX_DEPTH = 8  # of dictionaries in dictionaries
Tensors = dict[str, NDArray[np.float64]]


def read_checkpoint(content: bytes, where: str, kind: str, max_bytes: int) -> Any:
    """The saved data: containers, plain values, arrays for tensors, and `Foreign` for everything else."""
    if content[:1] == b"\x80" and content[:2] != b"PK":
        raise UnsupportedError(
            "this is a bare pickle, not an archive",
            where=where,
            expected=kind,
            hint="PyTorch before 1.6 wrote such files; load it there and save the state dict again",
        )
    try:
        with archive_of(content, where, "state dict", kind, max_bytes) as archive:
            return _unpack(archive, where, kind)
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputFormatError(
            f"the weights cannot be read ({str(error)[:60] or type(error).__name__})",
            where=where,
            expected=kind,
            hint="fetch the file again, or save the state dict of the network again",
        ) from error


def read_state_dict(content: bytes, where: str, kind: str, max_bytes: int) -> Tensors:
    """The tensors of a state dict by name, in double precision; `kind` says what was hoped for."""
    stored = read_checkpoint(content, where, kind, max_bytes)
    return tensors_of(stored, where, kind, len(content))


def tensors_of(stored: Any, where: str, kind: str, file_bytes: int) -> Tensors:
    """The tensors of a dictionary, and of dictionaries in it, by their names joined with dots.

    Numbers and texts are passed over: parameters of a network are always tensors.
    """
    found: dict[str, NDArray[Any]] = {}
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), stored)]
    count = 0
    while waiting:
        keys, value = waiting.pop()
        name = ".".join(map(str, keys))
        if isinstance(value, np.ndarray):
            check_name(name, where, kind)
            if name in found:  # one of them would be left out
                raise InputFormatError(
                    f"two tensors are called {name[:60]!r}", where=where, expected=kind
                )
            found[name] = value
            if len(found) > MAX_TENSORS:
                raise UnsupportedError(
                    f"more than {MAX_TENSORS:,} tensors", where=where, expected=kind
                )
        elif isinstance(value, Foreign):
            foreign(value, where)
        elif isinstance(value, dict) and len(keys) < MAX_DEPTH:
            count += len(value)  # a dictionary may hold itself, many times
            if count > MAX_PARTS:
                raise UnsupportedError("more than a million parts", where=where, expected=kind)
            waiting += [((*keys, key), v) for key, v in reversed(value.items())]
        elif not name or name.endswith((".weight", ".bias")):
            what = f"{name[:60]} is not a tensor" if name else "this is not a state dict"
            raise InputFormatError(what, where=where, expected=kind)
    if not found:
        raise InputFormatError("this is not a state dict", where=where, expected=kind)
    _check_numbers(found, where, kind, file_bytes)
    return {name: np.array(tensor, dtype=np.float64) for name, tensor in found.items()}


def check_name(name: str, where: str, kind: str) -> None:
    """Refuse a name that it would take long to compare with all others."""
    if len(name) > MAX_NAME:
        raise InputFormatError(
            f"a tensor has a name of {len(name):,} letters",
            where=where,
            expected=f"{kind}, with names of at most {MAX_NAME} letters",
        )


def foreign(value: Foreign, where: str) -> NoReturn:
    raise UnsupportedError(
        "the file contains code or objects of other programs "
        f"({value.name.replace(' ', '.')[:80]}) in the place of weights",
        where=where,
        expected="weights and plain values only",
        hint="nothing of it was executed; save the network again without them, as in "
        "torch.save(network.state_dict(), FILE)",
    )


def _check_numbers(found: dict[str, NDArray[Any]], where: str, kind: str, file_bytes: int) -> None:
    # PyTorch does not compress, and few tensors show the same numbers as others.
    if sum(tensor.nbytes for tensor in found.values()) > MAX_TIMES * file_bytes + MAX_REST:
        raise UnsupportedError(
            "the tensors are larger than the file that holds them", where=where, expected=kind
        )
    for name, tensor in found.items():
        if not np.isfinite(tensor).all():
            raise InputFormatError(
                f"{name[:60]} holds infinite or undefined numbers",
                where=where,
                expected="finite numbers",
                hint="the training diverged; take an earlier checkpoint",
            )


def _unpack(archive: zipfile.ZipFile, where: str, kind: str) -> Any:
    names = archive.namelist()
    pickles = [name for name in names if name.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1:
        raise ValueError("no data.pkl")
    folder = pickles[0][: -len("data.pkl")]
    if any(name.startswith(f"{folder}code/") for name in names):
        raise UnsupportedError(
            "this is a TorchScript program, which has code of its own",
            where=where,
            expected=kind,
            hint="save its weights: torch.save(network.state_dict(), FILE), or export to ONNX",
        )
    if f"{folder}byteorder" in names and archive.read(f"{folder}byteorder") != b"little":
        raise ValueError("numbers of another byte order")

    contents: dict[str, bytes] = {}  # several tensors may share their numbers

    def storage(dtype: str, key: str) -> NDArray[Any]:
        if key not in contents:
            contents[key] = archive.read(f"{folder}data/{key}")
        return np.frombuffer(contents[key], dtype=dtype)

    return Machine(storage).run(archive.read(pickles[0]))


__all__ = [
    "MAX_TENSORS",
    "Tensors",
    "check_name",
    "foreign",
    "read_checkpoint",
    "read_state_dict",
    "tensors_of",
]
