"""Databases that are damaged at random, row by row and byte by byte: a clean error, or an answer.

What is in a file is never the fault of the person who typed the command, so exit code 2 is wrong, and it is never a
bug of ours, so "internal error" is wrong as well.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep._core import CounterRandom
from support.attacks import change, damage_bytes, damage_rows
from support.commands import misstep

COMMANDS = (
    ("records", "{folder}"),
    ("records", "{folder}", "--json"),
    ("replay", "{folder}"),
    ("explain", "{folder}"),
    ("explain", "{folder}", "{bug}"),
    ("replay", "{folder}", "--rerun"),
    ("explain", "{folder}", "{bug}", "--deeper", "--time", "3"),
    ("test", "--resume", "--out", "{folder}", "--time", "5"),
    ("judge", "{folder}", "--oracle", "undo", "--time", "5"),
)
Damage = Callable[[Path, CounterRandom], str]


def attack(normal: Path, place: Path, bug: str, damage: Damage, seeds: range) -> Counter[str]:
    """How often which command ended how; the wrong ends are told with what led there."""
    ends: Counter[str] = Counter()
    for seed in seeds:
        folder = place / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(normal, folder)
        done = damage(folder, CounterRandom(seed))
        for command in COMMANDS:
            if "judge" in command and "one-way" in bug:
                continue  # the models have one oracle
            words = [word.format(folder=folder, bug=bug) for word in command]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = misstep(*words)
            # A record that is gone cannot be explained, and that is no damage that could be noticed.
            missing = re.search(r"no record|is no bug|no campaign", result.stderr)
            if result.returncode == 39 or (result.returncode == 2 and not missing):
                message = result.stderr.strip().splitlines()[-1].replace(str(folder), "DIR")
                ends[
                    f"{result.returncode} {' '.join(command)} seed {seed}: {done[:150]}: {message[:300]}"
                ] += 1
    return ends


def check(folders: dict[str, Path], place: Path, damage: Damage, seeds: range, world: str) -> None:
    from misstep.campaigns.campaign import open_campaign

    with open_campaign(folders[world]) as campaign:
        bug = campaign.bugs[0].id
    wrong = attack(folders[world], place, bug, damage, seeds)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("world", ["task", "model"])
@pytest.mark.parametrize("damage", [damage_rows, damage_bytes])
def test_damage(folders: dict[str, Path], tmp_path: Path, damage: Damage, world: str) -> None:
    check(folders, tmp_path, damage, range(20), world)


def test_a_fault_behind_the_end_of_its_run(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(folders["model"], folder)
    with sqlite3.connect(folder / "run.db") as connection:
        assert connection.execute("UPDATE faults SET step = step + 1000").rowcount > 0
    connection.close()
    result = misstep("records", str(folder), "--metrics")
    assert result.returncode == 31, result.stderr
    assert "damaged" in result.stderr


def test_a_rule_that_chooses_and_is_no_text(folders: dict[str, Path], tmp_path: Path) -> None:
    """Every record showed the number where users expect the name of a rule."""
    folder = Path(shutil.copytree(folders["task"], tmp_path / "damaged"))
    change(folder, """INSERT INTO meta VALUES ('nature', '{"kind": "function", "chooser": 1}')""")
    result = misstep("records", str(folder), "--json")
    assert result.returncode == 31, result.stderr
    assert "the name of a rule" in result.stderr


@pytest.mark.soundness
@pytest.mark.parametrize("world", ["task", "model"])
@pytest.mark.parametrize("damage", [damage_rows, damage_bytes])
def test_much_damage(folders: dict[str, Path], tmp_path: Path, damage: Damage, world: str) -> None:
    check(folders, tmp_path, damage, range(1000, 1500), world)
