"""The contract of Python policies: every form, in both worlds, from a file, from a module and from memory."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import misstep
from misstep.errors import InputFileError, InputFormatError, MisstepError, ToolError, UsageError
from misstep.policies.function import FunctionPolicy
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION
from misstep.safety import System, jani_transitions
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task
from support import jani
from support.tasks import rows, small_task, walk

# Each of them takes the first action that applies; `actions` is there in both worlds.
FORMS = """
import numpy as np
import misstep

def by_object(state): return state.actions[0]
def by_name(state): return state.actions[0].name
def by_number(state): return state.actions[0].number
def by_scalar(state): return np.int64(state.actions[0].number)
def by_array(state): return np.array(state.actions[0].number)
def by_single(state): return np.array([state.actions[0].number])

class Tensor:
    ndim = 0
    def __init__(self, value): self.value = value
    def item(self): return self.value

def by_tensor(state): return Tensor(state.actions[0].number)

class Acts:
    def act(self, state): return state.actions[0]

acts = Acts()

class Batches:
    def __init__(self, task): self.sizes = []
    def act_batch(self, states):
        self.sizes.append(len(states))
        assert len(states.array) == len(states)
        return np.array([state.actions[0].number for state in states])

class Predicts:
    def __init__(self, task): self.task = task
    def observe(self, state): return np.array([state.actions[0].number, 1])
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        return observation[..., 0], None

class Whole(misstep.Policy):
    def decide(self, states, candidates=None):
        from misstep.policies.policy import Answers
        if hasattr(self.task, "labels"):
            found = [self.task.applicable(tuple(map(int, row)))[0] for row in states.tolist()]
        else:
            found = self.all_candidates(states).operators[self.all_candidates(states).offsets[:-1]]
        return Answers(np.array(found, dtype=np.int32))

def made(task): return Acts()
def made_function(task): return by_name
def made_policy(task): return Whole(task)
def with_arguments(task, text, k, ratio=0.5, on=False, count: int = 1):
    assert (text, k, ratio, on, count) == ("a b&c", 3, 0.25, True, 7), (text, k, ratio, on, count)
    return by_name
