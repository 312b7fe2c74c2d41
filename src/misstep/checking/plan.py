"""Validate plans: sequences of operators, from any state.

A step is an operator's number in the file or its name. Numbers leave no choice. A plan file has names, but names
need not be unique: the translator splits an action with a negative or disjunctive precondition into
several operators of one name. On translator output it makes no difference which one is taken, as the
parts of one action do the same wherever two of them apply. On other files it may, so all choices are
followed: VALID means that some real sequence of operators does what is claimed, INVALID that none does.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from misstep.checking.files import read_text
from misstep.checking.sas import Operator, SasTask, State
from misstep.checking.semantics import (
    Violation,
    check_state,
    effect_of,
    is_applicable,
    is_goal,
    refuse_axioms,
    unreached_goals,
    violated_preconditions,
)
from misstep.errors import InputFormatError

Step = str | int  # an operator by its name, or by its number in the file, the first one being 0
Reached = tuple[State, int]  # a state, and what was spent until there

_SHOWN = 3  # conditions spelled out in a reason; the report has them all


class Failure(enum.Enum):
    UNKNOWN_OPERATOR = "unknown operator"
    INAPPLICABLE = "inapplicable"
    GOAL_NOT_REACHED = "goal not reached"
    COST_DIFFERS = "cost differs"


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of a plan. Cost, steps and final state are those of the part that could be executed.

    If names leave a choice, they are those of the cheapest choice that gets as far as any.
    """

    valid: bool
    cost: int
    steps: int
    final_state: State
    failure: Failure | None = None
    failed_step: int | None = None
    """The step that could not be executed, the first one being 1."""
    failed_operator: str | None = None
    violated: tuple[Violation, ...] = ()
    """The preconditions or goal facts that do not hold in the final state."""
    reason: str = ""
    ambiguous_steps: tuple[int, ...] = ()
    """Steps where several operators of that name were applicable and differ in result or cost."""

    def __str__(self) -> str:
        return f"VALID cost {self.cost}" if self.valid else f"INVALID {self.reason}"


def read_plan(path: str | os.PathLike[str]) -> list[str]:
    return parse_plan(read_text(path), os.fspath(path))


def parse_plan(text: str, source: str = "<plan>") -> list[str]:
    """The operator names of an IPC plan: `(name arguments)`, one a line, comments after `;`."""
    names = []
    for number, line in enumerate(text.split("\n"), 1):
        step = line.partition(";")[0].strip()
        if not step:
            continue
        name = normalise(step)
        bare = not (step.startswith("(") and step.endswith(")"))
        if bare or not name or "(" in name or ")" in name:
            shown = ascii(step if len(step) <= 40 else step[:37] + "...")
            raise InputFormatError(
                f"found {shown}",
                where=f"{source}:{number}",
                expected="(operator arguments) or a comment after ;",
            )
        names.append(name)
    return names


def validate_plan(
    task: SasTask,
    plan: Sequence[Step],
    state: Sequence[int] | None = None,
    claimed_cost: int | None = None,
) -> PlanReport:
    """Execute `plan` from `state` (default: the initial state) and check whether it is a plan.

    Operator names may come with or without parentheses. An invalid plan is an answer, not an
    error; errors are only for tasks with axioms and for states that do not belong to this task.
    """
    refuse_axioms(task)
    first = task.initial_state if state is None else check_state(task, state)
    if (end := _followed(task, first, plan)) is not None and claimed_cost in (None, end[1]):
        return PlanReport(valid=True, cost=end[1], steps=len(plan), final_state=end[0])
    reached = [(first, 0)]
    ambiguous: list[int] = []
    for step, (given, same_name) in enumerate(zip(plan, operators_of(task, plan), strict=True), 1):
        name = step_name(task, given)
        choices = [after([here], same_name) for here in reached]
        if not any(choices):
            current, cost = _cheapest(reached)
            violated = _fewest_violations(current, same_name)
            if same_name:
                failure, why = Failure.INAPPLICABLE, _describe(task, violated)
            else:
                failure, why = Failure.UNKNOWN_OPERATOR, "the task has no operator of this name"
            return PlanReport(
                valid=False,
                cost=cost,
                steps=step - 1,
                final_state=current,
                failure=failure,
                failed_step=step,
                failed_operator=name,
                violated=tuple(violated),
                reason=f"step {step} ({name}): {why}" + _ambiguity_note(ambiguous),
                ambiguous_steps=tuple(ambiguous),
            )
        if any(len(results) > 1 for results in choices):
            ambiguous.append(step)
        reached = list(dict.fromkeys(chain.from_iterable(choices)))

    goals = [end for end in reached if is_goal(end[0], task)]
    claimed = [end for end in goals if claimed_cost in (None, end[1])]
    current, cost = _cheapest(claimed or goals or reached)
    missing = unreached_goals(current, task)
    failed: Failure | None = None
    reason = ""
    if missing:
        failed = Failure.GOAL_NOT_REACHED
        reason = f"the goal is not reached after {len(plan)} steps: it {_describe(task, missing)}"
    elif claimed_cost is not None and claimed_cost != cost:
        failed = Failure.COST_DIFFERS
        reason = f"the plan costs {cost}, not {claimed_cost} as claimed"
    return PlanReport(
        valid=failed is None,
        cost=cost,
        steps=len(plan),
        final_state=current,
        failure=failed,
        violated=tuple(missing),
        reason="" if failed is None else reason + _ambiguity_note(ambiguous),
        ambiguous_steps=tuple(ambiguous),
    )


