"""The novelty store against sets of tuples."""

from __future__ import annotations

import itertools

import pytest

from misstep.fuzzing.novelty import NoveltyStore, with_unique_pair
from misstep.tasks.task import State, Task
from support.tasks import sas, small_task, walk


def tuples(state: State, arity: int) -> set[tuple[tuple[int, int], ...]]:
    facts = list(enumerate(state.values))
    return {t for size in range(1, arity + 1) for t in itertools.combinations(facts, size)}


@pytest.mark.parametrize("options", [{}, {"max_bits": 0}, {"counting": True}])
@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("name", ["gripper-4", "visitall-3x3", "blocksworld-4"])
def test_store_against_sets(name: str, arity: int, options: dict[str, int]) -> None:
    task = small_task(name)
    store = NoveltyStore(task, arity, **options)  # type: ignore[arg-type]
    seen: set[tuple[tuple[int, int], ...]] = set()
    for i, state in enumerate(walk(task, 300, 3)):
        novel = not tuples(state, arity) <= seen
        for _ in range(2):  # a test changes nothing
            assert store.is_novel(state) == novel
        if i % 3 == 0:
            store.insert(state)
            seen |= tuples(state, arity)
    assert store.tuples == len({t for t in seen if len(t) == arity})


def test_pairs_of_a_task_with_one_variable_are_facts() -> None:
    task = Task(sas([3], [0], [(0, 2)], ["0\n1\n0 0 -1 1\n1"]).encode())
    store = NoveltyStore(task, 2)
    assert store.is_novel(State([0]))
    store.insert(State([0]))
    assert not store.is_novel(State([0]))
    assert store.is_novel(State([1]))


def test_unique_pairs() -> None:
    task = small_task("gripper-4")
    states = list(dict.fromkeys(walk(task, 60, 5)))[:20]
    expected = []
    for state in states:
        others = set().union(*(tuples(other, 2) for other in states if other != state))
        expected.append(any(len(t) == 2 and t not in others for t in tuples(state, 2)))
    assert with_unique_pair(task, states, states) == expected
    assert True in expected
