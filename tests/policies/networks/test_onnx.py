"""Networks in ONNX format."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import (
    InputFormatError,
    MissingDependencyError,
    PolicyCrashError,
    PolicyTimeoutError,
    UnsupportedError,
)
from misstep.policies.networks import load_network, onnx_host
from misstep.policies.networks import onnx as onnx_module
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration
from misstep.policies.networks.onnx import OnnxNetwork
from misstep.policies.networks.onnx_files import Contents, scan
from support import onnx_files
from support.networks import naive_mlp, random_mlp
from support.onnx_files import encode_onnx

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


def test_the_files_that_the_fuzzer_begins_with(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weights = random_mlp([4, 8, 3])
    content = encode_onnx(weights)
    assert not scan(content).names_other_files
    (tmp_path / "net.onnx").write_bytes(content)
    found = load_network(tmp_path / "net.onnx").evaluate(ROWS)
    np.testing.assert_allclose(found, naive_mlp(weights, ROWS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_rows_of_a_batch_do_not_change_each_other(axis: int, tmp_path: Path) -> None:
    """As where the scale of a dynamic quantization comes from the whole batch; here it is a softmax."""
    pytest.importorskip("onnxruntime")
    weights = random_mlp([4, 8, 3])
    # An attribute needs its name, its number and its type.
    attribute = onnx_files.part_field(
        5,
        onnx_files.part_field(1, b"axis")
        + onnx_files.number_field(3, axis)
        + onnx_files.number_field(20, 2),
    )
    content = encode_onnx(weights, onnx_files.node("Softmax", ["z0"], "z1", attribute))
    (tmp_path / "net.onnx").write_bytes(content)
    network = load_network(tmp_path / "net.onnx")
    alone = np.concatenate([network.evaluate(row[None, :]) for row in ROWS])
    assert network.evaluate(ROWS).tolist() == alone.tolist()
    network.close()


def swapped(content: bytes, name: str) -> bytes:
    """The same file with another operator in the place of Relu, of a name as long."""
    assert len(name) == len("Relu")
    return content.replace(b"Relu", name.encode())


def test_operators_are_honoured_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weights = random_mlp([4, 8, 3])
    path = tmp_path / "net.onnx"
    for name, own in (("Tanh", Activation("tanh")), ("Relu", Activation("relu"))):
        path.write_bytes(swapped(encode_onnx(weights), name))
        found = load_network(path).evaluate(ROWS)
        expected = naive_mlp(replace(weights, activation=own), ROWS)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    path.write_bytes(swapped(encode_onnx(weights), "Mine"))
    with pytest.raises(InputFormatError, match="onnxruntime cannot read this"):
        load_network(path)
    path.write_bytes(encode_onnx(weights))
    with pytest.raises(UnsupportedError, match="an activation is declared for a file ending in"):
        load_network(path, Declaration(Activation("tanh")))


def test_operators_that_draw_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = onnx_files.node
    relu = node("Relu", ["y0"], "z0")
    plain = encode_onnx(random_mlp([4, 8, 3]))
    assert scan(plain).random_operator is None
    for name, inputs in (
        ("RandomNormalLike", ["y0"]),
        ("Bernoulli", ["y0"]),
        ("Dropout", ["y0", "rate", "training"]),
    ):
        content = onnx_files.model(node(name, inputs, "z0"))
        assert scan(content).random_operator == name
        path = tmp_path / "net.onnx"
        path.write_bytes(content)
        monkeypatch.setattr("importlib.util.find_spec", lambda _: True)
        with pytest.raises(UnsupportedError, match=rf"an operator {name}, which draws random"):
            load_network(path)
    assert scan(onnx_files.model(node("Dropout", ["y0", "rate"], "z0"))).random_operator is None
    assert scan(onnx_files.model(relu)).random_operator is None
    with pytest.raises(ValueError, match="cut off"):
        scan(plain[:-3])


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


# -- what a file may ask for ------------------------------------------------------------------------


def model(nodes: Any, constants: Any = (), outputs: Any = ("n", 1)) -> bytes:
    """A network from x to y."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    given = [helper.make_tensor_value_info("x", kind, ["n", 4])]
    result = [helper.make_tensor_value_info("y", kind, list(outputs))]
    graph = helper.make_graph(nodes, "net", given, result, list(constants))
    opset = helper.make_opsetid("", 17)
    made: bytes = helper.make_model(graph, ir_version=9, opset_imports=[opset]).SerializeToString()
    return made


