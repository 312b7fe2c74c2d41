"""`misstep retest` as a user types it: what it prints, keeps and ends with."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.commands import misstep, result_of

NOISY = "noisy:0.3:1+heuristic:ff"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gripper")
    assert misstep("generate", "gripper", "--balls", "3", "-o", place / "task").returncode == 0
    out = place / "found"
    result_of("test", place / "task", "--policy", NOISY, "--pool", "12", "-o", out, code=1)
    return out


def test_bugs_that_are_gone(found: Path) -> None:
    ran = misstep("retest", found, "--policy", "optimal")
    assert ran.returncode == 0
    first, *rest = ran.stdout.splitlines()
    assert first.split()[:2] == [
        "fixed",
        str(result_of("retest", found, "--policy", "optimal")["counts"]["fixed"]),
    ]
    assert not any("next:" in line for line in rest)
    assert "0 by the oracle" in ran.stderr


def test_bugs_that_are_there(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    ran = misstep("retest", found, "--policy", "random:7", "-o", out)
    assert ran.returncode == 1
    command = next(line for line in ran.stdout.splitlines() if line.startswith("next: "))
    words = command.removeprefix("next: misstep ").split()
    assert misstep(*words).returncode == 0
    data = result_of("retest", found, "--policy", "random:7", "-o", out, "--resume", code=1)
    assert data["retest"] == str(out)
    assert data["bugs"]["now"] == sum(
        data["counts"][w] for w in ("better", "still", "worse", "new")
    )
    assert misstep("replay", out).returncode == 0
    assert 'retest = "witnesses"' in (out / "config.toml").read_text()


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ((), 2, "--policy SPEC"),
        (("--policy", "optimal", "--resume"), 2, "--resume without --out"),
        (("--policy", "optimal", "--fault-budget", "some"), 2, "--fault-budget is 'some'"),
        (("--policy", "optimal", "--oracle", "best"), 2, "best"),
        (("--policy", "no-such-policy"), None, "no-such-policy"),
    ],
)
def test_what_is_refused(found: Path, given: tuple[str, ...], code: int | None, said: str) -> None:
    ran = misstep("retest", found, *given)
    assert ran.returncode == code if code is not None else ran.returncode > 1
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_damaged_older_and_missing_folders(found: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(found, tmp_path / "old"))
    with closing(sqlite3.connect(old / "run.db", isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'schema'")
    ran = misstep("retest", old, "--policy", "optimal")
    assert ran.returncode in range(30, 40)
    assert "schema 3" in ran.stderr
    damaged = Path(shutil.copytree(found, tmp_path / "damaged"))
    content = bytearray((damaged / "run.db").read_bytes())
    content[4096:] = b"?" * len(content[4096:])
    (damaged / "run.db").write_bytes(bytes(content))
    ran = misstep("retest", damaged, "--policy", "optimal")
    assert ran.returncode in range(30, 40)
    assert misstep("retest", tmp_path / "none", "--policy", "optimal").returncode in range(30, 40)


def test_a_policy_that_fails_everywhere(found: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def act(state):\n    raise ValueError('no')\n")
    spec = f"python:{tmp_path / 'mine.py'}:act"
    ran = misstep("retest", found, "--policy", spec, "--json")
    assert ran.returncode == 10
    assert json.loads(ran.stdout)["crashes"] == 12
