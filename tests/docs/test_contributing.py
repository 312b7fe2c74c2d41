"""CONTRIBUTING.md names every target of the Makefile that tests something."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_TESTS = {"help", "setup", "demo", "wheel", "clean"}


def test_every_kind_of_test_is_named() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", makefile)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", page))
    assert set(phony.split()) - NO_TESTS - named == set()
    assert named - set(phony.split()) == set()
