"""Decisions as the published server makes them: single precision, equal values by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.policies.gnn import GNNPolicy, load
from misstep.policies.gnn.policy import NOISE, Options
from misstep.policies.gnn.published import choose, name_ranks, penalised, uncertain
from misstep.tasks.domains import generate
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

GAP = 2.0**-7  # between neighbours in single precision at 100,000


def gripper(balls: int) -> Task:
    return load_planning_task(generate("gripper", seed=0, balls=balls))


def test_near_ties_become_equal_where_there_is_no_head() -> None:
    values = np.array([3.0, 3.0 + 0.4 * GAP, 3.0 + 0.6 * GAP, 3.0 + GAP])
    server = penalised(values, None)
    assert server.tolist() == [100_003.0, 100_003.0, 100_003.0 + GAP, 100_003.0 + GAP]
    # With a head only what is thought unsolvable is rounded so much.
    judged = penalised(values, np.array([1.0, 1.0, 1.0, -1.0]))
    assert judged[:3] == pytest.approx(values[:3], rel=1e-7)
    assert judged[1] > judged[0]
    assert judged[3] == 100_003.0 + GAP


def test_of_equal_ones_the_first_by_name() -> None:
    scores = np.array([5.0, 4.0, 4.0, 7.0, 9.0, 9.0])
    offsets = np.array([0, 3, 3, 4, 6])
    assert choose(scores, offsets, np.array([0, 2, 1, 0, 1, 0])).tolist() == [2, 3, 5]
    assert choose(scores, offsets, np.array([0, 1, 2, 0, 0, 1])).tolist() == [1, 3, 4]
    assert choose(scores[:0], np.array([0, 0]), np.array([], dtype=np.int64)).tolist() == []


def test_ranks_are_those_of_names() -> None:
    task = gripper(2)
    ranks = name_ranks(task)
    names = [task.operator_name(number) for number in np.argsort(ranks)]
    assert names == sorted(names)


def test_what_noise_can_change_is_uncertain() -> None:
    """Against brute force: every value moved up or down."""
    random = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(400):
        count = int(random.integers(1, 5))
        values = 3.0 + GAP * random.integers(0, 3, count) + random.uniform(-1, 1, count) * 2 * GAP
        ranks = random.permutation(count)
        offsets = np.array([0, count])
        noise, doubtful = np.full(count, NOISE), np.zeros(count, dtype=bool)
        found = len(uncertain(values, None, offsets, ranks, noise, doubtful)) > 0
        before = choose(penalised(values, None), offsets, ranks)
        changes = False
        for signs in np.ndindex(*(3,) * count):
            moved = values + NOISE * (np.array(signs) - 1)
            changes |= bool((choose(penalised(moved, None), offsets, ranks) != before).any())
        assert found or not changes
        seen[changes] += 1
        assert found == changes  # the two ends of the interval decide
    assert min(seen.values()) > 10


@pytest.mark.parametrize("as_published", [True, False])
def test_a_logit_is_as_doubtful_as_the_logits_beside_it_are_large(as_published: bool) -> None:
    """Its rounding goes with them and not with the values."""

    class Fixed:
        def evaluate(self, *_: Any) -> Any:
            return np.array([1.0, 2.0, 1.0, 2.0]), np.array([1e-3, 2000.0, 1e-3, 2.0])

    policy = GNNPolicy.__new__(GNNPolicy)
    policy.options, policy._evaluator = Options(), cast("Any", Fixed())
    ranks = np.array([0, 1, 0, 1]) if as_published else None
    states = np.zeros((4, 1), dtype=np.int32)
    assert policy._scores(states, np.array([0, 2, 4]), ranks)[1].tolist() == [0]


def test_rounding_decides_in_a_network_without_head(
    tmp_path: Path, random_network: Callable[..., dict[str, Any]]
) -> None:
    """A network whose values all lie close together goes where the names say."""
    import torch

    task = gripper(3)
    predicates = [
        (own.name, len(own.parameters)) for own in task.lifted.predicates if own.name != "="
    ]
    made = random_network(predicates)
    made["state_dict"]["readout.post.2.weight"] *= 1e-6
    made["state_dict"]["readout.post.2.bias"].fill_(3.0)
    path = tmp_path / "model.ckpt"
    torch.save(made, path)
    exact, server = load(str(path), task), load(f"--published-server {path}", task)
    assert exact.digest != server.digest
    states = np.array([task.initial_state.values], dtype=np.int32)
    values = server.values(states)
    assert values.tolist() == [100_003.0]
    assert exact.values(states) == pytest.approx([3.0], abs=1e-3)
    applicable = task.applicable_batch(states)[1]
    first = min(applicable.tolist(), key=task.operator_name)
    assert server.decide(states).operators.tolist() == [first]
    assert server.decide(np.repeat(states, 5, axis=0)).operators.tolist() == [first] * 5


def test_a_made_up_head_is_a_function_of_its_seed(
    tmp_path: Path, random_network: Callable[..., dict[str, Any]]
) -> None:
    """Its penalty is all that it adds, and it is for the successors that it calls unsolvable."""
    import torch

    task = gripper(3)
    predicates = [
        (own.name, len(own.parameters)) for own in task.lifted.predicates if own.name != "="
    ]
    path = tmp_path / "model.ckpt"
    torch.save(random_network(predicates), path)
    states = np.array([task.initial_state.values], dtype=np.int32)
    exact = load(str(path), task)
    value = exact.values(states)[0]
    added, digests = set(), {load(f"--published-server {path}", task).digest}
    for seed in range(12):
        options = f"--published-server --made-up-head={seed} {path}"
        server = load(options, task)
        digests.add(server.digest)
        found = server.values(states)[0]
        assert found == load(options, task).values(states)[0]
        added.add(round(found - value, 1))
    assert len(digests) == 13
    assert added == {0.0, 100_000.0}
    with_own = tmp_path / "own.ckpt"
    torch.save(random_network(predicates, solvable=True), with_own)
    with pytest.raises(UsageError, match="head of its own"):
        load(f"--published-server --made-up-head=1 {with_own}", task)
    with pytest.raises(UsageError, match="without --published-server"):
        load(f"--made-up-head=1 {path}", task)


def test_one_of_two_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--published-server and --ignore-unsolvable"):
        load(f"--published-server --ignore-unsolvable {tmp_path}/x.ckpt", gripper(1))


def test_only_near_ties_are_decided_otherwise(
    open_policy: Callable[..., GNNPolicy], walk: Callable[[GNNPolicy, int], Any]
) -> None:
    """On the published gripper network: the server often takes another than the least, but one that is as close."""
    server = open_policy("gripper", "prob05", "--published-server")
    states = walk(server, 40)
    decided = server.decide(states).operators
    assert decided.tolist() == [int(server.decide(row[None]).operators[0]) for row in states]
    otherwise = 0
    for parent, operator in zip(states, decided.tolist(), strict=True):
        offsets, operators = server.all_candidates(parent[None])
        reached = server.task.apply_batch(np.repeat(parent[None], offsets[-1], axis=0), operators)
        values = server._evaluator.evaluate(reached, offsets)[0]
        taken = float(values[operators.tolist().index(operator)])
        assert taken - values.min() <= GAP + NOISE
        otherwise += taken > values.min()
    assert otherwise > 5
