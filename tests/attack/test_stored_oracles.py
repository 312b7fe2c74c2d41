"""A folder names an oracle that another package adds: its code does not run without the user's word."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import UsageError
from misstep.oracles import trust
from misstep.oracles.registry import GROUP
from misstep.oracles.trust import foreign_oracles
from support.attacks import change
from support.commands import misstep
from support.tasks import small_task

CODE = """
from pathlib import Path
from misstep.oracles.searches import EnforcedHillClimbing
Path({mark!r}).touch()
class Mine(EnforcedHillClimbing):
    name = "mine"
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once the code of the installed oracle `mine` has run."""
    mark = tmp_path / "mark"
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "oracle_of_others.py").write_text(CODE.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path / "package")
    monkeypatch.delitem(sys.modules, "oracle_of_others", raising=False)
    point = metadata.EntryPoint("mine", "oracle_of_others:Mine", GROUP)

    def entry_points(group: str, name: str = "mine") -> list[metadata.EntryPoint]:
        return [point] if (group, name) == (GROUP, "mine") else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.setattr(trust, "_GIVEN", set())
    return mark


def name_oracle(folder: Path, where: str) -> None:
    """Let a campaign say that it was judged by that oracle."""
    if where == "verdicts":
        change(folder, "UPDATE verdicts SET oracle = 'mine'")
        return
    change(
        folder,
        "UPDATE meta SET value = replace(value, 'oracle = \"exact\"', 'oracle = \"lmcut, mine\"') "
        "WHERE key = 'config'",
    )
    text = (folder / "config.toml").read_text()
    assert 'oracle = "exact"' in text
    (folder / "config.toml").write_text(text.replace('"exact"', '"lmcut, mine"'))


def test_names_are_found_without_loading(mark: Path) -> None:
    assert foreign_oracles("lmcut, (bmo(100)+mine)/ehc") == ["mine"]
    assert foreign_oracles("p23") == foreign_oracles("exact(7)") == foreign_oracles(7) == []
    assert not mark.exists()


@pytest.mark.parametrize("where", ["settings", "verdicts"])
@pytest.mark.parametrize(
    "command",
    [
        ("test", "--resume", "--out", "{folder}"),
        ("test", "--resume", "--out", "{folder}", "--pool", "14"),
        ("judge", "{folder}", "--oracle", "undo"),
    ],
)
def test_commands_run_nothing(
    folder: Path, mark: Path, where: str, command: tuple[str, ...]
) -> None:
    name_oracle(folder, where)
    done = misstep(*(word.format(folder=folder) for word in command))
    assert not mark.exists()
    assert done.returncode == 2, done.stderr
    assert "the stored oracle 'mine' would run code of another package" in done.stderr
    assert "--trust-policy" in done.stderr


@pytest.mark.parametrize("command", ["records", "replay", "explain"])
def test_reading_needs_no_word(folder: Path, mark: Path, command: str) -> None:
    name_oracle(folder, "verdicts")
    misstep(command, folder)
    assert not mark.exists()


def test_settings_of_a_stranger(folder: Path, mark: Path) -> None:
    name_oracle(folder, "settings")
    task = small_task("gripper-4")
    config = folder / "config.toml"
    with pytest.raises(UsageError, match="would run code of another package"):
        run_campaign(task, "first", config=config, pool=3)
    assert not mark.exists()
    run_campaign(task, "first", config=config, pool=3, trust_policy=True).close()
    assert mark.exists()


@pytest.mark.parametrize(
    "give",
    [
        lambda folder: misstep("test", "--resume", "--out", folder, "--trust-policy"),
        lambda folder: misstep("judge", folder, "--oracle", "mine"),
    ],
)
def test_the_word_of_the_user_is_enough(
    folder: Path, mark: Path, give: Callable[[Path], object]
) -> None:
    name_oracle(folder, "verdicts")
    give(folder)
    assert mark.exists()


def test_somebody_is_asked(folder: Path, mark: Path) -> None:
    name_oracle(folder, "verdicts")
    asked: list[str] = []

    def no(spec: str) -> bool:
        asked.append(spec)
        return False

    with open_campaign(folder, trust_policy=no) as campaign, pytest.raises(UsageError):
        campaign.resume()
    assert asked == ["--oracle mine"]
    assert not mark.exists()
