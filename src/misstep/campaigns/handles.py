"""Which record a user means: by its id, or by its number where there is one task."""

from __future__ import annotations

from collections.abc import Sequence

from misstep.campaigns.records import Record
from misstep.errors import UsageError

LONGEST = 19  # digits of a number, which has 64 bits


def find_record(
    records: Sequence[Record], tasks: Sequence[str], handle: Record | str | int, where: str
) -> Record:
    text = _text_of(handle)
    task, number = _parts(text, tasks)
    for record in records:
        if record.task == task and str(record.number) == number:
            return record
    if not records:
        raise UsageError(
            f"no record {text!r}: the campaign has not recorded any state", where=where
        )
    raise UsageError(
        f"no record {text!r}",
        where=where,
        expected=f"the id of a record, such as {records[0].id}",
        hint="'misstep records DIR' lists them",
    )


def place_of(handle: Record | str | int, tasks: Sequence[str]) -> tuple[str, int] | None:
    """The task and the number that are meant; None if it is no number as records have them."""
    task, number = _parts(_text_of(handle), tasks)
    plain = number.isascii() and number.isdigit() and len(number) < LONGEST
    return (task, int(number)) if plain and str(int(number)) == number else None


def _text_of(handle: Record | str | int) -> str:
    if isinstance(handle, Record):
        handle = handle.id
    if isinstance(handle, bool) or not isinstance(handle, (str, int)):
        raise UsageError(f"{handle!r:.80} is no record", expected="an id such as TASK:NUMBER")
    return str(handle)


def _parts(text: str, tasks: Sequence[str]) -> tuple[str, str]:
    task, _, number = text.rpartition(":")
    return (tasks[0] if not task and len(tasks) == 1 else task), number


__all__ = ["find_record", "place_of"]
