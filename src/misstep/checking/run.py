"""Validate runs of a policy: the states it passed, the operators it chose, and how it is said to have ended.

This does not check whether the policy would give the same answers again, only that its answers lead where it is
claimed. A run that ends in a loop, gets stuck, names an inapplicable operator or crashes has definitely failed; nothing
follows from a run that was cut, or in which the policy did not answer in time.

An open-loop policy decides on the whole run at its start, so it may come back to a state and leave it in another way:
`revisits` allows for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from misstep.checking.plan import Step, after, operators_of, step_name
from misstep.checking.sas import SasTask, State
from misstep.checking.semantics import (
    check_state,
    effect_of,
    is_applicable,
    is_goal,
    refuse_axioms,
)

OUTCOMES = ("goal", "loop", "stuck", "inapplicable", "error", "cut", "timeout")
# Outcomes that are correct if the states are; an operator that did not apply needs a further check.
_SHORT = ("goal", "loop", "stuck", "error", "cut", "timeout")
FAILURES = ("loop", "stuck", "inapplicable", "error")


@dataclass(frozen=True, slots=True)
class RunReport:
    """Whether everything is as claimed, the cost of the run, and otherwise the first error."""

    valid: bool
    cost: int
    reason: str = ""


def validate_run(
    task: SasTask,
    states: Sequence[Sequence[int]],
    operators: Sequence[Step],
    outcome: str,
    named: Step | None = None,
    claimed_cost: int | None = None,
    *,
    revisits: bool = False,
) -> RunReport:
    """Follow a run step by step. `named` is the operator that the policy chose where it did not apply."""
    refuse_axioms(task)
    is_short = outcome in _SHORT and not (revisits and outcome == "loop")
    spent = _followed(task, states, operators, outcome) if is_short else None
    if spent is not None and claimed_cost in (None, spent):
        return RunReport(True, spent)
    path = [check_state(task, state) for state in states]
    if outcome not in OUTCOMES or len(path) != len(operators) + 1:
        return RunReport(
            False, 0, f"no run: {len(path)} states, {len(operators)} operators, outcome {outcome}"
        )
    candidates = operators_of(task, operators)
    cost = 0
    reached = [(path[0], 0)]
    seen: set[State] = set()
    for step, (meant, here, there) in enumerate(zip(candidates, path, path[1:], strict=False), 1):
        seen.add(here)
        if is_goal(here, task):
            return RunReport(False, cost, f"step {step} leaves a goal state")
        # Names need not be unique; the one that was chosen leads to the next state.
        choices = after(reached, meant)
        reached = [choice for choice in choices if choice[0] == there]
        if not reached:
            name = step_name(task, operators[step - 1])
            return RunReport(False, cost, f"step {step} ({name}) does not lead to the next state")
        cost = reached[0][1]
        if there in seen and not revisits and not (outcome == "loop" and step == len(operators)):
            return RunReport(False, cost, f"step {step} comes back to a state seen before")

    last = path[-1]
    if is_goal(last, task) != (outcome == "goal"):
        return RunReport(False, cost, f"the outcome is {outcome}, the last state {last}")
    if outcome == "loop" and (revisits or last not in seen):
        return RunReport(False, cost, "the last state of the loop was not seen before")
    if outcome == "inapplicable":
        if named is None:
            return RunReport(False, cost, "the operator that did not apply is not given")
        (meant,) = operators_of(task, [named])
        if any(is_applicable(last, operator) for operator in meant):
            name = step_name(task, named)
            return RunReport(False, cost, f"({name}) applies in the last state")
    if claimed_cost is None or (last, claimed_cost) in reached:
        return RunReport(True, cost if claimed_cost is None else claimed_cost)
    return RunReport(False, cost, f"it costs {cost}, not {claimed_cost}")


def _followed(
    task: SasTask, states: Sequence[Sequence[int]], operators: Sequence[Step], outcome: str
) -> int | None:
    """The cost of a run of ids that passes no state twice, except the last one of a loop, and ends as claimed.

    None: check in detail. This fast check suffices for most runs. Only the first state is checked value by value, as
    the others follow from the operators.
    """
    if len(states) != len(operators) + 1:
        return None
    here = check_state(task, states[0])
    seen: set[State] = set()
    cost = 0
    for step, there in zip(operators, states[1:], strict=True):
        if isinstance(step, str) or not 0 <= step < len(task.operators):
            return None
        operator = task.operators[step]
        if here in seen or is_goal(here, task) or not is_applicable(here, operator):
            return None
        seen.add(here)
        here = effect_of(here, operator)
        if here != there:
            return None
        cost += operator.cost
    ends_well = is_goal(here, task) == (outcome == "goal")
    return cost if ends_well and (here in seen) == (outcome == "loop") else None


__all__ = ["FAILURES", "RunReport", "validate_run"]
