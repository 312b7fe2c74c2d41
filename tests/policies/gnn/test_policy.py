"""Which networks fit which tasks, which parts of a task they read, and the options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import MissingDependencyError, UnsupportedError, UsageError
from misstep.policies.gnn import GNNPolicy, load
from misstep.policies.policy import FAILED
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

Build = Callable[..., dict[str, Any]]

# Typed, with a nullary predicate, a fluent predicate with an atom that never changes (seen a), and
# an object that no atom but those of its type mentions (d).
DOMAIN = """(define (domain rooms) (:requirements :strips :typing)
  (:types place robot - object room hall - place)
  (:predicates (at ?r - robot ?p - place) (door ?p ?q - place) (seen ?p - place) (calm))
  (:action go :parameters (?r - robot ?p ?q - place)
    :precondition (and (at ?r ?p) (door ?p ?q))
    :effect (and (not (at ?r ?p)) (at ?r ?q) (seen ?q) (not (calm))))
  (:action leave :parameters (?r - robot ?p - place)
    :precondition (at ?r ?p) :effect (not (at ?r ?p))))
"""
PROBLEM = """(define (problem p) (:domain rooms)
  (:objects a b - room c - hall r - robot d - room)
  (:init (at r a) (seen a) (door a b) (door b a) (door b c) (door c b) (calm))
  (:goal (and (seen b) (seen c) (door a b))))
