"""The knowledge of a store gives another store the same bounds, and knowledge that does not fit is refused."""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np
import pytest

from misstep._core import CounterRandom, StateSpace
from misstep.errors import InputFormatError
from misstep.oracles.bounds import BoundStore
from misstep.oracles.knowledge import Knowledge
from misstep.tasks.task import State, Task
from support.oracles import sample, variant
from support.plans import bad_plan
from support.tasks import rows, sas

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5)]
NAMES = ["blocksworld-4", "transport-2", "spanner-3", "conditional"]


def random_store(task: Task, space: StateSpace, seed: int, jumps: bool = True) -> BoundStore:
    """A store with random true facts: paths, plans, lookaheads, proofs, and comparisons that are a little too weak."""
    store = BoundStore(task)
    random = CounterRandom(seed)
    for i in range(25):
        state = space.state(random.below(len(space)))
        h_star = space.h_star[space.find(state)]
        at, path = state, []
        for _ in range(random.below(8)):
            if operators := task.applicable(at):
                path.append(operators[random.below(len(operators))])
                at = task.apply(at, path[-1])
        store.add_path(state, path)
        kind = random.below(4)
        if kind == 0:
            store.raise_lower_bound(state, max(0, h_star - random.below(3)))
        elif kind == 1 and math.isfinite(h_star):
            plan = bad_plan(space, state, seed, i)
            store.add_plan(state, plan, sum(task.cost(op) for op in plan))
        elif kind == 2:
            store.look_ahead(state, 2, math.inf)
        elif jumps and math.isfinite(h_star):
            for other in sample(space, 10):
                other_h = space.h_star[space.find(other)]
                if other != state and math.isfinite(other_h):
                    store.add_dominance(other, state, int(other_h - h_star) - random.below(2))
    return store


def naive_bounds(task: Task, known: Knowledge) -> list[tuple[float, float]]:
    """The bounds that follow from the arrays alone, repeated until nothing changes."""
    lower = [math.inf if bound < 0 else float(bound) for bound in known.lower.tolist()]
    upper = [0.0 if task.is_goal(State(row)) else math.inf for row in known.states.tolist()]
    changed = True
    while changed:
        changed = False
        for source, op, target, value in known.edges.tolist():
            weight = -value if op == -1 else task.cost(op)
            if upper[target] + weight < upper[source]:
                upper[source] = upper[target] + weight
                changed = True
            if op != -1 and lower[source] - weight > lower[target]:
                lower[target] = lower[source] - weight
                changed = True
    return list(zip(lower, upper, strict=True))


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_another_store_gets_the_same_bounds(name: str, costs: tuple[int, ...]) -> None:
    task, space = variant(name, costs)
    derived = 0
    for seed in range(8):
        store = random_store(task, space, seed)
        given = sample(space, 20)
        if seed % 2:
            given = [State(row) for row in store.graph.states().tolist()[:40]]
        known = store.knowledge(rows([*given, *given[:3]]))
        assert known.states[: len(given)].tolist() == [list(state.values) for state in given]
        assert len({tuple(row) for row in known.states.tolist()}) == len(known.states)
        assert len({tuple(edge) for edge in known.edges.tolist()}) == len(known.edges)
        other = BoundStore(task)
        other.add_knowledge(Knowledge.from_bytes(known.to_bytes(), task.variable_count))
        for state, bounds in zip(given, naive_bounds(task, known), strict=False):
            assert other.bounds(state) == store.bounds(state) == bounds
            assert other.plan_cost(state) == store.plan_cost(state)
            assert (other.derivation(state) is None) == (store.derivation(state) is None)
            derived += other.derivation(state) is not None
        assert len(other) == len(known.states)
        other.check()
    assert derived


