"""A comparison as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from misstep.binomial import ends
from misstep.campaigns.records import KINDS
from misstep.comparison.changes import CHANGES
from misstep.comparison.statistics import SIGNIFICANT
from misstep.escaping import written_out
from misstep.fitting import fitted, paragraph

if TYPE_CHECKING:
    from misstep.comparison.compare import Comparison, Families, PairedTest
    from misstep.comparison.sides import Numbers, Side

MOST_FAMILIES = 10
_LONGEST = 60  # of a value in the heading


def in_words(found: Comparison, width: int | None = None) -> str:
    """The whole comparison as text: what differs, numbers, changes, families, tests. `width` is that of a terminal."""
    text = "\n".join(_lines(found, width))
    return text if width is None else fitted(text, width)


def _lines(found: Comparison, width: int | None) -> Iterator[str]:
    sides = found.campaigns
    yield from _heading(found, width)
    yield ""
    yield from _numbers(found, "on all states", [side.all for side in sides], width)
    if found.common_states:
        yield ""
        title = f"on the {found.common_states} states that all campaigns have"
        yield from _numbers(found, title, [side.common for side in sides], width)
    yield from _oracles(found, width)
    for j in range(1, len(sides)):
        yield from _changes(found, j)
    yield ""
    yield "paired tests over tasks (second minus first, share of tested states)"
    problems = {test.problem for test in found.tests}
    if len(problems) == 1 and None not in problems:
        yield f"  {found.tests[0].problem}"
    else:
        yield from (f"  {test_text(test)}" for test in found.tests)
    for text in found.remarks:
        yield f"note: {text}"


def _heading(found: Comparison, width: int | None) -> Iterator[str]:
    sides = found.campaigns
    if not found.differs:
        yield "The campaigns have the same policy, oracles, settings and tasks."
    else:
        shown = _in_words(found.differs)
        yield "The campaigns differ in: " + ", ".join(shown) + "."
        rows = [[name, *map(_short, values)] for name, values in shown.items()]
        yield from table(["", *(side.label for side in sides)], rows, width)
    if "policy" not in found.differs:
        yield f"policy: {written_out(sides[0].policy)}"


def _in_words(differs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Replace the two settings that a retest sets by one line that says what they mean."""
    made = differs.get("retest")
    if made is None:
        return differs
    rest = {k: values for k, values in differs.items() if k not in ("retest", "blame_most")}
    return {
        **rest,
        "how it was made": ["test" if how in (None, "none") else "retest" for how in made],
    }


def _numbers(
    found: Comparison, title: str, numbers: Sequence[Numbers], width: int | None
) -> Iterator[str]:
    kinds = [kind for kind in KINDS if any(own.counts[kind] for own in numbers)]
    planning = found.world == "planning"
    names = ["tested", *(["solved"] if planning else []), "bugs", *kinds, "optimal"]
    names += [
        name for name in ("unsolvable", "unknown", "flaky") if any(n.counts[name] for n in numbers)
    ]
    titles = ["not bugs" if name == "optimal" and not planning else name for name in names]
    rows = [
        [side.label, *(str(own.counts[name]) for name in names), str(own.bugs)]
        for side, own in zip(found.campaigns, numbers, strict=True)
    ]
    yield from table([title, *titles, "proven bugs [95 %]"], rows, width)


def _oracles(found: Comparison, width: int | None) -> Iterator[str]:
    """If several oracles have judged: what each has proven, on the states that are compared."""
    common = bool(found.common_states)
    rows = []
    for side in found.campaigns:
        numbers: Numbers = side.common if common else side.all
        for oracle, own in numbers.by_oracle.items():
            counts = [str(own[name]) for name in ("tested", "bugs", "optimal", "unknown")]
            rows.append([f"{side.label}: {_short(oracle)}", *counts, str(numbers.bugs_by(oracle))])
    if len({row[0].partition(": ")[2] for row in rows}) > 1:
        yield ""
        title = "by oracle, on " + ("common states" if common else "all states")
        yield from table(
            [title, "tested", "bugs", "optimal", "unknown", "proven bugs [95 %]"], rows, width
        )


def _changes(found: Comparison, j: int) -> Iterator[str]:
    first, second = found.campaigns[0], found.campaigns[j]
    yield ""
    changes = found.changes(0, j)
    counts = Counter(change.word for change in changes)
    yield f"from {first.label} to {second.label}, on {len(changes)} common states"
    for word, text in CHANGES.items():
        if counts[word]:
            yield f"  {word:<10} {counts[word]:>6}  {text}"
    left = sum(change.word == "fixed" and change.after.is_bug for change in changes)
    if left:
        yield f"  {left} of the fixed states are still bugs, by a plan that is better than the old witness"
    yield from _families(found.families(0, j), first, second)


def _families(own: Families, first: Side, second: Side) -> Iterator[str]:
    basis = "common states" if own.common else "all states, because none is common"
    if not (own.came or own.went or own.stayed):
        return
    yield f"families of bugs, on {basis}"
    for title, shown in (
        ("came", [f"{key}: {n}" for key, n in own.came.items()]),
        ("went", [f"{key}: {n}" for key, n in own.went.items()]),
        ("stayed", [f"{key}: {a} -> {b}" for key, (a, b) in own.stayed.items()]),
    ):
        for text in shown[:MOST_FAMILIES]:
            yield f"  {title:<7} {text}"
        if len(shown) > MOST_FAMILIES:
            yield f"  {title:<7} ... and {len(shown) - MOST_FAMILIES} more (--json has all)"
    if any(own.unnamed):
        yield (
            f"  without a proven fault, so in no family: {own.unnamed[0]} in {first.label}, "
            f"{own.unnamed[1]} in {second.label}"
        )


def test_text(test: PairedTest) -> str:
    """One test in a sentence."""
    start = f"{test.measure}, {test.first} -> {test.second}: "
    if test.difference is None or test.corrected is None:
        return start + (test.problem or "")
    low, high = test.difference.low, test.difference.high
    value = 100 * (test.difference.value or 0)
    between = "" if low is None or high is None else f" [{ends(low, high, 1, sign='+')}]"
    sure = "significant" if test.corrected < SIGNIFICANT else "may well be chance"
    where = "" if test.common else ", on all states"
    return (
        f"{start}{value:+.1f} percentage points{between} over {test.tasks} tasks{where}, "
        f"p = {test.corrected:.3g} ({sure})"
    )


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> Iterator[str]:
    """Columns as wide as they need to be; the first to the left, the others to the right.

    Where they are wider than `width`, a row is a paragraph.
    """
    shown = [titles, *rows]
    widths = [max(len(row[k]) for row in shown) for k in range(len(titles))]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        if titles[0]:
            yield titles[0]
        for row in rows:
            yield from paragraph(titles, row, width)
        return
    for row in shown:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _short(value: object) -> str:
    text = "none" if value is None else written_out(str(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


__all__ = ["in_words", "table", "test_text"]
