"""Our server, called as any client would."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import ToolError
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.policies.remote import wire
from misstep.tasks.task import Task

grpc = pytest.importorskip("grpc", reason="grpcio is not installed")

Serve = Callable[..., str]


@pytest.fixture
def call() -> Iterator[Callable[..., bytes]]:
    channels: list[Any] = []

    def run(address: str, method: str, request: bytes) -> bytes:
        channel = grpc.insecure_channel(address)
        channels.append(channel)
        stub = channel.unary_unary(f"/phrm.policy.Policy/{method}")
        answer: bytes = stub(request, timeout=30, wait_for_ready=True)
        return answer

    yield run
    for channel in channels:
        channel.close()


def test_methods(
    task: Task,
    states: States,
    serve: Serve,
    call: Callable[..., bytes],
    first_applicable: Callable[[Task], Policy],
) -> None:
    policy = first_applicable(task)
    address = serve(policy)
    assert wire.decode_text(call(address, "GetFDRTaskFD", b"")) == task.sas
    for state in states[:5]:
        expected = int(policy.decide(state[None, :]).operators[0])
        request = wire.encode_state_request(state.tolist())
        assert wire.decode_operator(call(address, "GetFDRStateOperator", request)) == expected
        answer = call(address, "GetFDRStateOperatorsProb", request)
        assert wire.decode_probabilities(answer) == [(expected, 1.0)]


@pytest.mark.parametrize(
    ("request_bytes", "message"),
    [
        (b"", "no state"),
        (b"\x0a", "cut off"),
        (wire.encode_state_request([0, 0]), "has 2 values, the task 5 variables"),
        (wire.encode_state_request([0, 0, 0, 0, 77]), "variable 4 has no value 77"),
        (wire.encode_state_request([-1, 0, 0, 0, 0]), "variable 0 has no value -1"),
    ],
)
def test_bad_states(
    task: Task,
    serve: Serve,
    call: Callable[..., bytes],
    scripted: Callable[[Task], Policy],
    request_bytes: bytes,
    message: str,
) -> None:
    address = serve(scripted(task))
    for method in ("GetFDRStateOperator", "GetFDRStateOperatorsProb"):
        with pytest.raises(grpc.RpcError) as caught:
            call(address, method, request_bytes)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert message in caught.value.details()


def test_no_action_and_failure(
    task: Task, serve: Serve, call: Callable[..., bytes], scripted: Callable[[Task], Policy]
) -> None:
    address = serve(scripted(task))
    stop, fail = (wire.encode_state_request([first, 0, 0, 0, 0]) for first in (0, 1))
    assert wire.decode_operator(call(address, "GetFDRStateOperator", stop)) == -1
    assert wire.decode_probabilities(call(address, "GetFDRStateOperatorsProb", stop)) == []
    with pytest.raises(grpc.RpcError) as caught:
        call(address, "GetFDRStateOperator", fail)
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert "cannot read" in caught.value.details()


class WithoutText(Policy):
    """Its exceptions cannot be printed, and its batch size can be read once."""

    asked = 0

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("no size")
        return 8

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        class WithoutTextError(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text")

        time.sleep(0.001)  # a quick policy is not asked in batches
        raise WithoutTextError


def test_a_policy_does_not_stop_the_answers(
    task: Task, serve: Serve, call: Callable[..., bytes]
) -> None:
    address = serve(WithoutText(task))
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as caught:
            call(address, "GetFDRStateOperator", wire.encode_state_request([0] * 5))
        assert caught.value.code() == grpc.StatusCode.INTERNAL
        assert "whose text cannot be shown" in caught.value.details()


def test_port_in_use(task: Task, serve: Serve, scripted: Callable[[Task], Policy]) -> None:
    address = serve(scripted(task))
    with pytest.raises(ToolError, match="cannot listen there"):
        serve(scripted(task), address)


PROGRAM = """\
import sys
from pathlib import Path
import numpy as np
from misstep.cli.serve_policy import serve
from misstep.policies.policy import Answers, Policy
from misstep.tasks.task import Task
class Constant(Policy):
    def decide(self, states, candidates=None):
        return Answers(np.full(len(states), 3, dtype=np.int32))
sys.exit(serve(Constant(Task(Path(sys.argv[1]).read_bytes())), sys.argv[2]))
"""


def send_to_another_thread(pid: int, number: int) -> None:
    """The signal interrupts no call of the main thread then, as one that comes just before that call does not."""
    others = [int(own.name) for own in Path(f"/proc/{pid}/task").iterdir() if own.name != str(pid)]
    assert ctypes.CDLL(None).tgkill(pid, others[0], number) == 0


@pytest.mark.parametrize("send", [os.kill, send_to_another_thread])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_cleanly(
    task: Task,
    call: Callable[..., bytes],
    tmp_path: Path,
    number: signal.Signals,
    send: Callable[[int, int], None],
) -> None:
    (tmp_path / "task.sas").write_bytes(task.sas)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "task.sas"), "127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("Server listening on port ")
        request = wire.encode_state_request([0, 0, 0, 0, 0])
        answer = call(f"127.0.0.1:{line.split()[-1]}", "GetFDRStateOperator", request)
        assert wire.decode_operator(answer) == 3
        send(server.pid, number)
        try:
            output, errors = server.communicate(timeout=30)
        finally:
            server.kill()
        assert (server.returncode, output, errors) == (0, "", "")
