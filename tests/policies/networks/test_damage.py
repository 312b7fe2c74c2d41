"""A damaged file gives an error of one line or a network that works, and nothing else."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import MisstepError
from misstep.policies.networks import load_network
from misstep.policies.networks.nnet import encode_nnet
from misstep.policies.networks.trees import encode_ensemble
from misstep.tasks.jani.interface import load_interface
from support.networks import (
    LIGHTGBM,
    LIGHTGBM_FILE,
    XGBOOST,
    random_ensemble,
    random_mlp,
    safetensors_bytes,
    tensors_of,
)

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**40,
    10**30,
    0.5,
    float("nan"),
    1e308,
    "",
    "x",
    [],
    {},
    [[]],
]

INTERFACE = {
    "file": "n.nnet",
    "input": [{"name": "x", "index": 0, "automaton": {"name": "m", "index": 0}}],
    "output": ["a", "b"],
}


def try_to_use(path: Path) -> None:
    with contextlib.suppress(MisstepError):
        network = load_network(path)
        outputs = network.evaluate(np.zeros((3, network.inputs)))
        assert outputs.shape == (3, network.outputs)


def places(part: Any) -> list[tuple[Any, Any]]:
    """Every container with every key in it."""
    items = part.items() if isinstance(part, dict) else enumerate(part)
    found = [(part, key) for key, _ in items]
    for _, value in list(part.items() if isinstance(part, dict) else enumerate(part)):
        if isinstance(value, (dict, list)):
            found += places(value)
    return found


DOCUMENTS = {
    "own": json.loads(encode_ensemble(random_ensemble(0, trees=2, depth=2))),
    "xgboost": XGBOOST,
    "lightgbm": LIGHTGBM,
    "interface": INTERFACE,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_value_replaced_or_removed(name: str, tmp_path: Path) -> None:
    text = json.dumps(DOCUMENTS[name])
    path = tmp_path / "m.json"
    for number in range(len(places(json.loads(text)))):
        for value in (*VALUES, ...):
            document = json.loads(text)
            container, key = places(document)[number]
            if value is ...:
                del container[key]
            else:
                container[key] = value
            path.write_text(json.dumps(document))
            if name == "interface":
                with contextlib.suppress(MisstepError):
                    load_interface(path)
            else:
                try_to_use(path)


@pytest.mark.parametrize("ending", [".nnet", ".txt", ".safetensors", ".json"])
def test_bytes_changed_at_random(ending: str, tmp_path: Path) -> None:
    whole = {
        ".nnet": encode_nnet(random_mlp([2, 2, 1])).encode(),
        ".txt": LIGHTGBM_FILE.encode(),
        ".safetensors": safetensors_bytes(tensors_of(random_mlp([2, 2]), ["0"])),
        ".json": json.dumps(XGBOOST).encode(),
    }[ending]
    dice = random.Random(0)
    path = tmp_path / f"m{ending}"
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(damaged))
            kind = dice.randrange(3)
            if kind == 0:
                damaged[at] = dice.choice(b'0123456789,.-e{}[]":\n =\xff\x00')
            elif kind == 1:
                del damaged[at : at + dice.randrange(1, 9)]
            else:
                damaged[at:at] = damaged[at : at + dice.randrange(1, 9)]
        path.write_bytes(bytes(damaged))
        try_to_use(path)
