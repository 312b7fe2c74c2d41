"""Our client with our server, with servers that misbehave, and without a server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, PolicyAwayError, ToolError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT, Answers, Policy, States
from misstep.policies.remote import load, wire
from misstep.tasks.task import Task

Serve = Callable[..., str]


pytest.importorskip("grpc", reason="grpcio is not installed")


@pytest.mark.parametrize("transport", ["tcp", "unix"])
@pytest.mark.parametrize("in_flight", [1, 10])
def test_same_decisions(
    task: Task,
    states: States,
    serve: Serve,
    shuffle: Callable[..., bytes],
    first_applicable: Callable[[Task], Policy],
    tmp_path: Path,
    transport: str,
    in_flight: int,
) -> None:
    server_task = Task(shuffle(task, 7))
    served = first_applicable(server_task)
    address = serve(served, "127.0.0.1:0" if transport == "tcp" else f"unix:{tmp_path}/socket")
    policy = load(f"--in-flight={in_flight} {address}", task)
    try:
        answers = policy.decide(states)
        assert answers.messages == {}
        # The server's choice is its own; here it must be applicable and have the same name.
        for state, op in zip(states, answers.operators.tolist(), strict=True):
            theirs = policy._matching.states(state[None, :])  # type: ignore[attr-defined]
            chosen = int(served.decide(theirs).operators[0])
            assert server_task.operator_name(chosen).strip().lower() == task.operator_name(op)
        task.apply_batch(states, answers.operators)
        assert policy.decide(states[:0]).operators.tolist() == []
    finally:
        policy.close()
        policy.close()


def test_concurrent_calls_become_batches(
    task: Task,
    states: States,
    serve: Serve,
    first_applicable: Callable[[Task], Policy],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = first_applicable(task)
    decide = served.decide

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.02)
        return decide(*arguments)

    monkeypatch.setattr(served, "decide", slowly)
    policy = load(serve(served), task)
    policy.decide(states)
    policy.close()
    assert max(served.batches) > 1  # type: ignore[attr-defined]


def test_failures_of_the_policy(
    task: Task, states: States, serve: Serve, scripted: Callable[[Task], Policy]
) -> None:
    policy = load(serve(scripted(task)), task)
    answers = policy.decide(states)
    policy.close()
    guilty = states[:, 0] == 1
    assert (answers.operators == np.where(guilty, FAILED, NO_ACTION)).all()
    assert sorted(answers.messages) == np.flatnonzero(guilty).tolist()
    for message in answers.messages.values():
        assert "cannot read" in message or "out of paper" in message


@pytest.mark.parametrize("text", ["x" * 100_000, "é" * 50_000, "two\nlines\x00", "half \ud800"])
def test_a_crash_may_have_much_to_say(
    task: Task,
    states: States,
    serve: Serve,
    scripted: Callable[[Task], Policy],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
) -> None:
    """A status of gRPC is short, and one of many kilobytes gets lost on the way."""
    served = scripted(task)

    def decide(*_: Any) -> Any:
        raise RuntimeError(text)

    monkeypatch.setattr(served, "decide", decide)
    policy = load(serve(served), task)
    answers = policy.decide(states[:2])
    policy.close()
    assert answers.operators.tolist() == [FAILED, FAILED], answers.messages
    assert "the policy failed: RuntimeError" in answers.messages[0]


def test_strange_answers(task: Task, states: States, raw_serve: Serve) -> None:
    answers = iter([wire.encode_operator(999), wire.encode_operator(-5), b"\x08", b"", b"\xff"])
    address = raw_serve(
        GetFDRTaskFD=lambda *_: wire.encode_text(task.sas),
        GetFDRStateOperator=lambda *_: next(answers),
    )
    policy = load(f"--in-flight=1 {address}", task)
    found = policy.decide(states[:5])
    policy.close()
    assert found.operators.tolist() == [FAILED, FAILED, TIMED_OUT, 0, TIMED_OUT]
    assert "operator 999, its task has 0 to 17" in found.messages[0]
    assert "operator -5" in found.messages[1]
    assert "cannot be read" in found.messages[2]


def test_a_served_policy_that_is_late_or_away_has_not_crashed(
    task: Task, states: States, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it is asked without a server: a crash would be a bug."""
    served = load_policy("first", task)
    policy = load(serve(served), task)
    late = Answers(np.full(1, TIMED_OUT, dtype=np.int32), {0: "no answer within 5 s"})
    monkeypatch.setattr(served, "decide", lambda _: late)
    answers = policy.decide(states[:1])
    assert answers.operators.tolist() == [TIMED_OUT]
    assert "no answer within 5 s" in answers.messages[0]
    for error in (PolicyAwayError("its server is gone"), MemoryError("no room")):

        def fail(_: States, error: BaseException = error) -> Answers:
            raise error

        monkeypatch.setattr(served, "decide", fail)
        answers = policy.decide(states[:1])
        assert answers.operators.tolist() == [TIMED_OUT]
        assert str(error) in answers.messages[0]
    policy.close()


