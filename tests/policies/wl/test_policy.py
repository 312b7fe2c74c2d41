"""Values agree with their definition; the two ways to choose; which tasks a ranker fits."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import misstep
from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, Candidates, States
from misstep.policies.wl import WlPolicy, naive
from misstep.policies.wl.model_file import WlModel, write_model
from misstep.policies.wl.policy import Options
from misstep.tasks.task import State, Task

Make = Callable[..., WlModel]
ZOO = Path(misstep.__file__).parent / "policies" / "zoo" / "ferry-wl.model"


@pytest.mark.parametrize("multiset", [False, True])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3])
@pytest.mark.parametrize("statics", ["all", "none", "auto"])
def test_values_are_those_of_the_definition(
    task: Task, states: States, ranker: Make, iterations: int, multiset: bool, statics: str
) -> None:
    model = ranker(iterations, multiset=multiset)
    policy = WlPolicy(task, model, Options(statics=statics))
    expected = [
        naive.value(model, policy.layout.graph(row), policy.layout.objects)
        for row in states.tolist()
    ]
    assert policy.values(states) == pytest.approx(expected, abs=1e-9)
    assert len(set(np.round(expected, 6))) > 3


def test_a_new_colour_weighs_nothing_and_spreads(task: Task, states: States, ranker: Make) -> None:
    """All weights 1: without unseen colours, each iteration would count all nodes."""
    model = ranker(3, met=1)
    model = dataclasses.replace(model, weights=np.ones_like(model.weights))
    policy = WlPolicy(task, model)
    counts = policy.values(states)
    assert counts[0] == 4 * len(policy.layout.graph(states[0].tolist()))
    assert counts.min() < counts[0]


def test_statics_that_training_never_met_are_left_out(task: Task, ranker: Make) -> None:
    model = ranker(1)
    door = 1 + 5 * 2 + 4
    assert door in model.initial
    blind = dataclasses.replace(
        model, initial={raw: colour for raw, colour in model.initial.items() if raw != door}
    )
    assert any(node.is_a == door for node in WlPolicy(task, model).layout.nodes)
    assert not any(node.is_a == door for node in WlPolicy(task, blind).layout.nodes)
    both = WlPolicy(task, blind, Options(statics="all"))
    assert any(node.is_a == door for node in both.layout.nodes)


def best(policy: WlPolicy, row: np.ndarray) -> int:
    """The definition of greedy, in Python."""
    operators = policy.task.applicable_batch(row[None])[1]
    rows = np.repeat(row[None], len(operators), axis=0)
    values = policy.values(policy.task.apply_batch(rows, operators))
    return int(operators[np.flatnonzero(values <= values.min() + 1e-9)[0]])


def test_greedy_takes_the_least_successor(task: Task, states: States, ranker: Make) -> None:
    policy = WlPolicy(task, ranker())
    answers = policy.decide(states)
    assert answers.operators.tolist() == [best(policy, row) for row in states]
    assert answers.evaluations == len(task.applicable_batch(states)[1])


def test_ties_go_to_the_lowest_operator_among_the_candidates(
    task: Task, states: States, ranker: Make
) -> None:
    model = ranker(0)
    flat = dataclasses.replace(model, weights=np.zeros_like(model.weights))
    policy = WlPolicy(task, flat)
    offsets, operators = task.applicable_batch(states)
    assert policy.decide(states).operators.tolist() == operators[offsets[:-1]].tolist()
    last = operators[offsets[1:] - 1]
    only = Candidates(np.arange(len(states) + 1, dtype=np.int64), last)
    assert policy.decide(states, only).operators.tolist() == last.tolist()


def nearest(policy: WlPolicy, state: State, horizon: int) -> int:
    """The definition of hill climbing, in Python."""
    task = policy.task
    value = {s: float(policy.values(np.array([s.values], np.int32))[0]) for s in (state,)}
    row = np.array(state.values, np.int32)
    step = best(policy, row)
    after = task.apply(state, step)
    if policy.values(np.array([after.values], np.int32))[0] < value[state] - 1e-9:
        return step
    first: dict[State, int] = {state: NO_ACTION}
    queue = deque([state])
    while queue:
        here = queue.popleft()
        for operator in task.applicable_batch(np.array([here.values], np.int32))[1].tolist():
            there = task.apply(here, operator)
            if there in first:
                continue
            first[there] = operator if here == state else first[here]
            reached = policy.values(np.array([there.values], np.int32))[0]
            if task.is_goal(there) or reached < value[state] - 1e-9:
                return first[there]
            if len(first) > horizon:
                return NO_ACTION
            queue.append(there)
    return NO_ACTION


@pytest.mark.parametrize("horizon", [3, 10, 10_000])
def test_hill_climbing_looks_around(task: Task, states: States, ranker: Make, horizon: int) -> None:
    policy = WlPolicy(task, ranker(), Options(choose=horizon))
    expected = [nearest(policy, State(row), horizon) for row in states.tolist()]
    assert policy.decide(states).operators.tolist() == expected
    greedy = WlPolicy(task, ranker()).decide(states).operators.tolist()
    assert expected != greedy


def test_specs(task: Task, ranker: Make, saved: Path) -> None:
    write_model(ranker(), saved, {})
    greedy = load_policy(f"wl:{saved}", task)
    hill = load_policy(f"wl:--choose=hill:50 {saved}", task)
    assert greedy.digest != hill.digest
    assert greedy.digest == load_policy(f"wl:--choose=greedy {saved}", task).digest
    for bad in ("hill", "hill:0", "hill:x", "hill:99999999", "hill:1" + "0" * 50, "all", ""):
        with pytest.raises(UsageError, match="--choose"):
            load_policy(f"wl:--choose={bad} {saved}", task)
    with pytest.raises(UsageError, match="--statics"):
        load_policy(f"wl:--statics=some {saved}", task)
    with pytest.raises(UsageError, match="without a file"):
        load_policy("wl:", task)


def test_a_task_of_another_domain_is_named(task: Task) -> None:
    with pytest.raises(UnsupportedError, match="domain ferry, and the task of rooms: its predic"):
        load_policy(f"wl:{ZOO}", task)


def test_a_predicate_that_the_ranker_does_not_know(task: Task, ranker: Make) -> None:
    model = dataclasses.replace(ranker(), predicates=(("at", 2), ("calm", 0), ("door", 2)))
    with pytest.raises(UnsupportedError, match="does not know the predicate seen"):
        WlPolicy(task, model)
    model = dataclasses.replace(ranker(), predicates=(("at", 2), ("calm", 1)))
    with pytest.raises(UnsupportedError, match="calm/1 has 0 arguments there"):
        WlPolicy(task, model)


def test_negative_goals_are_nodes_without_edges(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:requirements :strips :negative-preconditions) (:predicates (p ?x))"
        " (:action flip :parameters (?x) :precondition (p ?x) :effect (not (p ?x)))"
        " (:action back :parameters (?x) :precondition (not (p ?x)) :effect (p ?x)))"
    )
    (tmp_path / "problem.pddl").write_text(
        "(define (problem p) (:domain d) (:objects a b) (:init (p a)) (:goal (and (p b) (not (p a)))))"
    )
    from misstep.policies.wl.layout import layout_of

    own = misstep.load_task(tmp_path)
    assert isinstance(own, Task)
    layout = layout_of(own, [("p", 1)])
    kinds = sorted((node.is_a, node.terms) for node in layout.graph(own.initial_state.values)[2:])
    assert kinds == [
        (2, (1,)),
        (3, ()),
    ]  # p(b) is a goal that is false, p(a) a negative one that is true


def test_the_zoo_is_as_good_as_its_card_says() -> None:
    own = misstep.load_task(misstep.generate("ferry", cars=2, locations=3, seed=0))
    outcomes = {}
    for choose in ("greedy", "hill:1000"):
        found = misstep.test(own, f"wl:--choose={choose} {ZOO}", pool=45, oracle="exact", seed=0)
        outcomes[choose] = [bug.kind for bug in found.bugs]
    assert "fails" in outcomes["greedy"]
    assert outcomes["hill:1000"]
    assert set(outcomes["hill:1000"]) == {"costly"}


@pytest.mark.parametrize("choose", [0, 10])
def test_sums_that_overflow_are_failures(
    task: Task, states: States, ranker: Make, choose: int
) -> None:
    model = ranker(0)
    huge = dataclasses.replace(model, weights=np.full_like(model.weights, 1e308))
    answers = WlPolicy(task, huge, Options(choose=choose)).decide(states[:3])
    assert answers.operators.tolist() == [FAILED] * 3
    assert "infinite" in answers.messages[0]
