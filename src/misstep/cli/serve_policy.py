"""`misstep serve-policy`: serve any policy by the policy-server protocol."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, KeepUnimportant, TaskPaths, read_task
from misstep.cli.output import has_reader, print_json
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.policies.policy import Policy

MOMENT = 0.2  # seconds between two looks at whether a signal has asked to stop


def serve_policy_command(
    policy: Annotated[str, typer.Argument(metavar="SPEC", help="The policy to serve.")],
    task: TaskPaths,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="N", help="Port; 0, the default, picks a free one."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen at; 0.0.0.0 for all.")
    ] = "127.0.0.1",
    unix: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Listen at a unix socket instead.")
    ] = None,
    keep_unimportant: KeepUnimportant = True,
    as_json: AsJson = False,
) -> int:
    """Serve a policy to other programs until Ctrl-C, without encryption or passwords.

    Example: misstep serve-policy heuristic:ff domain.pddl problem.pddl --port 50051
    """
    if unix is not None and port is not None:
        raise UsageError("--port and --unix cannot be combined")
    from misstep.policies.load import load_policy
    from misstep.policies.remote import require_grpc
    from misstep.policies.service import sharing

    require_grpc()
    address = f"{host}:{port or 0}" if unix is None else f"unix:{unix}"
    with sharing():  # servers of several tasks, and campaigns beside them, share one GPU
        loaded = load_policy(policy, read_task(task, keep_unimportant))
        try:
            return serve(loaded, address, as_json)
        finally:
            loaded.close()


def serve(policy: Policy, address: str, as_json: bool = False) -> int:
    """Serve until a signal asks to stop."""
    from misstep.policies.remote.server import PolicyServer

    asked = False

    def stop(*_: object) -> None:
        nonlocal asked
        asked = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server = PolicyServer(policy, address)
        try:
            _announce(server.port, address, as_json)
            if has_reader():  # else who started us is gone, and nobody would end us
                # Nothing wakes a thread that begins to wait for a lock just as a signal arrives.
                while not asked:
                    time.sleep(MOMENT)
        finally:
            server.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _announce(port: int, address: str, as_json: bool) -> None:
    if as_json:
        print_json({"port": port or None, "address": f"127.0.0.1:{port}" if port else address})
    elif port:
        print(f"Server listening on port {port}")
    else:
        print(f"Server listening on {address}")
    sys.stdout.flush()  # the program that started us waits for this line
