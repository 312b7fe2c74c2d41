"""Learning from bugs: the faults of a campaign as training data.

A bug says that something goes wrong below a state; the fault says where. So the runs of all bugs of the campaign are
gone through decision by decision, and each one that is proven to lose something (`faults.regret`) becomes a sample: the
state, and what would have been right there. Its weight grows with what the decision loses, up to a limit, because an
infinite loss would drown everything else.

h* comes from the whole state space of small tasks, and from A* with a budget on others. Where A* gives up, LM-cut is a
lower bound, and the witness of the bug is an upper bound in the state that it starts from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from misstep.campaigns.records import RunRecord, TestedState
from misstep.campaigns.store import CampaignStore, open_store
from misstep.errors import BudgetLimitError, UnsupportedError
from misstep.faults.regret import Value, bounded_regrets
from misstep.planning import make_heuristic
from misstep.runs.runner import Trace
from misstep.tasks.task import State, Task
from misstep.training.samples import Sample, TaskSamples
from misstep.training.teachers import AStarTeacher, ExhaustiveTeacher, Teacher

MOST = 10.0  # a decision that loses more than this, or everything, weighs as if it lost this
STATES = 100_000  # tasks up to this size are enumerated
EXPANSIONS = 1_000  # of A* from one state


@dataclass
class TaskFaults:
    """The proven faults on one task of a campaign."""

    task: Task
    samples: list[Sample] = field(default_factory=list)
    bugs: int = 0  # looked at
    unexplained: int = 0  # bugs without a proven fault on their run


def read_faults(
    folder: Path, *, max_states: int = STATES, expansions: int = EXPANSIONS
) -> list[TaskFaults]:
    """The faults behind all bugs of a campaign, task by task."""
    with open_store(folder, readonly=True) as store:
        names = store.task_names()
        if not names:  # a campaign about safety, for example
            raise UnsupportedError(
                "there are no planning tasks in this campaign",
                where=str(folder),
                expected="one of 'misstep test DOMAIN.pddl PROBLEM.pddl'",
            )
        return [_faults(store, name, max_states, expansions) for name in names]


def _faults(store: CampaignStore, name: str, max_states: int, expansions: int) -> TaskFaults:
    task = store.task(name)
    if task.pddl is None:
        raise UnsupportedError(
            f"the task {name} of the campaign has no PDDL files, and a network cannot read it without",
            where=str(store.folder),
        )
    runs = {run.state: run for run in store.runs(name)}
    bounds = _Bounds(task, max_states, expansions)
    found = TaskFaults(task)
    kept = TaskSamples()
    for tested in store.tested(name):
        if not tested.is_bug:
            continue
        found.bugs += 1
        own = list(_faults_of_run(task, tested, runs[tested.state], bounds))
        found.unexplained += not own
        for sample in own:
            kept.add(sample)
    found.samples = kept.samples
    return found


def _faults_of_run(
    task: Task, tested: TestedState, run: RunRecord, bounds: _Bounds
) -> Iterator[Sample]:
    trace = _trace(task, run)
    bounds.note_witness(tested)
    regrets = bounded_regrets(task, trace, bounds.lower, bounds.upper)
    for decision in regrets.faults:
        good = bounds.good(decision.state)
        if good and decision.operator not in good:
            yield Sample(decision.state, good, 1 + min(MOST, max(1.0, float(decision.low))))


def _trace(task: Task, run: RunRecord) -> Trace:
    """The run as it was, rebuilt from its record."""
    states = [State(list(run.state))]
    operators = [task.operator_id(name) for name in run.operators]
    for op in operators:
        states.append(task.apply(states[-1], op))
    return Trace(run.outcome, states, operators, run.cost)


class _Bounds:
    """What is known about h*, and a good operator where it is known."""

    def __init__(self, task: Task, max_states: int, expansions: int) -> None:
        self.task = task
        self.teacher: Teacher
        try:
            self.teacher = ExhaustiveTeacher(task, max_states)
        except BudgetLimitError:
            self.teacher = AStarTeacher(task, expansions)
        self.lower_bound = make_heuristic("max" if task.has_conditional_effects else "lmcut", task)
        self._known: dict[State, tuple[Value, Value, tuple[int, ...]]] = {}
        self._witness: dict[State, tuple[Value, tuple[int, ...]]] = {}

    def note_witness(self, tested: TestedState) -> None:
        if tested.witness:
            plan = [self.task.operator_id(name) for name in tested.witness]
            # Not the upper bound: a derivation may have proven a lower one, which says nothing about the operator.
            cost = sum(self.task.cost(op) for op in plan)
            self._witness[State(list(tested.state))] = (cost, (plan[0],))

    def lower(self, state: State) -> Value:
        return self._bounds(state)[0]

    def upper(self, state: State) -> Value:
        return self._bounds(state)[1]

    def good(self, state: State) -> tuple[int, ...]:
        return self._bounds(state)[2]

    def _bounds(self, state: State) -> tuple[Value, Value, tuple[int, ...]]:
        if state not in self._known:
            self._known[state] = self._find(state)
        return self._known[state]

    def _find(self, state: State) -> tuple[Value, Value, tuple[int, ...]]:
        if self.task.is_goal(state):
            return 0, 0, ()
        lesson = self.teacher.lesson(state)
        if lesson is not None:
            cost = sum(self.task.cost(sample.good[0]) for sample in lesson)
            return cost, cost, lesson[0].good
        if isinstance(self.teacher, ExhaustiveTeacher):
            return math.inf, math.inf, ()  # no plan
        upper, good = self._witness.get(state, (math.inf, ()))
        return self.lower_bound(state), upper, good


__all__ = ["TaskFaults", "read_faults"]
