"""The first page: short, with commands that work as they are typed, one after the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support.commands import misstep
from support.transcripts import ROOT, commands


def test_it_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


@pytest.mark.soundness  # half a minute of work
def test_commands_work_as_they_are_typed(tmp_path: Path) -> None:
    typed = [own.words[1:] for own in commands("README.md") if own.words[0] == "misstep"]
    assert {"test", "explain", "report", "replay", "retest"} <= {words[0] for words in typed}
    for words in typed:
        ran = misstep(*words, cwd=tmp_path)
        assert ran.returncode in (0, 1), f"misstep {shlex.join(words)}: {ran.stderr}"
    assert (tmp_path / "report.html").exists()


def test_it_leads_to_all_kinds_of_pages() -> None:
    text = (ROOT / "README.md").read_text()
    for kind in ("tutorials", "how-to", "explanation", "reference"):
        assert f"(docs/{kind}/index.md)" in text
