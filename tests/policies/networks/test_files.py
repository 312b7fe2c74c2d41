"""Files of networks are read as they were written, and wrong ones are refused in one line."""

from __future__ import annotations

import argparse
import json
import pickle
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks import load_network
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration
from misstep.policies.networks.mlp import MlpWeights
from misstep.policies.networks.nnet import decode_nnet, encode_nnet, write_nnet
from misstep.policies.networks.trees import encode_ensemble
from support.networks import (
    naive_mlp,
    naive_trees,
    random_ensemble,
    random_mlp,
    safetensors_bytes,
    tensors_of,
)

RELU = Declaration(Activation("relu"))
ROWS = np.random.default_rng(1).normal(size=(50, 4))

SMALL = """\
// A comment
// another
2,2,1,2,
2,2,1,
0,
-1.0,-1.0,
1.0,1.0,
0.5,0.0,2.0,
2.0,1.0,3.0,
1.0,-1.0,
0.5,0.25,
0.0,
1.0,
1.0,1.0,
-1.0,
"""


def equal(one: MlpWeights, two: MlpWeights) -> bool:
    pairs = zip(one.layers, two.layers, strict=True)
    return all(
        np.array_equal(a.matrix, b.matrix) and np.array_equal(a.bias, b.bias) for a, b in pairs
    )


def test_nnet_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "small.nnet"
    path.write_text(SMALL)
    network = load_network(path)
    assert (network.kind, network.inputs, network.outputs) == ("mlp", 2, 1)
    assert len(network.digest) == 64
    # Inputs (2.5 - 0.5) / 2 = 1 and 3: hidden 1 - 3 -> 0 and 0.5 + 0.75 + 1; output (2.25 - 1) * 3 + 2.
    assert network.evaluate(np.array([[2.5, 3.0]])).tolist() == [[5.75]]


@pytest.mark.parametrize("normalised", [False, True])
def test_nnet_round_trip(tmp_path: Path, normalised: bool) -> None:
    weights = random_mlp([4, 5, 3], normalised=normalised)
    assert equal(decode_nnet(encode_nnet(weights).encode(), "x"), weights)
    path = tmp_path / "net.nnet"
    write_nnet(weights, path)
    np.testing.assert_array_equal(load_network(path).evaluate(ROWS), naive_mlp(weights, ROWS))


def test_nnet_does_not_clip_inputs(tmp_path: Path) -> None:
    path = tmp_path / "small.nnet"
    path.write_text(SMALL)
    low, high = load_network(path).evaluate(np.array([[1.0, 1.0], [1.0, 100.0]]))[:, 0]
    assert low != high


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[:-8], "cut off within the bias of layer 2: 0 of 1"),
        (lambda text: text[:30], "cut off"),
        (lambda text: text[:0], "cut off within the header: 0 of 4"),
        (lambda text: text + "1.0,\n", "numbers too many"),
        (lambda text: text.replace("0.25", "nan"), "small.nnet:11: an infinite or undefined"),
        (lambda text: text.replace("0.25", "1e999"), "an infinite or undefined"),
        (lambda text: text.replace("0.25", "x"), "small.nnet:11: a word that is not a number"),
        (lambda text: text.replace("2,2,1,\n0", "2,2,2,\n0"), "the sizes [2, 2, 2]"),
        (lambda text: text.replace("2,2,1,2", "2.5,2,1,2"), "whole numbers"),
        (lambda text: text.replace("2,2,1,2", "0,2,1,2"), "0 layers"),
        (lambda text: text.replace("2.0,1.0,3.0", "0.0,1.0,3.0"), "not positive"),
        (lambda text: text.replace("2,2,1,\n0", "2,0,1,\n0"), "sizes"),
        (lambda text: text.replace("2,2,1,\n0", "2,99999999,1,\n0"), "99999999 wide"),
        # The sizes are judged before anything behind them is read.
        (lambda text: text.replace("2,2,1,\n0", "2,99999999,1,\nx"), "99999999 wide"),
        (lambda text: text.replace("2,2,1,2", "257,2,1,2") + "x", "257 layers"),
        (
            lambda text: text.replace("0.25", "1" * 1001),
            "small.nnet:11: a word that is not a number",
        ),
    ],
)
def test_wrong_nnet_files(tmp_path: Path, change: Any, told: str) -> None:
    path = tmp_path / "small.nnet"
    path.write_text(change(SMALL))
    with pytest.raises(InputFormatError) as caught:
        load_network(path)
    assert told in str(caught.value)


