"""Commands in the documentation work as they are typed, one after the other, and have the options that they name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from docsite.commands import commands as declared

from support.commands import misstep
from support.scenes import NOT_RUN, SCENES, Scene, reason_not_run, smaller
from support.transcripts import ROOT, Command, blocks, commands, data_problem, pages

TYPED = {page: list(commands(page)) for page in pages()}
WITH_COMMANDS = [page for page, typed in TYPED.items() if typed]
ELSEWHERE = {"README.md"}  # test_readme.py runs its commands


@cache
def options_of() -> dict[str, set[str]]:
    return {words: _options(command) for words, command in declared().items()}


def _options(command: Any) -> set[str]:
    context = command.context_class(command, info_name="misstep")
    own = {"--json", "--debug"}
    for parameter in command.get_params(context):
        own |= {*parameter.opts, *parameter.secondary_opts}
    return own


def unknown_words(words: list[str]) -> list[str]:
    """The verb of a command of Misstep that does not exist, or its options that it has not."""
    names = [name for name in (" ".join(words[1:3]), words[1]) if name in options_of()]
    if not names:
        return words[1:2]
    given = {re.split("=", word)[0] for word in words if re.match(r"--?[a-z]", word)}
    return sorted(given - options_of()[names[0]])


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_and_options_are_there(page: str) -> None:
    for command in TYPED[page]:
        if command.words[0] == "misstep":
            assert unknown_words(command.words) == [], f"{page}: {command.text}"


def test_what_is_not_there_is_noticed() -> None:
    assert unknown_words(["misstep", "tset", "x"]) == ["tset"]
    assert unknown_words(["misstep", "test", "x", "--pol", "y"]) == ["--pol"]
    assert unknown_words(["misstep", "train", "asnet", "--epochz=3"]) == ["--epochz"]
    assert unknown_words(["misstep", "generate", "gripper", "--balls", "6", "-o", "x"]) == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.soundness] if SCENES.get(page, Scene()).slow else [])
        for page in WITH_COMMANDS
        if page not in ELSEWHERE and any(reason_not_run(own) is None for own in TYPED[page])
    ],
)
def test_commands_work_as_they_are_typed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    scene = SCENES.get(page, Scene())
    if scene.needs and find_spec(scene.needs) is None:
        pytest.skip(f"needs {scene.needs}")
    for line in scene.before:
        assert misstep(*shlex.split(line)[1:], cwd=tmp_path).returncode in (0, 1), line
    scene.prepare(tmp_path)
    _write_files(page, tmp_path)
    with ExitStack() as running:
        for command in TYPED[page]:
            if scene.server and command.text.startswith(scene.server):
                running.enter_context(_server(smaller(command.text, scene, tmp_path), tmp_path))
            elif reason_not_run(command) is None:
                _run(command, scene, tmp_path)


@contextmanager
def _server(words: list[str], folder: Path) -> Iterator[None]:
    """A command that goes on until it is interrupted, as soon as it has said that it is ready."""
    server = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        assert "istening" in server.stdout.readline(), "it said something else, or ended"
        yield
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _write_files(page: str, folder: Path) -> None:
    """Blocks whose first line is a comment with the name of a file are that file."""
    for block in blocks(page):
        named = re.match(r"# (\w+\.(?:py|toml))\n", block.code)
        if named:
            (folder / named[1]).write_text(block.code)


def _run(command: Command, scene: Scene, folder: Path) -> None:
    words = smaller(command.text, scene, folder)
    if words[0] == "misstep":
        ran = misstep(*words[1:], cwd=folder)
    else:
        installed = entry_points(group="pytest11", name="misstep")
        plugin = [] if installed else ["-p", "misstep.pytest_plugin"]
        pytest_itself = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin]
        program = {"python": [sys.executable], "pytest": pytest_itself}[words[0]]
        ran = subprocess.run(
            [*program, *words[1:]],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
    where = f"{command.block.page}:{command.block.line}: {shlex.join(words)}"
    assert ran.returncode in scene.codes, f"{where}\n{ran.stdout[-2000:]}\n{ran.stderr}"


def test_every_reason_not_to_run_is_needed() -> None:
    typed = [own.text for page in pages() for own in TYPED[page]]
    assert [start for start in NOT_RUN if not any(text.startswith(start) for text in typed)] == []
    assert not set(SCENES) - set(WITH_COMMANDS)


@pytest.mark.parametrize("page", pages())
def test_data_can_be_read(page: str) -> None:
    assert [own for own in map(data_problem, blocks(page)) if own] == []
