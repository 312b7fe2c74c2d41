"""The semantics of operators. A state is a tuple with one value for each variable.

* An operator is applicable if all its preconditions hold: the prevail conditions and the `pre` of
  every effect, conditional or not.
* Effect conditions are evaluated in the state *before* the operator. An effect whose condition
  fails does nothing.
* Effects are applied in the order of the file, and a later one overwrites an earlier one on the
  same variable. This is what Fast Downward's search does, so plans mean the same here
  and there. On tasks from PDDL it is also the add-after-delete rule: the translator guards
  every delete with "and no add effect on this variable fires", and in a reachable state
  two different values of a variable are never added together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from misstep.checking.sas import Fact, Operator, SasTask, State
from misstep.errors import UnsupportedError, UsageError


class Violation(NamedTuple):
    """A condition that does not hold: `var` has to be `required` and is `actual`."""

    var: int
    required: int
    actual: int

    def describe(self, task: SasTask) -> str:
        required = _fact_text(task, (self.var, self.required))
        actual = _fact_text(task, (self.var, self.actual))
        return f"requires {required}, but {actual} holds"


def refuse_axioms(task: SasTask) -> None:
    """Derived variables have no meaning here: taking their values as given would be a guess."""
    derived = sum(variable.axiom_layer != -1 for variable in task.variables)
    if task.axioms or derived:
        raise UnsupportedError(
            f"the task has {len(task.axioms)} axioms and {derived} derived variables",
            expected="a task without axioms",
        )


def check_state(task: SasTask, state: Sequence[int]) -> State:
    """`state` as a tuple, if it is one of this task's states at all."""
    if len(state) != len(task.variables):
        raise UsageError(
            f"the state has {len(state)} values", expected=f"one for each of {len(task.variables)}"
        )
    for var, (value, variable) in enumerate(zip(state, task.variables, strict=True)):
        if not 0 <= value < len(variable.values):
            raise UsageError(
                f"the state gives variable {var} the value {value}",
                expected=f"0 to {len(variable.values) - 1}",
            )
    return tuple(state)


def violations(state: State, conditions: Sequence[Fact]) -> list[Violation]:
    return [Violation(var, value, state[var]) for var, value in conditions if state[var] != value]


def violated_preconditions(state: State, operator: Operator) -> list[Violation]:
    """The conditions that keep the operator from being applicable; empty if it is applicable."""
    return violations(state, operator.preconditions())


def unreached_goals(state: State, task: SasTask) -> list[Violation]:
    """Which goal facts are missing; empty means this is a goal state."""
    return violations(state, task.goal)


def is_applicable(state: State, operator: Operator) -> bool:
    # As `violated_preconditions`, without saying which: a replay asks this at every step.
    for var, value in operator.prevail:
        if state[var] != value:
            return False
    for effect in operator.effects:  # noqa: SIM110, as all() takes twice as long
        if effect.pre not in (-1, state[effect.var]):
            return False
    return True


def is_goal(state: State, task: SasTask) -> bool:
    for var, value in task.goal:  # noqa: SIM110
        if state[var] != value:
            return False
    return True


def apply(state: State, operator: Operator) -> State:
    if not is_applicable(state, operator):
        raise UsageError(f"operator ({operator.name}) is not applicable in this state")
    return effect_of(state, operator)


def effect_of(state: State, operator: Operator) -> State:
    """The successor by an operator that is known to be applicable."""
    successor = list(state)
    for effect in operator.effects:
        if not (effect.conditions and violations(state, effect.conditions)):
            successor[effect.var] = effect.post
    return tuple(successor)


def _fact_text(task: SasTask, fact: Fact) -> str:
    name = task.value_name(fact)
    # The translator gives many variables a value of this name; alone it would say nothing.
    return f"{task.variables[fact[0]].name}={name}" if name == "<none of those>" else name
