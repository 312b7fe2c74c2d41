"""`misstep experiment`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import misstep, result_of
from support.experiments import SMALL, write


def test_the_safety_paper_at_the_scale_smoke(tmp_path: Path) -> None:
    """All nine domains, all figures, all claims: the whole way from the definition to the report."""
    found = result_of("experiment", "ps", "--jobs", "2", "--out", tmp_path / "ps")
    assert found["done"] == found["units"] > 500
    assert found["missing"] == []
    verdicts = {own["name"]: own["verdict"] for own in found["claims"]}
    assert verdicts["no-contradiction"] == "agrees"
    assert verdicts["deterministic"] == "agrees"
    names = {Path(path).name for path in found["files"]}
    assert {"figure-2.svg", "figure-3-safe.svg", "figure-4.svg", "claims.md", "report.md"} <= names
    again = result_of("experiment", "report", tmp_path / "ps")
    assert again["claims"] == found["claims"]


def test_the_metamorphic_oracles_at_the_scale_smoke(tmp_path: Path) -> None:
    """All nine domains are generated and compared."""
    found = result_of("experiment", "p23", "--jobs", "2", "--out", tmp_path / "p23")
    assert found["missing"] == []
    assert found["done"] == found["units"] == 9 * 6
    table = (tmp_path / "p23/report/tables/table-1.md").read_text()
    assert "| Gripper | " in table
    assert "blind(1000) (baseline)" in table
    assert "bmo(100)+aras/ehc, paper" in table


def test_trainings_at_the_scale_smoke(tmp_path: Path) -> None:
    """Both halves of the table of P25, and the policies of two domains, which can then be tested."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    found = result_of("experiment", "p25", "--jobs", "2", "--out", tmp_path / "p25")
    assert found["done"] == found["units"] == 10
    tables = tmp_path / "p25/report/tables"
    assert "early-train (baseline)" in (tables / "criteria-coverage.md").read_text()
    assert "tree-pitest 240, paper" in (tables / "configurations.md").read_text()
    assert "all of hard" in (tables / "left-out.md").read_text()
    assert "| Spanner | " in (tables / "criteria-bugs.md").read_text()
    assert not (tmp_path / "p25/work").exists()
    found = result_of("experiment", "from-bugs", "--out", tmp_path / "bugs")
    assert found["missing"] == []
    table = (tmp_path / "bugs/report/tables/against-others.md").read_text()
    assert "| bugs | faults | " in table
    assert "random: p" in table
    found = result_of("experiment", "policies", "--jobs", "2", "--out", tmp_path / "zoo")
    assert found["missing"] == []
    names = {path.name for path in (tmp_path / "zoo/policies").iterdir()}
    assert {"ferry.safetensors", "gripper.safetensors", "ferry.json", "gripper.md"} <= names


def test_the_first_paper_at_the_scale_smoke(tmp_path: Path) -> None:
    """All ten domains, all parts of the table, the curves, and a verdict on each claim."""
    found = result_of("experiment", "p22", "--jobs", "2", "--out", tmp_path / "p22")
    assert found["missing"] == []
    assert found["done"] == found["units"]
    report = tmp_path / "p22/report"
    tasks = (report / "tables/table-1-a-b.md").read_text()
    assert "| Gripper | shipped:gripper | 1 | 35 | 1 | 35 | 12 | 58.3 | 12 | 58.3 |" in tasks
    for part in ("c", "d", "e"):
        lines = (report / f"tables/table-1-{part}.md").read_text().splitlines()
        assert sum(line.startswith("| ") for line in lines) == 11, part
    names = {Path(path).name for path in found["files"]}
    assert {"figure-4-fails-blocksworld.svg", "figure-4-costly-scanalyzer.svg"} <= names
    verdicts = {own["verdict"] for own in found["claims"]}
    assert verdicts <= {"agrees", "disagrees", "not decidable at this scale"}
    assert len(found["claims"]) == 15


def test_a_definition_of_ones_own(tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    done = misstep("experiment", path, "--seeds", "1", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Guidance helps." in done.stdout
    assert str(out / "report" / "report.md") in done.stdout
    (tmp_path / "page.md").write_text("<!-- experiment tiny -->\n<!-- end of experiment tiny -->\n")
    found = result_of("experiment", "report", out, "--page", tmp_path / "page.md")
    assert str(tmp_path / "page.md") in found["files"]
    assert "Guidance helps" in (tmp_path / "page.md").read_text()
    assert "units were done before" in misstep("experiment", path, "--seeds", "1", "-o", out).stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = misstep(
        "experiment", "ps", "--scale", "paper", "--dry-run", "--jobs", "16", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "deciding" in done.stdout
    assert "with 16 processes" in done.stdout
    found = result_of("experiment", write(tmp_path), "--dry-run", "--out", tmp_path / "none")
    assert [step["step"] for step in found["steps"]] == ["fuzzing", "deciding"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.toml"]


def test_refusals(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL.replace("oracles =", "orakles ="))
    line = SMALL[: SMALL.index("oracles =")].count("\n") + 1
    for arguments, code, message in [
        (("p99",), 2, "p22, p23"),
        (("p24", "--gnn", "nowhere"), 2, "--gnn: there is no folder nowhere"),
        (("p24", "--device", "tpu"), 2, "--device is 'tpu'"),
        (("ps", "--scale", "huge"), 2, "smoke, small, medium, paper"),
        (("ps", "--jobs", "0"), 2, "--jobs is 0"),
        (("ps", "--seeds", "0"), 2, "--seeds is 0"),
        (("ps", str(tmp_path)), 2, "one argument too many"),
        (("ps", "--page", "page.md"), 2, "--page belongs to misstep experiment report DIR"),
        (("report",), 2, "misstep experiment report DIR"),
        (("report", str(tmp_path), "--scale", "small"), 2, "--scale has no effect on a report"),
        (("report", str(tmp_path / "none")), 30, "no experiment is in this folder"),
        ((str(path),), 31, f"tiny.toml:{line}: unknown key 'orakles'"),
        ((str(tmp_path / "none.toml"),), 30, "no such file"),
    ]:
        done = misstep("experiment", *arguments, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert message in done.stderr
    assert sorted(own.name for own in tmp_path.iterdir()) == ["tiny.toml"]
