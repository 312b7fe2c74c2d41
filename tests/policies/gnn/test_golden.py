"""Runs of the published networks, as their authors' own planner logged them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from misstep.policies.gnn import GNNPolicy
from misstep.policies.policy import Candidates


def avoiding_run(policy: GNNPolicy, limit: int = 100) -> tuple[int, int, list[float]]:
    """Steps, evaluations and values of a run that never returns to a state."""
    task = policy.task
    state = np.array([task.initial_state.values], dtype=np.int32)
    values, evaluations, visited = policy.values(state).tolist(), 1, {state.tobytes()}
    while not task.is_goal_batch(state)[0] and len(visited) <= limit:
        operators = task.applicable_batch(state)[1]
        successors = task.apply_batch(np.repeat(state, len(operators), axis=0), operators)
        operators = operators[[row.tobytes() not in visited for row in successors]]
        answers = policy.decide(state, Candidates(np.array([0, len(operators)]), operators))
        assert answers.values is not None
        values += answers.values.tolist()
        evaluations += answers.evaluations
        state = task.apply_batch(state, answers.operators)
        visited.add(state.tobytes())
    return len(visited) - 1, evaluations, values


@pytest.mark.parametrize(
    ("domain", "problem", "steps", "evaluations", "values"),
    [
        ("blocks", "probBLOCKS-9-0", 30, 137, [35.86, 34.40]),
        ("blocks", "probBLOCKS-10-0", 34, 172, [41.55, 40.35, 39.03, 37.85, 36.59]),
        ("gripper", "prob05", 35, 254, [60.18, 54.49]),
        ("visitall", "problem05-full", 24, 79, [39.14, 38.38]),
    ],
)
def test_golden_run(
    open_policy: Callable[..., GNNPolicy],
    domain: str,
    problem: str,
    steps: int,
    evaluations: int,
    values: list[float],
) -> None:
    run = avoiding_run(open_policy(domain, problem))
    assert run[:2] == (steps, evaluations)
    assert run[2][: len(values)] == pytest.approx(values, abs=0.01)
