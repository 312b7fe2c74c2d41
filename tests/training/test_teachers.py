"""Teachers against the truth."""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from misstep.errors import BudgetLimitError, ToolError, UsageError
from misstep.planning import plan
from misstep.tasks.task import Task
from misstep.training.samples import Sample, Samples
from misstep.training.teachers import (
    AStarTeacher,
    CommandTeacher,
    ExhaustiveTeacher,
    make_teacher,
    with_initial_state,
    with_unit_costs,
)
from support.tasks import random_costs, small_task
from support.worlds import world

TASKS = ["blocksworld-4", "floortile-2x2", "spanner-3", "transport-2", "gripper-4"]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("costs", [(), (0, 1, 5), (0,)], ids=["plain", "some-free", "free"])
def test_labels_are_optimal_and_lead_to_the_goal(name: str, costs: tuple[int, ...]) -> None:
    truth = world(name, costs)
    task = truth.task
    teacher = ExhaustiveTeacher(task)
    for state in truth.states(60):
        lesson = teacher.lesson(state)
        if np.isinf(truth.h_star(state)):
            assert lesson is None
            continue
        assert lesson is not None
        for sample in lesson:
            for op in sample.good:
                after = task.apply(sample.state, op)
                assert task.cost(op) + truth.h_star(after) == truth.h_star(sample.state)
            if 0 not in (costs or (1,)):  # then all optimal operators are right
                best = [
                    op
                    for op in task.applicable(sample.state)
                    if task.cost(op) + truth.h_star(task.apply(sample.state, op))
                    == truth.h_star(sample.state)
                ]
                assert list(sample.good) == best
        # Whichever label is followed, the goal comes closer: by cost, or by steps at the same cost.
        at, steps = state, 0
        while not task.is_goal(at):
            at = task.apply(at, teacher.good(teacher.space.find(at))[-1])
            steps += 1
            assert steps <= len(teacher.space)


@pytest.mark.parametrize("name", TASKS)
def test_astar_agrees(name: str) -> None:
    truth = world(name, ())
    teacher = AStarTeacher(truth.task)
    for state in truth.states(15):
        lesson = teacher.lesson(state)
        if lesson is None:
            assert np.isinf(truth.h_star(state))
        else:
            assert sum(truth.task.cost(s.good[0]) for s in lesson) == truth.h_star(state)
            assert not lesson or lesson[0].state == state


def test_astar_gives_up() -> None:
    task = small_task("blocksworld-4")
    assert AStarTeacher(task, expansions=1).lesson(task.initial_state) is None


def test_auto_enumerates_small_tasks_only() -> None:
    task = small_task("gripper-4")
    assert isinstance(make_teacher("auto", task), ExhaustiveTeacher)
    assert isinstance(make_teacher("auto", task, max_states=10), AStarTeacher)
    with pytest.raises(BudgetLimitError):
        make_teacher("exhaustive", task, max_states=10)
    with pytest.raises(UsageError, match="no teacher"):
        make_teacher("oracle", task)


def test_initial_state_and_costs_of_sas() -> None:
    task = random_costs(small_task("gripper-4"), 1, (2, 3))
    state = task.apply(task.initial_state, task.applicable(task.initial_state)[0])
    assert Task(with_initial_state(task.sas, state)).initial_state == state
    unit = with_unit_costs(task)
    assert {unit.cost(op) for op in range(unit.operator_count)} == {1}
    assert unit.operator_names == task.operator_names


PLANNER = """
import sys
from misstep.tasks.load import load_task
from misstep.planning import plan
open(sys.argv[2], "w").write(plan(load_task(sys.argv[1])).text)
"""


def test_command(tmp_path: Path) -> None:
    script = tmp_path / "planner.py"
    script.write_text(PLANNER)
    task = small_task("gripper-4")
    state = task.apply(task.initial_state, task.applicable(task.initial_state)[0])
    teacher = CommandTeacher(task, f"{sys.executable} {script} {{sas}} {{plan}}")
    lesson = teacher.lesson(state)
    best = ExhaustiveTeacher(task).lesson(state)
    assert lesson is not None
    assert best is not None
    assert len(lesson) == len(best)
    assert lesson[0].state == state


def test_bad_commands(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    with pytest.raises(UsageError, match="does not say where"):
        CommandTeacher(task, "planner")
    with pytest.raises(ToolError, match="cannot be started"):
        CommandTeacher(task, str(tmp_path / "none") + " {sas}").lesson(task.initial_state)
    assert CommandTeacher(task, "true {sas}").lesson(task.initial_state) is None
    (tmp_path / "commented").write_text(plan(task).text.replace(")\n", ") ; a step\n"))
    commented = CommandTeacher(task, f"sh -c 'cat {tmp_path}/commented' {{sas}}")
    assert commented.lesson(task.initial_state) is not None
    slow = CommandTeacher(task, "sh -c 'sleep 60' {sas}", seconds=0.05)
    assert slow.lesson(task.initial_state) is None
    name = task.operator_name(task.applicable(task.initial_state)[0])
    with pytest.raises(UsageError, match="cannot be read: No closing quotation"):
        CommandTeacher(task, "sh -c 'planner {sas}")
    with pytest.raises(ToolError, match="has no operator"):
        CommandTeacher(task, "sh -c 'echo \"(fly)\"' {sas}").lesson(task.initial_state)
    with pytest.raises(ToolError, match="does not reach the goal"):
        CommandTeacher(task, f"sh -c 'echo \"({name})\"' {{sas}}").lesson(task.initial_state)


def test_a_slow_planner_goes_with_all_it_started(tmp_path: Path) -> None:
    """The usual planner is a script, and what takes the time is its child."""
    task = small_task("gripper-4")
    script = tmp_path / "planner.sh"
    script.write_text(f"sleep 60 &\necho $! > {tmp_path}/pid\nwait\n")
    teacher = CommandTeacher(task, f"sh {script} {{sas}}", seconds=0.5)
    assert teacher.lesson(task.initial_state) is None
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    for _ in range(500):  # a killed process takes a moment to go
        try:
            if child.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        sleep(0.01)
    pytest.fail("the child of the planner is still there")


def test_samples_keep_the_first_label() -> None:
    task = small_task("gripper-4")
    samples = Samples([task])
    state = task.initial_state
    assert samples.add(0, Sample(state, (0,)))
    assert not samples.add(0, Sample(state, (1,), 4.0))
    assert samples[0].samples == [Sample(state, (0,), 4.0)]
    mark = samples.mark()
    other = task.apply(state, task.applicable(state)[1])
    samples.add(0, Sample(other, (1,)))
    samples[0].give_up(state)
    assert samples.since(mark) == [([Sample(other, (1,))], [state])]


def test_nothing_to_choose_is_no_sample() -> None:
    task = small_task("spanner-3")
    lesson = ExhaustiveTeacher(task).all_states()
    samples = Samples([task])
    samples.add_all(0, lesson)
    single = [s for s in lesson if len(task.applicable(s.state)) < 2]
    assert single
    assert len(samples) == len(lesson) - len(single)


def test_planners_that_write_too_much() -> None:
    task = small_task("gripper-4")

    def lesson(command: str) -> object:
        teacher = CommandTeacher(task, f"sh -c '{command}' {{sas}} {{plan}}", seconds=60)
        return teacher.lesson(task.initial_state)

    with pytest.raises(ToolError, match="is longer than 64 MiB"):
        lesson("yes")
    with pytest.raises(ToolError, match="cannot be read: this is not a regular file"):
        lesson("ln -s /dev/zero $1")
    assert lesson('yes "" | head -n 1000000') is None
