"""Networks in ONNX format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MissingDependencyError, UnsupportedError
from misstep.policies.networks import load_network
from support.networks import naive_mlp, random_mlp

ROWS = np.random.default_rng(0).normal(size=(20, 4))


def write(path: Path, *, batch: Any = "n", precision: str = "FLOAT", inputs: int = 1) -> Any:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, getattr(onnx.TensorProto, precision)
    weights = random_mlp([4, 8, 3])
    nodes, constants, name = [], [], "x"
    for i, layer in enumerate(weights.layers):
        dtype = {"FLOAT": np.float32, "DOUBLE": np.float64}[precision]
        constants += [
            onnx.numpy_helper.from_array(layer.matrix.astype(dtype), f"w{i}"),
            onnx.numpy_helper.from_array(layer.bias.astype(dtype), f"b{i}"),
        ]
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"b{i}"], [f"y{i}"], transB=1))
        name = f"y{i}"
        if i + 1 < len(weights.layers):
            nodes.append(helper.make_node("Relu", [name], [f"z{i}"]))
            name = f"z{i}"
    given = [helper.make_tensor_value_info("x", kind, [batch, 4])]
    if inputs == 2:
        given.append(helper.make_tensor_value_info("unused", kind, [batch, 1]))
    result = [helper.make_tensor_value_info(name, kind, [batch, 3])]
    graph = helper.make_graph(nodes, "net", given, result, constants)
    opset = helper.make_opsetid("", 17)
    path.write_bytes(
        helper.make_model(graph, ir_version=9, opset_imports=[opset]).SerializeToString()
    )
    return weights


@pytest.mark.parametrize("batch", ["n", 1])
@pytest.mark.parametrize(("precision", "tolerance"), [("FLOAT", 1e-4), ("DOUBLE", 1e-12)])
def test_against_naive(batch: Any, precision: str, tolerance: float, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    weights = write(path, batch=batch, precision=precision)
    network = load_network(path)
    assert (network.kind, network.inputs, network.outputs, network.core) == ("onnx", 4, 3, None)
    expected = naive_mlp(weights, ROWS)
    np.testing.assert_allclose(network.evaluate(ROWS), expected, rtol=tolerance, atol=tolerance)
    assert (network.choose(ROWS) == expected.argmax(axis=1)).all()
    assert network.evaluate(ROWS[:0]).shape == (0, 3)


def test_networks_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    write(path, batch=7)
    with pytest.raises(UnsupportedError, match="exactly 7 rows"):
        load_network(path)
    write(path, inputs=2)
    with pytest.raises(UnsupportedError, match="2 inputs and 1 outputs"):
        load_network(path)


def test_damaged_files_get_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    write(path)
    for content in (b"", b"no network", path.read_bytes()[:100]):
        path.write_bytes(content)
        with pytest.raises(InputFormatError) as caught:
            load_network(path)
        assert "\n" not in str(caught.value)


def test_without_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(MissingDependencyError, match=r"misstep\[onnx\]"):
        load_network(tmp_path / "net.onnx")
