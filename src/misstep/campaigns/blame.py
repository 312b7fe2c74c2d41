"""From the bugs of a campaign to the decisions to blame: of one bug, and over all of them.

The runs and plans come from the records. Many bugs go back to few decisions: a decision is listed once, with all the
bugs whose runs make it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.records import RunRecord, TestedState
from misstep.campaigns.store import CampaignStore
from misstep.errors import UsageError
from misstep.faults.distances import Distances
from misstep.faults.explain import Explanation, explain, follow, missteps, operator_text
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.task import State, Task


@dataclass
class BlamedDecision:
    """A misstep, and the bugs that come of it."""

    task: Task
    state: State
    decision: int | None  # None: the policy stops here
    better: int
    low: int | float  # regret
    high: int | float
    bugs: list[int] = field(default_factory=list)  # indices of pool states

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "state": list(self.state.values),
            "decision": operator_text(self.task, self.decision),
            "better": operator_text(self.task, self.better),
            "regret": [
                None if math.isinf(value) else int(value) for value in (self.low, self.high)
            ],
            "bugs": self.bugs,
        }


def find_bug(store: CampaignStore, name: str) -> TestedState:
    """The bug that the user means: the number of its state, after the task and a colon if there are several."""
    task, _, number = name.rpartition(":")
    tasks = store.task_names()
    if not task and len(tasks) == 1:
        task = tasks[0]
    if not number.isdecimal() or task not in tasks:
        raise UsageError(
            f"no bug {name!r}",
            where=str(store.folder),
            expected="the number of a state"
            if len(tasks) == 1
            else f"TASK:NUMBER, as {tasks[0]}:1",
            hint="misstep records DIR --verdict BUG lists the bugs",
        )
    for tested in store.tested(task):
        if tested.index == int(number):
            if tested.is_bug:
                return tested
            raise UsageError(
                f"state {number} of {task} is no bug: {tested.verdict}", where=str(store.folder)
            )
    raise UsageError(
        f"state {number} of {task} was not tested",
        where=str(store.folder),
        hint="misstep records DIR --verdict BUG lists the bugs",
    )


def explain_bug(
    store: CampaignStore, bug: TestedState, known: Distances, runner: PolicyRunner | None
) -> Explanation:
    task, plan = known.task, None
    if bug.witness is not None:
        plan = follow(task, State(list(bug.state)), bug.witness, "goal", 0).operators
    run = recorded_run(store, task, bug)
    return explain(run, plan, known, runner, bound=bug.upper_bound)


def recorded_run(store: CampaignStore, task: Task, bug: TestedState) -> Trace:
    run = next(run for run in store.runs(bug.task) if run.state == bug.state)
    return _trace(task, run)


def blame(
    store: CampaignStore,
    distances_of: Callable[[Task], Distances],
    progress: Callable[[str, int, int], None] | None = None,
) -> list[BlamedDecision]:
    """All missteps on the runs of all bugs; those behind most bugs first."""
    found: dict[tuple[str, State, int | None], BlamedDecision] = {}
    for name in store.task_names():
        task = store.task(name)
        bugs = {bug.state: bug for bug in store.tested(name) if bug.is_bug}
        runs = [run for run in store.runs(name) if run.state in bugs]
        known = distances_of(task) if runs else None
        for done, run in enumerate(runs):
            assert known is not None
            bug = bugs[run.state]
            if progress is not None:
                progress(name, done, len(runs))
            for misstep in _missteps(task, run, bug, known):
                key = (name, misstep.state, misstep.decision)
                found.setdefault(key, misstep).bugs.append(bug.index)
    return sorted(
        found.values(),
        key=lambda m: (-len(m.bugs), -m.low, m.task.name, m.bugs, m.state.values),
    )


def _missteps(
    task: Task, run: RunRecord, bug: TestedState, known: Distances
) -> Iterator[BlamedDecision]:
    trace = _trace(task, run)
    if bug.witness is not None:
        known.add_path(trace.states[0], follow(task, trace.states[0], bug.witness, "", 0).operators)
    seen = set()
    for misstep in missteps(known.regrets(trace), known):
        regret = misstep.regret
        if misstep.better is not None and (regret.state, regret.operator) not in seen:
            seen.add((regret.state, regret.operator))
            yield BlamedDecision(
                task, regret.state, regret.operator, misstep.better, regret.low, regret.high
            )


def _trace(task: Task, run: RunRecord) -> Trace:
    return follow(task, State(list(run.state)), run.operators, run.outcome, run.cost)


__all__ = ["BlamedDecision", "blame", "explain_bug", "find_bug", "recorded_run"]
