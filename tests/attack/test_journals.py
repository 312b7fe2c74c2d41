"""A forged rollback journal beside a database. SQLite rolls it back, and deletes a further file that it names."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from misstep.checking.campaign import check_campaign
from misstep.checking.errors import CheckError
from misstep.errors import InputFileError, InputFormatError
from misstep.experiments.store import NAME, begin, open_results
from misstep.files import check_beside
from misstep.policies.llm.cache import AnswerCache
from misstep.policies.llm.chat import Reply
from support.commands import misstep

MAGIC = bytes.fromhex("d9d505f920a163d7")
PRECIOUS = b"what the user cares for\n"


def forge_journal(database: Path, named: Path | None) -> None:
    """A journal without pages, as a transaction over several databases leaves it if a file is named."""
    head = database.read_bytes()[:100]
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    content = (MAGIC + struct.pack(">IIIII", 0, 1, pages, 512, page)).ljust(512, b"\0")
    if named is not None:
        name = str(named).encode()
        content += struct.pack(">I", 2**30 // page + 1) + name
        content += struct.pack(">II", len(name), sum(name)) + MAGIC
    Path(f"{database}-journal").write_bytes(content)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    file = tmp_path / "precious"
    file.write_bytes(PRECIOUS)
    return file


def test_the_forged_journal_works(tmp_path: Path, precious: Path) -> None:
    """Otherwise the tests below would test nothing."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as database:
        database.execute("CREATE TABLE t (x)")
    forge_journal(tmp_path / "x.db", precious)
    with pytest.raises(InputFormatError, match="names another file"):
        check_beside(tmp_path / "x.db")
    with closing(sqlite3.connect(tmp_path / "x.db")) as database:
        database.execute("SELECT * FROM t").fetchall()
    assert not precious.exists()


@pytest.mark.parametrize("named", [True, False])
def test_a_campaign_with_a_journal(folder: Path, precious: Path, named: bool) -> None:
    forge_journal(folder / "run.db", precious if named else None)
    for command in (
        ("records", folder),
        ("replay", folder),
        ("judge", folder, "--oracle", "undo"),
        ("test", "--resume", "--pool", "14", "--out", folder),
    ):
        done = misstep(*command)
        assert done.returncode == 31, (command, done.stderr)
        assert "journal" in done.stderr
    with pytest.raises(CheckError, match="journal"):
        check_campaign(folder)
    assert precious.read_bytes() == PRECIOUS


def test_an_experiment_with_a_journal(tmp_path: Path, precious: Path) -> None:
    begin(tmp_path / "e", "p22", "smoke").close()
    forge_journal(tmp_path / "e" / NAME, precious)
    with pytest.raises(InputFormatError, match="names another file"):
        begin(tmp_path / "e", "p22", "smoke")
    with pytest.raises(InputFormatError, match="names another file"):
        open_results(tmp_path / "e")
    assert precious.read_bytes() == PRECIOUS
    # One of this database alone is rolled back: a writer that was killed may leave it.
    forge_journal(tmp_path / "e" / NAME, None)
    begin(tmp_path / "e", "p22", "smoke").close()


# -- the answers of a language model, which may be kept in the folder of a campaign ----------------


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    file = tmp_path / "answers.sqlite"
    own = AnswerCache(file)
    own.add("question", "m", Reply("answer", 1, 1, 1))
    own.close()
    return file


def test_answers_with_a_journal(cache: Path, precious: Path) -> None:
    forge_journal(cache, precious)
    with pytest.raises(InputFormatError, match="names another file"):
        AnswerCache(cache)
    assert precious.read_bytes() == PRECIOUS


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_answers_beside_links(cache: Path, precious: Path, end: str) -> None:
    Path(f"{cache}{end}").symlink_to(precious)
    with pytest.raises(InputFileError, match="symbolic link"):
        AnswerCache(cache)
    assert precious.read_bytes() == PRECIOUS


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX i ON answers (abs(number))",
    ],
)
def test_answers_with_more_than_their_table(cache: Path, statement: str) -> None:
    with closing(sqlite3.connect(cache)) as database:
        database.execute(statement)
    with pytest.raises(InputFormatError, match="another database"):
        AnswerCache(cache)


def test_another_database_is_refused_unchanged(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as database:
        database.execute("CREATE TABLE t (x)")
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(InputFormatError, match="another database"):
        AnswerCache(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == before


def test_a_cache_that_another_process_is_making(cache: Path) -> None:
    """Its table is there, its version not yet."""
    with closing(sqlite3.connect(cache)) as database:
        database.execute("PRAGMA user_version = 0")
    own = AnswerCache(cache)
    assert own.get("question") == "answer"
    own.close()
