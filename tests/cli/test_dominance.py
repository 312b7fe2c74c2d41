"""`misstep dominance` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.oracles.dominance import DominanceFunction
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task
from support.commands import misstep, result_of
from support.dominance import Operator, RawTask, gripper, logistics, visitall_2x2
from support.tasks import CONDITIONAL


def written(task: Task, folder: Path) -> Path:
    path = folder / f"{task.name}.sas"
    path.write_bytes(task.sas)
    return path


@pytest.mark.parametrize(
    ("task", "options", "sizes", "pairs"),
    [
        (logistics(2, 1, goal=1), ["--atomic"], [2, 3], [36, 36, 11]),
        (logistics(2, 1, goal=1), [], [6], [36, 36, 36]),
        (gripper(1), ["--atomic"], [2, 2, 2, 4], [960, 128, 87]),
        (gripper(1), [], [8], [960, 64, 64]),
        (visitall_2x2(), ["--atomic"], [4, 2, 2, 2], [1024, 324, 108]),
        (visitall_2x2(), [], [18], [1024, 324, 324]),
    ],
)
def test_numbers(
    task: Task, options: list[str], sizes: list[int], pairs: list[int], tmp_path: Path
) -> None:
    result = result_of("dominance", written(task, tmp_path), *options, "--pairs")
    assert [factor["states"] for factor in result["factors"]] == sizes
    assert [result[name] for name in ("all_pairs", "finite_pairs", "tight_pairs")] == pairs
    assert result["merges"] == task.variable_count - len(sizes)
    assert sorted(v for f in result["factors"] for v in f["variables"]) == list(
        range(task.variable_count)
    )
    for factor in result["factors"]:
        assert factor["states"] <= factor["finite"] <= factor["pairs"] == factor["states"] ** 2
    assert [rounds > 0 for rounds in result["rounds"]] == [len(sizes) > 1]
    assert result["seconds"] >= 0
    assert result["solvable"]


def test_limits_and_simplification(tmp_path: Path) -> None:
    path = written(gripper(3), tmp_path)
    assert len(result_of("dominance", path)["factors"]) == 1
    few = result_of("dominance", path, "--limit-transitions", "300")
    assert 1 < len(few["factors"]) < 6
    assert result_of("dominance", path, "--limit-states", "3")["merges"] == 0
    (plain,) = result_of("dominance", path)["factors"]
    (simple,) = result_of("dominance", path, "--simplify")["factors"]
    assert simple["states"] < plain["states"]
    both = result_of("dominance", path, "--both")["factors"]
    assert [factor["factoring"] for factor in both] == [0] * 6 + [1]
    assert len(result_of("dominance", path, "--both")["rounds"]) == 2
    reachable = result_of("dominance", path, "--pairs")["finite_pairs"]
    assert result_of("dominance", path, "--pairs", "--keep-unreachable")["finite_pairs"] > reachable


def test_budgets_are_told(tmp_path: Path) -> None:
    path = written(gripper(3), tmp_path)
    done = misstep("dominance", path, "--atomic", "--steps", "10", "--json")
    assert done.returncode == 0
    assert "budget of steps" in done.stderr
    assert "budget" not in misstep("dominance", path, "--atomic").stderr


def test_saved_functions_can_be_loaded(tmp_path: Path) -> None:
    path = written(gripper(2), tmp_path)
    result = result_of("dominance", path, "--both", "--save", tmp_path / "d")
    assert result["saved"] == str(tmp_path / "d")
    function = DominanceFunction.load(tmp_path / "d", load_planning_task(path))
    assert [f.states for f in function.factors] == [f["states"] for f in result["factors"]]


def test_text(tmp_path: Path) -> None:
    done = misstep("dominance", written(gripper(1), tmp_path), "--pairs")
    assert done.returncode == 0
    assert "largest_factor  8" in done.stdout
    assert "rounds          0\n" in done.stdout
    assert "tight_pairs     64" in done.stdout


def test_mistakes(tmp_path: Path) -> None:
    path = written(gripper(1), tmp_path)
    assert misstep("dominance", path, "--atomic", "--both").returncode == 2
    assert misstep("dominance", path, "--limit-transitions", "0").returncode == 2
    assert misstep("dominance", tmp_path / "missing.sas").returncode == 30
    assert misstep("dominance", path, "--save", tmp_path / "no" / "where").returncode == 30
    assert misstep("dominance", path, "--save", tmp_path).returncode == 30
    for option in ("--steps", "--limit-transitions", "--threads"):
        done = misstep("dominance", path, option, str(10**30))
        assert done.returncode == 2
        assert "expected a number below" in done.stderr
    assert misstep("dominance", path, "--threads", str(2**31)).returncode == 2
    conditional = tmp_path / "conditional.sas"
    conditional.write_text(CONDITIONAL)
    done = misstep("dominance", conditional)
    assert done.returncode == 32
    assert "dominance function" in done.stderr
    assert "Traceback" not in done.stderr
    large = misstep("dominance", written(gripper(6), tmp_path), "--atomic", "--pairs")
    assert large.returncode == 22


def test_an_unsolvable_task(tmp_path: Path) -> None:
    task = RawTask((2, 2), (0, 0), ((0, 1),), (Operator(((1, 0, 1),)),)).task("unsolvable")
    result = result_of("dominance", written(task, tmp_path), "--pairs")
    assert not result["solvable"]
    assert result["factors"] == []
    assert result["finite_pairs"] == 0
