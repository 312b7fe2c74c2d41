"""Open files written by PyTorch, which are archives with a pickle inside.

They come from strangers, so nothing in them is ever executed: PyTorch's restricted unpickler knows
tensors and plain containers and refuses the rest.
"""

from __future__ import annotations

import io
import re
from typing import Any

from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.archives import archive_of
from misstep.policies.torch_extra import torch

MAX_PARTS = 1_000_000


def load_weights(content: bytes, where: str, kind: str, max_bytes: int) -> Any:
    """The content of the archive, by the restricted unpickler; `kind` says what was hoped for."""
    with archive_of(content, where, "checkpoint", kind, max_bytes):
        pass  # it may unpack to far more than its own size, so that is looked at first
    try:
        stored = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # Damaged pickles raise nearly anything.
        refused = re.search(r"GLOBAL ([\w.]+)", str(error))
        if refused:
            raise UnsupportedError(
                f"the checkpoint contains code or objects of other programs ({refused[1]})",
                where=where,
                expected="weights and plain values only",
                hint="nothing of it was executed; save the network again without them",
            ) from error
        raise InputFormatError(
            f"the checkpoint cannot be read ({type(error).__name__})",
            where=where,
            expected=kind,
            hint="fetch the file again",
        ) from error
    size = _size(stored, where)
    if size > max_bytes:
        raise UnsupportedError(
            f"the tensors of the checkpoint have {size / 2**20:.0f} MiB",
            where=where,
            expected=f"at most {max_bytes / 2**20:.0f} MiB",
            hint="a tensor may repeat a few stored numbers; save the network again without that",
        )
    return stored


def _size(stored: Any, where: str) -> int:
    """Bytes of all tensors, each in its full size.

    A tensor of strides 0 stands for any number of elements and stores one; it grows when it is converted.
    """
    size = count = 0
    todo = [stored]
    while todo:
        value = todo.pop()
        count += 1
        if count > MAX_PARTS:
            raise UnsupportedError(
                f"the checkpoint has more than {MAX_PARTS:,} parts",
                where=where,
                expected="a network",
            )
        if isinstance(value, torch.Tensor):
            size += value.numel() * value.element_size()
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += value
    return size


__all__ = ["load_weights"]
