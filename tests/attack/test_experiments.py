"""The folder or the definition of an experiment comes from a stranger. Nothing runs, and nothing outside is touched."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import misstep as package
from misstep.errors import InputFileError, InputFormatError, MisstepError
from misstep.experiments.driver import run_experiment
from misstep.experiments.journal import add_to_journal, read_journal
from misstep.experiments.kinds import Finished
from misstep.experiments.kinds.policies import finish
from misstep.experiments.report import write_report
from misstep.experiments.store import NAME
from misstep.experiments.worker import read_answer
from support.commands import misstep
from support.experiments import SMALL, definition, fill, write

PRECIOUS = b"what the user cares for\n"
EVERYTHING = {(row, own, ""): 3 for row in ("line", "ball") for own in ("uniform-1", "greedy-inf")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "experiment"
    fill(own, EVERYTHING)
    return own


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user's, with files at several depths."""
    own = tmp_path / "home"
    (own / "thesis" / "chapters").mkdir(parents=True)
    for place in (own, own / "thesis", own / "thesis" / "chapters"):
        (place / "precious").write_bytes(PRECIOUS)
    return own


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    "place",
    [
        "work",
        f"work/{package.__version__}",
        f"work/{package.__version__}/key",
        "report",
        "policies",
    ],
)
def test_folders_that_are_links(folder: Path, home: Path, place: str) -> None:
    """`work` of an experiment is tidied: behind a link, that removed the folders of the user."""
    before = content(home)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).symlink_to(home)
    with pytest.raises(InputFileError, match="symbolic link"):
        run_experiment(definition(), folder)
    assert content(home) == before


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_files_that_are_links(folder: Path, tmp_path: Path, end: str, kind: str) -> None:
    outside, place = tmp_path / "outside", folder / (NAME + end)
    if end:
        outside.write_bytes(PRECIOUS)
    else:
        shutil.move(place, outside)
    before = outside.read_bytes()
    (os.link if kind == "hard" else os.symlink)(outside, place)
    with pytest.raises(InputFileError, match="link"):
        run_experiment(definition(), folder)
    if end or kind == "symbolic":
        with pytest.raises(InputFileError, match="link"):
            write_report(folder)
    assert outside.read_bytes() == before


def test_policies_are_not_written_through_links(tmp_path: Path, home: Path) -> None:
    from misstep.policies.shipped import shipped

    test = dict.fromkeys(("pool", "processed", "solved", "bugs", "lost", "effort"), 1)
    result = {
        "file": __import__("base64")
        .b64encode(shipped("asnets", "ferry").file.read_bytes())
        .decode(),
        "validation": [{"task": "t", "initial_solved": True, **test}],
    }
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "ferry.safetensors").symlink_to(home / "precious")
    with pytest.raises((KeyError, TypeError)):  # the rest of the result is missing
        finish(tmp_path, [Finished("row", 0, {"domain": "ferry"}, result)])
    assert (home / "precious").read_bytes() == PRECIOUS
    with pytest.raises(InputFormatError, match="not the name of a file"):
        finish(tmp_path, [Finished("row", 0, {"domain": "../home/ferry"}, result)])


