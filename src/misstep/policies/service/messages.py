"""Short messages over a socket that keeps them apart: JSON, and at most one block of memory with each.

Whatever is large lies in a block. Errors of Misstep travel with their class, so that the user reads the same words.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from misstep import errors
from misstep.errors import MisstepError, ToolError

LONGEST = 1 << 16  # bytes of a message
Message = dict[str, Any]


def send(sock: socket.socket, message: Message, fd: int | None = None) -> None:
    data = json.dumps(message).encode()
    if len(data) > LONGEST:
        raise ToolError(f"a message to the inference service has {len(data):,} bytes")
    if fd is None:
        sock.sendall(data)
    else:
        socket.send_fds(sock, [data], [fd])


def receive(sock: socket.socket) -> tuple[Message, int | None]:
    """The next message, and the file that came with it; EOFError if the other side is gone."""
    data, fds, _, _ = socket.recv_fds(sock, LONGEST, 1)
    fd = fds[0] if fds else None
    if not data:
        raise EOFError
    try:
        message = json.loads(data)
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
    return {"error": "ToolError", "what": f"{type(error).__name__}: {error}"[:2000]}


def error_of(message: Message) -> MisstepError:
    kind = getattr(errors, str(message.get("error")), None)
    if not (isinstance(kind, type) and issubclass(kind, MisstepError)):
        kind = ToolError
    optional = {name: message.get(name) for name in ("where", "expected", "hint")}
    return kind(str(message.get("what")), **optional)


__all__ = ["LONGEST", "Message", "error_of", "receive", "send", "told"]
