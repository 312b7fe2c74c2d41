"""The novelty store agrees with sets of tuples."""

from __future__ import annotations

import itertools

import pytest

from misstep._core import NoveltyStore
from misstep.tasks.task import State, Task
from support.tasks import sas, small_task, walk


def tuples(state: State, arity: int) -> set[tuple[tuple[int, int], ...]]:
    facts = list(enumerate(state.values))
    return {t for size in range(1, arity + 1) for t in itertools.combinations(facts, size)}


@pytest.mark.parametrize("options", [{}, {"max_bits": 0}])
@pytest.mark.parametrize("arity", [1, 2, 3])
@pytest.mark.parametrize("name", ["gripper-4", "visitall-3x3", "blocksworld-4"])
def test_store_against_sets(name: str, arity: int, options: dict[str, int]) -> None:
    task = small_task(name)
    store = NoveltyStore(task, arity, **options)
    seen: set[tuple[tuple[int, int], ...]] = set()
    for i, state in enumerate(walk(task, 300, 3)):
        novel = not tuples(state, arity) <= seen
        for _ in range(2):  # a test changes nothing
            assert store.is_novel(state) == novel
        if i % 3 == 0:
            store.insert(state)
            seen |= tuples(state, arity)
    assert store.tuples == len({t for t in seen if len(t) == arity})


@pytest.mark.parametrize("arity", [2, 3])
def test_tuples_of_a_task_with_one_variable_are_facts(arity: int) -> None:
    task = Task(sas([3], [0], [(0, 2)], ["0\n1\n0 0 -1 1\n1"]).encode())
    store = NoveltyStore(task, arity)
    assert store.is_novel(State([0]))
    store.insert(State([0]))
    assert not store.is_novel(State([0]))
    assert store.is_novel(State([1]))


def test_a_set_that_is_full_lets_more_states_pass_never_fewer() -> None:
    task = small_task("gripper-4")
    states = list(walk(task, 300, 3))
    per_state = len({t for t in tuples(states[0], 3) if len(t) == 3})
    whole, small = NoveltyStore(task, 3), NoveltyStore(task, 3, max_tuples=per_state + 5)
    more = 0
    for state in states:
        assert small.is_novel(state) or not whole.is_novel(state)
        more += small.is_novel(state) and not whole.is_novel(state)
        whole.insert(state)
        small.insert(state)
    assert more
    assert (small.full, small.tuples) == (True, per_state + 5)
    assert not whole.full
    assert not small.is_novel(states[0])  # what it has it keeps


def test_wrong_arities() -> None:
    for arity in (0, 4, -1):
        with pytest.raises(ValueError, match="1, 2 or 3"):
            NoveltyStore(small_task("gripper-4"), arity)
