"""Options of `misstep test` that would change nothing are refused, and --resume goes on with nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.commands import misstep, result_of


@pytest.fixture
def gripper(tmp_path: Path) -> list[Path]:
    assert misstep("generate", "gripper", "--balls", "2", "-o", tmp_path / "task").returncode == 0
    return [tmp_path / "task"]


@pytest.fixture
def line(tmp_path: Path) -> Path:
    path = tmp_path / "line.jani"
    assert misstep("generate", "one-way-line", "--cells", "4", "-o", path).returncode == 0
    return path


@pytest.mark.parametrize(
    "option",
    [
        ("--pool", "5"),
        ("--preset", "p24"),
        ("--objective", "cost"),
        ("--require-solved",),
        ("--fuzz-time", "3"),
    ],
)
def test_options_of_planning_tasks_do_not_fit_a_model(
    option: tuple[str, ...], line: Path, tmp_path: Path
) -> None:
    done = misstep("test", line, "--policy", "first", "-o", tmp_path / "out", *option)
    assert done.returncode == 2
    assert f"{option[0]} has no meaning here; expected a planning task" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "option",
    [("--runs", "1000"), ("--radius", "1"), ("--property", "p"), ("--inapplicable", "error")],
)
def test_options_of_models_do_not_fit_a_task(
    option: tuple[str, ...], gripper: list[Path], tmp_path: Path
) -> None:
    done = misstep("test", *gripper, "--policy", "first", "-o", tmp_path / "out", *option)
    assert done.returncode == 2
    assert f"{option[0]} has no meaning here; expected MODEL.jani as the task" in done.stderr


def test_resume_takes_nothing_or_the_whole_command(gripper: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = ["test", *gripper, "--policy", "first", "--pool", "7", "-o", out]
    # There is nothing yet: the whole command begins, in whatever moment the first start was killed.
    begun = result_of(*command, "--resume", code=1)
    assert begun["tested"] == 7
    alone: list[str | Path] = ["test", "-o", out]
    for again in (command, alone):
        assert result_of(*again, "--resume", code=1)["tested"] == 7
    assert misstep(*command).returncode == 30
    for changed, difference in (
        (["--pool", "6"], "pool is 6; expected 7 or more: a campaign only grows"),
        (["--policy", "random:1"], "its policy is first, not random:1"),
        (["--oracle", "lmcut"], "not lmcut"),
    ):
        done = misstep(*command, *changed, "--resume")
        assert done.returncode == 2
        assert difference in done.stderr
    done = misstep("test", "-o", out, "--resume", "--seed", "7")
    assert done.returncode == 2
    assert "--seed with --resume; expected --resume and --out alone" in done.stderr
    assert misstep("generate", "gripper", "--balls", "3", "-o", tmp_path / "x").returncode == 0
    command[1] = tmp_path / "x"
    assert "is not the one" in misstep(*command, "--resume").stderr
    command[1:2] = [tmp_path / "x" / "domain.pddl", tmp_path / "other.pddl"]
    (tmp_path / "x" / "problem.pddl").rename(tmp_path / "other.pddl")
    assert "the campaign has other tasks" in misstep(*command, "--resume").stderr


def test_a_model_is_resumed_in_the_same_ways(line: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = ["test", line, "--policy", "random:1", "--runs", "60", "-o", out]
    alone: list[str | Path] = ["test", "-o", out]
    runs = [result_of(*again, "--resume", code=1)["runs"] for again in (command, command, alone)]
    assert runs == [60, 60, 60]
    done = misstep(*command, "--seed", "3", "--resume")
    assert done.returncode == 2
    assert "its seed is 0, not 3" in done.stderr
    other = tmp_path / "line2.jani"
    assert misstep("generate", "one-way-line", "--cells", "5", "-o", other).returncode == 0
    command[1] = other
    assert "the campaign has other tasks" in misstep(*command, "--resume").stderr
    line.unlink()
    command[1] = other.rename(line)
    assert "is not the one that the campaign began with" in misstep(*command, "--resume").stderr


def test_a_mistyped_policy_leaves_the_folder_free(gripper: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = ["test", *gripper, "--pool", "3", "-o", out, "--policy"]
    for wrong, code in (("foo:1", 2), ("python:missing.py:f", 30), ("plan:missing", 30)):
        assert misstep(*command, wrong).returncode == code
    assert misstep("records", out).returncode in (0, 30)
    assert result_of(*command, "first", code=1)["tested"] == 3
    assert misstep(*command, "optimal").returncode == 30  # now there is something to lose
    assert result_of("test", "--resume", "-o", out, code=1)["remarks"] == [
        "problem: the policy does not solve the initial state (loop)"
    ]


def test_calls_of_all_processes_are_counted(tmp_path: Path) -> None:
    assert misstep("generate", "gripper", "--balls", "6", "-o", tmp_path / "t").returncode == 0
    counts = []
    for jobs in ("1", "2"):
        done = result_of(
            *("test", tmp_path / "t", "--policy", "noisy:0.3:4+heuristic:ff", "--pool", "60"),
            *("--preset", "p23", "--jobs", jobs, "-o", tmp_path / jobs),
            code=1,
        )
        counts.append(done["policy_calls"])
    assert counts[1] >= counts[0] > 60  # processes do not know what others have asked


def test_a_policy_that_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTED_IN", str(os.getpid()))
    assert misstep("generate", "gripper", "--balls", "6", "-o", tmp_path / "t").returncode == 0
    (tmp_path / "bad.py").write_text(
        "import ctypes, os\n\n"
        "def policy(state):\n"
        "    if os.environ['TESTED_IN'] != str(os.getpid()):\n"
        "        ctypes.CDLL(None)._exit(7)\n"  # native code: os._exit is caught
        "    return state.operators[0]\n"
    )
    done = misstep(
        *("test", tmp_path / "t", "--policy", f"python:{tmp_path / 'bad.py'}:policy"),
        *("--pool", "60", "--preset", "p23", "--jobs", "2", "-o", tmp_path / "out"),
    )
    assert done.returncode == 33
    assert "ended by itself" in done.stderr


def test_a_policy_that_never_answers_is_not_praised(gripper: list[Path], tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def policy(state):\n    raise RuntimeError('no')\n")
    command: list[str | Path] = ["test", *gripper, "--pool", "4", "--fuzz", "none"]
    policy = f"python:{tmp_path / 'bad.py'}:policy"
    done = result_of(*command, "--policy", policy, "-o", tmp_path / "out", code=10)
    assert (done["tested"], done["crashes"], done["bugs"]["crash"]) == (4, 4, 4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--severity", "some"), "misstep: --severity is 'some'; expected none, bugs, all"),
        (("--severity-budget", "-3"), "misstep: --severity-budget is '-3'; expected a positive"),
        (("--on-revisit=no",), "misstep: --on-revisit is 'no'; expected stop or go-on"),
    ],
)
def test_settings_of_models_are_named_as_they_were_typed(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    model = tmp_path / "m.jani"
    misstep("generate", "one-way-line", "--cells", "4", "-o", model)
    done = misstep("test", model, "--policy", "first", "-o", tmp_path / "out", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(told)
