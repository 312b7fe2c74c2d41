"""The chooser of set-valued policies: a function of the state, whatever the policy does and who asked before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from misstep.errors import UnsupportedError
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT, Candidates, States
from misstep.runs.make import make_runner, nature_of
from misstep.runs.permitted import WorstCase, ask_permitted
from misstep.runs.runner import PolicyRunner
from misstep.runs.single import run
from misstep.tasks.task import State, Task
from support.permitted import (
    DrawingPolicy,
    PlanPolicy,
    SetPolicy,
    Truth,
    by_hash,
    crashing,
    everything,
    improving,
    mostly,
    random_task,
    true_distance,
)
from support.tasks import rows, sas

# Cells in a line, the goal at the end: operators 0 to 3 go on, 4 goes back from 1, 5 falls from 2 into a hole.
LINE = sas(
    [6],
    [0],
    [(0, 4)],
    [
        *(f"0\n1\n0 0 {x} {x + 1}\n1" for x in range(4)),
        "0\n1\n0 0 1 0\n1",
        "0\n1\n0 0 2 5\n1",
    ],
)


def line(**sets: list[int] | type[BaseException]) -> SetPolicy:
    """A policy on the line: `c0=[0]` permits operator 0 in cell 0, an exception is raised there."""

    def rule(_: Task, state: State, __: list[int]) -> list[int]:
        own = sets.get(f"c{state.values[0]}", [state.values[0]])
        if isinstance(own, list):
            return own
        raise own("trouble")

    return SetPolicy(Task(LINE.encode(), name="line"), rule)


def outcome_of(policy: SetPolicy, cell: int = 0) -> tuple[str, list[int]]:
    trace = make_runner(policy).trace(State([cell]))
    return trace.outcome, trace.operators


def test_a_cheapest_run_where_nothing_fails() -> None:
    assert outcome_of(line()) == ("goal", [0, 1, 2, 3])
    facts = WorstCase(line()).facts(State([0]))
    assert facts == (True, 4, 4, None)


def test_the_nearest_failure() -> None:
    assert outcome_of(line(c2=[2, 5], c5=[])) == ("stuck", [0, 1, 5])
    assert outcome_of(line(c1=[1, 4])) == ("loop", [0, 4])
    assert outcome_of(line(c3=[])) == ("stuck", [0, 1, 2])
    assert outcome_of(line(c3=[0, 3])) == ("inapplicable", [0, 1, 2])


def test_facts_about_failures() -> None:
    assert WorstCase(line(c1=[1, 4])).facts(State([0])) == (True, 4, None, None)
    assert WorstCase(line(c3=[])).facts(State([0])) == (True, None, None, None)
    assert WorstCase(line(c3=[]), limit=2).facts(State([0]))[:2] == (False, 2)


@pytest.mark.parametrize("trouble", [RuntimeError, ValueError, SystemExit, KeyError])
def test_crashes_of_the_policy(trouble: type[BaseException]) -> None:
    trace = make_runner(line(c2=trouble)).trace(State([0]))
    assert (trace.outcome, trace.operators) == ("error", [0, 1])
    assert trouble.__name__ in str(trace.message)
    # A failure is worse than a crash.
    assert outcome_of(line(c2=trouble, c1=[1, 4])) == ("loop", [0, 4])


def test_an_answer_that_does_not_come() -> None:
    trace = make_runner(line(c2=TimeoutError)).trace(State([0]))
    assert (trace.outcome, trace.operators) == ("timeout", [0, 1])
    assert not WorstCase(line(c2=TimeoutError)).facts(State([0])).closed


@pytest.mark.parametrize("nonsense", [[99], [-1]])
def test_operators_that_do_not_exist(nonsense: list[int]) -> None:
    trace = make_runner(line(c2=nonsense)).trace(State([0]))
    assert trace.outcome == "error"
    assert "no operator" in str(trace.message)


Garbled = Callable[[Candidates], Any]


@pytest.mark.parametrize(
    "garble",
    [
        lambda _: None,
        lambda own: (own.offsets[:-1], own.operators),
        lambda own: (own.offsets + 1, own.operators),
        lambda own: (own.offsets, own.operators.astype(float)),
        lambda own: (own.offsets, own.operators[:, None]),
        lambda own: own.operators,
    ],
)
def test_answers_that_are_none(garble: Garbled) -> None:
    policy = line()
    right = policy.permitted
    policy.permitted = lambda states: garble(right(states))  # type: ignore[method-assign]
    assert outcome_of(policy)[0] == "error"


def test_sets_are_put_in_order() -> None:
    policy = line()
    policy.permitted = lambda _: Candidates(  # type: ignore[method-assign, assignment]
        np.array([0, 3]), np.array([1, 0, 1])
    )
    found = ask_permitted(policy, np.array([[0]], dtype=np.int32))
    assert found.operators.tolist() == [0, 1]


def test_one_bad_state_does_not_condemn_its_batch() -> None:
    found = ask_permitted(line(c2=RuntimeError), rows([State([x]) for x in range(4)]))
    assert list(found.failures) == [2]
    assert found.operators.tolist() == [0, 1, 3]


@pytest.mark.parametrize("limit", [1, 5, 20, 1000])
@pytest.mark.parametrize("dearest", [False, True])
def test_neither_history_nor_batches_matter(limit: int, dearest: bool) -> None:
    """Everything that is said of a state is the same in a new chooser as in one that has seen all others."""
    task = random_task(5)
    rule = crashing(mostly(improving(true_distance), 30, 1), 3, 2)
    states = [State(list(values)) for values in Truth(task, None).states]

    def chooser(batch: int) -> WorstCase:
        return WorstCase(SetPolicy(task, rule), limit=limit, dearest=dearest, batch_size=batch)

    used = chooser(64)
    for state in reversed(states):
        used.decide(rows([state]))
    together = chooser(1).decide(rows(states)).operators.tolist()
    assert used.decide(rows(states)).operators.tolist() == together
    for state, decision in zip(states, together, strict=True):
        fresh = chooser(7)
        assert fresh.decide(rows([state])).operators.tolist() == [decision]
        assert fresh.facts(state) == used.facts(state)
        assert set(fresh.certificate(state)) == set(used.certificate(state))


def test_each_state_is_asked_about_once() -> None:
    task = random_task(5)
    policy = SetPolicy(task, everything)
    chooser = WorstCase(policy)
    states = [State(list(values)) for values in Truth(task, None).states]
    for state in states:
        chooser.decide(rows([state]))
        chooser.facts(state)
    assert sum(policy.batches) == chooser.asked <= len(states)


def test_special_answers() -> None:
    answers = WorstCase(line(c1=[], c2=RuntimeError, c3=TimeoutError)).decide(
        rows([State([1]), State([2]), State([3])])
    )
    assert answers.operators.tolist() == [NO_ACTION, FAILED, TIMED_OUT]
    assert set(answers.messages) == {1, 2}


# -- policies that draw ---------------------------------------------------------------------------


def drawing(limit: int = 1000, **sets: Any) -> tuple[WorstCase, State]:
    inner = line(**sets)
    return WorstCase(DrawingPolicy(inner.task, inner.rule), risk=True, limit=limit), State([0])


def test_risk() -> None:
    policy, start = drawing()
    assert policy.facts(start).risk == pytest.approx((0, 0), abs=2e-9)
    policy, start = drawing(c2=[2, 5], c5=[])
    assert policy.facts(start).risk == pytest.approx((0.5, 0.5), abs=2e-9)
    policy, start = drawing(c3=[])
    assert policy.facts(start).risk == pytest.approx((1, 1), abs=2e-9)
    # The way back does no harm in the end: some day the run gets through. But it is permitted to go round for ever.
    policy, start = drawing(c1=[1, 4], c2=[2, 5], c5=[])
    assert policy.facts(start).risk == pytest.approx((0.5, 0.5), abs=2e-9)
    assert PolicyRunner(policy).trace(start).outcome == "loop"


def test_no_risk_is_told_of_what_is_not_closed() -> None:
    policy, start = drawing(limit=2)
    assert policy.facts(start).risk is None


@pytest.mark.parametrize("weights", [[0.5, 0.4], [1.5, -0.5], [np.nan, 1], [1.0]])
def test_probabilities_that_are_none(weights: list[float]) -> None:
    policy = DrawingPolicy(line().task, everything)
    offsets, operators = np.array([0, 2]), np.array([0, 1], dtype=np.int32)

    def probabilities(_: States) -> tuple[Candidates, Any]:
        return Candidates(offsets, operators), np.array(weights)

    policy.probabilities = probabilities  # type: ignore[method-assign, assignment]
    found = ask_permitted(policy, np.array([[0]], dtype=np.int32))
    assert list(found.failures) == [0]


def test_what_is_never_drawn_is_not_permitted() -> None:
    policy = DrawingPolicy(line().task, everything)
    offsets, operators = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    policy.probabilities = lambda _: (  # type: ignore[method-assign, assignment]
        Candidates(offsets, operators),
        np.array([1.0, 0.0]),
    )
    found = ask_permitted(policy, np.array([[0]], dtype=np.int32))
    assert found.operators.tolist() == [0]


# -- which runner ---------------------------------------------------------------------------------


def test_natures() -> None:
    task = Task(LINE.encode(), name="line")
    assert nature_of(SetPolicy(task, everything)) == "set"
    assert nature_of(DrawingPolicy(task, everything)) == "set"
    assert nature_of(PlanPolicy(task, lambda *_: [])) == "plan"


def test_other_runners_refuse_what_is_no_function_of_the_state() -> None:
    for policy in (line(), PlanPolicy(line().task, lambda *_: [])):
        with pytest.raises(UnsupportedError, match="not a function of the state"):
            PolicyRunner(policy)


def test_a_single_run_is_the_worst_one() -> None:
    policy = line(c1=[1, 4])
    assert run(policy, policy.task).outcome == "loop"
    hashed = SetPolicy(policy.task, by_hash(100, 0))
    assert run(hashed, policy.task).outcome == "loop"
