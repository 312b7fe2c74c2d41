"""The folder of an experiment: its definition, its units and their results, in one SQLite database.

A result is written in one transaction when its unit is done, so a kill at any moment only loses the units in progress.
As in the store of a campaign (`campaigns/store.py`), no commit waits for the disk. Results are stored under a digest
of everything that a unit depends on. If the definition, a kind of step, or the number of seeds has changed, unchanged
units keep their results, and results that are no longer needed are deleted. Results of another version of Misstep are
computed again. A folder of another experiment or scale is refused.

The folder may come from a stranger. Its tables must be ours to the letter, and no file of it may be a link.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import misstep
from misstep.campaigns.database import check_file, connect, translated
from misstep.campaigns.lock import WriterLock
from misstep.decoding import parse_json
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.experiments.definition import Definition, Unit, parse_definition
from misstep.experiments.kinds import KINDS, Json
from misstep.experiments.lines import TomlText
from misstep.experiments.schema import SCALES
from misstep.files import check_beside, reason, refuse_link, refuse_linked_folders

NAME = "experiment.db"
SCHEMA = 1
WORK = "work"  # files of units in progress
FOLDERS = (WORK, "policies", "report")  # inside the folder of an experiment
DONE, MISSING, FAILED = "done", "missing", "failed"
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE units (
    place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, step TEXT NOT NULL, kind TEXT NOT NULL, row TEXT NOT NULL,
    seed INTEGER NOT NULL, label TEXT NOT NULL, payload TEXT NOT NULL, work REAL NOT NULL);
CREATE TABLE results (
    key TEXT PRIMARY KEY, outcome TEXT NOT NULL, result TEXT NOT NULL, seconds REAL NOT NULL, version TEXT NOT NULL,
    at REAL NOT NULL);
"""


@dataclass(frozen=True)
class Stored:
    """The stored outcome of a unit. `result` is its result, or a message if there is none."""

    outcome: str
    result: Any
    seconds: float
    version: str


@dataclass(frozen=True)
class Changes:
    """How a folder was brought up to date."""

    kept: int
    dropped: int  # results that are no longer needed
    outdated: int  # results of another version, which are computed again


class ResultStore:
    def __init__(
        self, folder: Path, connection: sqlite3.Connection, lock: WriterLock | None
    ) -> None:
        self.folder = folder
        self._path = folder / NAME
        self._connection = connection
        self._lock = lock

    # -- meta ---------------------------------------------------------------------------------------

    def meta(self, name: str) -> str:
        with translated(self._path):
            row = self._connection.execute(
                "SELECT value FROM meta WHERE name = ?", (name,)
            ).fetchone()
        if row is None or not isinstance(row[0], str):
            raise InputFormatError(f"the database has no {name}", where=str(self._path))
        return row[0]

    @property
    def scale(self) -> str:
        found = self.meta("scale")
        if found not in SCALES:
            raise _damaged("the scale", self._path)
        return found

    @property
    def seeds(self) -> int:
        found = self.meta("seeds")
        if not found.isascii() or not found.isdecimal() or len(found) > 9:
            raise _damaged("the number of seeds", self._path)
        return int(found)

    def definition(self) -> Definition:
        """The definition that was last run here."""
        return parse_definition(TomlText(self.meta("definition"), self.meta("file")))

    def names(self) -> dict[str, str]:
        """The names of the given folders in reports; empty in folders of earlier versions."""
        try:
            found: object = _json(self.meta("names"), self._path)
        except InputFormatError:
            return {}
        pairs = found.items() if isinstance(found, dict) else ()
        return {folder: str(name) for folder, name in pairs}

    # -- units --------------------------------------------------------------------------------------

    def units(self) -> list[Unit]:
        query = "SELECT key, step, kind, row, seed, label, payload, work FROM units ORDER BY place"
        with translated(self._path):
            rows = self._connection.execute(query).fetchall()
        return [_unit(row, self._path) for row in rows]

    def results(self) -> dict[str, Stored]:
        with translated(self._path):
            rows = self._connection.execute(
                "SELECT key, outcome, result, seconds, version FROM results"
            ).fetchall()
        return {str(key): _stored(rest, self._path) for key, *rest in rows}

    def put(self, key: str, outcome: str, result: object, seconds: float) -> None:
        """One result, in one transaction."""
        row = (key, outcome, json.dumps(result), seconds, misstep.__version__, time())
        with translated(self._path), _transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)", row
            )

    def update(
        self,
        definition: Definition,
        units: Sequence[Unit],
        scale: str,
        seeds: int,
        names: Mapping[str, str] | None = None,
    ) -> Changes:
        """Make these the units of the folder; results that fit stay."""
        wanted = {unit.key for unit in units}
        stored = self.results()
        dropped = [key for key in stored if key not in wanted]
        outdated = [
            key
            for key, own in stored.items()
            if key in wanted and own.version != misstep.__version__
        ]
        rows = [
            (k, u.key, u.step, u.kind, u.row, u.seed, u.label, json.dumps(u.payload), u.work)
            for k, u in enumerate(units)
        ]
        meta = {
            "name": definition.name,
            "scale": scale,
            "seeds": str(seeds),
            "definition": definition.source.text,
            "file": definition.source.name,
            "schema": str(SCHEMA),
            "names": json.dumps(dict(names or {})),
        }
        with translated(self._path), _transaction(self._connection):
            run = self._connection.executemany
            run("DELETE FROM results WHERE key = ?", [(key,) for key in (*dropped, *outdated)])
            self._connection.execute("DELETE FROM units")
            run("INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            run("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(meta.items()))
        kept = len(stored) - len(dropped) - len(outdated)
        return Changes(kept, len(dropped), len(outdated))

    def close(self) -> None:
        if self._lock is not None:
            # Merge the log into one file, so that reading leaves no others beside it. A reader may prevent this.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def begin(folder: Path, name: str, scale: str) -> ResultStore:
    """The folder of an experiment, to write to: a new one, or one of the same experiment and scale."""
    path = folder / NAME
    refuse_linked_folders(folder, FOLDERS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = path.exists()
        if not known and any(own.name != "run.lock" for own in folder.iterdir()):
            raise InputFileError(
                "the folder is not empty and holds no experiment",
                where=str(folder),
                expected="a new folder, or one of the same experiment",
            )
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(folder)) from error
    lock = _lock(folder)
    try:
        connection = _open(path) if known else _new(path)
        with translated(path):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        store = ResultStore(folder, connection, lock)
        if known:
            _check(store, name, scale)
        return store
    except BaseException:
        lock.release()
        raise