FORGED = {
    "trigger": "CREATE TRIGGER t AFTER DELETE ON units BEGIN UPDATE results SET result = '{}'; END",
    "view": "CREATE VIEW more AS SELECT 1",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX more ON results (abs(seconds))",
    "column": "ALTER TABLE results ADD COLUMN more",
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_tables_are_refused(folder: Path, kind: str) -> None:
    with closing(sqlite3.connect(folder / NAME)) as connection, connection:
        connection.execute(FORGED[kind])
    actions: tuple[Callable[[], object], ...] = (
        lambda: run_experiment(definition(), folder),
        lambda: write_report(folder),
    )
    for action in actions:
        with pytest.raises(InputFormatError, match="changed by somebody"):
            action()


@pytest.mark.parametrize("spec", ["python:{}/code.py:act", "exec:touch {}/ran"])
def test_a_definition_runs_no_code(tmp_path: Path, spec: str) -> None:
    (tmp_path / "code.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\ndef act(state): return 0\n"
    )
    text = SMALL.replace('policies = ["first"]', f'policies = ["{spec.format(tmp_path)}"]')
    file, out = write(tmp_path, text), tmp_path / "out"
    done = misstep("experiment", file, "--out", out)
    assert done.returncode == 2
    assert "would run code" in done.stderr
    assert "tiny.toml:" in done.stderr
    assert not out.exists()
    assert misstep("experiment", file, "--out", out, "--dry-run").returncode == 0
    assert not (tmp_path / "ran").exists()
    assert misstep("experiment", file, "--out", out, "--trust-policy").returncode == 0
    assert (tmp_path / "ran").exists()


def test_results_of_parts_of_a_unit(tmp_path: Path, home: Path) -> None:
    file = tmp_path / "tests.jsonl"
    add_to_journal(file, "solves 1", [True])
    with file.open("ab") as out:
        out.write(b'["cut off')
    assert read_journal(file) == {"solves 1": [True]}
    add_to_journal(file, "solves 2", [False])
    assert read_journal(file) == {"solves 1": [True], "solves 2": [False]}
    for line in (b"{}\n", b"[1, 2]\n", b"[" * 5000 + b"\n", b"[1]\n", b"\xff\n"):
        file.write_bytes(line)
        with pytest.raises(InputFormatError, match="not the result of a part"):
            read_journal(file)
    file.unlink()
    file.symlink_to(home / "precious")
    for action in (lambda: read_journal(file), lambda: add_to_journal(file, "x", 1)):
        with pytest.raises(MisstepError, match="link"):
            action()
    assert (home / "precious").read_bytes() == PRECIOUS


EVIL = r"x\u001b[31m<script>alert(1)</script>\u202e|`a` [l](javascript:x)\r\n# h\u0085"


def test_texts_of_a_definition_are_no_markup(tmp_path: Path) -> None:
    """Neither in the files of a report, nor in a page, nor on a terminal."""
    told = f'text = "{EVIL}"\nsection = "{EVIL}"\npaper = "{EVIL}"\nwhy = "{EVIL}"'
    text = (
        SMALL.replace('title = "A tiny experiment"', f'title = "{EVIL}"\npaper = "{EVIL}"')
        .replace('text = "Guidance helps."', told)
        .replace('title = "Unsafe runs"', f'title = "{EVIL}"')
        .replace('baseline = "uniform-1"', f'baseline = "{EVIL}"\nnote = "{EVIL}"')
        .replace('name = "bars"', f'name = "../{EVIL}"')
    )
    fill(tmp_path / "out", EVERYTHING, text)
    done = misstep("experiment", "report", tmp_path / "out", "--page", tmp_path / "page.md")
    assert done.returncode == 0, done.stderr
    pages = [path for path in tmp_path.rglob("*") if path.suffix in (".md", ".svg", ".tex", ".csv")]
    assert len(pages) > 6
    for shown in (done.stdout, *(path.read_text() for path in pages)):
        assert not {own for own in shown if ord(own) < 32 and own not in "\n\t"}
        assert not {"\x85", "\u202e", "\x7f"} & set(shown)
        assert "\n# h" not in shown
    for path in pages:
        assert path.suffix == ".csv" or "<script>" not in path.read_text().replace("\\<", "&lt;")


@pytest.mark.parametrize("name", ["../x", "a/b", "x -->", "", "\\u001b", "x" * 200])
def test_names_of_experiments(tmp_path: Path, name: str) -> None:
    """The name is a part of names of files beside a page."""
    file = write(tmp_path, SMALL.replace('name = "tiny"', f'name = "{name}"', 1))
    done = misstep("experiment", file, "--out", tmp_path / "out")
    assert done.returncode == 31, done.stderr


DAMAGED = {
    "seeds": ("UPDATE meta SET value = 'x' WHERE name = 'seeds'", "the number of seeds"),
    "scale": ("UPDATE meta SET value = 'huge' WHERE name = 'scale'", "the scale"),
    "seed of a unit": ("UPDATE units SET seed = 'x'", "a unit"),
    "work": ("UPDATE units SET work = 'x'", "a number"),
    "seconds": ("UPDATE results SET seconds = '[]'", "a number"),
    "infinite": ("UPDATE results SET seconds = 9e999", "a number"),
    "outcome": ("UPDATE results SET outcome = 'x'", "a result"),
    "a list for a number": (
        "UPDATE results SET result = replace(result, '\"unsafe\": 3', '\"unsafe\": [3]')",
        "not what its kind stores",
    ),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_values_are_told(folder: Path, kind: str) -> None:
    statement, what = DAMAGED[kind]
    with closing(sqlite3.connect(folder / NAME)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(InputFormatError, match=what):
        write_report(folder)


def test_answers_of_workers() -> None:
    good = b'{"outcome": "done", "result": {"x": 1}, "seconds": 2}'
    assert read_answer(good) == {"outcome": "done", "result": {"x": 1}, "seconds": 2.0}
    for bad in (b"", b"[]", b"[" * 9999, good[:-1], good.replace(b"2", b"-2"), b'{"outcome": "x"}'):
        assert read_answer(bad)["outcome"] == "failed"
