"""The policy behind a policy server.

A failure of the server is not an answer of the policy: a state without an answer counts as TIMED_OUT, never as a crash,
and if the server is away, the work ends and can be resumed. Only an answer of the policy itself can be a bug.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from time import monotonic
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from misstep.errors import (
    InputFormatError,
    MisstepError,
    PolicyAwayError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.options import positive, split_options
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.remote import wire
from misstep.policies.remote.loop import LoopThread
from misstep.policies.remote.names import Matching
from misstep.tasks.pddl.load import MAX_SAS_BYTES
from misstep.tasks.task import State, Task

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_SAS_BYTES),  # also of what was compressed
    ("grpc.enable_http_proxy", 0),  # web proxies are not meant for policy servers
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
# Servers that batch requests gain from many concurrent calls; with other servers the calls wait in line.
IN_FLIGHT = 64
MOST_PORT = 2**16 - 1
# How often a state may lose the connection: a state that ends the server each time is the cause.
_ATTEMPTS = 3
# How servers in Python tell of an exception in the code that answers.
_EXCEPTIONS = ("Exception calling application: ", "Unexpected <class ")


class NoAnswer(str):
    """Why there is no answer of the policy."""

    __slots__ = ()


class GrpcPolicy(Policy):
    """A policy behind a server at `host:port` or `unix:path`.

    `timeout` is for one call and `connect_timeout` for reaching the server, in seconds; `in_flight`
    is the number of concurrent calls.
    """

    def __init__(
        self,
        task: Task,
        address: str,
        *,
        timeout: float = 60.0,
        connect_timeout: float = 5.0,
        in_flight: int = IN_FLIGHT,
    ) -> None:
        super().__init__(task)
        self.name = f"grpc:{address}"
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._in_flight = in_flight
        self._away: PolicyAwayError | None = None  # the server was lost during this batch
        self._connections = 0
        self._thread = LoopThread("policy-client")
        try:
            self._sas = self._thread.call(self._connect(address))
            self._matching = Matching(task, _read_task(self._sas, self.name), f"policy {self.name}")
        except BaseException:
            self.close()
            raise
        # Nothing else about a server is known to a client.
        self.digest = hashlib.sha256(self.name.encode() + b"\0" + self._sas).hexdigest()

    async def _connect(self, address: str) -> bytes:
        self._lock = asyncio.Lock()
        self._channel = grpc.aio.insecure_channel(address, options=_CHANNEL_OPTIONS)
        self._get_operator = self._channel.unary_unary(f"/{wire.SERVICE}/{wire.GET_OPERATOR}")
        self._get_task = self._channel.unary_unary(f"/{wire.SERVICE}/{wire.GET_TASK}")
        return await self._fetch_task()

    async def _fetch_task(self) -> bytes:
        try:
            return wire.decode_text(_sent(await self._reach()))
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                raise ToolError(
                    f"no policy server answers within {self._connect_timeout:g} s",
                    where=f"policy {self.name}",
                    hint="is it running, and is the address right?",
                ) from None
            raise ToolError(
                f"the server does not give its task: {_reason(error)}",
                where=f"policy {self.name}",
                expected=f"a server with the service {wire.SERVICE}",
            ) from None
        except ValueError as error:
            raise InputFormatError(
                f"the server's task cannot be read: {error}", where=f"policy {self.name}"
            ) from None

    async def _reach(self) -> bytes | None:
        """Retry until the time is over: a connection may break again while the server starts or stops."""
        deadline = monotonic() + self._connect_timeout
        while True:
            left = max(0.01, deadline - monotonic())
            try:
                answer: bytes | None = await self._get_task(b"", timeout=left, wait_for_ready=True)
                return answer
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or monotonic() >= deadline:
                    raise
            await asyncio.sleep(0.05)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among candidates")
        states = checked_states(states, self.task)
        self.task.check_batch(states)
        answers = Answers(np.full(len(states), FAILED, dtype=np.int32), evaluations=len(states))
        if len(states):
            self._away = None
            requests = wire.encode_state_requests(self._matching.states(states))
            self._thread.call(self._decide(requests, states, answers))
            if self._away is not None:
                raise self._away
        return answers

    async def _decide(self, requests: list[bytes], states: States, answers: Answers) -> None:
        # All workers draw from one iterator, so `in_flight` calls are under way until the end.
        rows = iter(range(len(requests)))
        workers = min(self._in_flight, len(requests))
        await asyncio.gather(*(self._work(rows, requests, states, answers) for _ in range(workers)))

    async def _work(
        self, rows: Iterator[int], requests: list[bytes], states: States, answers: Answers
    ) -> None:
        for row in rows:
            answer = await self._ask(requests[row], states[row])
            if isinstance(answer, NoAnswer):
                answers.operators[row], answers.messages[row] = TIMED_OUT, answer
            elif isinstance(answer, str):
                answers.messages[row] = answer
            else:
                answers.operators[row] = answer

    async def _ask(self, request: bytes, state: NDArray[np.int32]) -> int | str:
        """Our id of the operator, or why there is none."""
        reason = ""
        for _ in range(_ATTEMPTS):
            if self._away is not None:
                return NoAnswer(self._away.what)
            connection = self._connections
            try:
                answer = await self._get_operator(request, timeout=self._timeout)
                operator = wire.decode_operator(_sent(answer))
            except grpc.RpcError as error:
                reason = f"the server failed: {_reason(error)}"
                if _is_crash(error):
                    return reason
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    break
            except ValueError as error:
                return NoAnswer(f"the server's answer cannot be read: {error}")
            else:
                return self._translate(operator, state)
            await self._reconnect(connection)
        return NoAnswer(reason)

    def _translate(self, operator: int, state: NDArray[np.int32]) -> int | str:
        if operator == -1:
            return NO_ACTION
        known = self._matching.operators
        if 0 <= operator < len(known):
            return self._matching.operator(operator, State(state.tolist()))
        return f"the server chose operator {operator}, its task has 0 to {len(known) - 1}"

    async def _reconnect(self, connection: int) -> None:
        async with self._lock:
            if connection != self._connections or self._away is not None:
                return  # another worker has reconnected
            try:
                sas = await self._fetch_task()
            except MisstepError as error:
                self._away = self._lost(f"the server is gone: {error.what}")
                return
            if sas != self._sas:
                self._away = self._lost("the server came back with another task")
            self._connections += 1

    def _lost(self, what: str) -> PolicyAwayError:
        return PolicyAwayError(
            what,
            where=f"policy {self.name}",
            hint="when the server is back, --resume continues; nothing is lost",
        )

    def close(self) -> None:
        if self._thread.loop.is_running():
            if (channel := getattr(self, "_channel", None)) is not None:
                self._thread.call(channel.close())
            self._thread.stop()


def _sent(answer: bytes | None) -> bytes:
    if answer is None:  # so gRPC tells of an answer without a message
        raise ValueError("there is none")
    return answer


def _is_crash(error: Any) -> bool:
    """Whether the policy has crashed, and not its server or something between us."""
    marks = [key for key, _ in error.trailing_metadata() or ()]
    return wire.CRASHED in marks or (error.details() or "").startswith(_EXCEPTIONS)


def _reason(error: Any) -> str:
    details = " ".join((error.details() or "").split())[:400]
    return f"{error.code().name}: {details}" if details else str(error.code().name)


def _read_task(sas: bytes, name: str) -> Task:
    try:
        return Task(sas, name=name)
    except MisstepError as error:
        raise type(error)(
            f"the server's task cannot be used: {error.what}",
            where=f"policy {name}, SAS {error.where}" if error.where else f"policy {name}",
            expected=error.expected,
        ) from None


def load_grpc(argument: str, task: Task) -> Policy:
    parsers = {"timeout": positive, "connect-timeout": positive, "in-flight": positive}
    options, address = split_options(argument, "grpc", parsers)
    if not re.fullmatch(r"unix:\S+|(\[[0-9a-fA-F:.%]+\]|[^\s:/]+):[0-9]{1,5}", address):
        raise UsageError(
            f"{address!r} is not an address" if address else "no address",
            where=f"policy grpc:{argument}",
            expected="HOST:PORT or unix:PATH",
        )
    port = address.rpartition(":")[2]
    if not address.startswith("unix:") and not 1 <= int(port) <= MOST_PORT:
        raise UsageError(
            f"there is no port {port}",
            where=f"policy grpc:{argument}",
            expected=f"a port from 1 to {MOST_PORT}",
        )
    return GrpcPolicy(
        task,
        address,
        timeout=options.get("timeout", 60.0),
        connect_timeout=options.get("connect_timeout", 5.0),
        in_flight=max(1, int(options.get("in_flight", IN_FLIGHT))),
    )


__all__ = ["GrpcPolicy", "load_grpc"]
