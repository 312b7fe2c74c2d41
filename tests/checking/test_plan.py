"""Valid plans are accepted, and for an invalid plan the reason is given."""

from __future__ import annotations

import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.checking import Failure, SasTask, parse_plan, parse_sas, validate_plan, validate_run
from misstep.checking.sas import Effect, Operator, Variable
from misstep.checking.semantics import Violation
from misstep.errors import InputFormatError, UnsupportedError, UsageError

PLAN = ["pick ball rooma", "move rooma roomb", "drop ball roomb"]


def test_a_valid_plan_is_accepted(gripper: SasTask) -> None:
    report = validate_plan(gripper, PLAN, claimed_cost=4)
    assert report.valid
    assert str(report) == "VALID cost 4"
    assert (report.cost, report.steps, report.final_state) == (4, 3, (1, 1))
    assert (report.failure, report.failed_step, report.violated) == (None, None, ())


def test_names_in_any_case_with_or_without_parentheses(gripper: SasTask) -> None:
    plan = ["(PICK ball RoomA)", "( move rooma  roomb )", "Drop ball roomb"]
    assert validate_plan(gripper, plan).valid


def test_a_plan_from_another_state(gripper: SasTask) -> None:
    report = validate_plan(gripper, PLAN[1:], state=[0, 2])
    assert (report.valid, report.cost) == (True, 3)
    assert not validate_plan(gripper, PLAN[1:]).valid


def test_the_empty_plan_is_valid_only_in_a_goal(gripper: SasTask) -> None:
    assert validate_plan(gripper, [], state=(0, 1)).valid
    report = validate_plan(gripper, [])
    assert report.failure is Failure.GOAL_NOT_REACHED
    assert (report.cost, report.steps, report.final_state) == (0, 0, (0, 0))


def test_the_cost_of_a_plan(gripper_sas: str) -> None:
    unit = parse_sas(gripper_sas.replace("begin_metric\n1", "begin_metric\n0"))
    assert validate_plan(unit, PLAN).cost == 3
    free = parse_sas(gripper_sas.replace("\n2\nend_operator", "\n0\nend_operator"))
    assert validate_plan(free, PLAN).cost == 2


def test_an_inapplicable_step_is_invalid(gripper: SasTask) -> None:
    report = validate_plan(gripper, [PLAN[0], "pick ball roomb", PLAN[2]])
    assert report.failure is Failure.INAPPLICABLE
    assert (report.failed_step, report.failed_operator) == (2, "pick ball roomb")
    assert (report.steps, report.cost, report.final_state) == (1, 1, (0, 2))
    assert report.violated == (Violation(0, 1, 0), Violation(1, 1, 2))
    assert str(report) == (
        "INVALID step 2 (pick ball roomb): requires Atom at-robby(roomb), but Atom "
        "at-robby(rooma) holds; requires Atom at(ball, roomb), but var1=<none of those> holds"
    )


def test_an_unknown_operator_is_invalid(gripper: SasTask) -> None:
    report = validate_plan(gripper, [PLAN[0], "fly roomb"])
    assert report.failure is Failure.UNKNOWN_OPERATOR
    assert report.reason == "step 2 (fly roomb): the task has no operator of this name"


def test_a_plan_that_does_not_reach_the_goal_is_invalid(gripper: SasTask) -> None:
    report = validate_plan(gripper, PLAN[:2])
    assert report.failure is Failure.GOAL_NOT_REACHED
    assert (report.failed_step, report.final_state) == (None, (1, 2))
    assert report.violated == (Violation(1, 1, 2),)
    assert "after 2 steps: it requires Atom at(ball, roomb)" in report.reason


@pytest.mark.parametrize("claimed", [3, 5, 0])
def test_another_claimed_cost_is_invalid(gripper: SasTask, claimed: int) -> None:
    report = validate_plan(gripper, PLAN, claimed_cost=claimed)
    assert report.failure is Failure.COST_DIFFERS
    assert report.reason == f"the plan costs 4, not {claimed} as claimed"
    assert report.cost == 4


def test_passing_through_the_goal_is_not_enough(gripper: SasTask) -> None:
    report = validate_plan(gripper, [*PLAN, "pick ball roomb"])
    assert report.failure is Failure.GOAL_NOT_REACHED


def test_malformed_input_is_an_error(gripper: SasTask, everything: str) -> None:
    with pytest.raises(UsageError):
        validate_plan(gripper, PLAN, state=(0, 3))
    with pytest.raises(UnsupportedError):
        validate_plan(parse_sas(everything), [])


def counter(*operators: Operator) -> SasTask:
    """One variable that counts from 0 to 4; the goal is 4."""
    values = tuple(f"n={i}" for i in range(5))
    return SasTask(True, (Variable("n", -1, values),), (), (0,), ((0, 4),), operators, ())


def step(name: str, pre: int, post: int, cost: int = 1) -> Operator:
    return Operator(name, (), (Effect((), 0, pre, post),), cost)


def test_of_equal_names_the_applicable_one_is_taken() -> None:
    task = counter(step("up", 1, 4, cost=5), step("up", 0, 1, cost=3))
    report = validate_plan(task, ["up", "up"], claimed_cost=8)
    assert report.valid
    assert report.ambiguous_steps == ()


