"""Operators with the same name, as disjunctive preconditions give them: the applicable one is meant."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.policies.function import StateView
from misstep.policies.load import load_policy
from misstep.policies.process import ProcessPolicy
from misstep.policies.remote.names import Matching
from misstep.runs.follow import follow_operators, path_cost
from misstep.runs.single import run_once
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import State, Task
from misstep.training.teachers import CommandTeacher

DOMAIN = """(define (domain doors)
  (:requirements :strips :disjunctive-preconditions)
  (:predicates (key) (open) (out) (tired))
  (:action rest :parameters () :precondition (tired) :effect (and (open) (not (tired))))
  (:action leave :parameters () :precondition (or (key) (open)) :effect (out)))"""
PROBLEM = """(define (problem p) (:domain doors)
  (:init (tired)) (:goal (out)))"""

PROGRAM = """import json, sys
sys.stdin.readline()
print(json.dumps({"protocol": 1, "name": "names"}), flush=True)
for line in sys.stdin:
    batch = json.loads(line)
    print(json.dumps({"id": batch["id"], "operators": ["leave"] * len(batch["states"])}), flush=True)
"""


@pytest.fixture(scope="module")
def task() -> Task:
    """Two operators `leave`: the first needs atom a2, the second a3. Only a3 holds in the initial state."""
    variables = "begin_variable\nvar0\n-1\n4\n" + "".join(f"Atom x({i})\n" for i in range(4))
    gate = "begin_variable\nvar1\n-1\n2\nAtom in()\nAtom out()\nend_variable\n"
    switches = [
        f"begin_variable\nvar{v}\n-1\n2\nAtom a{v}()\nNegatedAtom a{v}()\nend_variable\n"
        for v in (2, 3)
    ]

    def operator(name: str, prevail: list[tuple[int, int]], effect: str) -> str:
        lines = "".join(f"{v} {x}\n" for v, x in prevail)
        return f"begin_operator\n{name}\n{len(prevail)}\n{lines}1\n{effect}\n1\nend_operator\n"

    operators = [
        operator("leave", [(2, 0)], "0 1 0 1"),
        operator("leave", [(3, 0)], "0 1 0 1"),
        operator("step", [], "0 0 0 1"),
    ]
    sas = (
        "begin_version\n3\nend_version\nbegin_metric\n1\nend_metric\n4\n"
        + variables + "end_variable\n" + gate + "".join(switches)
        + "0\nbegin_state\n0\n0\n1\n0\nend_state\nbegin_goal\n1\n1 1\nend_goal\n3\n"
        + "".join(operators) + "0\n"
    )  # fmt: skip
    return Task(sas.encode(), name="namesakes")


def test_the_rule(task: Task) -> None:
    assert task.operators_named("(LEAVE )") == (0, 1)
    expected = {(1, 0): 1, (0, 1): 0, (0, 0): 0, (1, 1): 0}  # the last: none applies
    for switches, operator in expected.items():
        assert task.resolve("leave", State([0, 0, *switches])) == operator
    with pytest.raises(UsageError, match=r"the task has no operator \(fly\)"):
        task.resolve("fly", task.initial_state)


def test_the_translator_makes_such_tasks(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM.replace("(tired)", "(tired) (open)"))
    loaded = load_planning_task(tmp_path)
    state = loaded.initial_state
    assert loaded.resolve("leave", state) in loaded.applicable(state)


def test_python_policies(task: Task) -> None:
    trace = run_once(load_policy(lambda _: "leave", task), task.initial_state)
    assert (trace.outcome, trace.operators) == ("goal", [1])
    none = State([0, 0, 1, 1])
    trace = run_once(load_policy(lambda _: "leave", task), none)
    assert (trace.outcome, trace.message) == ("inapplicable", "(leave) does not apply")
    view = StateView(task.initial_state, task).after("leave")
    assert task.is_goal(view.state)


def test_programs(task: Task, tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(PROGRAM)
    own = ProcessPolicy(task, [sys.executable, str(tmp_path / "names.py")])
    try:
        states = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]], dtype=np.int32)
        assert own.decide(states).operators.tolist() == [1, 0, 0]
    finally:
        own.close()


def test_plans(task: Task, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("(leave)\n")
    trace = run_once(load_policy(f"plan:{tmp_path / 'plan'}", task), task.initial_state)
    assert (trace.outcome, trace.operators) == ("goal", [1])


def test_teachers(task: Task) -> None:
    teacher = CommandTeacher(task, "printf '(step)\\n(leave)\\n' {sas}")
    lesson = teacher.lesson(task.initial_state)
    assert lesson is not None
    assert [sample.good for sample in lesson] == [(2,), (1,)]


def test_servers_that_do_not_see_the_difference(task: Task) -> None:
    # The server has one operator `leave` that needs neither switch, and sees none of them.
    text = task.sas.decode()
    for v in (2, 3):
        text = text.replace(
            f"begin_variable\nvar{v}\n-1\n2\nAtom a{v}()\nNegatedAtom a{v}()\nend_variable\n", ""
        )
    text = text.replace("end_metric\n4\n", "end_metric\n2\n")
    text = text.replace("begin_state\n0\n0\n1\n0\n", "begin_state\n0\n0\n")
    text = text.replace("begin_operator\nleave\n1\n2 0\n", "begin_operator\nleave\n0\n")
    twin = "begin_operator\nleave\n1\n3 0\n1\n0 1 0 1\n1\nend_operator\n"
    text = text.replace(twin, "").replace("\n3\nbegin_operator", "\n2\nbegin_operator")
    matching = Matching(task, Task(text.encode()), "server")
    assert matching.operators == [(0, 1), (2,)]
    assert matching.operator(0, task.initial_state) == 1
    assert matching.operator(0, State([0, 0, 0, 1])) == 0


def test_following(task: Task) -> None:
    start = task.initial_state
    states = follow_operators(task, start, [2, 1])
    assert [state.values for state in states] == [(0, 0, 1, 0), (1, 0, 1, 0), (1, 1, 1, 0)]
    assert path_cost(task, [2, 1]) == 2
    with pytest.raises(UsageError, match=r"step 1: \(leave\) does not apply in"):
        follow_operators(task, start, [2, 0])
    with pytest.raises(UsageError, match="step 0: the task has no operator 3"):
        follow_operators(task, start, [3])
