"""Python objects as policies, in both worlds: what is taken, what is answered, and what identifies them."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, ToolError, UsageError
from misstep.policies.function import StateView, policy
from misstep.policies.identity import UNKNOWN, object_digest
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, Answers, Candidates, Policy, States
from misstep.runs.single import run_once
from misstep.safety import System, jani_transitions
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task
from support import jani
from support.tasks import rows, small_task, walk

THRESHOLD = 3


def lowest(state: StateView) -> str | None:
    return state.operators[0] if state.operators else None


def above(state: Any) -> int | None:
    return 0 if len(state.values) > THRESHOLD else None


class Actor:
    """Counts how it is asked."""

    def __init__(self, answer: Callable[[Any], Any] = lowest) -> None:
        self.answer = answer
        self.batches: list[int] = []

    def act(self, state: Any) -> Any:
        return self.answer(state)


class Batched(Actor):
    def act_batch(self, states: list[Any]) -> list[Any]:
        self.batches.append(len(states))
        return [self.answer(state) for state in states]


class FromTask:
    def __init__(self, task: Task) -> None:
        self.names = task.operator_names

    def __call__(self, state: StateView) -> str:
        return next(name for name in self.names if name in state.operators)


class Own(Policy):
    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        return Answers(np.full(len(states), NO_ACTION, dtype=np.int32))


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task("gripper-4")


@pytest.fixture(scope="module")
def model() -> JaniTask:
    return jani.task(jani.TINY_LINE)


def label_of(model: JaniTask, code: Any, state: tuple[int, ...] = (0, 1, 0)) -> str | None:
    own = load_policy(code, model)
    system = System(jani_transitions(model), own.policy, inapplicable=own.inapplicable)
    decision = system.native.decision(system.id(state))
    return None if decision is None else str(system.label(decision))


# -- planning tasks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [lowest, policy(lowest), Actor(), Actor, Batched(), FromTask, lambda state: lowest(state)],
    ids=["function", "decorated", "object", "bad class", "batched", "class", "lambda"],
)
def test_everything_that_is_a_policy_of_a_task(task: Task, code: Any) -> None:
    states = rows(walk(task, 30, seed=2))
    if code is Actor:  # makes an actor whose function is the task
        assert load_policy(code, task).decide(states).operators.tolist() == [FAILED] * 31
        return
    own = load_policy(code, task)
    assert own.decide(states).operators.tolist() == (
        load_policy("first", task).decide(states).operators.tolist()
    )
    assert own.in_memory
    assert own.spec == own.name
    assert own.spec.startswith("python object ")
    assert not load_policy("first", task).in_memory
    own.close()


@pytest.mark.parametrize(
    ("answer", "operator"),
    [
        (5, 5),
        (np.int64(5), 5),
        (np.uint8(5), 5),
        (None, NO_ACTION),
        (True, FAILED),
        (5.0, FAILED),
        (-1, NO_ACTION),
        (-2, FAILED),
        (10**6, FAILED),
        ("fly", FAILED),
        ([5], FAILED),
    ],
)
def test_answers_of_a_function(task: Task, answer: Any, operator: int) -> None:
    answers = load_policy(lambda _: answer, task).decide(rows([task.initial_state]))
    assert answers.operators.tolist() == [operator]
    assert list(answers.messages) == ([0] if operator == FAILED else [])


def test_a_batch_is_asked_at_once_and_one_bad_state_does_not_condemn_it(task: Task) -> None:
    states = rows(walk(task, 9, seed=2))
    actor = Batched()
    load_policy(actor, task).decide(states)
    assert actor.batches == [10]

    def sometimes(state: StateView) -> str | None:
        if state.values == tuple(states[3].tolist()):
            raise KeyError("here")
        return lowest(state)

    answers = load_policy(Batched(sometimes), task).decide(states)
    same = [row for row in range(10) if states[row].tolist() == states[3].tolist()]
    assert sorted(answers.messages) == same
    assert (answers.operators == FAILED).sum() == len(same)

    short = SimpleNamespace(act=lowest, act_batch=lambda states: [None] * (len(states) + 1))
    answers = load_policy(short, task).decide(states)
    assert answers.operators.tolist() == [FAILED] * 10
    assert "act_batch answered" in answers.messages[0]


def test_values_let_an_object_choose(task: Task) -> None:
    class Valued:
        def act(self, state: StateView) -> str:
            return state.operators[0]

        def values(self, state: StateView) -> dict[str, float]:
            return {name: -i for i, name in enumerate(state.operators)}

    own = load_policy(Valued(), task)
    assert own.chooses
    states = rows([task.initial_state])
    operators = own.all_candidates(states).operators
    rest = Candidates(np.array([0, len(operators) - 1]), operators[1:])
    assert own.decide(states, rest).operators.tolist() == [operators[1]]
    with pytest.raises(UsageError, match="cannot choose"):
        run_once(load_policy(lowest, task), task.initial_state, revisit="avoid")


def test_a_policy_is_taken_as_it_is(task: Task) -> None:
    loaded = load_policy("first", task)
    assert load_policy(loaded, task) is loaded
    own = Own(task)
    assert load_policy(own, task) is own
    assert own.spec == f"python object {__name__}.Own"
    assert own.digest
    assert isinstance(load_policy(Own, task), Own)
    with pytest.raises(UsageError, match="is bound to the task"):
        load_policy(loaded, small_task("ferry-3"))


@pytest.mark.parametrize("given", [7, None, object(), ["first"], b"first"])
def test_what_is_no_policy(task: Task, model: JaniTask, given: Any) -> None:
    for own in (task, model):
        with pytest.raises(
            UsageError, match="is not a policy; expected a spec such as 'first', a fu"
        ):
            load_policy(given, own)


def test_what_is_no_task_or_no_option(task: Task, model: JaniTask) -> None:
    with pytest.raises(UsageError, match="'gripper' is not a task"):
        load_policy("first", "gripper")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="inapplicable is an option for models only"):
        load_policy("first", task, inapplicable="filter")
    with pytest.raises(UsageError, match="engine is an option for models only"):
        load_policy("first", task, engine=model.engine)

    class Broken:
        def __init__(self, task: object) -> None:  # noqa: ARG002
            raise OSError("no disk")

    for own in (task, model):
        with pytest.raises(InputFormatError, match=r"Broken\(task\) raises OSError: no disk"):
            load_policy(Broken, own)


# -- models -----------------------------------------------------------------------------------------


def test_everything_that_is_a_policy_of_a_model(model: JaniTask) -> None:
    class Made:
        def __init__(self, task: JaniTask) -> None:
            self.labels = task.labels

        def act(self, state: dict[str, Any]) -> str:
            return self.labels[1 if state["vel"] else 0]

    brake: Any = Made(model).act
    for code in (brake, Made, Made(model), Batched(brake), policy(brake)):
        assert label_of(model, code) == model.labels[1]
        assert label_of(model, code, (0, 0, 0)) == model.labels[0]
        own = load_policy(code, model)
        assert own.in_memory
        assert own.spec.startswith("python object ")
        own.close()
    assert not load_policy("first", model).in_memory


@pytest.mark.parametrize("number", [1, np.int32(1)])
def test_labels_by_number(model: JaniTask, number: Any) -> None:
    assert label_of(model, lambda _: number) == model.labels[1]


@pytest.mark.parametrize("answer", [99, -1, True, 1.0, "fly"])
def test_what_is_no_label(model: JaniTask, answer: Any) -> None:
    with pytest.raises(ToolError, match=r"the model has no label|the policy answered"):
        label_of(model, lambda _: answer)


def test_a_label_policy_is_taken_as_it_is(model: JaniTask) -> None:
    loaded = load_policy("first", model)
    assert isinstance(loaded, LabelPolicy)
    assert load_policy(loaded, model) is loaded
    with pytest.raises(UsageError, match="bound to another engine"):
        load_policy(loaded, model, engine=model.new_engine())
    with pytest.raises(UsageError, match="bound to another task"):
        load_policy(loaded, jani.task(jani.TINY_LINE, out_of_bounds="disable"))
    with pytest.raises(UsageError, match="inapplicable comes too late"):
        load_policy(loaded, model, inapplicable="error")


# -- digests ----------------------------------------------------------------------------------------

NOTHING = object()  # has no attributes at all, not even a dictionary of them


def with_a_mark(state: object) -> object:
    return None if state is NOTHING else 0


def test_equal_code_and_values_have_equal_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_closure(values: object) -> Callable[[Any], Any]:
        def f(_: Any) -> Any:
            return values

        return f

    same = [with_closure({"a": [1, 2.5]}), with_closure({"a": [1, 2.5]})]
    assert object_digest(same[0]) == object_digest(same[1])
    different = [
        with_closure(x) for x in (1, 1.0, True, "1", [1], (1,), {1}, {1: 1}, None, np.ones(1))
    ]
    different += [with_closure(np.zeros(1)), with_closure(small_task("gripper-4")), lowest]
    different += [lambda _: 1, lambda _: 2]
    digests = [object_digest(f) for f in different]
    assert len(set(digests)) == len(digests)
    assert not any(digest.startswith(UNKNOWN) for digest in digests)
    assert object_digest(Actor()) == object_digest(Actor())
    assert object_digest(with_a_mark) == object_digest(with_a_mark)
    assert object_digest(Actor()) != object_digest(Actor(above)) != object_digest(Batched(above))

    before = object_digest(above)
    monkeypatch.setattr(f"{__name__}.THRESHOLD", 4)  # a global that the function reads
    assert object_digest(above) != before


def test_what_cannot_be_seen_through_is_told() -> None:
    dice = random.Random(1)

    class Slots:
        __slots__ = ("x",)

        def act(self, state: Any) -> None: ...

    namespace: dict[str, Any] = {}
    exec("def unseen(state): return None", namespace)
    for code in (
        lambda _: dice.random(),
        Slots(),
        SimpleNamespace(act=lowest),
        namespace["unseen"],
    ):
        assert object_digest(code).startswith(UNKNOWN)
