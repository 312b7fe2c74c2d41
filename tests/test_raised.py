"""Exceptions of foreign code whose text cannot be shown."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from misstep import stops
from misstep.cli.main import _guarded
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


def test_an_exit_of_foreign_code_is_no_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code = _guarded(lambda: sys.exit(0), [], as_json=False, debug=False)
    assert code == 33
    assert "the command ended by itself (exit code 0)" in capsys.readouterr().err
