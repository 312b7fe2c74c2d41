"""Between the nouns of the oracles and the rows of the store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from misstep.campaigns.rows import PermittedRow, RunRow, SetRow, StateRow, VerdictRow
from misstep.campaigns.settings import PlanningSettings
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Snapshot
from misstep.errors import InputFormatError
from misstep.fuzzing.pool import PoolEntry
from misstep.oracles.bounds import BoundStore
from misstep.oracles.knowledge import Knowledge
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.values import PolicyCost, cost_of_permitted, cost_of_run
from misstep.oracles.verdict import Objective, Verdict
from misstep.oracles.witness import derivation_steps
from misstep.policies.policy import States
from misstep.runs.permitted import PermittedRuns, PermittedSet
from misstep.runs.runner import Trace
from misstep.tasks.task import State, Task


def run_row(
    number: int, trace: Trace, named: int | None, seconds: float, runs: PermittedRuns | None = None
) -> RunRow:
    return RunRow(
        number,
        trace.outcome,
        trace.cost,
        tuple(trace.operators),
        None,
        named,
        trace.message,
        seconds,
        None if runs is None else PermittedRow(*runs),
    )


def set_row(own: PermittedSet) -> SetRow:
    return SetRow(tuple(own.state.values), own.operators, own.probabilities)


def state_row(number: int, entry: PoolEntry, seconds: float) -> StateRow:
    return StateRow(
        number,
        entry.state.values,
        None if number == 0 else entry.reference,
        entry.walk,
        max(entry.iteration, 0),
        number,
        0,
        seconds,
    )


def snapshot(bounds: BoundStore, given: Mapping[State, None]) -> Snapshot:
    """What a store knows of these states."""
    states = list(given)
    width = bounds.task.variable_count
    rows = values_of(states) if states else np.empty((0, width), dtype=np.int32)
    return Snapshot(len(states), bounds.knowledge(rows).to_bytes())


class Unpacking:
    """Reads knowledge once for all units that start from it, one after the other."""

    def __init__(self, task: Task) -> None:
        self._width = task.variable_count
        self._last: tuple[Snapshot, Knowledge] | None = None

    def __call__(self, packed: Snapshot) -> Knowledge:
        if self._last is None or self._last[0] is not packed:
            self._last = (packed, Knowledge.from_bytes(packed.content, self._width))
        return self._last[1]


def values_of(states: Sequence[State]) -> States:
    """A row each."""
    return np.array([state.values for state in states], dtype=np.int32)


def states_of(rows: States) -> list[State]:
    """The reverse."""
    return [State(row) for row in rows.tolist()]


def trace_of(task: Task, state: State, run: RunRow) -> Trace:
    """The run as it was; an error if the task knows no such run."""
    states = [state]
    for operator in run.operators:
        try:
            states.append(task.apply(states[-1], operator))
        except (ValueError, IndexError, TypeError) as error:
            raise InputFormatError(f"no run of {task.name}: {error}") from None
    operators = list(run.operators)
    return Trace(run.outcome, states, operators, run.cost or 0, run.message, named=run.named)


def runs_of(run: RunRow) -> PermittedRuns | None:
    """Of a set-valued policy: what was found out about all permitted runs."""
    return None if run.permitted is None else PermittedRuns(*run.permitted)


def cost_of(run: RunRow, *, costly_some: bool = False) -> PolicyCost:
    runs = runs_of(run)
    if runs is None:
        return cost_of_run(run.outcome, run.cost or 0)
    return cost_of_permitted(run.outcome, run.cost or 0, runs, costly_some=costly_some)


def verdict_row(
    task: Task,
    number: int,
    oracle: str,
    round: int,
    verdict: Verdict,
    dominance: Dominance | None,
    at: float,
) -> VerdictRow:
    return VerdictRow(
        number=number,
        oracle=oracle,
        round=round,
        verdict=verdict.status.value.upper(),
        kind=None if verdict.kind is None else verdict.kind.value,
        low=_finite(verdict.gap.low),
        high=_finite(verdict.gap.high),
        lower=_finite(verdict.lower_bound),
        upper=_finite(verdict.upper_bound),
        source=verdict.oracle,
        plan=verdict.witness,
        derivation=_derivation(task, verdict, dominance),
        expansions=verdict.effort.expansions,
        evaluations=verdict.effort.evaluations,
        seconds=verdict.effort.seconds,
        at=at,
    )


def plan_proves_bug(task: Task, own: PlanningSettings, run: RunRow, verdict: VerdictRow) -> bool:
    """Whether the plan of a bug, where there is one, is better than the policy's run."""
    if verdict.plan is None:
        return False
    spent = cost_of(run, costly_some=own.costly_some)
    if Objective(own.objective) is Objective.GOAL:
        return spent.fails is True
    return sum(map(task.cost, verdict.plan)) < spent.lower_bound


def take_in_derivation(task: Task, bounds: BoundStore, state: State, verdict: VerdictRow) -> None:
    """What a stored verdict rests on; where states are isolated, nothing else knows it."""
    for step in verdict.derivation or ():
        if "operator" in step:
            bounds.add_path(state, [step["operator"]])
            state = task.apply(state, step["operator"])
        else:
            dominated = state_of(task, tuple(step["state"]))
            bounds.add_dominance(dominated, state, step["value"])
            state = dominated


def _derivation(
    task: Task, verdict: Verdict, dominance: Dominance | None
) -> tuple[dict[str, Any], ...] | None:
    """With the values of the factors that each jump rests on."""
    if verdict.derivation is None:
        return None
    assert dominance is not None
    steps = derivation_steps(task, verdict.derivation)
    state = verdict.state
    for step, plain in zip(verdict.derivation.steps, steps, strict=True):
        if step.operator is None:
            parts = dominance.by_factor(dominated=step.state, dominating=state)
            plain["factors"] = [{"variables": list(p.variables), "value": p.value} for p in parts]
        state = step.state
    return tuple(steps)


def _finite(cost: int | float) -> int | None:
    return None if math.isinf(cost) else int(cost)


__all__ = [
    "Unpacking",
    "cost_of",
    "plan_proves_bug",
    "run_row",
    "runs_of",
    "set_row",
    "snapshot",
    "state_row",
    "states_of",
    "take_in_derivation",
    "trace_of",
    "values_of",
    "verdict_row",
]
