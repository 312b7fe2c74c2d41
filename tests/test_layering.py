"""The import order of the design: nothing imports to its right.

task -> policy -> run -> pool (fuzzing) -> verdict (oracles, safety) -> fault -> record (campaign) -> comparison /
report / selection / training

Registries name modules to their right as text (the policy kind `shield` is in safety/): those are imported when a user
asks for them, and nothing at its left depends on them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "misstep"

# Packages and modules of misstep, left to right; those on one line are of one rank and may know each other.
ORDER = [
    ["errors", "files", "verdicts"],
    ["_core"],
    ["tasks"],
    ["planning"],
    ["policies"],
    ["runs"],
    ["fuzzing"],
    ["oracles", "safety"],
    ["faults"],
    ["campaigns"],
    ["comparison"],
    ["reports", "training"],
    ["experiments"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
# The checker stands apart: it may know the errors only, and anybody may call it.
APART = {"checking"}
# The package itself and `python -m misstep` sit on top of everything.
TOP = {"__init__", "__main__"}

CORE_LIBRARIES = {
    "base": [],
    "fdr": ["base"],
    "heuristics": ["base", "fdr"],
    "search": ["base", "fdr", "heuristics"],
    "bounds": ["base", "fdr"],
    "improve": ["base", "fdr", "bounds"],
    "policygraph": ["base", "fdr", "heuristics"],
    "oracles": ["base", "fdr", "heuristics", "search", "bounds", "policygraph"],
    "jani": ["base"],
    "fuzzing": ["base", "fdr", "heuristics", "search", "policygraph"],
    "dominance": ["base", "fdr"],
}


def part_of(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """The parts of misstep that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"relative import in {path}"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {part_of(name) for name in found if name.startswith("misstep.")}


def violations(part: str, imported: set[str]) -> list[str]:
    if part in APART:
        return sorted(imported - {part, "errors"})
    return sorted(other for other in imported if other not in APART and RANK[other] > RANK[part])


def files() -> list[Path]:
    return sorted(
        p
        for p in SOURCE.rglob("*.py")
        if p.relative_to(SOURCE).parts[0].removesuffix(".py") not in TOP
    )


def test_every_part_has_a_rank() -> None:
    parts = {p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in files()}
    assert parts <= set(RANK) | APART


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_imports_to_its_right(path: Path) -> None:
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert violations(part, imports(path)) == []


def test_the_rule_notices_a_violation(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    from misstep.cli import main\n    import misstep.policies.policy\n"
    )
    assert violations("tasks", imports(bad)) == ["cli", "policies"]
    assert violations("checking", imports(bad)) == ["cli", "policies"]


def test_core_libraries_include_only_what_they_declare() -> None:
    declared = {
        name: depends.split()
        for name, depends in re.findall(
            r"^misstep_core_library\((\w+)(?: DEPENDS ([\w ]+))?\)",
            (ROOT / "core" / "CMakeLists.txt").read_text(),
            re.MULTILINE,
        )
    }
    assert declared.keys() == {p.name for p in (ROOT / "core").iterdir() if p.is_dir()}
    for library, depends in declared.items():
        for source in (ROOT / "core" / library).iterdir():
            used = set(re.findall(r'#include "(\w+)/', source.read_text()))
            assert used <= {library, *depends}, source
    assert {name: declared[name] for name in CORE_LIBRARIES} == CORE_LIBRARIES
