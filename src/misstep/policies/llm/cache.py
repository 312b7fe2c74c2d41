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
from misstep.policies.llm.chat import MAX_BODY_BYTES, Reply
from misstep.tasks.pddl.cache import default_folder

VERSION = 1
_TABLE = """
CREATE TABLE answers (
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
            self._prepare(self._database)
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        except OSError as error:
            raise InputFileError(f"cannot write: {error.strerror}", where=str(self.file)) from None
        except ValueError as error:  # a null character in the path
            raise InputFileError(f"not a path: {error}", where=repr(str(self.file))) from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Make the table in a new file, or check that there is ours and nothing else, before anything is changed.

        A view or a trigger in a file from a stranger would run what the stranger wrote, as part of our queries.
        """
        database.execute("BEGIN IMMEDIATE")  # another process may be making the table
        (version,) = database.execute("PRAGMA user_version").fetchone()
        found = set(database.execute(_DEFINITIONS))
        if version not in (0, VERSION) or (found and found != _definitions()):
            database.close()
            raise InputFormatError(
                "the file is another database, or its tables were changed by somebody",
                where=str(self.file),
                expected="a new file, or a cache of answers",
            )
        if not found:
            database.execute(_TABLE)
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = WAL")

    def get(self, question: str, number: int = 0) -> str | None:
        """The first answer, which decides, or the answer to the question asked again for the given time."""
        query = "SELECT substr(text, 1, ?) FROM answers WHERE question = ? AND number = ?"
        try:
            row = self._connection().execute(query, (MAX_BODY_BYTES, question, number)).fetchone()
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        if row is None:
            return None
        if not isinstance(row[0], str):
            raise InputFormatError("an answer in the cache is not a text", where=str(self.file))
        return row[0]

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


def _definitions() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_TABLE)
        return set(database.execute(_DEFINITIONS))


__all__ = ["AnswerCache", "default_file"]
