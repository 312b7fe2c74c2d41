"""The store of a campaign: one SQLite database, in a folder or in memory.

    config.toml     the settings, fully resolved: enough to run the campaign again
    run.db          SQLite: tasks, policy, states, runs, verdicts, faults, units, events (schema.py)
    run.lock        who is writing

**What is promised.** Work is stored in units (engine.py). After `kill -9`, a crash of the machine or a full disk, the
folder holds the units up to some moment, each of them whole, and none after it. Since a unit is a pure function of what
was stored before it, resuming there and starting afresh end with the same records. Several units may share a
transaction (transactions.py).

**Why WAL and synchronous=NORMAL.** In WAL mode a commit appends to `run.db-wal` and touches nothing else; readers go on
reading while somebody writes. NORMAL does not wait for the disk at each commit. Killing the process loses nothing that
was committed: it belongs to the system already. A power failure can lose the last commits, but never more than a
suffix, and never the order: frames carry chained checksums. FULL would buy these last units for a wait of the disk at
every commit, and losing them costs no more than computing them again.

**Creating** builds the database under another name and renames it at the end. A folder with a `run.db` is a whole
campaign; the leftovers of a creation that was killed are swept aside by the next one.

**Opening** checks before it believes: that the file is not cut off, that SQLite finds it sound, that every row refers
to rows that exist, that numbers have no holes, that the tables are ours to the letter (so that no view or trigger of
somebody else runs), and, before writing, that the settings are still those of the start. What does not pass is refused
with a line on what can be saved. Nothing is repaired in place. A flipped bit inside a stored number is beyond that, as
SQLite keeps no checksums of rows; if the row still makes sense, replaying the witness is what finds it.

`run.db` without `run.db-wal` is an older prefix, not a damaged file. A writer therefore leaves a mark while it works;
if the mark is there and the log is not, `remarks` says that the newest records may be missing.

**A campaign in memory** is the same database without a folder; `save` copies it into one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Any, Literal

from misstep.campaigns.create import (
    CONFIG_NAME,
    DATABASE_NAME,
    discard,
    prepare,
    read_config,
    refuse_links,
    remove_config,
    write_text,
)
from misstep.campaigns.database import (
    AGAIN,
    check_content,
    check_file,
    connect,
    connect_readonly,
    has_log,
    translated,
    uncollected,
)
from misstep.campaigns.lock import WriterLock
from misstep.campaigns.schema import check_schema, create_tables
from misstep.campaigns.seal import GIVEN_TABLES, Seal, read_sums, seal_from_scratch
from misstep.campaigns.toml import Tree, from_toml, to_toml
from misstep.campaigns.transactions import Transactions
from misstep.campaigns.uninterrupted import uninterrupted
from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    ToolError,
    UsageError,
)
from misstep.files import reason

IN_MEMORY = "the campaign in memory"
# What happens to a row whose place is taken.
Conflict = Literal["refuse", "replace", "ignore"]
# Connections whose files were closed. They are never closed, which would take SQLite another ten seconds.
_ABANDONED: list[sqlite3.Connection] = []
_VERBS = {"refuse": "INSERT", "replace": "REPLACE", "ignore": "INSERT OR IGNORE"}


class RowsDoNotFitError(UsageError):
    """Rows that contradict those that are stored."""


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file it is, whatever its name says later; None if there is none."""
    try:
        known = file.stat()
    except OSError:
        return None
    return known.st_dev, known.st_ino


