"""The page on gates: its commands have the options that it names, its conditions are all, its file can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from misstep.comparison.baseline import Baseline
from misstep.comparison.gates import FAIL_ON
from support.commands import misstep
from support.pages import DOCS

PAGE = DOCS / "gates.md"


def commands(page: Path) -> list[list[str]]:
    """What the page tells to type, as words."""
    lines = [line.strip() for line in page.read_text().replace("\\\n", " ").splitlines()]
    return [line.split() for line in lines if re.match(r"misstep [a-z]+ ", line)]


@pytest.mark.parametrize("page", [PAGE, DOCS / "compare.md"], ids=lambda page: page.stem)
def test_options_of_the_page_are_there(page: Path) -> None:
    found = commands(page)
    assert len(found) >= 2
    for words in found:
        known = set(re.findall(r"--[a-z-]+", misstep(words[1], "--help").stdout))
        assert {word for word in words if word.startswith("--")} <= known


def test_all_conditions_are_described() -> None:
    table = re.findall(r"(?m)^\| `--fail-on (\w+)`", PAGE.read_text())
    assert sorted(table) == sorted(FAIL_ON)


def test_the_file_of_the_page_is_a_baseline(tmp_path: Path) -> None:
    (block,) = re.findall(r"(?ms)^```json\n(.*?)^```$", PAGE.read_text())
    (tmp_path / "known.json").write_text(block)
    read = Baseline.read(tmp_path / "known.json")
    assert read.text() == block


@pytest.mark.parametrize("page", [PAGE, DOCS / "compare.md"], ids=lambda page: page.stem)
def test_lines_can_be_read(page: Path) -> None:
    for line in page.read_text().splitlines():
        assert len(line) < 120 or line.startswith(("|", "    ")), line
