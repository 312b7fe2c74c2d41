"""Features and permitted steps of the native core agree with the slow version."""

from __future__ import annotations

import math

import numpy as np
import pytest

from misstep.policies.policy import States
from misstep.policies.sketch.document import parse_sketch
from misstep.policies.sketch.policy import SketchPolicy
from misstep.tasks.census import state_space
from misstep.tasks.task import State, Task
from support.sketch_naive import NaiveSketch
from support.sketches import SKETCHES, TASK_OF, random_sketch
from support.tasks import SMALL, generated_task, rows, small_task, walk


def all_states(task: Task) -> States:
    return state_space(task, max_states=100_000).states().astype(np.int32)


def some_states(task: Task, count: int, seed: int = 0) -> States:
    """Reachable states in no order, so that the core moves far from one to the next."""
    states = all_states(task)
    return states[np.random.default_rng(seed).permutation(len(states))[:count]]


def differences(task: Task, text: str, states: States) -> list[str]:
    sketch = parse_sketch(text, "sketch")
    policy, twin = SketchPolicy(task, sketch), NaiveSketch(task, sketch)
    features = policy.features(states).tolist()
    permitted = policy.permitted(states)
    found = []
    for row, values in enumerate(states.tolist()):
        state = State(values)
        if features[row] != twin.features(state):
            found.append(f"features of {values}: {features[row]}, {twin.features(state)}")
        operators = permitted.operators[
            permitted.offsets[row] : permitted.offsets[row + 1]
        ].tolist()
        if operators != twin.permitted(state):
            found.append(f"permitted in {values}: {operators}, {twin.permitted(state)}")
    return found


@pytest.mark.parametrize("domain", SKETCHES)
def test_sketches_of_ours(domain: str) -> None:
    task = small_task(TASK_OF[domain])
    assert differences(task, SKETCHES[domain], some_states(task, 40)) == []


@pytest.mark.parametrize("name", SMALL)
def test_random_features_and_rules(name: str) -> None:
    task = small_task(name)
    for seed in range(2):
        text = random_sketch(task, seed)
        assert differences(task, text, some_states(task, 6)) == [], text


def test_conditional_effects_subtypes_and_three_arguments(odd_task: Task) -> None:
    for seed in range(6):
        text = random_sketch(odd_task, seed)
        assert differences(odd_task, text, some_states(odd_task, 8, seed)) == [], text


# With two rooms and two grippers: 64, 65, 128 and 129 objects, so one, two and three machine words a set.
@pytest.mark.parametrize("balls", [60, 61, 124, 125])
def test_many_objects(balls: int) -> None:
    task = generated_task("gripper", balls=balls, scatter=50)
    states = rows(walk(task, 3, seed=balls)[-2:])
    texts = (
        SKETCHES["gripper"],
        """(:policy (:numericals (a "n_count(c_not(c_primitive(carry,0)))")
(b "n_concept_distance(c_one_of(ball1),r_inverse(r_primitive(at,0,1)),c_top)")
(c "n_concept_distance(c_primitive(room,0),r_inverse(r_primitive(at,0,1)),c_one_of(ball2))")
(d "n_count(r_transitive_closure(r_inverse(r_primitive(at,0,1))))")
(e "n_count(c_all(r_primitive(at,0,1),c_primitive(at-robot,0)))")
(f "n_count(r_restrict(r_primitive(at,0,1),c_primitive(at-robot,0)))"))
(:rule (:conditions) (:effects (:e_n_inc e) (:e_n_bot a) (:e_n_dec f))))""",
    )
    for text in texts:
        assert differences(task, text, states) == []


def test_infinite_distances(odd_task: Task) -> None:
    """They are larger than every number, and one of them is as large as the other."""
    text = """(:policy (:booleans (lit "b_nullary(lit)"))
(:numericals (never "n_concept_distance(c_one_of(rope),r_primitive(at,0,1),c_primitive(here,0))")
 (toy "n_concept_distance(c_one_of(t1),r_primitive(at,0,1),c_one_of(hall))"))
(:rule (:conditions (:c_n_gt never)) (:effects (:e_n_bot never) (:e_n_inc toy) (:e_b_bot lit))))"""
    policy = SketchPolicy(odd_task, parse_sketch(text, "sketch"))
    states = rows([odd_task.initial_state])
    assert policy.features(states).tolist() == [[0, math.inf, 1]]
    names = [odd_task.operator_name(op) for op in policy.permitted(states).operators.tolist()]
    # Toys walk along: going to the attic or the cellar takes t1 out of the hall, to where no way leads on.
    assert sorted(names) == ["go hall attic rope", "go hall cellar rope"]
    assert differences(odd_task, text, all_states(odd_task)) == []


def test_answers_do_not_depend_on_batches_and_order() -> None:
    task = small_task("gripper-4-scattered")
    policy = SketchPolicy(task, parse_sketch(SKETCHES["gripper"], "sketch"))
    states = some_states(task, 60)
    whole = policy.permitted(states)
    for row in reversed(range(len(states))):
        alone = policy.permitted(states[row : row + 1]).operators.tolist()
        assert alone == whole.operators[whole.offsets[row] : whole.offsets[row + 1]].tolist()


@pytest.mark.soundness
@pytest.mark.parametrize("domain", SKETCHES)
def test_sketches_of_ours_in_all_states(domain: str) -> None:
    task = small_task(TASK_OF[domain])
    assert differences(task, SKETCHES[domain], all_states(task)) == []


@pytest.mark.soundness
@pytest.mark.parametrize("name", SMALL)
def test_many_random_sketches(name: str) -> None:
    task = small_task(name)
    for seed in range(100, 200):
        text = random_sketch(task, seed)
        assert differences(task, text, some_states(task, 20, seed)) == [], text


@pytest.mark.soundness
def test_many_random_sketches_with_conditional_effects(odd_task: Task) -> None:
    for seed in range(100, 300):
        text = random_sketch(odd_task, seed)
        assert differences(odd_task, text, some_states(odd_task, 20, seed)) == [], text
