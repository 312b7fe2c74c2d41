"""A decision depends on the state alone, not on the other states of the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep.policies.gnn import GNNPolicy
from misstep.policies.gnn.policy import NOISE, TOLERANCE, Options
from misstep.policies.policy import FAILED, Candidates, States
from misstep.tasks.load import load_task

CASES = [
    ("blocks", "probBLOCKS-10-0", 60),
    ("gripper", "prob05", 40),
    ("logistics", "probLOGISTICS-7-0", 12),
    ("visitall", "problem05-full", 24),
]


@pytest.mark.parametrize(("domain", "problem", "count"), CASES)
def test_batches_and_order(
    open_policy: Callable[..., GNNPolicy],
    walk: Callable[[GNNPolicy, int], States],
    domain: str,
    problem: str,
    count: int,
) -> None:
    policy = open_policy(domain, problem, "")
    states, random = walk(policy, count), np.random.default_rng(0)
    together = policy.decide(states)
    order = random.permutation(count)
    cuts = np.sort(random.choice(count, 5, replace=False))
    for rows in np.split(order, cuts):
        apart = policy.decide(states[rows])
        assert apart.operators.tolist() == together.operators[rows].tolist()
        assert apart.values is not None
        assert together.values is not None
        assert np.abs(apart.values - together.values[rows]).max(initial=0) < NOISE / 2


def test_rounding_cannot_decide(
    open_policy: Callable[..., GNNPolicy], walk: Callable[[GNNPolicy, int], States]
) -> None:
    """Close calls are made alone. Here all values lie on the very edge of the tolerance."""
    policy = open_policy("gripper", "prob05")
    states, random = walk(policy, 40), np.random.default_rng(1)
    weights = random.integers(0, 99, states.shape[1])

    def noisy(rows: States, offsets: NDArray[np.int64]) -> tuple[NDArray[np.float64], None]:
        values = rows @ weights % 3 * TOLERANCE
        company = len(offsets) > 2
        return values + company * random.uniform(-NOISE / 3, NOISE / 3, len(values)), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy._evaluator, "evaluate", noisy)
        expected = [policy.decide(state[None]).operators[0] for state in states]
        for _ in range(5):
            assert policy.decide(states).operators.tolist() == expected


def test_the_group_is_the_set_of_candidates(
    open_policy: Callable[..., GNNPolicy], walk: Callable[[GNNPolicy, int], States]
) -> None:
    """Fewer candidates may change the values (M is theirs alone), never the rows beside them."""
    policy = open_policy("gripper", "prob05")
    states = walk(policy, 6)
    offsets, operators = policy.all_candidates(states)
    full = policy.decide(states)
    assert full.values is not None
    keep = np.ones(len(operators), dtype=bool)
    keep[offsets[2] : offsets[3] - 1] = False  # One candidate is left to row 2, none to row 4.
    keep[offsets[4] : offsets[5]] = False
    counts = np.add.reduceat(keep, offsets[:-1])
    fewer = Candidates(np.concatenate(([0], np.cumsum(counts))), operators[keep])
    answers = policy.decide(states, fewer)
    assert answers.values is not None
    assert answers.operators[2] == operators[offsets[3] - 1]
    assert answers.operators[4] == -1
    assert np.isnan(answers.values[4])
    assert answers.evaluations == keep.sum()
    for row in (0, 1, 3, 5):
        assert answers.operators[row] == full.operators[row]
        assert answers.values[row] == pytest.approx(full.values[row], abs=1e-4)


@pytest.mark.parametrize("scale", [1e3, 1e4])
def test_values_so_large_that_much_is_rounded(
    published: Path, walk: Callable[[GNNPolicy, int], States], scale: float
) -> None:
    """Single precision leaves steps of a tolerance and more between such values."""
    from misstep.policies.gnn.checkpoint import read_checkpoint

    tasks = published / "gripper" / "tasks"
    task = load_task(tasks / "domain.pddl", tasks / "prob05.pddl")
    stored = read_checkpoint(published / "gripper" / "model.ckpt")
    weights = dict(stored.weights)
    for kind in ("weight", "bias"):
        weights[f"readout.post.2.{kind}"] = weights[f"readout.post.2.{kind}"] * scale
    own = Options(ignore_unsolvable=True)
    policy = GNNPolicy(task, Path("x"), own, checkpoint=replace(stored, weights=weights))
    states = walk(policy, 120)
    alone = [int(policy.decide(state[None]).operators[0]) for state in states]
    assert policy.decide(states).operators.tolist() == alone


@pytest.mark.parametrize("options", ["", "--published-server --made-up-head=1"])
def test_a_head_that_gives_no_number_fails(
    open_policy: Callable[..., GNNPolicy], walk: Callable[[GNNPolicy, int], States], options: str
) -> None:
    """Neither solvable nor unsolvable."""
    policy = open_policy("gripper", "prob05", options)
    states = walk(policy, 2)

    def odd(rows: States, _: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        logits = np.where((rows == states[1]).all(1), np.nan, 1.0)
        return np.ones(len(rows)), logits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy._evaluator, "evaluate", odd)
        answers = policy.decide(states)
    assert answers.operators[0] == FAILED
    assert answers.operators[1] >= 0
