"""The comparison of several campaigns (`misstep.comparison.compare`) for the page, pair by pair.

This module adds the row numbers that the page needs to link a state to its records. Campaigns on planning tasks and on
models may be in one report, but they are not compared with each other.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from misstep.campaigns.records import Record
from misstep.comparison.changes import CHANGES
from misstep.comparison.compare import Comparison, PairedTest, compare
from misstep.errors import InputFormatError
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.collect import Collected

MOST_PAIRS = 15  # all pairs of six campaigns; of more, each one with the first
MOST_SHOWN = 2000  # states of a pair that are listed
MOST_FAMILIES = 60  # of a pair
# The order of the list: what a reader wants to see first.
FIRST = ("new", "worse", "fixed", "better", "still", "uncovered", "flaky", "undecided")
APART = "Campaigns on planning tasks and on models are not compared with each other."


def add_comparison(chunks: Chunks, sides: list[Collected]) -> dict[str, Any] | None:
    """Compare all pairs; None if there is one campaign only."""
    if len(sides) < 2:
        return None
    worlds: dict[str, list[int]] = {}
    for number, side in enumerate(sides):
        worlds.setdefault(side.summary.world, []).append(number)
    found: dict[str, Any] = {"pairs": [], "words": CHANGES, "differ": [], "remarks": []}
    found["shares"] = [None] * len(sides)
    if len(worlds) > 1:
        found["remarks"].append(APART)
    for members in worlds.values():
        if len(members) > 1:
            _add_world(found, chunks, [sides[number] for number in members], members)
    return found


def _add_world(
    found: dict[str, Any], chunks: Chunks, sides: list[Collected], numbers: list[int]
) -> None:
    """Compare the campaigns of one world, which have these numbers in the page."""
    try:
        own = compare(*(side.campaign for side in sides), labels=_different(sides))
    except InputFormatError as error:  # a name stands for two tasks
        found["remarks"].append(f"Nothing is compared: {error}")
        return
    pairs = list(combinations(range(len(sides)), 2))
    if len(pairs) > MOST_PAIRS:
        pairs = [(0, other) for other in range(1, len(sides))]
    tests = {(test.first, test.second, test.measure): test for test in own.tests}
    rows = [side.columns.rows_by_id() for side in sides]
    for first, second in pairs:
        pair = _pair(own, first, second, (rows[first], rows[second]))
        listed = pair.pop("listed")
        pair |= {"first": numbers[first], "second": numbers[second]}
        pair["piece"] = f"late.pair{numbers[first]}-{numbers[second]}"
        chunks.add_json(pair["piece"], listed)
        names = own.campaigns[first].label, own.campaigns[second].label
        pair["tests"] = [_test(test) for key, test in tests.items() if key[:2] == names]
        found["pairs"].append(pair)
    for number, side in zip(numbers, own.campaigns, strict=True):
        share = side.intervals["all"]
        found["shares"][number] = [share.low, share.high]
    found["remarks"] += [text[0].upper() + text[1:] + "." for text in own.remarks]
    if len(numbers) == len(found["shares"]):
        found["differ"] = [*_versions(own), *_texts(own)]


def _different(sides: list[Collected]) -> list[str]:
    """The labels, told apart by numbers where the user gave one twice."""
    labels = [side.label for side in sides]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({number})" for number, label in enumerate(labels, 1)]


def _pair(
    own: Comparison, first: int, second: int, rows: tuple[dict[str, int], dict[str, int]]
) -> dict[str, Any]:
    changes = own.changes(first, second)
    words = Counter(change.word for change in changes)
    ordered = sorted(
        (change for change in changes if change.word in FIRST),
        key=lambda change: (FIRST.index(change.word), -_loss(change.after), -_loss(change.before)),
    )
    families = own.families(first, second)
    listed = [(key, 0, n) for key, n in families.came.items()]
    listed += [(key, n, 0) for key, n in families.went.items()]
    listed += [(key, *counts) for key, counts in families.stayed.items()]
    return {
        "common": len(changes),
        "words": {word: words[word] for word in CHANGES if words[word]},
        "listed": [
            [change.word, rows[0][change.before.id], rows[1][change.after.id]]
            for change in ordered[:MOST_SHOWN]
        ],
        "left": max(0, len(ordered) - MOST_SHOWN),
        "families": listed[:MOST_FAMILIES],
        "familiesLeft": max(0, len(listed) - MOST_FAMILIES),
        "unnamed": families.unnamed,
    }


def _loss(record: Record) -> float:
    """What is proven to be lost, for the order of a list."""
    lost = record.gap if record.radius is None else record.radius
    if not record.is_bug or lost is None:
        return -1.0
    return float("inf") if lost[0] is None else float(lost[0])


def _test(test: PairedTest) -> dict[str, Any]:
    difference = None if test.difference is None else test.difference.as_list()
    return {
        "measure": test.measure,
        "common": test.common,
        "difference": difference,
        "p": test.corrected,
        "told": test.problem,
    }


def _texts(own: Comparison) -> list[list[Any]]:
    """Settings in which the campaigns differ, with the value of each: [name, values]."""
    return [
        [name, [None if value is None else str(value) for value in values]]
        for name, values in own.differs.items()
    ]


def _versions(own: Comparison) -> list[list[Any]]:
    """Versions of policies, counted for each policy by itself, where there are several policies in several versions."""
    known: dict[str, list[str | None]] = {}
    numbers = []
    for side in own.campaigns:
        versions = known.setdefault(side.policy, [])
        if side.digest not in versions:
            versions.append(side.digest)
        numbers.append(str(versions.index(side.digest) + 1))
    several = len(known) > 1 and max(map(len, known.values())) > 1
    return [["version", numbers]] if several else []


__all__ = ["add_comparison"]
