"""SQLite connections for campaigns: opening, checking, and errors in the user's words."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from misstep.campaigns.schema import definitions
from misstep.errors import InputFileError, InputFormatError, MisstepError, UsageError
from misstep.files import not_following, reason, refuse_link

# How long a statement waits for another program that has the database locked.
BUSY_SECONDS = 20.0
FILES = 4  # that SQLite opens: the database, its log, the index of that, and its folder
MAX_VALUE_BYTES = 2**30 - 1  # of one value
_MAGIC = b"SQLite format 3\0"
AGAIN = "start a new campaign with the same settings, which are in config.toml beside it: it gives the same records"


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looks for dead cycles: thousands of rows that all stay would be looked through again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class translated:  # noqa: N801
    """Errors of SQLite become one line for the user. It may be entered often: a store asks for it at each statement."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise as_user_error(error, self._path) from error
        if isinstance(error, UnicodeDecodeError):  # a text that is none; Python cannot even say so
            raise InputFormatError(
                "the database is damaged: a text is not UTF-8", where=str(self._path), hint=AGAIN
            ) from error


def as_user_error(error: sqlite3.Error, path: Path) -> MisstepError:
    # Texts and not codes: Python 3.10 does not hand the codes on.
    text, where = str(error), str(path)
    if "same thread" in text:
        return UsageError(
            "another thread has opened this campaign",
            where=where,
            expected="the thread that opened it",
            hint="save it there, and open the folder in this thread (misstep.open_campaign)",
        )
    if "disk is full" in text:
        return InputFileError(
            "the disk is full",
            where=where,
            hint="all records up to here are safe; make room, then resume the campaign",
        )
    if "locked" in text or "busy" in text:
        return InputFileError(
            "another program has the database locked", where=where, hint="close it and try again"
        )
    if "unable to open" in text and (why := why_no_file()) is not None:
        return InputFileError(f"cannot open or write: {reason(why)}", where=where)
    if "readonly" in text or "unable to open" in text:
        return InputFileError(
            f"cannot open or write: {text}", where=where, hint="check its permissions"
        )
    if "I/O error" in text:
        return InputFileError(
            "the disk or its quota refuses to read or write",
            where=where,
            hint="all records up to here are safe; see to the disk, then resume the campaign",
        )
    if isinstance(error, sqlite3.DatabaseError):
        return InputFormatError(f"the database is damaged: {text}", where=where, hint=AGAIN)
    return MisstepError(f"SQLite: {text}", where=where)


def why_no_file() -> OSError | None:
    """Why no process could open the files that SQLite needs, such as too many open ones: SQLite does not say it."""
    opened: list[int] = []
    try:
        while len(opened) < FILES:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error
    finally:
        for number in opened:
            os.close(number)
    return None


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection without automatic transactions. Modes are those of SQLite: `ro`, `rw`, `rwc`, `ro&immutable=1`."""
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.resolve()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
    )
    try:
        # SQLite follows a link that another process has put there since the file was looked at.
        refuse_link(path, only_read=True)
        restrict(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def restrict(connection: sqlite3.Connection) -> None:
    """Let nothing that stands in the file do more than hold data."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(
        "PRAGMA trusted_schema = OFF"
    )  # no functions with side effects in views and the like
    connection.execute(
        "PRAGMA cell_size_check = ON"
    )  # damaged pages are noticed when they are read
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)


