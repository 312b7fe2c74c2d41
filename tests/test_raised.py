"""Exceptions of foreign code whose text cannot be shown."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from typing import Any, NoReturn, cast

import numpy as np
import pytest

from misstep import stops
from misstep.cli.main import _guarded, main
from misstep.errors import ToolError
from misstep.policies.load import load_policy
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.raised import in_words
from misstep.runs.runner import ask
from misstep.stops import Stopped
from support.tasks import small_task


def raising(second: type[BaseException]) -> Exception:
    class WithoutTextError(Exception):
        def __str__(self) -> str:
            raise second(0)

    return WithoutTextError()


def test_in_words() -> None:
    assert in_words(ValueError("no such block")) == "ValueError: no such block"


def test_a_text_of_megabytes_is_cut() -> None:
    """`misstep run` prints what the policy says."""
    assert in_words(ValueError("x" * 10**6)) == "ValueError: " + "x" * 1988 + "..."


@pytest.mark.parametrize("second", [RuntimeError, SystemExit, KeyboardInterrupt, MemoryError])
def test_a_text_that_raises(second: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops, "_marked", True)
    assert in_words(raising(second)) == "an exception whose text cannot be shown"


def test_the_user_stops_while_a_text_is_made() -> None:
    with pytest.raises(Stopped):
        in_words(raising(Stopped))


class Failing(Policy):
    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        raise raising(SystemExit)


def test_a_policy_whose_exceptions_exit_has_crashed() -> None:
    task = small_task("gripper-4")
    states = np.array([task.initial_state.values], dtype=np.int32)
    answers = ask(load_policy(Failing(task), task), states)
    assert answers.messages == {0: "an exception whose text cannot be shown"}


class Untold:
    def __str__(self) -> str:
        raise SystemExit(0)


def gone() -> NoReturn:
    raise BrokenPipeError(errno.EPIPE, "the program of a policy has ended")


def exit_behind_a_broken_pipe() -> NoReturn:
    try:
        gone()
    except BrokenPipeError:
        sys.exit(0)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: sys.exit(0), "exit code 0"),
        (lambda: sys.exit(cast("Any", Untold())), "SystemExit"),
        (exit_behind_a_broken_pipe, "exit code 0"),
        (gone, "a broken pipe"),
    ],
)
def test_an_end_by_foreign_code_is_no_exit_code(
    end: Callable[[], NoReturn], how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _guarded(end, [], as_json=False, debug=False)
    assert code == 33
    assert f"the command ended by itself ({how})" in capsys.readouterr().err


def test_debugging_shows_who_ends_the_command() -> None:
    with pytest.raises(ToolError, match="the command ended by itself") as told:
        _guarded(lambda: sys.exit(0), [], as_json=False, debug=True)
    assert isinstance(told.value.__cause__, SystemExit)


def test_typer_ends_the_program_after_a_script_for_the_shell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It calls sys.exit for that. The exit code was that of a policy that ends the command."""
    with pytest.raises(SystemExit) as ended:
        main(["--show-completion", "bash"])
    assert ended.value.code == 0
    assert "complete -o default" in capsys.readouterr().out