def _followed(task: SasTask, here: State, plan: Sequence[Step]) -> Reached | None:
    """The end of a plan of ids, if it is valid: a fast check, which suffices for most. None: check in detail."""
    cost = 0
    for step in plan:
        if isinstance(step, str) or not 0 <= step < len(task.operators):
            return None
        operator = task.operators[step]
        if not is_applicable(here, operator):
            return None
        here = effect_of(here, operator)
        cost += operator.cost
    return (here, cost) if is_goal(here, task) else None


def normalise(name: str) -> str:
    """PDDL names ignore case; spaces and the outer parentheses carry no meaning."""
    name = name.strip()
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1]
    return " ".join(name.lower().split())


def operators_of(task: SasTask, plan: Sequence[Step]) -> list[list[Operator]]:
    """For each step, the operators that it can mean."""
    by_name = operators_by_name(task, [step for step in plan if isinstance(step, str)])
    return [
        by_name[normalise(step)]
        if isinstance(step, str)
        else list(task.operators[step : step + 1] if step >= 0 else ())
        for step in plan
    ]


def step_name(task: SasTask, step: Step) -> str:
    if isinstance(step, str):
        return normalise(step)
    known = 0 <= step < len(task.operators)
    return normalise(task.operators[step].name) if known else f"operator {step}"


def operators_by_name(task: SasTask, plan: Sequence[str]) -> dict[str, list[Operator]]:
    # Only the names the plan uses: a plan is short and a task may have many operators.
    candidates: dict[str, list[Operator]] = {normalise(name): [] for name in plan}
    for operator in task.operators if candidates else ():
        same_name = candidates.get(normalise(operator.name))
        if same_name is not None:
            same_name.append(operator)
    return candidates


def after(reached: Iterable[Reached], operators: Sequence[Operator]) -> list[Reached]:
    """The results of one step with each of these operators that applies; each result once."""
    return list(
        dict.fromkeys(
            (effect_of(state, operator), cost + operator.cost)
            for state, cost in reached
            for operator in operators
            if is_applicable(state, operator)
        )
    )


def _cheapest(reached: Iterable[Reached]) -> Reached:
    return min(reached, key=lambda end: end[1])


def _fewest_violations(state: State, operators: Sequence[Operator]) -> list[Violation]:
    """Explain with the operator that came closest to being applicable."""
    return min((violated_preconditions(state, op) for op in operators), key=len, default=[])


def _describe(task: SasTask, violated: Sequence[Violation]) -> str:
    text = "; ".join(violation.describe(task) for violation in violated[:_SHOWN])
    more = len(violated) - _SHOWN
    return f"{text}; and {more} more" if more > 0 else text


def _ambiguity_note(ambiguous: Sequence[int]) -> str:
    if not ambiguous:
        return ""
    return (
        f" (step {ambiguous[0]} names several applicable operators that differ; "
        "no choice among them helps)"
    )
