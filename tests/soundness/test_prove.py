"""Proofs agree with exhaustive search on the nine built-in models, random models and random planning tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep import _core
from misstep.checking.certificates import check_file
from misstep.faults.prove import prove
from misstep.oracles.prove import ReachSettings
from misstep.policies.load import load_policy
from misstep.safety import jani_transitions
from misstep.safety.prove import ProveSettings
from misstep.safety.prove.certificate import CHECKED_STATES
from misstep.safety.system import System
from misstep.tasks.census import state_space
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model, write_model
from support.models import VARIANTS, Choices, described
from support.prove import (
    TableOperators,
    model_of,
    random_model,
    random_task,
    reachable,
    reaches,
    solvable_states,
    table_policy,
    true_answer,
)

CONTROL = ("bouncing-ball", "inverted-pendulum", "cartpole", "follow-car")


def answer_of_census(task: JaniTask, spec: str) -> str:
    """The answer that follows from the whole reachable space: what the policy does from each start."""
    space = task.space()
    transitions = jani_transitions(task)
    system = System(transitions, load_policy(spec, task).policy)
    truth = _core.jani_ground_truth(space, transitions, system.native, 2)
    bad = truth.deviations[: space.root_count] > 0
    if not bad.any():
        return "PROVEN"
    return "BUG" if truth.bugs[: space.root_count].any() else "NOT A BUG"


@pytest.mark.soundness
@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_proofs_on_models_agree_with_the_census(
    name: str, choices: Choices, tmp_path: Path
) -> None:
    write_model(generate_model(name, **choices), path := tmp_path / "model.jani")
    # The starts of control models are infinitely many; their second property lists some.
    prop = "sampled" if name in CONTROL else None
    task = load_jani(path, prop)
    for spec in ("first", *(f"random:{seed}" for seed in range(5))):
        expected = answer_of_census(task, spec)
        for ask in ("all", "needed"):
            proof = prove(load_jani(path, prop), spec, ProveSettings(ask=ask))
            assert proof.verdict == expected, (spec, ask, proof.reason)
            if expected == "PROVEN":
                assert proof.certificate is not None
                if proof.checked is None:  # the checker is slow
                    assert proof.states > CHECKED_STATES
                    continue
                assert proof.checked.valid
                (tmp_path / "proof").write_bytes(proof.certificate)
                assert check_file(tmp_path / "proof", path).valid


def lost_states(task: JaniTask, space: _core.JaniSpace) -> NDArray[np.uint8]:
    """For every state, whether no strategy keeps it safe."""
    transitions = jani_transitions(task)
    system = System(transitions, load_policy("first", task).policy)
    return _core.jani_ground_truth(space, transitions, system.native, 0).lost


def careful_policy(
    task: JaniTask, space: _core.JaniSpace, lost: NDArray[np.uint8]
) -> Callable[[Any], str]:
    """A policy that takes the first label all of whose outcomes are safe, if there is one, from the whole model."""
    slots, ends, outcomes = space.label_offsets, space.outcome_offsets, space.outcomes
    labels = space.labels
    table: dict[tuple[Any, ...], str] = {}
    for s in range(len(space)):
        own = range(int(slots[s]), int(slots[s + 1]))
        worst = [int(lost[outcomes[int(ends[i]) : int(ends[i + 1])]].max()) for i in own]
        if worst:
            table[space.state(s)] = task.labels[int(labels[own[worst.index(min(worst))]])]
    return lambda state: table[tuple(state.values())]


@pytest.mark.soundness
@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_careful_policies_are_proven(name: str, choices: Choices) -> None:
    """Where every start can be kept safe, a policy that does so is proven, by both methods and the checker."""
    instance = generate_model(name, **choices)
    task = load_jani(instance, "sampled" if name in CONTROL else None)
    space = task.space()
    lost = lost_states(task, space)
    policy = careful_policy(task, space, lost)
    expected = "NOT A BUG" if lost[: space.root_count].any() else "PROVEN"
    for ask in ("all", "needed"):
        proof = prove(task, policy, ProveSettings(ask=ask))
        assert proof.verdict == expected, (ask, proof.reason)
        assert expected != "PROVEN" or proof.checked is None or proof.checked.valid
        hopeless = np.count_nonzero(lost[: space.root_count])
        assert proof.hopeless == hopeless
        if 0 < hopeless < space.root_count:
            left = prove(task, policy, ProveSettings(ask=ask, leave_out=True))
            assert left.verdict == "PROVEN", left.reason
            assert left.checked is not None
            assert left.checked.valid, left.checked
            assert left.checked.about["hopeless"] == hopeless


SHIPPED: list[tuple[str, str, Choices]] = [
    ("beluga", "beluga", {"racks": 2, "lines": "0,3/2,1", "swaps": 6}),
    ("one-way-line-small", "one-way-line", {"cells": 8, "packages": 3, "drop": True}),
]


@pytest.mark.soundness
@pytest.mark.parametrize(("policy", "name", "choices"), SHIPPED, ids=described)
def test_proofs_of_shipped_policies_agree_with_the_census(
    policy: str, name: str, choices: Choices
) -> None:
    instance = generate_model(name, **choices)
    spec = f"shipped:{policy}"
    expected = answer_of_census(load_jani(instance), spec)
    for ask in ("all", "needed"):
        assert prove(load_jani(instance), spec, ProveSettings(ask=ask)).verdict == expected


@pytest.mark.soundness
def test_proofs_on_random_models_agree_with_the_truth() -> None:
    random = Random("random models")
    answers: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for _ in range(400):
        world, starts = random_model(random)
        expected = true_answer(world, starts)
        answers[expected] += 1
        task = model_of(world, starts, random.random() < 0.5)
        for ask in ("all", "needed"):
            proof = prove(task, table_policy(world), ProveSettings(ask=ask))
            assert proof.verdict == expected, (ask, world, starts, proof.reason)
            asked[ask] += proof.asked if expected == "PROVEN" else 0
            if expected == "NOT A BUG":
                left = prove(task, table_policy(world), ProveSettings(ask=ask, leave_out=True))
                some = proof.hopeless < len(starts)
                assert left.verdict == ("PROVEN" if some else "NOT A BUG"), left.reason
                answers["left out"] += some
                assert not some or (left.checked is not None and left.checked.valid), left.checked
            if expected == "PROVEN":
                assert proof.checked is not None
                assert proof.checked.valid, proof.checked
    assert min(answers[name] for name in ("PROVEN", "BUG", "NOT A BUG", "left out")) > 10, answers
    assert asked["needed"] < asked["all"]


@pytest.mark.soundness
def test_proofs_on_random_tasks_agree_with_the_truth() -> None:
    random = Random("random tasks")
    answers: Counter[str] = Counter()
    for number in range(400):
        task = random_task(random)
        states = reachable(task)
        solvable = solvable_states(task, states)
        table = TableOperators(task, number, random.choice([0.3, 1.0, 1.0]))
        space = state_space(task)
        best = {
            tuple(row): int(op)
            for row, op in zip(space.states().tolist(), space.best_operator, strict=True)
        }
        table.best = {key: op for key, op in best.items() if op >= 0}
        failing = [s for s in states if s in solvable and not reaches(task, table.decision, s)]

        def act(state: object, own: TableOperators = table) -> int | None:
            return own.decision(state.state)  # type: ignore[attr-defined]

        proof = prove(task, act)
        assert proof.verdict == ("BUG" if failing else "PROVEN"), proof.reason
        assert proof.hopeless == len(states) - len(solvable)
        answers[proof.verdict] += 1
        if failing:
            assert proof.failing == len(failing)
            assert proof.finding is not None
            assert proof.finding.state in failing
            assert proof.finding.avoidable
        else:
            assert proof.checked is not None
            assert proof.checked.valid, proof.checked
        own = prove(task, act, ReachSettings(scope="runs"))
        start = task.initial_state
        if reaches(task, table.decision, start):
            assert own.verdict == "PROVEN"
        else:
            assert own.verdict == ("BUG" if start in solvable else "NOT A BUG")
        answers["runs " + own.verdict] += 1
    assert min(answers.values()) > 10, answers
