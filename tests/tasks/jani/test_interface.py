"""Interfaces between models and networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, InputFormatError
from misstep.policies.networks import load_network
from misstep.policies.networks.nnet import write_nnet
from misstep.tasks.jani.interface import InterfaceInput, load_interface, write_interface
from misstep.tasks.models import generate_model
from support.networks import random_mlp

DOCUMENT: dict[str, Any] = {
    "file": "sub/net.nnet",
    "torch-file": "net.pt",
    "filter": False,
    "input": [
        {"name": "x", "automaton": None},
        {"name": "y", "automaton": {"name": "m", "index": 1}},
        {"name": "v", "index": 3, "automaton": None},
        {"name": "w", "index": 0, "automaton": {"name": "m", "index": 0}},
        {"name": "m", "index": 2},
    ],
    "elements": [16, 16],
    "output": ["left", "right"],
}


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_all_kinds_of_inputs(tmp_path: Path) -> None:
    interface = load_interface(write(tmp_path / "i.jani2nnet", DOCUMENT))
    assert interface.policy_file == tmp_path / "sub" / "net.nnet"
    assert interface.torch_file == tmp_path / "net.pt"
    assert interface.outputs == ("left", "right")
    assert interface.hidden == (16, 16)
    assert not interface.filter
    assert interface.inputs == (
        InterfaceInput("x"),
        InterfaceInput("y", automaton="m"),
        InterfaceInput("v", index=3),
        InterfaceInput("w", "m", 0),
        InterfaceInput("m", index=2, location=True),
    )


def test_only_applicable_labels_are_chosen_unless_said_otherwise(tmp_path: Path) -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != "filter"}
    assert load_interface(write(tmp_path / "i.jani2nnet", document)).filter


def test_what_is_written_comes_back_and_fits_the_network(tmp_path: Path) -> None:
    model = generate_model("one-way-line", cells=4)
    sizes = [len(model.inputs), 8, len(model.labels)]
    write_nnet(random_mlp(sizes), tmp_path / "net.nnet")
    path = tmp_path / "net.jani2nnet"
    write_interface(
        path, network=tmp_path / "net.nnet", inputs=model.inputs, labels=model.labels, hidden=[8]
    )
    interface = load_interface(path)
    assert json.loads(path.read_text())["file"] == "net.nnet"
    assert [given.name for given in interface.inputs] == list(model.inputs)
    assert "crash" not in model.inputs
    assert interface.policy_file is not None
    network = load_network(interface.policy_file)
    interface.check_sizes(network.inputs, network.outputs, str(path))


def test_a_network_of_other_sizes_is_refused(tmp_path: Path) -> None:
    interface = load_interface(write(tmp_path / "i.jani2nnet", DOCUMENT))
    for sizes, told in (([4, 2], "4 inputs and its interface 5"), ([5, 3], "3 outputs")):
        write_nnet(random_mlp(sizes), tmp_path / "net.nnet")
        network = load_network(tmp_path / "net.nnet")
        with pytest.raises(InputFormatError, match=told):
            interface.check_sizes(network.inputs, network.outputs, "i")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"filter": 1}, "filter: found 1; expected true or false"),
        ({"input": []}, "input: no inputs"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"name": "x", "index": -1}]}, "input[0].index: the index is -1"),
        ({"input": [{"name": "x", "automaton": "m"}]}, "input[0].automaton"),
        ({"output": None}, "output"),
        ({"output": ["a", 3]}, "output[1]: found 3; expected a label"),
        ({"output": ["a", "a"]}, "one of them twice"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_wrong_interfaces(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputFormatError) as caught:
        load_interface(write(tmp_path / "i.jani2nnet", {**DOCUMENT, **change}))
    assert told in str(caught.value)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no such file"):
        load_interface(tmp_path / "missing")
    for text, told in (("{", "JSON"), ("[]", "expected an interface file")):
        (tmp_path / "i").write_text(text)
        with pytest.raises(InputFormatError, match=told):
            load_interface(tmp_path / "i")
