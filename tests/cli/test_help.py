"""The help: examples that can be copied, words that users know, every extra, and suggestions for typing errors."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from docsite.commands import commands

from misstep.cli import output
from misstep.cli.doctor import OPTIONAL
from support.commands import misstep, result_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {"train", "export", "generate"}  # their help is the list of their verbs
COMMANDS = {words: command for words, command in commands().items() if words not in GROUPS}


def help_of(words: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"misstep {words}")
    return str(command.get_help(context))


@pytest.mark.parametrize("words", COMMANDS)
def test_help_has_an_example_in_one_line_whose_options_exist(words: str) -> None:
    told = help_of(words, COMMANDS[words])
    examples = re.findall(r"(?m)^ +Example:\n +(misstep .*)$", told)
    assert examples, told
    known = {option for own in COMMANDS[words].params for option in own.opts}
    for example in examples:
        typed = shlex.split(example)
        assert typed[1:].index(words.split()[-1]) == len(words.split()) - 1
        assert {word for word in typed if re.match("--?[a-z]", word)} <= known


@pytest.mark.parametrize("words", COMMANDS)
def test_help_has_no_types_of_python_and_every_option_is_explained(words: str) -> None:
    told = help_of(words, COMMANDS[words])
    assert not re.search(r"<(int|float|str|path|list)|\{[A-Z]|\[\[", told)
    assert all(getattr(own, "help", None) for own in COMMANDS[words].params)


def test_doctor_knows_every_extra_and_its_packages() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    packages = {
        extra: {re.split("[<>=;]", need)[0].strip() for need in needs}
        for extra, needs in declared.items()
    }
    assert {extra: set(names) for extra, (names, _) in OPTIONAL.items()} == packages
    assert set(result_of("doctor")["optional"]) == set(declared)
    told = misstep("doctor").stdout
    for extra, (_, purpose) in OPTIONAL.items():
        assert re.search(rf"(?m)^  {extra} +{re.escape(purpose)}$", told)


def test_a_campaign_in_the_place_of_a_task_is_told_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "found"
    misstep("generate", "gripper", "--balls", "1", "-o", str(tmp_path / "task"))
    misstep("test", str(tmp_path / "task"), "--policy", "optimal", "--pool", "2", "-o", str(folder))
    for arguments in (["--resume", str(folder)], [str(folder), "--policy", "optimal", "-o", "new"]):
        done = misstep("test", *arguments)
        assert done.returncode == 2
        assert f"misstep test --resume --out {folder} continues" in done.stderr
    assert misstep("test", "--resume", "--out", str(folder)).returncode == 0


def test_generate_names_the_option_that_overwrites(tmp_path: Path) -> None:
    target = str(tmp_path / "task")
    misstep("generate", "gripper", "--balls", "1", "-o", target)
    refused = misstep("generate", "gripper", "--balls", "2", "-o", target)
    assert refused.returncode == 30
    assert "--force" in refused.stderr
    forced = misstep("generate", "gripper", "--balls", "2", "-o", target, "--force")
    assert forced.returncode == 0


def test_a_table_on_a_narrow_terminal_cuts_nothing_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, spec = "a-task-with-a-long-name:17", "python:policies/of/mine.py:Careful"
    titles, row = ["id", "policy", "verdict", "gap"], [name, spec, "BUG", "-"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for columns, titled in ((60, False), (120, True)):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        output.print_table(titles, [row])
        printed = capsys.readouterr().out.splitlines()
        assert printed[0].startswith(titles[0] if titled else name)
        assert max(map(len, printed)) <= columns
        assert all(text in "\n".join(printed) for text in (name, spec, "BUG"))
