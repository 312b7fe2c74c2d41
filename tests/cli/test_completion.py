"""The shell completes what a user would have to look up: policies, oracles, presets, campaigns, records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import misstep
from misstep.cli.completion import joined_at_colons


def complete(words: str, shell: str = "bash") -> list[str]:
    """The answers to a shell that completes the last of these words; bash makes a word of each colon."""
    environment = {
        "_MISSTEP_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "misstep"],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return [] if done.stdout == "\n" else done.stdout.splitlines()


def test_policies_oracles_presets_biases_and_domains() -> None:
    found = set(complete("misstep test --policy "))
    assert {"first", "heuristic:", "exec:", "shipped:gripper"} <= found
    assert complete("misstep select task --policies opt") == ["optimal"]
    assert complete("misstep judge found --oracle p") == ["perfect", "p22", "p23", "p24"]
    assert complete("misstep test --preset ") == ["p22", "p23", "p24", "slow"]
    assert complete("misstep test --fuzz greedy") == ["greedy-inf", "greedy-1"]
    assert complete("misstep generate grip") == ["gripper"]


def test_a_word_that_bash_splits_at_its_colon() -> None:
    assert complete("misstep test --policy shipped : grip") == ["gripper"]
    answers = complete("misstep test --policy shipped :")
    assert "gripper" in answers
    assert "" not in answers
    assert complete("misstep test --policy shipped:grip", "fish") == ["shipped:gripper"]


@pytest.mark.parametrize(
    ("words", "joined", "kept"),
    [
        ("misstep te", "misstep te", ""),
        ("misstep run --policy a : b", "misstep run --policy a:b", "a:"),
        ("misstep run --policy a : b : c", "misstep run --policy a:b:c", "a:b:"),
        ("misstep run --policy a : b --from ", "misstep run --policy a:b --from ", ""),
    ],
)
def test_joining_at_colons(words: str, joined: str, kept: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    assert joined_at_colons(asked) == kept
    assert asked == {"COMP_WORDS": joined, "COMP_CWORD": str(len(joined.split(" ")) - 1)}


def test_campaigns_and_their_bugs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources").mkdir()
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    task.name = "two"
    with misstep.test(task, "first", pool=3, out=tmp_path / "runs" / "some") as found:
        bugs = [bug.id for bug in found.bugs]
    assert bugs
    assert complete("misstep records ") == ["runs/"]
    assert complete("misstep records runs/s") == ["runs/some"]
    assert complete("misstep explain runs/some ") == bugs
    assert complete("misstep explain runs/some two : 0") == ["0"]
    assert complete("misstep explain nowhere ") == []
    (tmp_path / "runs" / "some" / "run.db").write_text("not a database")
    assert complete("misstep explain runs/some ") == []
