"""The kernels for GPUs, in Triton's interpreter, agree with the same network in PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

pytestmark = pytest.mark.soundness  # the interpreter takes its time


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    works = interpreted("interpreted.py")
    if works.returncode:
        pytest.skip(f"Triton's interpreter fails: {works.stderr.strip().splitlines()[-1]:.120}")
    done = interpreted("kernel_cases.py")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def interpreted(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(Path(__file__).parents[2] / "support" / script)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_kernels_are_used(found: dict[str, Any]) -> None:
    assert found["nodes"] == [4, 6]
    assert found["refused"] == ["", ""]
    assert found["steady"] == [True, True]


def test_values_and_logits_are_those_of_the_network(found: dict[str, Any]) -> None:
    assert len(found["error"]) == 4
    assert max(found["error"]) < 1e-5
    assert found["error of whole products"] < 1e-5


def test_company_changes_no_bit(found: dict[str, Any]) -> None:
    assert found["alone"]


def test_parts_of_several_tasks_change_no_bit(found: dict[str, Any]) -> None:
    assert found["joined"] == [True, True]


def test_variables_may_share_their_facts(found: dict[str, Any]) -> None:
    assert found["shared"] == ["", True]


def test_smaller_tiles_are_used_where_the_large_do_not_fit(found: dict[str, Any]) -> None:
    refused, tile, forced = found["small card"]
    assert refused == ""
    assert tile == 32
    assert "out of shared memory" in forced


def test_a_network_without_kernels_stays_as_it_was(found: dict[str, Any]) -> None:
    refused, steady = found["odd width"]
    assert "24" in refused
    assert not steady


def test_what_is_not_a_number_stays_so(found: dict[str, Any]) -> None:
    assert found["not a number"]
