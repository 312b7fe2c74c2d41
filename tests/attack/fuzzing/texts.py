"""Readers of policies in texts, and of what programs, servers and language models answer."""

from __future__ import annotations

import json
from pathlib import Path

from attack.fuzzing.mutators import Files
from attack.fuzzing.networks import states, task, use_policy
from attack.fuzzing.reader import Reader
from misstep.policies.llm.chat import NoAnswerError, _reply
from misstep.policies.llm.prompt import named_operator
from misstep.policies.process.channel import ProgramError
from misstep.policies.process.protocol import AnswerReader, line_of, parse_greeting
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


# -- language models ------------------------------------------------------------------------------


def reply_seeds() -> list[Files]:
    name = f"I think.\n({task().operator_names[0]})"
    body = {
        "choices": [{"message": {"content": name}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
    return [{"body": json.dumps(body).encode()}]


def read_reply(files: Files, _: Path) -> None:
    reply = _reply(files["body"], {"model": "x"}, 1)
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
    Reader("rules", rule_seeds, use_policy("rules:", "x.rules"), cases=1250),
    Reader("sketch", sketch_seeds, use_policy("sketch:--width=0 ", "x.txt"), cases=1250),
    Reader(
        "sketch-all", sketch_seeds, use_policy("sketch:--width=0 --choose=all ", "x.txt"), cases=500
    ),
    Reader("lines", line_seeds, read_line, allowed=(ProgramError,), cases=5000),
    Reader("replies", reply_seeds, read_reply, allowed=(NoAnswerError, ValueError), cases=5000),
    Reader("messages", message_seeds, read_message, allowed=(ValueError,), cases=5000),
)
