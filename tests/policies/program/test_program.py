"""Generalised plans: what programs read, how their plans are used, and the two in the zoo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.policies import zoo
from misstep.policies.load import load_policy
from misstep.policies.policy import NO_ACTION, Candidates
from misstep.policies.program import ProgramPolicy
from misstep.runs.single import run_once
from misstep.tasks.census import state_space
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task
from support.tasks import rows, small_task, walk

ZOO = Path(zoo.__file__).parent
SHOWN = """
import json
from pathlib import Path

def get_plan(objects, init, goal):
    assert all(isinstance(seen, set) for seen in (objects, init, goal))
    Path(__file__).with_name("seen").write_text(json.dumps([list(objects), list(init), list(goal)]))
    return []
"""


def program(file: Path, task: Task, options: str = "--closed") -> ProgramPolicy:
    policy = load_policy(f"program:{options} {file}", task)
    assert isinstance(policy, ProgramPolicy)
    return policy


def follows(task: Task, state: State, plan: list[int]) -> bool:
    """Whether the plan leads to the goal."""
    for operator in plan:
        if operator not in task.applicable(state):
            return False
        state = task.apply(state, operator)
    return task.is_goal(state)


def seen(folder: Path, task: Task, options: str) -> list[list[object]]:
    """Objects, initial state and goal, as a program sees them in the initial state."""
    (folder / "shown.py").write_text(SHOWN)
    policy = program(folder / "shown.py", task, options)
    assert policy.plan(task.initial_state) == []
    policy.close()
    found: list[list[object]] = json.loads((folder / "seen").read_text())
    return found


def test_what_a_program_sees(tmp_path: Path) -> None:
    task = small_task("spanner-3")
    objects, init, goal = seen(tmp_path, task, "")
    lifted = task.lifted
    assert sorted(map(str, objects)) == sorted(str([o.name, o.type]) for o in lifted.objects)
    assert sorted(map(str, init)) == sorted(str([a.predicate, *a.terms]) for a in lifted.init)
    assert ["link", "shed", "location1"] in init  # which the translator dropped
    assert sorted(map(str, goal)) == sorted(
        str([literal.atom.predicate, *literal.atom.terms]) for literal in lifted.goal
    )


@pytest.mark.parametrize(("objects", "man"), [("names", "bob"), ("typed", ["bob", "man"])])
def test_objects_are_names_or_typed(tmp_path: Path, objects: str, man: object) -> None:
    assert man in seen(tmp_path, small_task("spanner-3"), f"--objects={objects}")[0]


def test_without_types_the_default_is_names(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(
        "(define (domain d) (:predicates (p ?x) (q ?x))"
        "(:action a :parameters (?x) :precondition (p ?x) :effect (q ?x)))"
    )
    (tmp_path / "p.pddl").write_text(
        "(define (problem p) (:domain d) (:objects o) (:init (p o)) (:goal (q o)))"
    )
    (tmp_path / "own.py").write_text(
        "def mine(objects, init, goal):\n"
        "    init.clear()\n"
        "    goal.clear()\n"
        "    return ['(A ' + x + ')' for x in objects]\n"
    )
    task = load_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
    policy = load_policy(f"program:{tmp_path / 'own.py'}:mine", task)
    # Twice: what the program did to its arguments does not last.
    assert policy.plan(task.initial_state) == policy.plan(task.initial_state) == [0]
    policy.close()


def test_the_correct_program_of_the_zoo_solves_every_state_that_has_a_plan() -> None:
    task = small_task("spanner-3")
    policy = program(ZOO / "spanner_program.py", task, "")
    assert policy.plans
    space = state_space(task)
    for number, distance in enumerate(space.h_star.tolist()):
        state = space.state(number)
        if task.is_goal(state):
            continue
        reached = follows(task, state, list(policy.plan(state)))
        assert reached == (distance < float("inf"))
    policy.close()


def test_the_planted_bug_shows_where_a_car_is_on_board() -> None:
    task = small_task("ferry-3")
    policy = program(ZOO / "ferry_program.py", task, "")
    space = state_space(task)
    wrong = 0
    for number in range(len(space)):
        state = space.state(number)
        on_board = any(fact.startswith("on(") for fact in task.facts(state))
        reached = follows(task, state, list(policy.plan(state)))
        assert reached == (not on_board)
        wrong += not reached
    assert wrong
    policy.close()


def test_closed_it_takes_the_first_operator_of_each_plan() -> None:
    task = small_task("ferry-3")
    closed, once = (program(ZOO / "ferry_program.py", task, o) for o in ("--closed", ""))
    assert not closed.plans
    states = walk(task, 30, seed=5)
    expected = [next(iter(once.plan(state)), NO_ACTION) for state in states]
    answers = closed.decide(rows(states))
    assert answers.operators.tolist() == expected
    assert closed.ask_again(rows(states)).operators.tolist() == expected
    assert not answers.messages
    assert run_once(closed, task.initial_state).outcome in ("goal", "loop", "stuck", "inapplicable")
    for policy in (closed, once):
        policy.close()


def test_a_plan_ends_at_the_first_operator_that_does_not_apply(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    file = tmp_path / "own.py"
    file.write_text(
        "def get_plan(objects, init, goal):\n"
        "    return ['move room-a room-b', '(MOVE room-a room-b)', 'nonsense']\n"
    )
    policy = program(file, task, "")
    move = task.resolve("move room-a room-b", task.initial_state)
    assert policy.plan(task.initial_state) == [move, move]
    policy.close()


def test_it_knows_what_it_cannot_do() -> None:
    task = small_task("ferry-3")
    policy = program(ZOO / "ferry_program.py", task, "")
    states = rows([task.initial_state])
    with pytest.raises(UsageError, match="give --closed"):
        policy.decide(states)
    with pytest.raises(UnsupportedError, match="does not choose"):
        policy.decide(states, Candidates(*task.applicable_batch(states)))
    policy.close()


def test_the_digest_covers_the_files_that_the_program_imports(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    file, helper = tmp_path / "own.py", tmp_path / "helper_of_mine.py"
    file.write_text("import helper_of_mine\ndef get_plan(o, i, g):\n    return helper_of_mine.plan")
    helper.write_text("plan = []")

    def digest(options: str = "") -> str:
        policy = program(file, task, options)
        policy.close()
        return policy.digest

    first = digest()
    assert digest() == first == digest("--timeout=5")
    assert digest("--closed") != first
    helper.write_text("plan = ()")
    assert digest() != first


def test_the_order_of_sets_is_the_same_in_every_process(tmp_path: Path) -> None:
    task = small_task("blocksworld-4")
    file = tmp_path / "own.py"
    file.write_text(
        "def get_plan(o, init, g):\n    raise ValueError([x[-1] for x in init if x[0] == 'clear'])"
    )
    state = rows([task.initial_state])
    texts = set()
    for _ in range(4):
        policy = program(file, task)
        texts.add(policy.decide(state).messages[0])
        policy.close()
    assert len(texts) == 1
