"""Without grpcio, one line says what to install."""

from __future__ import annotations

import importlib.util

import pytest

from misstep.errors import MissingDependencyError
from misstep.policies.remote import load
from misstep.tasks.task import Task


def test_missing_dependency(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "misstep.policies.remote.find_spec", lambda name: None if name == "grpc" else find(name)
    )
    with pytest.raises(MissingDependencyError, match=r"pip install 'misstep\[remote\]'"):
        load("localhost:1", task)
