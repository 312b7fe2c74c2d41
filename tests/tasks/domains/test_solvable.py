"""Every instance is solvable, as a search shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from misstep.planning import plan
from misstep.tasks.domains import DOMAINS, generate
from misstep.tasks.load import load_task


def outcome(name: str, seed: int, sizes: dict[str, int]) -> str:
    return plan(
        load_task(generate(name, seed=seed, **sizes)), search="gbfs-ff", time_limit=10
    ).status


@pytest.mark.parametrize("name", DOMAINS)
def test_a_random_instance_has_a_plan(name: str, draw_sizes: Callable[..., dict[str, int]]) -> None:
    assert outcome(name, 7, draw_sizes(name, 7, 2)) == "plan"


@pytest.mark.soundness
@pytest.mark.parametrize("name", DOMAINS)
def test_random_instances_have_plans(name: str, draw_sizes: Callable[..., dict[str, int]]) -> None:
    outcomes = Counter(outcome(name, seed, draw_sizes(name, seed, 2)) for seed in range(100, 112))
    assert set(outcomes) <= {"plan", "limit"}
    assert outcomes["plan"] >= 8
