"""Archives as Stable-Baselines3 writes them, made without it and without PyTorch."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float32]]


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def _number(number: int) -> bytes:
    return b"J" + number.to_bytes(4, "little")


def state_dict(tensors: Arrays) -> bytes:
    """What `torch.save` writes of a state dict."""
    program = b"\x80\x02ccollections\nOrderedDict\n)R("
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, (name, tensor) in enumerate(tensors.items()):
            shape = b"(" + b"".join(map(_number, tensor.shape)) + b"t"
            strides = [stride // 4 for stride in np.ascontiguousarray(tensor).strides]
            program += _text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(("
            program += _text("storage") + b"ctorch\nFloatStorage\n" + _text(str(number))
            program += _text("cpu") + _number(tensor.size) + b"tQ" + _number(0) + shape
            program += b"(" + b"".join(map(_number, strides)) + b"t\x89"
            program += b"ccollections\nOrderedDict\n)RtR"
            archive.writestr(f"archive/data/{number}", np.ascontiguousarray(tensor).tobytes())
        archive.writestr("archive/data.pkl", program + b"u.")
        archive.writestr("archive/byteorder", "little")
    return buffer.getvalue()


PLAIN = {"policy_class": {"__module__": "stable_baselines3.common.policies"}}


def archive(weights: bytes, data: Any = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data", json.dumps(data if data is not None else PLAIN))
        file.writestr("policy.pth", weights)
    return buffer.getvalue()


def actor(sizes: list[int], seed: int = 0, *, dqn: bool = False) -> dict[str, NDArray[np.float32]]:
    """Random layers, as a state dict of PPO or DQN names them."""
    random = np.random.default_rng(seed)
    tensors: dict[str, NDArray[np.float32]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = number == len(sizes) - 2
        name = f"mlp_extractor.policy_net.{2 * number}" if not last else "action_net"
        if dqn:
            name = f"q_net.q_net.{2 * number}"
        tensors[f"{name}.weight"] = random.normal(size=(outputs, inputs)).astype(np.float32)
        tensors[f"{name}.bias"] = random.normal(size=outputs).astype(np.float32)
        if dqn:
            for kind in ("weight", "bias"):
                tensors[f"q_net_target.{name[6:]}.{kind}"] = tensors[f"{name}.{kind}"]
    return tensors


class Hostile:
    """Its pickle runs a command when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, ("touch /tmp/misstep-was-here",)


def hostile() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Hostile(), protocol=2))
    return buffer.getvalue()


__all__ = ["PLAIN", "actor", "archive", "hostile", "state_dict"]
