"""A small network as an ONNX file, written without any package: messages of protocol buffers by hand."""

from __future__ import annotations

import numpy as np

from misstep.policies.networks.mlp import MlpWeights

_FLOAT = 1  # the type of elements
_INT = 2  # the type of an attribute


def encode_onnx(weights: MlpWeights, more: bytes = b"") -> bytes:
    """A network of linear layers with ReLU between them, in single precision, for any number of rows.

    A node `more` may stand behind the first ReLU, from z0 to z1.
    """
    nodes, constants, name = b"", b"", "x"
    for number, layer in enumerate(weights.layers):
        constants += part_field(5, _tensor(f"w{number}", layer.matrix))
        constants += part_field(5, _tensor(f"b{number}", layer.bias))
        transposed = part_field(5, _text(1, "transB") + number_field(3, 1) + number_field(20, _INT))
        nodes += node("Gemm", [name, f"w{number}", f"b{number}"], f"y{number}", transposed)
        name = f"y{number}"
        if number + 1 < len(weights.layers):
            nodes += node("Relu", [name], f"z{number}")
            name = f"z{number}"
            if more and number == 0:
                nodes, name = nodes + more, "z1"
    inputs, outputs = weights.layers[0].matrix.shape[1], weights.layers[-1].matrix.shape[0]
    graph = nodes + _text(2, "net") + constants
    graph += part_field(11, _matrix("x", inputs)) + part_field(12, _matrix(name, outputs))
    opset = part_field(8, _text(1, "") + number_field(2, 17))
    return number_field(1, 9) + part_field(7, graph) + opset


def model(nodes: bytes) -> bytes:
    """A model of these nodes, which need not make sense."""
    return number_field(1, 9) + part_field(7, nodes + _text(2, "net"))


def node(operation: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    given = b"".join(_text(1, name) for name in inputs)
    return part_field(1, given + _text(2, output) + _text(4, operation) + attributes)


def _tensor(name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bytes:
    sizes = b"".join(number_field(1, size) for size in values.shape)
    return (
        sizes
        + number_field(2, _FLOAT)
        + _text(8, name)
        + part_field(9, values.astype("<f4").tobytes())
    )


def _matrix(name: str, columns: int) -> bytes:
    shape = part_field(1, _text(2, "n")) + part_field(1, number_field(1, columns))
    return _text(1, name) + part_field(
        2, part_field(1, number_field(1, _FLOAT) + part_field(2, shape))
    )


def number_field(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def part_field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return part_field(field, text.encode())


def _varint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])
