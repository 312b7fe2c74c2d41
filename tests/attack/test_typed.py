"""Specs and conditions, as users type them and as strange folders hold them: nothing crashes, and nothing hangs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.settings import parse_radius, parse_severity_budget
from misstep.decoding import whole_number
from misstep.errors import InputFileError, MisstepError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.sb3.families import QUANTILES, _mean_of_quantiles
from misstep.policies.trust import is_plain, runs_file
from misstep.tasks.jani.infix import parse_condition
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model
from support.campaigns import small_model
from support.tasks import small_task

MANY = "9" * 5000  # digits, more than Python takes for a number
LONG = "a" * 5000  # letters, more than a name of a file can have


def test_whole_numbers() -> None:
    assert [whole_number(text) for text in ("0", "007", str(2**64 - 1))] == [0, 7, 2**64 - 1]
    for text in ("", "-1", "+1", "1_0", "٣", "²", "1.0", " 1", str(2**64), MANY, "0" * 5000 + "x"):
        assert whole_number(text) is None
    assert whole_number("0" * 5000 + "1") == 1


@pytest.mark.parametrize(
    "parse",
    [
        parse_radius,
        parse_severity_budget,
        lambda text: read_address(f"local:{text}"),
        lambda text: parse_condition(f"x > {text}", "--unsafe"),
        lambda text: load_policy(f"random:{text}", small_task("gripper-4")),
        lambda text: load_policy(f"random:{text}", small_model("one-way-line")),
        lambda text: load_policy(f"noisy:0.1:{text}+first", small_task("gripper-4")),
        lambda text: load_policy(f"sketch:--width={text} x", small_task("gripper-4")),
        lambda text: load_policy(f"exec:--timeout={text} x", small_task("gripper-4")),
    ],
)
def test_numbers_of_many_digits(parse: Callable[[str], object]) -> None:
    with pytest.raises(UsageError):
        parse(MANY)


def test_numbers_in_names_of_layers() -> None:
    with pytest.raises(MisstepError, match="does not fit"):
        _mean_of_quantiles({f"{QUANTILES}{MANY}.weight": None}, {}, "x")  # type: ignore[dict-item]


def test_policies_inside_each_other() -> None:
    """All readings of a shield have to be plain, and each may be a shield: they are looked at once."""
    nested = "shield:x+" * 50 + "random:1"
    assert is_plain(nested, of_model=True)
    assert not is_plain("shield:x+" * 50 + "python:x.py:f", of_model=True)
    for kind in ("shield:x+", "noisy:0.1:1+"):
        deep = kind * 5000 + "first"
        assert not is_plain(deep, of_model=kind.startswith("shield"))
        assert not runs_file(deep)
    with pytest.raises(UsageError, match="more than 50 policies inside each other"):
        load_policy("noisy:0.1:1+" * 5000 + "first", small_task("gripper-4"))
    with pytest.raises(UsageError, match="more than 50 policies inside each other"):
        load_policy("shield:x+" * 5000 + "first", small_model("one-way-line"))


@pytest.mark.parametrize(
    "spec",
    [
        *(f"{LONG}.nnet", f"network:{LONG}.nnet", f"sb3:{LONG}.zip", f"python:{LONG}:f"),
        *(f"shield:{LONG}", f"shield:{LONG}+first", "shield:x+" * 40 + "first", "exec:a\0b"),
    ],
)
def test_names_that_no_file_can_have(spec: str) -> None:
    with pytest.raises((UsageError, InputFileError)):
        load_policy(spec, small_model("one-way-line"))


def test_a_module_beside_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "operator").mkdir()
    monkeypatch.chdir(tmp_path)
    load_policy("python:operator:not_", small_task("gripper-4")).close()


@pytest.mark.parametrize("sign", ["||", "&&", "+", "*"])
def test_chains_of_operations(sign: str) -> None:
    parse_condition(sign.join(["x"] * 400), "--unsafe")
    with pytest.raises(UsageError, match="more than 400 operations inside each other"):
        parse_condition(sign.join(["x"] * 1500), "--unsafe")


def test_bytes_that_are_no_characters(tmp_path: Path) -> None:
    """Python gives a byte of the command line that is not UTF-8 as half of a surrogate pair."""
    (tmp_path / "m.jani").write_text(next(iter(generate_model("one-way-line").files.values())))
    with pytest.raises(UsageError, match="udcff', which is no character"):
        load_jani(tmp_path / "m.jani", unsafe='"\udcff" = 1')