# State dicts


def test_safetensors_in_any_order(tmp_path: Path) -> None:
    weights = random_mlp([4, 3, 3, 5])
    tensors = tensors_of(weights, ["net.2", "net.4", "net.10"])
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes(dict(sorted(tensors.items()))))  # net.10 comes first
    found = load_network(path).evaluate(ROWS)
    np.testing.assert_allclose(found, naive_mlp(weights, ROWS), rtol=1e-5, atol=1e-5)


def test_safetensors_written_by_others(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    weights = random_mlp([4, 6, 2])
    path = tmp_path / "net.safetensors"
    numpy_files.save_file(tensors_of(weights, ["0", "2"]), path)
    assert load_network(path, RELU).evaluate(ROWS).shape == (50, 2)


def test_layers_without_bias_have_none(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes({"weight": np.ones((2, 3))}))
    assert load_network(path).evaluate(np.ones((1, 3))).tolist() == [[3.0, 3.0]]


@pytest.mark.parametrize(
    ("tensors", "told"),
    [
        ({}, "no layer"),
        ({"0.weight": np.ones((2, 3)), "0.bias": np.ones(3)}, "0.bias has the shape [3]"),
        ({"0.weight": np.ones((2, 3)), "2.weight": np.ones((2, 3))}, "2 takes 3 numbers"),
        ({"0.weight": np.ones((2, 3, 3))}, "0 is not a linear layer"),
        ({"0.bias": np.ones(3)}, "0 is not a linear layer"),
        ({"0.weight": np.ones((2, 3)), "1.running_mean": np.ones(2)}, "1 has running_mean"),
        ({"0.weight": np.array([[np.nan]])}, "0.weight holds infinite or undefined"),
        ({"0.weight": np.ones((2, 3), np.int64)}, "has the type 'I64'"),
        ({"0.weight": np.ones((0, 3))}, "a layer is empty"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_tensors(tmp_path: Path, tensors: dict[str, Any], told: str) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes(tensors))
    with pytest.raises(InputFormatError) as caught:
        load_network(path)
    assert told in str(caught.value)


def test_cut_off_safetensors_are_refused_wherever_they_end(tmp_path: Path) -> None:
    whole = safetensors_bytes(tensors_of(random_mlp([2, 2]), ["0"]))
    path = tmp_path / "net.safetensors"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(MisstepError):
            load_network(path)


def test_torch_state_dicts(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)
    )  # fmt: skip
    path = tmp_path / "net.pt"
    torch.save(model.state_dict(), path)
    network = load_network(path, RELU)
    rows = np.random.default_rng(2).normal(size=(10_000, 4))
    with torch.inference_mode():
        expected = model.double()(torch.from_numpy(rows)).numpy()
    found = network.evaluate(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    torch.save({"state_dict": model.float().state_dict(), "epoch": 3}, path)
    np.testing.assert_array_equal(load_network(path, RELU).evaluate(rows[:5]), found[:5])
    torch.save({"model_state_dict": model.state_dict(), "lr": np.float64(1e-3)}, path)
    np.testing.assert_array_equal(load_network(path, RELU).evaluate(rows[:5]), found[:5])
    torch.save({"activation": "relu", "state_dict": model.state_dict(), "of": Path("x")}, path)
    np.testing.assert_array_equal(load_network(path).evaluate(rows[:5]), found[:5])
    halves = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items()}
    torch.save(halves, path)
    rounded = {name: tensor.double() for name, tensor in halves.items()}
    model.double().load_state_dict(rounded)
    with torch.inference_mode():
        expected = model(torch.from_numpy(rows[:5])).numpy()
    np.testing.assert_allclose(load_network(path, RELU).evaluate(rows[:5]), expected, rtol=1e-12)


def test_a_checkpoint_with_objects_beside_the_weights(tmp_path: Path) -> None:
    """As scripts write it; PyTorch's own restricted reader refuses it."""
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)]
    wrapped = torch.nn.ModuleDict({"module": torch.nn.ModuleList([torch.nn.Sequential(*layers)])})
    stored = {
        "args": argparse.Namespace(lr=1e-3, seed=np.int64(3)),
        "state_dict": wrapped.state_dict(),
        "returns": [np.float32(1.5), (1, 2)],
        "history": np.arange(3.0),
        "counts": defaultdict(list, {"a": [1]}),
        "seen": {1, 2},
        "device": torch.device("cpu"),
        "type": torch.float32,
        "shape": torch.Size([2, 3]),
        ("a", "key"): 1,
    }
    path = tmp_path / "actor.pth"
    torch.save(stored, path)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(path, weights_only=True)
    network = load_network(path, Declaration(Activation("tanh")))
    with torch.inference_mode():
        expected = torch.nn.Sequential(*layers).double()(torch.from_numpy(ROWS)).numpy()
    np.testing.assert_allclose(network.evaluate(ROWS), expected, rtol=1e-12, atol=1e-12)


