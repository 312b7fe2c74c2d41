"""Several campaigns side by side: what became of the states that they share, pair by pair.

States are the same if their tasks have the same content and their values are equal. What became of one is said by
`comparison.changes`, and how sure a difference between two policies is by `comparison.statistics`, over tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from misstep.campaigns.records import Record
from misstep.comparison.changes import CHANGES, change_of
from misstep.comparison.statistics import bootstrap, holm, resamples, sign_flip_p
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.collect import Collected
from misstep.reports.html.tasks import digest_of

MOST_PAIRS = 15  # all pairs of six campaigns; of more, each one with the first
MOST_SHOWN = 2000  # states of a pair that are listed
FEWEST_TASKS = 5  # below, an interval over tasks says nothing
# The order of the list: what a reader wants to see first.
FIRST = ("new", "worse", "fixed", "better", "still", "uncovered", "flaky", "undecided")


def add_comparison(chunks: Chunks, sides: list[Collected]) -> dict[str, Any] | None:
    """Compare all pairs; None if there is one campaign only."""
    if len(sides) < 2:
        return None
    pairs = list(combinations(range(len(sides)), 2))
    if len(pairs) > MOST_PAIRS:
        pairs = [(0, other) for other in range(1, len(sides))]
    joined = [_pair(chunks, sides, first, second) for first, second in pairs]
    p_values = [own["p"] for own in joined if own["p"] is not None]
    for own, corrected in zip(
        (own for own in joined if own["p"] is not None), holm(p_values), strict=True
    ):
        own["p"] = corrected
    return {"pairs": joined, "words": CHANGES, "differ": _differing(sides)}


def _pair(chunks: Chunks, sides: list[Collected], first: int, second: int) -> dict[str, Any]:
    # The names of the tasks count as well where both campaigns have the same: two tasks may have the same content.
    named = sides[first].books.keys() == sides[second].books.keys()
    before, after = _by_state(sides[first], named), _by_state(sides[second], named)
    common = [key for key in before if key in after]
    words: Counter[str] = Counter()
    by_task: dict[Any, list[int]] = {}
    listed: list[tuple[int, list[int | str]]] = []
    for key in common:
        (row, old), (other, new) = before[key], after[key]
        word = change_of(old, new).word
        words[word] += 1
        own = by_task.setdefault(key[0], [0, 0, 0])
        own[0] += 1
        own[1] += old.is_bug
        own[2] += new.is_bug
        if word in FIRST:
            listed.append((FIRST.index(word), [word, row, other]))
    listed.sort(key=lambda own: own[0])
    name = f"late.pair{first}-{second}"
    chunks.add_json(name, [entry for _, entry in listed[:MOST_SHOWN]])
    return {
        "first": first,
        "second": second,
        "common": len(common),
        "words": {word: words[word] for word in CHANGES if words[word]},
        "piece": name,
        "left": max(0, len(listed) - MOST_SHOWN),
        **_difference(list(by_task.values())),
    }


def _difference(tasks: list[list[int]]) -> dict[str, Any]:
    """The mean difference over tasks in the share of common states that are bugs, with its interval."""
    shares = [(new - old) / count for count, old, new in tasks]
    if len(shares) < FEWEST_TASKS:
        told = (
            f"{len(shares)} common task{'' if len(shares) == 1 else 's'}: too few for an interval"
        )
        mean = sum(shares) / len(shares) if shares else None
        return {"difference": [mean, None, None], "p": None, "told": told}

    def measure(chosen: Sequence[int]) -> float:
        return sum(shares[k] for k in chosen) / len(chosen)

    found = bootstrap(measure, len(shares), resamples(len(shares), 0))
    return {"difference": found.as_list(), "p": sign_flip_p(shares, 0), "told": None}


def _by_state(side: Collected, named: bool) -> dict[tuple[str, Any], tuple[int, Record]]:
    digests = {
        name: digest_of(book.task) + (f" {name}" if named else "")
        for name, book in side.books.items()
    }
    return {
        (digests[record.task], record.state): (row, record)
        for row, record in enumerate(side.campaign.iter_records())
    }


def _differing(sides: list[Collected]) -> list[list[Any]]:
    """Settings in which the campaigns differ, with the value of each: [name, values]."""
    from misstep.reports.html.collect import flat

    trees = [flat(side.campaign.settings.as_dict()) for side in sides]
    names = sorted({name for tree in trees for name in tree})
    rows = [[name, [tree.get(name) for tree in trees]] for name in names]
    return [row for row in rows if len(set(row[1])) > 1]


__all__ = ["add_comparison"]
