"""Fully connected networks as state dicts: safetensors, or files written by PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from misstep.errors import InputFormatError
from misstep.policies.networks.mlp import MAX_LAYERS, Array, MlpWeights, from_tensors
from misstep.policies.safetensors import METADATA, check_sizes, read_tensor, split_file

SAFETENSORS = "the linear layers of a network (.safetensors)"
TORCH = "the state dict of a network of linear layers, written by PyTorch"
MAX_BYTES = 512 * 2**20


def decode_safetensors(content: bytes, where: str) -> MlpWeights:
    header, data = split_file(content, where, SAFETENSORS)
    check_sizes(header, data, 2 * MAX_LAYERS, where, SAFETENSORS)
    types = ("F32", "F64", "F16")
    tensors: dict[str, Array] = {
        name: read_tensor(header, name, data, where, SAFETENSORS, types=types)
        for name in header
        if name != METADATA
    }
    return from_tensors(tensors, where, SAFETENSORS)


def decode_torch(content: bytes, where: str) -> MlpWeights:
    from misstep.policies.torch_files import load_weights

    stored = load_weights(content, where, TORCH, MAX_BYTES)
    if isinstance(stored, Mapping) and isinstance(stored.get("state_dict"), Mapping):
        stored = stored["state_dict"]
    if not isinstance(stored, Mapping) or not stored:
        raise InputFormatError("this is no state dict", where=where, expected=TORCH)
    if len(stored) > 2 * MAX_LAYERS:
        raise InputFormatError(
            f"a state dict of {len(stored):,} parts", where=where, expected=TORCH
        )
    return from_tensors({str(n): _array(n, t, where) for n, t in stored.items()}, where, TORCH)


def _array(name: Any, tensor: Any, where: str) -> Array:
    from misstep.policies.torch_extra import torch

    if (
        not isinstance(tensor, torch.Tensor)
        or tensor.layout != torch.strided
        or not tensor.is_floating_point()
    ):
        raise InputFormatError(
            f"{str(name)[:60]} is not a dense array of floating-point numbers",
            where=where,
            expected=TORCH,
        )
    array: Array = tensor.detach().to(torch.float64).cpu().numpy()
    if not np.isfinite(array).all():
        raise InputFormatError(
            f"{str(name)[:60]} holds infinite or undefined numbers",
            where=where,
            expected="finite numbers",
            hint="the training diverged; take an earlier checkpoint",
        )
    return array


__all__ = ["decode_safetensors", "decode_torch"]
