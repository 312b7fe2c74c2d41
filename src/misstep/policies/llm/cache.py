"""A cache of all answers of a language model, by the hash of the question.

With the cache file, a campaign can be repeated without a server and at no cost. The first answer to a question decides;
answers to the same question asked again are kept beside it. Several processes may share a file: if two ask the same
question at the same time, the answer that is stored first counts for both.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError
from misstep.files import check_beside
from misstep.policies.llm.chat import Reply
from misstep.tasks.pddl.cache import default_folder

VERSION = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    question TEXT NOT NULL, number INTEGER NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, requests INTEGER NOT NULL,
    PRIMARY KEY (question, number)
) WITHOUT ROWID
"""
_DEFINITIONS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_INSERT = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)"


def default_file() -> Path:
    """`llm.sqlite` in the folder for caches of Misstep."""
    folder = default_folder()
    if folder is None:
        raise InputFileError("there is no home folder for a cache", hint="give --cache=FILE")
    return folder.parent / "llm.sqlite"


def _ours() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_TABLE)
        return set(database.execute(_DEFINITIONS))


class AnswerCache:
    """A file of answers."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = default_file() if file is None else file
        self._owner = os.getpid()
        self._open()

    def _open(self) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            check_beside(self.file.resolve())
            self._database = sqlite3.connect(self.file, timeout=60, isolation_level=None)
            self._database.execute("PRAGMA trusted_schema = OFF")
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            found = set(self._database.execute(_DEFINITIONS))
            # Exactly our table: a view or a trigger of somebody else would run with our queries.
            if version not in (0, VERSION) or found - _ours():
                raise InputFormatError(
                    "the file is another database",
                    where=str(self.file),
                    expected="a new file, or a cache of answers",
                )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(_TABLE)
            self._database.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        except OSError as error:
            raise InputFileError(f"cannot write: {error.strerror}", where=str(self.file)) from None

    def get(self, question: str, number: int = 0) -> str | None:
        """The first answer, which decides, or the answer to the question asked again for the given time."""
        query = "SELECT text FROM answers WHERE question = ? AND number = ?"
        try:
            row = self._connection().execute(query, (question, number)).fetchone()
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        return None if row is None else str(row[0])

    def add(self, question: str, model: str, reply: Reply, number: int = 0) -> str:
        """Keeps an answer and returns the one that counts: the first that was stored under this number."""
        text = reply.text.encode(
            errors="replace"
        ).decode()  # half a surrogate pair cannot be stored
        counts = (reply.prompt_tokens, reply.completion_tokens, reply.requests)
        try:
            self._connection().execute(_INSERT, (question, number, model, text, *counts))
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        return self.get(question, number) or text

    def close(self) -> None:
        if self._owner == os.getpid():
            self._database.close()

    def _connection(self) -> sqlite3.Connection:
        if self._owner != os.getpid():  # a connection must not be used in a fork
            self._owner = os.getpid()
            self._open()
        return self._database

    def _unusable(self, error: sqlite3.DatabaseError) -> InputFileError:
        return InputFileError(
            f"the cache cannot be used: {error}",
            where=str(self.file),
            hint="give another --cache=FILE",
        )


__all__ = ["AnswerCache", "default_file"]