@pytest.mark.parametrize("name", NAMES)
def test_transitions_between_given_states_are_known(name: str) -> None:
    """Also those of runs that do not reach the goal: bounds that are found later are propagated along them."""
    task, space = variant(name, ())
    store = random_store(task, space, 5, jumps=False)
    given = [State(row) for row in store.graph.states().tolist()[:60]]
    known = store.knowledge(rows(given))
    edges = {(source, op): target for source, op, target, _ in known.edges.tolist()}
    numbers = {state: i for i, state in enumerate(given)}
    expanded = BoundStore(task)
    for state in given[:20]:
        expanded.look_ahead(state, 1, math.inf)
    all_known = expanded.knowledge(rows(given)).edges.tolist()
    for state in given[:20]:
        if task.is_goal(state):
            continue
        for op in task.applicable(state):
            target = numbers.get(task.apply(state, op))
            assert target is None or [numbers[state], op, target, 0] in all_known
    for (source, op), target in edges.items():
        state = State(known.states[source].tolist())
        assert task.apply(state, op).values == tuple(known.states[target].tolist())


def test_knowledge_has_plans_and_transitions_between_given_states() -> None:
    task, s = line()
    store = BoundStore(task)
    store.add_path(s[0], [0, 1])
    known = store.knowledge(rows([s[1], s[0], s[2]]))
    assert known.states.tolist() == [[1], [0], [2]]
    assert known.edges.tolist() == [[0, 1, 2, 0], [1, 0, 0, 0]]
    assert known.lower.tolist() == [1, 1, 1]
    assert store.knowledge(rows([s[0], s[2]])).edges.tolist() == []
    # The states of a known plan are part of the knowledge.
    store.add_path(s[2], [2])
    store.raise_lower_bound(s[0], 3)
    known = store.knowledge(rows([s[0], s[4]]))
    assert known.states.tolist() == [[0], [4], [1], [2], [3]]
    assert known.edges.tolist() == [[0, 0, 2, 0], [2, 1, 3, 0], [3, 2, 4, 0]]
    assert known.lower.tolist() == [3, 1, 2, 1, 0]
    with pytest.raises(InputFormatError, match="does not fit"):
        store.add_knowledge(Knowledge(known.states, known.lower[:2], known.edges))


def test_a_better_derivation_comes_after_the_plan() -> None:
    """Both are part of the knowledge: the plan of the first state, and the jump that proves a lower cost."""
    task, s = line()
    store = BoundStore(task)
    store.add_path(s[0], [0, 1, 2])
    store.add_dominance(s[2], s[1], 0)
    known = store.knowledge(rows([s[0]]))
    assert known.states.tolist() == [[0], [1], [2], [3]]
    assert known.edges.tolist() == [[0, 0, 1, 0], [1, 1, 2, 0], [2, 2, 3, 0], [1, -1, 2, 0]]
    other = BoundStore(task)
    other.add_knowledge(known)
    assert other.bounds(s[0]).upper == 2
    assert other.witness(s[0]) == (0, 1, 2)


def test_pieces_are_merged_by_adding_them() -> None:
    task, space = variant("transport-2", (0, 1, 5))
    given = rows(sample(space, 30))
    stores = [random_store(task, space, seed) for seed in range(3)]
    merged = BoundStore(task)
    for store in stores:
        merged.add_knowledge(store.knowledge(given))
    for state in sample(space, 30):
        low, high = merged.bounds(state)
        assert low >= max(store.bounds(state).lower for store in stores)
        assert high <= min(store.bounds(state).upper for store in stores)
        assert low <= space.h_star[space.find(state)] <= high


def test_knowledge_depends_on_nothing_but_the_store() -> None:
    task, space = variant("blocksworld-4", ())
    given = rows(sample(space, 30))
    first, second = (random_store(task, space, 4).knowledge(given) for _ in range(2))
    assert first.to_bytes() == second.to_bytes()


def line() -> tuple[Task, list[State]]:
    """Four states in a row, and one that nothing leads away from."""
    steps = [f"0\n1\n0 0 {i} {i + 1}\n1" for i in range(3)]
    task = Task(sas([5], [0], [(0, 3)], steps).encode())
    return task, [State([i]) for i in range(5)]


def good() -> Knowledge:
    return Knowledge(
        np.array([[0], [1], [2]], np.int32),
        np.array([2, -1, 0], np.int64),
        np.array([[0, 0, 1, 0], [1, 1, 2, 0], [0, -1, 2, -1]], np.int64),
    )


