"""Messages over a socket that keeps packets apart: JSON, and at most one block of memory with each.

A client's messages are short, because large data is in a block. Answers may take several packets: a policy that fails
gives its reason for each state, as it would without the service. Misstep's errors are sent with their class, so that
the user reads the same message.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from misstep import errors
from misstep.decoding import parse_json
from misstep.errors import MisstepError, ToolError
from misstep.raised import in_words

LONGEST = 1 << 16  # bytes of a packet
MOST_PACKETS = 1 << 13  # of an answer
MAX_DEPTH = 20  # of lists and objects in a message
LAST, MORE = b".", b"+"  # the first byte of a packet: is the message complete?
Message = dict[str, Any]


def send(sock: socket.socket, message: Message, fd: int | None = None) -> None:
    data = json.dumps(message).encode()
    while len(data) > LONGEST:
        sock.sendall(MORE + data[:LONGEST])
        data = data[LONGEST:]
    if fd is None:
        sock.sendall(LAST + data)
    else:
        socket.send_fds(sock, [LAST + data], [fd])


def receive(sock: socket.socket, *, short: bool = False) -> tuple[Message, int | None]:
    """The next message, and the file that came with it; EOFError if the other side is gone.

    With `short`, only messages of one packet are accepted, so that the caller never waits for the rest.
    """
    data, fds, _, _ = socket.recv_fds(sock, LONGEST + 1, 1)
    fd = fds[0] if fds else None
    parts = [data]
    while parts[-1][:1] == MORE and not short:
        parts.append(sock.recv(LONGEST + 1))
        if len(parts) > MOST_PACKETS:
            raise ConnectionError("an answer that does not end")
    if not parts[-1]:
        raise EOFError
    try:
        if parts[-1][:1] != LAST:
            raise ValueError
        message = parse_json(b"".join(part[1:] for part in parts), max_depth=MAX_DEPTH)
        if not isinstance(message, dict):
            raise TypeError
    except (ValueError, TypeError):
        if fd is not None:
            os.close(fd)
        raise ConnectionError("no message of ours") from None
    return message, fd


def told(error: BaseException) -> Message:
    """An error as a message."""
    if isinstance(error, MisstepError):
        return {
            "error": type(error).__name__,
            **{name: getattr(error, name) for name in ("what", "where", "expected", "hint")},
        }
    return {"error": "ToolError", "what": in_words(error)[:2000]}


def error_of(message: Message) -> MisstepError:
    kind = getattr(errors, str(message.get("error")), None)
    if not (isinstance(kind, type) and issubclass(kind, MisstepError)):
        kind = ToolError
    optional = {name: message.get(name) for name in ("where", "expected", "hint")}
    return kind(str(message.get("what")), **optional)


__all__ = ["LONGEST", "Message", "error_of", "receive", "send", "told"]
