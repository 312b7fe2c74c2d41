"""The public names: which they are, that each is documented, and that each command has its function."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.cli.verbs import VERBS
from misstep.errors import InputFormatError, UnsupportedError, UsageError
from misstep.tasks.jani.task import JaniTask
from support.tasks import small_task

NAMES = {
    "Campaign",
    "MisstepError",
    "Model",
    "PlanResult",
    "Policy",
    "Record",
    "State",
    "StateView",
    "Task",
    "Trace",
    "census",
    "check_policy",
    "compare",
    "dominance",
    "generate",
    "load_policy",
    "load_suite",
    "load_task",
    "open_campaign",
    "plan",
    "policy",
    "run",
    "select",
    "test",
    "train",
}
# What a command does, in Python.
COUNTERPARTS = {
    "test": "test",
    "judge": "Campaign.judge",
    "retest": "Campaign.retest",
    "records": "Campaign.records",
    "explain": "Campaign.explain",
    "replay": "Campaign.replay",
    "export": "Campaign.export",
    "shrink": "Campaign.shrink",
    "compare": "compare",
    "report": "Campaign.report",
    "shield": "Campaign.shield",
    "run": "run",
    "plan": "plan",
    "census": "census",
    "risk": "Campaign.risk",
    "dominance": "dominance",
    "check-policy": "check_policy",
    "train": "train",
    "select": "select",
    "generate": "generate",
}
# The same where it has no public name: module and function.
INSIDE = {
    "prove": "misstep.faults.prove:prove",
    "experiment": "misstep.experiments.driver:run_experiment",
}
# These are about the installation, or are services for other programs.
WITHOUT = {"list", "doctor", "serve-policy"}


def test_the_names() -> None:
    assert set(misstep.__all__) == NAMES
    assert len(misstep.__all__) == len(NAMES) <= 25
    assert misstep.__all__ == sorted(misstep.__all__)
    assert set(dir(misstep)) == NAMES | {"__version__"}
    assert misstep.Model is JaniTask
    assert misstep.__version__
    with pytest.raises(AttributeError, match="has no attribute 'PolicyRunner'"):
        misstep.PolicyRunner  # noqa: B018


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_is_documented(name: str) -> None:
    text = getattr(misstep, name).__doc__
    assert text
    # Dataclasses without a docstring get their signature as one.
    assert not text.startswith(f"{name}(")
    assert text.strip().endswith(".") or "\n" in text.strip()


def test_each_command_has_its_function() -> None:
    known = {*COUNTERPARTS, *INSIDE, *WITHOUT}
    missing = [verb for verb in VERBS if verb not in known]
    assert not missing, f"no function does what these commands do: {missing}"
    for path in COUNTERPARTS.values():
        found: Any = misstep
        for part in path.split("."):
            assert hasattr(found, part), path
            found = getattr(found, part)
    for path in INSIDE.values():
        module, _, name = path.partition(":")
        assert callable(getattr(import_module(module), name))


def test_names_load_what_they_need() -> None:
    """Nothing heavy is loaded before it is needed, and PyTorch only by a training."""
    program = (
        "import sys, misstep; assert not [m for m in sys.modules if m.startswith('misstep.')], 'eager';"
        "[getattr(misstep, name) for name in misstep.__all__]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# -- run ------------------------------------------------------------------------------------------


def test_run_from_any_state() -> None:
    task = small_task("gripper-4")
    whole = misstep.run("optimal", task)
    assert isinstance(whole, misstep.Trace)
    assert whole.outcome == "goal"
    middle = whole.states[2]
    expected = misstep.run("optimal", task, middle)
    assert expected.states == whole.states[2:]
    as_text = ", ".join(task.facts(middle))
    for same in (
        list(middle.values),
        " ".join(map(str, middle.values)),
        as_text,
        misstep.StateView(middle, task),
    ):
        assert misstep.run("optimal", task, same) == expected
    assert misstep.run(lambda state: state.operators[0], task, max_steps=1).outcome == "cut"
    assert misstep.run("first", misstep.generate("gripper"), revisit="avoid").outcome != "loop"


def test_run_leaves_the_users_policy_open() -> None:
    task = small_task("gripper-4")
    policy = misstep.load_policy("heuristic:ff", task)
    closed = []
    policy.close = lambda: closed.append(True)  # type: ignore[method-assign]
    misstep.run(policy, task)
    misstep.census(task, policy)
    misstep.select(task, [policy, "first"], pool=2)
    assert not closed


# -- what is wrong --------------------------------------------------------------------------------

api: Any = misstep  # without its types


def model() -> JaniTask:
    loaded = misstep.load_task(misstep.generate("two-way-line", cells=4, packages=1))
    assert isinstance(loaded, JaniTask)
    return loaded


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda _: api.run("first", 5), "5 is not a task"),
        (lambda t: api.run(5, t), "5 is not a policy"),
        (lambda t: api.run("first", t, 5), "5 is not a state; expected a State, a value for"),
        (lambda t: api.run("first", t, [1, 2]), "state"),
        (lambda t: api.run("first", t, "on(x)"), "state"),
        (lambda t: api.run("first", t, max_steps="x"), "max_steps is 'x'; expected a positive"),
        (lambda t: api.run("first", t, revisit="x"), "no revisit mode 'x'"),
        (lambda _: api.census(5), "5 is not a task"),
        (lambda t: api.census(t, max_states="x"), "max_states is 'x'; expected a positive"),
        (lambda t: api.census(t, inapplicable="error"), "inapplicable is an option of models"),
        (lambda _: api.dominance(5), "5 is not a task"),
        (lambda t: api.dominance(t, stepz=1), "no option 'stepz'.*did you mean steps"),
        (lambda t: api.dominance(t, steps="x"), "steps is 'x'; expected a whole number"),
        (lambda t: api.dominance(t, atomic=1), "atomic is 1; expected True or False"),
        (lambda t: api.select(t, "first"), "policies is 'first'; expected a list of policies"),
        (lambda t: api.select(t, ["first"]), "one policy to choose from; expected at least two"),
        (lambda t: api.select(t, ["first", 5]), "5 is not a policy"),
        (lambda t: api.select(t, ["first", "first"]), "a policy is given twice"),
        (lambda _: api.select([], ["first", "optimal"]), "no tasks"),
        (lambda t: api.select(t, ["first", "optimal"], pool="x"), "expected a whole number"),
        (lambda _: api.train([], "out"), "no tasks"),
        (lambda t: api.train(t, 5), "out is 5; expected the path of a folder"),
        (lambda t: api.train(t, "out", epochs="x"), "epochs is 'x'; expected a whole number"),
        (lambda t: api.train(t, "out", gamma=1), "no option 'gamma' of the training on plann"),
        (lambda t: api.train(t, "out", device="tpu"), "no device 'tpu'; expected cpu or cuda"),
        (lambda t: api.train(t, "out", resume=1), "resume is 1; expected True or False"),
        (lambda t: api.train(t, "out", keep=1), "keep needs resume=True"),
        (lambda t: api.train(t, "out", from_bugs=5), "from_bugs is 5; expected a campaign"),
        (lambda t: api.train([t, model()], "out"), "planning tasks and models are mixed"),
        (lambda _: api.train(model(), "out", epochs=1), "no option 'epochs' of the training"),
        (
            lambda _: api.train(model(), "out", hidden=5),
            "hidden is 5; expected a list of whole",
        ),
        (lambda t: api.train(model(), "out", validate=t), "validate is an option of planning"),
        (lambda _: api.train([model(), model()], "out"), "2 models; expected one model"),
    ],
)
def test_wrong_values_say_what_is_taken(call: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, InputFormatError), match=text):
        call(small_task("gripper-4"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "call",
    [
        lambda m: misstep.run("first", m),
        lambda m: misstep.dominance(m),
        lambda m: misstep.select(m, ["first", "random:1"]),
    ],
)
def test_models_are_told_where_to_go(call: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"misstep\.(test|census)"):
        call(model())


# -- the others -----------------------------------------------------------------------------------


def test_census_of_both_worlds() -> None:
    task = small_task("gripper-4")
    plain = misstep.census(task)
    with_policy: Any = misstep.census(task, "first")
    assert with_policy.of_task == plain
    assert with_policy.bugs > 0
    assert "of_task" not in with_policy.as_dict()
    of_model: Any = misstep.census(model())
    assert of_model.states > 0
    assert of_model == misstep.census(model(), "first")


def test_dominance() -> None:
    task = small_task("gripper-4")
    found = misstep.dominance(task, merged=False)
    assert found.value(task.initial_state, task.initial_state) == 0
    assert {factor.factoring for factor in found.factors} == {found.factors[0].factoring}


def test_select_takes_functions() -> None:
    task = small_task("gripper-4")

    def leftmost(state: misstep.StateView) -> str:
        return state.operators[0]

    found = misstep.select([task], [leftmost, "optimal"], pool=5)
    assert found.candidates[0].policy == "optimal"
    assert "leftmost" in found.candidates[1].policy
    assert found.candidates[0].bugs.value == 0
