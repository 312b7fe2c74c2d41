"""Conditions agree with their naive version on states and decisions of many domains."""

from __future__ import annotations

from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.comparison.families.conditions import Decided
from misstep.comparison.families.ground import Ground, Scene
from misstep.comparison.families.language import MOST_CONDITIONS, conditions, domain_of
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task
from support.families_naive import NaiveConditions

SIZES: dict[str, dict[str, Any]] = {
    "gripper": {"balls": 2},
    "blocksworld": {"blocks": 3},
    "ferry": {"cars": 2, "locations": 3},
    "transport": {"locations": 3},
    "visitall": {"width": 2, "height": 2},
    "spanner": {"spanners": 2, "nuts": 2},
    "satellite": {"observations": 2},
    "miconic": {"passengers": 2},
    "floortile": {"width": 2, "height": 2},
}


def walked(task: Task, random: CounterRandom, steps: int) -> State:
    state = task.initial_state
    for _ in range(steps):
        operators = task.applicable(state)
        if not operators:
            break
        state = task.apply(state, operators[random.below(len(operators))])
    return state


def compare(name: str, states: int, seed: int) -> int:
    """How many values were compared."""
    task = load_task(generate(name, seed=seed, **SIZES[name]))
    ground, naive = Ground(task), NaiveConditions(task)
    domain = domain_of([ground])
    random = CounterRandom(seed, 5)
    schemas = sorted(domain.schemas)
    compared = 0
    for _ in range(states):
        state = walked(task, random, random.below(12))
        operators = task.applicable(state)
        if not operators:
            continue
        operator: int | None = operators[random.below(len(operators))]
        if random.below(4) == 0:
            operator = None
        chosen = None if operator is None else ground.operator(operator)[0]
        decided = Decided(Scene(ground, state.values), operator)
        tried = conditions(domain, chosen, schemas[random.below(len(schemas))])
        assert len(tried) <= MOST_CONDITIONS
        assert len({own.text for own in tried}) == len(tried)
        for own in tried[random.below(3) :: 3]:
            assert own.holds(decided) == naive.holds(own, state, operator), (own.text, state)
            compared += 1
    return compared


@pytest.mark.parametrize("name", ["gripper", "visitall"])
def test_conditions_mean_what_they_say(name: str) -> None:
    assert compare(name, 3, 1) > 50


@pytest.mark.soundness
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(SIZES))
def test_conditions_mean_what_they_say_on_many_states(name: str, seed: int) -> None:
    assert compare(name, 12, seed) > 100


def test_a_task_without_files_has_the_atoms_that_its_names_spell_out() -> None:
    task = load_task(generate("gripper", balls=2))
    bare = Task(task.sas, name="bare")
    ground, full = Ground(bare), Ground(task)
    assert ground.lifted is None
    assert set(ground.kinds) == {"object"}
    domain = domain_of([ground])
    assert set(domain.schemas) == {"move", "pick", "drop"}
    scene, twin = (Scene(own, task.initial_state.values) for own in (ground, full))
    assert len(scene.open_goals) == len(twin.open_goals) == 2
    decided = Decided(scene, task.applicable(task.initial_state)[0])
    assert any(own.holds(decided) for own in conditions(domain, "pick", "move"))


def test_names_that_are_not_atoms_give_no_relations() -> None:
    from support.campaigns import counter_task

    task = Task(counter_task(size=6).sas.replace(b"Atom v", b"value v"), name="bare")
    ground = Ground(task)
    scene = Scene(ground, (0, 3))
    assert not scene.relations
    assert not scene.open_goals
    assert conditions(domain_of([ground]), ground.operator(0)[0], None)
