"""Check a whole campaign from its files alone.

A campaign keeps the sources of its tasks beside its records. So everything that has a proof can be checked again
without trusting the engine or the program that wrote the files: `planning_records` and `model_records` do this. The
database is read in one transaction and never written.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from misstep.checking.errors import CheckError
from misstep.checking.model_records import ModelRecords
from misstep.checking.planning_records import PlanningRecords
from misstep.checking.report import CampaignReport, Finding
from misstep.checking.seal import Sealed
from misstep.checking.stored import Store, StoredTask
from misstep.errors import InputFileError, MisstepError, UnsupportedError

Progress = Callable[[int, int], None]
DATABASE = "run.db"


def check_campaign(
    folder: Path, progress: Progress | None = None, *, full: bool = False
) -> CampaignReport:
    """Check all records of the campaign in a folder. `progress` is told how many of how many are done.

    In full, claims without a proof are also computed again, as far as that can be done here."""
    path = Path(folder) / DATABASE
    try:
        _check_files(path)
        with _opened(path) as connection:
            _check_files(path)  # SQLite follows a link that another process has put there since
            return check_database(connection, progress, full=full)
    except CheckError as error:
        error.where = error.where or str(folder)
        raise
    except (OSError, sqlite3.OperationalError) as error:
        raise InputFileError(f"cannot read the file: {error}", where=str(path)) from None


def _check_files(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        own = Path(f"{path}{end}")
        if own.is_symlink() or (own.exists() and not own.is_file()):
            link = "a symbolic link, which is not followed"
            raise InputFileError(
                f"this is {link if own.is_symlink() else 'not a regular file'}",
                where=str(own),
                expected="a file of the campaign",
            )
    if not path.is_file():
        raise InputFileError(
            f"there is no {DATABASE}", where=str(path.parent), expected="a campaign"
        )
    journal = Path(f"{path}-journal")
    if journal.exists() and journal.stat().st_size > 0:
        # SQLite would change the database by it before it lets anybody write, so that others see other records.
        raise CheckError("a rollback journal lies beside the database", where=str(journal))


def check_database(
    connection: sqlite3.Connection, progress: Progress | None = None, *, full: bool = False
) -> CampaignReport:
    """The same for an open database, such as one in memory."""
    within = connection.in_transaction
    try:
        if not within:
            connection.execute("BEGIN")
        try:
            return _checked(Store(connection), progress, CampaignReport(full=full))
        finally:
            if not within:
                connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise CheckError(f"the database is damaged: {error}") from None


def _checked(store: Store, progress: Progress | None, report: CampaignReport) -> CampaignReport:
    total, done = store.count_states(), 0
    if progress is not None:
        progress(0, total)  # reading all rows and the first record may take long
    for task in store.tasks():
        for finding in _findings(store, task, report):
            report.findings.append(finding)
            if ":" in finding.record:
                done = min(done + 1, total)
                if progress is not None:
                    progress(done, total)
    report.not_checked["measured families"] += store.measured_families()
    named = store.setting("", "policy") or ""
    if any(spec != named for spec in store.policies()):
        other = "the records are said to be of another policy than the settings name"
        report.findings.append(Finding("run.db", f"{other}: {named:.100}"))
    sealed = Sealed(store.connection)
    report.digest = sealed.digest
    report.checked["rows against the digest"] = 0 if sealed.problems else sealed.rows
    report.not_checked["digests"] = int(sealed.digest is None and not sealed.problems)
    report.findings += [Finding("run.db", problem) for problem in sealed.problems]
    report.checked = +report.checked
    report.not_checked = +report.not_checked
    for table, id in store.orphans():
        report.findings.append(Finding(f"task {id}", f"rows of {table} belong to no task"))
    return report


def _findings(store: Store, task: StoredTask, report: CampaignReport) -> Iterator[Finding]:
    records: PlanningRecords | ModelRecords
    try:
        if task.world == "planning":
            records = PlanningRecords(store, task, report)
        elif task.world == "model":
            records = ModelRecords(store, task, report)
        else:
            raise CheckError(f"the world of the task is {task.world!r}")
    except UnsupportedError as error:
        report.remarks.append(f"{task.name}: {error}")
        report.not_checked["records"] += len(store.states(task.id))
        return
    except MisstepError as error:
        yield Finding(task.name, str(error))
        return
    for finding in records.findings():
        report.checked["records"] += finding.problem is None
        yield finding


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that does not write. SQLite needs to write beside a database whose log is in use; if it cannot,
    the file is read as it is, or a copy of it together with its log."""
    with ExitStack() as stack:
        connection = _shared(path)
        log = path.with_name(path.name + "-wal")
        if connection is None and log.exists() and log.stat().st_size > 0:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="misstep-"))
            size = path.stat().st_size + log.stat().st_size  # holes of a file are filled in a copy
            if 2 * size > shutil.disk_usage(folder).free:
                raise CheckError("a copy of the database takes more than half of the disk")
            for file in (path, log):
                shutil.copy(file, folder)
            connection = _connected(Path(folder) / path.name, "rw")
        elif connection is None:
            connection = _connected(path, "ro&immutable=1")
        yield stack.enter_context(closing(connection))


def _shared(path: Path) -> sqlite3.Connection | None:
    """A connection that allows others at the same time; None if SQLite cannot write the files that it needs."""
    connection = _connected(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError:
        connection.close()
        return None
    except sqlite3.DatabaseError as error:
        connection.close()
        raise CheckError(f"{path.name} is not a database: {error}") from None


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path.resolve()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=30,
    )


__all__ = ["CampaignReport", "check_campaign", "check_database"]
