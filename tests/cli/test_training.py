"""`misstep train` and `misstep select`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.cli.arguments import repeat_options
from misstep.cli.main import main
from misstep.errors import Interrupted, MissingDependencyError
from misstep.tasks.domains import generate, write_instance


def misstep(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture
def problems(tmp_path: Path) -> list[Path]:
    """Gripper with one, two and three balls, in a folder each."""
    return [
        write_instance(generate("gripper", balls=n), tmp_path / f"balls{n}")[1] for n in (1, 2, 3)
    ]


TINY = ("--steps", 2, "--hidden", 4, "--layers", 1, "--pool", 4, "--inits", 1, "--epochs", 2)


def train(problems: list[Path], out: Path, *more: object) -> int:
    domain = problems[0].with_name("domain.pddl")
    return misstep(
        "train",
        "asnet",
        domain,
        *problems[:2],
        "--validate",
        problems[2],
        "--out",
        out,
        *TINY,
        *more,
    )


def test_options_with_several_values() -> None:
    given = ["select", "t1", "--policies", "a", "b", "--pool", "3"]
    assert repeat_options(given) == [
        "select",
        "t1",
        "--policies",
        "a",
        "--policies",
        "b",
        "--pool",
        "3",
    ]
    assert repeat_options(["test", "--validate", "a", "b"]) == ["test", "--validate", "a", "b"]
    assert repeat_options([]) == []
    # Without a value it stays as it is, for typer to complain about.
    assert repeat_options(["train", "--validate", "--json"]) == ["train", "--validate", "--json"]


def test_train(problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    out = tmp_path / "out"
    assert train(problems, out, "--config", "line", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["models"] == 3
    assert summary["criterion"] == "pi-test-val"
    tree = json.loads((out / "tree.json").read_text())
    assert [model["parent"] for model in tree["models"]] == [None, 0, 1]
    assert tree["chosen"] == summary["chosen"]
    before = (out / "best.safetensors").read_bytes()
    assert train(problems, out, "--resume", "--keep", 1) == 0
    shown = capsys.readouterr()
    assert "random weights" in shown.out
    assert "<- chosen" in shown.out
    assert "model 2" in shown.err
    assert (out / "best.safetensors").read_bytes() == before
    policy = f"asnet:{out / 'best.safetensors'}"
    assert misstep("run", problems[2].parent, "--policy", policy, "--json") in (0, 1)


def test_train_errors(
    problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    for more, code, says in (
        (("--config", "zigzag"), 2, "no configuration 'zigzag'"),
        (("--select", "solved-test"), 2, "no criterion"),
        (("--device", "tpu"), 2, "no device"),
        (("--keep", 1), 2, "--keep is for --resume"),
        (("--resume",), 30, "no training in this folder"),
        (("--from-bugs", tmp_path / "nowhere"), 30, "nowhere"),
        (("--dropout", 1.5), 2, "dropout is 1.5"),
    ):
        assert train(problems, tmp_path / "out", *more) == code
        assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_torch")
def test_without_torch(
    problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says = "this needs PyTorch, which is not installed; pip install 'misstep[neural]'"
    assert train(problems, tmp_path / "out") == MissingDependencyError.exit_code
    assert says in capsys.readouterr().err
    model = tmp_path / "model.jani"
    assert misstep("generate", "one-way-line", "--output", model) == 0
    given = ("train", "qlearning", model, "--out", tmp_path / "out")
    assert misstep(*given) == MissingDependencyError.exit_code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_ctrl_c(
    problems: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.training import learner

    epoch = learner.Learner.epoch

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learner.Learner, "epoch", stop)
    assert train(problems, tmp_path / "out", "--config", "line") == Interrupted.exit_code
    assert "1 of 3 models" in capsys.readouterr().err
    monkeypatch.setattr(learner.Learner, "epoch", epoch)
    assert train(problems, tmp_path / "out", "--resume") == 0


def test_learning_from_bugs(
    problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    campaign = tmp_path / "campaign"
    policy = "noisy:0.4:1+optimal"
    assert (
        misstep("test", problems[2].parent, "--policy", policy, "--pool", 20, "-o", campaign) == 1
    )
    assert train(problems, tmp_path / "out", "--from-bugs", campaign, "--json") == 0
    assert "proven faults behind" in capsys.readouterr().err
    again = ("--from-bugs", campaign, "--retest", 1, "--bug-states", "before", "--bug-number", 5)
    assert train(problems, tmp_path / "again", *again, "--json") == 0
    assert train(problems, tmp_path / "alone", "--retest", 1) == 2
    assert "--retest has no meaning here; expected --from-bugs DIR" in capsys.readouterr().err
    flawless = tmp_path / "flawless"
    assert (
        misstep("test", problems[2].parent, "--policy", "optimal", "--pool", 5, "-o", flawless) == 0
    )
    assert train(problems, tmp_path / "other", "--from-bugs", flawless) == 2
    assert "no proven fault" in capsys.readouterr().err


def test_select(problems: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    folders = [problem.parent for problem in problems]
    specs = ("random:1", "optimal", "noisy:0.5:1+optimal")
    assert misstep("select", *folders, "--policies", *specs, "--pool", 5, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["best"] == "optimal"
    assert len(result["comparisons"]) == 2
    assert [len(row["tasks"]) for row in result["ranking"]] == [3, 3, 3]
    # With the domain first, and as text.
    domain = problems[0].with_name("domain.pddl")
    assert misstep("select", domain, *problems, "--policies", *specs, "--pool", 5) == 0
    shown = capsys.readouterr().out
    assert "too few tasks to tell policies apart: 3; at least 6 are needed" in shown
    assert "p =" not in shown


def test_select_on_a_suite(
    problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite"
    for number, problem in enumerate(problems):
        folder = suite / f"t{number}"
        folder.mkdir(parents=True)
        (folder / "problem.pddl").write_text(problem.read_text())
    domain = problems[0].with_name("domain.pddl")
    asked = ("--policies", "random:1", "optimal", "--pool", 5, "--json")
    # One domain for all problems of the folder, or the same tasks one by one.
    assert misstep("select", domain, "--suite", suite, *asked) == 0
    of_suite = json.loads(capsys.readouterr().out)["ranking"]
    assert [row["task"] for row in of_suite[0]["tasks"]] == [f"t{k}/problem" for k in range(3)]
    assert misstep("select", domain, *sorted(suite.glob("*/problem.pddl")), *asked) == 0
    one_by_one = json.loads(capsys.readouterr().out)["ranking"]
    assert [row["score"] for row in of_suite] == [row["score"] for row in one_by_one]
    # Each with its own domain, in a folder above.
    (suite / "domain.pddl").write_text(domain.read_text())
    assert misstep("select", "--suite", suite, *asked) == 0
    assert json.loads(capsys.readouterr().out)["ranking"] == of_suite
    # Errors.
    assert misstep("select", problems[0], "--suite", suite, *asked) == 2
    assert "both a task and a suite; expected one of them" in capsys.readouterr().err
    assert misstep("select", *asked) == 2
    assert "no task to test on; expected TASKS..., or --suite FOLDER" in capsys.readouterr().err


def test_select_errors(problems: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    task = problems[0].parent
    assert misstep("select", task, "--policies", "optimal") == 2
    assert "at least two" in capsys.readouterr().err
    assert misstep("select", task, task, "--policies", "optimal", "first") == 2
    assert "given twice" in capsys.readouterr().err
    assert misstep("select", task, "--policies", "optimal", "nonsense") == 2
    assert "no policy kind" in capsys.readouterr().err
    assert misstep("select", task, "--policies", "optimal", "first", "--pool", 0) == 2


def test_a_recipe_and_an_option_besides(problems: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert train(problems, tmp_path / "p25", "--recipe", "p25") == 0
    kept = json.loads((tmp_path / "p25" / "settings.json").read_text())["settings"]
    assert (kept["teacher"], kept["unit_costs"], kept["initial"]) == ("astar", True, "normal")
    assert (kept["learner"]["loss"], kept["learner"]["steps"]) == ("binary", 2)
    assert train(problems, tmp_path / "both", "--recipe", "p25", "--teacher", "exhaustive") == 0
    kept = json.loads((tmp_path / "both" / "settings.json").read_text())["settings"]
    assert (kept["teacher"], kept["initial"]) == ("exhaustive", "normal")


def test_an_unknown_recipe(
    problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert train(problems, tmp_path / "none", "--recipe", "p26") == 2
    assert "no recipe 'p26'; expected own or p25" in capsys.readouterr().err