def field(number: int, content: bytes | int) -> bytes:
    """A field of a message of protocol buffers, of fewer than 128 bytes."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    key = (number << 3) | 2
    coded = bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])
    return coded + bytes([len(content)]) + content


def test_weights_in_other_files_are_found_wherever_they_are_named() -> None:
    here = field(1, 3) + field(14, 0) + field(9, b"numbers")
    location = field(14, 1)
    data = field(13, field(1, b"location") + field(2, b"/etc/passwd"))
    ways: dict[str, Callable[[bytes], bytes]] = {
        "initializer": lambda t: field(7, field(5, t)),
        "sparse": lambda t: field(7, field(15, field(1, t))),
        "constant": lambda t: field(7, field(1, field(5, field(5, t)))),
        "constants": lambda t: field(7, field(1, field(5, field(10, t)))),
        "branch": lambda t: field(7, field(1, field(5, field(6, field(5, t))))),
        "function": lambda t: field(25, field(7, field(5, field(5, t)))),
        "training": lambda t: field(20, field(2, field(5, t))),
    }
    for way, wrap in ways.items():
        assert not scan(wrap(here)).names_other_files, way
        assert scan(wrap(here + location)).names_other_files, way
        assert scan(wrap(data)).names_other_files, way


@pytest.mark.parametrize("content", [b"\xff" * 20, b"\x0b", b"\x3a\x7f", b"\x3a"])
def test_what_is_no_message(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut off|no message"):
        scan(content)


def made_of(*nodes: Any, result: Any = None, inputs: int = 3, constants: Any = ()) -> bytes:
    """A network of a few operators from x to y."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", inputs])
    y = result or helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", None])
    graph = helper.make_graph(list(nodes), "net", [given], [y], list(constants))
    opset = helper.make_opsetid("", 17)
    content: bytes = helper.make_model(
        graph, ir_version=9, opset_imports=[opset]
    ).SerializeToString()
    return content


def test_outputs_that_are_no_numbers() -> None:
    """A text such as "10" was read as a number, and the only matrix of a sequence was taken for the output."""
    helper = pytest.importorskip("onnx").helper
    kinds = pytest.importorskip("onnx").TensorProto
    text = made_of(
        helper.make_node("Cast", ["x"], ["y"], to=kinds.STRING),
        result=helper.make_tensor_value_info("y", kinds.STRING, ["n", 3]),
    )
    sequence = made_of(
        helper.make_node("ReduceSum", ["x", "axis"], ["z"], keepdims=0),
        helper.make_node("SequenceConstruct", ["z"], ["y"]),
        result=helper.make_tensor_sequence_value_info("y", kinds.FLOAT, None),
        constants=[helper.make_tensor("axis", kinds.INT64, [1], [0])],
    )
    for content, what in ((text, "string"), (sequence, "seq")):
        with pytest.raises(UnsupportedError, match=rf"outputs of type.*{what}"):
            OnnxNetwork(content, "net.onnx")


@pytest.mark.parametrize("most", [2**53 - 1, 2**53 + 1])
def test_outputs_that_are_whole_numbers(most: int) -> None:
    """From 2^53 on two of them may be equal in double precision, and the network would decide otherwise."""
    helper = pytest.importorskip("onnx").helper
    kinds = pytest.importorskip("onnx").TensorProto
    content = made_of(
        helper.make_node("Cast", ["x"], ["z"], to=kinds.INT64),
        helper.make_node("Add", ["z", "large"], ["y"]),
        result=helper.make_tensor_value_info("y", kinds.INT64, ["n", 3]),
        constants=[helper.make_tensor("large", kinds.INT64, [3], [2**53 - 2, most, 7])],
    )
    if most > 2**53:
        with pytest.raises(PolicyCrashError, match="whole numbers of 2"):
            OnnxNetwork(content, "net.onnx")
        return
    network = OnnxNetwork(content, "net.onnx")
    assert network.choose(np.zeros((1, 3)), np.ones((1, 3), bool)).tolist() == [1]
    network.close()


def test_a_file_that_asks_for_more_inputs_or_outputs_than_any_machine_has() -> None:
    """Our own process reserved 64 GiB for a row of inputs."""
    helper = pytest.importorskip("onnx").helper
    kinds = pytest.importorskip("onnx").TensorProto
    axis = helper.make_tensor("axis", kinds.INT64, [1], [1])
    summed = helper.make_node("ReduceSum", ["x", "axis"], ["y"], keepdims=1)
    with pytest.raises(UnsupportedError, match="inputs of shape"):
        OnnxNetwork(made_of(summed, inputs=2**33, constants=[axis]), "net.onnx")
    size = helper.make_tensor("size", kinds.INT64, [2], [1, 2**20 + 1])
    summed = helper.make_node("ReduceSum", ["x", "axis"], ["z"], keepdims=1)
    wide = helper.make_node("Expand", ["z", "size"], ["y"])
    with pytest.raises(UnsupportedError, match="outputs of shape"):
        OnnxNetwork(made_of(summed, wide, constants=[axis, size]), "net.onnx")


def test_the_format_of_onnxruntime_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bytes tell it, which an ONNX file may have too: it would be read without having been looked through."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "net.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(encode_onnx(random_mlp([4, 8, 3])), options)
    monkeypatch.setattr(onnx_module, "scan", lambda _: Contents(False, None))
    with pytest.raises(InputFormatError, match="onnxruntime cannot read this"):
        OnnxNetwork((tmp_path / "net.ort").read_bytes(), "net.onnx")


