"""Readers of what other processes send: clients of the inference service, the service itself, workers of clusters."""

from __future__ import annotations

import json
import os
import pickle
import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import cast

import numpy as np

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.networks import task
from attack.fuzzing.reader import CODES, DisagreementError, Reader
from misstep.campaigns.cluster.coordinator import Cluster
from misstep.campaigns.cluster.jobs import PROTOCOL, Died, Done, Late, Refused
from misstep.campaigns.cluster.link import Link
from misstep.campaigns.cluster.parcels import Parcel
from misstep.campaigns.units import Unit
from misstep.campaigns.workers import Lost
from misstep.errors import InputFormatError, MisstepError, ToolError
from misstep.experiments.kinds.repeats import kept
from misstep.experiments.worker import OUTCOMES, read_answer
from misstep.policies.gnn.encoding import encode
from misstep.policies.gnn.relations import Relation
from misstep.policies.service import networks
from misstep.policies.service.client import Client, Served
from misstep.policies.service.memory import Block, Layout
from misstep.policies.service.messages import LAST, error_of, receive, told
from misstep.policies.service.process import Guest, Service
from support.served import LOADER, Standin

# -- the service ----------------------------------------------------------------------------------

_LAYOUT = Layout(1, 2, 3, 2)


def question_seeds() -> list[Files]:
    block = np.zeros(40, np.int64)
    block[1] = 2
    description = json.dumps({"width": 3}).encode()
    asked = {"model": 1, "layout": list(_LAYOUT), "alone": True}
    messages: tuple[tuple[dict[str, object], bytes], ...] = (
        (asked, block.tobytes()),
        ({**asked, "alone": False}, block.tobytes()),
        ({"open": LOADER, "size": len(description)}, description),
        ({"forget": 1}, b"x"),
    )
    return [
        {"message": LAST + json.dumps(message).encode(), "block": content}
        for message, content in messages
    ]


