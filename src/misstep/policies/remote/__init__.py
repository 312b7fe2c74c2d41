"""Policies behind a policy server: `grpc:ADDRESS`, and a server for any policy."""

from __future__ import annotations

from importlib.util import find_spec

from misstep.errors import MissingDependencyError
from misstep.policies.policy import Policy
from misstep.tasks.task import Task


def require_grpc() -> None:
    if find_spec("grpc") is None:
        raise MissingDependencyError(
            "the package grpcio is not installed", hint="pip install 'misstep[remote]'"
        )


def load(argument: str, task: Task) -> Policy:
    """Loads `grpc:[--timeout=S] [--connect-timeout=S] [--in-flight=N] ADDRESS`."""
    require_grpc()
    from misstep.policies.remote.client import load_grpc

    return load_grpc(argument, task)


__all__ = ["load", "require_grpc"]
