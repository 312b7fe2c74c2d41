"""The meaning of the inputs and outputs of a network, as specs and interfaces declare it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.load import load_policy
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.nnet import write_nnet
from misstep.tasks.jani.interface import write_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from support import jani
from support.label_policies import constant, decisions, save
from support.networks import naive_mlp, random_mlp, safetensors_bytes, tensors_of


def test_constants_and_variables_by_name(task: JaniTask, tmp_path: Path) -> None:
    """The network reads vel and the constants L and p of the model, in another order than the model."""
    assert task.constants == {"L": 3, "p": 0.1}
    weights = random_mlp([3, 6, 2], 4)
    file = save(tmp_path, weights, ["p", "vel", "L"], ["dec", "acc"])
    found = decisions(task, str(file))
    for state, label in found.items():
        numbers = naive_mlp(weights, np.array([[0.1, float(state[1]), 3.0]]))[0]
        applicable = [task.labels[i] for i in task.applicable(state)]
        best = max(applicable, key=lambda name: numbers[["dec", "acc"].index(name)])
        assert label == best
    (tmp_path / "net.jani2nnet").unlink()
    by_option = f"network:--inputs=p,vel,L --outputs=dec,acc {file}"
    assert decisions(task, by_option) == found
    unmasked = load_policy(f"network:--mask=off --inputs=p,vel,L --outputs=dec,acc {file}", task)
    assert unmasked.inapplicable == "error"


def test_constants_are_part_of_the_digest(tmp_path: Path) -> None:
    spec = f"network:--inputs=K --outputs=dec,acc {save(tmp_path, constant(1, 2), ['K'], ['dec', 'acc'])}"
    document = {
        **jani.TINY_LINE,
        "constants": [*jani.TINY_LINE["constants"], {"name": "K", "type": "int"}],
    }
    path = jani.write(document, folder=tmp_path)
    one, same, two = (
        load_policy(spec, load_jani(path, parameters={"K": k})).digest for k in (1, 1, 2)
    )
    assert one == same != two


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", r"the network has no interface.*--inputs=NAME,NAME --outputs=LABEL,LABEL"),
        ("--inputs=vel,speed", r"reads speed, which the model does not have.*constants: L, p"),
        ("--inputs=vel,L --outputs=acc,fly", "the model has no label 'fly'"),
        (
            "--inputs=vel,L --outputs=acc,acc",
            "several outputs of the network stand for the label .acc.",
        ),
        ("--inputs=vel", r"2 inputs and its interface 1; expected a network with 1 inputs: vel"),
        ("--inputs=vel,L --outputs=acc", r"2 outputs and its interface 1"),
        ("--inputs=vel,,L", r"--inputs is vel,,L; expected names separated by commas"),
        ("--mask=maybe", "--mask is maybe; expected on or off"),
        ("--interface=x.jani2nnet --inputs=vel,L", "an interface file beside --inputs"),
        ("--activation=mish", "--activation is mish; expected one of relu, tanh"),
        ("--layer-norm=there", "--layer-norm is there; expected before or after"),
    ],
)
def test_names_that_do_not_fit_are_refused(
    task: JaniTask, tmp_path: Path, options: str, told: str
) -> None:
    write_nnet(random_mlp([2, 4, 2]), tmp_path / "net.nnet")
    with pytest.raises(MisstepError, match=told) as caught:
        load_policy(f"network:{options} {tmp_path / 'net.nnet'}", task)
    assert "\n" not in str(caught.value)


def test_what_an_interface_declares(line: JaniTask, tmp_path: Path) -> None:
    """The same weights with tanh and with relu are two policies; the interface and the option have the same effect."""
    weights = random_mlp([2, 8, 5], 3)
    interface = tmp_path / "net.jani2nnet"
    file = tmp_path / "net.safetensors"
    file.write_bytes(safetensors_bytes(tensors_of(weights, ["0", "2"]), None))
    write_interface(interface, network=file, inputs=["vel", "pos"], labels=list(line.labels))
    with pytest.raises(UnsupportedError, match="does not say which activation"):
        load_policy(str(file), line)
    tanh, relu = (decisions(line, f"network:--activation={own} {file}") for own in ("tanh", "relu"))
    assert tanh != relu
    document = json.loads(interface.read_text())
    interface.write_text(json.dumps({**document, "activation": "tanh"}))
    assert decisions(line, str(file)) == decisions(line, str(interface)) == tanh
    inputs = np.random.default_rng(0).normal(size=(20, 2))
    outputs = naive_mlp(replace(weights, activation=Activation("tanh")), inputs)
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps({"inputs": inputs.tolist(), "outputs": outputs.tolist()}))
    interface.write_text(json.dumps({**document, "check": "rows.json"}))
    assert decisions(line, str(interface)) == tanh
    interface.write_text(json.dumps(document))
    assert decisions(line, f"network:--check={rows} {file}") == tanh
    for key, value, told in (
        ("activation", "mish", "activation is 'mish'; expected one of relu"),
        ("activation", 3, "activation: found 3"),
        ("layer-norm", "no", "layer-norm is 'no'; expected before or after"),
    ):
        interface.write_text(json.dumps({**document, key: value}))
        with pytest.raises(InputFormatError, match=told):
            load_policy(str(file), line)
