"""Clients that do not follow the protocol, other users, and what may lie where the socket should be.

A client that talks nonsense loses its connection. The others get their answers from the same service.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import PolicyAwayError, ToolError
from misstep.policies.service import address
from misstep.policies.service.client import Client, Served
from misstep.policies.service.memory import Block, Layout
from misstep.policies.service.messages import LAST, LONGEST, MORE, Message, receive, send
from support.served import LOADER, opened, standin

STATES = np.arange(15, dtype=np.int32).reshape(5, 3)
OFFSETS = np.array([0, 5], dtype=np.int64)
USUAL = Layout(1, 2, 3, 2)
PATIENCE = 60  # seconds until a client that gets no answer counts as hanging


class Stranger:
    """A connection to the service without the rules of a client."""

    def __init__(self) -> None:
        found = address._reach(address.place("cpu"))
        assert found is not None
        self.sock = found
        self.sock.settimeout(PATIENCE)
        self.block = Block.of_size(1 << 20)
        send(self.sock, {"block": True}, self.block.fd)

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()
        self.block.close()

    def raw(self, content: bytes) -> None:
        self.sock.send(content)

    def ask(self, message: Message) -> Message:
        send(self.sock, message)
        return receive(self.sock)[0]

    def opened(self) -> int:
        content = json.dumps({"width": 3}).encode()
        self.block.write(content)
        return int(self.ask({"open": LOADER, "size": len(content)})["model"])

    def question(self, layout: Layout = USUAL, **changed: object) -> Message:
        self.block.offsets(layout)[:] = (0, 2)
        found: Message = {"model": self.opened(), "layout": list(layout), "alone": False}
        return {name: own for name, own in {**found, **changed}.items() if own is not None}


def unsealed(stranger: Stranger) -> None:
    with os.fdopen(os.memfd_create("x"), "wb") as file:
        file.truncate(1 << 20)
        send(stranger.sock, {"block": True}, file.fileno())
        file.truncate(0)
        send(stranger.sock, {"open": LOADER, "size": 1000})


def flood(stranger: Stranger) -> None:
    question = stranger.question()
    for _ in range(3000):
        send(stranger.sock, question)


def a_pipe(stranger: Stranger) -> None:
    for end in os.pipe():
        send(stranger.sock, {"block": True}, end)
        os.close(end)
    stranger.ask({"open": LOADER, "size": 1})


def second_block(stranger: Stranger) -> None:
    """A question and, before its answer, other blocks."""
    send(stranger.sock, stranger.question())
    with closing(Block.of_size(1)) as other:
        for _ in range(100):
            send(stranger.sock, {"block": True}, other.fd)


Attack = Callable[[Stranger], object]
ATTACKS: dict[str, Attack] = {
    "nested deeply": lambda own: own.raw(LAST + b"[" * 60_000),
    "an infinite size": lambda own: own.raw(LAST + b'{"open": "x", "size": Infinity}'),
    "an infinite number": lambda own: own.raw(LAST + b'{"forget": 1e999}'),
    "a long number": lambda own: own.raw(LAST + b'{"forget": ' + b"9" * 50_000 + b"}"),
    "no JSON": lambda own: own.raw(LAST + b"\xff\0"),
    "no object": lambda own: own.raw(LAST + b"[1]"),
    "nothing": lambda own: own.raw(LAST),
    "another kind of packet": lambda own: own.raw(b"x{}"),
    "a message in two packets": lambda own: own.raw(MORE + b"{" * LONGEST),
    "a question without a key": lambda own: own.ask(own.question(alone=None)),
    "a model that is not there": lambda own: own.ask(own.question(model=77)),
    "other columns": lambda own: own.ask(own.question(Layout(1, 2, 3, 77))),
    "another width": lambda own: own.ask(own.question(Layout(1, 2, 4, 2))),
    "negative sizes": lambda own: own.ask({**own.question(), "layout": [1, -2, 3, 2]}),
    "large sizes": lambda own: own.ask({**own.question(), "layout": [1, 2**62, 3, 2]}),
    "a model of negative size": lambda own: own.ask({"open": LOADER, "size": -1}),
    "a loader that ends the process": lambda own: own.ask({"open": "sys:exit", "size": 1}),
    "a loader that is not there": lambda own: own.ask({"open": "nowhere:x", "size": 1}),
    "a block that shrinks": unsealed,
    "a pipe for a block": a_pipe,
    "a second block": second_block,
    "a flood of questions": flood,
}


@pytest.fixture
def served() -> Iterator[Served]:
    client = Client("cpu")
    yield opened(client)
    client.close()


def answered(served: Served) -> bool:
    """Whether a client that follows the rules gets its answer, and from the same service as before."""
    pid, found = served.about["pid"], []
    thread = threading.Thread(
        target=lambda: found.append(served.ask(STATES, OFFSETS).columns[0]), daemon=True
    )
    thread.start()
    thread.join(PATIENCE)
    assert found, "no answer"
    return np.array_equal(found[0], standin(STATES)) and served.about["pid"] == pid


@pytest.mark.parametrize("name", ATTACKS)
def test_nonsense_does_not_reach_the_others(served: Served, name: str) -> None:
    with Stranger() as stranger:
        with suppress(EOFError, OSError):  # it has lost its connection
            ATTACKS[name](stranger)
        assert answered(served)


def test_offsets_that_do_not_fit_are_refused(served: Served) -> None:
    with Stranger() as stranger:
        question = stranger.question(alone=True)
        for offsets in ((-5, 2), (0, 99), (1, 2), (2, 0)):
            stranger.block.offsets(USUAL)[:] = offsets
            assert "do not fit" in stranger.ask(question)["what"]
        assert answered(served)


def test_a_client_that_dies_in_a_message(served: Served) -> None:
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            stranger = Stranger()
            stranger.raw(MORE + b'{"open"')
            os.kill(os.getpid(), 9)
        os.waitpid(pid, 0)
        assert answered(served)


def test_a_client_that_never_reads(served: Served) -> None:
    """Its answers are large, and nobody waits until it has read them."""
    with Stranger() as stranger:
        stranger.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        send(stranger.sock, {"open": "support.served:load_wordy", "size": 0})
        assert answered(served)


_FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
sys.path[:0] = {path!r}
from misstep.policies.service.client import client_of
from support.served import opened
served = opened(client_of("cpu"))
print(served.about["pid"], flush=True)
sys.stdin.read()
"""


