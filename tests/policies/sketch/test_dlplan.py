"""Sketches give the same answers as the original package, where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from misstep.policies.sketch.document import parse_sketch
from misstep.policies.sketch.policy import SketchPolicy
from misstep.tasks.census import state_space
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import State, Task
from support.sketch_dlplan import DlplanSketch
from support.sketches import SKETCHES, TASK_OF, random_sketch
from support.tasks import SMALL, small_task

pytest.importorskip(
    "dlplan", reason="the original package is not installed: pip install --no-deps dlplan"
)


def differences(task: Task, text: str, count: int) -> list[str]:
    policy, original = SketchPolicy(task, parse_sketch(text, "sketch")), DlplanSketch(task, text)
    states = state_space(task, max_states=300_000).states().astype(np.int32)
    states = states[np.random.default_rng(0).permutation(len(states))[:count]]
    features = policy.features(states).tolist()
    offsets, operators = policy.permitted(states)
    found = []
    for row, values in enumerate(states.tolist()):
        state = State(values)
        theirs = original.features(state)
        assert any(value is not None for value in theirs)
        ours = [None if b is None else a for a, b in zip(features[row], theirs, strict=True)]
        if ours != theirs:
            found.append(f"features of {values}: {ours}, {theirs}")
        if operators[offsets[row] : offsets[row + 1]].tolist() != original.permitted(state):
            found.append(f"permitted in {values}")
    return found


@pytest.mark.parametrize("domain", SKETCHES)
def test_sketches_of_ours(domain: str) -> None:
    assert differences(small_task(TASK_OF[domain]), SKETCHES[domain], 30) == []


@pytest.mark.parametrize("name", SMALL)
def test_random_sketches(name: str) -> None:
    for seed in range(3):
        text = random_sketch(small_task(name), seed)
        assert differences(small_task(name), text, 5) == [], text


@pytest.mark.soundness
@pytest.mark.parametrize("name", SMALL)
def test_many_random_sketches(name: str) -> None:
    for seed in range(50):
        text = random_sketch(small_task(name), seed)
        assert differences(small_task(name), text, 20) == [], text


@pytest.mark.parametrize("name", ["blocks_4_on", "gripper", "miconic", "spanner", "visitall"])
def test_published_sketches(name: str, shared: Path) -> None:
    folder = shared / "policies" / "sketches" / name
    if not folder.is_dir():
        pytest.skip("the published sketches are not there")
    text = (folder / "sketch.txt").read_text()
    problems = sorted((folder / "tasks").glob("p-*.pddl"))
    assert problems
    for problem in problems:
        task = load_planning_task(folder / "tasks" / "domain.pddl", problem)
        assert differences(task, text, 100) == []
