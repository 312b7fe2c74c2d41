"""The tables of an experiment: numbers over seeds with their spread, the baseline first, the paper's numbers beside.

A cell is computed for each seed; the table shows the mean and, for several seeds, the standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from misstep.experiments.expressions import Condition, Observation, Summary, Value, deviation
from misstep.experiments.kinds import Json
from misstep.experiments.observations import Gathered, grouped
from misstep.reports.escaping import visible
from misstep.reports.exports.tables import Cell, Table

ALL = "all rows"


@dataclass(frozen=True)
class Number:
    """A mean over seeds and its spread; `mean` is None where nothing was measured."""

    mean: Value
    spread: float | None = None
    known: tuple[int, int] | None = None  # seeds, where the number is not known for all of them

    def __str__(self) -> str:
        if self.mean is None:
            return "-"
        text = shown_number(self.mean)
        if self.spread is not None:
            text += f" +- {shown_number(self.spread)}"
        return text if self.known is None else f"{text} ({self.known[0]} of {self.known[1]} seeds)"


@dataclass(frozen=True)
class Made:
    """A table of a definition, filled."""

    name: str
    title: str
    note: str
    heads: tuple[str, ...]  # of the columns that name a row
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Number | str, ...]], ...]

    def as_text(self) -> Table:
        """Cells for readers: mean and spread in one."""

        def rows() -> Iterator[tuple[Cell, ...]]:
            for names, cells in self.rows:
                yield (*names, *map(str, cells))

        return Table(self.name, self.title, (*self.heads, *self.columns), rows())

    def as_numbers(self) -> Table:
        """Cells for programs: mean and spread in separate columns."""
        columns = [part for name in self.columns for part in (name, f"{name}, spread")]

        def rows() -> Iterator[tuple[Cell, ...]]:
            for names, cells in self.rows:
                flat: list[Cell] = []
                for cell in cells:
                    own = cell if isinstance(cell, Number) else Number(cell)
                    flat += [own.mean, own.spread]
                yield (*names, *flat)

        return Table(self.name, self.title, (*self.heads, *columns), rows())

    def as_markdown(self) -> str:
        table = self.as_text()
        lines = [f"### {in_markdown(self.title)}", "", _line(table.columns)]
        lines.append("|" + "---|" * len(table.columns))
        lines += [_line(row) for row in table.rows]
        return "\n".join([*lines, "", self.note, ""])


def make_table(own: Json, gathered: Gathered) -> Made:
    found = gathered.observations[own["step"]]
    if own["where"] is not None:
        found = _dicts(Condition(own["where"]).pick(found))
    pivot = [None] if own["column"] is None else _values(found, own)
    paper = own["paper"]
    columns: list[tuple[str, Value, Summary | None]] = []
    for value in pivot:
        for title, text in own["cells"].items():
            name = _column_name(value, title, len(own["cells"]))
            marked = f"{name} (baseline)" if value == own["baseline"] else name
            columns.append((marked, value, Summary(text)))
            if any(name in of_row for of_row in paper.values()):
                columns.append((f"{name}, paper", name, None))
    rows = [
        (tuple(map(shown_number, key)), tuple(_cells(key, group, columns, own)))
        for key, group in _groups(found, own)
    ]
    shown = {names[0] for names, _ in rows}
    rows += _empty_rows(own, gathered, columns, shown)
    rows += _missing_rows(own, gathered, len(columns), shown)
    names = tuple(name for name, *_ in columns)
    return Made(own["name"], own["title"], _note(own, gathered), tuple(own["rows"]), names, tuple(rows))  # fmt: skip


def _values(found: Sequence[Observation], own: Json) -> list[Value]:
    """The values of the column that the table is spread by, with the baseline first."""
    values = list(dict.fromkeys(one.get(own["column"]) for one in found))
    return sorted(values, key=lambda value: value != own["baseline"])


def _column_name(value: Value, title: str, cells: int) -> str:
    if value is None:
        return title
    return shown_number(value) if cells == 1 else f"{shown_number(value)}: {title}"


def _groups(
    found: list[dict[str, Value]], own: Json
) -> Iterator[tuple[tuple[Value, ...], list[dict[str, Value]]]]:
    """The rows of a table, followed by those over all values of the columns in `totals`."""
    yield from grouped(found, own["rows"]).items()
    summed = [name for name in own["rows"] if name in own["totals"]]
    if summed and len(grouped(found, summed)) > 1:
        over = {summed[0]: ALL, **dict.fromkeys(summed[1:], "-")}
        yield from grouped([{**one, **over} for one in found], own["rows"]).items()


def _cells(
    key: tuple[Value, ...],
    group: list[dict[str, Value]],
    columns: Sequence[tuple[str, Value, Summary | None]],
    own: Json,
) -> Iterator[Number | str]:
    by_value: dict[tuple[Value, ...], list[dict[str, Value]]] = {(None,): group}
    if own["column"] is not None:
        by_value = grouped(group, [own["column"]])
    for _, value, summary in columns:
        if summary is None:
            yield str(own["paper"].get(str(key[0]), {}).get(value, "-"))
        else:
            yield over_seeds(summary, by_value.get((value,), []))


def over_seeds(summary: Summary, observations: list[dict[str, Value]]) -> Number:
    """The mean of what the summary gives for each seed, as far as it is known."""
    values = [summary(group) for group in grouped(observations, ["seed"]).values()]
    numbers = [float(own) for own in values if isinstance(own, (int, float))]
    if not numbers:
        return Number(values[0] if values else None)
    mean = math.fsum(numbers) / len(numbers)
    whole = len(values) == 1 and isinstance(values[0], int)
    known = None if len(numbers) == len(values) else (len(numbers), len(values))
    return Number(int(mean) if whole else mean, deviation(numbers), known)


def _empty_rows(
    own: Json,
    gathered: Gathered,
    columns: Sequence[tuple[str, Value, Summary | None]],
    shown: set[str],
) -> list[tuple[tuple[str, ...], tuple[Number | str, ...]]]:
    """Rows from which the condition leaves nothing, such as a domain without a task that counts."""
    found: list[tuple[tuple[str, ...], tuple[Number | str, ...]]] = []
    if own["empty"] is None or own["rows"][0] != "row":
        return found
    for row in dict.fromkeys(str(one["row"]) for one in gathered.observations[own["step"]]):
        if visible(row) not in shown:
            cells = [
                str(own["paper"].get(row, {}).get(value, "-")) if summary is None else "-"
                for _, value, summary in columns
            ]
            names = (visible(row), *("-" for _ in own["rows"][1:]))
            found.append((names, (own["empty"], *cells[1:])))
            shown.add(names[0])
    return found


def _missing_rows(
    own: Json, gathered: Gathered, columns: int, shown: set[str]
) -> list[tuple[tuple[str, ...], tuple[Number | str, ...]]]:
    if own["rows"][0] != "row":
        return []  # the lines of the table are not rows; the note names what is missing
    found = []
    for step, row, reason in gathered.missing():
        if step == own["step"] and row not in shown:
            names = (visible(row), *("-" for _ in own["rows"][1:]))
            found.append((names, (visible(reason)[:200], *("-" for _ in range(columns - 1)))))
            shown.add(row)
    return found  # type: ignore[return-value]


def _note(own: Json, gathered: Gathered) -> str:
    seeds = gathered.seeds
    parts = [f"Scale {gathered.scale}, {seeds} seed{'' if seeds == 1 else 's'}"]
    parts[0] += "." if seeds == 1 else ": mean +- standard deviation."
    if own["column"] is None:
        parts.append(f"Baseline: {in_markdown(own['baseline'])}.")
    if own["note"]:
        parts.append(in_markdown(own["note"]))
    lacking = sorted({row for step, row, _ in gathered.missing() if step == own["step"]})
    if lacking:
        parts.append(f"Not everything was done for: {', '.join(map(in_markdown, lacking))}.")
    return " ".join(parts)


def shown_number(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value == int(value) and abs(value) < 1e15:
            return str(int(value))
        if abs(value) >= 100:
            return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}"
        # What is rounded to 1 or 100 would read as if nothing were missing.
        texts = [f"{value:.{digits}g}" for digits in (3, 4, 5, 6)]
        return next((own for own in texts if float(own) not in (1, 100)), texts[0])
    return visible(str(value))


def _line(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(in_markdown(str(own)) for own in cells) + " |"


def in_markdown(text: str) -> str:
    """Escapes untrusted text for Markdown, also in tables."""
    shown = visible(text)
    return "".join(f"\\{own}" if own in "|\\`*_<[]" else own for own in shown)


def _dicts(found: Sequence[Observation]) -> list[dict[str, Value]]:
    return [dict(own) for own in found]


__all__ = ["Made", "Number", "in_markdown", "make_table", "over_seeds", "shown_number"]
