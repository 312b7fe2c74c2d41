"""A safety campaign: fuzz runs of a policy into unsafe states, decide which of them could be avoided, find the faults.

Runs are numbered, and a run is a function of the seed and its number, so fuzzing goes on where it was interrupted. Each
unsafe run is then analysed from its end. Whether a state is safe is a fact, so the verdicts do not depend on
the order; only what a budget leaves UNKNOWN may.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter, time
from typing import Any

from misstep import _core
from misstep.campaigns.records import Event
from misstep.campaigns.safety_settings import SafetySettings
from misstep.campaigns.safety_store import DecidedState, SafetyStore
from misstep.campaigns.store import CampaignStore
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.safety.decider import Answer, Decider
from misstep.safety.faults import StepReport, analyse
from misstep.safety.fuzz import UnsafeRun, fuzz
from misstep.safety.jani import jani_transitions
from misstep.safety.system import System
from misstep.safety.witness import check_run, check_strategy
from misstep.tasks.jani.task import JaniTask, State

BATCH = 50  # runs that are stored together
FUZZING_BYTES = 2**29  # of states met by runs; beyond, the next batch starts without them
LARGEST_STRATEGY = 2_000  # states; larger witnesses are checked, but not stored
VERDICTS = {Answer.SAFE: "BUG", Answer.NOT_SAFE: "NOT A BUG", Answer.UNKNOWN: "UNKNOWN"}

# phase, done, of how many, bugs so far
Progress = Callable[[str, int, int | None, int], None]


@dataclass
class SafetySummary:
    """Numbers of a safety campaign."""

    runs: int = 0
    unsafe_runs: int = 0
    distinct_runs: int = 0
    distinct_states: int = 0
    bugs: int = 0
    not_bugs: int = 0
    unknown: int = 0
    faults: int = 0
    bugs_by_radius: dict[str, int] = field(default_factory=dict)
    policy_calls: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class SafetyCampaign:
    """Runs what is left to do of a safety campaign.

    The policy is loaded first, before there is a store: one that cannot be loaded leaves no folder behind.
    """

    store: CampaignStore  # from `run` on
    tables: SafetyStore

    def __init__(self, task: JaniTask, settings: SafetySettings) -> None:
        self.task = task
        self.settings = settings
        self.seconds = {"fuzzing": 0.0, "testing": 0.0}
        self.calls = 0  # of the policy, on engines that are forgotten
        self._bind()

    def __enter__(self) -> SafetyCampaign:
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.close()

    def run(self, store: CampaignStore, progress: Progress | None = None) -> SafetySummary:
        """Work until it is done. Interrupted, it keeps the batches and runs that are finished."""
        self.store, self.tables = store, SafetyStore(store)
        self.report = progress or (lambda *_: None)
        with store.unit():
            self.tables.set_model(self.task)
        store.set_policy(self.settings.policy, self.handle.digest)
        began = perf_counter()
        self._fuzz()
        self.seconds["fuzzing"] = perf_counter() - began
        began = perf_counter()
        self._analyse(self.system)
        self.seconds["testing"] = perf_counter() - began
        summary = safety_summary(store)
        summary.policy_calls = self.calls + self.system.native.policy_calls
        summary.seconds = {name: round(spent, 3) for name, spent in self.seconds.items()}
        return summary

    def _bind(self) -> None:
        """The policy on an engine that has met no state."""
        self.engine = self.task.new_engine()
        own = self.settings
        self.handle = load_policy(
            own.policy, self.task, engine=self.engine, inapplicable=own.inapplicable
        )
        self.system = system_of(self.task, self.handle, self.engine)

    def _fuzz(self) -> None:
        settings, done = self.settings, self.tables.fuzzed
        unsafe_starts = cut = 0
        try:
            while done < settings.runs:
                if self.engine.bytes + self.system.native.bytes > FUZZING_BYTES:
                    self.calls += self.system.native.policy_calls
                    self.handle.close()
                    self._bind()
                count = min(BATCH, settings.runs - done)
                report = fuzz(self.system, settings.fuzzing(count), seed=settings.seed, first=done)
                self.tables.add_fuzzed(done, count, report.ends, report.runs)
                unsafe_starts += report.unsafe_starts
                cut += report.cut_lookaheads
                done += count
                self.report("fuzzing", done, settings.runs, 0)
        finally:
            if unsafe_starts:
                self._remark(f"{unsafe_starts} runs were unsafe before the first step")
            if cut:
                self._remark(
                    f"{cut} lookaheads met {settings.lookahead_cap:,} states with no closest one among them "
                    "and went on from one of the closest; --lookahead-cap N lets them look further"
                )

    def _remark(self, text: str) -> None:
        self.store.add_event(Event(time(), "remark", text))

    def _analyse(self, system: System[State, str]) -> None:
        decider = Decider(system, self.settings.oracle, budget=self.settings.budget)
        # Without their strategies, which are large.
        known = {entry.state: replace(entry, strategy=None) for entry in self.tables.decided()}
        bugs = 0
        paths = self.tables.paths(open_only=True)
        for done, run in enumerate(paths):
            check_run(system, run)
            decided: list[DecidedState] = []
            report = analyse(decider, run, self.settings.radius, largest=self.settings.largest)
            for step in report.steps:
                before = known.get(step.state)
                if before is not None and _knowledge(before.verdict, before.fault) >= _knowledge(
                    VERDICTS[step.safety], step.is_fault
                ):
                    continue
                entry = self._decided(decider, run, step, len(known))
                if before is not None:  # what a budget had left open; still first met there
                    entry = replace(entry, index=before.index, path=before.path, step=before.step)
                bugs += entry.verdict == "BUG" and (before is None or before.verdict != "BUG")
                known[step.state] = replace(entry, strategy=None)
                decided.append(entry)
            self.tables.add_analysed(int(run.number or 0), decided)
            self.report("testing", done + 1, len(paths), bugs)

    def _decided(
        self,
        decider: Decider[State, str],
        run: UnsafeRun[State, str],
        step: StepReport[State, str],
        index: int,
    ) -> DecidedState:
        strategy = None
        if step.safety is Answer.SAFE:
            found = decider.strategy(step.state, self.settings.radius)
            check_strategy(decider.system, found)  # no bug without a witness that holds
            if len(found) <= LARGEST_STRATEGY:
                strategy = tuple(found.labels.items())
        fault = step.fault
        return DecidedState(
            index,
            step.state,
            int(run.number or 0),
            step.step,
            step.label,
            VERDICTS[step.safety],
            step.smallest_radius,
            step.is_fault,
            None if fault is None else fault.outcome,
            strategy,
            step.effort.seconds,
            step.effort.evaluations,
        )


def _knowledge(verdict: str, fault: bool | None) -> int:
    """How much of a state is decided."""
    return (verdict != "UNKNOWN") + (fault is not None)


def system_of(
    task: JaniTask, handle: LabelPolicy, engine: _core.JaniEngine | None = None
) -> System[State, str]:
    return System(jani_transitions(task, engine), handle.policy, inapplicable=handle.inapplicable)


def safety_summary(store: CampaignStore) -> SafetySummary:
    """The numbers of what is stored."""
    tables = SafetyStore(store)
    total = SafetySummary(
        runs=tables.fuzzed,
        unsafe_runs=tables.unsafe_runs,
        distinct_runs=len(tables.paths()),
    )
    radii: dict[float, int] = {}
    for entry in tables.decided():
        total.distinct_states += 1
        total.bugs += entry.verdict == "BUG"
        total.not_bugs += entry.verdict == "NOT A BUG"
        total.unknown += entry.verdict == "UNKNOWN"
        total.faults += entry.fault is True
        if entry.verdict == "BUG" and entry.smallest_radius is not None:
            radii[entry.smallest_radius] = radii.get(entry.smallest_radius, 0) + 1
    total.bugs_by_radius = {
        (f">{tables.largest}" if radius == math.inf else str(int(radius))): radii[radius]
        for radius in sorted(radii)
    }
    total.remarks = [event.text for event in store.events() if event.kind == "remark"]
    return total


__all__ = ["SafetyCampaign", "SafetySummary", "safety_summary", "system_of"]
