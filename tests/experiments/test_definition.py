"""Definitions: errors are reported with file and line, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.experiments.definition import definition_names, load_definition
from misstep.experiments.lines import TomlText
from misstep.experiments.schema import SCALES
from support.experiments import SMALL, definition, write


def line_of(part: str, text: str = SMALL) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize("name", definition_names())
@pytest.mark.parametrize("scale", SCALES)
def test_built_in_definitions_can_be_read_and_cut_into_units(name: str, scale: str) -> None:
    own = load_definition(name)
    units = own.units(scale, own.seeds(scale))
    assert own.name == name
    assert len({unit.key for unit in units}) == len(units) > 0
    assert {unit.step for unit in units} == set(own.steps)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("configurations =", "configuratoins =", "did you mean configurations?"),
        ('"uniform-1", "greedy-inf"]', '"uniform-1", "greedy-9"]', "greedy-9"),
        ("runs = 30\nmax_steps = 60\n\n", "runs = 0\n\n", "a whole number from 1"),
        ("runs = 30\nmax_steps = 60\n\n", f"runs = {10**400}\n\n", "from 1 to 1,000,000,000,000"),
        ('kind = "safety-deciding"', 'kind = "safety-deciden"', "did you mean safety-deciding?"),
        ('step = "fuzzing"\ncolumn', 'step = "fuzing"\ncolumn', "did you mean fuzzing?"),
        (
            'cells = { unsafe = "sum(unsafe)" }',
            'cells = { u = "sum(unsave)" }',
            "did you mean unsafe?",
        ),
        ('value = "share(unsafe > 20)"', 'value = "share(unsafe > )"', "not an expression"),
        ('agrees = ">= 0.5"', 'agrees = "about 0.5"', "between 0.7 and 0.9"),
        ('type = "scatter"', 'type = "pie"', "bars, curves, growth, scatter"),
        ('against = "tarjan"\n', "", "has no against"),
        ('groups = ["row"]\n', "", "holds for groups"),
        ('name = "ball"\nmodel', 'name = "line"\nmodel', "two rows are called 'line'"),
        ("runs = 30\nmax_steps = 60\nstates", "runs = = 30\nstates", "not TOML"),
        ('policies = ["random:1"]', 'policies = "random:1"', "a list of texts"),
        ("states = 15\n", "", "has no states"),
        ("horizon = 30 }\n", "horizon = 30 }\nhorizont = 3\n", "unknown key 'horizont'"),
    ],
)
def test_a_mistake_names_file_and_line(old: str, new: str, message: str) -> None:
    assert old in SMALL
    text = SMALL.replace(old, new, 1)
    with pytest.raises(InputFormatError, match=r"tiny\.toml:") as caught:
        definition(text)
    assert message in str(caught.value)
    where = caught.value.where or ""
    changed = line_of(old)
    # At the changed line, or at the head of the table that lacks something.
    assert changed - 9 <= int(where.split(":")[1]) <= changed + 3


def test_the_line_is_exact_where_the_mistake_is_in_a_line() -> None:
    with pytest.raises(InputFormatError) as caught:
        definition(SMALL.replace("max_steps = 60", "max_stebs = 60", 1))
    assert caught.value.where == f"tiny.toml:{line_of('max_steps = 60')}"


def test_lines_are_found_behind_values_of_several_lines() -> None:
    lines = [
        *('a = """', "b = 1 [x]", '"""', "list = [", '  "x = 1", # ]', "  2,", "]"),
        *("[t.u]", '"c d" = { e = 1 }', "[[k]]", "x = 1", "[[k]]", 'x = "#"', "y = 2"),
    ]
    text = TomlText("\n".join(lines), "f")
    assert text.where(("list",)) == "f:4"
    assert text.where(("t", "u", "c d", "e")) == "f:9"
    assert text.where(("k", 0, "x")) == "f:11"
    assert text.where(("k", 1, "y")) == "f:14"
    assert text.where(("nothing",)) == "f"


def test_a_scale_that_is_not_defined_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing of the scale paper"):
        definition().units("paper", 1)
    with pytest.raises(UsageError, match="no scale 'huge'"):
        definition().units("huge", 1)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("smoke = 5", "smoke of [costs] is '5'"),
        ("smoke.{step} = 5", "{step} of [costs.smoke] is '5'"),
        ("smoke.{step}.line = -1", "line of [costs.smoke.{step}] is '-1'"),
        (f"smoke.{{step}}.line = 1{'0' * 400}", "expected a number above 0"),
        ("smoke.nothing.line = 1", "there is no step 'nothing'"),
    ],
)
def test_costs_that_are_none(costs: str, message: str) -> None:
    """They are computed with, where a number of 400 digits ended in an internal error."""
    (step, *_) = definition().steps
    text = f"{SMALL}\n[costs]\n{costs.format(step=step)}\n"
    with pytest.raises(InputFormatError) as caught:
        definition(text)
    assert message.format(step=step) in str(caught.value)


def test_the_kind_of_a_step_is_a_text() -> None:
    name = SMALL[SMALL.index("[[steps]]") :].split('kind = "', 1)[1].split('"')[0]
    with pytest.raises(InputFormatError, match="there is no kind of step"):
        definition(SMALL.replace(f'kind = "{name}"', f'kind = ["{name}"]'))


def test_more_units_than_anybody_waits_for_are_refused() -> None:
    text = SMALL.replace("states = 15\n", "states = 2147483648\n", 1)
    assert text != SMALL
    with pytest.raises(InputFormatError, match=r"tiny\.toml:.*more than 50,000 units"):
        definition(text).units("smoke", 1)


def test_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ps"):
        load_definition("pss")
    assert load_definition(str(write(tmp_path))).name == "tiny"
    with pytest.raises(MisstepError, match="no such file"):
        load_definition(str(tmp_path / "other.toml"))


def test_a_unit_is_named_by_what_it_depends_on() -> None:
    keys = {unit.title: unit.key for unit in definition().units("smoke", 2)}
    changed = definition(SMALL.replace("states = 15", "states = 16"))
    other = {unit.title: unit.key for unit in changed.units("smoke", 2)}
    same = {title for title in keys if keys[title] == other.get(title)}
    assert {title.split(",")[0] for title in same} == {"fuzzing"}
    assert len({*keys.values()}) == len(keys)


def test_an_own_model_is_found_beside_the_definition(tmp_path: Path) -> None:
    from misstep.tasks.models import generate_model, write_model

    write_model(generate_model("one-way-line", cells=5), tmp_path / "own.jani")
    text = SMALL.replace('model = "one-way-line"', 'model = "own.jani"')
    units = load_definition(str(write(tmp_path, text))).units("smoke", 1)
    subject = next(unit.payload["subject"] for unit in units if unit.row == "line")
    assert Path(subject["model"]) == tmp_path / "own.jani"
    assert len(subject["digest"]) == 64


@pytest.mark.parametrize(
    "line",
    [
        '"a\\"' + "." * 500 + '" = 1',
        '["' + " " * 5000 + ']x"]',
        '["' + "a" * 500_000 + ']#"]',
    ],
)
def test_keys_that_could_be_read_in_many_ways(line: str) -> None:
    assert TomlText(f"a = 1\n{line}\nx = 1\n", "f").where(("a",)) == "f:1"
