"""Runs over the policy graph against the plain step-by-step run: same ends, whatever the batches and the order."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep._core import StateSpace
from misstep.errors import ToolError, UsageError
from misstep.policies.function import FunctionPolicy, StateView
from misstep.policies.load import load_policy
from misstep.policies.policy import Answers, Candidates, Policy, States
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner, RunEnds
from misstep.runs.single import run_once
from misstep.tasks.task import State, Task
from support.policies import Misbehaving
from support.tasks import random_costs, rows, small_task

NAMES = ["gripper-4", "blocksworld-4", "spanner-3", "visitall-3x3"]


def every_state(task: Task) -> States:
    return StateSpace(task, [task.initial_state]).states()


def expected(policy: Policy, states: States, max_steps: int | None) -> list[tuple[str, int, int]]:
    result = []
    for values in states.tolist():
        trace = run_once(policy, State(values), max_steps=max_steps)
        result.append((trace.outcome, len(trace.operators), trace.cost))
    return result


def found(ends: RunEnds) -> list[tuple[str, int, int]]:
    return [
        (OUTCOMES[o], int(s), int(c))
        for o, s, c in zip(ends.outcomes, ends.steps, ends.costs, strict=True)
    ]


@pytest.mark.parametrize("trouble", [0, 5, 40])
@pytest.mark.parametrize("max_steps", [None, 0, 1, 3, 10])
@pytest.mark.parametrize("name", NAMES)
def test_ends_equal_the_plain_run(name: str, max_steps: int | None, trouble: int) -> None:
    task = random_costs(small_task(name), seed=1, choices=(0, 1, 4))
    states = every_state(task)[:300]
    plain = expected(Misbehaving(task, 3, trouble), states, max_steps)
    for batch_size in (1, 7, 1000):
        policy = Misbehaving(task, 3, trouble)
        runner = PolicyRunner(policy, batch_size=batch_size)
        assert found(runner.run(states, max_steps)) == plain
        assert len(policy.asked) == len(set(policy.asked)) == runner.policy_calls
        assert max(policy.batches, default=0) <= batch_size


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_ends_do_not_depend_on_what_was_run_before(data: st.DataObject) -> None:
    task = small_task(data.draw(st.sampled_from(NAMES)))
    states = every_state(task)
    policy = Misbehaving(
        task, data.draw(st.integers(0, 50)), data.draw(st.sampled_from([0, 3, 30]))
    )
    runner = PolicyRunner(policy, batch_size=data.draw(st.integers(1, 9)))
    index = st.integers(0, len(states) - 1)
    limits = st.one_of(st.none(), st.integers(0, 12))
    for _ in range(3):
        chosen = states[data.draw(st.lists(index, min_size=1, max_size=8))]
        limit = data.draw(limits)
        assert found(runner.run(chosen, limit)) == expected(policy, chosen, limit)


def test_native_and_python_noise_agree() -> None:
    for name in NAMES:
        task = small_task(name)
        states = every_state(task)
        native = PolicyRunner(load_policy("noisy:0.4:9+first", task))

        def lowest(view: StateView) -> int | None:
            applicable = view.task.applicable(view.state)
            return applicable[0] if applicable else None

        from misstep.policies.noisy import NoisyPolicy

        wrapped = NoisyPolicy(FunctionPolicy(task, lowest), 0.4, 9)
        assert found(native.run(states)) == found(PolicyRunner(wrapped).run(states))


@pytest.mark.parametrize("spec", ["first", "random:4", "heuristic:ff", "noisy:0.5:2+heuristic:max"])
def test_native_policies_equal_the_plain_run(spec: str) -> None:
    for name in NAMES:
        task = small_task(name)
        states = every_state(task)[:200]
        policy = load_policy(spec, task)
        assert found(PolicyRunner(policy).run(states)) == expected(policy, states, 1000)


def test_the_optimal_policy_pays_h_star() -> None:
    for name in NAMES:
        task = random_costs(small_task(name), seed=4, choices=(0, 1, 6))
        space = StateSpace(task, [task.initial_state])
        ends = PolicyRunner(load_policy("optimal", task)).run(space.states())
        solved = np.isfinite(space.h_star)
        assert [OUTCOMES[o] for o in ends.outcomes[solved]] == ["goal"] * int(solved.sum())
        assert (ends.costs[solved] == space.h_star[solved]).all()
        assert {OUTCOMES[o] for o in ends.outcomes[~solved]} <= {"stuck"}


def test_predecessors_and_traces() -> None:
    task = small_task("blocksworld-4")
    runner = PolicyRunner(Misbehaving(task, 5, 2))
    ends = runner.run(every_state(task))
    graph = runner.graph
    successors = graph.successors(np.arange(len(graph), dtype=np.uint32)).tolist()
    for state in range(len(graph)):
        for before in graph.predecessors(state):
            assert successors[before] == state
    leading = {(t, s) for s, t in enumerate(successors) if t >= 0}
    assert leading == {(s, p) for s in range(len(graph)) for p in graph.predecessors(s)}
    for row in range(0, len(ends.ids), 7):
        trace = runner.trace(State(graph.states(ends.ids[row : row + 1])[0].tolist()))
        assert (trace.outcome, len(trace.operators), trace.cost) == found(ends)[row]
        for i, op in enumerate(trace.operators):
            assert task.apply(trace.states[i], op) == trace.states[i + 1]


def test_failures_keep_their_message_and_the_rest_goes_on() -> None:
    task = small_task("gripper-4")

    def fragile(view: StateView) -> int | None:
        if "carry(ball1, left)" in view.facts:
            raise RuntimeError("I am afraid of ball1")
        return view.task.applicable(view.state)[0]

    runner = PolicyRunner(FunctionPolicy(task, fragile))
    states = every_state(task)
    ends = runner.run(states)
    failed = [i for i, o in enumerate(ends.outcomes) if OUTCOMES[o] == "error"]
    assert failed
    (message,) = set(runner.messages.values())
    assert re.fullmatch(r"test_runner.py:\d+: RuntimeError: I am afraid of ball1", message)
    trace = runner.trace(State(states[failed[0]].tolist()))
    assert trace.message == message


class Broken(Policy):
    """Answers in a way that no policy should."""

    def __init__(self, task: Task, answer: object) -> None:
        super().__init__(task)
        self.answer = answer

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        if isinstance(self.answer, Exception):
            raise self.answer
        return Answers(self.answer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(17, dtype=np.int32), "shape (17,)"),
        (np.zeros((1, 1), dtype=np.int32), "shape (1, 1)"),
        (np.array([0.5]), "float64"),
        (np.array([10_000], dtype=np.int32), "no operator 10000"),
        (np.array([-7], dtype=np.int32), "no operator -7"),
        (ZeroDivisionError("oops"), "ZeroDivisionError: oops"),
    ],
)
def test_garbage_is_an_error_of_the_state(answer: object, message: str) -> None:
    task = small_task("gripper-4")
    runner = PolicyRunner(Broken(task, answer))
    trace = runner.trace(task.initial_state)
    assert trace.outcome == "error"
    assert trace.message is not None
    assert message in trace.message


def test_a_policy_that_is_unusable_as_a_whole_says_so() -> None:
    task = small_task("gripper-4")
    with pytest.raises(ToolError, match="the server is gone"):
        PolicyRunner(Broken(task, ToolError("the server is gone"))).trace(task.initial_state)


class Fickle(Policy):
    """Changes its mind at every call."""

    calls = 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        self.calls += 1
        offsets, operators = self.all_candidates(states)
        picks = [
            operators[offsets[i] + self.calls % (offsets[i + 1] - offsets[i])]
            for i in range(len(states))
        ]
        return Answers(np.array(picks, dtype=np.int32))


def test_contradictions_are_reported_and_the_first_answer_stands() -> None:
    task = small_task("gripper-4")
    runner = PolicyRunner(Fickle(task))
    before = runner.trace(task.initial_state)
    calls = runner.policy_calls
    states, said = runner.decided()
    assert said[: len(before.operators)] == before.operators
    runner.ask(runner.graph.add(states))
    contradictions = runner.contradictions
    assert contradictions
    assert contradictions[0].first != contradictions[0].second
    after = runner.trace(task.initial_state)
    assert (before.operators, before.outcome) == (after.operators, after.outcome)
    assert runner.policy_calls == calls
    honest = PolicyRunner(load_policy("random:1", task))
    honest.run(rows([task.initial_state]))
    honest.ask(honest.graph.add(honest.decided()[0]))
    assert honest.contradictions == []


def test_avoiding_visited_states() -> None:
    task = small_task("gripper-4")
    looping = load_policy("first", task)
    assert run_once(looping, task.initial_state).outcome == "loop"
    trace = run_once(looping, task.initial_state, revisit="avoid")
    assert len(set(trace.states)) == len(trace.states)
    assert trace.outcome in ("goal", "stuck")
    with pytest.raises(UsageError, match="cannot choose"):
        run_once(load_policy("optimal", task), task.initial_state, revisit="avoid")
    with pytest.raises(UsageError, match="no revisit mode"):
        run_once(looping, task.initial_state, revisit="maybe")


def test_memory_of_a_million_decisions() -> None:
    task = small_task("visitall-3x3")
    graph = PolicyRunner(load_policy("first", task)).graph
    graph.add(every_state(task))
    per_state = graph.bytes / len(graph)
    assert per_state < 200  # a million within 200 MB
