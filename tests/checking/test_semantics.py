"""What an operator requires and does, on tasks built by hand."""

from __future__ import annotations

import pytest

from misstep.checking.sas import Axiom, Effect, Operator, SasTask, Variable, parse_sas
from misstep.checking.semantics import (
    Violation,
    apply,
    check_state,
    is_applicable,
    is_goal,
    refuse_axioms,
    unreached_goals,
    violated_preconditions,
)
from misstep.errors import UnsupportedError, UsageError


def test_prevail_and_pre_are_both_required() -> None:
    operator = Operator("o", ((0, 1),), (Effect((), 1, 2, 0),), 1)
    assert violated_preconditions((1, 2), operator) == []
    assert violated_preconditions((0, 2), operator) == [Violation(0, 1, 0)]
    assert violated_preconditions((0, 1), operator) == [Violation(0, 1, 0), Violation(1, 2, 1)]


def test_pre_of_a_conditional_effect_is_required_of_the_operator() -> None:
    # The condition does not hold, and still the operator is not applicable.
    operator = Operator("o", (), (Effect(((0, 1),), 1, 2, 0),), 1)
    assert violated_preconditions((0, 1), operator) == [Violation(1, 2, 1)]
    assert is_applicable((0, 2), operator)
    assert apply((0, 2), operator) == (0, 2)
    assert apply((1, 2), operator) == (1, 0)


def test_effect_conditions_are_not_required() -> None:
    assert is_applicable((0, 0), Operator("o", (), (Effect(((0, 1),), 1, -1, 1),), 1))


def test_effect_conditions_see_the_state_before() -> None:
    swap = Operator(
        "swap",
        (),
        (
            Effect(((1, 0),), 0, -1, 0),
            Effect(((1, 1),), 0, -1, 1),
            Effect(((0, 0),), 1, -1, 0),
            Effect(((0, 1),), 1, -1, 1),
        ),
        1,
    )
    for state in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert apply(state, swap) == state[::-1]


def test_all_conditions_of_an_effect_must_hold() -> None:
    operator = Operator("o", (), (Effect(((0, 1), (1, 1)), 2, -1, 1),), 1)
    assert apply((1, 1, 0), operator) == (1, 1, 1)
    assert apply((1, 0, 0), operator) == (1, 0, 0)


def test_the_later_effect_wins() -> None:
    first, second = Effect((), 0, -1, 1), Effect(((1, 0),), 0, -1, 2)
    assert apply((0, 0), Operator("o", (), (first, second), 1)) == (2, 0)
    assert apply((0, 0), Operator("o", (), (second, first), 1)) == (1, 0)
    assert apply((0, 1), Operator("o", (), (first, second), 1)) == (1, 1)


def test_an_operator_without_effects_changes_nothing() -> None:
    assert apply((1, 0), Operator("noop", ((0, 1),), (), 1)) == (1, 0)


def test_an_inapplicable_operator_is_not_applied() -> None:
    with pytest.raises(UsageError):
        apply((0,), Operator("o", ((0, 1),), (), 1))


def test_goals_are_recognised(gripper: SasTask) -> None:
    assert is_goal((0, 1), gripper)
    assert unreached_goals((0, 2), gripper) == [Violation(1, 1, 2)]


def test_violations_in_words(gripper: SasTask) -> None:
    assert Violation(1, 1, 2).describe(gripper) == (
        "requires Atom at(ball, roomb), but var1=<none of those> holds"
    )


@pytest.mark.parametrize("state", [(), (0,), (0, 0, 0), (2, 0), (0, 3), (-1, 0)])
def test_states_of_another_task_are_refused(gripper: SasTask, state: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        check_state(gripper, state)


def test_axioms_are_refused(everything: str, gripper: SasTask) -> None:
    refuse_axioms(gripper)
    with pytest.raises(UnsupportedError):
        refuse_axioms(parse_sas(everything))


@pytest.mark.parametrize("axioms", [(), (Axiom((), 0, 1, 0),)])
def test_a_derived_variable_without_axioms_is_refused(axioms: tuple[Axiom, ...]) -> None:
    variable = Variable("v", 0, ("a", "b"))
    with pytest.raises(UnsupportedError):
        refuse_axioms(SasTask(False, (variable,), (), (0,), ((0, 0),), (), axioms))
