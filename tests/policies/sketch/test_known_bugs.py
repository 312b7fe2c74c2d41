"""The known bugs of the sketches that come with Misstep; those of the tests have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import misstep.policies
from misstep.policies.load import load_policy
from misstep.policies.policy import States
from misstep.policies.sketch.document import parse_sketch
from misstep.policies.sketch.policy import SketchPolicy
from misstep.tasks.census import state_space
from misstep.tasks.task import State, Task
from support.sketches import SKETCHES, TASK_OF
from support.tasks import generated_task, small_task

ZOO = Path(misstep.policies.__file__).parent / "zoo"


class PermittedGraph:
    """All runs that a sketch permits, in all states of a small task."""

    def __init__(self, policy: SketchPolicy) -> None:
        self.task = policy.task
        self.states: States = state_space(policy.task).states().astype(np.int32)
        number = {tuple(row): i for i, row in enumerate(self.states.tolist())}
        offsets, operators = policy.permitted(self.states)
        self.goal = [self.task.is_goal(State(row)) for row in self.states.tolist()]
        self.next: list[set[int]] = []
        for i, row in enumerate(self.states.tolist()):
            chosen = operators[offsets[i] : offsets[i + 1]].tolist()
            after = {number[tuple(self.task.apply(State(row), op).values)] for op in chosen}
            self.next.append(set() if self.goal[i] else after)

    def stuck(self) -> set[int]:
        return {i for i, after in enumerate(self.next) if not after and not self.goal[i]}

    def always_succeeds(self) -> set[int]:
        """Every permitted run reaches the goal: the smallest set that holds the goals and what leads only into it."""
        good = {i for i, is_goal in enumerate(self.goal) if is_goal}
        while more := {i for i, after in enumerate(self.next) if after and after <= good} - good:
            good |= more
        return good

    def can_succeed(self) -> set[int]:
        good = {i for i, is_goal in enumerate(self.goal) if is_goal}
        while more := {i for i, after in enumerate(self.next) if after & good} - good:
            good |= more
        return good

    def everything(self) -> set[int]:
        return set(range(len(self.states)))


def zoo(name: str, task: Task) -> PermittedGraph:
    policy = load_policy(f"sketch:--width=0 {ZOO / name}", task)
    assert isinstance(policy, SketchPolicy)
    return PermittedGraph(policy)


@pytest.mark.parametrize("domain", ["ferry", "gripper", "miconic", "visitall"])
def test_sketches_that_never_fail(domain: str) -> None:
    task = small_task(TASK_OF[domain])
    graph = PermittedGraph(SketchPolicy(task, parse_sketch(SKETCHES[domain], "sketch")))
    assert graph.always_succeeds() == graph.everything()


@pytest.mark.parametrize("balls", [2, 3, 4])
def test_the_gripper_sketch_waits_for_a_second_ball(balls: int) -> None:
    """With one ball in hand and none left to fetch in this room, it has no rule for the way to the other."""
    task = generated_task("gripper", balls=balls)
    graph = zoo("sketch-gripper.txt", task)
    assert graph.stuck()
    for i in graph.stuck():
        facts = task.facts(State(graph.states[i].tolist()))
        assert sum(fact.startswith("carry") for fact in facts) == 1
        assert sum(fact.startswith("free") for fact in facts) == 1
    # All else that can go wrong is to come there.
    assert graph.always_succeeds() == graph.can_succeed()
    assert (0 in graph.always_succeeds()) == (balls % 2 == 0)


def test_the_ferry_sketch_sails_anywhere() -> None:
    """An empty ferry may sail for ever; it always can do better."""
    task = small_task("ferry-3")
    graph = zoo("sketch-ferry.txt", task)
    assert graph.stuck() == set()
    assert graph.can_succeed() == graph.everything()
    failing = graph.everything() - graph.always_succeeds()
    assert 0 < len(failing) < len(graph.states)
