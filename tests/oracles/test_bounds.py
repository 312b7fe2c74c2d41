"""The bound store: bounds are propagated, and a contradiction raises an error."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from misstep import _core
from misstep._core import PolicyGraph, RunFeeder
from misstep.errors import MisstepError
from misstep.oracles.bounds import BoundStore
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from support.oracles import sample, variant
from support.plans import bad_plan
from support.tasks import rows, sas, walk

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5)]
# A chain 0 -> 1 -> 2 -> 3 of costs 1, 2, 4; a short cut from 1 to 3 at 3; a pit 4 that 0 falls into.
CHAIN = sas(
    [5],
    [0],
    [(0, 3)],
    [
        "0\n1\n0 0 0 1\n1",
        "0\n1\n0 0 1 2\n2",
        "0\n1\n0 0 2 3\n4",
        "0\n1\n0 0 1 3\n3",
        "0\n1\n0 0 0 4\n1",
    ],
)


def chain() -> tuple[BoundStore, list[State]]:
    return BoundStore(Task(CHAIN.encode())), [State([i]) for i in range(5)]


def test_upper_bounds_are_propagated_backwards() -> None:
    store, s = chain()
    store.add_path(s[0], [0, 1])
    assert [store.bounds(x).upper for x in s] == [math.inf, math.inf, math.inf, 0, math.inf]
    store.add_plan(s[2], [2], 4)
    assert [store.bounds(x).upper for x in s] == [7, 6, 4, 0, math.inf]
    assert store.witness(s[0]) == (0, 1, 2)
    store.add_path(s[1], [3])
    assert [store.bounds(x).upper for x in s] == [4, 3, 4, 0, math.inf]
    assert store.witness(s[0]) == (0, 3)
    assert store.witness(s[3]) == ()
    assert store.witness(s[4]) is None


def test_lower_bounds_are_propagated_forwards() -> None:
    store, s = chain()
    store.raise_lower_bound(s[0], 4)
    assert [store.bounds(x).lower for x in s] == [4, 1, 1, 0, 1]
    store.add_path(s[0], [0, 1])
    assert [store.bounds(x).lower for x in s] == [4, 3, 1, 0, 1]
    store.add_path(s[0], [4])
    assert store.bounds(s[4]).lower == 3
    store.raise_lower_bound(s[0], 2)  # weaker: nothing happens
    assert [store.bounds(x).lower for x in s] == [4, 3, 1, 0, 3]
    store.raise_lower_bound(s[4], math.inf)
    assert store.bounds(s[4]) == (math.inf, math.inf)
    store.check()


def test_closing_makes_bounds_exact() -> None:
    store, s = chain()
    assert store.close(s[0], expansions=1) == (1, "expansions")
    assert store.bounds(s[0]).upper == math.inf
    assert store.close(s[0]) == (4, None)
    assert [store.bounds(x) for x in s] == [(4, 4), (3, 3), (4, 4), (0, 0), (math.inf, math.inf)]


def test_states_that_a_dead_end_leads_to_are_dead_ends() -> None:
    task, space = variant("spanner-3", ())
    store = BoundStore(task)
    dead = [s for s in range(len(space)) if math.isinf(space.h_star[s]) and space.transitions(s)]
    source = dead[0]
    op, target = space.transitions(source)[0]
    store.add_path(space.state(source), [op])
    store.raise_lower_bound(space.state(source), math.inf)
    assert store.bounds(space.state(target)).lower == math.inf


def test_contradictory_bounds_raise_an_error() -> None:
    store, s = chain()
    store.add_plan(s[0], [0, 3], 4)
    with pytest.raises(
        MisstepError, match=r"no plan is said to be cheaper than 5, but one costs 4.*op0.*op3"
    ):
        store.raise_lower_bound(s[0], 5)
    with pytest.raises(MisstepError, match="internal error"):
        store.bounds(s[0])
    with pytest.raises(MisstepError, match="internal error"):
        store.check()
    # The wrong bound has been propagated to the next state too.
    with pytest.raises(MisstepError, match="cheaper than 4, but one costs 3"):
        store.bounds(s[1])


def test_sequences_that_are_not_plans_are_refused() -> None:
    store, s = chain()
    for plan, cost, message in [
        ([1], 2, "step 1: operator 1 does not apply"),
        ([0, 17], 2, "step 2: operator 17 does not apply"),
        ([0], 1, "found a plan of cost 1, but its transitions give inf"),
        ([0, 1, 2], 6, "found a plan of cost 6, but its transitions give 7"),
    ]:
        with pytest.raises(MisstepError, match=message):
            store.add_plan(s[0], plan, cost)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", ["blocksworld-4", "transport-2", "spanner-3", "conditional"])
def test_bounds_from_random_paths_and_proofs_enclose_the_truth(
    name: str, costs: tuple[int, ...]
) -> None:
    """After random true facts in any order, the bounds enclose h* and each witness costs as much as its bound."""
    task, space = variant(name, costs)
    store = BoundStore(task)
    for seed, state in enumerate(sample(space, 25)):
        path = walk(task, 8, seed, state)
        ops = []
        for here, there in pairwise(path):
            op = next((o for o in task.applicable(here) if task.apply(here, o) == there), None)
            if op is None:
                break
            ops.append(op)
        store.add_path(state, ops)
        h_star = space.h_star[space.find(state)]
        if seed % 3 == 0:
            store.raise_lower_bound(state, h_star)
        if seed % 3 == 1 and math.isfinite(h_star):
            plan = bad_plan(space, state, seed, seed)
            store.add_plan(state, plan, sum(task.cost(op) for op in plan))
        if seed % 5 == 0:
            store.look_ahead(state, 2, math.inf)
    store.check()
    lower, upper = store.graph.all_bounds()
    for row, low, high in zip(store.graph.states(), lower, upper, strict=True):
        state = State(row.tolist())
        assert low <= space.h_star[space.find(state)] <= high
        assert (low, high) == store.bounds(state)
        witness = store.witness(state)
        assert (witness is None) == math.isinf(high)
        assert witness is None or sum(task.cost(op) for op in witness) == high


@pytest.mark.parametrize("name", ["blocksworld-4", "ferry-3"])
def test_runs_are_added_once_and_continued_where_they_were_cut(name: str) -> None:
    task, space = variant(name, ())
    for policy in ("first", "heuristic:ff", "random:3"):
        runner = PolicyRunner(load_policy(policy, task))
        store = BoundStore(task)
        states = sample(space, 60)
        for max_steps in (1, 3, 4, None):
            ends = runner.run(rows(states), max_steps)
            store.add_runs(runner.graph, ends.ids, max_steps)
            transitions = store.graph.transition_count
            store.add_runs(runner.graph, ends.ids, max_steps)
            assert store.graph.transition_count == transitions
            for state, cost, outcome in zip(states, ends.costs, ends.outcomes, strict=True):
                if outcome == 1:
                    assert store.bounds(state).upper <= cost
        # All runs are known to their ends, so each decision is there exactly once.
        decided = runner.graph.decisions(np.arange(len(runner.graph), dtype=np.uint32))
        assert store.graph.transition_count == np.count_nonzero(decided >= 0)


@pytest.mark.parametrize("max_steps", [1, 2, 5])
def test_a_run_is_added_only_as_far_as_it_was_followed(max_steps: int) -> None:
    """The rest of a run is not added, even if the policy graph knows it."""
    task, space = variant("gripper-4", ())
    fresh, asked = (PolicyRunner(load_policy("heuristic:ff", task)) for _ in range(2))
    asked.run(rows(sample(space, 1000)), None)
    states = []
    for runner in (fresh, asked):
        store = BoundStore(task)
        ends = runner.run(rows(sample(space, 7)), max_steps)
        store.add_runs(runner.graph, ends.ids, max_steps)
        states.append((store.graph.transition_count, sorted(store.graph.states().tolist())))
    assert states[0] == states[1]


def test_graphs_of_two_tasks_do_not_mix() -> None:
    one, other = variant("ferry-3", ())[0], variant("gripper-4", ())[0]
    with pytest.raises(ValueError, match="different tasks"):
        RunFeeder(PolicyGraph(one), _core.BoundStore(other))


def test_the_leaves_of_a_lookahead_agree_with_the_naive_version() -> None:
    task, space = variant("transport-2", (0, 1, 5))
    for state in sample(space, 15):
        for depth in range(4):
            for bound in (math.inf, 6):
                leaves = BoundStore(task).look_ahead(state, depth, bound)
                expected = naive_leaves(task, state, depth, bound)
                found = {
                    State(row.tolist()): int(cost)
                    for row, cost in zip(leaves.states, leaves.costs, strict=True)
                }
                assert found == expected
                assert leaves.limit is None


def naive_leaves(task: Task, state: State, depth: int, bound: float) -> dict[State, int]:
    """Layer by layer; a state that was reached in fewer steps at the same cost or less is not expanded again."""
    best = {state: 0}
    layer = {state: 0}
    for _ in range(depth):
        following: dict[State, int] = {}
        for here, cost in layer.items():
            if task.is_goal(here):
                continue
            for op in task.applicable(here):
                there, total = task.apply(here, op), cost + task.cost(op)
                if total < min(bound, best.get(there, math.inf), following.get(there, math.inf)):
                    following[there] = total
        best.update(following)
        layer = following
    return {s: c for s, c in layer.items() if not task.is_goal(s)}


def test_a_lookahead_that_a_limit_cuts_still_has_leaves() -> None:
    task, _ = variant("gripper-4", ())
    whole = BoundStore(task).look_ahead(task.initial_state, 3, math.inf)
    for expansions in range(whole.expansions):
        part = BoundStore(task).look_ahead(task.initial_state, 3, math.inf, expansions=expansions)
        assert (part.expansions, part.limit) == (expansions, "expansions")
        assert len(part.states)


def test_a_jump_is_kept_once() -> None:
    store, states = chain()
    store.add_plan(states[1], [3], 3)
    store.add_plan(states[2], [2], 4)
    for _ in range(3):
        store.add_dominance(states[2], states[0], -3)
    assert store.graph.jumps == 1
    assert store.bounds(states[0]).upper == 7
    store.add_dominance(states[2], states[0], -5)  # says less
    assert store.graph.jumps == 1
    store.add_dominance(states[1], states[0], -3)  # another pair
    assert store.graph.jumps == 2
    assert store.bounds(states[0]).upper == 6
    store.add_dominance(states[2], states[0], -1)  # says more
    assert store.bounds(states[0]).upper == 5
    derivation = store.derivation(states[0])
    assert derivation is not None
    jumps = [(step.state, step.value) for step in derivation.steps if step.operator is None]
    assert jumps == [(states[2], -1)]
    assert derivation.bound(store.task) == 5
