"""PyTorch, which is an extra. Modules that need it import it from here, and only when a network is loaded.

from misstep.policies.torch_extra import torch
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from misstep.errors import MissingDependencyError

try:
    import torch
except ImportError as error:
    raise MissingDependencyError(
        "this needs PyTorch, which is not installed", hint="pip install 'misstep[neural]'"
    ) from error


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


__all__ = ["exact_arithmetic", "torch"]
