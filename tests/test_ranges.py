"""Numbers that the native core cannot take, or that are none: an error of one line, as for any other wrong argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import misstep
from misstep.cli.main import main
from misstep.errors import UsageError
from misstep.oracles.dominance.settings import DominanceSettings
from misstep.oracles.prove import ReachSettings
from misstep.ranges import bytes_of
from misstep.safety.prove.models import ProveSettings
from misstep.safety.risk import RiskSettings
from support.campaigns import small_model
from support.tasks import small_task

HUGE = 10**30
WRONG = (HUGE, -1, 0, float("nan"), "5", True, [1])
LIMITS = ("time_limit", "memory_limit_mb")
TASK = small_task("gripper-4")
MODEL = small_model("one-way-line")


def checked(**given: Any) -> object:
    return misstep.check_policy(lambda: misstep.load_policy("first", TASK), **given)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (partial(misstep.plan, TASK), (*LIMITS, "max_expansions")),
        (partial(misstep.census, TASK), (*LIMITS, "max_states")),
        (partial(misstep.census, MODEL), (*LIMITS, "max_states")),
        (partial(misstep.run, "first", TASK), ("max_steps",)),
        (checked, ("states",)),
        (ReachSettings, (*LIMITS, "max_states")),
        (ProveSettings, (*LIMITS, "max_states")),
        (RiskSettings, (*LIMITS, "max_states", "max_steps")),
        (DominanceSettings, ("limit_states", "cells", "steps", "threads")),
    ],
)
def test_limits(function: Callable[..., object], names: tuple[str, ...]) -> None:
    for name in names:
        for value in WRONG:
            if name == "time_limit" and value == HUGE:
                value = -1.0
            with pytest.raises(UsageError, match=f"^{name} is "):
                function(**{name: value})


def test_seconds_of_dominance_functions() -> None:
    wrong: Any
    for wrong in (-1, float("nan"), "5", True):
        with pytest.raises(UsageError, match=r"^seconds is "):
            DominanceSettings(seconds=wrong)
    DominanceSettings(seconds=0)


@pytest.mark.parametrize("function", [checked, ReachSettings, ProveSettings, RiskSettings])
def test_seeds(function: Callable[..., object]) -> None:
    for value in (2**64, -1, 1.5, None, "5", True):
        with pytest.raises(UsageError, match=r"^seed is "):
            function(seed=value)
    function(seed=2**64 - 1)


def test_memory_beyond_what_can_be_counted_is_no_limit() -> None:
    assert bytes_of(None) is None
    assert bytes_of(3) == 3 * 2**20
    for most in (2**44, 2**63 - 1):
        assert bytes_of(most) == 2**63 - 1
        assert misstep.plan(TASK, memory_limit_mb=most).status == "plan"
        assert misstep.census(TASK, memory_limit_mb=most) == misstep.census(TASK)
        assert misstep.census(MODEL, memory_limit_mb=most) == misstep.census(MODEL)


def test_what_a_plan_is_asked_for() -> None:
    wrong: Any
    for wrong in (HUGE, -1, 1.5, "5", float("nan")):
        with pytest.raises(UsageError, match=r"^bound is "):
            misstep.plan(TASK, bound=wrong)
    for wrong in (1, None, ["astar-lmcut"]):
        with pytest.raises(UsageError, match="no search"):
            misstep.plan(TASK, wrong)
    with pytest.raises(UsageError, match="start is 'x'"):
        misstep.plan(TASK, start="x")  # type: ignore[arg-type]
    for wrong in (1, None, b"x"):
        with pytest.raises(UsageError, match="the state is "):
            TASK.parse_state(wrong)


def test_the_error_names_the_option(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    misstep.generate("gripper", balls=1).write("task")
    for words in (
        ["plan", "task", "--bound", str(HUGE)],
        ["check-policy", "task", "--policy", "first", "--seed", str(HUGE)],
        ["prove", "task", "--policy", "first", "--seed", str(HUGE)],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert f"misstep: {words[-2]} is {HUGE}; expected a whole" in capsys.readouterr().err
