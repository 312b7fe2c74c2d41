"""The table of strategies, which many verdicts on a model share."""

from __future__ import annotations

from collections.abc import Iterable

from misstep.campaigns.tables import Findings
from misstep.errors import InputFormatError


def add_strategies(findings: Findings, rows: Iterable[tuple[int, bytes]]) -> list[int]:
    """Store the number of states and the content of each strategy; returns their numbers."""
    query = "SELECT coalesce(max(number) + 1, 0) FROM strategies WHERE task = ?"
    first = int(findings.store.rows(query, findings.task)[0][0])
    numbered = [(findings.task, number, *row) for number, row in enumerate(rows, first)]
    findings.store.insert("strategies", numbered)
    return [number for _, number, _, _ in numbered]


def packed_strategy(findings: Findings, number: int) -> tuple[int, bytes]:
    """The number of states of a strategy, and its content."""
    query = "SELECT states, content FROM strategies WHERE task = ? AND number = ?"
    found = findings.store.rows(query, findings.task, number)
    if not found or type(found[0][0]) is not int or not isinstance(found[0][1], bytes):
        raise InputFormatError(
            f"a damaged row: there is no strategy {number}", where=findings.store.path
        )
    return found[0][0], found[0][1]


__all__ = ["add_strategies", "packed_strategy"]
