"""The bytes of the messages, alone and compared with protobuf."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.policies.remote import wire

STATES = [[], [0], [0, 1, 127], [128, 300, 2**31 - 1], [-1, 0, -(2**31)], list(range(200))]
OPERATORS = [0, 1, 127, 128, 70000, 2**31 - 1, -1, -(2**31)]

PROTO = """\
syntax = "proto2";
package test;
message Text { optional string task = 1; }
message State { repeated int32 val = 1; }
message Packed { repeated int32 val = 1 [packed = true]; }
message Request { optional State state = 1; }
message PackedRequest {
  optional Packed state = 1; optional string other = 7; optional double x = 8;
}
message Operator { optional int32 operator = 1; }
message Choice { optional int32 operator = 1; optional float prob = 2; }
message Choices { repeated Choice operator = 1; }
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The messages as protobuf has them."""
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")
    from google.protobuf import descriptor_pb2, message_factory

    folder: Path = tmp_path_factory.mktemp("proto")
    (folder / "test.proto").write_text(PROTO)
    output = folder / "test.bin"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "test.proto"]
    subprocess.run([*command, f"--descriptor_set_out={output}"], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes()).file
    found: dict[str, Any] = message_factory.GetMessages(files)
    return {name.removeprefix("test."): message for name, message in found.items()}


@pytest.mark.parametrize("values", STATES)
def test_states(values: list[int]) -> None:
    assert wire.decode_state_request(wire.encode_state_request(values)) == values


def test_many_states() -> None:
    for top in (1, 127, 128, 100_000):
        states = np.random.default_rng(1).integers(0, top, (20, 7), dtype=np.int32)
        expected = [wire.encode_state_request(row) for row in states.tolist()]
        assert wire.encode_state_requests(states) == expected


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: int) -> None:
    assert wire.decode_operator(wire.encode_operator(operator)) == operator


def test_minus_one_takes_ten_bytes() -> None:
    assert wire.encode_operator(-1) == b"\x08" + b"\xff" * 9 + b"\x01"


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x0a\x05ab", b"\x0b", b"\x08" + b"\xff" * 11, b"\x0d\x01"]
)
def test_broken_messages(data: bytes) -> None:
    for decode in (wire.decode_text, wire.decode_state_request, wire.decode_operator):
        with pytest.raises(ValueError, match=r"cut off|unknown type|no \w+ in|not a number"):
            decode(data)


@pytest.mark.parametrize("values", STATES)
def test_states_against_protobuf(messages: dict[str, Any], values: list[int]) -> None:
    request = messages["Request"](state=messages["State"](val=values))
    assert wire.encode_state_request(values) == request.SerializeToString()
    packed = messages["PackedRequest"](state=messages["Packed"](val=values), other="x", x=1.5)
    assert wire.decode_state_request(packed.SerializeToString()) == values


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_against_protobuf(messages: dict[str, Any], operator: int) -> None:
    data = messages["Operator"](operator=operator).SerializeToString()
    assert wire.encode_operator(operator) == data
    assert wire.decode_operator(data) == operator


def test_the_rest_against_protobuf(messages: dict[str, Any]) -> None:
    text = "begin_version\n" * 300
    data = messages["Text"](task=text).SerializeToString()
    assert wire.encode_text(text.encode()) == data
    assert wire.decode_text(data) == text.encode()
    choice = messages["Choice"]
    choices = messages["Choices"](
        operator=[choice(operator=3, prob=0.5), choice(operator=-1, prob=1)]
    )
    assert wire.encode_probabilities([(3, 0.5), (-1, 1.0)]) == choices.SerializeToString()
    decoded = wire.decode_probabilities(choices.SerializeToString())
    assert decoded == [(3, 0.5), (-1, 1.0)]
