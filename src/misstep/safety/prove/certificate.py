"""Write certificates: columns of numbers after a header, as `misstep.checking.certificates.container` reads them.

A proof may have ten million states. They are processed in chunks of rows, first to find the width of each column and
then to pack it, so that only one chunk is unpacked at a time. The checker has its own code for reading.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.checking.certificates.container import MAGIC, canonical
from misstep.checking.certificates.models import FIRST
from misstep.checking.jani import SafetyTask
from misstep.errors import MisstepError
from misstep.policies.labels.policy import LabelPolicy
from misstep.tasks.jani.property import GIVEN
from misstep.tasks.jani.task import JaniTask

CHUNK = 1 << 16  # rows
CHECKED_STATES = (
    100_000  # up to this size a certificate is checked at once, unless the caller says otherwise
)
KINDS = {"bool": "bool", "int": "int", "real": "real"}
Rows = Callable[[], Iterator[NDArray[np.int64]]]


@dataclass
class ColumnKind:
    name: str
    kind: str = "int"


def packed(header: dict[str, Any], states: int, kinds: Sequence[ColumnKind], rows: Rows) -> bytes:
    """The file. `rows` gives all rows, in chunks, as often as it is called."""
    lows = np.zeros(len(kinds), np.int64)
    highs = np.zeros(len(kinds), np.int64)
    for number, chunk in enumerate(rows()):
        low, high = chunk.min(axis=0), chunk.max(axis=0)
        lows = low if number == 0 else np.minimum(lows, low)
        highs = high if number == 0 else np.maximum(highs, high)
    is_real = np.array([own.kind == "real" for own in kinds])
    lows[is_real | (np.array([own.kind == "bool" for own in kinds]))] = 0
    widths = [
        8 if own.kind == "real" else _width(int(high) - int(low))
        for own, low, high in zip(kinds, lows, highs, strict=True)
    ]
    streams = [zlib.compressobj(6) for _ in kinds]
    parts: list[list[bytes]] = [[] for _ in kinds]
    for chunk in rows():
        # Modulo 2^64, which is what the bits of real numbers need.
        offsets = chunk.astype(np.uint64) - lows.astype(np.uint64)
        for place, (stream, width) in enumerate(zip(streams, widths, strict=True)):
            part = offsets[:, place].astype(f"<u{width}").tobytes()
            parts[place].append(stream.compress(part))
    columns = [b"".join((*part, own.flush())) for part, own in zip(parts, streams, strict=True)]
    described = [
        {
            "name": own.name,
            "kind": own.kind,
            "low": int(low),
            "width": width,
            "bytes": len(column),
        }
        for own, low, width, column in zip(kinds, lows, widths, columns, strict=True)
    ]
    text = json.dumps({**header, "states": states, "columns": described})
    return b"".join((MAGIC, text.encode(), b"\n", *columns))


def _width(largest: int) -> int:
    return next(width for width in (1, 2, 4, 8) if largest < 1 << (8 * width))


def model_certificate(
    task: JaniTask,
    policy: LabelPolicy,
    ids: NDArray[np.uint32],
    labels: NDArray[np.int32],
    about: dict[str, Any],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None,
) -> bytes:
    """The certificate of an inductive set: states of the policy's engine, and the label of each.

    `lost` are states that are left out because no strategy keeps them safe, with the ranks that prove it.
    """
    kinds = [ColumnKind(name, kind) for name, kind, *_ in task.variables]
    extra = [ColumnKind("=label")]
    ranks = np.zeros((len(ids), 0), np.int64)
    if lost is not None:
        extra.append(ColumnKind("=lost"))
        ranks = np.concatenate([np.zeros(len(ids), np.int64), lost[1].astype(np.int64) + 1])[
            :, None
        ]
        ids, labels = (
            np.concatenate([ids, lost[0]]),
            np.pad(labels, (0, len(lost[0])), constant_values=-1),
        )
    # -2 (any) and -1 (none) come to stand before the labels, which count from 2.
    codes = np.where(labels >= 0, labels + FIRST, np.where(labels == -1, 0, 1)).astype(np.int64)

    def rows() -> Iterator[NDArray[np.int64]]:
        for first in range(0, len(ids), CHUNK):
            chunk = _core.jani_rows(policy.engine, ids[first : first + CHUNK])
            part = slice(first, first + CHUNK)
            yield np.column_stack([chunk, codes[part], ranks[part]])

    header = {
        "claim": "safe",
        "world": "model",
        "task": _of_task(task),
        "property": property_digest(task),
        "policy": {
            "spec": policy.spec,
            "digest": policy.digest,
            "inapplicable": policy.inapplicable,
        },
        "labels": list(task.labels),
        **about,
    }
    return packed(header, len(ids), [*kinds, *extra], rows)


def property_digest(task: JaniTask) -> str:
    """Of the property's expression, as the checker reads it; a remark where it cannot."""
    try:
        expression = SafetyTask.from_source(task.source).property
    except MisstepError as error:
        return f"not read by the checker: {error!s:.200}"
    return hashlib.sha256(canonical(expression)).hexdigest()


def _of_task(task: JaniTask) -> dict[str, Any]:
    source = task.source
    rest = ("world", "name", "files", "path")
    files: list[dict[str, str]] = []
    for name, content in source["files"].items():
        one = {"name": str(name), "sha256": hashlib.sha256(content).hexdigest()}
        if name == GIVEN:  # the user's words: on no disk
            one["content"] = content.decode()
        files.append(one)
    return {
        "name": task.name,
        "digest": task.digest,
        "path": os.fspath(PurePath(source["path"])),
        "files": files,
        "options": {key: value for key, value in source.items() if key not in rest},
    }


__all__ = ["CHECKED_STATES", "ColumnKind", "model_certificate", "packed", "property_digest"]
