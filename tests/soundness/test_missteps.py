"""Regrets on the runs of many policies from every state of small tasks."""

from __future__ import annotations

import pytest

from faults.test_regret import sums
from support.worlds import COSTS, NAMES, world

pytestmark = pytest.mark.soundness


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_regrets_sum_to_the_gap_from_every_state(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    assert sum(sums(here, len(here.space)).values()) > len(here.space)
