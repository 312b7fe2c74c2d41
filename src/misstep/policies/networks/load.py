"""`load_network`: a network from a file, whatever its format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.policies.networks.activation import RELU
from misstep.policies.networks.declaration import NOTHING, Declaration, check_golden
from misstep.policies.networks.lightgbm import decode_dump, decode_text, is_lightgbm
from misstep.policies.networks.mlp import MlpWeights, mlp_network
from misstep.policies.networks.network import Network
from misstep.policies.networks.nnet import decode_nnet
from misstep.policies.networks.onnx import OnnxNetwork
from misstep.policies.networks.state_dicts import agreed, decode_safetensors, decode_torch
from misstep.policies.networks.trees import FORMAT, decode_ensemble, tree_network
from misstep.policies.networks.xgboost import decode_xgboost, is_xgboost

MAX_BYTES = 1024 * 2**20
KIND = "a network or an ensemble of trees"
Reader = Callable[[bytes, str, str], Network]  # content, where, digest
StateDicts = Callable[[bytes, str, Declaration], MlpWeights]


def _nnet(content: bytes, where: str, digest: str) -> Network:
    return mlp_network(decode_nnet(content, where), digest=digest)


def _json(content: bytes, where: str, digest: str) -> Network:
    try:
        document = parse_json(content, constants=True)
    except (ValueError, RecursionError) as error:
        raise InputFormatError(
            f"this is not JSON, or it is cut off: {str(error)[:80]}", where=where, expected=KIND
        ) from None
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            return tree_network(decode_ensemble(document, where), where, digest)
        if is_xgboost(document):
            return tree_network(decode_xgboost(document, where), where, digest)
        if is_lightgbm(document):
            return tree_network(decode_dump(document, where), where, digest)
    raise InputFormatError(
        "this JSON is not an ensemble of trees",
        where=where,
        expected=f"the format {FORMAT}, a model saved by XGBoost or a dump of LightGBM",
    )


def _text(content: bytes, where: str, digest: str) -> Network:
    return tree_network(decode_text(content, where), where, digest)


# Files that say all of their network, and files of weights, which leave some of it to a declaration.
WHOLE: Mapping[str, Reader] = MappingProxyType(
    {".nnet": _nnet, ".onnx": OnnxNetwork, ".json": _json, ".txt": _text}
)
WEIGHTS: Mapping[str, StateDicts] = MappingProxyType(
    {
        ".safetensors": decode_safetensors,
        ".pt": decode_torch,
        ".pth": decode_torch,
        ".ckpt": decode_torch,
    }
)
ENDINGS = (".nnet", *WEIGHTS, ".onnx", ".json", ".txt")


def load_network(path: Path | str, declared: Declaration = NOTHING) -> Network:
    """The network of a file; its ending says what to expect. `declared` is what the file does not say of it."""
    path = Path(path)
    ending = path.suffix.lower()
    content = read_bytes(path, MAX_BYTES, KIND)
    if ending not in ENDINGS:
        raise UnsupportedError(
            f"a file ending in {path.suffix!r}",
            where=str(path),
            expected=f"one of {', '.join(ENDINGS)}",
        )
    digest = hashlib.sha256(content).hexdigest()
    if ending in WEIGHTS:
        weights = WEIGHTS[ending](content, str(path), declared)
        # What was declared decides what it computes, so it belongs to the identity.
        meaning = [str(weights.activation), *(f"{n.late} {n.epsilon}" for n in weights.norms)]
        part = declared.part or ""
        meaning += declared.layers or ()
        digest = hashlib.sha256("\0".join([digest, part, *meaning]).encode()).hexdigest()
        return mlp_network(weights, digest=digest)
    _check_needless(declared, ending, str(path))
    network = WHOLE[ending](content, str(path), digest)
    check_golden(network, declared.golden, str(path))
    return network


def _check_needless(declared: Declaration, ending: str, where: str) -> None:
    """Refuse to pass over a declaration: the user has something else in mind."""
    if ending == ".nnet":
        agreed(declared, RELU, where)
    needless = {
        "an activation": declared.activation is not None and ending != ".nnet",
        "a layer normalisation": declared.norms is not None,
        "a part": declared.part is not None,
        "an order of layers": declared.layers is not None,
    }
    for what, given in needless.items():
        if given:
            raise UnsupportedError(
                f"{what} is declared for a file ending in {ending!r}",
                where=where,
                expected="a file that says all of its network itself, without a declaration",
            )


__all__ = ["ENDINGS", "load_network"]
