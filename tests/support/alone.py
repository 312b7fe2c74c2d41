"""Tests that fork. Other tests leave threads behind (gRPC, PyTorch), and a fork beside these could hang."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from misstep.campaigns.workers import can_start


def ran_alone(policy: object, request: pytest.FixtureRequest) -> bool:
    """Whether the policy cannot be forked here, so that the test ran in a process of its own, and passed."""
    if can_start(policy):
        return False
    assert "MISSTEP_TEST_ALONE" not in os.environ, "a new process cannot fork, either"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", request.node.nodeid]
    done = subprocess.run(
        command,
        cwd=request.config.rootpath,
        env={**os.environ, "MISSTEP_TEST_ALONE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return True


__all__ = ["ran_alone"]
