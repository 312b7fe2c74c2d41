"""Readers that need large packages: networks in ONNX, and checkpoints of relational networks."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np

from attack.fuzzing.mutators import Files
from attack.fuzzing.networks import HAS_TORCH, task, use_network, use_policy
from attack.fuzzing.reader import CODES, Reader
from misstep.policies.networks.onnx_files import scan as scan_model
from support.networks import random_mlp
from support.onnx_files import encode_onnx

HAS_ONNX = importlib.util.find_spec("onnxruntime") is not None


def onnx_seeds() -> list[Files]:
    return [{"x.onnx": encode_onnx(random_mlp(sizes))} for sizes in ([2, 3, 2], [3, 4, 4, 2])]


def scan(files: Files, _: Path) -> None:
    scan_model(files["x.onnx"])


def gnn_seeds() -> list[Files]:
    """As PyTorch writes it, and with half the predicates of the task missing."""
    import torch

    from misstep.policies.gnn.checkpoint import Relation, weight_shapes

    random = np.random.default_rng(1)
    listed = [(predicate.name, predicate.arity) for predicate in task().lifted.predicates]
    found: list[Files] = []
    for predicates in (listed, listed[: len(listed) // 2]):
        both = [*predicates, *((f"{name}_goal", arity) for name, arity in predicates)]
        relations = tuple(Relation(*entry) for entry in both)
        state = {
            name: torch.tensor(random.normal(size=shape), dtype=torch.float32)
            for name, shape in weight_shapes(relations, 4, True).items()
        }
        parameters = {"predicates": both, "hidden_size": 4, "iterations": 2}
        buffer = io.BytesIO()
        torch.save({"state_dict": state, "hyper_parameters": parameters}, buffer)
        found.append({"x.ckpt": buffer.getvalue()})
    return found


READERS = (
    Reader("onnx-files", onnx_seeds, scan, allowed=(ValueError,), cases=3000),
    # A process is started for each case.
    *((Reader("onnx", onnx_seeds, use_network, codes=CODES | {11}, cases=40),) if HAS_ONNX else ()),
    *((Reader("gnn", gnn_seeds, use_policy("gnn:", "x.ckpt"), cases=500),) if HAS_TORCH else ()),
)
