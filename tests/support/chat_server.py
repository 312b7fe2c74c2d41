"""A chat server of ours, which behaves well or in one of many bad ways."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Given the request and how many came before: a text that the model says, or a function that writes the response.
Say = Callable[[dict[str, Any], int], str]
Act = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: ChatServerOfOurs

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append(request)
            self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
            self.server.paths.append(self.path)
        if number in self.server.acts or -1 in self.server.acts:
            self.server.acts.get(number, self.server.acts.get(-1, lambda _: None))(self)
            return
        self.say(self.server.model(request, number))

    def say(self, text: object, status: int = 200) -> None:
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        message = {"role": "assistant", "content": text}
        self.send(json.dumps({"choices": [{"message": message}], "usage": usage}).encode(), status)

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


class ChatServerOfOurs(ThreadingHTTPServer):
    """`model` says the answers; `acts` replaces the response to the request of that number, -1: of all."""

    daemon_threads = True

    def __init__(self, model: Say, acts: dict[int, Act]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = model
        self.acts = acts
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.lock = threading.Lock()
        self.over = threading.Event()  # for those that wait

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """The client has gone: that is what is tested."""


def first_operator(request: dict[str, Any], number: int) -> str:  # noqa: ARG001
    """A model that takes the first operator of the default prompt."""
    prompt: str = request["messages"][0]["content"]
    listed = prompt.partition("Actions that apply now:\n")[2]
    return f"Let me think.\n\n{listed.splitlines()[0]}\n"


@contextmanager
def chat_server(
    model: Say = first_operator, acts: dict[int, Act] | None = None
) -> Iterator[ChatServerOfOurs]:
    server = ChatServerOfOurs(model, acts or {})
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


# -- bad behaviour --------------------------------------------------------------------------------


def html(handler: Handler) -> None:
    handler.send(b"<!doctype html><title>Welcome</title>", Content_Type="text/html")


def silent(handler: Handler) -> None:
    handler.server.over.wait(60)


def dripping(handler: Handler) -> None:
    """A byte now and then: never silent, never done."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def endless(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.server.over.is_set():
        handler.wfile.write(b" " * 2**20)


def endless_chunk(handler: Handler) -> None:
    """A chunk of a negative size, which the standard library reads until there is no more."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
    for _ in range(1000):
        if handler.server.over.is_set():
            return
        handler.wfile.write(b" " * 2**20)


def uncountable_chunk(handler: Handler) -> None:
    size = b"-" + b"9" * 50
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nx\r\n"
    )


def dying(handler: Handler) -> None:
    handler.connection.close()


def dying_halfway(handler: Handler) -> None:
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [')


def status(code: int, text: str = "sorry", **headers: str) -> Act:
    return lambda handler: handler.send(text.encode(), code, **headers)


def content(body: bytes) -> Act:
    return lambda handler: handler.send(body)
