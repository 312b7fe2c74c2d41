"""SECURITY.md says of every command what it executes, and of every kind of policy whether a folder may name it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from misstep.cli.verbs import VERBS
from misstep.policies.trust import PLAIN

PAGE = Path(__file__).parents[2] / "SECURITY.md"


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_is_in_the_table(verb: str) -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    named = " ".join(word for row in rows for word in re.findall("`([^`]*)`", row.split("|")[1]))
    assert verb in named.split(), f"SECURITY.md does not say what misstep {verb} executes"


def test_plain_policies_are_listed() -> None:
    text = PAGE.read_text()
    listed = text[text.index("is **plain**") : text.index("Everything else")]
    assert {kind for kind in PLAIN if f"`{kind}`" not in listed} == set()
