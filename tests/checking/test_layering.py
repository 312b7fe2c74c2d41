"""The checker shares nothing with what it checks: no import leads out of it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import misstep.checking

MODULES = sorted(Path(misstep.checking.__file__).parent.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import gives a name that no allowed module has.
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def allowed(name: str) -> bool:
    if name.split(".")[0] in sys.stdlib_module_names:
        return name.split(".")[0] != "importlib"  # a way around this test
    return f"{name}.".startswith(("misstep.checking.", "misstep.errors."))


ARRAYS = "misstep.checking.arrays"


def is_of_arrays(path: Path) -> bool:
    return path.parent.name == "arrays"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_imports_stay_inside(path: Path) -> None:
    """The checker with arrays needs numpy, and the rest of the checker does not need it."""
    strange = [name for name in imported(ast.parse(path.read_text())) if not allowed(name)]
    if is_of_arrays(path):
        strange = [name for name in strange if name.split(".")[0] != "numpy"]
    assert strange == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_nothing_but_itself_imports_the_checker_with_arrays(path: Path) -> None:
    names = [name for name in imported(ast.parse(path.read_text())) if name.startswith(ARRAYS)]
    assert is_of_arrays(path) or names == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy",
        "import misstep",
        "from misstep import tasks",
        "from misstep.tasks import load_task",
        "from .. import tasks",
        "import misstep.checking_tools",
        "def f():\n    import misstep._core",
        "import importlib",
    ],
)
def test_the_rule_finds_forbidden_imports(source: str) -> None:
    assert not all(allowed(name) for name in imported(ast.parse(source)))


def test_modules_were_found() -> None:
    assert len(MODULES) >= 5
