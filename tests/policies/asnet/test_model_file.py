"""Files are read as they were written, other programs can read them, and wrong ones are refused in one line."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.asnet import load
from misstep.policies.asnet.model_file import encode, read_model, write_model
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.weights import Weights, random_weights
from misstep.tasks.task import Task

MakeTask = Callable[..., Task]


@pytest.fixture(scope="module")
def task(make_task: MakeTask) -> Task:
    return make_task("blocksworld", blocks=3)


@pytest.fixture
def weights(task: Task) -> Weights:
    return random_weights(shape_of(task.lifted), seed=7)


def test_round_trip(task: Task, weights: Weights, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    digest = write_model(weights, path)
    again, same = read_model(path)
    assert same == digest
    assert (again.shape, again.hidden, again.layers) == (weights.shape, 16, 2)
    assert again.training == {"origin": "random", "seed": 7}
    for name, tensor in weights.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)
    policy = load(str(path), task)
    assert policy.digest == digest
    assert policy.name == f"asnet:{path}"
    assert policy.decide(np.array([task.initial_state.values], np.int32)).operators[0] >= 0
    assert [p.name for p in tmp_path.iterdir()] == ["net.safetensors"]


def test_random_weights_are_a_function_of_the_seed(task: Task) -> None:
    shape = shape_of(task.lifted)
    assert encode(random_weights(shape, seed=1)) == encode(random_weights(shape, seed=1))
    assert encode(random_weights(shape, seed=1)) != encode(random_weights(shape, seed=2))
    tensors = random_weights(shape, seed=1).tensors
    assert all((t == 0).all() for name, t in tensors.items() if name.endswith(".bias"))
    with pytest.raises(UsageError, match="hidden size is 0"):
        random_weights(shape, hidden=0)


def test_safetensors_package_agrees(weights: Weights, tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "net.safetensors"
    write_model(weights, path)
    theirs = package.load_file(path)
    assert theirs.keys() == weights.tensors.keys()
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(tensor, weights.tensors[name])
    # And what the package writes, in its own order, is read here.
    length = int.from_bytes(path.read_bytes()[:8], "little")
    metadata = json.loads(path.read_bytes()[8 : 8 + length])["__metadata__"]
    other = tmp_path / "theirs.safetensors"
    package.save_file(weights.tensors, other, metadata=metadata)
    again, _ = read_model(other)
    for name, tensor in weights.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)


def edited(content: bytes, edit: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """The file with its header and its description changed."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    about = json.loads(header["__metadata__"]["misstep"])
    edit(header, about)
    if "__metadata__" in header:
        header["__metadata__"]["misstep"] = json.dumps(about)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


FIRST = "action.0.pick-up.weight"
EDITS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "dtype": (lambda h, _: h[FIRST].update(dtype="F16"), "has the type 'F16', not 'F32'"),
    "shape": (lambda h, _: h[FIRST].update(shape=[9, 16]), r"has the shape \[9, 16\]"),
    "offsets": (lambda h, _: h[FIRST].update(data_offsets=[0, 8]), r"has the offsets \[0, 8\]"),
    "beyond": (
        lambda h, _: h[FIRST].update(data_offsets=[10**9, 10**9 + 576]),
        "ends beyond it",
    ),
    "missing": (lambda h, _: h.pop(FIRST), f"the tensor {FIRST} is missing"),
    "extra": (lambda h, _: h.update(more=h[FIRST]), "a tensor more that"),
    "foreign": (lambda h, _: h.pop("__metadata__"), "not one of Misstep"),
    "format": (lambda _, a: a.update(format="gnn"), "the format is 'gnn'"),
    "version": (lambda _, a: a.update(version=2), "version 2 of the format"),
    "hidden": (lambda _, a: a.update(hidden=0), "hidden is 0"),
    "huge": (lambda _, a: a.update(layers=10**9), "layers is 1000000000"),
    "domain": (lambda _, a: a.update(domain=[1]), "description of the domain is malformed"),
    "terms": (
        lambda _, a: a["domain"]["schemas"][0]["slots"].append(["nothing", 0]),
        "mentions an unknown nothing",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_edited_files(name: str, weights: Weights, task: Task, tmp_path: Path) -> None:
    edit, message = EDITS[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(edited(encode(weights), edit))
    with pytest.raises((InputFormatError, UnsupportedError), match=message) as caught:
        load(str(path), task)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("the file was executed",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "too short"),
        (b"\x80\x02}q", "pickled PyTorch checkpoint"),
        (pickle.dumps(Bomb()), "pickled PyTorch checkpoint"),
        (b"PK\x03\x04" + b"\0" * 100, "pickled PyTorch checkpoint"),
        (b"[asnets]\nhidden_dimension = 16\n", "not a safetensors file"),
        (b"\xff" * 64, "not a safetensors file"),
        ((100).to_bytes(8, "little") + b"{", "cut off within its header"),
        ((9).to_bytes(8, "little") + b"{nothing}", "not JSON"),
        ((20).to_bytes(8, "little") + b"{" + b"[" * 19, "not JSON"),
    ],
)
def test_other_files(content: bytes, message: str, task: Task, tmp_path: Path) -> None:
    path = tmp_path / "bad.pt"
    path.write_bytes(content)
    with pytest.raises((InputFormatError, UnsupportedError), match=message):
        load(str(path), task)


def test_truncated_anywhere(weights: Weights, task: Task, tmp_path: Path) -> None:
    content = encode(weights)
    path = tmp_path / "cut.safetensors"
    for length in [*range(0, 200, 7), *range(200, len(content), 997), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(MisstepError):
            load(str(path), task)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(number: float, weights: Weights, task: Task, tmp_path: Path) -> None:
    weights.tensors[FIRST][3, 4] = number
    path = tmp_path / "nan.safetensors"
    write_model(weights, path)
    with pytest.raises(InputFormatError, match=f"{FIRST} holds infinite or undefined numbers"):
        load(str(path), task)


def test_wrong_domain(weights: Weights, make_task: MakeTask, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    write_model(weights, path)
    with pytest.raises(UnsupportedError, match="domain blocksworld of this ASNet: there is no"):
        load(str(path), make_task("gripper", balls=2))


def test_no_file(task: Task, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asnet:FILE"):
        load("", task)
    with pytest.raises(InputFileError, match="no such file"):
        load(str(tmp_path / "none.safetensors"), task)
    with pytest.raises(InputFileError, match="cannot write"):
        write_model(random_weights(shape_of(task.lifted)), tmp_path / "no" / "folder")
