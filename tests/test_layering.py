"""The import order of the design: nothing imports to its right.

task -> policy -> run -> pool (fuzzing) -> verdict (oracles, safety) -> fault -> record (campaign) -> comparison /
report / selection / training

Inside `campaigns/` there is an order as well, see below. Registries name modules to their right as text (the policy
kind `shield` is in safety/): those are imported when a user asks for them, and nothing at its left depends on them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from import_graph import (
    ORDER,
    ROOT,
    SOURCE,
    edges,
    imported_names,
    lines,
    main,
    part_of_path,
    parts,
    source_files,
)

RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
# The checker stands apart: it may know the errors only, and anybody may call it.
APART = {"checking"}
# The campaign as an object offers what lies to its right as methods, and imports it when they are called.
OFFERED = {SOURCE / "campaigns" / "campaign.py": {"comparison", "reports"}}
# The order inside the campaigns. Commands, reports and comparisons stand outside and see campaign.py and the records.
IN_CAMPAIGNS = [
    [
        "rows",
        "settings",
        "limits",
        "alarm",
        "process",
        "toml",
        "schema",
        "seal",
        "lock",
        "database",
        "batches",
    ],
    ["records", "options", "create", "states"],
    ["uninterrupted", "signatures", "worst", "handles"],
    ["transactions", "encoding", "sources"],
    ["store"],
    ["damage", "nature"],
    ["tables"],
    ["confirmed"],
    ["units", "parts", "lent", "risks", "strategies"],
    ["shared"],
    ["view", "lines"],
    ["confirm"],
    ["planning", "models"],
    ["workers", "costs"],
    ["cluster"],
    ["engine"],
    ["left_open"],
    ["explain", "words", "deeper", "again", "replay", "summary", "grow", "metrics", "arguments"],
    ["session", "lending"],
    ["campaign"],
    ["testing"],
]
IN_CAMPAIGNS_RANK = {name: rank for rank, names in enumerate(IN_CAMPAIGNS) for name in names}

CORE_LIBRARIES = {
    "base": [],
    "fdr": ["base"],
    "heuristics": ["base", "fdr"],
    "search": ["base", "fdr", "heuristics"],
    "bounds": ["base", "fdr"],
    "improve": ["base", "fdr", "bounds"],
    "policygraph": ["base", "fdr", "heuristics"],
    "oracles": ["base", "fdr", "heuristics", "search", "bounds", "policygraph"],
    "nets": ["base"],
    "asnets": ["base", "fdr", "policygraph", "nets"],
    "sketches": ["base", "fdr", "policygraph"],
    "wl": ["base", "fdr", "policygraph"],
    "jani": ["base"],
    "fuzzing": ["base", "fdr", "heuristics", "search", "policygraph"],
    "dominance": ["base", "fdr"],
    "janisafety": ["base", "jani", "nets", "safety"],
}


def violations(part: str, imported: set[str]) -> list[str]:
    if part in APART:
        return sorted(imported - {part, "errors"})
    return sorted(other for other in imported if other not in APART and RANK[other] > RANK[part])


def violations_in_campaigns(part: str, imported: set[str]) -> list[str]:
    """The two worlds of one rank do not know each other either."""
    own = IN_CAMPAIGNS_RANK[part]
    worlds = {"planning", "models"}
    return sorted(
        other
        for other in imported - {part}
        if IN_CAMPAIGNS_RANK[other] > own or {part, other} == worlds
    )


def test_every_part_has_a_rank() -> None:
    assert {part_of_path(path) for path in source_files()} <= set(RANK) | APART
    inside = {part_of_path(path, SOURCE / "campaigns") for path in source_files("campaigns")}
    assert inside == set(IN_CAMPAIGNS_RANK)


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_imports_to_its_right(path: Path) -> None:
    imported = parts(imported_names(path)) - OFFERED.get(path, set())
    assert violations(part_of_path(path), imported) == []


@pytest.mark.parametrize("path", OFFERED, ids=lambda p: p.name)
def test_what_is_offered_is_imported_inside_functions(path: Path) -> None:
    top = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    names = {f"{node.module}." for node in top if isinstance(node, ast.ImportFrom)}
    assert not parts(names) & OFFERED[path]


@pytest.mark.parametrize("part", IN_CAMPAIGNS_RANK)
def test_nothing_imports_to_its_right_in_campaigns(part: str) -> None:
    assert violations_in_campaigns(part, edges("campaigns")[part]) == []


def test_records_know_nothing_of_tasks_policies_and_oracles() -> None:
    folder = SOURCE / "campaigns"
    assert parts(imported_names(folder / "records.py")) == {"campaigns"}
    assert parts(imported_names(folder / "records.py"), "campaigns") == {"rows"}
    assert parts(imported_names(folder / "rows.py")) <= {"errors", "decoding"}


def test_the_checker_knows_nothing_but_the_errors() -> None:
    assert edges()["checking"] == {"errors"}


def test_the_rules_notice_a_violation(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    from misstep.cli import main\n    import misstep.policies.policy\n"
        "    from misstep.campaigns.models.work import ModelWork\n"
        "    from misstep.campaigns import engine\n"
    )
    imported = parts(imported_names(bad))
    assert violations("tasks", imported) == ["campaigns", "cli", "policies"]
    assert violations("checking", imported) == ["campaigns", "cli", "policies"]
    assert violations_in_campaigns("planning", parts(imported_names(bad), "campaigns")) == [
        "engine",
        "models",
    ]


def test_the_graph_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert re.search(r"(?m)^checking +errors$", capsys.readouterr().out)
    assert main(["--inside", "campaigns"]) == 0
    assert re.search(r"(?m)^engine .*planning.*workers$", capsys.readouterr().out)
    assert main(["--inside", "nowhere"]) == main(["campaigns"]) == 2
    assert "python tests/import_graph.py" in capsys.readouterr().err
    assert any("payloads" in line.split()[1:] for line in lines("campaigns/planning"))


def test_core_libraries_include_only_what_they_declare() -> None:
    declared = {
        name: depends.split()
        for name, depends in re.findall(
            r"^misstep_core_library\((\w+)(?: TOGETHER \w+)?(?: PARTS \d+)?(?: DEPENDS ([\w ]+))?\)",
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
