"""Colours are used for words with a meaning, only on a terminal, and not if the user turns them off."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest

from misstep.cli.colours import takes_colours, write
from misstep.cli.main import main


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_words_that_carry_meaning() -> None:
    terminal = Terminal()
    write(terminal, "a BUG and NOT A BUG; DEBUG, BUG-1\n")
    red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
    expected = f"a {red}BUG{plain} and {green}NOT A BUG{plain}; DEBUG, BUG-1\n"
    assert terminal.getvalue() == expected


def test_no_colours_without_a_terminal_or_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    assert takes_colours(Terminal())
    assert not takes_colours(StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not takes_colours(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not takes_colours(Terminal())


@pytest.mark.parametrize("no_color", [False, True])
def test_an_error_begins_in_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(SystemExit):
        main(["records", str(tmp_path / "\x1b[2Jodd")])
    start = "misstep:" if no_color else "\x1b[31mmisstep:\x1b[0m"
    assert terminal.getvalue().startswith(f"{start} ")
    assert "\x1b[2J" not in terminal.getvalue()  # what others wrote is no command to the terminal
