"""What the summary says about states that are not decided."""

from __future__ import annotations

from typing import Any

import misstep
from misstep.campaigns.left_open import CUT, NO_PLAN, NOT_CLOSED, NOT_PROVEN
from misstep.tasks import census
from support.tasks import small_task


def open_states(policy: Any, **options: Any) -> dict[str, int]:
    summary = misstep.test(small_task("gripper-4"), policy, pool=10, **options).summary
    assert sum(summary.left_open.values()) == summary.unknown > 0
    text = dict(summary.lines())["unknown"]
    assert all(f"{count} {reason}" in text for reason, count in summary.left_open.items())
    return summary.left_open


def test_reasons() -> None:
    assert set(open_states("optimal", oracle="lmcut", fuzz="none")) == {NOT_PROVEN}
    assert set(open_states("first", oracle="lmcut", fuzz="none")) == {NO_PLAN}
    assert CUT in open_states("optimal", oracle="lmcut", fuzz="none", max_steps=3)


def test_sets() -> None:
    assert NOT_CLOSED in open_states(Improving, oracle="lmcut", fuzz="none", permitted_limit=3)


class Improving:
    """Permits each step towards the goal, so that no run fails, but there are many."""

    def __init__(self, task: misstep.Task) -> None:
        self.small = census.small_task(task)

    def permitted(self, state: misstep.StateView) -> list[str]:
        assert self.small is not None
        here = self.small.distance(state.state) or 0
        return [s for s in state.operators if self.small.distance(state.after(s).state) == here - 1]