@pytest.mark.parametrize(
    ("part", "row", "column", "value", "message"),
    [
        (0, 0, 0, 5, "row 0: variable 0 has no value 5"),
        (0, 0, 0, -1, "row 0: variable 0 has no value -1"),
        (1, 0, None, -2, "lower bound -2 is out of range"),
        (1, 1, None, 1 << 62, "lower bound .* is out of range"),
        (2, 0, 0, 3, "edge 0: there is no state 3"),
        (2, 1, 0, -1, "edge 1: there is no state -1"),
        (2, 1, 2, 1 << 40, "edge 1: there is no state"),
        (2, 0, 1, 3, "operator 3 does not exist"),
        (2, 0, 1, -2, "operator -2 does not exist"),
        (2, 0, 1, 1 << 32, "does not exist"),
        (2, 0, 1, 1, "operator 1 does not apply"),
        (2, 0, 2, 2, "operator 0 does not lead to"),
        (2, 0, 3, 1, "operator 0 has a value"),
        (2, 2, 2, 0, "a jump from a state to itself"),
        (2, 2, 3, 1 << 62, "is out of range"),
        (2, 2, 3, -(1 << 62), "is out of range"),
    ],
)
def test_knowledge_that_does_not_fit_is_refused(
    part: int, row: int, column: int | None, value: int, message: str
) -> None:
    task, _ = line()
    known = good()
    BoundStore(task).add_knowledge(known)
    array = (known.states, known.lower, known.edges)[part]
    array[row if column is None else (row, column)] = value
    store = BoundStore(task)
    with pytest.raises(InputFormatError, match=message):
        store.add_knowledge(known)
    with pytest.raises(ValueError, match=message):
        store.graph.add_knowledge(known.states, known.lower, known.edges)
    assert len(store) == 0


def test_arrays_of_other_shapes_are_refused() -> None:
    task, _ = line()
    known = good()
    states, lower, edges = known.states, known.lower, known.edges
    store = BoundStore(task)
    for wrong in (
        (np.zeros((3, 2), np.int32), lower, edges),
        (states, lower[:2], edges),
        (states, lower[:, None].copy(), edges),
        (states, lower, edges[:, :3].copy()),
        (states, lower, edges.reshape(-1)),
    ):
        with pytest.raises(ValueError, match=r"need|width|variables|values"):
            store.graph.add_knowledge(*wrong)
    nothing = Knowledge(states[:0], lower[:0], edges[:0])
    store.add_knowledge(Knowledge.from_bytes(nothing.to_bytes(), 1))
    assert len(store) == 0


def test_damaged_bytes_are_refused() -> None:
    task, space = variant("blocksworld-4", ())
    known = random_store(task, space, 1).knowledge(rows(sample(space, 5)))
    data = known.to_bytes()
    width = task.variable_count
    again = Knowledge.from_bytes(data, width)
    assert again.states.tolist() == known.states.tolist()
    assert again.lower.tolist() == known.lower.tolist()
    assert again.edges.tolist() == known.edges.tolist()
    for cut in range(len(data)):
        with pytest.raises(InputFormatError):
            Knowledge.from_bytes(data[:cut], width)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x55
        try:
            read = Knowledge.from_bytes(bytes(changed), width)
        except InputFormatError:
            continue
        # A few bits between the end of the packed data and its checksum mean nothing.
        assert read.states.tolist() == known.states.tolist()
        assert read.edges.tolist() == known.edges.tolist()
    with pytest.raises(InputFormatError, match="length"):
        Knowledge.from_bytes(data + b"x", width)
    with pytest.raises(InputFormatError, match="variables"):
        Knowledge.from_bytes(data, width + 1)


@pytest.mark.parametrize("numbers", [(1 << 63, 1, 0), (0, 1, 1 << 39), (1 << 30, 1, 0)])
def test_a_header_that_promises_too_much_allocates_nothing(numbers: tuple[int, int, int]) -> None:
    data = struct.pack("<4s3Q", b"MSK1", *numbers) + zlib.compress(bytes(10_000))
    with pytest.raises(InputFormatError, match="larger than it can be"):
        Knowledge.from_bytes(data, 1)


def test_data_beyond_the_size_in_the_header_is_not_unpacked() -> None:
    data = struct.pack("<4s3Q", b"MSK1", 1, 1, 0) + zlib.compress(bytes(100_000_000))
    with pytest.raises(InputFormatError, match="length"):
        Knowledge.from_bytes(data, 1)