def open_results(folder: Path) -> ResultStore:
    """The folder of an experiment, to read."""
    path = folder / NAME
    if not path.is_file():
        raise InputFileError(
            "no experiment is in this folder",
            where=str(folder),
            hint="'misstep experiment NAME --out DIR' makes one",
        )
    store = ResultStore(folder, _open(path, "ro"), None)
    _check_schema(store)
    return store


def _new(path: Path) -> sqlite3.Connection:
    with translated(path):
        connection = connect(path, "rwc")
        with _transaction(connection):
            _make_tables(connection)
            connection.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
        return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)


def _open(path: Path, mode: str = "rw") -> sqlite3.Connection:
    refuse_link(path, only_read=mode == "ro")
    check_beside(path)
    check_file(path)
    with translated(path):
        connection = connect(path, mode)
    try:
        with translated(path):
            _check_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error unless the tables are exactly ours: a view or a trigger would run with our queries."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as own:
        _make_tables(own)
        ours = set(own.execute(query))
    for kind, name, *_ in sorted(set(connection.execute(query)) ^ ours, key=str):
        raise InputFormatError(
            f"the database is damaged or was changed by somebody: the {kind!s:.20} {name!r:.60} is missing, "
            "changed or unknown",
            where=str(path),
            expected="the tables of an experiment, exactly as Misstep makes them",
            hint="run the experiment again into another folder",
        )


def _check(store: ResultStore, name: str, scale: str) -> None:
    _check_schema(store)
    try:
        found = {own: store.meta(own) for own in ("name", "scale")}
    except InputFormatError:
        return  # the run was killed before it wrote anything
    for what, wanted in (("name", name), ("scale", scale)):
        if found[what] != wanted:
            raise UsageError(
                f"the folder is of the experiment {found['name']} at the scale {found['scale']}",
                where=str(store.folder),
                expected=f"{name} at the scale {scale}",
                hint="choose another folder with --out",
            )


def _check_schema(store: ResultStore) -> None:
    found = store.meta("schema")
    if found != str(SCHEMA):
        raise InputFormatError(
            f"the folder was written in the form {found[:20]!r}, and this version reads {SCHEMA}",
            where=str(store.folder),
            hint="run the experiment again into another folder",
        )


def _lock(folder: Path) -> WriterLock:
    try:
        return WriterLock(folder)
    except InputFileError as error:
        what = error.what.replace("the campaign", "the experiment")
        raise InputFileError(what, where=error.where, hint=error.hint) from error


def _unit(row: Sequence[Any], path: Path) -> Unit:
    key, step, kind, name, seed, label, payload, work = row
    if kind not in KINDS:
        raise InputFormatError(
            f"a step of the kind {str(kind)[:40]!r} is not known", where=str(path)
        )
    texts = (key, step, kind, name, label)
    if any(type(own) is not str for own in texts) or type(seed) is not int:
        raise _damaged("a unit", path)
    return Unit(key, step, kind, name, seed, label, _json(payload, path), _real(work, path))


def _stored(row: Sequence[Any], path: Path) -> Stored:
    outcome, result, seconds, version = row
    if outcome not in (DONE, MISSING, FAILED) or type(version) is not str:
        raise _damaged("a result", path)
    found = _json(result, path)
    if not isinstance(found, dict):
        raise _damaged("a result", path)
    return Stored(outcome, found, _real(seconds, path), version)


def _real(value: Any, path: Path) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise _damaged("a number", path)
    return float(value)


def _damaged(what: str, path: Path) -> InputFormatError:
    return InputFormatError(
        f"the database is damaged: {what} is not what Misstep stores",
        where=str(path),
        hint="run the experiment again into another folder",
    )


def _json(text: str, path: Path) -> Json:
    try:
        found: Json = parse_json(text)
    except ValueError as error:
        raise InputFormatError(f"the database is damaged: {error}", where=str(path)) from error
    return found


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


__all__ = [
    "DONE",
    "FAILED",
    "MISSING",
    "NAME",
    "Changes",
    "ResultStore",
    "Stored",
    "begin",
    "open_results",
]
