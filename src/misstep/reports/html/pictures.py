"""Pictures of the states of runs and witnesses for the page; equal pictures are stored once.

Drawing all states of a large campaign would take hours and megabytes. So the bugs of each family that lose most are
drawn, family by family in turn, until the pictures take `MOST_BYTES` or `MOST_BUGS` bugs are drawn. The page says so.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

from misstep.campaigns.records import Record
from misstep.reports.drawings import Drawing, drawing_for
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.tasks import TaskBook
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task

EACH_FAMILY = 12  # bugs of a family that are drawn at most
MOST_BUGS = 120
MOST_STATES = 120  # of one run or plan
MOST_BYTES = 6_000_000  # of pictures, before they are compressed
PIECE = 40  # pictures of a piece of the page


class Album:
    """Collects bugs that are worth a picture, and draws them at the end."""

    def __init__(self) -> None:
        self._worst: dict[tuple[str, str | None, str], list[tuple[float, int, Record]]] = {}
        self._books: dict[tuple[str, str], TaskBook] = {}
        self._drawings: dict[int, Drawing | None] = {}
        self._places: dict[str, int] = {}
        self._bytes = 0

    def consider(self, prefix: str, row: int, record: Record, book: TaskBook) -> None:
        """Keep the bug if it is among the worst of its family."""
        if not record.is_bug:
            return
        self._books[prefix, record.task] = book
        low = (record.radius or record.gap or (0, 0))[0]
        kept = self._worst.setdefault((prefix, record.family, record.task), [])
        entry = (math.inf if low is None else float(low), -row, record)
        if len(kept) < EACH_FAMILY:
            heapq.heappush(kept, entry)
        else:
            heapq.heappushpop(kept, entry)

    def add_to(self, chunks: Chunks) -> dict[str, Any]:
        """Draw; returns which pictures belong to which row: of the run, and of the plan."""
        shown: dict[str, list[list[int]]] = {}
        left_out = 0
        for prefix, row, record in self._in_turn():
            if self._bytes > MOST_BYTES or len(shown) >= MOST_BUGS:
                left_out += 1
                continue
            drawing = self._drawing(self._books[prefix, record.task].task)
            if drawing is not None:
                states = _states(self._books[prefix, record.task].task, record)
                shown[f"{prefix}:{row}"] = [
                    [self._drawn(drawing, s) for s in own] for own in states
                ]
        pictures = list(self._places)
        for first in range(0, len(pictures), PIECE):
            chunks.add_json(f"late.pictures{first // PIECE}", pictures[first : first + PIECE])
        return {"rows": shown, "piece": PIECE, "count": len(pictures), "each": EACH_FAMILY}

    def _in_turn(self) -> list[tuple[str, int, Record]]:
        """The worst of each family first, then the second worst, and so on."""
        ranked = []
        for (prefix, _, _), kept in self._worst.items():
            for rank, (_, row, record) in enumerate(sorted(kept, key=lambda own: own[:2])[::-1]):
                ranked.append((rank, prefix, -row, record))
        ranked.sort(key=lambda own: own[:3])
        return [(prefix, row, record) for _, prefix, row, record in ranked]

    def _drawing(self, task: AnyTask) -> Drawing | None:
        key = id(task)
        if key not in self._drawings:
            self._drawings[key] = drawing_for(task)
        return self._drawings[key]

    def _drawn(self, drawing: Drawing, state: Any) -> int:
        svg = drawing.svg(state)
        if svg not in self._places:
            self._places[svg] = len(self._places)
            self._bytes += len(svg)
        return self._places[svg]


def _states(task: AnyTask, record: Record) -> list[list[Any]]:
    """The states of the run and of the plan, as far as they are drawn."""
    if not isinstance(task, Task):
        return [list((record.run.states or ())[:MOST_STATES]), []]
    found = []
    for operators in (record.run.operators, record.witness.operators):
        states: list[Any] = []
        if operators is not None:
            here = State([int(value) for value in record.state])
            states.append(tuple(here.values))
            for operator in operators[: MOST_STATES - 1]:
                try:
                    here = task.apply(here, operator)
                except (ValueError, IndexError):  # forged, which is for a replay to tell
                    break
                states.append(tuple(here.values))
        found.append(states)
    return found


__all__ = ["Album"]
