"""On a terminal of 60 columns no line is wider, except those that must not be broken."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import sys
import termios
from io import StringIO
from pathlib import Path

import pytest
from docsite.commands import commands

from misstep.cli.main import main
from support.commands import misstep

COLUMNS = 60
DIGEST = re.compile(r" *[0-9a-f]{64}")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a command prints to a terminal."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code in (0, 1), words
    return terminal.getvalue().split("\n")


def too_wide(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > COLUMNS and not DIGEST.fullmatch(line)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks, a model and campaigns on them."""
    top = tmp_path_factory.mktemp("work")
    for balls in ("2", "3"):
        misstep("generate", "gripper", "--balls", balls, "-o", top / "tasks" / balls)
    misstep(
        *["generate", "one-way-line", "--cells", "4", "--packages", "2", "-o", "line.jani"], cwd=top
    )
    for words in (
        "test --suite tasks --policy heuristic:add --pool 6 -o one",
        "test --suite tasks --policy first --pool-from one --oracle exact -o two",
        "test line.jani --policy first --runs 10 -o model",
    ):
        assert misstep(*words.split(), cwd=top).returncode == 1
    return top


@pytest.mark.parametrize(
    "line",
    [
        *("list", "list --zoo", "doctor", "--help", "generate", "train", "export"),
        *("records one", "records model", "explain one", "explain model", "explain model 0"),
        *("explain one 3/problem:0", "explain one --decisions", "explain two 3/problem:0"),
        *("compare one two", "compare one one --label a-long-name --label another-long-name"),
        *("replay one", "replay model", "retest one --policy first", "plan tasks/3"),
        *("select tasks --policies first heuristic:ff --pool 4 -o chosen", "census line.jani"),
        "test tasks/3 --policy heuristic:add --pool 4 --force -o three",
        "test --suite tasks --policy first --pool 4 --force -o four",
        "test line.jani --policy first --runs 5 --force -o five",
        *("risk line.jani --policy first", "prove line.jani --policy first"),
        *("shield line.jani --policy first -o shield.json", "experiment ps --dry-run"),
        *("run tasks/3 --policy heuristic:ff", "check-policy tasks/2 --policy first"),
        *("judge two --oracle bmo(10)", "dominance tasks/2", "report one -o report.html"),
    ],
)
def test_no_line_is_too_wide(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lines = shown(shlex.split(line), monkeypatch)
    assert any(lines)
    assert too_wide(lines) == []


@pytest.mark.parametrize("words", sorted(commands()))
def test_no_line_of_help_is_too_wide(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert too_wide(shown([*words.split(), "-h"], monkeypatch)) == []


@pytest.mark.parametrize("columns", ["-5", "0", "x", "9" * 5000])
def test_widths_that_no_terminal_has(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "COLUMNS", columns)
    assert shown(["list"], monkeypatch)


def test_a_real_terminal(folder: Path) -> None:
    """The width is that of the terminal, and remarks on standard error fit as well."""
    process, terminal = pty.fork()
    if process == 0:
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        words = [sys.executable, "-m", "misstep", "explain", "one"]
        os.chdir(folder)
        # The child waits until the terminal has its size.
        os.execvpe("sh", ["sh", "-c", f"read _; exec {shlex.join(words)}"], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    os.write(terminal, b"\n")
    printed = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # what a terminal says when nobody is left at its other end
            break
        if not piece:
            break
        printed += piece
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())
    lines = [line.rstrip("\r").split("\r")[-1] for line in text.split("\n")]
    assert any("--measure asks" in line for line in lines)
    assert too_wide(lines) == []