def connect_readonly(
    path: Path,
) -> tuple[sqlite3.Connection, tempfile.TemporaryDirectory[str] | None]:
    """A connection that changes nothing, and the temporary folder that it may need."""
    with translated(path):
        connection = connect(path, "ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection, None
        except sqlite3.OperationalError:
            # Sharing a database in WAL mode takes a file beside it, which a folder without write permission refuses.
            connection.close()
    with translated(path):
        if not has_log(path):
            return connect(path, "ro&immutable=1"), None
        return _connect_copy(path)


def _connect_copy(path: Path) -> tuple[sqlite3.Connection, tempfile.TemporaryDirectory[str]]:
    try:
        copy = tempfile.TemporaryDirectory(prefix="misstep-")
        try:
            files = (path, log_of(path))
            # A file with holes, which a stranger can send in a few bytes, is copied without them.
            if 2 * sum(file.stat().st_size for file in files) > shutil.disk_usage(copy.name).free:
                raise OSError(errno.ENOSPC, "it would take more than half of the room there")
            for file in files:
                shutil.copy(file, copy.name)
            return connect(Path(copy.name) / path.name), copy
        except BaseException:
            copy.cleanup()
            raise
    except OSError as error:
        raise InputFileError(
            f"cannot copy the database to a temporary folder: {error.strerror}", where=str(path)
        ) from error


def log_of(path: Path) -> Path:
    """The write-ahead log beside the database."""
    return path.with_name(path.name + "-wal")


def has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


def check_file(path: Path) -> None:
    """Refuse what is no database, or only the beginning of one.

    SQLite notices missing pages, but reads a last page that is cut as if it ended in zeros. So the size is compared
    with what the header says. Between a checkpoint's start and end the two may differ, also where a full disk or a
    quota has cut a page that was being written: the log has the pages as long as one is missing.
    """
    try:
        logged = has_log(path)
        with open(path, "rb", opener=not_following) as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
        logged = logged or has_log(path)
    except OSError as error:
        raise InputFileError(f"cannot read: {error.strerror}", where=str(path)) from error
    if not _MAGIC.startswith(header[:16]):
        raise InputFormatError("this is no SQLite database", where=str(path), hint=AGAIN)
    page = int.from_bytes(header[16:18], "big") if len(header) == 100 else 0
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big") if page else 1
    if page == 0 or ((size % page or size < page * pages) and not logged):
        found = f"the database is cut off after {size} bytes"
        raise InputFormatError(found, where=str(path), hint=_salvage_hint(path))


def check_content(connection: sqlite3.Connection, path: Path, *, thorough: bool) -> None:
    """Refuse a damaged database. Thorough also compares indexes with tables, before anything is written."""
    problems = []
    try:
        check = "integrity_check" if thorough else "quick_check"
        problems = [str(row[0]) for row in connection.execute(f"PRAGMA {check}(1)")]
        if problems == ["ok"]:
            problems = [
                f"a row of {table} refers to nothing"
                for table, *_ in connection.execute("PRAGMA foreign_key_check").fetchmany(1)
            ]
    except UnicodeDecodeError:
        problems = ["a text is not UTF-8"]
    except sqlite3.DatabaseError as error:
        # Being locked out is no damage.
        if not isinstance(as_user_error(error, path), InputFormatError):
            raise
        problems = [str(error)]
    if problems:
        raise InputFormatError(
            f"the database is damaged: {problems[0]}", where=str(path), hint=_salvage_hint(path)
        )


def _salvage_hint(path: Path) -> str:
    readable = {name: _readable_rows(path, table) for table, name in _SHOWN.items()}
    if not any(readable.values()):
        return f"nothing in it can be read; {AGAIN}"
    counts = ", ".join(f"{count} {name}" for name, count in readable.items())
    return f"what can still be read: {counts} (with the recover command of the sqlite3 program); {AGAIN}"


_SHOWN = {"states": "states", "verdicts": "verdicts", "events": "events"}


def _readable_rows(path: Path, table: str) -> int:
    count = 0
    try:
        with closing(connect(path, "ro")) as connection:
            # Lets SQLite open a file that is shorter than its header says.
            connection.execute("PRAGMA writable_schema = ON")
            query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name = ?"
            if not definitions().issuperset(connection.execute(query, (table,))):
                return 0
            # Reading all columns: a row counts only if all of it is there.
            for _ in connection.execute(f"SELECT * FROM {table} NOT INDEXED"):
                count += 1
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    return count


__all__ = [
    "AGAIN",
    "as_user_error",
    "check_content",
    "check_file",
    "connect",
    "connect_readonly",
    "has_log",
    "translated",
    "uncollected",
    "why_no_file",
]
