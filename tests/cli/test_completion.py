"""The shell completes what a user would have to look up: policies, oracles, presets, campaigns, records."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import misstep
from misstep.cli.completion import joined_at_colons
from support.commands import misstep as command


def asked_by(shell: str, words: str) -> dict[str, str]:
    return {
        "_MISSTEP_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


def complete(words: str, shell: str = "bash") -> list[str]:
    """The answers to a shell that completes the last of these words; bash makes a word of each colon."""
    done = subprocess.run(
        [sys.executable, "-m", "misstep"],
        capture_output=True,
        text=True,
        env=os.environ | asked_by(shell, words),
        timeout=60,
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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "test --policy heuristic:",
            "heuristic: heuristic:ff heuristic:add heuristic:max heuristic:lmcut",
        ),
        ("run --policy zoo:gripper-e", "zoo:gripper-exec"),
        ("select --policies noisy:0.1:1+heuristic:l", "noisy:0.1:1+heuristic:lmcut"),
        ("experiment p24-", "p24-differences p24-heads p24-oracles"),
        ("experiment rep", "report"),
        ("experiment p22 --scale s", "smoke small"),
        ("records found --verdict un", ""),
        ("records found --verdict UN", "UNKNOWN UNSOLVABLE"),
        ("records found --kind fails", "fails fails-all fails-some"),
        ("plan --search gbfs", "gbfs-ff"),
        ("test --objective ", "cost goal"),
        ("test --state-budget ", "none"),
        ("prove --ask ", "auto all needed"),
        ("test --dead-ends h", "hmax"),
    ],
)
def test_names_that_are_known(words: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in asked_by("fish", f"misstep {words}").items():
        monkeypatch.setenv(name, value)
    assert command().stdout.split() == expected.split()


def test_files_after_the_colon_of_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guards").mkdir()
    (tmp_path / "guards" / "safe.json").write_text("{}")
    (tmp_path / "own.toml").write_text("")
    assert complete("misstep test --policy shield:g", "fish") == ["shield:guards/"]
    found = complete("misstep test --policy shield:guards/", "fish")
    assert found == ["shield:guards/safe.json"]
    inner = complete("misstep test --policy shield:guards/safe.json+fi", "fish")
    assert inner == ["shield:guards/safe.json+first"]
    assert complete("misstep experiment o") == ["online", "own.toml"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself(tmp_path: Path) -> None:
    """The script that is installed, with the words as bash splits them, and no space after what is not complete."""
    (tmp_path / "misstep").write_text(f'#!/bin/sh\nexec {sys.executable} -m misstep "$@"\n')
    (tmp_path / "misstep").chmod(0o755)
    asked = """
        compopt() { printf "compopt %s %s\\n" "$@"; }
        eval "$(_MISSTEP_COMPLETE=source_bash misstep)"
        ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _misstep_completion misstep; echo "${COMPREPLY[@]}"; }
        ask misstep test --policy shipped : grip
        ask misstep test --policy exe
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert done.stdout.splitlines() == ["gripper", "compopt -o nospace", "exec:"], done.stderr


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
@pytest.mark.parametrize("between", [" ", "\n"])
def test_joining_at_colons(words: str, joined: str, kept: str, between: str) -> None:
    given, expected = words.replace(" ", between), joined.replace(" ", between)
    asked = {"COMP_WORDS": given, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    assert joined_at_colons(asked) == kept
    assert asked == {"COMP_WORDS": expected, "COMP_CWORD": str(len(joined.split(" ")) - 1)}


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
    assert complete("misstep records runs/some --task ") == ["two"]
    assert complete("misstep test --baseline runs/s") == ["runs/some", "runs/some/"]
    (tmp_path / "runs" / "some" / "run.db").write_text("not a database")
    assert complete("misstep explain runs/some ") == []


STRANGE = (
    "$(touch made)",
    "`touch made`",
    "\\$(touch made)",
    "a b",
    "a;b",
    "'a",
    '"a',
    "--trust-policy",
)


def test_names_of_a_stranger_are_nothing_to_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell inserts what it gets as it is, and zsh evaluates it at once."""
    monkeypatch.chdir(tmp_path)
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    for place in ("own", *STRANGE):
        task.name = place
        misstep.test(task, "first", pool=2, out=tmp_path / place).close()
        (tmp_path / f"{place}.toml").touch()
    assert complete("misstep records ") == ["own"]
    assert complete("misstep experiment own", "fish") == ["own.toml"]
    assert complete("misstep experiment a", "fish") == []
    (tmp_path / STRANGE[0]).rename(tmp_path / "other")
    assert complete("misstep explain other ") == []
    assert complete("misstep records other --task ") == []


def test_a_stranger_s_view_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    misstep.test(task, "first", pool=2, out=tmp_path / "found").close()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) AS name FROM n"
    with closing(sqlite3.connect(tmp_path / "found" / "run.db")) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("DROP TABLE tasks")
        database.execute(f"CREATE VIEW tasks AS {endless}")
    assert complete("misstep records found --task ") == []  # and it ends
