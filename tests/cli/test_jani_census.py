"""`misstep census` of JANI models: the golden numbers, every column, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.tasks.models import generate_model, write_model
from support import jani
from support.commands import result_of, run
from support.ground_truth import Census
from support.models import GOLDEN, Choices, described

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(("name", "choices", "expected"), GOLDEN, ids=described)
def test_the_golden_numbers(name: str, choices: Choices, expected: Census, tmp_path: Path) -> None:
    write_model(generate_model(name, **choices), path := tmp_path / "golden.jani")
    zero, one, two = expected.safe_within
    told = result_of("census", path, "--policy", "first", code=1)
    assert told == {
        "task": "golden",
        "policy": "first",
        "initial": expected.initial,
        "states": expected.states,
        "outcomes": expected.outcomes,
        "unsafe": expected.unsafe,
        "goal": expected.goals,
        "dead_ends": expected.dead_ends,
        "safe": {"inf": expected.safe, "0": zero, "1": one, "2": two},
        "safe_initial": expected.safe_initial,
        "faults": expected.faults,
        "bugs": expected.safe - zero,  # this policy never stops
    }


def test_the_tiny_line(capsys: Captured) -> None:
    path = jani.write(jani.TINY_LINE)
    told = result_of("census", path)
    assert (told["states"], told["outcomes"], told["unsafe"], told["goal"]) == (11, 16, 3, 1)
    assert told["safe"] == {"inf": 5, "0": 1, "1": 3, "2": 5}
    assert told["faults"] == 2
    assert told["policy"] == "first"
    assert run("census", path) == 0
    shown = [line.rpartition("  ") for line in capsys.readouterr().out.splitlines()]
    assert [own for name, _, own in shown if name.strip().startswith("safe, radius")] == [
        *("1", "3", "5", "5")
    ]
    assert shown[-1][0].strip() == "safe, radius inf"
    assert not any("_" in name for name, _, _ in shown)


def test_a_safe_policy_gives_exit_code_0(tmp_path: Path) -> None:
    code = tmp_path / "careful.py"
    code.write_text("def brake(state):\n    return 'dec' if state['vel'] > 0 else 'acc'\n")
    path = jani.write(jani.TINY_LINE)
    told = result_of("census", path, "--policy", f"python:{code}:brake", code=0)
    assert told["safe"] == {"inf": 5, "0": 5, "1": 5, "2": 5}
    assert told["faults"] == 0


def test_a_policy_that_stops_is_safe_there(tmp_path: Path) -> None:
    """Nothing unsafe happens where it stops, although every strategy has to deviate from it there."""
    code = tmp_path / "idle.py"
    code.write_text("def never(state):\n    return None\n")
    words = ("--policy", f"python:{code}:never", "--inapplicable", "stop_safe")
    told = result_of("census", jani.write(jani.TINY_LINE), *words, code=0)
    assert (told["bugs"], told["faults"]) == (0, 0)
    assert told["safe"]["0"] < told["safe"]["inf"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--max-states", "3"], 22, "the model is larger"),
        (["--max-states", "3"], 22, "the limit was 3 states\n"),
        (["--policy", "frist"], 2, "did you mean first?"),
        (["--policy", "nowhere.nnet"], 30, "nowhere.nnet"),
        (["other.jani"], 2, "one file too many"),
        (["--time-limit", "0.000000001"], 20, "limit"),
    ],
)
def test_what_can_go_wrong(words: list[str], code: int, message: str, capsys: Captured) -> None:
    path = jani.write(jani.TINY_LINE)
    assert run("census", path, *words) == code
    told = capsys.readouterr()
    assert message in told.err
    assert len(told.err.splitlines()) == 1


def test_models_that_cannot_be_read(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "m.jani").write_text("{")
    assert run("census", tmp_path / "m.jani") == 31
    assert run("census", tmp_path / "nowhere.jani") == 30
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_the_kinds_are_listed(capsys: Captured) -> None:
    assert run("list", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert "shield:FILE+SPEC" in told["policies for models"]


def test_property_and_constants(capsys: Captured) -> None:
    document = jani.model(
        [jani.variable("x", jani.bounded(0, 9), 0)],
        [jani.edge("a", jani.op("<", "x", "top"), jani.destination({"x": jani.op("+", "x", 1)}))],
        prop=jani.pa(jani.op("=", "x", 9)),
    )
    document["constants"] = [{"name": "top", "type": "int"}]
    document["properties"].append({**jani.pa(jani.op("=", "x", 2)), "name": "other"})
    path = jani.write(document)
    assert result_of("census", path, "--constant", "top=4")["unsafe"] == 0
    told = result_of("census", path, "--constant", "top=4", "--property", "other")
    assert (told["states"], told["unsafe"]) == (3, 1)
    for wrong, message in (
        (("--constant", "top"), "NAME=VALUE"),
        (("--constant", "=4"), "NAME=VALUE"),
        (("--constant", "top=4", "--constant", "top=5"), "has a value already"),
        (("--constant", "top=four"), "a number, true or false"),
        (("--constant", "top=4", "--property", "third"), "third"),
        ((), "--constant top=VALUE"),
    ):
        assert run("census", path, *wrong) != 0
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.err.count("\n") == 1
    assert run("census", "task.sas", "--constant", "top=4") == 2
    assert "--constant has no meaning here; expected MODEL.jani" in capsys.readouterr().err
