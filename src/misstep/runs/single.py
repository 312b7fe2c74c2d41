"""One run, step by step: with the values along the way, and optionally without coming back to a state.

In `stop` mode this says the same as the policy graph, and is the plain version that it is tested against. In `avoid`
mode the policy chooses among the operators that lead to states not seen in this run; that makes it a function of
the run instead of the state, so it never enters the policy graph.
"""

from __future__ import annotations

import math

import numpy as np

from misstep.errors import UsageError
from misstep.policies.policy import FAILED, NO_ACTION, Candidates, Policy, States
from misstep.runs.runner import DEFAULT_MAX_STEPS, Trace, ask
from misstep.tasks.task import State

REVISIT = ("stop", "avoid")


def run_once(
    policy: Policy,
    start: State,
    *,
    revisit: str = "stop",
    max_steps: int | None = DEFAULT_MAX_STEPS,
) -> Trace:
    """Follow the policy until the goal, a state seen before (`stop`), no choice left, or the step limit."""
    if revisit not in REVISIT:
        raise UsageError(f"no revisit mode {revisit!r}", expected=", ".join(REVISIT))
    if revisit == "avoid" and not policy.chooses:
        raise UsageError(
            f"the policy {policy.name} cannot choose among the states not seen yet",
            hint="use --revisit stop",
        )
    task = policy.task
    states, cost = [start], 0
    operators: list[int] = []
    visited = {start}
    message: str | None = None
    evaluations = calls = 0
    values: list[float] | None = None
    if policy.valued:
        values = policy.values(_row(start)).tolist()
        evaluations += 1

    while True:
        state = states[-1]
        if task.is_goal(state):
            outcome = "goal"
            break
        if max_steps is not None and len(operators) >= max_steps:
            outcome = "cut"
            break
        if revisit == "avoid":
            fresh = [op for op in task.applicable(state) if task.apply(state, op) not in visited]
            if not fresh:
                outcome = "stuck"
                break
            own = Candidates(np.array([0, len(fresh)]), np.array(fresh, dtype=np.int32))
            answers = ask(policy, _row(state), own)
        else:
            answers = ask(policy, _row(state))
        calls += 1
        evaluations += answers.evaluations
        operator = int(answers.operators[0])
        if operator == NO_ACTION:
            outcome = "stuck"
            break
        if operator == FAILED:
            outcome, message = "error", answers.messages.get(0)
            break
        if operator not in task.applicable(state):
            outcome = "inapplicable"
            message = f"({task.operator_name(operator)}) does not apply"
            break
        states.append(task.apply(state, operator))
        operators.append(operator)
        cost += task.cost(operator)
        if values is not None:
            values.append(float(answers.values[0]) if answers.values is not None else math.nan)
        if states[-1] in visited:
            outcome = "loop"
            break
        visited.add(states[-1])
    return Trace(outcome, states, operators, cost, message, values, evaluations, calls)


def _row(state: State) -> States:
    return np.array([state.values], dtype=np.int32)
