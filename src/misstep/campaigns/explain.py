"""Why a state is a bug, as data: the policy's run beside a better one, and the decisions to blame.

Everything here is read from a record, so it takes no time. `misstep.campaigns.deeper` searches for more, and
`misstep.campaigns.words` puts an explanation into words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.confirmed import NOT_ASKED_AGAIN
from misstep.campaigns.records import Decision, Fault, Interval, Record, no_bug_text
from misstep.campaigns.rows import Values
from misstep.campaigns.settings import Settings
from misstep.errors import UndecidedError, UsageError
from misstep.faults.diff import PlanDiff, diff
from misstep.faults.repair import Repair
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task


@dataclass(frozen=True)
class Explanation:
    """The explanation of a bug."""

    record: Record
    task: AnyTask = field(repr=False)
    radius: str | None = None  # of the campaign, for models
    diff: PlanDiff | None = None  # of the run and the plan, where there is one
    exact: bool = False  # the faults rest on the exact distances, not on bounds
    to_the_goal: Repair | None = None  # fewest deviations from the policy that reach the goal
    to_the_best: Repair | None = None  # and that reach it at the cost of the best plan known
    problem: str | None = None  # why there is no repair, where it was asked for
    # Of a model: what is recorded of each state of the run, as far as it is; the last one is unsafe.
    verdicts: tuple[str | None, ...] = ()

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults, those with the largest share of the gap first."""
        found = self.record.faults or ()
        return tuple(sorted(found, key=lambda fault: (-(fault.share or 0), fault.step)))

    @property
    def last_safe_step(self) -> int | None:
        """For a model: the last step of the run from which unsafe states can still be avoided."""
        safe = [step for step, verdict in enumerate(self.verdicts) if verdict == "BUG"]
        return max(safe, default=None)

    def as_dict(self) -> dict[str, Any]:
        divergence = None if self.diff is None else self.diff.divergence
        names = self.task.operator_names if isinstance(self.task, Task) else ()
        return {
            **self.record.as_dict(),
            "exact": self.exact,
            "divergence": divergence
            and {
                "step": divergence.step,
                "policy": _name(names, divergence.run_operator),
                "plan": _name(names, divergence.plan_operator),
                "policy_facts": list(divergence.run_facts),
                "plan_facts": list(divergence.plan_facts),
            },
            "reachieved": {} if self.diff is None else dict(self.diff.reachieved),
            "last_safe_step": self.last_safe_step,
            "verdicts_on_run": list(self.verdicts),
            "repair": _repair(names, self.to_the_goal),
            "cheapest_repair": _repair(names, self.to_the_best),
            "problem": self.problem,
        }

    def __str__(self) -> str:
        from misstep.campaigns.words import in_words

        return in_words(self)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def explain_record(
    task: AnyTask, record: Record, settings: Settings, verdicts: Mapping[Values, str]
) -> Explanation:
    """Explain a bug, or why a state has no verdict; `verdicts` are the verdicts on other states of the task."""
    if record.verdict == "FLAKY":
        return Explanation(record, task)
    if record.source == NOT_ASKED_AGAIN:
        raise UndecidedError(
            f"{record.id} is {record.verdict}: the work ended before the policy was asked again",
            hint="'misstep test --resume --out DIR' asks it",
        )
    if not record.is_bug:
        raise UsageError(
            no_bug_text(record),
            hint="'misstep records DIR --verdict BUG' lists the bugs",
        )
    if isinstance(task, JaniTask):
        passed = (record.run.states or ())[:-1]
        own = (*(verdicts.get(state) for state in passed), "UNSAFE")
        return Explanation(record, task, settings.of_model.radius, verdicts=own)
    compared = None
    if record.witness.operators is not None:
        start = State(list(map(int, record.state)))
        compared = diff(task, start, record.run.operators, record.witness.operators)
    return Explanation(record, task, None, compared)


@dataclass(frozen=True)
class BlamedDecision:
    """A decision, and the bugs that it causes."""

    task: str
    state: Values
    facts: tuple[str, ...]
    decision: Decision | None  # None: the policy stops
    better: Decision | None
    loss: Interval
    outcome: Values | None  # for a model: a possible outcome that is not safe
    bugs: tuple[str, ...]  # ids of records

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "state": list(self.state),
            "facts": list(self.facts),
            "decision": _plain(self.decision),
            "better": _plain(self.better),
            "loss": list(self.loss),
            "outcome": None if self.outcome is None else list(self.outcome),
            "bugs": list(self.bugs),
        }

    def __str__(self) -> str:
        from misstep.campaigns.words import blamed_in_words

        return blamed_in_words(self)


def blamed_decisions(records: Iterable[Record]) -> list[BlamedDecision]:
    """All faults on the runs of all bugs, each decision once; those that cause most bugs first."""
    found: dict[tuple[str, Values, Decision | None], tuple[Fault, list[str]]] = {}
    for record in records:
        for fault in record.faults or ():
            key = (record.task, fault.state, fault.decision)
            bugs = found.setdefault(key, (fault, []))[1]
            if not bugs or bugs[-1] != record.id:
                bugs.append(record.id)
    blamed = [
        BlamedDecision(
            task,
            state,
            fault.facts,
            decision,
            fault.better,
            fault.loss,
            fault.outcome,
            tuple(bugs),
        )
        for (task, state, decision), (fault, bugs) in found.items()
    ]
    # Sorting is stable: equal decisions stay in the order in which they were found.
    return sorted(blamed, key=lambda own: -len(own.bugs))


def _plain(decision: Decision | None) -> dict[str, Any] | None:
    return None if decision is None else {"operator": decision.operator, "name": decision.name}


def _name(names: tuple[str, ...], operator: int | None) -> str | None:
    return None if operator is None else names[operator]


def _repair(names: tuple[str, ...], repair: Repair | None) -> dict[str, Any] | None:
    if repair is None:
        return None
    return {
        "status": repair.status,
        "deviations": [
            {
                "step": deviation.step,
                "state": list(deviation.state.values),
                "policy": names[deviation.policy_operator]
                if deviation.policy_operator >= 0
                else None,
                "instead": names[deviation.operator],
            }
            for deviation in repair.deviations
        ],
        "at_least": repair.lower_bound,
        "cost": repair.cost,
    }


__all__ = ["BlamedDecision", "Explanation", "blamed_decisions", "explain_record"]