"""
PREDICATES = [("at", 2), ("door", 2), ("seen", 1), ("calm", 0)]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    return load_planning_task(tmp_path)


@pytest.fixture
def policy(tmp_path: Path, task: Task, random_network: Build) -> Callable[..., GNNPolicy]:
    import torch

    def make(
        predicates: list[tuple[str, int]], options: str = "--seed=0", **shape: Any
    ) -> GNNPolicy:
        torch.save(random_network(predicates, **shape), tmp_path / "model.ckpt")
        return load(f"{options} {tmp_path / 'model.ckpt'}", task)

    return make


def constant_atoms(policy: GNNPolicy) -> set[tuple[str, ...]]:
    encoding = policy._evaluator.batcher.encoding
    objects = [named.name for named in policy.task.lifted.objects]
    atoms = set()
    for fact in encoding.constant_facts:
        relation = encoding.relations[encoding.slot_relation[fact, 0]]
        terms = encoding.slot_object[fact, : relation.arity]
        atoms.add((relation.name, *(objects[term] for term in terms)))
    return atoms


def test_constant_atoms(policy: Callable[..., GNNPolicy]) -> None:
    doors = {("door", *pair) for pair in ("ab", "ba", "bc", "cb")}
    goal = {("seen_goal", "b"), ("seen_goal", "c"), ("door_goal", "a", "b")}
    plain = policy(PREDICATES)
    assert constant_atoms(plain) == doors | goal | {("seen", "a")}
    typed = policy([*PREDICATES, ("room", 1), ("place", 1), ("robot", 1)])
    rooms = {("room", o) for o in "abd"} | {("place", o) for o in "abcd"} | {("robot", "r")}
    assert constant_atoms(typed) == doors | goal | {("seen", "a")} | rooms


def test_trailing_objects_vanish(policy: Callable[..., GNNPolicy]) -> None:
    """The object d is a node only if its type is an atom; r is one by the atoms of the state."""
    assert policy(PREDICATES)._evaluator.batcher.encoding.node_count == 4
    typed = policy([*PREDICATES, ("room", 1)])
    assert typed._evaluator.batcher.encoding.node_count == 5
    batcher = policy(PREDICATES)._evaluator.batcher
    initial = np.array([typed.task.initial_state.values], dtype=np.int32)
    gone = typed.task.apply_batch(initial, np.array([typed.task.operators_named("leave r a")[0]]))
    visible = batcher.build(np.concatenate((initial, gone)), np.array([0, 0]), 1).visible
    assert visible is not None
    assert visible.tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]


@pytest.mark.parametrize(
    ("predicates", "message"),
    [
        (PREDICATES[1:], "the network lacks the predicate at/2"),
        ([("at", 1), *PREDICATES[1:]], "the network has at/1, the domain at/2"),
        ([*PREDICATES, ("wet", 1)], "the domain has no predicate or type wet"),
    ],
)
def test_mismatch(
    policy: Callable[..., GNNPolicy], predicates: list[tuple[str, int]], message: str
) -> None:
    with pytest.raises(UnsupportedError, match="does not fit the domain rooms") as caught:
        policy(predicates)
    assert message in str(caught.value)
    assert "model.ckpt" in str(caught.value)


def test_negative_goal(tmp_path: Path, policy: Callable[..., GNNPolicy]) -> None:
    policy(PREDICATES)
    (tmp_path / "problem.pddl").write_text(PROBLEM.replace("(seen b)", "(not (calm))"))
    with pytest.raises(UnsupportedError, match="goal"):
        load(str(tmp_path / "model.ckpt"), load_planning_task(tmp_path))


def test_decides_and_values(policy: Callable[..., GNNPolicy], task: Task) -> None:
    made = policy(PREDICATES, solvable=True)
    states = np.array([task.initial_state.values], dtype=np.int32)
    answers = made.decide(np.repeat(states, 3, axis=0))
    assert answers.operators.tolist() == [0, 0, 0]
    assert made.values(states).shape == (1,)
    assert made.decide(states[:0]).operators.shape == (0,)
    assert made.values(states[:0]).shape == (0,)


def test_penalty(policy: Callable[..., GNNPolicy], task: Task) -> None:
    """What the network thinks unsolvable costs 100000 more, without loss of digits."""
    judged = policy(PREDICATES, solvable=True)
    ignoring = policy(PREDICATES, "--ignore-unsolvable", solvable=True)
    states = np.array([task.initial_state.values], dtype=np.int32)
    for logit, penalty in ((1000.0, 0.0), (-1000.0, 100_000.0)):
        judged._evaluator.network.solvable_readout3_bias.fill_(logit)
        assert judged.values(states) - penalty == pytest.approx(ignoring.values(states), rel=1e-6)


def test_value_that_is_no_number(policy: Callable[..., GNNPolicy], task: Task) -> None:
    made = policy(PREDICATES)
    made._evaluator.network.readout3_bias.fill_(float("nan"))
    answers = made.decide(np.array([task.initial_state.values], dtype=np.int32))
    assert answers.operators.tolist() == [FAILED]
    assert "not a number" in answers.messages[0]


def test_digest(policy: Callable[..., GNNPolicy]) -> None:
    assert policy(PREDICATES, "--seed=3").name.startswith("gnn:--seed=3 ")
    one = policy(PREDICATES).digest
    assert one == policy(PREDICATES).digest
    others = {
        policy(PREDICATES, "--seed=1").digest,
        policy(PREDICATES, "--ignore-unsolvable").digest,
        policy(PREDICATES, "--plain").digest,
        policy(PREDICATES, width=4).digest,
    }
    assert len(others | {one}) == 5


@pytest.mark.parametrize(
    "wrong", ["--speed=3", "--seed=-1", "--seed=x", "--seed=1 --seed=2", "--ignore-unsolvable=yes"]
)
def test_wrong_options(policy: Callable[..., GNNPolicy], wrong: str) -> None:
    with pytest.raises(UsageError):
        policy(PREDICATES, wrong)


def test_devices_that_are_not_there(
    policy: Callable[..., GNNPolicy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(MissingDependencyError, match="finds only 1"):
        policy(PREDICATES, "--device=cuda:1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(MissingDependencyError, match="no CUDA device"):
        policy(PREDICATES, "--device=cuda")


def test_bad_arguments(policy: Callable[..., GNNPolicy], task: Task) -> None:
    for device in ("abacus", "cpu:x", "cpu:", "cpu:1", "cuda:x", "cuda:-1", "cuda:1e3"):
        with pytest.raises(UsageError, match="no device"):
            policy(PREDICATES, f"--device={device}")
    with pytest.raises(UsageError, match="without a file"):
        load("", task)


@pytest.mark.usefixtures("without_torch")
def test_without_pytorch(task: Task) -> None:
    with pytest.raises(MissingDependencyError, match=r"misstep\[neural\]"):
        load("model.ckpt", task)