def any_name(problem, depth: "int"): return [None, None, by_name][depth]
"""
NAMES = [
    *("by_object", "by_name", "by_number", "by_scalar", "by_array", "by_single", "by_tensor"),
    *("acts", "Acts", "Batches", "Predicts", "Whole", "made", "made_function", "made_policy"),
    "with_arguments?text=a+b%26c&k=3&ratio=.25&on=yes&count=7",
    "any_name?depth=2",
]


@pytest.fixture
def task() -> Task:
    return small_task("gripper-4")


@pytest.fixture
def model() -> JaniTask:
    return jani.task(jani.TINY_LINE)


@pytest.fixture
def forms(tmp_path: Path) -> Path:
    (tmp_path / "forms_of_policies.py").write_text(FORMS)
    return tmp_path / "forms_of_policies.py"


def labels(model: JaniTask, own: LabelPolicy) -> list[str | None]:
    system = System(jani_transitions(model), own.policy, inapplicable=own.inapplicable)
    found = []
    for state in ((0, 0, 0), (0, 1, 0), (1, 1, 0)):
        label = system.native.decision(system.id(state))
        found.append(None if label is None else str(system.label(label)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_form_from_a_file(task: Task, model: JaniTask, forms: Path, name: str) -> None:
    states = rows(walk(task, 12, seed=2))
    own = load_policy(f"python:{forms}:{name}", task)
    answers = own.decide(states)
    assert answers.messages == {}
    assert (
        answers.operators.tolist() == load_policy("first", task).decide(states).operators.tolist()
    )
    assert own.name == f"python:{forms}:{name}"
    assert own.files == (str(forms),)
    assert len(own.digest) == 64
    expected = labels(model, load_policy("first", model))
    of_model = load_policy(f"python:{forms}:{name}", model)
    assert labels(model, of_model) == expected
    assert of_model.files == own.files


@pytest.mark.parametrize("name", ["by_name", "Batches", "Whole", "any_name?depth=2"])
def test_modules(
    task: Task, model: JaniTask, forms: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(forms.parent)
    states = rows([task.initial_state])
    own = load_policy(f"python:forms_of_policies:{name}", task)
    assert own.decide(states).operators.tolist() == task.applicable(task.initial_state)[:1]
    assert own.files == (str(forms),)
    assert labels(model, load_policy(f"python:forms_of_policies:{name}", model))[0] == "acc"


@pytest.mark.parametrize("name", [n for n in NAMES if "?" not in n])
def test_every_form_in_memory(task: Task, model: JaniTask, name: str) -> None:
    namespace: dict[str, Any] = {"__name__": "user_of_misstep"}
    exec(FORMS, namespace)
    states = rows(walk(task, 12, seed=2))
    own = load_policy(namespace[name], task)
    assert (
        own.decide(states).operators.tolist()
        == load_policy("first", task).decide(states).operators.tolist()
    )
    assert own.in_memory
    assert labels(model, load_policy(namespace[name], model))[0] == "acc"


def test_batches_reach_the_code(task: Task) -> None:
    seen = []

    class Counts:
        def act_batch(self, states: Any) -> Any:
            seen.append((len(states), states.array.shape))
            return np.zeros(len(states), dtype=np.int64)

    load_policy(Counts(), task).decide(rows(walk(task, 40, seed=2)))
    assert seen == [(41, (41, task.variable_count))]


def test_what_a_batch_may_answer(task: Task) -> None:
    states = rows([task.initial_state] * 3)

    def answers(given: Any) -> list[int]:
        own = load_policy(SimpleNamespace(act_batch=lambda states: given[: len(states)]), task)
        found: list[int] = own.decide(states).operators.tolist()
        return found

    class Tensor(list[int]):
        def detach(self) -> Any:
            return self

        cpu = detach

        def numpy(self) -> Any:
            return np.array(self)

        def __getitem__(self, index: Any) -> Any:
            return Tensor(list(self)[index])

    assert answers(np.array([3, 4, 5], dtype=np.uint8)) == [3, 4, 5]
    assert answers(np.array([[3], [4], [5]])) == [3, 4, 5]
    assert answers(Tensor([3, 4, 5])) == [3, 4, 5]
    assert answers([3, None, "move room-a room-b"])[:2] == [3, NO_ACTION]
    assert answers(np.array([3, -1, 10**6])) == [3, NO_ACTION, FAILED]
    assert answers([3, -1, -2]) == [3, NO_ACTION, FAILED]
    assert answers(np.array([3.0, 4.0, 5.0])) == [FAILED] * 3
    assert answers("abc") == [FAILED] * 3
    own = load_policy(SimpleNamespace(act_batch=lambda _: 7), task)
    assert "act_batch answered 7, not a list" in own.decide(states).messages[0]
    own = load_policy(SimpleNamespace(act_batch=lambda _: np.array([-1, 10**6])), task)
    assert own.decide(states[:2]).messages[1] == f"ValueError: the task has no operator {10**6}"


# -- flags ----------------------------------------------------------------------------------------


class Sets:
    def permitted(self, state: Any) -> Any:
        return {state.actions[-1], state.actions[0].name}


class Draws:
    def probabilities(self, state: Any) -> Any:
        first, last = state.actions[0], state.actions[-1]
        return {last.name: np.float64(0.75), first.number: 0.25} if first != last else {first: 1}


class Plans:
    def plan(self, state: Any) -> Any:
        return [state.actions[0], state.after(state.actions[0]).operators[0]]


def test_sets_and_distributions(task: Task, model: JaniTask) -> None:
    states = rows(walk(task, 5, seed=2))
    applicable = load_policy("first", task).all_candidates(states)
    expected = []
    for row in range(len(states)):
        own = applicable.operators[applicable.offsets[row] : applicable.offsets[row + 1]].tolist()
        expected.append(sorted({own[0], own[-1]}))
    sets = load_policy(Sets(), task)
    assert (sets.set_valued, sets.stochastic, sets.plans) == (True, False, False)
    offsets, operators = sets.permitted(states)
    assert [operators[a:b].tolist() for a, b in pairwise(offsets.tolist())] == expected
    assert sets.decide(states).operators.tolist() == [own[0] for own in expected]
    draws = load_policy(Draws(), task)
    assert (draws.set_valued, draws.stochastic) == (True, True)
    found, weights = draws.probabilities(states)
    assert (
        found.operators.tolist() == operators.tolist() == draws.permitted(states).operators.tolist()
    )
    assert np.add.reduceat(weights, found.offsets[:-1]).tolist() == [1.0] * len(states)

    loaded = load_policy(Draws(), model)
    assert (loaded.set_valued, loaded.stochastic) == (True, True)
    assert loaded.weights is not None
    known = loaded.weights(model.engine.intern((0, 1, 0)))
    assert known == {0: 0.25, 1: 0.75}
    with pytest.raises(
        MisstepError, match="decides on one label in each state; expected an object"
    ):
        labels(model, loaded)


def test_plans(task: Task) -> None:
    own = load_policy(Plans(), task)
    assert (own.plans, own.set_valued) == (True, False)
    steps = list(own.plan(task.initial_state))
    assert len(steps) == 2
    assert steps[0] == own.decide(rows([task.initial_state])).operators[0]
    assert steps[1] in task.applicable(task.apply(task.initial_state, steps[0]))
    with pytest.raises(ValueError, match=r"plan answered 7, not a collection of operators"):
        load_policy(SimpleNamespace(plan=lambda _: 7), task).plan(task.initial_state)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("permitted", "move", "permitted answered 'move', not a collection"),
        ("permitted", [None], "answered None among the operators"),
        ("permitted", [10**6], "the task has no operator 1000000"),
        ("probabilities", [1], "probabilities answered [1], not a dictionary"),
        ("probabilities", {0: 0.5}, "add up to 0.5"),
        ("probabilities", {0: -1}, "a probability is -1"),
        ("probabilities", {0: "x"}, "a probability is 'x'"),
        ("probabilities", {0: float("nan")}, "a probability is nan"),
    ],
)
def test_wrong_sets(task: Task, method: str, answer: Any, message: str) -> None:
    own = load_policy(SimpleNamespace(**{method: lambda _: answer}), task)
    states = rows([task.initial_state])
    with pytest.raises(ValueError, match=r"\w") as caught:
        own.permitted(states)
    assert message in str(caught.value)
    assert message in own.decide(states).messages[0]


class Unfinished:
    """An agent with a property that is not ready yet."""

    def act(self, state: Any) -> Any:
        return state.actions[0]

    @property
    def plan(self) -> Any:
        raise RuntimeError("not trained yet")


class Ending:
    def act(self, state: Any) -> Any:
        return state.actions[0]

    @property
    def batch_size(self) -> int:
        sys.exit(0)


def test_an_attribute_that_raises(task: Task, model: JaniTask) -> None:
    """It used to be an internal error, or to end the command."""
    for world in (task, model):
        with pytest.raises(InputFormatError, match="'plan' raises RuntimeError: not trained yet"):
            load_policy(Unfinished(), world)
        with pytest.raises(InputFormatError, match="'batch_size' raises SystemExit: 0"):
            load_policy(Ending(), world)


def test_attributes_of_the_object(task: Task, model: JaniTask) -> None:
    class Declared(Sets):
        set_valued = False
        deterministic = False
        batch_size = 7

        def act(self, state: Any) -> Any:
            return state.actions[0]

    own = load_policy(Declared(), task)
    assert (own.set_valued, own.deterministic, own.batch_size) == (False, False, 7)
    assert load_policy(Declared(), model).deterministic is False
    assert load_policy(Sets(), task).deterministic


# -- factories ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("{file}:made?k=3", UsageError, "made takes no argument 'k'; expected the task alone"),
        ("{file}:any_name?deep=2", UsageError, "takes no argument 'deep'; expected one of depth"),
        ("{file}:any_name?depth=x", UsageError, "the argument depth is 'x'; expected int"),
        (
            "{file}:any_name?depth",
            UsageError,
            "the arguments are 'depth'; expected NAME?model=w.pt",
        ),
        ("{file}:any_name?a=1&a=2", UsageError, "the arguments are"),
        ("{file}:acts?k=3", UsageError, "Acts is not a factory, so it takes no arguments"),
        ("{file}:any_name?depth=0", InputFormatError, "makes None; expected an object with act"),
        ("{file}:any_name?depth=9", InputFormatError, "any_name(task, depth) raises IndexError"),
        ("{file}:missing", InputFormatError, "'missing'"),
        ("no_such_module_here:f", InputFileError, "there is no module 'no_such_module_here'"),
        ("not-a-name:f", UsageError, "neither a file nor a module; expected python:FILE.py:NAME"),
        ("--speed=1 {file}:acts", UsageError, "no option --speed; expected one of --timeout"),
        ("--timeout=0 {file}:acts", UsageError, "--timeout is 0; expected a positive number"),
    ],
)
def test_wrong_specs(
    task: Task, model: JaniTask, forms: Path, spec: str, error: type[MisstepError], message: str
) -> None:
    for own in (task, model):
        with pytest.raises(error) as caught:
            load_policy("python:" + spec.format(file=forms), own)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_among_the_arguments_is_part_of_the_digest(task: Task, tmp_path: Path) -> None:
    code = "import pathlib\ndef make(task, model): return lambda state: len(pathlib.Path(model).read_text())\n"
    (tmp_path / "net.py").write_text(code)
    (tmp_path / "w.pt").write_text("abc")
    spec = f"python:{tmp_path / 'net.py'}:make?model={tmp_path / 'w.pt'}"
    first = load_policy(spec, task)
    assert first.decide(rows([task.initial_state])).operators.tolist() == [3]
    assert first.files == (str(tmp_path / "net.py"), str(tmp_path / "w.pt"))
    (tmp_path / "w.pt").write_text("abcd")
    second = load_policy(spec, task)
    assert second.digest != first.digest
    (tmp_path / "v.pt").write_text("abcd")
    # Where the file lies is not what the policy is; what it is called may be.
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "w.pt").rename(moved / "w.pt")
    third = load_policy(f"python:{tmp_path / 'net.py'}:make?model={moved / 'w.pt'}", task)
    assert third.digest == second.digest


def test_files_that_the_code_names(task: Task, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_text("1")
    (tmp_path / "p.py").write_text(
        "class P:\n    def __init__(self, task): self.files = ['w.bin']\n    def act(self, state): return 0\n"
    )
    first = load_policy(f"python:{tmp_path / 'p.py'}:P", task)
    assert first.files == (str(tmp_path / "p.py"), str(tmp_path / "w.bin"))
    (tmp_path / "w.bin").write_text("2")
    assert load_policy(f"python:{tmp_path / 'p.py'}:P", task).digest != first.digest
    weights = str(tmp_path / "w.bin")
    before = load_policy(SimpleNamespace(act=lambda _: 0, files=[weights]), task).digest
    (tmp_path / "w.bin").write_text("3")
    assert load_policy(SimpleNamespace(act=lambda _: 0, files=[weights]), task).digest != before


# -- crashes --------------------------------------------------------------------------------------


def test_a_crash_names_file_and_line(task: Task, model: JaniTask, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import help_me\n\ndef f(state):\n    return help_me.g({})\n")
    (tmp_path / "help_me.py").write_text("def g(known):\n    return sorted([1], key=known.pop)\n")
    own = load_policy(f"python:{tmp_path / 'mine.py'}:f", task)
    message = "help_me.py:2: KeyError: 1"
    assert own.decide(rows([task.initial_state])).messages == {0: message}
    with pytest.raises(ToolError) as caught:
        labels(model, load_policy(f"python:{tmp_path / 'mine.py'}:f", model))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise SystemExit(3)", "mine.py:2: SystemExit: 3"),
        ("import os; os._exit(0)", "mine.py:2: SystemExit: os._exit(0)"),
        ("raise BaseException('odd')", "mine.py:2: BaseException: odd"),
        ("raise GeneratorExit", "mine.py:2: GeneratorExit:"),
        ("return object()", "TypeError: the policy answered <object object"),
        ("return 5.0", "TypeError: the policy answered 5.0, not an operator, its name, its number"),
        ("return 'fly'", "the task has no operator (fly)"),
        ("return f(state)", "RecursionError"),
        (
            "class E(Exception):\n        def __str__(self): return 'two\\nlines'\n    raise E",
            "E: two lines",
        ),
        (
            "class E(Exception):\n        def __str__(self): return 1 / 0\n    raise E",
            "mine.py:4: an exception whose text cannot be shown",
        ),
    ],
)
def test_whatever_the_code_does_is_told_in_one_line(
    task: Task, model: JaniTask, tmp_path: Path, body: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(f"def f(state):\n    {body}\n")
    own = load_policy(f"python:{tmp_path / 'mine.py'}:f", task)
    if "raise" in body:  # the messages about answers speak of labels there
        with pytest.raises(ToolError) as caught:
            labels(model, load_policy(f"python:{tmp_path / 'mine.py'}:f", model))
        assert message in caught.value.what
    answers = own.decide(rows([task.initial_state] * 2))
    assert answers.operators.tolist() == [FAILED] * 2
    assert message in answers.messages[1]
    assert "\n" not in answers.messages[1]


def test_ctrl_c_is_not_an_answer(task: Task) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_policy(interrupted, task).decide(rows([task.initial_state]))


def test_a_policy_that_changes_its_mind_is_found(task: Task) -> None:
    class Fickle:
        count = 0

        def act(self, state: Any) -> Any:
            self.count += 1
            return state.actions[self.count % len(state.actions)]

    fickle = Fickle()
    _, findings = misstep.check_policy(lambda: FunctionPolicy(task, fickle), states=10)
    assert "says the same when asked twice" in {finding.rule for finding in findings}
