"""Readers of policies in texts, and of what programs, servers and language models answer."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import cast

import numpy as np

from attack.fuzzing.mutators import Files
from attack.fuzzing.networks import states, task, use_policy
from attack.fuzzing.reader import CODES, Reader
from misstep.policies.llm.chat import NoAnswerError, _reply
from misstep.policies.llm.prompt import named_operator
from misstep.policies.networks.onnx import OnnxNetwork
from misstep.policies.process.channel import Channel, ProgramError
from misstep.policies.process.patience import Patience
from misstep.policies.process.protocol import AnswerReader, line_of, parse_greeting
from misstep.policies.program.policy import _decoded
from misstep.policies.remote import wire
from misstep.policies.remote.client import _read_task
from misstep.policies.remote.names import Matching
from misstep.policies.zoo import __path__ as zoo

ZOO = Path(zoo[0])


def rule_seeds() -> list[Files]:
    return [{"x.rules": (ZOO / f"{name}.rules").read_bytes()} for name in ("ferry", "gripper")]


def sketch_seeds() -> list[Files]:
    return [{"x.txt": (ZOO / f"sketch-{name}.txt").read_bytes()} for name in ("ferry", "gripper")]


# -- programs -------------------------------------------------------------------------------------


def line_seeds() -> list[Files]:
    names = [task().operator_names[0], None, 1, -1, 0]
    return [
        {"greeting": line_of({"protocol": 1, "name": "x", "digest": "y", "batch_size": 8})},
        {"answer": line_of({"id": 7, "operators": names})},
        {"answer": line_of({"id": 7, "operators": [0] * 5, "errors": {"0": "why"}})},
    ]


def read_line(files: Files, _: Path) -> None:
    if "greeting" in files:
        parse_greeting(files["greeting"])
    else:
        AnswerReader(task()).read(files["answer"], 7, states())


def program_seeds() -> list[Files]:
    plan = {"plan": [f"({task().operator_names[0]})", "x"]}
    found = (plan, {"files": ["a.py"]}, {"error": "why", "line": 3})
    return [{"line": line_of(own)} for own in found]


def read_program(files: Files, _: Path) -> None:
    answer = _decoded(files["line"])
    assert all(isinstance(own, str) for own in (*answer.get("plan", ()), *answer.get("files", ())))


class _Answering:
    """A channel whose program has answered already."""

    def __init__(self, line: bytes) -> None:
        self._line = line

    def exchange(self, *_: object) -> bytes:
        return self._line


def onnx_seeds() -> list[Files]:
    numbers = base64.b64encode(np.array([[0.5, 1.5]]).tobytes()).decode()
    found = ({"numbers": numbers, "shape": [1, 2]}, {"error": "why"})
    return [{"line": line_of(own)} for own in found]


def read_onnx(files: Files, _: Path) -> None:
    """What the process of onnxruntime answers; it reads files of strangers."""
    network = OnnxNetwork.__new__(OnnxNetwork)
    network._where, network._precision, network._faults, network._answered = "x", "float32", 0, 1
    network._patience, network._owner = Patience(), os.getpid()
    network._channel = cast(Channel, _Answering(files["line"]))
    result = network._ask(np.zeros((1, 2)))
    assert result.dtype == np.float64


# -- language models ------------------------------------------------------------------------------


def reply_seeds() -> list[Files]:
    name = f"I think.\n({task().operator_names[0]})"
    body = {
        "choices": [{"message": {"content": name}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
    return [{"body": json.dumps(body).encode()}]


def read_reply(files: Files, _: Path) -> None:
    reply = _reply(files["body"], {"model": "x"}, 1, "the body")
    reply.text.encode(errors="replace")
    named_operator(reply.text, task(), task().initial_state)


# -- servers --------------------------------------------------------------------------------------


def message_seeds() -> list[Files]:
    values = states().tolist()[0]
    return [
        {"operator": wire.encode_operator(300)},
        {"operator": wire.encode_operator(-1)},
        {"probabilities": wire.encode_probabilities([(0, 0.5), (300, 0.25)])},
        {"state": wire.encode_state_request(values)},
        {"state": wire.encode_state_request([1000, -1, 5])},
        {"task": wire.encode_text(task().sas)},
    ]


def read_message(files: Files, _: Path) -> None:
    ((kind, content),) = files.items()
    if kind == "operator":
        assert -(2**31) <= wire.decode_operator(content) < 2**31
    elif kind == "probabilities":
        wire.decode_probabilities(content)
    elif kind == "state":
        assert all(-(2**31) <= value < 2**31 for value in wire.decode_state_request(content))
    else:
        Matching(task(), _read_task(wire.decode_text(content), "x"), "x")


READERS = (
    Reader("programs", program_seeds, read_program, allowed=(ProgramError,), cases=1000),
    Reader("onnx-answers", onnx_seeds, read_onnx, codes=CODES | {11}, cases=1000),
    Reader("rules", rule_seeds, use_policy("rules:", "x.rules"), cases=1250),
    Reader("sketch", sketch_seeds, use_policy("sketch:--width=0 ", "x.txt"), cases=1250),
    Reader(
        "sketch-all", sketch_seeds, use_policy("sketch:--width=0 --choose=all ", "x.txt"), cases=500
    ),
    Reader("lines", line_seeds, read_line, allowed=(ProgramError,), cases=5000),
    Reader("replies", reply_seeds, read_reply, allowed=(NoAnswerError, ValueError), cases=5000),
    Reader("messages", message_seeds, read_message, allowed=(ValueError,), cases=5000),
)
