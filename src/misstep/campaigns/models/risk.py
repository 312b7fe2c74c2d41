"""The stage that computes the risks of all tested states in one exploration.

It comes last: a bug is about the worst case, a risk about probabilities. Results are kept; a campaign that has grown
computes only what is new. Where the policy answers otherwise than in its runs, it contradicts itself, and verdicts on
these runs are weighed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from misstep import _core
from misstep.campaigns.models.confirm import decisions_of
from misstep.campaigns.risks import (
    DecisionRow,
    RiskRow,
    add_decisions,
    add_risks,
    forget_decisions,
    read_decisions,
    read_risks,
)
from misstep.campaigns.rows import ContradictionRow, Values
from misstep.campaigns.tables import RISK, Findings
from misstep.campaigns.units import Result, Stage, Unit
from misstep.errors import PolicyCrashError, PolicyTimeoutError, UnsupportedError
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import NO_ACTION
from misstep.safety.risk import Interval, RiskAnalysis, RiskSettings
from misstep.tasks.jani.task import JaniTask

NOTHING = (0.0, 1.0)  # an interval that says nothing
NO_LABEL = -1
STATES = 1_000_000  # that are explored at most
CONTRADICTED = "risks: the policy answers differently than before, or declares so: nothing is said of its own risk"
LARGEST_CHAIN = 20_000  # decisions; more are not kept, and the policy's risk cannot be checked


class RiskPayload(NamedTuple):
    states: tuple[tuple[int, Values], ...]
    # The decisions that runs show; where the policy is known to contradict itself, NO_LABEL, which none agrees with.
    shown: Mapping[Values, int]
    stored: Mapping[Values, int | None] = {}  # decisions from which other risks were computed
    # A run shows another decision than the one from which risks were computed, or the policy declares that it may.
    contradicted: bool = False


class Weighed(NamedTuple):
    risks: tuple[RiskRow, ...]
    decisions: tuple[DecisionRow, ...]
    contradictions: tuple[ContradictionRow, ...] = ()  # where a run shows another decision
    differs: bool = False  # some decisions differ from those behind other risks


def weigh_risks(
    task: JaniTask, policy: LabelPolicy, engine: _core.JaniEngine, payload: RiskPayload
) -> tuple[Weighed, tuple[str, ...]]:
    """The risks of some states, with remarks. The policy was loaded on the engine."""
    settings = RiskSettings(max_states=STATES, runs=0, faults=0)
    try:
        analysis = RiskAnalysis(
            task, policy, settings, starts=[state for _, state in payload.states], engine=engine
        )
        for _ in analysis.stages():
            pass
    except UnsupportedError as error:
        return Weighed((), ()), (f"no risks were computed: {error.what}",)
    except (PolicyCrashError, PolicyTimeoutError) as error:
        return Weighed((), ()), (
            f"no risks were computed, because the policy failed: {error.what}",
        )
    remarks = tuple(f"risks: {text}" for text in analysis.remarks)
    decisions = tuple(
        DecisionRow(state, None if label is None else task.label_id(label))
        for state, label in analysis.decisions(LARGEST_CHAIN).items()
    )
    contradictions = _contradictions(decisions, payload.shown)
    others = any(payload.stored.get(own.state, own.label) != own.label for own in decisions)
    doubtful = payload.contradicted or others or _differ(decisions, payload.shown)
    if doubtful:
        decisions, remarks = (), (*remarks, CONTRADICTED)
    rows = []
    for number, state in payload.states:
        found = analysis.risk_of(state)
        own = Interval() if doubtful else found.policy
        rows.append(RiskRow(number, *own.as_list(), *found.least.as_list()))
    return Weighed(tuple(rows), decisions, contradictions, others), remarks


def _contradictions(
    decisions: Sequence[DecisionRow], shown: Mapping[Values, int]
) -> tuple[ContradictionRow, ...]:
    """Where a decision differs from that of a run."""
    found = []
    for own in decisions:
        first, second = (
            shown.get(own.state, NO_LABEL),
            NO_ACTION if own.label is None else own.label,
        )
        if first not in (NO_LABEL, second):
            found.append(ContradictionRow(own.state, first, second, 2))
    return tuple(found)


def _differ(decisions: Sequence[DecisionRow], shown: Mapping[Values, int]) -> bool:
    """Whether decisions behind risks differ from those of runs."""
    if not decisions:  # they were too many to be kept, so any contradiction may be among them
        return NO_LABEL in shown.values()
    return any(shown.get(own.state, own.label) != own.label for own in decisions)


class RiskStage(Stage):
    name = RISK
    title = "computing risks"

    def __init__(self, findings: Findings, deterministic: bool) -> None:
        super().__init__(findings)
        self.deterministic = deterministic  # what the policy declares about itself
        self.total = self.weighed = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        states, runs = self.findings.states(), self.findings.runs()
        known = read_risks(self.findings)
        self.total, self.weighed = len(states), len(known)
        shown = {
            state: answer for run in runs for state, answer in decisions_of(run) if answer >= 0
        }
        shown |= {row.state: NO_LABEL for row in self.findings.contradictions()}
        key = f"of {len(states)}"
        # Runs that came later may show that the policy has changed its mind.
        stored = read_decisions(self.findings) if known else []
        others = {own.state: own.label for own in stored}
        contradicted = not self.deterministic or (bool(known) and _differ(stored, shown))
        claims = {number for number, own in known.items() if own.policy != NOTHING}
        if contradicted and claims:
            key += f" and {len(runs)} runs"
            known = {number: own for number, own in known.items() if number not in claims}
            self.weighed = len(known)
        missing = tuple((row.number, row.state) for row in states if row.number not in known)
        if missing and key not in self.findings.done(self.name):
            payload = RiskPayload(missing, shown, others, contradicted)
            yield [Unit(self.findings.name, self.name, key, "risk", payload)]

    def keep(self, unit: Unit, result: Result) -> None:
        weighed: Weighed = result.content
        payload: RiskPayload = unit.payload
        findings, before = self.findings, read_risks(self.findings).values()
        claims = [own for own in before if own.policy != NOTHING]
        if weighed.differs:
            add_risks(findings, [own._replace(low=NOTHING[0], high=NOTHING[1]) for own in claims])
        elif weighed.decisions and (payload.stored or not claims):
            add_decisions(findings, weighed.decisions)
        elif any(own.policy != NOTHING for own in weighed.risks):
            # Those behind some risk are too many to be kept, so none are.
            forget_decisions(findings)
        if self.deterministic:
            findings.add_contradictions(weighed.contradictions)
        add_risks(findings, weighed.risks)
        self.weighed += len(weighed.risks)

    def progress(self) -> tuple[int, int | None]:
        return self.weighed, self.total


__all__ = ["RiskPayload", "RiskStage", "Weighed", "weigh_risks"]
