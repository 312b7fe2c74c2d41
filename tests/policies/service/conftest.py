"""Every test has services of its own, which are gone when it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from misstep.policies import service
from misstep.policies.service import client

pytestmark = pytest.mark.skipif(not service.supported(), reason="the service needs Linux")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, as the addresses of sockets have to be."""
    folder = Path(tempfile.mkdtemp(prefix="ms", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.delenv(service.VARIABLE, raising=False)
    yield folder
    client.leave()
    client._clients.clear()
    shutil.rmtree(folder)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # one that nobody has reaped yet has ended
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def ends() -> Callable[[int], bool]:
    """Whether a process ends soon."""

    def soon(pid: int) -> bool:
        deadline = time.monotonic() + 20
        while is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        return not is_running(pid)

    return soon