def test_more_clients_than_files() -> None:
    """The service may have 40 files. Clients for which there are none are told so; the others go on."""
    code = _FEW_FILES.format(path=sys.path)
    with ExitStack() as opening:
        first = opening.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        assert first.stdout is not None
        assert first.stdout.readline().strip().isdigit()
        clients = [opening.enter_context(closing(Client("cpu"))) for _ in range(3)]
        served = opened(clients[0])
        crowd = opening.enter_context(ExitStack())
        for _ in range(60):
            found = address._reach(address.place("cpu"))
            assert found is not None
            crowd.enter_context(found)
        assert answered(served)
        with pytest.raises(PolicyAwayError, match="too many"):
            opened(clients[1])
        assert answered(served)
        crowd.close()
        assert answered(opened(clients[2]))
        first.communicate(b"")


# -- what lies where the socket should be ---------------------------------------------------------


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_cannot_connect(served: Served) -> None:
    path = address.place("cpu")
    path.parent.parent.chmod(0o755)
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        try:
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(str(path))
        except PermissionError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    path.parent.chmod(0o755)  # and if the folder were open, the service itself looks who is there
    path.chmod(0o777)
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.connect(str(path))
        try:
            send(sock, {"open": LOADER, "size": 0})
            os._exit(7 if not sock.recv(10) else 0)
        except OSError:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert answered(served)


def test_a_socket_of_a_service_that_has_ended() -> None:
    path = address.place("cpu")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(path))
    assert path.exists()
    client = Client("cpu")
    assert answered(opened(client))
    client.close()


@pytest.mark.parametrize("end", [".lock", ".log"])
def test_links_are_not_followed(place: Path, end: str) -> None:
    precious = place / "precious"
    precious.write_text("what the user cares for")
    Path(f"{address.place('cpu')}{end}").symlink_to(precious)
    with pytest.raises(ToolError, match="symbolic link"):
        opened(Client("cpu"))
    assert precious.read_text() == "what the user cares for"


def test_a_link_for_the_socket_is_replaced(place: Path) -> None:
    precious = place / "precious"
    precious.write_text("what the user cares for")
    address.place("cpu").symlink_to(precious)
    client = Client("cpu")
    assert answered(opened(client))
    client.close()
    assert precious.read_text() == "what the user cares for"


def test_a_folder_for_the_socket_is_an_error() -> None:
    address.place("cpu").mkdir()
    with pytest.raises(ToolError, match="cannot be reached"):
        opened(Client("cpu"))


def test_a_pipe_for_the_log_does_not_wait() -> None:
    os.mkfifo(f"{address.place('cpu')}.log")
    with pytest.raises(ToolError, match="cannot be reached"):
        opened(Client("cpu"))
    assert address.last_words("cpu") == ""
