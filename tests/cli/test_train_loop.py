"""`misstep train loop`, and `train qlearning` with bugs, a network and a shield."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import misstep, result_of
from support.jani import TINY_LINE, write

pytest.importorskip("torch")


def test_learning_from_bugs_and_the_loop(tmp_path: Path) -> None:
    """Train, test, learn from the bugs, and all of it in one command."""
    model = write(TINY_LINE, folder=tmp_path)
    few = ("--horizon", "20", "--checkpoints", "1", "--episodes", "8")
    first, found = tmp_path / "first", tmp_path / "found"
    result_of("train", "qlearning", model, "-o", first, "--hidden", "4", "--steps", "1100", *few)
    assert misstep("test", model, "--policy", "first", "-o", found, "--runs", "5").returncode == 1
    init = ("--init", first / "last.jani2nnet")
    told = result_of(
        "train", "qlearning", model, "-o", tmp_path / "second", "--steps", "1100", *few, *init,
        "--from-bugs", found, "--ratio", "0.25", "--shield",
    )  # fmt: skip
    assert told["steps"] >= 1100
    loop = ("train", "loop", model, *init, "-o", tmp_path / "loop", "--rounds", "1", "--steps")
    more = ("--runs", "5", "--episodes", "20", "--horizon", "20")
    rows = result_of(*loop, "1100", *more)["rounds"]
    assert [(row["arm"], row["round"]) for row in rows] == [
        ("bugs", 0), ("bugs", 1), ("plain", 0), ("plain", 1),
    ]  # fmt: skip
    done = misstep(*loop, "1100", *more, "--resume")
    assert done.returncode == 0
    assert "risk between" in done.stdout


def test_options_without_meaning_are_refused(tmp_path: Path) -> None:
    model = write(TINY_LINE, folder=tmp_path)
    for arguments, told in (
        (("qlearning", "--ratio", "0.3"), "--ratio has no meaning here"),
        (
            ("qlearning", "--init", "x.jani2nnet", "--hidden", "4"),
            "--hidden has no meaning with --init",
        ),
        (("qlearning", "--init", "x.jani2nnet"), "x.jani2nnet"),
        (("qlearning", "--from-bugs", tmp_path / "none"), "none"),
        (("qlearning", "--steps", "-5"), "misstep: --steps is -5; expected from 1"),
        (("qlearning", "--epsilon", "2"), "misstep: --epsilon is 2"),
        (
            ("qlearning", "--init", "mine.py"),
            "--init mine.py: training can only continue from networks",
        ),
        (
            ("loop", "--init", "agent.zip"),
            "--init agent.zip: training can only continue from networks",
        ),
        (("loop", "--resume"), "no loop in this folder"),
        (("loop", "--test-time", "0"), "--test-time is 0"),
    ):
        verb, *rest = arguments
        done = misstep("train", verb, model, "-o", tmp_path / "out", *rest)
        assert done.returncode in (2, 30, 32), done.stderr
        assert not (tmp_path / "out").exists()
        assert told in done.stderr
