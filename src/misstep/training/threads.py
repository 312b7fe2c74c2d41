"""The number of threads that PyTorch uses while a network is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from misstep.policies.torch_extra import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Uses one thread: the matrices are too small to split, and sums would depend on how they are split."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


__all__ = ["one_thread"]
