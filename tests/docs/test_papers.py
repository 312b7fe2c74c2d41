"""docs/papers.md names symbols, commands, options, experiments and files that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from misstep.cli.verbs import VERBS
from misstep.oracles.registry import BUILTIN
from support.transcripts import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text()
CODE = re.findall(r"`([^`\n]+)`", PAGE)
PAPERS = Path(__file__).parents[3] / "shared" / "papers"


def test_symbols_exist() -> None:
    symbols = [own for own in CODE if re.fullmatch(r"misstep(\.\w+)+:\w+", own)]
    assert len(symbols) > 25
    for symbol in symbols:
        module, _, name = symbol.partition(":")
        assert hasattr(import_module(module), name), symbol


def test_commands_and_files_exist() -> None:
    for words in [own.split() for own in CODE if own.startswith("misstep ")]:
        assert words[1] in VERBS
        if words[1] == "experiment":
            assert (ROOT / f"src/misstep/experiments/definitions/{words[2]}.toml").exists()
    for own in CODE:
        if own.startswith("core/"):
            assert (ROOT / own).exists(), own
    assert {"bmo", "aras", "ehc"} <= set(BUILTIN)


def test_options_exist() -> None:
    from docsite.pages import texts

    reference = "".join(text for name, text in texts().items() if name.startswith("reference/"))
    for own in CODE:
        if own.startswith("--"):
            assert own.split()[0] in reference, own


@pytest.mark.parametrize("paper", ["P22", "P23", "P24", "P25", "PS"])
def test_every_numbered_thing_is_mapped(paper: str) -> None:
    """The numbers of definitions, algorithms, tables and figures in the text of a paper, if it is at hand."""
    files = list(PAPERS.glob(f"{paper}-*.txt")) if PAPERS.is_dir() else []
    if not files:
        pytest.skip("the papers are not at hand")
    section = PAGE.split(f"\n## {paper}: ")[1].split("\n## ")[0]
    kinds = "Definition|Algorithm|Table|Figure|Theorem|Proposition|Observation"
    found = set(re.findall(rf"(?m)^ *({kinds}) *(\d+)[.:( ]", files[0].read_text()))
    assert found
    for kind, number in found:
        assert _named(section, kind, int(number)), f"{kind} {number}"


def _named(section: str, kind: str, number: int) -> bool:
    for first, rest in re.findall(rf"{kind}s? (\d+)((?:(?:,| to| and) \d+)*)", section):
        numbers = [int(first), *map(int, re.findall(r"\d+", rest))]
        if number in numbers or (" to " in rest and numbers[0] <= number <= numbers[-1]):
            return True
    return False
