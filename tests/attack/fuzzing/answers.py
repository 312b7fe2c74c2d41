"""Readers of whole answers of chat servers, with their headers, and of what the caches of answers and tasks hold."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.networks import task
from attack.fuzzing.reader import CODES, Reader, placed
from misstep.policies.llm.cache import AnswerCache
from misstep.policies.llm.chat import ChatServer, NoAnswerError, Reply
from misstep.policies.llm.prompt import named_operator
from misstep.tasks.pddl.cache import TranslationCache, cache_key
from misstep.tasks.task import Task
from support.tasks import small_task

# -- chat servers ---------------------------------------------------------------------------------

_BODY = json.dumps({"choices": [{"message": {"content": "(fly)"}}]}).encode()
_CHUNKS = b"".join(b"%x;a=b\r\n%s\r\n" % (len(p), p) for p in (_BODY[:9], _BODY[9:]))


def response_seeds() -> list[Files]:
    length = b"Content-Length: %d\r\n" % len(_BODY)
    own = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length + b"\r\n" + _BODY,
        b"HTTP/1.0 200 OK\r\n\r\n" + _BODY,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _CHUNKS + b"0\r\nX: y\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + _BODY,
        b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
    )
    return [{"response": content} for content in own]


class _Answered(ChatServer):
    """A server that has answered already, and says no more."""

    def __init__(self, content: bytes) -> None:
        super().__init__("http://localhost/v1", key="secret", timeout=5, retries=1, pause=0)
        self._content, self._open = content, ExitStack()

    def _connected(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock, theirs = socket.socketpair()
        self._open.enter_context(theirs)  # or else nothing can be sent
        theirs.sendall(self._content[: 2**16])
        theirs.shutdown(socket.SHUT_WR)
        return connection

    def close(self) -> None:
        self._open.close()


def read_response(files: Files, _: Path) -> None:
    if b"Retry-After" in files["response"]:  # which would be waited for
        files = {"response": files["response"].replace(b"503", b"400")}
    with closing(_Answered(files["response"])) as server:
        reply = server.ask({"model": "x"})
    with suppress(ValueError):
        named_operator(reply.text, task(), task().initial_state)


# -- caches ---------------------------------------------------------------------------------------


def answer_seeds() -> list[Files]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        cache = AnswerCache(Path(folder) / "x")
        for number in range(3):
            cache.add("why", "m", Reply(f"(fly {number})", 1, 1, 1), number)
        cache._database.execute("PRAGMA journal_mode = DELETE")
        cache.close()
        return [{"x": (Path(folder) / "x").read_bytes()}]


def use_answers(files: Files, place: Path) -> None:
    cache = AnswerCache(placed(files, place) / "x")
    try:
        for number in range(3):
            cache.get("why", number)
        cache.add("else", "m", Reply("\ud800", 1, 1, 1))
    finally:
        cache.close()


_KEY = cache_key(b"x")
_MAGIC = b"misstep-translation-1 "


def translation_seeds() -> list[Files]:
    return [{f"{_KEY}.sasz": small_task(name).sas} for name in ("gripper-4", "ferry-3")]


def damage_translation(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """Inside, with the digest put right, or outside."""
    ((name, content),) = random.choice(seeds).items()
    outside = random.random() < 0.3
    body = zlib.compress(content if outside else damaged(content, [content], random))
    if random.random() < 0.2:
        body = damaged(body, [body], random)
    entry = _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    return {name: damaged(entry, [entry], random) if outside else entry}


def use_translation(files: Files, place: Path) -> None:
    found = TranslationCache(placed(files, place)).get(_KEY)
    if found is not None:
        Task(found)


READERS = (
    Reader(
        "responses",
        response_seeds,
        read_response,
        allowed=(NoAnswerError,),
        codes=CODES | {33},
        cases=1500,
    ),
    Reader("llm-cache", answer_seeds, use_answers, cases=300),
    Reader(
        "translations",
        translation_seeds,
        use_translation,
        mutate=damage_translation,
        cases=500,
    ),
)
