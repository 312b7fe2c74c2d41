"""Fully connected networks as state dicts: safetensors, or files written by PyTorch. Neither package is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.networks.activation import Activation, parse_activation
from misstep.policies.networks.declaration import Declaration
from misstep.policies.networks.mlp import (
    MAX_LAYERS,
    Array,
    MlpWeights,
    Parts,
    from_tensors,
    natural,
)
from misstep.policies.networks.parts import chosen, unwrapped
from misstep.policies.networks.readings import resolve
from misstep.policies.safetensors import (
    METADATA,
    check_places,
    check_sizes,
    read_tensor,
    split_file,
)
from misstep.policies.torch_archive import MAX_TENSORS, check_name, read_checkpoint, tensors_of

SAFETENSORS = "the linear layers of a network (.safetensors)"
TORCH = "the state dict of a network of linear layers, written by PyTorch"
MAX_BYTES = 512 * 2**20
MAX_STEPS = 1_000  # in looking for a second order of layers


def decode_safetensors(content: bytes, where: str, declared: Declaration) -> MlpWeights:
    header, data = split_file(content, where, SAFETENSORS)
    check_sizes(header, data, MAX_TENSORS, where, SAFETENSORS)
    check_places(header, data, where, SAFETENSORS)
    for name in header:
        check_name(name, where, SAFETENSORS)
    types = ("F32", "F64", "F16")
    tensors: dict[str, Array] = {
        name: read_tensor(header, name, data, where, SAFETENSORS, types=types)
        for name in header
        if name != METADATA
    }
    metadata = header.get(METADATA)
    named = metadata.get("activation") if isinstance(metadata, dict) else None
    return _network(tensors, where, SAFETENSORS, with_named(declared, named, where))


def decode_torch(content: bytes, where: str, declared: Declaration) -> MlpWeights:
    stored = read_checkpoint(content, where, TORCH, MAX_BYTES)
    named = stored.get("activation") if isinstance(stored, dict) else None
    weights = stored if declared.part is not None else unwrapped(stored)
    tensors = tensors_of(weights, where, TORCH, len(content))
    if declared.golden is None and declared.layers is None:
        _check_stored_order(chosen(tensors, declared.part, where), where)
    return _network(tensors, where, TORCH, with_named(declared, named, where))


def _check_stored_order(tensors: Mapping[str, Array], where: str) -> None:
    """Refuse layers that fit together by their names and in another way as they are stored.

    PyTorch stores them as they were made, which mostly is the order of evaluation, and other writers by name. Of
    `one`, `two` and `three` only golden rows or a declaration can tell.
    """
    sizes = {name.rpartition(".")[0]: own.shape for name, own in tensors.items() if own.ndim == 2}
    if len(sizes) > MAX_LAYERS:
        return  # refused for that
    orders = list(sizes), sorted(sizes, key=natural)
    if orders[0] != orders[1] and all(
        sizes[before][0] == sizes[after][1] for order in orders for before, after in pairwise(order)
    ):
        told = (", ".join(order)[:80] for order in orders)
        _open_order("the file has {}, and by name it is {}".format(*told), where)


def _check_named_order(tensors: Mapping[str, Array], where: str) -> None:
    """Refuse layers that fit together in several ways where their names have no numbers that tell.

    Writers of safetensors sort by name, so that the order in the file says nothing.
    """
    sizes = {name.rpartition(".")[0]: own.shape for name, own in tensors.items() if own.ndim == 2}
    layers = sorted(sizes, key=natural)
    if len(layers) > MAX_LAYERS:
        return  # refused for that
    parts = {name: natural(name) for name in layers}
    later = {name: {own for own in layers if _numbered(parts[own], parts[name])} for name in layers}
    found: list[list[str]] = []
    waiting: list[list[str]] = [[]]
    for _ in range(MAX_STEPS):
        if not waiting or len(found) > 1:
            break
        order = waiting.pop()
        left = [name for name in layers if name not in order]
        if not left:
            found.append(order)
        waiting += [
            [*order, name]
            for name in reversed(left)  # so that the order by name is found first
            if later[name].isdisjoint(left) and (not order or sizes[order[-1]][0] == sizes[name][1])
        ]
    if len(found) > 1 or waiting:
        told = " and as ".join(", ".join(order)[:80] for order in found)
        _open_order(f"they fit together as {told}" if told else "they are many", where)


def _numbered(before: Parts, after: Parts) -> bool:
    """Whether the names differ first in a number, which is lower in the first one."""
    pairs = zip(before, after, strict=False)
    differing = next(((a, b) for a, b in pairs if a != b), None)
    return (
        differing is not None
        and differing[0][0] == differing[1][0] == 0
        and differing[0] < differing[1]
    )


def _open_order(what: str, where: str) -> NoReturn:
    raise UnsupportedError(
        f"the order of the layers cannot be told: {what}",
        where=where,
        expected="layers with numbers in their names, in the same order in the file",
        hint=f"say it: network:--layers=NAME,NAME,... {Path(where).name}, or give inputs and outputs of the network "
        "if the order by name is right: --check=ROWS.json (docs/networks.md)",
    )


def with_named(declared: Declaration, named: object, where: str) -> Declaration:
    """With the activation that the file names; an error if the user declares another one."""
    if not isinstance(named, str):
        return declared
    try:
        own = parse_activation(named)
    except ValueError as error:
        raise InputFormatError(
            f"the file names the activation {named!r:.60}", where=where, expected=str(error)
        ) from None
    return agreed(declared, own, where)


def agreed(declared: Declaration, own: Activation, where: str) -> Declaration:
    if declared.activation not in (None, own):
        raise InputFormatError(
            f"the activation is declared as {declared.activation}, and the file says {own}",
            where=where,
            expected="one of them",
            hint="leave the declaration out",
        )
    return replace(declared, activation=own)


def _network(
    tensors: Mapping[str, Array], where: str, kind: str, declared: Declaration
) -> MlpWeights:
    own = chosen(tensors, declared.part, where)
    if declared.layers is not None:
        if declared.part is None:
            own = dict(tensors)
        has = {name.rpartition(".")[0] for name in own}
        if sorted(declared.layers) != sorted(has):
            raise InputFormatError(
                f"the layers are declared as {', '.join(declared.layers)[:80]}",
                where=where,
                expected="each layer once: " + ", ".join(sorted(has, key=natural))[:200],
            )
    elif declared.golden is None and kind == SAFETENSORS:
        _check_named_order(own, where)
    return resolve(from_tensors(own, where, kind, declared.layers), declared, where)


__all__ = ["agreed", "decode_safetensors", "decode_torch", "with_named"]
