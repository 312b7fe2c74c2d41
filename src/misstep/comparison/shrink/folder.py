"""The folders of small campaigns, `DIR/shrunk/TASK-N/`, which are replaced atomically.

Each success of the search is written as a campaign beside the last one and replaces it by renaming, so that an
interruption at any moment keeps the result so far. Folders are untrusted: links are refused.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.lock import WriterLock
from misstep.campaigns.records import Record
from misstep.campaigns.store import open_store
from misstep.comparison.shrink.search import Position
from misstep.comparison.shrink.shrunk import META, Note, Shrunk
from misstep.decoding import parse_json
from misstep.errors import InputFileError, InputFormatError
from misstep.files import reason, write_inside

SHRUNK = "shrunk"
MAX_NOTE_BYTES = 2**24


def small_name(record: Record) -> str:
    """The name of the folder and of the task in it."""
    safe = re.sub(r"[^A-Za-z0-9_.+-]", "_", record.task)[:100].lstrip(".") or "task"
    return f"{safe}-{record.number}"


def folder_of(campaign: Campaign, record: Record) -> Path | None:
    return None if campaign.folder is None else campaign.folder / SHRUNK / small_name(record)


@contextmanager
def writing(campaign: Campaign) -> Iterator[None]:
    """Lock the folder of small campaigns."""
    if campaign.folder is None:
        yield
        return
    folder = campaign.folder / SHRUNK
    _refuse_link(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputFileError(
            f"cannot make this folder: {reason(error)}", where=str(folder)
        ) from error
    lock = WriterLock(folder)
    try:
        yield
    finally:
        lock.release()


def keep(found: Campaign, note: Note, place: Path | None) -> Shrunk:
    """Write a campaign from memory; it replaces the one before."""
    found._store.set_meta(META, json.dumps(note.as_dict()))
    shrunk = Shrunk(found, note)
    if place is None:
        return shrunk
    fresh, old = place.with_name(f".{place.name}.new"), place.with_name(f".{place.name}.old")
    try:
        for leftover in (fresh, old):
            _remove(leftover)
        found.save(fresh).close()
        for name, text in (
            ("domain.pddl", shrunk.domain_text),
            ("problem.pddl", shrunk.problem_text),
            ("plan", shrunk.plan_text),
        ):
            if text is not None:
                write_inside(fresh / name, text.encode("latin-1", "replace"))
        if place.exists() or place.is_symlink():
            _refuse_link(place)
            place.rename(old)
        fresh.rename(place)
        _remove(old)
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(place)) from error
    finally:
        with suppress(OSError):  # half of a campaign would keep a full disk full
            _remove(fresh)
    return shrunk


def restore(place: Path) -> None:
    """Undo a replacement that was killed between its two renamings."""
    old = place.with_name(f".{place.name}.old")
    if not place.exists() and old.is_dir() and not old.is_symlink():
        with suppress(OSError):
            old.rename(place)


def read(campaign: Campaign, record: Record) -> Shrunk | None:
    """The stored result for a record, or None. Nothing is run."""
    place = folder_of(campaign, record)
    if place is None:
        return None
    _refuse_link(place.parent)
    _refuse_link(place)
    if not place.is_dir():
        return None
    store = open_store(place, readonly=True)
    try:
        rows = store.rows("SELECT value FROM meta WHERE key = ?", META)
        if not rows or not isinstance(rows[0][0], str) or len(rows[0][0]) > MAX_NOTE_BYTES:
            raise InputFormatError(
                f"the campaign has no row {META!r}", where=str(place), hint="delete the folder"
            )
        note = Note.from_dict(_parsed(rows[0][0], store.path), store.path)
        if note.position is not None:
            Position.from_dict(note.position)
        small = Campaign(store, campaign._policy, campaign._trust)
        count = len(small.records)
        holds = note.id == record.id and 0 <= note.number < count
        if not holds or not small.records[note.number].is_bug:
            raise InputFormatError(
                "the folder does not hold this bug", where=str(place), hint="delete the folder"
            )
    except BaseException:
        store.close()
        raise
    return Shrunk(small, note)


def _parsed(text: str, where: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputFormatError(f"the row {META!r} is not JSON: {error}", where=where) from None


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise InputFileError(
            "this is a symbolic link, which is not followed here",
            where=str(folder),
            expected="a folder of its own",
        )


__all__ = ["SHRUNK", "folder_of", "keep", "read", "restore", "small_name", "writing"]
