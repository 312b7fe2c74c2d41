"""Compare a run with a better plan: where they diverge, and the detours of the run.

The two are aligned along a longest common subsequence of operators. Between the shared operators lie the detours:
steps that only the run has, and steps that only the plan has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from misstep.tasks.task import State, Task


@dataclass(frozen=True)
class Segment:
    """Operators that both share, or a detour: steps `run_first` up to but not `run_last`, and the same for the plan."""

    shared: bool
    run_first: int
    run_last: int
    plan_first: int
    plan_last: int
    run_cost: int
    plan_cost: int


@dataclass(frozen=True)
class Divergence:
    """The first step at which the two differ, and the facts that are then true after one of them only."""

    step: int
    state: State
    run_operator: int | None  # None: it has ended
    plan_operator: int | None
    run_facts: tuple[str, ...]
    plan_facts: tuple[str, ...]


@dataclass(frozen=True)
class PlanDiff:
    segments: tuple[Segment, ...]
    divergence: Divergence | None  # None: they are the same
    reachieved: tuple[
        tuple[str, int], ...
    ]  # facts that the run makes true more than once, and how often


def diff(task: Task, start: State, run: Sequence[int], plan: Sequence[int]) -> PlanDiff:
    """Compare the operators of a run with those of a plan, both applied from `start`."""
    run_states, plan_states = _states(task, start, run), _states(task, start, plan)
    pairs = common_subsequence(run, plan)
    return PlanDiff(
        tuple(_segments(task, run, plan, pairs)),
        _divergence(task, run, plan, run_states, plan_states),
        tuple(_reachieved(task, run_states)),
    )


def differing_facts(
    task: Task, state: State, other: State
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The facts that are true in only one of the states."""
    ours, theirs = task.facts(state), task.facts(other)
    return (
        tuple(fact for fact in ours if fact not in set(theirs)),
        tuple(fact for fact in theirs if fact not in set(ours)),
    )


def common_subsequence(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence; among the longest, one that keeps a common beginning."""
    begin = 0
    while begin < min(len(first), len(second)) and first[begin] == second[begin]:
        begin += 1
    a, b = first[begin:], second[begin:]
    # length[i][j]: of a longest common subsequence of a[i:] and b[j:]
    length = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = length[i], length[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    pairs = [(k, k) for k in range(begin)]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((begin + i, begin + j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _segments(
    task: Task, run: Sequence[int], plan: Sequence[int], pairs: list[tuple[int, int]]
) -> list[Segment]:
    segments: list[Segment] = []

    def add(shared: bool, i: int, i_end: int, j: int, j_end: int) -> None:
        if i < i_end or j < j_end:
            run_cost = sum(task.cost(op) for op in run[i:i_end])
            plan_cost = sum(task.cost(op) for op in plan[j:j_end])
            segments.append(Segment(shared, i, i_end, j, j_end, run_cost, plan_cost))

    i = j = first_i = first_j = (
        0  # the shared segment so far: from (first_i, first_j) to before (i, j)
    )
    for next_i, next_j in [*pairs, (len(run), len(plan))]:
        if (next_i, next_j) != (i, j):
            add(True, first_i, i, first_j, j)
            add(False, i, next_i, j, next_j)
            first_i, first_j = next_i, next_j
        i, j = next_i + 1, next_j + 1
    add(True, first_i, len(run), first_j, len(plan))
    return segments


def _divergence(
    task: Task,
    run: Sequence[int],
    plan: Sequence[int],
    run_states: list[State],
    plan_states: list[State],
) -> Divergence | None:
    shorter = min(len(run), len(plan))
    step = next((k for k in range(shorter) if run[k] != plan[k]), shorter)
    if step == len(run) == len(plan):
        return None
    after_run = run_states[min(step + 1, len(run))]
    after_plan = plan_states[min(step + 1, len(plan))]
    return Divergence(
        step,
        run_states[step],
        run[step] if step < len(run) else None,
        plan[step] if step < len(plan) else None,
        *differing_facts(task, after_run, after_plan),
    )


def _reachieved(task: Task, states: list[State]) -> list[tuple[str, int]]:
    achieved: Counter[str] = Counter()
    for before, after in pairwise(states):
        achieved.update(differing_facts(task, before, after)[1])
    return sorted((fact, times) for fact, times in achieved.items() if times > 1)


def _states(task: Task, state: State, operators: Sequence[int]) -> list[State]:
    states = [state]
    for op in operators:
        states.append(task.apply(states[-1], op))
    return states


__all__ = ["Divergence", "PlanDiff", "Segment", "common_subsequence", "diff", "differing_facts"]