def test_very_many_fields_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bytes each in the file, and a hundred in a list."""
    monkeypatch.setattr("misstep.policies.networks.onnx_files.MAX_FIELDS", 100)
    assert not scan(b"\x08\x01" * 100).names_other_files
    for content in (b"\x08\x01" * 101, 2 * field(7, b"\x08\x01" * 50)):
        with pytest.raises(ValueError, match="more than 100 fields"):
            scan(content)


def test_endless_nests_end() -> None:
    def nested(depth: int) -> bytes:
        content = b""
        for _ in range(depth):
            for number in (6, 5, 1):
                size = len(content)
                coded = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
                content = bytes([number << 3 | 2]) + coded + content
        return bytes([7 << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content

    assert not scan(nested(30)).names_other_files
    with pytest.raises(ValueError, match="in each other"):
        scan(nested(40))


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "net.onnx"
    write(path)
    loaded = onnx.load(path)
    onnx.save(loaded, path, save_as_external_data=True, location="weights", size_threshold=0)
    assert (tmp_path / "weights").exists()
    with pytest.raises(UnsupportedError, match="external data"):
        load_network(path)


def test_onnxruntime_cannot_open_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where we have overlooked that it is told to."""
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "net.onnx"
    write(path)
    onnx.save(
        onnx.load(path), path, save_as_external_data=True, location="weights", size_threshold=0
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onnx_module, "scan", lambda _: Contents(False, None))
    with pytest.raises(InputFormatError, match="onnxruntime cannot read this"):
        load_network(path)


def test_too_much_memory_is_an_error_of_the_network(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    size = onnx.numpy_helper.from_array(np.array([2**36, 1], np.int64), "size")
    path = tmp_path / "net.onnx"
    nodes = [
        onnx.helper.make_node("ConstantOfShape", ["size"], ["large"]),
        onnx.helper.make_node("ReduceSum", ["large"], ["sum"]),
        onnx.helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    path.write_bytes(model(nodes, [size], ("n", 4)))
    with pytest.raises((InputFormatError, PolicyCrashError), match="onnxruntime"):
        load_network(path)


def endless(path: Path) -> None:
    """A network that computes for ever where the first input is positive."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Identity", ["value"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", kinds.INT64, []),
            helper.make_tensor_value_info("go", kinds.BOOL, []),
            helper.make_tensor_value_info("value", kinds.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("on", kinds.BOOL, []),
            helper.make_tensor_value_info("next", kinds.FLOAT, None),
        ],
    )
    constants = [
        onnx.numpy_helper.from_array(np.array(2**62, np.int64), "often"),
        onnx.numpy_helper.from_array(np.array(0, np.float32), "zero"),
    ]
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["highest"], keepdims=0),
        helper.make_node("Greater", ["highest", "zero"], ["positive"]),
        helper.make_node("Loop", ["often", "positive", "x"], ["y"], body=body),
    ]
    path.write_bytes(model(nodes, constants, ("n", 4)))


def test_no_answer_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless(tmp_path / "net.onnx")
    network = load_network(tmp_path / "net.onnx")
    low, high = np.full((1, 4), -1.0), np.full((1, 4), 1.0)
    assert (network.evaluate(low) == low).all()
    monkeypatch.setattr(onnx_module, "SECONDS", 0.3)
    for _ in range(3):
        with pytest.raises(PolicyTimeoutError, match=r"no answer within 0\.3 s"):
            network.evaluate(high)
    with pytest.raises(PolicyTimeoutError, match="onnxruntime was given up"):
        network.evaluate(low)


def test_a_process_that_dies_is_started_again(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    write(path)
    network = load_network(path)
    assert isinstance(network, OnnxNetwork)
    expected = network.evaluate(ROWS)
    assert network._channel is not None
    os.kill(network._channel.pid, signal.SIGKILL)
    assert (network.evaluate(ROWS) == expected).all()
    network.close()
    assert (network.evaluate(ROWS) == expected).all()


def test_a_process_that_always_dies_is_an_error_of_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.onnx"
    write(path)
    network = load_network(path)
    network.close()
    monkeypatch.setattr(
        onnx_host,
        "command",
        lambda: [
            sys.executable,
            "-c",
            "import os, sys; n = int(sys.stdin.buffer.readline()[10:-2]); sys.stdin.buffer.read(n);"
            "print('{}', flush=True); sys.stdin.buffer.readline(); os.abort()",
        ],
    )
    with pytest.raises(PolicyCrashError, match="onnxruntime was ended by SIGABRT"):
        network.evaluate(ROWS[:1])
    monkeypatch.setattr(onnx_module, "MAX_FAULTS", 0)
    with pytest.raises(PolicyTimeoutError, match="failed 1 times in a row and was given up"):
        network.evaluate(ROWS[:1])