def test_wrong_torch_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt"
    for stored, told in (
        ([1, 2], "not a state dict"),
        ({}, "not a state dict"),
        ({"0.weight": 3}, "0.weight is not a tensor"),
        ({"0.weight": torch.tensor([[float("nan")]])}, "0.weight holds infinite"),
    ):
        torch.save(stored, path)
        with pytest.raises(InputFormatError) as caught:
            load_network(path)
        assert told in str(caught.value)
    torch.save(torch.nn.Linear(2, 2), path)  # a whole object, not its weights
    with pytest.raises(UnsupportedError, match=r"linear\.Linear\).*nothing of it was executed"):
        load_network(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such files exist, though newer versions discourage them
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)
    with pytest.raises(UnsupportedError, match="TorchScript"):
        load_network(path)
    torch.save({"0.weight": torch.ones(2, 2)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(UnsupportedError, match=r"a bare pickle.*before 1\.6"):
        load_network(path)
    torch.save({"0.weight": torch.ones(2, 2)}, path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputFormatError, match="cut short"):
        load_network(path)


# Trees


@pytest.mark.parametrize("rule", range(4))
def test_trees_round_trip(tmp_path: Path, rule: int) -> None:
    ensemble = random_ensemble(rule, rule=rule)
    path = tmp_path / "trees.json"
    path.write_text(encode_ensemble(ensemble))
    network = load_network(path)
    assert network.kind == "trees"
    np.testing.assert_array_equal(network.evaluate(ROWS), naive_trees(ensemble, ROWS))


DOCUMENT = json.loads(encode_ensemble(random_ensemble(0)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "version 2"),
        ({"inputs": 0}, "inputs is 0"),
        ({"outputs": True}, "outputs is True"),
        ({"comparison": "gt"}, "comparison is 'gt', not lt or le"),
        ({"precision": 3}, "precision is 3"),
        ({"trees": 3}, "no list of trees"),
        ({"trees": [3]}, "tree 0 has no nodes"),
        ({"trees": [{"nodes": [[0, 1]], "leaves": []}]}, "tree 0 has the node [0, 1]"),
        ({"trees": [{"nodes": [[0, 1, -1.5, -1]], "leaves": []}]}, "tree 0 has the node"),
        ({"trees": [{"output": 9, "nodes": [], "leaves": [1]}]}, "the output 9"),
        ({"trees": [{"nodes": [], "leaves": [1]}]}, "tree 0 has the leaf 1"),
        (
            {"trees": [{"output": 0, "nodes": [], "leaves": [float("nan")]}]},
            "infinite or undefined",
        ),
        (
            {"trees": [{"output": 0, "nodes": [[0, float("inf"), -1, -1]], "leaves": [1]}]},
            "threshold",
        ),
        ({"trees": [{"output": 0, "nodes": [[0, 1, 0, 0]], "leaves": [1]}]}, "a node of a tree"),
        ({"base": [1]}, "base is not a list of 3 numbers"),
        ({"format": "other"}, "not an ensemble of trees"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_trees(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "trees.json"
    path.write_text(json.dumps({**DOCUMENT, **change}))
    with pytest.raises(MisstepError) as caught:
        load_network(path)
    assert told in str(caught.value)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no such file"):
        load_network(tmp_path / "missing.nnet")
    (tmp_path / "net.h5").write_text("x")
    with pytest.raises(UnsupportedError, match=r"ending in '\.h5'; expected one of \.nnet"):
        load_network(tmp_path / "net.h5")
    (tmp_path / "cut.json").write_text('{"format": "misstep-tr')
    with pytest.raises(InputFormatError, match="cut off"):
        load_network(tmp_path / "cut.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(InputFormatError, match="not an ensemble"):
        load_network(tmp_path / "list.json")
