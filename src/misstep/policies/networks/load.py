"""`load_network`: a network from a file, whatever its format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.networks.lightgbm import decode_dump, decode_text, is_lightgbm
from misstep.policies.networks.mlp import MlpWeights, mlp_network
from misstep.policies.networks.network import Network
from misstep.policies.networks.nnet import decode_nnet
from misstep.policies.networks.onnx import OnnxNetwork
from misstep.policies.networks.state_dicts import decode_safetensors, decode_torch
from misstep.policies.networks.trees import FORMAT, decode_ensemble, tree_network
from misstep.policies.networks.xgboost import decode_xgboost, is_xgboost

MAX_BYTES = 1024 * 2**20
KIND = "a network or an ensemble of trees"
Reader = Callable[[bytes, str, str], Network]  # content, where, digest


def _mlp(decode: Callable[[bytes, str], MlpWeights]) -> Reader:
    return lambda content, where, digest: mlp_network(decode(content, where), digest=digest)


def _json(content: bytes, where: str, digest: str) -> Network:
    try:
        document = parse_json(content, constants=True)
    except (ValueError, RecursionError) as error:
        raise InputFormatError(
            f"this is no JSON, or it is cut off: {str(error)[:80]}", where=where, expected=KIND
        ) from None
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            return tree_network(decode_ensemble(document, where), where, digest)
        if is_xgboost(document):
            return tree_network(decode_xgboost(document, where), where, digest)
        if is_lightgbm(document):
            return tree_network(decode_dump(document, where), where, digest)
    raise InputFormatError(
        "this JSON is no ensemble of trees",
        where=where,
        expected=f"the format {FORMAT}, a model saved by XGBoost or a dump of LightGBM",
    )


def _text(content: bytes, where: str, digest: str) -> Network:
    return tree_network(decode_text(content, where), where, digest)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        ".nnet": _mlp(decode_nnet),
        ".safetensors": _mlp(decode_safetensors),
        ".pt": _mlp(decode_torch),
        ".pth": _mlp(decode_torch),
        ".ckpt": _mlp(decode_torch),
        ".onnx": OnnxNetwork,
        ".json": _json,
        ".txt": _text,
    }
)


def load_network(path: Path | str) -> Network:
    """The network of a file; its ending says what to expect."""
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    content = read_bytes(path, MAX_BYTES, KIND)
    if reader is None:
        raise UnsupportedError(
            f"a file ending in {path.suffix!r}",
            where=str(path),
            expected=f"one of {', '.join(READERS)}",
        )
    return reader(content, str(path), hashlib.sha256(content).hexdigest())


__all__ = ["READERS", "load_network"]
