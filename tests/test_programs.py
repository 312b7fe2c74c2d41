"""Interpreters that we start: nothing in the current folder runs before they are ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from misstep.campaigns import workers
from misstep.campaigns.cluster import host, local
from misstep.experiments import driver
from misstep.policies import elsewhere
from misstep.policies.networks import onnx_host
from misstep.policies.process import host as policy_host
from misstep.policies.service import address

PROGRAMS = {
    "worker": workers._MAIN,
    "process on a cluster": host._MAIN,
    "local cluster": local.PROGRAM,
    "asking again": elsewhere._MAIN,
    "policy": policy_host.MAIN,
    "network": onnx_host.MAIN,
    "service": address._MAIN,
    "unit of an experiment": driver.PROGRAM,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_strangers_folder_runs_nothing(name: str, tmp_path: Path) -> None:
    """The folder from which `misstep` is called may be a stranger's, and hold a file json.py."""
    for module in ("json", "os", "misstep"):
        (tmp_path / f"{module}.py").write_text("print('it runs', flush=True)\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name], "[]"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0  # it needs to be told more
    assert "it runs" not in done.stdout
