"""The reference pages say what the code says."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns import options, records
from misstep.campaigns.settings import ModelSettings, PlanningSettings, Settings
from misstep.campaigns.toml import to_toml
from misstep.fuzzing.settings import Settings as FuzzingSettings
from support import pages
from support.commands import misstep


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_parts_are_as_the_code_has_them(path: Path) -> None:
    text = path.read_text()
    assert pages.made(text) == text, "run `python tests/support/pages.py`"


def test_the_record_is_described_with_all_its_parts() -> None:
    """Also a part that is new and not yet on the page."""
    kinds = {kind for kind in vars(records).values() if isinstance(kind, type) and _is_ours(kind)}
    assert kinds == set(pages.KINDS.values())
    text = (pages.DOCS / "records.md").read_text()
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert f"- `{field.name}`: " in text


def _is_ours(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and kind.__module__ == records.__name__


def test_a_stale_page_is_noticed() -> None:
    text = (pages.DOCS / "records.md").read_text()
    for wrong in (
        text.replace("- `world`: planning or model.\n", ""),
        text.replace("- `world`: planning", "- `world`: planet"),
        text.replace('"verdict": "BUG"', '"verdict": "FINE"', 1),
        text.replace("- `units`: ", "- `unit`: "),
    ):
        assert wrong != text
        assert pages.made(wrong) != wrong


@pytest.mark.parametrize("name", ["records.md", "settings.md", "python.md", "replay.md"])
def test_lines_can_be_read(name: str) -> None:
    for line in (pages.DOCS / name).read_text().splitlines():
        assert len(line) < 120 or re.match(r"\|", line), line


# -- settings -------------------------------------------------------------------------------------

TREE: dict[str, tuple[Any, str]] = {
    "The root": (Settings("", "planning"), ""),
    "[planning]": (PlanningSettings(), "planning"),
    "[planning.fuzzing]": (FuzzingSettings(), "fuzzing"),
    "[model]": (ModelSettings(), "model"),
}
ENTRY = re.compile(r"(?m)^- `(\w+)` \(([^;]*?)(?:; `([\w=-]+)`)?\): \S")


def expected_entries(title: str) -> list[tuple[str, str, str]]:
    """Name, default and option of each setting of a table, as the page is to have them."""
    settings, table = TREE[title]
    pairs = (*options.COMMON.items(), *options.OF_PLANNING.items(), *options.OF_MODELS.items())
    names = {(place.table, place.name): option for option, place in pairs}
    of_the_command = set(re.findall(r"--[a-z-]+", misstep("test", "--help").stdout))
    entries = []
    for field in dataclasses.fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if name not in ("planning", "model", "fuzzing"):
            keyword = names.get((table, name), "")
            option = "--" + keyword.replace("_", "-")
            shown = option if option in of_the_command else f"{keyword}="
            entries.append((name, _written(value), shown if keyword else ""))
    return entries


def _written(value: object) -> str:
    return to_toml({"x": "none" if value is None else value})[4:].strip()


def entries(title: str, text: str) -> list[tuple[str, str, str]]:
    section = re.split(r"(?m)^## ", text.split(f"\n## {title}\n")[1])[0]
    return [found.groups("") for found in ENTRY.finditer(section)]  # type: ignore[misc]


@pytest.mark.parametrize("title", TREE)
def test_settings_are_described_with_their_defaults(title: str) -> None:
    text = (pages.DOCS / "settings.md").read_text()
    assert entries(title, text) == expected_entries(title)
    wrong = text.replace("- `seed` (0;", "- `seed` (1;").replace("- `batch`", "- `bunch`")
    wrong = wrong.replace("(25; `chunk=`)", "(25)").replace('"hmax"', '"none"')
    assert entries(title, wrong) != expected_entries(title)
