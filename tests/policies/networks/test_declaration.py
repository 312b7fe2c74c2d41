"""What a file of weights leaves open is declared or refused, and golden rows select one interpretation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks import load_network
from misstep.policies.networks.activation import Activation, parse_activation
from misstep.policies.networks.declaration import (
    Declaration,
    Golden,
    LayerNorms,
    load_golden,
    parse_norms,
)
from misstep.policies.networks.mlp import MlpWeights, Norm
from misstep.policies.networks.nnet import write_nnet
from support.agents import state_dict
from support.networks import naive_mlp, random_mlp, safetensors_bytes, tensors_of

SIZES = [4, 8, 8, 3]
ROWS = np.random.default_rng(1).normal(size=(40, 4))
TANH = Declaration(activation=Activation("tanh"))


def single(weights: MlpWeights) -> MlpWeights:
    """As it comes back from a file in single precision."""
    layers = tuple(
        replace(
            own,
            matrix=own.matrix.astype("f4").astype(float),
            bias=own.bias.astype("f4").astype(float),
        )
        for own in weights.layers
    )
    return replace(weights, layers=layers)


def save(folder: Path, names: list[str] | None = None, activation: str | None = None) -> Path:
    path = folder / "net.safetensors"
    tensors = tensors_of(random_mlp(SIZES), names or ["0", "2", "4"])
    path.write_bytes(safetensors_bytes(tensors, activation))
    return path


def golden(weights: MlpWeights, rows: Any = ROWS, noise: float = 0.0) -> Golden:
    return Golden(rows, naive_mlp(weights, rows) + noise, "rows.json")


def test_an_activation_that_nobody_declares_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        load_network(save(tmp_path))
    told = str(caught.value)
    for part in (
        "net.safetensors: the file does not say which activation",
        "expected a declaration: one of relu, tanh, sigmoid, elu:1",
        "network:--activation=tanh net.safetensors",
        "--check=ROWS.json",
        '"activation": "tanh" in its interface',
    ):
        assert part in told
    path = tmp_path / "net.pt"
    path.write_bytes(state_dict(tensors_of(random_mlp(SIZES), ["0", "2", "4"])))
    with pytest.raises(UnsupportedError, match="does not say which activation"):
        load_network(path)


def test_one_layer_needs_no_activation(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes({"0.weight": np.ones((2, 3))}, None))
    assert load_network(path).evaluate(np.ones((1, 3))).tolist() == [[3.0, 3.0]]


@pytest.mark.parametrize("name", ["tanh", "gelu", "leaky-relu:0.3"])
def test_declared_by_the_user_or_by_the_file(tmp_path: Path, name: str) -> None:
    own = parse_activation(name)
    expected = naive_mlp(single(replace(random_mlp(SIZES), activation=own)), ROWS)
    by_user = load_network(save(tmp_path), Declaration(activation=own))
    np.testing.assert_array_equal(by_user.evaluate(ROWS), expected)
    by_file = load_network(save(tmp_path, activation=name))
    np.testing.assert_array_equal(by_file.evaluate(ROWS), expected)
    both = load_network(save(tmp_path, activation=name), Declaration(activation=own))
    assert both.digest == by_file.digest
    relu = load_network(save(tmp_path), Declaration(activation=Activation("relu")))
    assert relu.digest != by_user.digest  # another function, another policy


def test_contradictions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFormatError, match="declared as tanh, and the file says relu"):
        load_network(save(tmp_path, activation="relu"), TANH)
    with pytest.raises(
        InputFormatError, match=r"names the activation 'mish'; expected one of relu"
    ):
        load_network(save(tmp_path, activation="mish"))
    write_nnet(random_mlp(SIZES), tmp_path / "net.nnet")
    with pytest.raises(InputFormatError, match="declared as tanh, and the file says relu"):
        load_network(tmp_path / "net.nnet", TANH)
    with pytest.raises(UnsupportedError, match=r"a part is declared for a file ending in '\.nnet'"):
        load_network(tmp_path / "net.nnet", Declaration(part="actor."))
    with pytest.raises(InputFormatError, match="normalisation is declared, and the network has"):
        load_network(save(tmp_path), replace(TANH, norms=LayerNorms(late=True)))


def test_rows_single_out_the_activation(tmp_path: Path) -> None:
    for name in ("relu", "tanh", "elu", "gelu", "gelu-tanh", "leaky-relu", "sigmoid"):
        own = replace(random_mlp(SIZES), activation=parse_activation(name))
        found = load_network(save(tmp_path), Declaration(golden=golden(own)))
        np.testing.assert_array_equal(found.evaluate(ROWS), naive_mlp(single(own), ROWS))


def test_rows_are_checked_where_all_is_declared(tmp_path: Path) -> None:
    own = replace(random_mlp(SIZES), activation=Activation("tanh"))
    load_network(save(tmp_path), replace(TANH, golden=golden(own)))
    with pytest.raises(InputFormatError, match=r"does not answer as the rows in rows\.json say"):
        load_network(save(tmp_path), replace(TANH, golden=golden(random_mlp(SIZES))))
    write_nnet(random_mlp(SIZES), tmp_path / "net.nnet")
    load_network(tmp_path / "net.nnet", Declaration(golden=golden(random_mlp(SIZES))))
    with pytest.raises(InputFormatError, match="does not answer as the rows"):
        load_network(tmp_path / "net.nnet", Declaration(golden=golden(own)))


def test_rows_that_fit_nothing_or_too_much(tmp_path: Path) -> None:
    other = golden(random_mlp(SIZES), noise=0.5)
    with pytest.raises(InputFormatError, match=r"whatever the activation: with \S+, the closest"):
        load_network(save(tmp_path), Declaration(golden=other))
    leaky = replace(random_mlp(SIZES), activation=Activation("leaky-relu", 0.3))
    with pytest.raises(InputFormatError, match="a slope is declared as in"):
        load_network(save(tmp_path), Declaration(golden=golden(leaky)))
    # Layers that never give a negative number do not tell relu from the rest of its kind.
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes({"0.weight": np.eye(2), "2.weight": np.eye(2)}, None))
    ones = Golden(np.ones((3, 2)), np.ones((3, 2)), "rows.json")
    with pytest.raises(InputFormatError, match="several readings of the network: relu or elu:1"):
        load_network(path, Declaration(golden=ones))
    wide = Golden(np.ones((3, 5)), np.ones((3, 3)), "rows.json")
    with pytest.raises(InputFormatError, match="rows of 5 inputs for a network of 4"):
        load_network(save(tmp_path), Declaration(golden=wide))


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        '{"inputs": [[1]]}',
        '{"inputs": [[1], [2, 3]], "outputs": [[1], [2]]}',
        '{"inputs": [[1]], "outputs": [[1], [2]]}',
        '{"inputs": [], "outputs": []}',
        '{"inputs": [1], "outputs": [[1]]}',
        '{"inputs": [["x"]], "outputs": [[1]]}',
        '{"inputs": [[1e999]], "outputs": [[1]]}',
    ],
)
def test_rows_that_cannot_be_read(tmp_path: Path, document: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(document)
    with pytest.raises(InputFormatError, match=r"rows\.json: the rows to check the network by"):
        load_golden(path)


def test_rows_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"inputs": [[1, 2]], "outputs": [[3.5]]}))
    found = load_golden(path)
    assert (found.inputs.tolist(), found.outputs.tolist()) == ([[1, 2]], [[3.5]])


def normed(names: list[str]) -> tuple[dict[str, Any], MlpWeights]:
    """The tensors of a network with a normalisation behind each hidden layer; linear layers first in `names`."""
    weights = random_mlp(SIZES)
    random = np.random.default_rng(5)
    norms = tuple(
        Norm(i, random.normal(size=8).astype("f4"), random.normal(size=8).astype("f4"))
        for i in (1, 2)
    )
    tensors = tensors_of(weights, names[:3])
    for name, norm in zip(names[3:], norms, strict=True):
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = norm.scale, norm.shift
    return tensors, replace(weights, norms=norms)


@pytest.mark.parametrize(
    "names", [["0", "3", "6", "1", "4"], ["fc1", "fc2", "fc3", "ln1", "ln2"]], ids=str
)
@pytest.mark.parametrize("late", [False, True])
def test_layer_norms(tmp_path: Path, names: list[str], late: bool) -> None:
    tensors, weights = normed(names)
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes(tensors, "tanh"))
    with pytest.raises(UnsupportedError, match=r"is a row of weights.*network:--layer-norm=before"):
        load_network(path)
    placed = tuple(replace(norm, late=late) for norm in weights.norms)
    own = single(replace(weights, activation=Activation("tanh"), norms=placed))
    expected = naive_mlp(own, ROWS)
    declared = load_network(path, Declaration(norms=LayerNorms(late)))
    np.testing.assert_array_equal(declared.evaluate(ROWS), expected)
    found = load_network(path, Declaration(golden=Golden(ROWS, expected, "rows.json")))
    assert found.digest == declared.digest


def test_layer_norms_that_fit_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    for names, told in (
        (["fc1", "fc2", "fc3", "norm", "ln2"], "cannot be told behind which layer norm stands"),
        (["fc1", "fc2", "fc3", "ln3", "ln2"], "ln3 has 8 weights, and the layer before gives 3"),
    ):
        path.write_bytes(safetensors_bytes(normed(names)[0], "tanh"))
        with pytest.raises(InputFormatError, match=told):
            load_network(path, Declaration(norms=LayerNorms(False)))


def test_names_of_layer_norms() -> None:
    assert parse_norms("before") == LayerNorms(False, 1e-5)
    assert parse_norms("after:1e-3") == LayerNorms(True, 1e-3)
    for wrong in ("", "behind", "after:x", "after:-1", "before:inf"):
        with pytest.raises(ValueError, match="before or after"):
            parse_norms(wrong)


def test_parts(tmp_path: Path) -> None:
    actor = tensors_of(random_mlp(SIZES), ["actor.0", "actor.2", "actor.4"])
    critic = tensors_of(random_mlp([4, 8, 1], 7), ["critic.0", "critic.2"])
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors_bytes({**critic, **actor}, "tanh"))
    with pytest.raises(InputFormatError, match=r"several networks.*network:--part=actor\. FILE"):
        load_network(path)
    found = load_network(path, Declaration(part="actor."))
    own = single(replace(random_mlp(SIZES), activation=Activation("tanh")))
    np.testing.assert_array_equal(found.evaluate(ROWS), naive_mlp(own, ROWS))
    assert load_network(path, Declaration(part="critic.")).outputs == 1
    with pytest.raises(InputFormatError, match=r"no tensor begins with 'q\.'.*critic\., actor\."):
        load_network(path, Declaration(part="q."))


def test_weights_that_are_no_numbers_and_archives_that_unpack_to_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.pt"
    tensors = tensors_of(random_mlp([4, 3]), ["0"])
    tensors["0.bias"][1] = np.nan
    path.write_bytes(state_dict(tensors))
    told = r"net\.pt: 0\.bias holds infinite or undefined numbers; expected finite numbers; the training"
    with pytest.raises(InputFormatError, match=told):
        load_network(path)
    monkeypatch.setattr("misstep.policies.networks.state_dicts.MAX_BYTES", 1000)
    path.write_bytes(state_dict({"0.weight": np.zeros((50, 50), np.float32)}))
    with pytest.raises(UnsupportedError, match=r"the state dict unpacks to .* more than 1,000"):
        load_network(path)


def test_layers_whose_order_cannot_be_told(tmp_path: Path) -> None:
    """By name `three` comes before `two`, and both fit in either place."""
    weights = single(random_mlp([4, 8, 8, 8, 3]))
    path, tanh = tmp_path / "x.pt", Activation("tanh")

    def write(names: list[str], order: list[int]) -> None:
        stored = tensors_of(weights, names)
        kept = [f"{names[i]}.{kind}" for i in order for kind in ("weight", "bias")]
        path.write_bytes(state_dict({n: np.asarray(stored[n], np.float32) for n in kept}))

    write(["layer_one", "layer_two", "layer_three", "output"], [0, 1, 2, 3])
    with pytest.raises(UnsupportedError, match=r"order of the layers .* layer_one, layer_three"):
        load_network(path, Declaration(tanh))
    rows = golden(replace(weights, activation=tanh))
    with pytest.raises(InputFormatError, match="does not answer as the rows"):
        load_network(path, Declaration(tanh, golden=rows))
    # The rows show that the order of the names is right.
    write(["a", "b", "c", "d"], [0, 2, 1, 3])
    load_network(path, Declaration(tanh, golden=rows))
    # In the order of the file these do not fit, so that the names decide.
    write(["a", "b", "c", "d"], [3, 0, 1, 2])
    load_network(path, Declaration(tanh))
    write(["8", "9", "10", "11"], [0, 1, 2, 3])
    load_network(path, Declaration(tanh))


@pytest.mark.parametrize("ending", ["pt", "safetensors"])
def test_the_order_of_layers_is_declared(ending: str, tmp_path: Path) -> None:
    weights = single(random_mlp([4, 8, 8, 8, 3]))
    path, names = tmp_path / f"x.{ending}", ("encoder", "middle", "hidden", "output")
    tensors = {n: np.asarray(t, np.float32) for n, t in tensors_of(weights, list(names)).items()}
    path.write_bytes(state_dict(tensors) if ending == "pt" else safetensors_bytes(tensors, None))
    with pytest.raises(UnsupportedError, match=r"order of the layers .* encoder, hidden, middle, "):
        load_network(path, TANH)
    network = load_network(path, replace(TANH, layers=names))
    expected = naive_mlp(replace(weights, activation=Activation("tanh")), ROWS)
    np.testing.assert_allclose(network.evaluate(ROWS), expected, rtol=1e-9, atol=1e-9)
    other = load_network(path, replace(TANH, layers=("encoder", "hidden", "middle", "output")))
    assert other.digest != network.digest
    for wrong in (names[1:], (*names, "encoder"), ("x", *names[1:])):
        with pytest.raises(InputFormatError, match="each layer once: encoder, hidden"):
            load_network(path, replace(TANH, layers=wrong))
    with pytest.raises(InputFormatError, match="middle takes 8 numbers"):
        load_network(path, replace(TANH, layers=("encoder", "output", "middle", "hidden")))


def test_a_normalisation_in_a_declared_order(tmp_path: Path) -> None:
    weights = single(random_mlp([4, 8, 3]))
    tensors = tensors_of(weights, ["first", "last"])
    scale, shift = np.linspace(1, 2, 8), np.linspace(-1, 1, 8)
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors_bytes({**tensors, "n.weight": scale, "n.bias": shift}, None))
    declared = replace(TANH, norms=LayerNorms(late=False), layers=("first", "n", "last"))
    own = replace(weights, activation=Activation("tanh"), norms=(Norm(1, scale, shift),))
    np.testing.assert_allclose(
        load_network(path, declared).evaluate(ROWS), naive_mlp(own, ROWS), rtol=1e-5, atol=1e-5
    )


def test_numbers_or_widths_tell_the_order(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    for sizes, names in (
        ([4, 8, 8, 8, 3], ["fc1", "fc2", "fc10", "out"]),
        ([4, 4, 4], ["net.0", "net.2"]),
        ([4, 8, 7, 3], ["a", "b", "c"]),
    ):
        path.write_bytes(safetensors_bytes(tensors_of(random_mlp(sizes), names), None))
        load_network(path, TANH)
    path.write_bytes(
        safetensors_bytes(
            tensors_of(random_mlp([4] * 40), [f"{'a' * i}x" for i in range(39)]), None
        )
    )
    with pytest.raises(UnsupportedError, match="order of the layers"):
        load_network(path, TANH)


def test_an_open_order_is_told_with_the_one_by_name_first(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(
        safetensors_bytes(tensors_of(random_mlp([4] * 4), ["fc1", "fc2", "out"]), None)
    )
    with pytest.raises(UnsupportedError, match="as fc1, fc2, out and as fc1, out, fc2;"):
        load_network(path, TANH)


def test_every_refusal_is_one_line(tmp_path: Path) -> None:
    for declared in (
        Declaration(),
        Declaration(part="x"),
        Declaration(golden=golden(random_mlp([4, 3]))),
    ):
        with pytest.raises(MisstepError) as caught:
            load_network(save(tmp_path), declared)
        assert "\n" not in str(caught.value)
