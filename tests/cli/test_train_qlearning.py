"""`misstep train qlearning`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.cli.main import main
from misstep.errors import InputFileError, UsageError
from support.jani import TINY_LINE, write

pytest.importorskip("torch")
TINY = ("--steps", 128, "--hidden", 4, "--checkpoints", 2, "--episodes", 4, "--horizon", 20)


def misstep(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def test_train_and_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    assert misstep("train", "qlearning", model, "--out", out, *TINY, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["steps"], summary["checkpoints"]) == (128, 2)
    assert Path(summary["best"]).exists()
    assert misstep("train", "qlearning", model, "-o", out, "--resume", "--steps", 256) == 0
    shown = capsys.readouterr()
    assert "256 steps" in shown.out
    assert str(out / "best.jani2nnet") in shown.out
    assert shown.err.count("step ") == 2  # a line a checkpoint
    assert len((out / "log.jsonl").read_text().splitlines()) == 4


def test_other_settings_are_refused_on_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after the training was resumed for more steps, which stretches its schedules."""
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    words = ("train", "qlearning", model, "--out", out)
    assert misstep(*words, *TINY) == 0
    again = (*words, *TINY[2:], "--resume", "--steps")
    for steps in (256, 384):
        for more, text in (
            (("--hidden", "8"), "begun with hidden (4,), not (8,)"),
            (("--checkpoints", "7"), "begun with checkpoints 2, not 7"),
            (("--goal-reward", "7"), "begun with rewards goal 100.0, not 7.0"),
            (("--seed", "3"), "begun with seed 0, not 3"),
        ):
            capsys.readouterr()
            assert misstep(*again, steps, *more) == UsageError.exit_code
            error = capsys.readouterr().err
            assert text in error
            assert len(error.splitlines()) == 1
        assert misstep(*again, steps) == 0


def test_one_line_for_each_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    for more, code, text in (
        (("--hidden", "a,b"), UsageError.exit_code, "such as 64,64"),
        (("--constant", "p"), UsageError.exit_code, "NAME=VALUE"),
        (("--device", "tpu"), UsageError.exit_code, "no device"),
        (("--ignore", "wind"), UsageError.exit_code, "no variable wind"),
        (("--gamma", "2"), UsageError.exit_code, "gamma is 2"),
        (("--resume",), InputFileError.exit_code, "no training"),
    ):
        assert misstep("train", "qlearning", model, "--out", out, *TINY, *more) == code
        error = capsys.readouterr().err
        assert text in error
        assert len(error.splitlines()) == 1
    assert misstep("train", "qlearning", tmp_path / "no.jani", "--out", out) == (
        InputFileError.exit_code
    )
