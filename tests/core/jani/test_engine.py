"""The engine by ids, its cache, and the exploration under limits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from misstep._core import JaniSpace
from misstep.errors import BudgetLimitError, InputFormatError, MemoryLimitError
from misstep.tasks.jani.task import JaniTask, State
from support.jani import TINY_LINE, bounded, destination, edge, model, op, pa, task, variable


def counter(limit: int) -> JaniTask:
    """Two counters that go up and wrap around, or are swapped."""
    top = bounded(0, limit - 1)
    edges = [
        edge(
            "a",
            True,
            destination({"x": op("%", op("+", "x", 1), limit)}, 0.5),
            destination({"y": "x"}, 0.5),
        ),
        edge("b", op("≠", "x", "y"), destination({"x": "y", "y": "x"})),
    ]
    return task(model([variable("x", top, 0), variable("y", top, 0)], edges))


def reachable(built: JaniTask) -> dict[State, dict[int, set[State]]]:
    open_states = list(built.initial_states())
    found: dict[State, dict[int, set[State]]] = {}
    while open_states:
        state = open_states.pop()
        if state not in found:
            found[state] = {
                label: set(built.outcomes(state, label)) for label in built.applicable(state)
            }
            open_states += [t for outcomes in found[state].values() for t in outcomes]
    return found


def as_graph(space: JaniSpace) -> dict[State, dict[int, set[State]]]:
    graph = {}
    for s in range(len(space)):
        labels = {}
        for i in range(int(space.label_offsets[s]), int(space.label_offsets[s + 1])):
            first, last = int(space.outcome_offsets[i]), int(space.outcome_offsets[i + 1])
            labels[int(space.labels[i])] = {space.state(int(t)) for t in space.outcomes[first:last]}
        graph[space.state(s)] = labels
    return graph


@pytest.mark.parametrize("built", [counter(5), task(TINY_LINE)], ids=["counter", "tiny line"])
def test_the_space_is_what_single_steps_say(built: JaniTask) -> None:
    space = built.space()
    assert as_graph(space) == reachable(built)
    for s in range(space.root_count, len(space)):
        parent, label = int(space.parents[s]), int(space.parent_labels[s])
        assert parent < s
        assert space.state(s) in built.outcomes(space.state(parent), label)


@pytest.mark.parametrize("cache", [0, 10**4, 10**9])
def test_kept_expansions_change_nothing(cache: int) -> None:
    built = counter(40)
    engine, plain = built.new_engine(cache), built.new_engine()
    for _ in range(2):
        for state in [(x, y) for x in range(40) for y in range(0, 40, 3)]:
            id, other = engine.intern(state), plain.intern(state)
            expansion = [
                (label, [engine.values(t) for t in ids]) for label, ids in engine.expand(id)
            ]
            assert (
                engine.applicable(id)
                == [label for label, _ in expansion]
                == plain.applicable(other)
            )
            for label, outcomes in expansion:
                assert [plain.values(t) for t in plain.outcomes(other, label)] == outcomes
                assert [engine.values(t) for t in engine.outcomes(id, label)] == outcomes
    engine.forget_expansions()
    assert engine.outcomes(engine.intern((3, 3)), 1) == []


def test_values_round_trip() -> None:
    built = task(
        model(
            [
                variable("b", "bool", True),
                variable("i", "int", -(2**63)),
                variable("n", bounded(-5, 2**40), 7),
                variable("one", bounded(3, 3), 3),
                variable("x", "real", -0.0),
            ],
            [],
        )
    )
    engine = built.engine
    for state in [
        (True, -(2**63), 7, 3, 0.0),
        (False, 2**63 - 1, 2**40, 3, 1e-300),
        (False, 0, -5, 3, -1.5),
    ]:
        id = engine.intern(state)
        assert engine.values(id) == state
        assert engine.intern(list(state)) == id == engine.find(state)
    assert built.initial_states() == [(True, -(2**63), 7, 3, 0.0)]
    assert engine.find((True, 1, 1, 3, 1.0)) == -1
    assert engine.intern((True, 0, 0, 3, -0.0)) == engine.intern((True, 0, 0, 3, 0.0))
    rows = engine.matrix([engine.intern((True, 5, -5, 3, 0.5))])
    assert rows.tolist() == [[1.0, 5.0, -5.0, 3.0, 0.5]]
    assert built.text((True, 5, -5, 3, 0.5)) == "b=true, i=5, n=-5, one=3, x=0.5"
    assert built.parse_state("b=true, i=5, n=-5, one=3, x=0.5") == (True, 5, -5, 3, 0.5)


@pytest.mark.parametrize(
    "state",
    [(0,), (0, 5), (-1, 0), (0.0, 0), (True, 0), (0, 2**70), ("x", 0), (0, float("nan")), 3],
)
def test_what_is_no_state(state: object) -> None:
    built = counter(5)
    with pytest.raises(InputFormatError):
        built.engine.intern(state)  # type: ignore[arg-type]


def test_ids_and_labels_are_checked() -> None:
    engine = counter(5).engine
    id = engine.intern((0, 0))
    with pytest.raises(IndexError, match="no such state"):
        engine.expand(id + 1)
    with pytest.raises(IndexError, match="no such label"):
        engine.outcomes(id, 2)


def test_limits() -> None:
    built = counter(300)
    with pytest.raises(BudgetLimitError, match="1,000 states explored"):
        built.space(max_states=1000)
    with pytest.raises(BudgetLimitError):
        built.space(max_outcomes=1000)
    with pytest.raises(MemoryLimitError):
        built.space(memory_limit_mb=0)
    partial = JaniSpace(built.core, states=1000)
    assert not partial.complete
    assert partial.limit == "expansions"
    assert len(partial) == len(partial.kinds) == len(partial.label_offsets) - 1 == 1000


def test_spaces_in_threads_share_a_task() -> None:
    built = counter(60)
    sizes: list[int] = []
    threads = [threading.Thread(target=lambda: sizes.append(len(built.space()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(sizes)) == 1


def test_goals_and_unsafe_states_end_the_exploration() -> None:
    edges = [edge("a", op("<", "x", 9), destination({"x": op("+", "x", 1)}))]
    line = [variable("x", bounded(0, 9), 0)]
    ends = task(model(line, edges, prop=pa(unsafe=op("=", "x", 4)))).space()
    assert (len(ends), ends.kinds[-1]) == (5, 1)
    ends = task(model(line, edges)).space()
    assert (len(ends), ends.kinds[-1]) == (10, 3)
    assert np.bincount(ends.kinds, minlength=4).tolist() == [9, 0, 0, 1]
