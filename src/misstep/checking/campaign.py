"""Check a whole campaign from its files alone.

A campaign keeps the sources of its tasks beside its records. So everything that has a proof can be checked again
without trusting the engine or the program that wrote the files: `planning_records` and `model_records` do this. The
database is read in one transaction and never written.
"""

from __future__ import annotations

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
    for end in ("", "-wal", "-shm", "-journal"):
        if Path(f"{path}{end}").is_symlink():
            raise InputFileError(
                "this is a symbolic link, which is not followed",
                where=f"{path}{end}",
                expected="a file of the campaign",
            )
    if not path.is_file():
        raise InputFileError(f"there is no {DATABASE}", where=str(folder), expected="a campaign")
    try:
        with _opened(path) as connection:
            return check_database(connection, progress, full=full)
    except CheckError as error:
        error.where = error.where or str(folder)
        raise
    except OSError as error:
        raise InputFileError(f"cannot read the file: {error}", where=str(path)) from None


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
        f"file:{quote(str(path.resolve()))}?mode={mode}", uri=True, isolation_level=None, timeout=30
    )


__all__ = ["CampaignReport", "check_campaign", "check_database"]
