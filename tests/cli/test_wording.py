"""Errors name what the user typed, and say what is expected in plain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.cli.wording import as_typed, plain_usage, refuse_unreadable
from misstep.errors import UsageError
from support.commands import misstep


@pytest.mark.parametrize(
    ("what", "typed", "told"),
    [
        ("max_steps is 0", "--max-steps 0", "--max-steps is 0"),
        ("max_steps is 0", "--max-steps=0", "--max-steps is 0"),
        ("max_steps is 0", "--pool 3", "max_steps is 0"),
        ("no estimate 'xx'", "--estimate xx", "--estimate xx: no estimate 'xx'"),
        ("the seed is 12", "--seed 12 --pool 1", "--seed 12: the seed is 12"),
        # Which of both is meant cannot be told.
        ("no name 'xx'", "--fuzz xx --preset xx", "no name 'xx'"),
        ("--ask xx", "--ask xx", "--ask xx"),
    ],
)
def test_the_option_is_named(what: str, typed: str, told: str) -> None:
    error = UsageError(what)
    as_typed(error, ["test", *typed.split()])
    assert str(error) == told


def test_the_option_of_a_policy_is_the_one_that_was_typed() -> None:
    for typed, where in (
        ("--policy nix", "--policy nix"),
        ("--policies a nix", "--policies nix"),
        ("nix task", "nix"),
    ):
        error = UsageError("no policy kind 'nix'", where="--policy nix")
        as_typed(error, typed.split())
        assert error.where == where


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "Invalid value for '--pool': Input should be a valid integer, unable to parse string as an integer",
            ("--pool is abc", "a whole number"),
        ),
        (
            "Invalid value for '--out' / '-p': Input should be greater than or equal to 0",
            ("-p is -1", "0 or more"),
        ),
        ("Invalid value for '--pool': something else", None),
        ("Missing option '--policy'", None),
    ],
)
def test_what_the_parser_says(message: str, told: tuple[str, str] | None) -> None:
    assert plain_usage(message, ["--pool", "abc", "-p", "-1"]) == (told or (message, None))


@pytest.mark.parametrize("typed", [["--oracle", ""], ["--oracle="], ["-o", ""]])
def test_an_empty_value_is_not_the_default(typed: list[str]) -> None:
    with pytest.raises(UsageError, match="is empty"):
        refuse_unreadable(["retest", "found", *typed])
    refuse_unreadable(["retest", "found", "--oracle", "exact", "--json"])


def test_words_that_are_not_text(tmp_path: Path) -> None:
    done = misstep("test", tmp_path, "--policy", "plan:p\udcff", "-o", "found")
    assert done.returncode == 2
    assert done.stderr == (
        "misstep: 'plan:p\\udcff' has bytes that are not text; expected text in utf-8; rename the file or folder\n"
    )


def test_the_parser_still_speaks_as_the_translation_expects(tmp_path: Path) -> None:
    for typed, told in (
        (("--pool", "abc"), "--pool is abc; expected a whole number"),
        (("--time", "abc"), "--time is abc; expected a number"),
        (("--seed", "-1"), "--seed is -1; expected 0 or more"),
        (("--oracle", ""), "--oracle is empty"),
    ):
        done = misstep("test", tmp_path, "--policy", "first", *typed, cwd=tmp_path)
        assert done.returncode == 2
        assert told in done.stderr
    done = misstep("serve-policy", "first", tmp_path, "--port", "99999999")
    assert "--port is 99999999; expected at most 65535" in done.stderr


def test_an_unknown_table_writes_nothing(tmp_path: Path) -> None:
    misstep("generate", "gripper", "--balls", "2", "-o", tmp_path / "task")
    folder = tmp_path / "found"
    words = ("test", tmp_path / "task", "--policy", "first", "--out", folder)
    huge = misstep(*words, "--max-steps", "99999999999999")
    assert huge.returncode == 2
    assert "--max-steps is 99999999999999; expected at most 2147483647" in huge.stderr
    assert not folder.exists()
    misstep(*words, "--pool", "2")
    done = misstep("export", "json", folder, "--table", "nix")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--table nix: no table 'nix'" in done.stderr
    assert misstep("records", folder, "--verdict", "bug").stdout.count("BUG") == 2
    assert "--verdict is 'nix'" in misstep("records", folder, "--verdict", "nix").stderr
