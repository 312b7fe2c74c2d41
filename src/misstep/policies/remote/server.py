"""Serves any policy to the clients of the policy-server protocol.

Requests that arrive while the policy is busy wait together and become its next batch. A very fast
policy is asked at once instead: handing a state to another thread and back would take longer than
the decision.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, NamedTuple

import grpc
import numpy as np

from misstep.decoding import excerpt
from misstep.errors import MisstepError, ToolError
from misstep.policies.policy import FAILED, TIMED_OUT, Policy
from misstep.policies.remote import wire
from misstep.policies.remote.loop import LoopThread
from misstep.raised import in_words
from misstep.stops import ends_work

_QUICK = 0.0005  # a policy that answers within so many seconds is fast
_GRACE = 1.0  # seconds for unfinished calls when the server stops
LETTERS = 400  # of why there is no answer: gRPC loses a status of more than 8 KB, and the mark of a crash with it
_SERVER_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    # Otherwise two servers on one port would silently share its clients.
    ("grpc.so_reuseport", 0),
)


class Failure(NamedTuple):
    """Why there is no answer: the policy has crashed, or it was late, or what it asks is away."""

    text: str
    crashed: bool = True


class PolicyServer:
    """A running server; `port` is where it listens (0 for a unix socket)."""

    def __init__(self, policy: Policy, address: str = "127.0.0.1:0") -> None:
        self._policy = policy
        self._address = address
        self._task_answer = wire.encode_text(policy.task.sas)
        self._sizes = policy.task.domain_sizes
        # Read once, as by runs: an exception among the batches would end all answers.
        self._batch_size = max(1, policy.batch_size)
        self._waiting: list[tuple[list[int], asyncio.Future[int | Failure]]] = []
        self._busy = False
        self._quick = False
        # The policy is asked by one thread at a time.
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="policy")
        self._thread = LoopThread("policy-server")
        try:
            self.port = self._thread.call(self._start())
        except BaseException:
            self._thread.stop()
            self._asker.shutdown()
            raise

    async def _start(self) -> int:
        self._some_wait = asyncio.Event()
        self._server = grpc.aio.server(options=_SERVER_OPTIONS)
        handlers = {
            wire.GET_TASK: self._get_task,
            wire.GET_OPERATOR: self._get_operator,
            wire.GET_PROBABILITIES: self._get_probabilities,
        }
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    wire.SERVICE,
                    {
                        name: grpc.unary_unary_rpc_method_handler(handler)
                        for name, handler in handlers.items()
                    },
                ),
            )
        )
        try:
            port = self._server.add_insecure_port(self._address)
        except RuntimeError:
            raise ToolError(
                "cannot listen there",
                where=self._address,
                hint="is there such a host? is the port in use? --port 0 picks a free one",
            ) from None
        await self._server.start()
        self._batches = asyncio.ensure_future(self._serve_batches())
        return 0 if self._address.startswith("unix:") else int(port)

    async def _get_task(self, _: bytes, __: Any) -> bytes:
        return self._task_answer

    async def _get_operator(self, request: bytes, context: Any) -> bytes:
        return wire.encode_operator(await self._choose(request, context))

    async def _get_probabilities(self, request: bytes, context: Any) -> bytes:
        operator = await self._choose(request, context)
        return wire.encode_probabilities([] if operator < 0 else [(operator, 1.0)])

    async def _choose(self, request: bytes, context: Any) -> int:
        try:
            values = wire.decode_state_request(request)
            self._check(values)
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if self._quick and not self._busy:
            result = self._ask([values])[0]
        else:
            future: asyncio.Future[int | Failure] = asyncio.get_running_loop().create_future()
            self._waiting.append((values, future))
            self._some_wait.set()
            result = await future
        if isinstance(result, Failure):
            code = grpc.StatusCode.INTERNAL if result.crashed else grpc.StatusCode.ABORTED
            mark = ((wire.CRASHED, "1"),) if result.crashed else ()
            await context.abort(code, excerpt(" ".join(result.text.split()), LETTERS), mark)
            raise AssertionError  # not reached: abort raises
        return result

    def _check(self, values: list[int]) -> None:
        if len(values) != len(self._sizes):
            raise ValueError(
                f"the state has {len(values)} values, the task {len(self._sizes)} variables"
            )
        for variable, (value, size) in enumerate(zip(values, self._sizes, strict=True)):
            if not 0 <= value < size:
                raise ValueError(
                    f"variable {variable} has no value {value}: its domain has {size} values"
                )

    async def _serve_batches(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._some_wait.wait()
            batch = self._waiting[: self._batch_size]
            self._waiting = self._waiting[self._batch_size :]
            if not self._waiting:
                self._some_wait.clear()
            states = [values for values, _ in batch]
            self._busy = True
            results = await loop.run_in_executor(self._asker, self._ask, states)
            self._busy = False
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():  # or the client has gone
                    future.set_result(result)

    def _ask(self, states: list[list[int]]) -> list[int | Failure]:
        start = perf_counter()
        try:
            answers = self._policy.decide(np.array(states, dtype=np.int32).reshape(len(states), -1))
            problem = answers.problem(len(states), self._policy.task)
            if problem is not None:
                return [Failure(problem)] * len(states)
            texts = answers.messages
            return [
                Failure(texts.get(row, "the policy failed"), operator == FAILED)
                if operator in (FAILED, TIMED_OUT)
                else operator
                for row, operator in enumerate(answers.operators.tolist())
            ]
        except BaseException as error:  # a policy is foreign code; the server continues
            text = f"the policy failed: {in_words(error)}"
            return [Failure(text, not (isinstance(error, MisstepError) or ends_work(error)))] * len(
                states
            )
        finally:
            self._quick = perf_counter() - start < _QUICK

    def stop(self) -> None:
        """Stop listening, wait shortly for unfinished calls, and end. The policy stays open."""
        if self._thread.loop.is_running():
            self._thread.call(self._stop())
            self._thread.stop()
        self._asker.shutdown(wait=False, cancel_futures=True)

    async def _stop(self) -> None:
        await self._server.stop(_GRACE)
        self._batches.cancel()


__all__ = ["PolicyServer"]
