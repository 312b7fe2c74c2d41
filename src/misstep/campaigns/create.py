"""Create the folder of a campaign completely, or leave nothing that looks like a campaign."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote

from misstep.campaigns.database import connect, why_no_file
from misstep.campaigns.lock import LOCK_NAME, WriterLock
from misstep.campaigns.schema import APPLICATION_ID, create_tables
from misstep.campaigns.seal import seal_from_scratch
from misstep.campaigns.toml import Tree, to_toml
from misstep.errors import InputFileError, InputFormatError
from misstep.files import (
    check_beside,
    decoded,
    open_inside,
    read_bytes,
    reason,
    refuse_link,
    write_inside,
)

CONFIG_NAME = "config.toml"
DATABASE_NAME = "run.db"
_UNFINISHED = ".new"
# Files that a killed creation may leave behind.
_LEFTOVERS = {
    LOCK_NAME,
    CONFIG_NAME + _UNFINISHED,
    *(DATABASE_NAME + _UNFINISHED + end for end in ("", "-journal", "-wal", "-shm")),
}
_LOGS = ("-journal", "-wal", "-shm")
# All that a campaign may have in its folder.
_FILES = {CONFIG_NAME, DATABASE_NAME, *_LEFTOVERS, *(DATABASE_NAME + end for end in _LOGS)}
_MAX_CONFIG_BYTES = 16 * 2**20


def prepare(folder: Path, config: Tree) -> WriterLock:
    """Make a campaign without records; returns the lock on it."""
    text = to_toml(config)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_used(folder)
    except FileExistsError as error:
        raise InputFileError("this is a file", where=str(folder), expected="a folder") from error
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise InputFileError(
            f"cannot make or read this folder: {why}",
            where=repr(str(folder)),
            hint="change its permissions or choose another one",
        ) from error
    lock = WriterLock(folder)
    try:
        _refuse_used(folder)  # another process may have been faster
        _build(folder, text)
    except BaseException:
        lock.release()
        raise
    return lock


def discard(folder: Path) -> None:
    """Make a campaign without stored data look like a killed creation, so that the folder can be used again."""
    (folder / DATABASE_NAME).rename(folder / (DATABASE_NAME + _UNFINISHED))


def remove(folder: Path) -> None:
    """Remove the folder of a campaign without stored data."""
    with suppress(OSError):  # then it stays, which does no harm
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def clear(folder: Path) -> None:
    """Take the campaign in a folder away, so that another one can be made there.

    Nothing is taken away but the files of a campaign. A folder with anything else in it, or that is a link, is refused.
    One without a campaign stays as it is: `prepare` says whether a campaign can be made there.
    """
    database = folder / DATABASE_NAME
    if not os.path.lexists(database):
        return
    try:
        found = sorted(path.name for path in folder.iterdir())
        strange = [name for name in found if name not in _FILES]
        if folder.is_symlink():
            raise _not_replaced(folder, "the folder is a symbolic link, which is not followed here")
        if strange:
            raise _not_replaced(folder, f"the folder also holds {', '.join(strange[:3])}")
        for name in found:
            refuse_link(folder / name, only_read=True)
        if not _is_ours(database):
            raise _not_replaced(folder, f"its {DATABASE_NAME} is not that of a campaign")
        lock = WriterLock(folder)
        try:
            # Before the database, so that whoever is killed here leaves a campaign, and not what nobody knows.
            for end in _LOGS:
                (folder / (DATABASE_NAME + end)).unlink(missing_ok=True)
            discard(folder)
        finally:
            lock.release()
    except OSError as error:
        raise InputFileError(
            f"cannot replace the campaign: {reason(error)}", where=str(folder)
        ) from error


def _is_ours(database: Path) -> bool:
    """By the first bytes, which a database has also where it is damaged or of another version."""
    handle = os.open(database, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        start = os.read(handle, 100)
    finally:
        os.close(handle)
    return start.startswith(b"SQLite format 3\0") and start[68:72] == APPLICATION_ID.to_bytes(
        4, "big"
    )


def _not_replaced(folder: Path, why: str) -> InputFileError:
    return InputFileError(
        f"--force does not replace this: {why}",
        where=str(folder),
        expected="a folder that holds a campaign and nothing else",
        hint="remove it yourself, or choose another folder",
    )


def _refuse_used(folder: Path) -> None:
    found = {path.name for path in folder.iterdir()}
    if DATABASE_NAME in found:
        raise InputFileError(
            "there is a campaign in this folder already",
            where=str(folder),
            hint=f"resume it (misstep test --resume --out {quote(str(folder))}), let misstep test replace it "
            "(--force), or choose another folder",
        )
    # A killed creation is known by its database under construction; settings alone may be the user's.
    ours = _LEFTOVERS | ({CONFIG_NAME} if DATABASE_NAME + _UNFINISHED in found else set())
    strange = sorted(found - ours)
    if strange:
        raise InputFileError(
            f"the folder is not empty: it holds {', '.join(strange[:3])}",
            where=str(folder),
            expected="a new or empty folder",
        )


def _build(folder: Path, config: str) -> None:
    unfinished = folder / (DATABASE_NAME + _UNFINISHED)
    try:
        for name in _LEFTOVERS - {LOCK_NAME}:
            if name != unfinished.name:
                (folder / name).unlink(missing_ok=True)
        _empty(unfinished)
        write_text(folder / CONFIG_NAME, config)
        with closing(connect(unfinished)) as connection:
            create_tables(connection)
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)", [("config", config), ("writing", "0")]
            )
            seal_from_scratch(connection)
            # Not earlier: without WAL the database is a single file, which can be renamed safely after closing.
            connection.execute("PRAGMA journal_mode = WAL")
        unfinished.rename(folder / DATABASE_NAME)
        _sync_folder(folder)
    except (OSError, sqlite3.Error) as error:
        why = error if isinstance(error, OSError) else why_no_file()
        raise InputFileError(
            f"cannot write: {error if why is None else reason(why)}",
            where=str(folder),
            hint="nothing was begun; make room or choose another folder, then try again",
        ) from error


def _empty(path: Path) -> None:
    """Replace the file by an empty one, so that it exists at every moment: it marks a killed creation."""
    try:
        refuse_link(path)
    except InputFileError:
        path.unlink()
    handle = open_inside(path, os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a file atomically."""
    unfinished = path.with_name(path.name + _UNFINISHED)
    try:
        write_inside(unfinished, text.encode())
        unfinished.rename(path)
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(path)) from error


