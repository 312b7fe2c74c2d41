"""The store of a campaign: one folder, written so that it can be killed at any moment.

    config.toml     the settings, fully resolved: enough to run the campaign again
    run.db          SQLite: tasks, policy, pool, runs, verdicts, events
    run.lock        who is writing

**What is promised.** Work is stored in units: the pool states of one round of the fuzzer with their walks; one tested
state with its run, its verdict and the better verdicts that it brought earlier states; one event. A unit is one
transaction. After `kill -9`, a crash of the machine or a full disk, the folder holds the units up to some moment,
each of them whole, and none after it: a prefix of the campaign. `last_unit` says where that prefix ends. Since
campaigns are deterministic, resuming there and starting afresh end with the same records.

**Why WAL and synchronous=NORMAL.** In WAL mode a commit appends to `run.db-wal` and touches nothing else; readers go on
reading while somebody writes. NORMAL does not wait for the disk at each commit. Killing the process loses nothing: what
was written belongs to the system already. A power failure can lose the last commits, but never more than a suffix, and
never the order: frames carry chained checksums. FULL would buy these last units for a wait of the disk at every
state, and losing them costs no more than computing them again.

**Creating** builds the database under another name and renames it at the end. A folder with a `run.db` is a whole
campaign; the leftovers of a creation that was killed are swept aside by the next one.

**Opening** checks before it believes: that the file is not cut off, that SQLite finds it sound, that every row refers
to rows that exist, that the pool has no holes, that the schema is known, and, before writing, that the settings are
still those of the start. What does not pass is refused with a line on what can be saved. Nothing is repaired in place.
A flipped bit inside a stored name or number is beyond that, as SQLite keeps no checksums of rows; if the row still
makes sense, replaying the witness is what finds it.

`run.db` without `run.db-wal` is an older prefix, not a damaged file. A writer therefore leaves a mark while it works;
if the mark is there and the log is not, `remarks` says that the newest records may be missing.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from misstep.campaigns import rows
from misstep.campaigns.create import (
    CONFIG_NAME,
    DATABASE_NAME,
    discard,
    prepare,
    read_config,
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
)
from misstep.campaigns.lock import WriterLock
from misstep.campaigns.records import Event, PoolRecord, RunRecord, TestedState, VerdictRecord
from misstep.campaigns.schema import VERSION, check_version, migrate
from misstep.campaigns.settings import Settings, from_toml, without_none
from misstep.campaigns.view import tested_states
from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.tasks.pddl.text import Source
from misstep.tasks.task import Task

POOL_FINISHED = "pool finished"
TASK_FINISHED = "task finished"
"""Kinds of events that `last_unit` looks for; all other kinds are free."""


@dataclass(frozen=True, slots=True)
class LastUnit:
    """Where a task of the campaign stands."""

    pool: int
    """Number of pool states."""
    iteration: int | None
    """The round of the fuzzer that made the last of them; None with an empty pool."""
    tested: int
    next_untested: int | None
    """Index of the first pool state without a verdict."""
    pool_finished: bool
    finished: bool


class CampaignStore:
    """An open campaign. Made by `create_store` and `open_store`; a context manager."""

    def __init__(self, folder: Path, lock: WriterLock | None) -> None:
        """Takes over the lock: it is released if this fails."""
        self.folder = folder
        self.path = folder / DATABASE_NAME
        self.readonly = lock is None
        self.remarks: tuple[str, ...] = ()
        self._lock = lock
        self._pid = os.getpid()
        self._temporary = None
        self._connection: sqlite3.Connection | None = None
        self._tasks: dict[str, Task] = {}
        try:
            check_file(self.path)
            separated = not has_log(self.path)
            if self.readonly:
                self._connection, self._temporary = connect_readonly(self.path)
            else:
                with translated(self.path):
                    self._connection = connect(self.path)
            self._check(separated)
            if not self.readonly:
                self._start_writing()
        except BaseException:
            self._release()
            raise

    # -- opening and closing ----------------------------------------------------------------------

    def _check(self, separated: bool) -> None:
        with translated(self.path):
            check_content(self._db, self.path, thorough=not self.readonly)
            version = check_version(self._db, str(self.path))
            if version < VERSION:
                if self.readonly:
                    raise UnsupportedError(
                        f"the campaign has the older schema {version}",
                        where=str(self.path),
                        hint="resume it once: that brings it up to date",
                    )
                migrate(self._db, version)
        for task, pool, last in self.rows(
            "SELECT name, count(idx), max(idx) FROM tasks JOIN pool ON task = id GROUP BY id"
        ):
            if last != pool - 1:
                raise InputFormatError(
                    f"the pool of {task} has {pool} states and ends with number {last}",
                    where=str(self.path),
                    hint=AGAIN,
                )
        if not self.readonly:
            for name in self.task_names():  # SQLite does not look into blobs
                self._sas(name)
        if self._meta("writing") == "1" and separated:
            self.remarks = (
                f"{self.path}: the last writer did not finish and left no {DATABASE_NAME}-wal; "
                "if the file was copied or moved alone, its newest records are missing",
            )

    def _start_writing(self) -> None:
        stored = self._meta("config")
        config = read_config(self.folder)
        if config is None:
            write_text(self.folder / CONFIG_NAME, stored)
        elif config != stored and from_toml(config, str(self.folder / CONFIG_NAME)) != from_toml(
            stored
        ):
            raise InputFormatError(
                "the settings were changed after the campaign began",
                where=str(self.folder / CONFIG_NAME),
                hint="start a new campaign with them, or delete the file to get the old settings back",
            )
        with translated(self.path):
            mode = self._db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise InputFileError(
                    f"this disk supports no shared write-ahead log (mode {mode})",
                    where=str(self.folder),
                    hint="choose a folder on a local disk",
                )
            self._db.execute("PRAGMA synchronous = NORMAL")
        self._set_meta("writing", "1")
        with translated(self.path):
            # The mark has to be in the file itself: it tells of a log that went missing. PASSIVE leaves the log at its
            # size, so from here on to the end of the writer it is never empty.
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """End the work; a second call does nothing."""
        try:
            if self._connection is not None and not self.readonly and self._pid == os.getpid():
                self._set_meta("writing", "0")
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

    def __enter__(self) -> CampaignStore:
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

    # -- SQLite -----------------------------------------------------------------------------------

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise UsageError("the campaign is closed", where=str(self.folder))
        if self._pid != os.getpid():
            # SQLite connections do not survive a fork: parent and child would corrupt the file together.
            raise UsageError(
                "a campaign was carried into a forked process",
                where=str(self.folder),
                hint="open it again there",
            )
        return self._connection

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Everything stored inside is stored together or not at all. Units inside a unit belong to it."""
        if self.readonly:
            raise UsageError("the campaign is open for reading only", where=str(self.folder))
        if self._db.in_transaction:
            yield
            return
        with translated(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back by itself, as it does on a full disk.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with translated(self.path):
            return self._db.execute(query, parameters).fetchall()

    def execute(self, statement: str, *parameters: Any) -> None:
        """A change of rows, as a unit of its own or as part of one."""
        with self.unit():
            self._db.execute(statement, parameters)

    def insert(self, what: str, table: str, row: Sequence[Any], *, replace: bool = False) -> None:
        """Add a row, within a unit; what the tables do not allow is an error that says what it was."""
        verb = "REPLACE" if replace else "INSERT"
        try:
            marks = ", ".join("?" * len(row))
            self._db.execute(f"{verb} INTO {table} VALUES ({marks})", row)
        except sqlite3.IntegrityError as error:
            raise UsageError(f"cannot store {what}: {error}", where=str(self.path)) from error

    def _meta(self, key: str) -> str:
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        if not found:
            raise InputFormatError(f"the database has no {key}", where=str(self.path))
        return str(found[0][0])

    def _set_meta(self, key: str, value: str) -> None:
        with self.unit():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # -- what a campaign is about -----------------------------------------------------------------

    @property
    def config(self) -> dict[str, Any]:
        """The settings that the campaign began with (None settings are left out)."""
        return from_toml(self._meta("config"), str(self.path))

    def add_task(self, task: Task) -> None:
        """Keep the task with all that is needed to replay it. Adding it again changes nothing."""
        known = self.rows("SELECT digest FROM tasks WHERE name = ?", task.name)
        if known:
            if known[0][0] != task.digest:
                raise InputFormatError(
                    f"the task {task.name} is not the one that the campaign began with",
                    where=str(self.folder),
                    hint="its files were changed: start a new campaign, or give the task another name",
                )
            return
        domain, problem = task.pddl or (None, None)
        with self.unit():
            self.insert(
                f"task {task.name}",
                "tasks(name, digest, sas, domain_name, domain, problem_name, problem)",
                (
                    task.name,
                    task.digest,
                    zlib.compress(task.sas),
                    domain and domain.path,
                    domain and domain.content,
                    problem and problem.path,
                    problem and problem.content,
                ),
            )

    def task_names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT name FROM tasks ORDER BY name")]

    def task(self, name: str) -> Task:
        """The task, rebuilt from the database alone."""
        if name not in self._tasks:
            (files,) = self._task_row(name, "domain_name, domain, problem_name, problem")
            pddl = None if files[1] is None else (Source(*files[:2]), Source(*files[2:]))
            task = Task(self._sas(name), name=name, pddl=pddl)
            self._tasks[name] = task
        return self._tasks[name]

    def _sas(self, name: str) -> bytes:
        ((digest, packed),) = self._task_row(name, "digest, sas")
        try:
            sas = zlib.decompress(packed)
        except zlib.error:
            sas = b""
        if hashlib.sha256(sas).hexdigest() != digest:
            raise InputFormatError(
                f"the database is damaged: the SAS file of {name} is not what it was",
                where=str(self.path),
                hint=AGAIN,
            )
        return sas

    def _task_row(self, name: str, columns: str) -> list[tuple[Any, ...]]:
        found = self.rows(f"SELECT {columns} FROM tasks WHERE name = ?", name)
        if not found:
            raise UsageError(
                f"the campaign has no task {name}",
                where=str(self.folder),
                expected="one of " + ", ".join(self.task_names()[:10]),
            )
        return found

    def _task_id(self, name: str) -> int:
        return int(self._task_row(name, "id")[0][0])

    def set_policy(self, spec: str, digest: str) -> None:
        """Keep which policy is tested. A policy that has changed since is refused."""
        known = self.policy
        if known is None:
            with self.unit():
                self.insert("the policy", "policy", (spec, digest))
        elif known != (spec, digest):
            raise InputFormatError(
                f"the policy {spec} is not the one that the campaign began with ({known[0]})",
                where=str(self.folder),
                hint="start a new campaign for it",
            )

    @property
    def policy(self) -> tuple[str, str] | None:
        """Spec and digest."""
        found = self.rows("SELECT spec, digest FROM policy")
        return (found[0][0], found[0][1]) if found else None

    def set_dominance(self, task: str, tables: bytes | None, problem: str | None = None) -> None:
        """Keep the dominance function of a task, or why there is none: what was derived from it can be checked."""
        packed = None if tables is None else zlib.compress(tables)
        with self.unit():
            self.insert(
                f"the dominance function of {task}",
                "dominance",
                (self._task_id(task), packed, problem),
            )

    def dominance(self, task: str) -> tuple[bytes | None, str | None] | None:
        """The tables, or why there are none; None: nobody has tried."""
        found = self.rows(
            "SELECT tables, problem FROM dominance WHERE task = ?", self._task_id(task)
        )
        if not found:
            return None
        packed, problem = found[0]
        try:
            return (None if packed is None else zlib.decompress(packed)), problem
        except zlib.error as error:
            raise InputFormatError(
                f"the database is damaged: the dominance function of {task}: {error}",
                where=str(self.path),
                hint=AGAIN,
            ) from error

    # -- units of work ----------------------------------------------------------------------------

    def add_pool(self, *records: PoolRecord) -> None:
        """Add pool states, as one unit. Their indices go on where the pool of the task ends."""
        with self.unit():
            for record in records:
                task = self._task_id(record.task)
                ((last,),) = self.rows("SELECT max(idx) FROM pool WHERE task = ?", task)
                size = 0 if last is None else last + 1
                if record.index != size:
                    raise UsageError(
                        f"pool state {record.index} of {record.task} comes out of order",
                        where=str(self.path),
                        expected=f"number {size}",
                    )
                self.insert(f"pool state {size}", "pool", (task, *rows.pool_row(record)))

    def add_tested(
        self, run: RunRecord, verdict: VerdictRecord, better: Iterable[VerdictRecord] = ()
    ) -> None:
        """Add a tested state, and the verdicts of earlier states that it improved, as one unit."""
        if (run.task, run.state) != (verdict.task, verdict.state):
            raise UsageError("run and verdict are of different states", where=str(self.path))
        with self.unit():
            place = self._place(run.task, rows.state_text(run.state))
            self.insert("a run", "runs", (*place, *rows.run_row(run)))
            self.insert("a verdict", "verdicts", (*place, *rows.verdict_row(verdict)))
            for record in better:
                self.replace_verdict(record)

    def replace_verdict(self, verdict: VerdictRecord) -> None:
        """Put a better verdict in the place of an earlier one."""
        with self.unit():
            place = self._place(verdict.task, rows.state_text(verdict.state))
            if not self.rows("SELECT 1 FROM verdicts WHERE task = ? AND idx = ?", *place):
                raise UsageError("no verdict to replace", where=str(self.path))
            self.insert("a verdict", "verdicts", (*place, *rows.verdict_row(verdict)), replace=True)

    def add_event(self, event: Event) -> None:
        with self.unit():
            self.insert("an event", f"events({rows.EVENT_COLUMNS})", rows.event_row(event))

    def _place(self, task: str, state: str) -> tuple[int, int]:
        number = self._task_id(task)
        found = self.rows("SELECT idx FROM pool WHERE task = ? AND state = ?", number, state)
        if not found:
            raise UsageError(f"state {state} is not in the pool of {task}", where=str(self.path))
        return number, int(found[0][0])

    # -- reading ----------------------------------------------------------------------------------

    def pool(self, task: str) -> list[PoolRecord]:
        """The pool in the order of generation."""
        query = f"SELECT {rows.POOL_COLUMNS} FROM pool WHERE task = ? ORDER BY idx"
        return [
            rows.decoded(rows.pool_record, str(self.path), task, row)
            for row in self.rows(query, self._task_id(task))
        ]

    def runs(self, task: str) -> list[RunRecord]:
        """In the order of the pool."""
        return [
            rows.decoded(rows.run_record, str(self.path), task, state, row)
            for state, *row in self._joined("runs", rows.RUN_COLUMNS, task)
        ]

    def verdicts(self, task: str) -> list[VerdictRecord]:
        """In the order of the pool."""
        return [
            rows.decoded(rows.verdict_record, str(self.path), task, state, row)
            for state, *row in self._joined("verdicts", rows.VERDICT_COLUMNS, task)
        ]

    def _joined(self, table: str, columns: str, task: str) -> list[tuple[Any, ...]]:
        named = ", ".join(f"{table}.{column.strip()}" for column in columns.split(","))
        return self.rows(
            f"SELECT pool.state, {named} FROM {table} JOIN pool USING (task, idx) WHERE task = ? ORDER BY idx",
            self._task_id(task),
        )

    def events(self) -> list[Event]:
        query = f"SELECT {rows.EVENT_COLUMNS} FROM events ORDER BY id"
        return [rows.decoded(rows.event_of, str(self.path), row) for row in self.rows(query)]

    def tested(self, task: str | None = None) -> Iterator[TestedState]:
        """The tested states, by name of the task and order of the pool."""
        if task is not None:
            self._task_id(task)
        for name in self.task_names() if task is None else [task]:
            with self._snapshot():
                pool, runs, verdicts = self.pool(name), self.runs(name), self.verdicts(name)
            yield from tested_states(self.task(name), pool, runs, verdicts)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Several queries that see one moment, while somebody else may be writing."""
        if self._db.in_transaction:
            yield
            return
        with translated(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("COMMIT")

    def last_unit(self, task: str) -> LastUnit:
        """Where the stored prefix of a task ends: what a resumed campaign needs to go on."""
        number = self._task_id(task)
        with self._snapshot():
            ((pool, iteration),) = self.rows(
                "SELECT count(*), max(iteration) FROM pool WHERE task = ?", number
            )
            ((tested,),) = self.rows("SELECT count(*) FROM verdicts WHERE task = ?", number)
            ((untested,),) = self.rows(
                "SELECT min(pool.idx) FROM pool LEFT JOIN verdicts USING (task, idx) "
                "WHERE task = ? AND verdict IS NULL",
                number,
            )
            kinds = {k for (k,) in self.rows("SELECT kind FROM events WHERE task = ?", task)}
        return LastUnit(
            pool, iteration, tested, untested, POOL_FINISHED in kinds, TASK_FINISHED in kinds
        )


def create_store(folder: str | os.PathLike[str], config: Settings) -> CampaignStore:
    """Begin a campaign in a new or empty folder."""
    place = Path(folder)
    return CampaignStore(place, prepare(place, config))


def begin_store(folder: Path, config: Settings, *, resume: bool = False) -> CampaignStore:
    """A new campaign, or, to `resume`, this very one if it was begun in the folder before.

    One that ended before it knew what to test was never begun, and is in nobody's way.
    """
    try:
        return create_store(folder, config)
    except InputFileError:
        if not (folder / DATABASE_NAME).exists():
            raise
        store = open_store(folder)
        changed = _difference(store.config, without_none(config))
        begun = store.rows("SELECT 1 FROM tasks UNION SELECT 1 FROM models")
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


def _difference(known: Settings, given: Settings) -> str | None:
    for name in dict.fromkeys([*known, *given]):
        before, now = known.get(name), given.get(name)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            if inner := _difference(before, now):
                return inner
        elif before != now:
            return f"its {name} is {before}, not {now}"
    return None


def open_store(folder: str | os.PathLike[str], *, readonly: bool = False) -> CampaignStore:
    """Open a campaign, to go on with it or only to read."""
    place = Path(folder)
    try:
        if not place.is_dir():
            problem = "not a folder" if place.exists() else "no such folder"
            raise InputFileError(problem, where=str(place), expected="the folder of a campaign")
        if not (place / DATABASE_NAME).is_file():
            raise InputFileError(
                f"no campaign: there is no {DATABASE_NAME} in this folder",
                where=str(place),
                expected="a folder that 'misstep test --out' made",
            )
    except (OSError, ValueError) as error:
        raise InputFileError(f"cannot read: {error}", where=repr(str(place))) from error
    return CampaignStore(place, None if readonly else WriterLock(place))


__all__ = [
    "POOL_FINISHED",
    "TASK_FINISHED",
    "CampaignStore",
    "LastUnit",
    "begin_store",
    "create_store",
    "open_store",
]