@pytest.mark.parametrize(
    ("code", "details", "expected"),
    [
        ("UNKNOWN", "Exception calling application: 'x'", FAILED),
        ("UNKNOWN", "Unexpected <class 'KeyError'>: 'x'", FAILED),
        # What gRPC makes of proxies and of connections that break. A server may abort with any of these, too.
        ("UNIMPLEMENTED", "Received http2 header with status: 404", TIMED_OUT),
        ("UNKNOWN", "Received http2 header with status: 302", TIMED_OUT),
        ("INTERNAL", "Received RST_STREAM with error code 2", TIMED_OUT),
        ("INTERNAL", "Decompression failed due to zlib error", TIMED_OUT),
        ("DATA_LOSS", "", TIMED_OUT),
    ],
)
def test_only_the_policy_crashes(
    task: Task, states: States, raw_serve: Serve, code: str, details: str, expected: int
) -> None:
    import grpc

    def fail(_: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode[code], details)
        raise AssertionError

    address = raw_serve(
        GetFDRTaskFD=lambda *_: wire.encode_text(task.sas), GetFDRStateOperator=fail
    )
    policy = load(address, task)
    found = policy.decide(states[:1])
    policy.close()
    assert found.operators.tolist() == [expected]
    assert f"{code}" in found.messages[0]


def test_an_exception_in_a_server_of_others(task: Task, states: States, raw_serve: Serve) -> None:
    def fail(*_: object) -> bytes:
        raise KeyError("x")

    address = raw_serve(
        GetFDRTaskFD=lambda *_: wire.encode_text(task.sas), GetFDRStateOperator=fail
    )
    policy = load(address, task)
    assert policy.decide(states[:1]).operators.tolist() == [FAILED]
    policy.close()


