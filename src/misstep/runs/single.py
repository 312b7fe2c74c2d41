"""One run, step by step, with the values of its states, and optionally without returning to a state.

In `stop` mode the result is the same as with the policy graph; the tests compare the two. In `avoid` mode the policy
chooses among the operators that lead to states not seen in this run. That makes it a function of the run instead of the
state, so it never enters the policy graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.function import StateView
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT, Candidates, Policy, States
from misstep.ranges import check_limits
from misstep.runs.outcomes import DEFAULT_MAX_STEPS, REVISIT
from misstep.runs.runner import Trace, ask
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task


def run(
    policy: Any,
    task: Any,
    state: State | StateView | Sequence[int] | str | None = None,
    *,
    revisit: str = "stop",
    max_steps: int | None = DEFAULT_MAX_STEPS,
) -> Trace:
    """Run a policy once on a planning task, from `state` (default: the initial state).

    `policy` is anything that `load_policy` takes, and `task` anything that `load_task` takes. A state may also be given
    as its values or as text: numbers, or the atoms that are true. `revisit="stop"` ends the run at a state that it has
    seen; "avoid" never goes there (for policies that rank operators). `max_steps=None` never cuts the run. For a
    set-valued policy, the result is the worst permitted run that was found; the plan of a policy that answers with
    plans is followed.
    """
    loaded = load_task(task)
    if not isinstance(loaded, Task):
        raise UnsupportedError(
            "a run on a model has random outcomes",
            where=loaded.name,
            expected="a planning task",
            hint="misstep.test runs policies on models",
        )
    start = _start(loaded, state)
    check_limits(max_steps=max_steps)
    subject = load_policy(policy, loaded)
    try:
        if revisit == "stop" and (subject.plans or subject.set_valued or subject.stochastic):
            from misstep.runs.make import make_runner  # which needs this module

            return make_runner(subject).trace(start, max_steps)
        return run_once(subject, start, revisit=revisit, max_steps=max_steps)
    finally:
        if subject is not policy:
            subject.close()


def _start(task: Task, state: State | StateView | Sequence[int] | str | None) -> State:
    if state is None:
        return task.initial_state
    if isinstance(state, str):
        return task.parse_state(state)
    if isinstance(state, StateView):
        state = state.state
    if not isinstance(state, State):
        try:
            state = State([int(value) for value in state])
        except (TypeError, ValueError, OverflowError):
            raise UsageError(
                f"{state!r:.80} is not a state",
                expected="a State, a value for each variable, or text",
            ) from None
    try:
        task.is_goal(state)  # checks the length and the values
    except ValueError as error:
        raise UsageError(str(error), where=task.name) from None
    return state


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
    if revisit == "avoid":
        refuse_avoid(policy)
    task = policy.task
    states, cost = [start], 0
    operators: list[int] = []
    visited = {start}
    message: str | None = None
    named: int | None = None
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
        if operator in (FAILED, TIMED_OUT):
            outcome = "error" if operator == FAILED else "timeout"
            message = answers.messages.get(0)
            break
        if operator not in task.applicable(state):
            outcome, named = "inapplicable", operator
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
    return Trace(outcome, states, operators, cost, message, values, evaluations, calls, named)


def refuse_avoid(policy: Policy) -> None:
    """Raise an error if a policy cannot be run without returning to a state."""
    if not policy.chooses or policy.plans or policy.set_valued or policy.stochastic:
        raise UsageError(
            f"the policy {policy.name} cannot choose among a subset of operators, as --revisit avoid needs",
            hint="use --revisit stop",
        )


def _row(state: State) -> States:
    return np.array([state.values], dtype=np.int32)


__all__ = ["REVISIT", "refuse_avoid", "run", "run_once"]
