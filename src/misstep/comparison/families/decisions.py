"""The decisions of a campaign's policy that are proven faulty, and those that are proven good.

Most decisions on recorded runs are neither, and are left out.

* **Faulty** decisions are all faults of the records of bugs.
* **Good**, for a planning task, is a decision that is proven to lose nothing in a state from where the goal can be
  reached: every decision on a run that reaches the goal at the cost of the proven lower bound; and, on the run of a
  bug whose losses are all known exactly (its faults have shares), every decision that is not a fault and comes before
  the goal is out of reach. Runs with losses that are not exact prove nothing about their other decisions.
* **Good**, for a model, is a decision in a safe state with only safe outcomes. A state is known to be safe if it
  is a bug, or if a safe strategy that witnesses one names it (without a finite radius; within one, a state of the
  strategy has used up part of the radius, and only bugs count).

A decision is a pair of a state and an operator, so it counts once, however many runs contain it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from misstep.campaigns.records import Decision, Fault, Record
from misstep.campaigns.rows import Values
from misstep.campaigns.signatures import signature
from misstep.errors import MisstepError
from misstep.runs.follow import follow_operators
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task

MOST_GOOD = 50_000  # of a task; what is above says nothing new


@dataclass(frozen=True)
class Made:
    """A decision: where it was made, and what was chosen; None if the policy stopped."""

    task: str
    state: Values
    operator: int | None


@dataclass
class Faulty:
    """A decision that is proven to lose something, with the bugs that it is part of."""

    made: Made
    fault: Fault
    bugs: list[Record] = field(default_factory=list)

    @property
    def signature(self) -> str:
        return signature(self.fault.decision, self.fault.better)


def faulty_decisions(records: Iterable[Record]) -> list[Faulty]:
    """The faulty decisions, each once, in the order of the records. The first recorded better decision is kept."""
    found: dict[Made, Faulty] = {}
    for record in records:
        if not record.is_bug:
            continue
        for fault in record.faults or ():
            made = Made(record.task, fault.state, _operator(fault.decision))
            own = found.setdefault(made, Faulty(made, fault))
            if not own.bugs or own.bugs[-1] is not record:
                own.bugs.append(record)
    return list(found.values())


def good_decisions(task: AnyTask, records: Iterable[Record], radius: str | None) -> list[Made]:
    """The good decisions, each once, in the order of the records; `radius` is the radius of a campaign on models."""
    of_task = [record for record in records if record.task == task.name]
    found: dict[Made, None] = {}
    for made in _proven(task, of_task, radius == "inf"):
        found[made] = None
        if len(found) >= MOST_GOOD:
            break
    faulty = {faulty.made for faulty in faulty_decisions(of_task)}
    return [made for made in found if made not in faulty]


def _proven(task: AnyTask, records: list[Record], unlimited: bool) -> Iterator[Made]:
    if isinstance(task, JaniTask):
        return _of_model(task, records, unlimited)
    return _of_task(task, records)


def _of_task(task: Task, records: list[Record]) -> Iterator[Made]:
    for record in records:
        length = _good_steps(record)
        if not length:
            continue
        operators = record.run.operators[:length]
        try:
            states = follow_operators(task, State(list(map(int, record.state))), operators)
        except (MisstepError, ValueError):
            continue  # inconsistent data prove nothing
        blamed = {fault.step for fault in record.faults or ()}
        for step, operator in enumerate(operators):
            if step not in blamed:
                yield Made(record.task, tuple(states[step].values), operator)


def _good_steps(record: Record) -> int:
    """The number of steps of the run that are good, except for its faults."""
    run = record.run
    if record.verdict == "OPTIMAL" and run.outcome == "goal":
        least = None if record.bounds is None else record.bounds[0]
        return len(run.operators) if least is not None and least == run.cost else 0
    faults = record.faults or ()
    if not record.is_bug or not faults or any(fault.share is None for fault in faults):
        return 0
    # Behind a loss that is infinite there is nothing left to lose.
    lost = [fault.step for fault in faults if fault.loss[0] is None]
    return min([len(run.operators), *lost])


def _of_model(task: JaniTask, records: list[Record], unlimited: bool) -> Iterator[Made]:
    safe = {record.state for record in records if record.is_bug}
    if unlimited:
        for record in records:
            safe.update(state for state, _, _ in record.witness.strategy or ())
    for record in records:
        if not record.is_bug or not record.run.states or not record.run.operators:
            continue
        # Each state of an unsafe run that is safe has a record of its own, so that its first step is enough.
        state, label = record.state, record.run.operators[0]
        try:
            outcomes = task.outcomes(state, label)
        except (MisstepError, ValueError, IndexError):
            continue
        if outcomes and safe.issuperset(outcomes):
            yield Made(record.task, state, label)


def _operator(decision: Decision | None) -> int | None:
    return None if decision is None else decision.operator


__all__ = ["Faulty", "Made", "faulty_decisions", "good_decisions"]