def test_of_equal_names_the_closest_one_explains(gripper: SasTask) -> None:
    operators = tuple(
        dataclasses.replace(
            operator, name=operator.name.removesuffix(" rooma").removesuffix(" roomb")
        )
        for operator in gripper.operators
    )
    task = dataclasses.replace(gripper, operators=operators)
    report = validate_plan(task, ["pick ball"], state=(1, 0))
    assert report.failure is Failure.INAPPLICABLE
    assert report.violated == (Violation(0, 0, 1),)
    report = validate_plan(task, ["pick ball"], state=(1, 2))
    assert report.violated == (Violation(1, 1, 2),)


def test_equal_names_that_do_the_same_are_not_ambiguous() -> None:
    task = counter(step("up", 0, 4), step("up", -1, 4))
    assert validate_plan(task, ["up"]).ambiguous_steps == ()


@pytest.mark.parametrize("other", [step("up", 0, 4, cost=2), step("up", 0, 1)])
def test_one_choice_among_equal_names_has_to_be_a_plan(other: Operator) -> None:
    for task in (counter(step("up", 0, 4), other), counter(other, step("up", 0, 4))):
        report = validate_plan(task, ["up"], claimed_cost=1)
        assert (report.valid, report.cost, report.final_state) == (True, 1, (4,))
        assert report.ambiguous_steps == (1,)
        assert validate_plan(task, ["up"]).cost == 1
        report = validate_plan(task, ["up"], claimed_cost=7)
        assert report.failure is Failure.COST_DIFFERS
        assert "step 1 names several applicable operators" in report.reason
        assert validate_plan(task, ["up", "down"]).failure is Failure.UNKNOWN_OPERATOR


def test_choices_are_not_mixed() -> None:
    """The cost of one choice and the end of another one do not make a valid plan."""
    task = counter(step("go", 0, 1), step("go", 0, 2, cost=5), step("win", 2, 4))
    assert validate_plan(task, ["go", "win"], claimed_cost=6).valid
    assert validate_plan(task, ["go", "win"], claimed_cost=2).failure is Failure.COST_DIFFERS
    assert validate_plan(task, ["go"]).failure is Failure.GOAL_NOT_REACHED
    report = validate_plan(task, ["go", "go"])
    assert (report.failure, report.failed_step) == (Failure.INAPPLICABLE, 2)


def test_equal_costs_by_other_ways_are_followed_once() -> None:
    task = counter(step("on", 0, 0), step("on", 0, 0, cost=2), step("win", 0, 4))
    report = validate_plan(task, ["on"] * 200 + ["win"], claimed_cost=301)
    assert report.valid
    assert not validate_plan(task, ["on"] * 200 + ["win"], claimed_cost=402).valid


def test_runs_of_equal_names_cost_what_one_choice_costs() -> None:
    task = counter(step("up", 0, 4, cost=2), step("up", 0, 4), step("up", 0, 1, cost=3))
    for cost, valid in ((2, True), (1, True), (3, False)):
        report = validate_run(task, [[0], [4]], ["up"], "goal", claimed_cost=cost)
        assert report.valid == valid
        assert valid == (report.cost == cost)


def test_many_violations_are_cut_short() -> None:
    variables = tuple(Variable(f"v{i}", -1, ("no", "yes")) for i in range(9))
    goal = tuple((i, 1) for i in range(9))
    task = SasTask(False, variables, (), (0,) * 9, goal, (), ())
    report = validate_plan(task, [])
    assert report.reason.endswith("; and 6 more")
    assert len(report.violated) == 9


def test_plan_files_are_parsed() -> None:
    text = (
        "; made by hand\n(pick ball rooma)\r\n\n  ( Move rooma\troomb ) ; go\n(noop )\n; cost = 4"
    )
    assert parse_plan(text) == ["pick ball rooma", "move rooma roomb", "noop"]
    assert parse_plan("") == []


@pytest.mark.parametrize("line", ["pick ball", "(pick", "pick)", "()", "( )", "((pick))", "(a)(b)"])
def test_wrong_lines_of_plans_are_refused(line: str) -> None:
    with pytest.raises(InputFormatError) as caught:
        parse_plan(f"(noop)\n{line}\n", "p.plan")
    assert caught.value.where == "p.plan:2"


@given(st.text())
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    try:
        names = parse_plan(text)
    except InputFormatError:
        return
    assert parse_plan("\n".join(f"({name})" for name in names)) == names


@given(st.lists(st.integers(0, 6), max_size=12), st.integers(0, 1), st.integers(0, 2))
def test_any_sequence_gets_an_answer(
    gripper: SasTask, choices: list[int], room: int, ball: int
) -> None:
    names = [operator.name for operator in gripper.operators] + ["unknown"]
    report = validate_plan(gripper, [names[choice] for choice in choices], (room, ball))
    assert report.valid == (report.failure is None) == (report.reason == "")
    assert report.valid <= (report.final_state[1] == 1)
    assert report.steps <= len(choices)


def test_long_plans_on_large_tasks_are_quick() -> None:
    operators = [step(f"move-{i} a b", i % 4, (i + 1) % 4) for i in range(50_000)]
    task = counter(*operators, step("end", -1, 4))
    plan = [f"(move-{i} a b)" for i in range(10_000)] + ["(end)"]
    start = time.process_time()
    assert validate_plan(task, plan).cost == 10_001
    # About 0.2 s; something quadratic would take minutes.
    assert time.process_time() - start < 5