def damage_question(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """In the message, whose first byte says that it is whole, or in the memory beside it."""
    files = dict(random.choice(seeds))
    if random.random() < 0.3:
        files["block"] = damaged(files["block"], [files["block"]], random)
    else:
        body = damaged(files["message"][1:], [files["message"][1:]], random)
        files["message"] = (LAST if random.random() < 0.9 else b"+") + body
    return files


def hear(files: Files, _: Path) -> None:
    """What a client sends either costs it its connection, or gets it exactly one answer."""
    if len(files["message"]) > 2**16 or (
        b'"open"' in files["message"] and b"support.served" not in files["message"]
    ):
        return  # no packet, or a loader that may do anything
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, socket.socket() as listening:
        service = Service(listening)
        guest = Guest(ours)
        guest.models[1] = Standin(b'{"width": 3}')
        guest.block = Block.of_size(1 << 12)
        guest.block.write(files["block"][: 1 << 12])
        theirs.send(files["message"])
        theirs.settimeout(5)
        if service._hear(guest) and service._waiting:
            (question,) = service._next()
            if question.part is None:
                service._open(question)
            else:
                service._evaluate([question])
            if guest.is_waiting:
                raise DisagreementError("a client that waits for an answer that does not come")
            answer, fd = receive(theirs)
            if fd is not None:
                raise DisagreementError("a file came with the answer")
            if "error" in answer:
                str(error_of(answer))
        guest.block.close()
        os.close(service._spare)


def answer_seeds() -> list[Files]:
    error = InputFormatError("damaged", where="x", expected="y", hint="z")
    known = {"model": 1, "key": "k", "columns": 2, "pid": 7}
    found = [
        ("answer", {"messages": {"0": "why"}}),
        ("answer", {}),
        ("answer", told(error)),
        ("opening", known),
    ]
    return [{name: LAST + json.dumps(own).encode()} for name, own in found]


class _Answered(Client):
    """A client whose service has given one answer and then ends."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._theirs: list[socket.socket] = []
        super().__init__("cpu")

    def close(self) -> None:
        super().close()
        for own in self._theirs:
            own.close()

    def _room(self, size: int) -> Block:
        if self._sock is None:
            self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for at in range(0, min(len(self._content), 2**17), 2**16):
                theirs.send(self._content[at : at + 2**16])
            theirs.shutdown(socket.SHUT_WR)
            self._theirs.append(theirs)
        if self._block is None or self._block.size < size:
            self._block = Block.of_size(size)
        return self._block


def use_answer(files: Files, _: Path) -> None:
    ((kind, content),) = files.items()
    client = _Answered(content)
    served = Served(client, LOADER, b"{}")
    try:
        if kind == "opening":
            client._until_answered(lambda: client._number(served))
            return
        served.about = {"key": "k", "columns": 2}
        client._known[served] = 1
        reply = client.ask(served, np.zeros((2, 3), np.int32), np.array([0, 2]), False)
        assert set(reply.messages) <= {0, 1}
    finally:
        client.close()


@cache
def _packed() -> bytes:
    own = task()
    relations = tuple(
        Relation(predicate.name, predicate.arity) for predicate in own.lifted.predicates
    )
    goals = tuple(Relation(f"{own.name}_goal", own.arity) for own in relations)
    encoding = encode(own, (*relations, *goals), "x")
    choice = {"path": "x", "kind": "gnn", "digest": "d", "seed": 0, "device": "cpu"}
    return networks._packed(choice, encoding, np.array(own.domain_sizes, dtype=np.int64))


def content_seeds() -> list[Files]:
    return [{"x.npz": _packed()}]


def use_content(files: Files, _: Path) -> None:
    networks._unpacked(files["x.npz"])


# -- clusters -------------------------------------------------------------------------------------


class _Ended:
    """A link whose next job has ended with this content."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def next(self) -> tuple[int, Done]:
        return 1, Done(self._content)


def outcome_seeds() -> list[Files]:
    found = (Lost("time"), Lost("crash", "words"), ToolError("x", where="y", hint="z"))
    return [{"x": pickle.dumps(own, PROTOCOL)} for own in found]


def damage_pickle(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """Bytes are changed, cut and doubled. No words are swapped, which could name any function of Python."""
    content = bytearray(random.choice(seeds)["x"])
    for _i in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(content)) if content else 0
        match random.randrange(4):
            case 0:
                content[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del content[at : at + random.randint(1, 9)]
            case 2:
                content = content[:at]
            case _:
                content[at:at] = content[at : at + random.randint(1, 40)]
    return {"x": bytes(content)}


def use_outcome(files: Files, _: Path) -> None:
    cluster = Cluster.__new__(Cluster)
    cluster._link = cast(Link, _Ended(files["x"]))
    cluster._units = {1: cast(Unit, None)}
    _unit, outcome = cluster.next()
    if not isinstance(outcome, (Lost, MisstepError)):
        raise DisagreementError(f"an outcome of the type {type(outcome).__name__}")


def parcel_seeds() -> list[Files]:
    answers = [
        (Done(b"x"), 0.5),
        (Late(), 1.0),
        (Died("signal 9", "words"), 2.0),
        (Refused("1.0"), 0.0),
    ]
    return [{"x": pickle.dumps([own], PROTOCOL)} for own in answers]


def use_parcel(files: Files, _: Path) -> None:
    """Dask unpacks it; what it gives us is looked at before it is used."""
    try:
        found = pickle.loads(files["x"])
    except Exception:
        return
    link = Link.__new__(Link)
    link.where = "x"
    link._checked(found, Parcel([cast("object", None)]))  # type: ignore[list-item]


def line_seeds() -> list[Files]:
    found = (
        {"outcome": "done", "result": {"bugs": 3, "rows": [[1, 2]]}, "seconds": 0.5},
        {"outcome": "failed", "result": {"message": "why"}, "seconds": 1},
    )
    return [{"x": json.dumps(own).encode() + b"\n"} for own in found]


def use_line(files: Files, _: Path) -> None:
    found = read_answer(files["x"])
    if found["outcome"] not in OUTCOMES or not isinstance(found["seconds"], float):
        raise DisagreementError(f"an answer of a worker: {found!r:.200}")


def repeat_seeds() -> list[Files]:
    summary = {"best": "/there/best.safetensors", "loss": 0.5, "success": 1.0, "test": None}
    found = {
        "summary": summary,
        "place": "/there",
        "files": {"models/0.bin": "YQ==", "settings.json": "e30="},
    }
    return [{"x": json.dumps(found).encode()}]


def use_repeat(files: Files, place: Path) -> None:
    """No file outside of the folder is written."""
    try:
        result = json.loads(files["x"])
    except (ValueError, RecursionError):
        return
    if not isinstance(result, dict):
        return  # `read_answer` refuses it
    folder = place / "inside" / "seed-0"
    folder.mkdir(parents=True)
    try:
        kept(folder, result)
    finally:
        outside = [
            path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(folder)
        ]
        if outside:
            raise DisagreementError(f"written outside: {outside[0]}")


READERS = (
    Reader("questions", question_seeds, hear, mutate=damage_question, cases=300),
    # The service is a program that failed, or that has gone.
    Reader(
        "answers",
        answer_seeds,
        use_answer,
        codes=CODES | {*range(2, 14), 23, 33, 34, 36, 39},
        cases=300,
    ),
    Reader("encodings", content_seeds, use_content, allowed=(ValueError,), cases=300),
    Reader(
        "outcomes", outcome_seeds, use_outcome, codes=CODES | {33}, mutate=damage_pickle, cases=600
    ),
    Reader(
        "parcels", parcel_seeds, use_parcel, codes=CODES | {33}, mutate=damage_pickle, cases=600
    ),
    Reader("worker-lines", line_seeds, use_line, cases=600),
    Reader("repeats", repeat_seeds, use_repeat, cases=250),
)