def test_an_answer_without_a_message(
    task: Task, states: States, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC gives None where a server sends a status and nothing else."""

    async def nothing(*_: object, **__: object) -> None:
        return None

    policy = load(serve(load_policy("first", task)), task)
    monkeypatch.setattr(policy, "_get_operator", nothing)
    found = policy.decide(states[:1])
    assert found.operators.tolist() == [TIMED_OUT]
    assert "there is none" in found.messages[0]
    monkeypatch.setattr(policy, "_get_task", nothing)
    with pytest.raises(InputFormatError, match="there is none"):
        policy._thread.call(policy._fetch_task())  # type: ignore[attr-defined]
    policy.close()


def test_a_message_may_not_be_larger_than_a_task() -> None:
    """A few kilobytes would unpack to gigabytes."""
    from misstep.policies.remote.client import _CHANNEL_OPTIONS

    assert dict(_CHANNEL_OPTIONS)["grpc.max_receive_message_length"] == 512 * 2**20


def test_deadline(task: Task, states: States, raw_serve: Serve) -> None:
    release = threading.Event()

    def hang(*_: Any) -> bytes:
        release.wait(60)
        return b""

    address = raw_serve(
        GetFDRTaskFD=lambda *_: wire.encode_text(task.sas), GetFDRStateOperator=hang
    )
    policy = load(f"--timeout=0.5 {address}", task)
    found = policy.decide(states[:3])
    release.set()
    policy.close()
    assert found.operators.tolist() == [TIMED_OUT] * 3
    assert "DEADLINE_EXCEEDED" in found.messages[0]


def test_other_task(task: Task, larger: Task, raw_serve: Serve) -> None:
    address = raw_serve(GetFDRTaskFD=lambda *_: wire.encode_text(larger.sas))
    with pytest.raises(InputFormatError, match="ours has not"):
        load(address, task)


def test_no_policy_server(task: Task, raw_serve: Serve) -> None:
    with pytest.raises(ToolError, match=r"UNIMPLEMENTED.*phrm\.policy\.Policy"):
        load(raw_serve(), task)
    with pytest.raises(InputFormatError, match="task cannot be"):
        load(raw_serve(GetFDRTaskFD=lambda *_: wire.encode_text(b"hello")), task)
    with pytest.raises(InputFormatError, match="cannot be read"):
        load(raw_serve(GetFDRTaskFD=lambda *_: b"\x0a"), task)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nobody_there(task: Task) -> None:
    with pytest.raises(ToolError, match="no policy server answers within 1 s"):
        load(f"--connect-timeout=1 127.0.0.1:{free_port()}", task)


@pytest.mark.parametrize("address", ["", "localhost", "localhost:x", "a b:1", "http://x:1"])
def test_bad_address(task: Task, address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT or unix:PATH"):
        load(address, task)


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_does_not_exist(task: Task, port: str) -> None:
    with pytest.raises(UsageError, match=f"there is no port {port}; expected a port from 1 to"):
        load(f"127.0.0.1:{port}", task)


# Answers slowly, so that there is a middle of the batch.
SLOW_SERVER = """\
import sys, time
from pathlib import Path
import numpy as np
from misstep.cli.serve_policy import serve
from misstep.policies.policy import Answers, Policy
from misstep.tasks.task import Task
class Slow(Policy):
    def decide(self, states, candidates=None):
        Path(sys.argv[3]).touch()
        time.sleep(float(sys.argv[4]))
        return Answers(np.full(len(states), 3, dtype=np.int32))
sys.exit(serve(Slow(Task(Path(sys.argv[1]).read_bytes())), sys.argv[2]))
"""


def start_server(folder: Path, task: Task, address: str, pause: float) -> subprocess.Popen[str]:
    (folder / "task.sas").write_bytes(task.sas)
    arguments = [str(folder / "task.sas"), address, str(folder / "asked"), str(pause)]
    server = subprocess.Popen(
        [sys.executable, "-c", SLOW_SERVER, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline().startswith("Server listening")
    return server


def end_server(server: subprocess.Popen[str]) -> None:
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    if server.stdout is not None:
        server.stdout.close()


def test_server_vanishes_and_comes_back(task: Task, states: States, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    server = start_server(tmp_path, task, address, 0.3)
    policy = load(f"--connect-timeout=1 {address}", task)

    def kill() -> None:
        while not (tmp_path / "asked").exists():
            time.sleep(0.01)
        end_server(server)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(PolicyAwayError, match=r"the server is gone: .*--resume continues"):
        policy.decide(states)
    killer.join()

    server = start_server(tmp_path, task, address, 0.0)
    back = policy.decide(states)
    policy.close()
    end_server(server)
    assert back.messages == {}
    assert (back.operators == 3).all()


def test_server_restarts_in_the_middle(task: Task, states: States, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    servers = [start_server(tmp_path, task, address, 600)]
    policy = load(f"--connect-timeout=30 {address}", task)

    def restart() -> None:
        while not (tmp_path / "asked").exists():
            time.sleep(0.01)
        end_server(servers[0])
        servers.append(start_server(tmp_path, task, address, 0.0))

    helper = threading.Thread(target=restart)
    helper.start()
    answers = policy.decide(states)
    helper.join()
    policy.close()
    end_server(servers[1])
    assert answers.messages == {}
    assert (answers.operators == 3).all()
