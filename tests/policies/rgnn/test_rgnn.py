"""Relational networks as safetensors and JSON: the same decisions as the checkpoint they were converted from."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFileError, MisstepError, UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.safetensors import encode_tensors
from misstep.tasks.load import load_task
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from misstep.policies.gnn.checkpoint import Relation, weight_shapes  # noqa: E402
from misstep.policies.rgnn.convert import convert, main  # noqa: E402
from misstep.policies.rgnn.model_file import names, read_model  # noqa: E402

DOMAIN = """(define (domain rooms) (:predicates (at ?p) (door ?p ?q) (seen ?p) (calm))
  (:action go :parameters (?p ?q) :precondition (and (at ?p) (door ?p ?q))
    :effect (and (not (at ?p)) (at ?q) (seen ?q))))
"""
PROBLEM = """(define (problem p) (:domain rooms) (:objects a b c)
  (:init (at a) (door a b) (door b a) (door b c) (door c b) (door a c)) (:goal (and (seen b) (seen c))))
"""
PREDICATES = [("at", 1), ("door", 2), ("seen", 1), ("calm", 0)]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    return load_planning_task(tmp_path)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A small network with random weights, as published ones are saved."""
    listed = [*PREDICATES, *((f"{name}_goal", arity) for name, arity in PREDICATES)]
    relations = tuple(Relation(*entry) for entry in listed)
    generator = torch.Generator().manual_seed(5)
    state = {
        name: torch.randn(*shape, generator=generator) / shape[-1] ** 0.5
        for name, shape in weight_shapes(relations, 8, True).items()
    }
    path = tmp_path / "model.ckpt"
    parameters = {"predicates": listed, "hidden_size": 8, "iterations": 3}
    torch.save({"hyper_parameters": parameters, "state_dict": state}, path)
    return path


@pytest.fixture
def converted(checkpoint: Path, tmp_path: Path) -> Path:
    convert(checkpoint, tmp_path / "rooms")
    return tmp_path / "rooms"


def test_decisions_and_values_are_those_of_the_checkpoint(
    task: Task, checkpoint: Path, converted: Path
) -> None:
    states = np.array([task.initial_state.values], np.int32)
    for _ in range(6):
        after = task.apply_batch(states[-1:], task.applicable_batch(states[-1:])[1][-1:])
        states = np.concatenate([states, after])
    old = load_policy(f"gnn:{checkpoint}", task)
    new = load_policy(f"rgnn:{converted}", task)
    assert new.values(states).tolist() == old.values(states).tolist()
    assert new.decide(states).operators.tolist() == old.decide(states).operators.tolist()
    for ending in (".json", ".safetensors"):
        assert load_policy(f"rgnn:{converted}{ending}", task).digest == new.digest
    assert load_policy(f"rgnn:--seed=1 {converted}", task).digest != new.digest


def test_published_networks(shared: Path, tmp_path: Path) -> None:
    folder = shared / "policies" / "kr22-gnn"
    if not folder.is_dir():
        pytest.skip("the published networks are not there")
    for domain, problem in (("blocks", "probBLOCKS-9-0"), ("visitall", "problem05-full")):
        convert(folder / domain / "model.ckpt", tmp_path / domain)
        tasks = folder / domain / "tasks"
        own = load_task(tasks / "domain.pddl", tasks / f"{problem}.pddl")
        old = load_policy(f"gnn:{folder / domain / 'model.ckpt'}", own)
        new = load_policy(f"rgnn:{tmp_path / domain}", own)
        state = np.array([own.initial_state.values], np.int32)
        for _ in range(5):
            operators = old.decide(state).operators
            assert new.decide(state).operators.tolist() == operators.tolist()
            state = own.apply_batch(state, operators)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "other"}, "the format is not 'misstep-rgnn'"),
        ({"version": 2}, "version is 2"),
        ({"aggregation": "sum"}, "aggregation is 'sum'"),
        ({"width": 7}, "an odd number"),
        ({"width": 10**6}, "width is 1000000"),
        ({"width": 10}, "has the shape"),
        ({"rounds": -1}, "rounds is -1"),
        ({"solvable": 1}, "solvable is not true or false"),
        ({"solvable": False}, "8 tensors that the network has no use for"),
        ({"predicates": []}, "no list of predicates"),
        ({"predicates": [["at"]]}, "is not a predicate and its arity"),
        ({"predicates": [["at", 1], ["AT", 1]]}, "listed twice"),
        ({"predicates": [["on", 2]]}, "the tensor state.on.in.weight is missing"),
    ],
)
def test_wrong_shapes(converted: Path, change: dict[str, Any], told: str) -> None:
    file = converted.with_suffix(".json")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(MisstepError, match=told) as caught:
        read_model(converted)
    assert "\n" not in str(caught.value)


def test_damaged_files(converted: Path) -> None:
    weights, shape = converted.with_suffix(".safetensors"), converted.with_suffix(".json")
    content = weights.read_bytes()
    for size in range(0, len(content), len(content) // 20):
        weights.write_bytes(content[:size])
        with pytest.raises(MisstepError):
            read_model(converted)
    weights.write_bytes(encode_tensors({"x": np.full((2, 2), np.nan)}, {}))
    with pytest.raises(MisstepError, match="is missing"):
        read_model(converted)
    weights.unlink()
    with pytest.raises(InputFileError, match=r"rooms.safetensors: no such file"):
        read_model(converted)
    shape.write_text("[" * 100_000)
    weights.write_bytes(content)
    with pytest.raises(MisstepError, match="not JSON"):
        read_model(converted)


def test_weights_that_share_their_numbers(tmp_path: Path) -> None:
    """Megabytes for each of thousands of predicates, and once in the file."""
    shape = {"format": "misstep-rgnn", "version": 1, "width": 128, "rounds": 1, "solvable": False}
    predicates = [[f"p{i}", 2] for i in range(20)]
    document = {**shape, "aggregation": "smooth-max", "predicates": predicates}
    (tmp_path / "x.json").write_text(json.dumps(document))
    relations = tuple(
        Relation(f"p{i}{goal}", 2) for goal in ("", "_goal") for i in range(len(predicates))
    )
    own = dict(names(relations, False))
    header = {}
    for name, size in weight_shapes(relations, 128, False).items():
        layer, _, kind = name.rpartition(".")
        offsets = [0, 4 * math.prod(size)]
        header[f"{own[layer]}.{kind}"] = {"dtype": "F32", "shape": size, "data_offsets": offsets}
    text = json.dumps(header).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(4 * 256 * 256)
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(MisstepError, match="overlap each other"):
        read_model(tmp_path / "x.json")


def test_another_domain(converted: Path) -> None:
    import misstep

    other = misstep.load_task(misstep.generate("ferry", cars=1))
    with pytest.raises(UnsupportedError, match="does not fit the domain ferry"):
        load_policy(f"rgnn:{converted}", other)
    with pytest.raises(UsageError, match="rgnn policy without a file"):
        load_policy("rgnn:", other)


def test_the_command(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(checkpoint), str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "out.safetensors"),
        str(tmp_path / "out.json"),
    ]
    assert main(["one"]) == 2
    assert main([str(tmp_path / "none"), "out"]) != 0
    assert "no such file" in capsys.readouterr().err
