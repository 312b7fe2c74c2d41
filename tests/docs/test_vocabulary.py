"""One notion has one word: what was once called otherwise does not come back into output and pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docsite import pages

ROOT = pages.ROOT
# Other words for a notion, as a pattern, and the word that the definitions have for it.
OTHERS = {
    r"\bmissteps\b": "faults",
    r"\b(?:the|same|this|each) misstep(?: (?:is|at|in a)|[.,])": "the fault",
    r"(?:same|policy's|one|different) mistakes?\b": "fault",
    r"[Dd]ecisions to blame:": "Faults:",
    r"\bdecision is proven to be at fault": "proven to be a fault",
    r"\bthe danger\b|\binto danger\b": "unsafe states",
    r"\b(?:gets?|becomes?|became) unsafe\b": "gets into an unsafe state",
    r"\bfree of bugs\b|\bproven fine\b": "proven to be no bug",
    r"\b(?:run|runs|goes) in (?:a circle|circles)\b": "runs in a loop",
    r"\bwere left open\b|\bwas left open\b": "left undecided",
    r"\b[Tt]hey part\b": "they diverge",
}


def texts() -> list[Path]:
    """Everything that is printed or read: sources with their pages of the report, and the documentation."""
    code = [file for kind in ("py", "js", "toml") for file in (ROOT / "src").rglob(f"*.{kind}")]
    written = [file for file in (ROOT / "docs").rglob("*.md") if file.name != "decisions.md"]
    return sorted([*code, *written, ROOT / "README.md"])


@pytest.mark.parametrize("other", OTHERS)
def test_a_notion_has_one_word(other: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in texts()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(other, line)
    ]
    assert found == [], f"write {OTHERS[other]!r}"


def test_other_words_are_noticed() -> None:
    old = ("3 missteps", "the danger can be avoided", "The policy gets unsafe.", "runs in a circle")
    assert all(any(re.search(other, line) for other in OTHERS) for line in old)
