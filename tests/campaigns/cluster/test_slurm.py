"""Workers that are jobs of a Slurm that runs: skipped where there is none. docs/cluster.md tells how to start a small
one on a machine of your own."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.testing import test as run_campaign
from support.campaigns import NOISY, ORACLE, SHARING, told
from support.cluster import Notes, needs_dask
from support.tasks import small_task

NAME = "misstep-test"


def asked(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.split() if done.returncode == 0 else []


def nodes() -> list[str]:
    """That are free now: a queue that is full would let the test wait for hours."""
    if shutil.which("sinfo") is None:
        return []
    return asked("sinfo", "--noheader", "--Node", "--states=idle,mixed", "--format=%N")


def jobs() -> list[str]:
    return asked("squeue", "--noheader", f"--name={NAME}", "--states=R,PD", "--format=%i")


pytestmark = [
    pytest.mark.soundness,
    needs_dask,
    pytest.mark.skipif(not nodes(), reason="there is no Slurm with a free node (sinfo)"),
]


class Cancelling(Notes):
    """Takes one of the jobs away when the first state has been judged."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: list[str] = []

    def __call__(self, phase: str, done: int, *_: object) -> None:
        if done and phase.endswith("judging") and not self.cancelled:
            self.cancelled = jobs()[:1]
            asked("scancel", *self.cancelled)


def test_jobs_of_slurm(tmp_path: Path) -> None:
    """The records are those of a run in this process, also if a job is cancelled; and no job stays behind."""
    source = Path(misstep.__file__).parents[1]
    options: dict[str, Any] = {
        "jobs": 2,
        "cores": 1,
        "memory": "500MB",
        "walltime": "00:10:00",
        "job_script_prologue": [f"export PYTHONPATH={source}"],
        "job_extra_directives": [f"--job-name={NAME}"],
        "log_directory": str(tmp_path / "logs"),
    }
    if set(nodes()) == {socket.gethostname().partition(".")[0]}:
        options["interface"] = "lo"
    file = tmp_path / "jobs.toml"
    file.write_text("".join(f"{name} = {json.dumps(own)}\n" for name, own in options.items()))
    how: dict[str, Any] = {"pool": 60, "oracle": ORACLE, "config": SHARING}
    progress = Cancelling()
    task = small_task("blocksworld-4")
    with (
        run_campaign(task, NOISY, **how) as here,
        run_campaign(task, NOISY, cluster=f"slurm:{file}", progress=progress, **how) as there,
    ):
        assert told(there) == told(here)
        assert there.summary.finished
    assert any(line.startswith(f"cluster slurm:{file}") for line in progress.lines)
    assert progress.cancelled
    assert not jobs()
