"""Prose in the pages is wrapped: a change of a sentence is then a change of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.wrapping import ROOT, WIDTH, pages, too_long, wrapped


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").split("\n")
    assert too_long(lines) == [], "python tests/support/wrapping.py wraps it"


def test_what_is_prose() -> None:
    long = "word " * 40
    for prose in (long, f"- {long}", f"  1. {long}", f"- short\n  {long}", f"> {long}"):
        assert len(too_long(prose.split("\n"))) == 1
    for other in (
        f"| {long} |",
        f"# {long}",
        f"```\n{long}\n```",
        f"    {long}",
        f"    short\n    {long}",
        f"- item\n\n      {long}",
        f"[x]: {long}",
        "- `" + long + "`",
    ):
        assert too_long(other.split("\n")) == [], other


def test_wrapping_keeps_words_and_marks() -> None:
    text = "- " + "some words - and `code with spaces in it` 1. more " * 9
    lines = wrapped([text])
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[0].startswith("- some")
    assert all(line.startswith("  ") and line[2:5] not in ("- a", "1. ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == text.strip()
    assert sum(line.count("`") % 2 for line in lines) == 0
