"""The commands of README.md work as they are typed, one after the other, and it leads to every page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support.commands import misstep
from support.pages import DOCS

README = DOCS.parent / "README.md"


def commands(text: str) -> list[list[str]]:
    lines = re.findall(r"(?m)^    misstep (.+)$", text)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.soundness  # half a minute of work
def test_commands_work_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    text = README.read_text()
    policy = re.search(r"(?ms)^```python\n# mine\.py\n(.*?)^```$", text)
    assert policy is not None
    (tmp_path / "mine.py").write_text(policy[1])
    found = commands(text)
    assert {"retest", "compare", "report", "shrink", "export"} <= {words[0] for words in found}
    for words in found:
        smaller = [
            "2" if before == "--balls" else word
            for before, word in zip(["", *words], words, strict=False)
        ]
        ran = misstep(*smaller, cwd=tmp_path)
        assert ran.returncode in (0, 1), f"misstep {shlex.join(words)}: {ran.stderr}"
    assert (tmp_path / "report.html").exists()


def test_every_page_can_be_reached() -> None:
    text = README.read_text()
    missing = [page.name for page in DOCS.glob("*.md") if f"(docs/{page.name})" not in text]
    assert missing == []
