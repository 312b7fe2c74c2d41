"""`misstep generate` for the built-in models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.safety.decider import KINDS
from misstep.safety.fuzz import FUZZINGS
from misstep.tasks.models import MODELS, generate_model
from support.commands import misstep, run

Captured = pytest.CaptureFixture[str]


def test_the_file_holds_the_model(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "model.jani"
    options = ["--cells", "6", "--packages", "2", "--vmax", "3", "--drop", "--ice", "3", "--park"]
    assert run("generate", "one-way-line", *options, "-o", path) == 0
    assert capsys.readouterr().out == f"{path}\n"
    expected = generate_model(
        "one-way-line", cells=6, packages=2, vmax=3, drop=True, ice="3", park=True
    )
    assert path.read_text() == expected.text


def test_a_name_by_which_no_command_would_know_the_model_is_refused(
    tmp_path: Path, capsys: Captured
) -> None:
    assert run("generate", "one-way-line", "-o", tmp_path / "model") == 2
    assert (
        f"a file that ends in .jani, such as {tmp_path / 'model'}.jani" in capsys.readouterr().err
    )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_a_command(
    name: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("generate", name, "--starts", "2", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == generate_model(name, starts=2).name
    assert Path(told["model"]).read_text() == generate_model(name, starts=2).text


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("n-puzzle --tile 4 --cell 3", 2, "part of the goal"),
        ("beluga --lines 0,3/2,2", 2, "lines of beluga is '0,3/2,2'"),
        ("follow-car --horizon 0", 2, "horizon of follow-car is 0"),
        ("blocksworld-cost --max-cost x", 2, "--max-cost is x; expected a whole number"),
        ("two-way-line -o .", 30, "cannot write the model"),
    ],
)
def test_mistakes_get_one_line(
    words: str,
    code: int,
    told: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("generate", *words.split()) == code
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_models_are_listed(capsys: Captured) -> None:
    assert run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["models"]
    assert listed["beluga"]["choices"] == {"racks": 2, "lines": "0,3/2,1", "swaps": 6}
    assert listed.keys() == MODELS.keys()


def test_help_lists_domains_and_models_apart_and_uncut() -> None:
    shown = misstep("generate", "--help").stdout
    domains, models = shown.index("Planning domains:"), shown.index("Models (JANI):")
    assert domains < shown.index("  woodworking") < models < shown.index("  follow-car")
    assert "..." not in shown[domains:]
    own = misstep("generate", "n-puzzle", "--help").stdout
    assert own.index("What to generate:") < own.index("--max-cost") < own.index("--starts")
    assert own.index("--starts") < own.index("Options:\n") < own.index("--force")


def test_the_list_is_aligned_and_names_what_models_take() -> None:
    lines = misstep("list").stdout.splitlines()
    begin = lines.index("shipped policies for models:")
    shipped = [line for line in lines[begin + 1 :] if line.startswith("  shipped:")]
    assert len({line.index(" for ") for line in shipped}) == 1
    said = "\n".join(lines)
    for name in FUZZINGS:
        assert f"  --fuzz {name} " in said
    for name in KINDS:
        assert f"  --oracle {name} " in said
