"""States as problems, plans and models are written, read again, and have the same meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import misstep
from misstep.checking import parse_plan, parse_sas, validate_plan
from misstep.checking.jani.documents import Documents
from misstep.errors import InputFileError, UnsupportedError, UsageError
from misstep.escaping import written_out
from misstep.reports.exports.bug import plan_text, write_model, write_plan, write_problem
from misstep.reports.exports.model import model_file, options_of
from misstep.reports.exports.names import file_name
from misstep.reports.exports.problem import pddl_files, sas_file
from misstep.tasks.jani.load import load_jani
from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.pddl.text import Source
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import State, Task
from support.campaigns import MODELS, NOISY, small_model
from support.exports import model_campaign, planning_campaign
from support.jani import automaton, bounded, destination, edge, model, op, pa, variable, write
from support.plain_task import PlainTask
from support.tasks import SMALL, small_task, walk


def facts(task: Task, state: State) -> set[Atom]:
    # The translator makes one variable of a task that it sees to be unsolvable.
    return set(AtomTable(task).true(state.values)) - {Atom("dummy", ("val1",))}


def exported(task: Task, state: State) -> Task:
    """The task that begins in the state, read from the text of its files."""
    domain, problem = pddl_files(task, state.values, "where it comes from")
    pair = (Source("domain.pddl", domain), Source("problem.pddl", problem))
    return Task(translate_sources(pair), pddl=pair)


# -- problems -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_problem_begins_in_the_state_and_has_the_same_plans(name: str) -> None:
    task = small_task(name)
    state = walk(task, 6, seed=3)[-1]
    again = exported(task, state)
    assert facts(again, again.initial_state) == facts(task, state)
    assert {str(goal) for goal in again.lifted.goal} == {str(goal) for goal in task.lifted.goal}
    ours, theirs = misstep.plan(task, start=state), misstep.plan(again)
    assert ours.cost == theirs.cost
    if ours.cost is not None:
        assert validate_plan(parse_sas(again.sas.decode()), ours.operators, None, ours.cost).valid


@pytest.mark.soundness
@pytest.mark.parametrize("name", sorted(SMALL))
def test_problems_of_many_states(name: str) -> None:
    task = small_task(name)
    for state in walk(task, 25, seed=5):
        again = exported(task, state)
        assert facts(again, again.initial_state) == facts(task, state)


def test_costs_functions_and_negated_facts_of_the_initial_state_are_kept() -> None:
    task = small_task("transport-2")
    state = walk(task, 5, seed=1)[-1]
    text = pddl_files(task, state.values, "x")[1].decode()
    assert "(= (road-length " in text
    assert "(:metric minimize (total-cost))" in text
    assert task.pddl is not None
    domain, problem = task.pddl
    before = problem.content.decode().replace("(:init", "(:init (not (at truck1 nowhere))")
    other = Task(task.sas, pddl=(domain, Source("p", before.encode())))
    assert "nowhere" not in pddl_files(other, state.values, "x")[1].decode()


def test_a_bug_of_a_campaign_as_a_problem_and_a_plan(tmp_path: Path) -> None:
    campaign = planning_campaign()
    bug = campaign.bugs[-1]
    problem, domain = write_problem(campaign, bug, tmp_path / "bug.pddl")
    assert domain == tmp_path / "domain.pddl"
    task = misstep.load_task(problem)
    assert isinstance(task, Task)
    old = next(own for own in campaign.tasks if own.name == bug.task)
    assert isinstance(old, Task)
    assert facts(task, task.initial_state) == facts(old, State([int(v) for v in bug.state]))
    assert problem.read_text().startswith(f"; Made by misstep from the record {bug.id}: BUG, ")
    (plan,) = write_plan(campaign, bug, tmp_path / "bug.plan")
    steps = parse_plan(plan.read_text())
    assert validate_plan(parse_sas(task.sas.decode()), steps, None, bug.witness.cost).valid
    run = parse_plan(plan_text(campaign, bug, policy_run=True))
    assert run == list(bug.run.names)
    # The same content may be written again, another one may not.
    write_problem(campaign, bug, problem)
    with pytest.raises(InputFileError, match="exists and differs"):
        write_problem(campaign, campaign.bugs[0], problem)
    write_problem(campaign, campaign.bugs[0], problem, force=True)
    with pytest.raises(UsageError, match="is the name of the domain file"):
        write_problem(campaign, bug, tmp_path / "domain.pddl")


def test_a_bug_of_a_sas_task(tmp_path: Path) -> None:
    task = Task(small_task("ferry-3").sas, name="plain")
    campaign = misstep.test(task, NOISY, pool=10, seed=1)
    bug = campaign.bugs[0]
    (path,) = write_problem(campaign, bug, tmp_path / "bug.sas")
    read = parse_sas(path.read_text())
    assert tuple(read.initial_state) == bug.state
    again = misstep.load_task(path)
    assert isinstance(again, Task)
    assert again.initial_state.values == bug.state
    assert again.operator_names == task.operator_names
    assert validate_plan(read, bug.witness.names or (), None, bug.witness.cost).valid


def test_names_in_a_sas_file_do_not_mislead() -> None:
    """A variable or a value may be called as the section that is looked for."""
    task = small_task("gripper-4")
    text = task.sas.decode()
    first = task.fact_names[0][0]
    odd = text.replace("var0\n", "begin_state\n", 1).replace(first, "begin_state", 1)
    other = Task(odd.encode())
    state = walk(task, 4, seed=2)[-1]
    assert tuple(parse_sas(sas_file(other, state.values).decode()).initial_state) == state.values


# -- models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_starts_in_the_state_and_nowhere_else(name: str, tmp_path: Path) -> None:
    task = small_model(name)
    state = task.initial_states()[-1]
    for _ in range(3):
        if task.applicable(state):
            state = task.outcomes(state, task.applicable(state)[-1])[-1]
    path = tmp_path / "bug.jani"
    path.write_bytes(model_file(task, state, "a remark"))
    again = misstep.load_task(path)
    assert isinstance(again, misstep.Model)
    assert again.initial_states() == [state]
    assert (again.labels, again.variable_names) == (task.labels, task.variable_names)
    for label in task.applicable(state):
        assert again.outcomes(state, label) == task.outcomes(state, label)
    assert again.is_unsafe(state) == task.is_unsafe(state)
    assert json.loads(path.read_text())["metadata"]["description"] == "a remark"
    # The independent reader agrees.
    plain = PlainTask(Documents({"bug.jani": path.read_bytes()}).read("bug.jani"))
    assert plain.starts() == [state]


def spread_model(folder: Path) -> Path:
    """A model of several files, with an open constant, locations, arrays, and names that occur twice."""
    grid = {"kind": "array", "base": {"kind": "array", "base": "int"}}
    rows = {"op": "av", "elements": [{"op": "av", "elements": [1, 2]}] * 2}
    left = automaton(
        "left",
        [
            edge("a", True, destination({"n": op("+", "n", 1)}, location="k")),
            edge("b", True, destination({"n": 0}), location="k"),
        ],
        locations=("l", "k"),
        variables=[variable("n", bounded(0, 9), 0)],
    )
    right = automaton(
        "right",
        [edge("a", op("<", "n", "LIMIT"), destination({"n": op("+", "n", 2)}))],
        variables=[variable("n", bounded(0, 9), 0)],
    )
    row = variable("row", {"kind": "array", "base": "real"}, {"op": "av", "elements": [0.5, 0.1]})
    document = model(
        [variable("flag", "bool", False), row, variable("grid", grid, rows)],
        [left, right],
        constants=[{"name": "LIMIT", "type": "int"}],
        prop=pa(False, False),
        features=["arrays"],
    )
    document["automata"][0] = {"file": "left.jani"}
    elements = [{"automaton": "left"}, {"automaton": "right"}]
    document["system"] = {
        "elements": elements,
        "syncs": [
            {"synchronise": ["a", None], "result": "a"},
            {"synchronise": ["b", None], "result": "b"},
        ],
    }
    write(left, "left.jani", folder)
    write({"properties": [pa("flag", False)]}, "other.jani", folder)
    return write(document, "model.jani", folder)


def test_models_of_several_files_with_locations_arrays_and_constants(tmp_path: Path) -> None:
    path = spread_model(tmp_path)
    task = load_jani(path, property=tmp_path / "other.jani", parameters={"LIMIT": 5})
    (start,) = task.initial_states()
    state = task.outcomes(start, "a")[0]
    assert state != start
    changed = list(state)
    names = list(task.variable_names)
    changed[names.index("flag")] = True
    changed[names.index("row[1]")] = 0.30000000000000004
    changed[names.index("grid[1][0]")] = 7
    changed[names.index("right.n")] = 4
    goal = tuple(changed)
    alone = tmp_path / "elsewhere" / "bug.jani"
    alone.parent.mkdir()
    alone.write_bytes(model_file(task, goal))
    again = load_jani(alone)
    assert again.initial_states() == [goal]
    assert again.is_unsafe(goal)
    assert again.property_name == "safety"
    assert options_of(load_jani(alone, out_of_bounds="disable")) == {"out_of_bounds": "disable"}


def test_a_bug_of_a_campaign_as_a_model(tmp_path: Path) -> None:
    campaign = model_campaign()
    bug = campaign.bugs[0]
    (path,) = write_model(campaign, bug, tmp_path / "bug.jani")
    again = misstep.load_task(path)
    assert isinstance(again, misstep.Model)
    assert again.initial_states() == [bug.state]
    found = misstep.test(again, "first", runs=3)
    assert found.record(0).state == bug.state
    assert found.record(0).is_bug


# -- what makes no sense ------------------------------------------------------------------------------


def test_what_has_no_meaning_in_the_other_world_says_what_to_use_instead(tmp_path: Path) -> None:
    tasks, models = planning_campaign(), model_campaign()
    with pytest.raises(UnsupportedError, match="export model"):
        write_problem(models, models.bugs[0], tmp_path / "p")
    with pytest.raises(UnsupportedError, match="export problem"):
        write_model(tasks, tasks.bugs[0], tmp_path / "p")
    with pytest.raises(UnsupportedError, match="strategies, not plans"):
        plan_text(models, models.bugs[0])
    with pytest.raises(UsageError, match="no record 'nowhere:7'"):
        write_problem(tasks, "nowhere:7", tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "<script>",
        "a b\n\"'",
        "=cmd()",
        "x" * 10_000,
        "",
        ".",
        "..",
        "τ",
        "\ud800",
    ],
)
def test_names_of_others_make_harmless_file_names(name: str) -> None:
    made = file_name(name)
    assert made
    assert made not in (".", "..")
    assert len(made) < 100
    assert not set(made) & set("/\\\n\"'<> =")
    assert written_out(name).isprintable()


def test_different_names_stay_different() -> None:
    names = ["a b", "a_b", "a/b", "x" * 100, "x" * 101, "task", "task-1"]
    assert len({file_name(name) for name in names}) == len(names)
    assert file_name("gripper-3.easy") == "gripper-3.easy"


def test_a_remark_cannot_leave_its_comment() -> None:
    task = small_task("gripper-4")
    text = pddl_files(task, task.initial_state.values, "one\n(two)\r\x0b\u2028τ")[1].decode()
    assert text.isascii()
    assert all(line.startswith("; ") for line in text.split("(define")[0].splitlines())


def test_whatever_operators_and_tasks_are_called(tmp_path: Path) -> None:
    """Names of a SAS file may be anything but a line end."""
    odd = "<script>\"' =cmd() τ\u202e & \\ " + "x" * 2000
    text = small_task("gripper-4").sas.decode().replace("ball1", odd)
    campaign = misstep.test(Task(text.encode(), name=f"../{odd}"), NOISY, pool=8, seed=1)
    bugs = [bug for bug in campaign.bugs if any(odd in name for name in bug.witness.names or ())]
    inner = tmp_path / "inner"
    (path,) = write_problem(campaign, bugs[0], inner / "odd.sas")
    assert tuple(parse_sas(path.read_text()).initial_state) == bugs[0].state
    with pytest.raises(UnsupportedError, match="which the format of plans cannot quote"):
        plan_text(campaign, bugs[0])
    for what in ("csv", "json", "latex"):
        campaign.export(what, inner / what)
    for figure in ("over-time", "severity", "depth"):
        campaign.export("figure", inner / f"{figure}.svg", figure=figure)
    campaign.export("tests", inner / "tests")
    # Nothing has left the folder, although the task is called as its parent.
    assert list(tmp_path.iterdir()) == [inner]
    assert len(list((inner / "tests" / "misstep_tasks").glob("*/task.sas"))) == 1


def test_a_state_of_thousands_of_facts() -> None:
    task = misstep.load_task(misstep.generate("visitall", width=40, height=40))
    assert isinstance(task, Task)
    state = walk(task, 1500, seed=1)[-1]
    text = pddl_files(task, state.values, "large")[1].decode()
    assert text.count("(visited ") + text.count("(connected ") > 4000
    assert max(map(len, text.splitlines())) < 200
