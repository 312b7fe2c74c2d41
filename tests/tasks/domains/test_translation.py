"""The reference translator accepts every domain, as a toy and at random sizes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.tasks.domains import DOMAINS, Instance, generate, write_instance

COSTED = {"elevators", "floortile", "scanalyzer", "transport", "woodworking"}


def translate(instance: Instance, folder: Path) -> str:
    """The FDR task, as text."""
    domain, problem = write_instance(instance, folder)
    output = folder / "output.sas"
    command = [sys.executable, "-m", "fast_downward.translate", "--sas-file", str(output)]
    done = subprocess.run(
        [*command, str(domain), str(problem)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return output.read_text()


def check(sas: str, name: str) -> None:
    metric = sas.split("begin_metric\n")[1][0]
    assert metric == ("1" if name in COSTED else "0")
    goals = int(sas.split("begin_goal\n")[1].split("\n")[0])
    operators = sas.count("begin_operator")
    assert goals >= 1
    # An unsolvable or trivial task is translated to one with a placeholder goal and no operators.
    assert operators >= 1
    axioms = sas.rsplit("end_operator\n", 1)[1].split("\n")[0]
    assert axioms == "0"


@pytest.mark.parametrize("name", DOMAINS)
def test_toys_are_translated(name: str, toys: dict[str, dict[str, int]], tmp_path: Path) -> None:
    check(translate(generate(name, **toys[name]), tmp_path), name)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", DOMAINS)
def test_random_sizes_are_translated(
    name: str, seed: int, draw_sizes: Callable[[str, int], dict[str, int]], tmp_path: Path
) -> None:
    check(translate(generate(name, seed=seed, **draw_sizes(name, seed)), tmp_path), name)