class Store(Transactions):
    """An open campaign: transactions and queries. Made by the functions below; a context manager."""

    def __init__(self, folder: Path | None, lock: WriterLock | None) -> None:
        """Takes over the lock: it is released if this fails. Without a folder there is nothing to be locked."""
        self.folder = folder
        self.readonly = folder is not None and lock is None
        self.remarks: tuple[str, ...] = ()
        # Decoded rows by task and table, where somebody reads all of them several times; None: nothing is kept.
        self.kept_rows: dict[tuple[int, str], list[Any]] | None = None
        self._lock = lock
        self._connection_is_lost = False
        self._pid = os.getpid()
        self._translated = translated(Path(self.path))
        self._temporary = None
        self._connection: sqlite3.Connection | None = None
        if folder is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None)
            self._connection.execute("PRAGMA foreign_keys = ON")
            create_tables(self._connection)
            seal_from_scratch(self._connection)
            self._seal = Seal(self._connection)
            return
        try:
            check_file(self._file)
            separated = not has_log(self._file)
            if self.readonly:
                self._connection, self._temporary = connect_readonly(self._file)
            else:
                with translated(self._file):
                    self._connection = connect(self._file)
            self._check(separated)
            if not self.readonly:
                with uninterrupted():
                    self._start_writing(folder)
        except BaseException:
            self._release()
            raise

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    @property
    def where(self) -> str:
        """For messages."""
        return IN_MEMORY if self.folder is None else str(self.folder)

    @property
    def path(self) -> str:
        """The database, for messages."""
        return IN_MEMORY if self.folder is None else str(self._file)

    @property
    def _file(self) -> Path:
        assert self.folder is not None
        return self.folder / DATABASE_NAME

    # -- opening and closing ----------------------------------------------------------------------

    def _check(self, separated: bool) -> None:
        with translated(self._file):
            check_schema(self.connection, self.path)
            check_content(self.connection, self._file, thorough=not self.readonly)
            try:
                read_sums(self.connection)
            except InputFormatError as error:
                error.where = self.path
                raise
            if not self.readonly:
                self._seal = Seal(self.connection)
        for task, count, last in self.rows(
            "SELECT name, count(number), max(number) FROM tasks JOIN states ON task = id GROUP BY id"
        ):
            if last != count - 1:
                raise InputFormatError(
                    f"{task} has {count} states, and the last one has number {last}",
                    where=self.path,
                    hint=AGAIN,
                )
        if self.meta("writing") == "1" and separated:
            self.remarks = (
                f"{self.path}: the last writer did not finish and left no {DATABASE_NAME}-wal; "
                "if the file was copied or moved alone, its newest records are missing",
            )

    def _start_writing(self, folder: Path) -> None:
        stored = self.meta("config")
        config = read_config(folder)
        if config is None:
            write_text(folder / CONFIG_NAME, stored)
        elif not self._is_stored(config):
            raise InputFormatError(
                "the settings were changed after the campaign began",
                where=str(folder / CONFIG_NAME),
                hint="start a new campaign with them, or delete the file to get the old settings back",
            )
        with translated(self._file):
            mode = self.connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise InputFileError(
                    f"this disk supports no shared write-ahead log (mode {mode})",
                    where=str(folder),
                    hint="choose a folder on a local disk",
                )
            self.connection.execute("PRAGMA synchronous = NORMAL")
        self._identity = _identity(self._file)
        self.set_meta("writing", "1")
        with translated(self._file):
            # The mark has to be in the file itself: it tells of a log that went missing. PASSIVE leaves the log at its
            # size, so from here on to the end of the writer it is never empty.
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def check_there(self) -> None:
        """An error if the database has lost its name: SQLite would keep writing to a file that was removed."""
        if self.folder is None or self.readonly or _identity(self._file) == self._identity:
            return
        raise InputFileError(
            "the campaign's folder was removed or replaced while it was being written",
            where=str(self.folder),
            hint="what was found since then is lost; start it again",
        )

    def check_open(self) -> None:
        """SQLite would try for ten seconds at a time, and might write to whatever has the number of its file now."""
        if self._lock is None or self._lock.is_held():
            return
        if self._connection is not None:
            _ABANDONED.append(self._connection)
            self._connection = None
            self._connection_is_lost = True
        raise self._lost()

    def _lost(self) -> ToolError:
        return ToolError(
            "the policy has closed files of this process, and those of the campaign among them",
            where=self.where,
            hint="a policy must not close descriptors that it has not opened; what was stored is kept",
        )

    def close(self) -> None:
        """End the work; a second call does nothing."""
        with uninterrupted():
            try:
                if self._connection is not None and self._pid == os.getpid():
                    self.check_open()
                if self._connection is not None and not self.readonly and self._pid == os.getpid():
                    self.commit()
                    self.set_meta("writing", "0")
            finally:
                self._release()

    def _release(self) -> None:
        try:
            if self._connection is not None:
                self._connection.close()  # folds the log into the database
        finally:
            self._connection = None
            if self._temporary is not None:
                self._temporary.cleanup()
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except InputFileError:
            # A full disk may refuse even the last mark; what led here is the better message.
            if error is None:
                raise

    def save(self, folder: Path) -> None:
        """Copy the campaign, as it is now, into a new or empty folder."""
        lock = prepare(folder, from_toml(self.meta("config"), self.path))
        try:
            target = connect(folder / DATABASE_NAME)
            try:
                with translated(folder / DATABASE_NAME):
                    self.connection.backup(target)
                    target.execute("UPDATE meta SET value = '0' WHERE key = 'writing'")
            finally:
                target.close()
        finally:
            lock.release()

    # -- SQLite -----------------------------------------------------------------------------------

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._connection_is_lost:
                raise self._lost()
            raise UsageError("the campaign is closed", where=self.where)
        if self._pid != os.getpid():
            # SQLite connections do not survive a fork: parent and child would corrupt the file together.
            raise UsageError(
                "a campaign was carried into a forked process",
                where=self.where,
                hint="open it again there",
            )
        return self._connection

    @contextmanager
    def keeping_rows(self) -> Iterator[None]:
        """Within, rows are decoded once however often they are read. What is written meanwhile is not seen."""
        before = self.kept_rows
        self.kept_rows = {} if before is None else before
        try:
            yield
        finally:
            self.kept_rows = before

    def read_rows(
        self, table: str, task: int, order: str, decode: Callable[[Sequence[Any]], Any]
    ) -> list[Any]:
        """All rows of a task, decoded."""
        kept, key = self.kept_rows, (task, table)
        if kept is not None and key in kept:
            return list(kept[key])
        found = self.read_range(table, task, order, decode)
        if kept is not None:
            kept[key] = found
        return found

    def read_range(
        self,
        table: str,
        task: int,
        order: str,
        decode: Callable[[Sequence[Any]], Any],
        within: tuple[str, int, int] | None = None,
    ) -> list[Any]:
        """Rows of a task, decoded; only those with a column between two numbers, if that is given."""
        column, *ends = within or ("task",)
        between = f"AND {column} BETWEEN ? AND ? " if ends else ""
        query = f"SELECT * FROM {table} WHERE task = ? {between}ORDER BY {order}"
        with closing(self.stream(query, task, *ends)) as rows, uncollected():
            return [decode(row) for row in rows]

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes with every change of the database, by this program or another one."""
        changes = self.connection.total_changes
        return int(self.rows("PRAGMA data_version")[0][0]), changes

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._translated:
            return self._select(query, parameters).fetchall()

    def stream(self, query: str, *parameters: Any) -> Generator[tuple[Any, ...], None, None]:
        """What a query finds, row by row: for tables that may be large."""
        with self._translated:
            # Not `yield from`: a reader who stops early would close the cursor, maybe after its connection.
            for row in self._select(query, parameters):  # noqa: UP028
                yield row

    def _select(self, query: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        try:
            return self.connection.execute(query, parameters)
        except sqlite3.DatabaseError as error:
            # Nobody refuses that a query reads. Ctrl-C has hit the function that SQLite asks, and it does not hand
            # exceptions on.
            if self._seal is not None and str(error).endswith(("not authorized", "prohibited")):
                raise KeyboardInterrupt from error
            raise

    def execute(self, statement: str, *parameters: Any) -> None:
        """A change of rows, as a unit of its own or as part of one."""
        with self.unit(), uninterrupted():
            self.connection.execute(statement, parameters)

    def insert(
        self, table: str, rows: Sequence[tuple[Any, ...]], conflict: Conflict = "refuse"
    ) -> None:
        """Add rows; what the tables do not allow is an error that says which table it was."""
        if not rows:
            return
        if not self._is_inside:
            with self.unit():
                self.insert(table, rows, conflict)
            return
        marks = ", ".join("?" * len(rows[0]))
        statement = f"{_VERBS[conflict]} INTO {table} VALUES ({marks})"
        assert self._seal is not None
        try:
            with uninterrupted():
                if table in GIVEN_TABLES:
                    self._seal.insert(table, rows, statement, one_by_one=conflict == "ignore")
                else:
                    self.connection.executemany(statement, rows)
        except sqlite3.IntegrityError as error:
            raise RowsDoNotFitError(
                f"cannot store into {table}: {error}", where=self.path
            ) from error

    def meta(self, key: str) -> str:
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        if not found:
            raise InputFormatError(f"the database has no {key}", where=self.path)
        return str(found[0][0])

    def set_meta(self, key: str, value: str) -> None:
        with self.unit(), uninterrupted():
            self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # -- settings ---------------------------------------------------------------------------------

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the campaign, as a tree."""
        return from_toml(self.meta("config"), self.path)

    def _is_stored(self, config: str) -> bool:
        """Whether the text of a file says the same settings as the database."""
        stored = self.meta("config")
        where = str(self.folder and self.folder / CONFIG_NAME)
        return config == stored or from_toml(config, where) == from_toml(stored)

    def config_remark(self) -> str | None:
        """What is wrong with `config.toml`. Nothing depends on it, but people read it."""
        if self.folder is None:
            return None
        try:
            config = read_config(self.folder)
            if config is None or self._is_stored(config):
                return None
        except MisstepError as error:
            return str(error)
        return f"{CONFIG_NAME}: these are not the settings of the campaign, which are in {DATABASE_NAME}"

    def set_config(self, config: Tree) -> None:
        """Other settings, as a campaign that grows needs them. `write_config` is to follow when they are stored.

        Whoever is killed in between leaves no file, and the next writer makes it again: a file with other settings
        than those stored would be taken for one that the user has changed.
        """
        if self.folder is not None:
            remove_config(self.folder)
        self.set_meta("config", to_toml(config))

    def write_config(self) -> None:
        if self.folder is not None:
            write_text(self.folder / CONFIG_NAME, self.meta("config"))


