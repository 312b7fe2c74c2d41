"""The stored risks of a model's states, and the decisions from which they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from misstep.campaigns.rows import Values, decoded, to_json, values_of
from misstep.campaigns.tables import Content, Findings
from misstep.errors import UsageError
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import Policy
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask

if TYPE_CHECKING:
    from misstep.safety.risk import RiskReport, RiskSettings

Bounds = tuple[float, float]


class RiskRow(NamedTuple):
    """Intervals for the risk of the policy in a state, and for the least risk of any strategy."""

    number: int
    low: float
    high: float
    least_low: float
    least_high: float

    def checked(self) -> RiskRow:
        if not all(type(own) is float for own in self[1:]):
            raise ValueError("a probability is not a number")
        for low, high in (self.policy, self.least):
            if not 0 <= low <= high <= 1:
                raise ValueError(f"not an interval of probabilities: {low} to {high}")
        return self

    @property
    def policy(self) -> Bounds:
        return self.low, self.high

    @property
    def least(self) -> Bounds:
        return self.least_low, self.least_high

    @property
    def avoidable(self) -> float:
        """A lower bound on the avoidable part of the policy's risk."""
        return max(0.0, self.low - self.least_high)

    @staticmethod
    def decoded(row: Sequence[Any]) -> RiskRow:
        return RiskRow(*row).checked()


class DecisionRow(NamedTuple):
    """The policy's label in a state, or None if it stops there."""

    state: Values
    label: int | None

    @staticmethod
    def decoded(row: Sequence[Any]) -> DecisionRow:
        state, label = row
        if label is not None and type(label) is not int:
            raise ValueError(f"{label!r} is not a label")
        return DecisionRow(values_of(state), label)


def add_risks(findings: Findings, rows: Iterable[RiskRow]) -> None:
    findings.store.insert("risks", [(findings.task, *row.checked()) for row in rows], "replace")


def add_decisions(findings: Findings, rows: Iterable[DecisionRow]) -> None:
    """Store decisions; if a state has one already, it stays."""
    encoded = [(findings.task, to_json(row.state), row.label) for row in rows]
    findings.store.insert("decisions", encoded, "ignore")


def forget_decisions(findings: Findings) -> None:
    findings.store.execute("DELETE FROM decisions WHERE task = ?", findings.task)


def read_risks(findings: Findings) -> dict[int, RiskRow]:
    """The risks by the number of the state."""
    where = findings.store.path
    rows = findings.store.read_rows(
        "risks", findings.task, "number", lambda row: decoded(RiskRow.decoded, row[1:], where)
    )
    return {row.number: row for row in rows}


def read_decisions(findings: Findings) -> list[DecisionRow]:
    rows = findings.store.rows("SELECT state, label FROM decisions WHERE task = ?", findings.task)
    return [decoded(DecisionRow.decoded, row, findings.store.path) for row in rows]


def risk_from_starts(
    content: Content,
    name: str | None,
    policy_of: Callable[[AnyTask], Policy | LabelPolicy],
    settings: RiskSettings | None,
) -> RiskReport:
    """The risks of the initial states of a model (default: the first one of the campaign)."""
    task = content.task(content.task_names()[0] if name is None else name)
    if not isinstance(task, JaniTask):
        raise UsageError(f"{task.name} is a planning task", expected="the name of a model")
    from misstep.safety.risk import RiskAnalysis

    policy = policy_of(task)
    assert isinstance(policy, LabelPolicy)
    try:
        analysis = RiskAnalysis(task, policy, settings, engine=policy.engine)
        analysis.run()
        analysis.require_function(policy)
        return analysis.report()
    finally:
        policy.close()


__all__ = [
    "Bounds",
    "DecisionRow",
    "RiskRow",
    "add_decisions",
    "add_risks",
    "forget_decisions",
    "read_decisions",
    "read_risks",
    "risk_from_starts",
]
