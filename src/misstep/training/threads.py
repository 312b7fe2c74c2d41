"""How many threads PyTorch computes on while a network is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from misstep.policies.torch_extra import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices are too small to be shared out, and sums would depend on who gets which part."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


__all__ = ["one_thread"]
