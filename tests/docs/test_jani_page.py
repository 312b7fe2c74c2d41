"""docs/jani.md says what the readers do: its features are shown by tests, its refusals are those of the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from misstep.checking.jani import ModelError, SafetyTask
from misstep.cli.models import SILENT
from misstep.errors import UnsupportedError
from misstep.tasks.jani.model import MODEL_TYPES
from support import jani
from support.jani_refusals import REFUSED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "jani.md").read_text()
TESTS = ROOT / "tests"
SHOWING = (
    "checking/test_jani_engine.py",
    "checking/test_jani_choices.py",
    "checking/test_jani_prism.py",
    "tasks/jani/test_chances.py",
)
# Of the tests of both readers, those that show no feature of their own.
NO_FEATURE = {"test_many_random_models"}
# The checker's reader can do more here, and is never asked.
ENGINE_ONLY = {"a computed index into a nested array that is not a variable"}
# Refusals that take a very large model to be met.
TOO_LARGE = (
    "more than .* calls of functions, one inside another",
    "array constructors that make more than .* elements",
    "the list stands for more than .* start states",
)


def table(title: str) -> list[list[str]]:
    """The rows of the table that has this title in its first column."""
    lines = PAGE.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {title} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_feature_is_shown_by_a_test_that_exists() -> None:
    known = set().union(*(functions(path) for path in SHOWING))
    for feature, _, shown in table("feature"):
        named = re.findall(r"`(test_\w+)`", shown)
        assert named, feature
        assert not set(named) - known, feature


@pytest.mark.parametrize("path", SHOWING[:2])
def test_every_test_of_both_readers_is_in_the_table(path: str) -> None:
    """A feature that is tested and not told would be in vain."""
    told = {name for row in table("feature") for name in re.findall(r"`(test_\w+)`", row[2])}
    tested = {name for name in functions(path) if name.startswith("test_")}
    assert tested - NO_FEATURE <= told


def test_types_and_options() -> None:
    first = PAGE.split("\n\n")[1].replace("\n", " ")
    assert all(f"`{kind}`" in first for kind in MODEL_TYPES)
    assert all(f"`--silent {own}`" in PAGE for own in SILENT)


def test_the_table_has_every_refusal() -> None:
    assert [row[0] for row in table("what")] == list(REFUSED)


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    """By both readers, with the message of the table."""
    document, options = REFUSED[what]
    with pytest.raises(UnsupportedError) as found:
        jani.task(document, **options)
    told = next(row[1] for row in table("what") if row[0] == what)
    assert told == found.value.what
    assert found.value.where
    if what in ENGINE_ONLY:
        return
    with pytest.raises(ModelError):
        SafetyTask(document, options.get("property"), silent=options.get("silent", "refuse"))


def test_every_refusal_of_the_code_is_in_the_table() -> None:
    """Whatever the front end calls unsupported, by the text in the code."""
    told = [row[1] for row in table("what")]
    calls = 0
    for path in sorted((ROOT / "src/misstep/tasks/jani").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr != "unsupported":
                continue
            calls += 1
            pattern = _pattern(node.args[0])
            assert pattern in TOO_LARGE or any(re.match(pattern, own) for own in told), pattern
    assert calls > 15


def _pattern(text: ast.expr) -> str:
    if isinstance(text, ast.BinOp):  # what is added says it in more words
        return _pattern(text.left)
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(
        re.escape(str(part.value)).replace(r"\ ", " ") if isinstance(part, ast.Constant) else ".*"
        for part in parts
    )
