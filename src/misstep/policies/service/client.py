"""The connection of this process to the service for a device.

There is one for each device, and it stays open until the process ends or disconnects. A forked process opens its own.
If a question is interrupted (by a limit or by the user), its answer may still arrive, so the connection is closed and
the next question opens a new one. If the service died, another one is started, gets the models that it needs, and is
asked the same question again; this is safe because evaluating changes nothing. If three services in a row die of one
question, the question is the cause and the client gives up.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, PolicyAwayError, ToolError
from misstep.files import reason
from misstep.policies.service.address import WITHOUT, connect, last_words
from misstep.policies.service.memory import Block, Layout
from misstep.policies.service.messages import Message, error_of, receive, send

ATTEMPTS = 3
T = TypeVar("T")


@dataclass
class Reply:
    """The answer to a question: a column of numbers for each output, and error messages for single rows."""

    columns: NDArray[np.float64]
    messages: dict[int, str] = field(default_factory=dict)


class Served:
    """A model at the service. `about` is the service's description of it."""

    def __init__(self, client: Client, loader: str, content: bytes) -> None:
        self._client = client
        self.loader = loader
        self.content = content
        self.about: Message = {}

    def ask(
        self, states: NDArray[np.int32], offsets: NDArray[np.int64], *, alone: bool = False
    ) -> Reply:
        """The outputs for rows of states; those of decision i are from `offsets[i]` to `offsets[i + 1]`.

        With `alone`, each decision is evaluated by itself, so that its numbers depend on nothing else.
        """
        return self._client.ask(self, states, offsets, alone)

    def close(self) -> None:
        """Tell the service that this process no longer needs the model."""
        self._client.forget(self)


class Client:
    """Asks the service of one device. Threads take turns."""

    def __init__(self, device: str, surroundings: str = "") -> None:
        self.device = device
        self.surroundings = surroundings  # the environment of the code that the service runs
        self._sock: socket.socket | None = None
        self._block: Block | None = None
        self._known: dict[Served, int] = {}  # models that the service at the other end has
        self._lock = threading.Lock()
        _all.add(self)

    def open(self, loader: str, content: bytes) -> Served:
        """A model at the service. `loader` is MODULE:FUNCTION, which builds the model from the content there."""
        served = Served(self, loader, content)
        with self._lock:
            self._until_answered(lambda: self._number(served))
        return served

    def ask(
        self, served: Served, states: NDArray[np.int32], offsets: NDArray[np.int64], alone: bool
    ) -> Reply:
        with self._lock:
            return self._until_answered(lambda: self._ask(served, states, offsets, alone))

    def forget(self, served: Served) -> None:
        with self._lock:
            number = self._known.pop(served, None)
            if number is not None and self._sock is not None:
                with contextlib.suppress(OSError):  # it has died, and a new one knows no models
                    send(self._sock, {"forget": number})

    def close(self) -> None:
        with self._lock:
            self._drop()

    def leave_parent(self) -> None:
        """Called in a forked process. The connection is its parent's, and each would read the other's answers."""
        self._lock = threading.Lock()
        self._drop()

    def _until_answered(self, question: Callable[[], T]) -> T:
        for _ in range(ATTEMPTS):
            try:
                return question()
            except (EOFError, ConnectionError):
                self._drop()  # it has died
            except OSError as error:  # of this process: no more files, no memory
                self._drop()
                raise ToolError(
                    f"the inference service cannot be asked: {reason(error)}",
                    where=f"device {self.device}",
                    hint=WITHOUT,
                ) from error
            except BaseException:
                self._drop()  # an answer that no one waits for may still arrive
                raise
        words = last_words(self.device, self.surroundings)
        raise PolicyAwayError(
            f"the inference service ended {ATTEMPTS} times while it was asked"
            + (f": {words}" if words else ""),
            where=f"device {self.device}",
            hint="MISSTEP_SERVICE=off evaluates in each process; --resume continues",
        )

    def _drop(self) -> None:
        self._known.clear()
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        if self._block is not None:
            self._block.close()
            self._block = None

    def _ask(
        self, served: Served, states: NDArray[np.int32], offsets: NDArray[np.int64], alone: bool
    ) -> Reply:
        number = self._number(served)
        width, columns = states.shape[1], int(served.about["columns"])
        layout = Layout(len(offsets) - 1, len(states), width, columns)
        block = self._room(layout.size)
        block.offsets(layout)[:] = offsets
        block.states(layout)[:] = states
        question = {"model": number, "layout": list(layout), "alone": alone}
        answer = self._exchange(question)
        return Reply(block.answers(layout).copy(), _messages(answer, len(states)))

    def _number(self, served: Served) -> int:
        """Of a model at the other end, which is told of it where it does not know it yet."""
        if served not in self._known:
            self._room(len(served.content)).write(served.content)
            question = {"open": served.loader, "size": len(served.content)}
            about = self._exchange(question)
            numbers = (about.get("model"), about.get("columns"))
            if any(type(own) is not int for own in numbers) or not isinstance(
                about.get("key"), str
            ):
                raise ConnectionError("not an answer of ours")
            if served.about and served.about["key"] != about["key"]:  # after the service has died
                raise InputFormatError(
                    "the files of the policy have changed while it was asked",
                    hint="decisions of two policies must not be mixed: begin again",
                )
            served.about = about
            self._known[served] = int(about["model"])
        return self._known[served]

    def _room(self, size: int) -> Block:
        """A block of that size that both sides see."""
        if self._sock is None:
            self._sock = connect(self.device, self.surroundings)
        if self._block is None or self._block.size < size:
            if self._block is not None:
                self._block.close()
            self._block = Block.of_size(2 * size)
            send(self._sock, {"block": True}, self._block.fd)
        return self._block

    def _exchange(self, question: Message) -> Message:
        assert self._sock is not None
        send(self._sock, question)
        answer, _ = receive(self._sock)
        if "error" in answer:
            raise error_of(answer)
        return answer


def _messages(answer: Message, rows: int) -> dict[int, str]:
    """The error messages of an answer, by row."""
    found = answer.get("messages", {})
    if not isinstance(found, dict):
        raise ConnectionError("not an answer of ours")
    for row, text in found.items():
        if not (
            row.isascii() and row.isdecimal() and int(row[:20]) < rows and isinstance(text, str)
        ):
            raise ConnectionError("not an answer of ours")
    return {int(row): text for row, text in found.items()}


_clients: dict[tuple[str, str], Client] = {}
_all: weakref.WeakSet[Client] = weakref.WeakSet()


def client_of(device: str, surroundings: str = "") -> Client:
    """The connection of this process for a device, and for code in a given environment."""
    key = device, surroundings
    if key not in _clients:
        _clients[key] = Client(device, surroundings)
    return _clients[key]


def _leave_parent() -> None:
    for client in list(_all):
        client.leave_parent()


os.register_at_fork(after_in_child=_leave_parent)


@atexit.register
def leave() -> None:
    """Close all connections. A policy that is asked afterwards opens a new one."""
    for client in _clients.values():
        client.close()


__all__ = ["Client", "Reply", "Served", "client_of", "leave"]
