"""Sends one question to a chat server: with the standard library's HTTP, bounded in time, size and number of tries.

Redirects are not followed, so the key is sent only to the server that the user named. Failures are classified by what
they mean for a test. If the server is away or refuses us, nothing can be tested (`ToolError`). If the server responds
without an answer of the model (HTML, half an answer, errors, silence), there is no answer for this state
(`NoAnswerError`), which says nothing about the policy. Only an answer of the model itself can be a bug.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any
from urllib.parse import SplitResult, urlsplit

from misstep.decoding import parse_json
from misstep.errors import ToolError, UsageError

MAX_BODY_BYTES = 8 * 2**20
MAX_PAUSE = 30.0  # seconds
SECRET_LENGTH = 16  # letters of a key that is no mere word
_REFUSED = {
    401: "the key is missing or wrong",
    403: "access is denied",
    404: "no such model or path",
}
_AGAIN = {408, 409, 425, 429}
_PATH = "/chat/completions"


class NoAnswerError(Exception):
    """The server gave no answer of the model."""

    requests = 1  # requests that were sent without success


class _AgainError(NoAnswerError):
    """A new try may succeed, after so many seconds if the server says so."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


@dataclass(frozen=True)
class Reply:
    """The model's answer, and the tokens that it took."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    requests: int  # requests that were sent until there was an answer


class ChatServer:
    """A server with the OpenAI-compatible chat interface. May be used by several threads."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        pause: float = 1.0,
    ) -> None:
        self._url = _checked(url)
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._pause = pause
        self.where = f"server {url}"

    def ask(self, request: Mapping[str, object]) -> Reply:
        """Sends a request; a busy server is asked again, after a pause that doubles."""
        for attempt in range(self._retries + 1):
            try:
                body = self._post(json.dumps(request).encode())
                reply = _reply(body, request, attempt + 1, self._excerpt(body))
                return self._checked(reply)
            except NoAnswerError as fault:
                last = fault
                if not isinstance(fault, _AgainError) or attempt == self._retries:
                    break
                pause = self._pause * 2**attempt if fault.after is None else fault.after
                sleep(min(pause, MAX_PAUSE))
        given_up = NoAnswerError(str(last))
        given_up.requests = attempt + 1
        raise given_up

    def _post(self, content: bytes) -> bytes:
        deadline = monotonic() + self._timeout
        connection = self._connected()
        # At the deadline the connection is shut in any case: a server that sends one byte a second
        # is never silent.
        timer = threading.Timer(self._timeout, _shut, [connection.sock])
        timer.daemon = True
        timer.start()
        try:
            path = (self._url.path.removesuffix("/").removesuffix(_PATH)) + _PATH
            connection.request("POST", path, content, self._headers())
            with connection.getresponse() as response:
                body = _body(response)
        except (OSError, http.client.HTTPException) as error:
            if monotonic() >= deadline or isinstance(error, TimeoutError):
                raise self._late() from None
            kind = type(error).__name__
            raise _AgainError(f"the server broke off its answer ({kind})") from None
        finally:
            timer.cancel()
            connection.close()
        if monotonic() >= deadline:
            raise self._late()
        if len(body) > MAX_BODY_BYTES:
            raise NoAnswerError(f"the server's answer is larger than {MAX_BODY_BYTES >> 20} MiB")
        if response.length:  # the bytes that the server announced and did not send
            raise _AgainError("the server broke off its answer")
        self._check_status(response, body)
        return body

    def _late(self) -> NoAnswerError:
        return NoAnswerError(f"no answer within {self._timeout:g} s")

    def _connected(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(host, port, timeout=self._timeout)
        try:
            connection.connect()
        except TimeoutError:
            raise NoAnswerError(f"no connection within {self._timeout:g} s") from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            connection.close()
            what = "there is no such host"
            if isinstance(error, ssl.SSLCertVerificationError):
                what = f"its certificate is not trusted ({error.verify_message})"
            elif isinstance(error, OSError):
                what = error.strerror or type(error).__name__
            raise ToolError(
                f"the server is away: {what}",
                where=self.where,
                hint="start it or check the URL, then give the same command with --resume",
            ) from None
        return connection

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _check_status(self, response: http.client.HTTPResponse, body: bytes) -> None:
        status = response.status
        if status == 200:
            return
        said = self._excerpt(body)
        if status in _REFUSED:
            raise ToolError(f"{_REFUSED[status]} (HTTP {status}: {said})", where=self.where)
        if 300 <= status < 400:
            raise ToolError(
                f"the server redirects (HTTP {status}), which is not followed",
                where=self.where,
                expected="the final URL, such as https://HOST/v1",
            )
        if status in _AGAIN or status >= 500:
            raise _AgainError(f"HTTP {status}: {said}", _seconds(response.getheader("Retry-After")))
        raise NoAnswerError(f"HTTP {status}: {said}")

    def _excerpt(self, body: bytes) -> str:
        """The beginning of a body, without the key, which servers may repeat in their messages."""
        if self._key:  # first: half a key would not be found
            body = body.replace(self._key.encode(), b"***")
        return " ".join(body[:400].decode(errors="replace").split())[:120]

    def _checked(self, reply: Reply) -> Reply:
        """Refuse an answer with the key in it, because answers are stored. Short keys are words (`none`)."""
        if self._key and len(self._key) >= SECRET_LENGTH and self._key in reply.text:
            raise NoAnswerError("the answer has the key in it, so it is not kept")
        return reply


def _body(response: http.client.HTTPResponse) -> bytes:
    """The body, or a little more of it than is allowed. `read` would read a chunk of a negative size to its end."""
    body = bytearray()
    try:
        while len(body) <= MAX_BODY_BYTES and (piece := response.read1(2**16)):
            body += piece
    except OverflowError:  # the size of a chunk is beyond counting
        raise http.client.IncompleteRead(bytes(body)) from None
    return bytes(body)


def _checked(url: str) -> SplitResult:
    where = f"policy llm, URL {url.rpartition('@')[2]}"  # without a password
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    printable = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not printable:
        raise UsageError(
            "this is not a URL of a server", where=where, expected="http://HOST:PORT/v1"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            "the URL holds more than host, port and path",
            where=where,
            hint="a key is given in an environment variable: --key-env=NAME",
        )
    return parts


def _reply(body: bytes, request: Mapping[str, object], requests: int, said: str) -> Reply:
    try:
        answer: Any = parse_json(body)
        text = answer["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        raise NoAnswerError(
            f"the server answered {said!r}, not a chat completion in JSON"
        ) from None
    if text is None:  # only a refusal, or a call of a tool
        text = ""
    if not isinstance(text, str):
        raise NoAnswerError(f"the content of the answer is {text!r:.40}, not a text")
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Reply(
        text,
        _count(counts.get("prompt_tokens"), json.dumps(request)),
        _count(counts.get("completion_tokens"), text),
        requests,
    )


def _count(given: object, text: str) -> int:
    """Tokens as the server counts them; otherwise an estimate of four bytes per token."""
    if type(given) is int and 0 <= given < 2**40:
        return given
    return -(-len(text.encode(errors="replace")) // 4)


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except (OSError, AttributeError):  # the connection was closed in the meantime
        return


__all__ = ["ChatServer", "NoAnswerError", "Reply"]
