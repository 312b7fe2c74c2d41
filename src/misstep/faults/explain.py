"""One bug explained: the run beside the better plan, the decisions to blame, the least that would have to change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from misstep.errors import UsageError
from misstep.faults.diff import PlanDiff, diff
from misstep.faults.distances import Distances
from misstep.faults.regret import Regret, Regrets, Value
from misstep.faults.repair import DEFAULT_EXPANSIONS, Repair, smallest_repair
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State, Task


@dataclass(frozen=True)
class Misstep:
    """A decision to blame: what it loses, which part of the gap that is, and what would have been better."""

    regret: Regret
    share: float | None  # None: not all regrets of the run are known
    better: int | None

    def as_dict(self, task: Task) -> dict[str, Any]:
        return {
            "step": self.regret.step,
            "state": list(self.regret.state.values),
            "decision": operator_text(task, self.regret.operator),
            "better": None if self.better is None else operator_text(task, self.better),
            "regret": [_finite(self.regret.low), _finite(self.regret.high)],
            "share": self.share,
            "recurring": self.regret.recurring,
        }


@dataclass(frozen=True)
class Explanation:
    task: Task
    run: Trace
    plan: tuple[int, ...] | None  # None: the better cost is derived, nobody has the plan
    regrets: Regrets
    missteps: tuple[Misstep, ...]
    diff: PlanDiff | None
    best_cost: int  # of the best plan known, or derived
    exact: bool  # the regrets rest on the exact h*, not on bounds
    to_the_goal: Repair | None  # fewest deviations from the policy that reach the goal
    to_the_best: Repair | None  # and that reach it at the cost of the best plan known

    def as_dict(self) -> dict[str, Any]:
        task = self.task
        divergence = None if self.diff is None else self.diff.divergence
        names = [f"({name})" for name in task.operator_names]
        return {
            "outcome": self.run.outcome,
            "run": [names[op] for op in self.run.operators],
            "plan": None if self.plan is None else [names[op] for op in self.plan],
            "run_cost": self.run.cost,
            "best_cost": self.best_cost,
            "gap": [_finite(self.regrets.gap_low), _finite(self.regrets.gap_high)],
            "exact": self.exact,
            "missteps": [misstep.as_dict(task) for misstep in self.missteps],
            "divergence": divergence
            and {
                "step": divergence.step,
                "policy": operator_text(task, divergence.run_operator),
                "plan": operator_text(task, divergence.plan_operator),
                "policy_facts": list(divergence.run_facts),
                "plan_facts": list(divergence.plan_facts),
            },
            "reachieved": {} if self.diff is None else dict(self.diff.reachieved),
            "repair": _repair(task, self.to_the_goal),
            "cheapest_repair": _repair(task, self.to_the_best),
        }


def explain(
    run: Trace,
    plan: Sequence[int] | None,
    known: Distances,
    runner: PolicyRunner | None = None,
    *,
    bound: int | None = None,
    max_expansions: int = DEFAULT_EXPANSIONS,
) -> Explanation:
    """Explain why a run is worse than a plan, or than a proven bound; without a policy to ask there is no repair."""
    task, start = known.task, run.states[0]
    costs = [] if bound is None else [bound]
    if plan is not None:
        known.add_path(start, plan)
        costs.append(sum(task.cost(op) for op in plan))
    regrets = known.regrets(run)
    best = int(min([known.upper(start), *costs]))
    to_the_goal = to_the_best = None
    if runner is not None:
        if run.outcome != "goal":
            to_the_goal = smallest_repair(runner, start, max_expansions=max_expansions)
        to_the_best = smallest_repair(
            runner,
            start,
            cost_bound=best,
            lower_bound=known.lower,
            max_expansions=max_expansions,
        )
    return Explanation(
        task,
        run,
        None if plan is None else tuple(plan),
        regrets,
        missteps(regrets, known),
        None if plan is None else diff(task, start, run.operators, plan),
        best,
        known.exact,
        to_the_goal,
        to_the_best,
    )


def missteps(regrets: Regrets, known: Distances) -> tuple[Misstep, ...]:
    """The proven faults of a run, those that carry most of the gap first."""
    shares = regrets.shares()
    return tuple(
        Misstep(fault, None if shares is None else shares[fault.step], better)
        for fault in regrets.faults
        if (better := known.best_operator(fault.state)) is not None
    )


def follow(
    task: Task,
    state: State,
    names: Sequence[str],
    outcome: str,
    cost: int,
    end: State | None = None,
) -> Trace:
    """A run or walk as it was recorded: by names of operators, and where it ended, if that is known.

    Names need not be unique (a disjunctive precondition gives several operators of one name). The first that applies
    is meant; if that does not lead to the end, others are tried.
    """
    meant = [task.operators_named(name) for name in names]
    found = _follow(task, meant, [state], [], end)
    if found is None:
        raise UsageError(f"{list(names)[:5]}... cannot be followed from {state}", where=task.name)
    return Trace(outcome, *found, cost)


def _follow(
    task: Task,
    meant: list[tuple[int, ...]],
    states: list[State],
    operators: list[int],
    end: State | None,
) -> tuple[list[State], list[int]] | None:
    choices: list[list[int]] = []  # what is left to be tried at each step taken
    while True:
        if len(operators) < len(meant):
            applicable = set(task.applicable(states[-1]))
            fitting = [op for op in meant[len(operators)] if op in applicable]
            choices.append(fitting[::-1])
        elif end is None or states[-1] == end:
            return states, operators
        while not (choices and choices[-1] and len(choices) > len(operators)):
            if len(choices) > len(operators):  # nothing is left at this step
                choices.pop()
            if not choices:
                return None
            operators.pop()  # back to the step before
            states.pop()
        operators.append(choices[-1].pop())
        states.append(task.apply(states[-1], operators[-1]))


def operator_text(task: Task, operator: int | None) -> str | None:
    return None if operator is None else f"({task.operator_name(operator)})"


def _repair(task: Task, repair: Repair | None) -> dict[str, Any] | None:
    if repair is None:
        return None
    return {
        "status": repair.status,
        "deviations": [
            {
                "step": deviation.step,
                "state": list(deviation.state.values),
                "policy": operator_text(task, deviation.policy_operator)
                if deviation.policy_operator >= 0
                else None,
                "instead": operator_text(task, deviation.operator),
            }
            for deviation in repair.deviations
        ],
        "at_least": repair.lower_bound,
        "cost": repair.cost,
    }


def _finite(value: Value) -> int | None:
    return None if math.isinf(value) else int(value)


__all__ = ["Explanation", "Misstep", "explain", "follow", "missteps", "operator_text"]
