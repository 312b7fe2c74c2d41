"""`misstep risk`: tables, JSON, exit codes, limits, Ctrl-C, and what is refused; `--risk` of campaigns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.safety.risk import RiskAnalysis
from misstep.tasks.models import generate_model, write_model
from support.commands import result_of, run
from support.risk_games import GOAL, INNER, UNSAFE, SmallGame, as_jani, write

Captured = pytest.CaptureFixture[str]
GAME = SmallGame(
    [INNER, INNER, UNSAFE, GOAL],
    [
        [[[(1, 0.5), (2, 0.25), (3, 0.25)]], [[(2, 0.1), (3, 0.9)]]],
        [[[(2, 0.5), (3, 0.5)]]],
        [],
        [],
    ],
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(as_jani(GAME), tmp_path / "m.jani")


def test_json(model: Path) -> None:
    found = result_of("risk", model, "--policy", "first", code=1)
    assert found["policy"] == pytest.approx([0.5, 0.5])
    assert found["least"] == pytest.approx([0.1, 0.1])
    assert found["size"] == pytest.approx(0.4)
    assert found["faults"][0]["label"] == "a0"
    assert found["complete"] is True


def test_table(model: Path, capsys: Captured) -> None:
    assert run("risk", model, "--policy", "first") == 1
    shown = capsys.readouterr().out
    for text in ("0.500000000", "0.100000000", "at least 0.4", "a0", "a1", "most likely unsafe"):
        assert text in shown


def test_exit_codes(model: Path) -> None:
    assert (
        result_of("risk", model, "--policy", "first", "--min-size", "0.5", code=0)["avoidable"] == 1
    )
    # From where nothing can be chosen, nothing can be avoided.
    found = result_of("risk", model, "--policy", "first", "--start", "s = 1", code=0)
    assert found["size"] == 0
    words: tuple[str, ...] = ("--max-states", "1", "--runs", "0")
    assert result_of("risk", model, "--policy", "first", *words, code=1)["complete"] is False
    words = ("--start", "s = 0 or s = 1", "--max-states", "1", "--runs", "0", "--min-size", "0.3")
    assert result_of("risk", model, "--policy", "first", *words, code=10)["complete"] is False


def test_steps(model: Path) -> None:
    found = result_of("risk", model, "--policy", "first", "--steps", "1", code=1)
    assert found["policy"] == pytest.approx([0.25, 0.25])
    assert found["least"] == pytest.approx([0.1, 0.1])


def test_ctrl_c_keeps_what_is_known(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explored = RiskAnalysis._explored

    def interrupted(self: RiskAnalysis, policy: Any, progress: Any) -> Any:
        if policy is None:
            raise KeyboardInterrupt
        return explored(self, policy, progress)

    monkeypatch.setattr(RiskAnalysis, "_explored", interrupted)
    found = result_of("risk", model, "--policy", "first", code=23)
    assert found["policy"] == pytest.approx([0.5, 0.5])
    assert found["least"] == pytest.approx([0.0, 0.5])  # the policy is a strategy
    assert found["interrupted"] is True


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--steps", "-1"), 2, "--steps is -1"),
        (("--rows", "-1"), 2, "--rows is -1"),
        (("--min-size", "-1"), 2, "--min-size is -1"),
        (("--max-steps", "0"), 2, "--max-steps is 0"),
        (("--precision", "0"), 2, "--precision is 0"),
        (("--level", "2"), 2, "--level is 2"),
        (("--start", "none.json"), 30, "none.json: no such file"),
        (("--start", "t = 2"), 31, "misstep: --start: nothing is called 't' here"),
        (("--unsafe", "s > 1 and t"), 31, "misstep: --unsafe: nothing is called 't' here"),
        (("--goal", "t"), 31, "misstep: --goal: nothing is called 't' here"),
        (("--max-states", "0"), 2, "--max-states is 0"),
        (("--start", "s = 2 and s = 1"), 31, "start"),
    ],
)
def test_bad_usage(
    words: tuple[str, ...], code: int, message: str, model: Path, capsys: Captured
) -> None:
    assert run("risk", model, "--policy", "first", *words) == code
    assert message in capsys.readouterr().err


def test_what_has_no_risk(tmp_path: Path, capsys: Captured) -> None:
    assert run("risk", tmp_path / "domain.pddl", "--policy", "first") == 2
    assert "not a model" in capsys.readouterr().err
    document = {**as_jani(GAME), "type": "lts"}
    for edge in document["automata"][0]["edges"]:
        del edge["destinations"][1:]
        del edge["destinations"][0]["probability"]
    assert run("risk", write(document, tmp_path / "l.jani"), "--policy", "first") == 32
    assert "has no probabilities" in capsys.readouterr().err


def test_campaigns(tmp_path: Path, capsys: Captured) -> None:
    """The case that the worst view cannot judge: all runs unsafe, no bug, and nearly all risk avoidable."""
    line = generate_model("one-way-line", cells=6, packages=2, vmax=3, drop=True, ice="3")
    write_model(line, path := tmp_path / "line.jani")
    words = ("test", path, "--policy", "first", "--runs", "30", "--out")
    assert run(*words, tmp_path / "plain", "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["risk"] is None
    assert any("misstep risk" in text for text in plain["remarks"])
    assert run(*words, tmp_path / "weighed", "--risk", "--json") == 0
    weighed = json.loads(capsys.readouterr().out)
    assert weighed["risk"]["avoidable"] > 0
    assert weighed["risk"]["most"] > 0.8
    for name in ("bugs", "tested", "outcomes", "faults"):
        assert weighed[name] == plain[name]
    assert run("test", "--resume", "--out", tmp_path / "weighed", "--runs", "60", "--json") == 0
    grown = json.loads(capsys.readouterr().out)
    assert grown["risk"]["states"] == grown["tested"] >= weighed["tested"]
    assert run("replay", tmp_path / "weighed") == 0
    report = open_campaign(tmp_path / "weighed").risk()
    assert report.complete
    assert report.size > 0.9