def remove_config(folder: Path) -> None:
    try:
        (folder / CONFIG_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise InputFileError(
            f"cannot write to this folder: {reason(error)}",
            where=str(folder),
            hint="change its permissions",
        ) from error


def read_config(folder: Path) -> str | None:
    """The text of the settings, or None if the file is gone."""
    path = folder / CONFIG_NAME
    if not os.path.lexists(path):
        return None
    content = read_bytes(path, _MAX_CONFIG_BYTES, "the settings of a campaign", follow=False)
    return decoded(content, str(path))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_links(folder: Path, *, only_read: bool) -> None:
    """Raise an error if a file of the campaign leads outside of the folder, or is none of a campaign.

    The folder itself may be a link, because the user has named it.
    """
    check_beside(folder / DATABASE_NAME)
    for name in (DATABASE_NAME, CONFIG_NAME, LOCK_NAME):
        refuse_link(folder / name, only_read=only_read)
    journal = folder / (DATABASE_NAME + "-journal")
    if journal.exists() and journal.stat().st_size > 0:
        # A writer would roll it back first, and so see other records than a reader has seen.
        raise InputFormatError(
            "this is a rollback journal, which no campaign has: its log is in run.db-wal",
            where=str(journal),
            hint="another program made it; get a whole copy of the folder",
        )


__all__ = [
    "CONFIG_NAME",
    "DATABASE_NAME",
    "clear",
    "discard",
    "prepare",
    "read_config",
    "refuse_links",
    "remove",
    "remove_config",
    "write_text",
]