def memory_store(config: Tree) -> Store:
    """A campaign that lives as long as this process."""
    store = Store(None, None)
    store.set_meta("config", to_toml(config))
    store.set_meta("writing", "0")
    return store


def create_store(folder: str | os.PathLike[str], config: Tree) -> Store:
    """Begin a campaign in a new or empty folder."""
    place = Path(folder)
    return Store(place, prepare(place, config))


def begin_store(folder: Path, config: Tree, *, resume: bool = False) -> Store:
    """A new campaign, or, to `resume`, this very one if it was begun in the folder before.

    One that ended before it knew what to test was never begun: a new one takes its place.
    """
    try:
        return create_store(folder, config)
    except InputFileError:
        if not (folder / DATABASE_NAME).exists():
            raise
        store = open_store(folder)
        changed = difference(store.config, config)
        begun = store.rows("SELECT 1 FROM tasks")
        if changed is None and (resume or not begun):
            return store
        store.close()
        if not begun:
            discard(folder)
            return create_store(folder, config)
        if resume:
            raise UsageError(
                f"this is not the campaign in the folder: {changed}",
                where=str(folder),
                hint="give --resume and --out alone, or choose another folder",
            ) from None
        raise


def difference(known: Tree, given: Tree) -> str | None:
    """The first setting in which two trees differ, in words."""
    for name in dict.fromkeys([*known, *given]):
        before, now = known.get(name), given.get(name)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            if inner := difference(before, now):
                return inner
        elif before != now:
            return f"its {name} is {before}, not {now}"
    return None


def open_store(folder: str | os.PathLike[str], *, readonly: bool = False) -> Store:
    """Open a campaign, to continue it or only to read."""
    place = Path(folder)
    try:
        if not place.is_dir():
            problem = "not a folder" if place.exists() else "no such folder"
            raise InputFileError(
                problem,
                where=str(place),
                expected="the folder of a campaign",
                hint=f"misstep test TASK --policy SPEC -o {quote(str(place))} makes one",
            )
        refuse_links(place, only_read=readonly)
        if not (place / DATABASE_NAME).is_file():
            raise InputFileError(
                f"no campaign: there is no {DATABASE_NAME} in this folder",
                where=str(place),
                expected="a folder that 'misstep test --out' made",
            )
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise InputFileError(f"cannot read: {why}", where=repr(str(place))) from error
    return Store(place, None if readonly else WriterLock(place))


__all__ = [
    "RowsDoNotFitError",
    "Store",
    "begin_store",
    "create_store",
    "difference",
    "memory_store",
    "open_store",
]
