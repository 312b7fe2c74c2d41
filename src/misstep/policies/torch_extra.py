"""PyTorch, which is an extra. Modules that need it import it from here, and only when a network is loaded.

from misstep.policies.torch_extra import torch
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.errors import MissingDependencyError, UsageError
from misstep.raised import in_words

try:
    import torch
except (
    ImportError,
    OSError,
) as error:  # it loads some of its libraries itself, where that fails with OSError
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        raise MissingDependencyError(
            "this needs PyTorch, which is not installed", hint="pip install 'misstep[neural]'"
        ) from error
    raise MissingDependencyError(
        f"PyTorch is installed, but cannot be loaded: {in_words(error)}",
        hint="is there too little memory (ulimit -v), or is something missing that it needs?",
    ) from error


def device_kind(device: str) -> str:
    """`cpu` or `cuda`; an error if there is no such device here."""
    match = re.fullmatch(r"cpu|cuda(?::([0-9]{1,3}))?", device)
    if match is None:
        raise UsageError(f"no device {device!r:.40}", expected="cpu, cuda or cuda:N")
    if device == "cpu":
        return device
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(match[1] or 0) >= count:
        found = f"only {count}" if count else "no CUDA device"
        raise MissingDependencyError(
            f"PyTorch finds {found}", where=f"device {device}", hint="use --device=cpu"
        )
    return "cuda"


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Use one thread, no gradients and full single precision, whatever the settings of the process are.

    More threads split sums differently and are slower on matrices of this size; reduced precision
    on a GPU (TF32) changes decisions.
    """
    threads = torch.get_num_threads()
    precision = torch.get_float32_matmul_precision()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)


__all__ = ["device_kind", "exact_arithmetic", "torch"]
