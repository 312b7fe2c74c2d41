"""Which record a user means: by its id, or by its number where there is one task."""

from __future__ import annotations

from collections.abc import Sequence

from misstep.campaigns.records import Record
from misstep.errors import UsageError


def find_record(
    records: Sequence[Record], tasks: Sequence[str], handle: Record | str | int, where: str
) -> Record:
    if isinstance(handle, Record):
        handle = handle.id
    if isinstance(handle, bool) or not isinstance(handle, (str, int)):
        raise UsageError(f"{handle!r:.80} is no record", expected="an id such as TASK:NUMBER")
    text = str(handle)
    task, _, number = text.rpartition(":")
    if not task and len(tasks) == 1:
        task = tasks[0]
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


__all__ = ["find_record"]
