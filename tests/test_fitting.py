"""Text that fits a terminal: broken between words, aligned, and nothing cut off."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.fitting import fitted, paragraph

WORDS = st.lists(st.text("abc-:'", min_size=1, max_size=9), min_size=1, max_size=30)


@given(WORDS, st.integers(0, 6), st.integers(20, 60))
def test_words_stay_whole_and_lines_fit(words: list[str], indent: int, width: int) -> None:
    lines = fitted(" " * indent + " ".join(words), width).split("\n")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith(" " * indent)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("short", "short"),
        ("one two three four five six", "one two three four\n  five six"),
        ("  found  a bug in two places", "  found  a bug in\n         two places"),
        ("a-word-that-is-longer-than-a-line", "a-word-that-is-longer-than-a-line"),
        ("first\n\nsecond line that is too long", "first\n\nsecond line that is\n  too long"),
    ],
)
def test_what_follows_a_label_stays_below_it(line: str, expected: str) -> None:
    assert fitted(line, 20) == expected


@pytest.mark.parametrize("label", ["", "   ", "next   ", "   next: "])
def test_a_broken_command_is_still_one_command(label: str) -> None:
    command = "misstep explain 'my folder with words' problem:3 --deeper --time 20"
    lines = fitted(label + command, 40).split("\n")
    assert len(lines) > 1
    assert all(len(line) <= 40 for line in lines)
    shell = "\n".join(lines).removeprefix(label).replace("\\\n", "")  # as a shell reads it
    assert shlex.split(shell) == shlex.split(command)


def test_a_row_that_is_too_wide_is_a_paragraph() -> None:
    titles = ["id", "verdict", "state", "gap"]
    row = ["a-long-name:3", "BUG", "at(ball1, room-a), at(ball2, room-b)", "-"]
    assert list(paragraph(titles, row, 30)) == [
        "a-long-name:3",
        "  verdict BUG",
        "  state at(ball1, room-a),",
        "    at(ball2, room-b)",
    ]
    assert next(paragraph(["share", "state"], ["0.25", "x"], 30)) == "share 0.25"
    assert list(paragraph(["task"], ["10-balls"], 30)) == ["10-balls"]
