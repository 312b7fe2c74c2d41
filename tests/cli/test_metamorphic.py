"""`misstep test` with the metamorphic oracles, as a user types it."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from misstep.campaigns.planning import work
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from misstep.tasks.task import Task
from support.commands import misstep, result_of
from support.dominance import logistics
from support.tasks import CONDITIONAL


@pytest.fixture
def conditional(tmp_path: Path) -> Path:
    path = tmp_path / "conditional.sas"
    path.write_text(CONDITIONAL)
    return path


@pytest.mark.parametrize(
    "oracle", ["smo", "bmo(100, heuristic=lmcut)", "bmo(0)", "bmo(9, heuristic=add)"]
)
def test_conditional_effects_are_not_for_dominance(
    oracle: str, conditional: Path, tmp_path: Path
) -> None:
    """The campaign says so and goes on, with the other oracles where there are some."""
    asked: list[str | Path] = ["test", conditional, "--policy", "first", "--pool", "6"]
    alone = result_of(*asked, "--oracle", oracle, "-o", tmp_path / "alone")
    name = oracle[:3]
    reason = f"conditional: {name}: not applicable: a dominance function does not support"
    assert any(text.startswith(reason) for text in alone["remarks"])
    assert alone["unknown"] == alone["tested"] == 6
    helped = result_of(*asked, "--oracle", f"{oracle}+aras/ehc", "-o", tmp_path / "helped", code=1)
    assert any(text.startswith(reason) for text in helped["remarks"])
    assert helped["bugs"]["fails"] == 6


def test_a_heuristic_that_does_not_fit_the_task_is_told(conditional: Path, tmp_path: Path) -> None:
    done = result_of(
        *("test", conditional, "--policy", "first", "--pool", "6", "-o", tmp_path / "out"),
        *("--oracle", "ehc(heuristic=lmcut), gbfs"),
        code=1,
    )
    reason = "conditional: ehc: not applicable: LM-cut does not support conditional effects"
    assert any(text.startswith(reason) for text in done["remarks"])
    assert done["bugs"]["fails"] == 6


def test_wrong_tables_stop_the_campaign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A table that promises too much makes bounds that cannot be: that is no verdict, and not one more UNKNOWN."""
    table = array("h", [0, 2, 1, -6, 0, -3, -3, 1, 0]).tobytes()
    better = array("h", [0, 2, 1, 9, 0, 9, -3, 1, 0]).tobytes()

    def wrong(task: Task) -> DominanceFunction:
        tables = DominanceFunction.compute(task, DominanceSettings(merged=False)).to_bytes()
        assert tables.count(table) == 1
        return DominanceFunction.from_bytes(task, tables.replace(table, better))

    monkeypatch.setattr(work, "try_dominance", wrong)
    path = tmp_path / "logistics.sas"
    path.write_bytes(logistics(2, 1, goal=1).sas)
    done = misstep(
        *("test", path, "--policy", "optimal", "-o", tmp_path / "out", "--oracle", "bmo(10)")
    )
    assert done.returncode == 39
    assert "logistics: internal error: " in done.stderr
    assert "please report it" in done.stderr
    assert "Traceback" not in done.stderr
