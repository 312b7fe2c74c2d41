"""`load_task` for everything that can be loaded, and tasks rebuilt from their source."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.tasks.domains.model import Instance
from misstep.tasks.generate import generate
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import load_task, rebuild_task
from misstep.tasks.models.model import ModelInstance
from misstep.tasks.task import Task

GRIPPER = generate("gripper", balls=2)
LINE = generate("one-way-line", cells=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    GRIPPER.write(tmp_path / "planning")
    LINE.write(tmp_path / "model")
    return tmp_path


def test_a_planning_task_can_be_named_in_five_ways(folder: Path) -> None:
    assert isinstance(GRIPPER, Instance)
    made = load_task(GRIPPER)
    assert made.world == GRIPPER.world == "planning"
    assert made.name == GRIPPER.name
    domain, problem = folder / "planning" / "domain.pddl", folder / "planning" / "problem.pddl"
    (folder / "task.sas").write_bytes(made.sas)
    for given in (
        (str(domain), problem),
        (problem,),
        (folder / "planning",),
        (folder / "task.sas",),
        (made,),
    ):
        task: Any = load_task(*given)
        assert isinstance(task, Task)
        assert task.digest == made.digest
    assert load_task(made) is made


def test_a_model_can_be_named_in_four_ways(folder: Path) -> None:
    assert isinstance(LINE, ModelInstance)
    made = load_task(LINE)
    assert made.world == LINE.world == "model"
    assert made.name == LINE.name
    for given in (folder / "model" / f"{LINE.name}.jani", str(folder / "model"), made):
        task = load_task(given)
        assert isinstance(task, JaniTask)
        assert task.digest == made.digest
        assert task.name == LINE.name
    assert load_task(made) is made
    assert load_task(LINE, property="sampled").property_name == "sampled"
    with pytest.raises(UsageError, match="no such parameters: M"):
        load_task(LINE, constants={"M": 1})


@pytest.mark.parametrize("instance", [GRIPPER, LINE], ids=["planning", "model"])
def test_a_task_is_rebuilt_from_its_source(
    instance: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task: Any = load_task(folder / instance.world)
    task.name = "other"
    source = task.source
    assert source["world"] == instance.world
    for file in (folder / instance.world).iterdir():
        file.unlink()
    monkeypatch.chdir(folder)  # where a relative path would lead elsewhere
    for again in (rebuild_task(source), pickle.loads(pickle.dumps(task))):
        assert type(again) is type(task)
        assert again.name == "other"
        assert again.digest == task.digest
        assert again.source == source


def test_the_lifted_task_survives() -> None:
    assert isinstance(GRIPPER, Instance)
    task = load_task(GRIPPER)
    again = rebuild_task(task.source)
    assert isinstance(again, Task)
    assert len(again.lifted.schemas) == len(task.lifted.schemas) == 3
    alone = Task(task.sas)
    assert "paths" not in alone.source
    rebuilt = rebuild_task(alone.source)
    assert isinstance(rebuilt, Task)
    assert rebuilt.pddl is None


@pytest.mark.parametrize(
    ("given", "options", "told"),
    [
        ((), {}, "0 files do not make a task"),
        (("a.pddl", "b.pddl", "c.pddl"), {}, "3 files do not make a task"),
        ((7,), {}, "7 is not a task; expected DOMAIN.pddl PROBLEM.pddl, "),
        ((None,), {}, "None is not a task"),
        ((GRIPPER, GRIPPER), {}, "is not a task"),
        (("a.pddl", 3), {}, "3 is not a task"),
        (("a.jani", "b.jani"), {}, "b.jani is one file too many"),
        ((GRIPPER,), {"property": "safety"}, "property is not an option of planning tasks"),
        (("a.sas",), {"silnt": "refuse"}, "silnt is not an option of planning tasks"),
        ((LINE,), {"keep_unimportant": True}, "keep_unimportant is not an option of models"),
        ((LINE,), {"constant": {}}, "constant is not an option of models.*did you mean constants?"),
        ((load_task(LINE),), {"silent": "refuse"}, "silent has no effect"),
    ],
)
def test_wrong_arguments_are_told(given: Any, options: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_task(*given, **options)


def test_a_cost_beyond_the_limit_is_no_damage_of_the_problem(tmp_path: Path) -> None:
    """The line was one of the translation, and the hint spoke of a SAS file."""
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:requirements :action-costs) (:predicates (p) (q)) (:functions (total-cost))"
        f"(:action a :precondition (p) :effect (and (q) (increase (total-cost) {2**30}))))"
    )
    (tmp_path / "problem.pddl").write_text(
        "(define (problem x) (:domain d) (:init (p) (= (total-cost) 0)) (:goal (q)) (:metric minimize (total-cost)))"
    )
    with pytest.raises(InputFormatError, match="cost from 0 to 1073741823") as found:
        load_task(tmp_path)
    assert found.value.where == f"the translation of {tmp_path / 'problem.pddl'}"
    assert found.value.hint is None


def test_a_folder_without_one_task_is_told(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputFileError, match="there is no task in this folder"):
        load_task(folder / "empty")
    LINE.write(folder / "planning")
    with pytest.raises(InputFileError, match=r"more than one task: problem.pddl, one"):
        load_task(folder / "planning")
    generate("one-way-line", cells=4).write(folder / "model")
    with pytest.raises(InputFileError, match="more than one task"):
        load_task(folder / "model")


def test_generate_knows_domains_and_models() -> None:
    with pytest.raises(UsageError, match=r"unknown domain or model 'griper'.*did you mean gripper"):
        generate("griper")
    with pytest.raises(UsageError, match="unknown domain or model 7"):
        generate(7)  # type: ignore[arg-type]
    assert list(GRIPPER.files) == ["domain.pddl", "problem.pddl"]
    assert list(LINE.files) == [f"{LINE.name}.jani"]
