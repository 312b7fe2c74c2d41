"""The stages of a model: fuzz, then judge and blame, then confirm.

A run is a function of the seed and its number, so batches of runs are independent of each other. The unsafe runs of a
few batches are judged together by one decider. Whether a state is safe does not change, so decisions of earlier rounds
are reused; only states that a budget left open are judged again. A state belongs to the first run through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from misstep.campaigns.confirm import Asking, ConfirmStage
from misstep.campaigns.lent import loan_of
from misstep.campaigns.models.retest import RetestStage
from misstep.campaigns.models.risk import RiskStage
from misstep.campaigns.models.work import (
    Fuzzed,
    FuzzPayload,
    JudgedRuns,
    JudgePayload,
    Known,
)
from misstep.campaigns.rows import FaultRow, RunRow, StateRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.strategies import add_strategies
from misstep.campaigns.tables import Findings
from misstep.campaigns.units import Result, Stage, Unit

JUDGED = 5  # batches that are judged together: what is found out about one answers for the others
ROUND = 4  # such units in a round of judging


def model_stages(
    findings: Findings, settings: Settings, oracles: Sequence[str], asking: Asking
) -> Iterator[Stage]:
    lent = loan_of(findings.store) is not None
    if lent:
        yield RetestStage(findings, settings)
    else:
        yield FuzzStage(findings, settings)
    for oracle in oracles:
        if not lent:
            yield JudgeStage(findings, settings, oracle)
        yield ConfirmStage(findings, asking, oracle, settings.seed)
    known = -1
    while settings.of_model.risk and known != len(findings.contradictions()):
        known = len(findings.contradictions())
        yield RiskStage(findings, asking.deterministic)
        yield ConfirmStage(findings, asking, oracles[-1], settings.seed)  # what it has found


class FuzzStage(Stage):
    """Runs the policy and keeps the unsafe runs."""

    name = "fuzz"
    title = "fuzzing"

    def __init__(self, findings: Findings, settings: Settings) -> None:
        super().__init__(findings)
        self.settings = settings.of_model
        self.runs = sum(runs for _, runs, _ in findings.fuzzed())
        self._seen: set[tuple[Values, ...]] = set()

    def rounds(self) -> Iterator[Sequence[Unit]]:
        self._seen = {run.states for run in self.findings.runs() if run.states is not None}
        wanted, batch = self.settings.runs, self.settings.batch
        units = []
        done = self.runs
        while done < wanted:
            # Batches end at multiples of their size, so that a campaign that grows has the same ones.
            count = min(batch - done % batch, wanted - done)
            payload = FuzzPayload(done, count)
            units.append(Unit(self.findings.name, self.name, str(done), "fuzz", payload))
            done += count
        yield units

    def keep(self, unit: Unit, result: Result) -> None:
        fuzzed: Fuzzed = result.content
        payload: FuzzPayload = unit.payload
        self.findings.add_fuzzed(payload.first, payload.runs, fuzzed.ends)
        fresh = []
        for run in fuzzed.runs:
            assert run.states is not None
            known = len(self._seen)
            self._seen.add(run.states)  # which is hashed once that way, and may be long
            if len(self._seen) > known:
                fresh.append(run)
        self.findings.add_runs(fresh)
        self.runs += payload.runs

    def progress(self) -> tuple[int, int | None]:
        return self.runs, self.settings.runs


class JudgeStage(Stage):
    """Lets one oracle judge the states of unsafe runs, and finds the faults among their decisions."""

    title = "judging"

    def __init__(self, findings: Findings, settings: Settings, oracle: str) -> None:
        super().__init__(findings)
        self.settings = settings.of_model
        self.oracle = oracle
        self.name = f"judge {oracle}"
        self.judged = 0
        self.total = 0
        self._states: dict[Values, StateRow] = {}
        self._verdicts: dict[int, VerdictRow] = {}
        self._faults: dict[Values, FaultRow] = {}  # the first one recorded of each state
        self._unsure: set[int] = set()
        self._blamed: set[str] = set()

    def rounds(self) -> Iterator[Sequence[Unit]]:
        runs = self.findings.runs()
        self.total = len(runs)
        self._recall()
        done = self.findings.done(self.name)
        groups: dict[int, dict[int, list[RunRow]]] = {}
        for run in runs:
            own = run.number // (self.settings.batch * JUDGED)
            groups.setdefault(own // ROUND, {}).setdefault(own, []).append(run)
        for number, parts in groups.items():
            units = []
            for part, members in parts.items():
                key = f"{part} of {len(members)}"
                if key in done:
                    self.judged += len(members)
                    continue
                payload = JudgePayload(
                    self.oracle, number, tuple(members), self._known(members, number)
                )
                units.append(Unit(self.findings.name, self.name, key, "judge", payload))
            yield units

    def _recall(self) -> None:
        """Load what is stored already."""
        self._states = {row.state: row for row in self.findings.states()}
        self._verdicts = {row.number: row for row in self.findings.verdicts(self.oracle)}
        self._remember(self.findings.faults())
        self._unsure = self.findings.marked(self._unsure_mark)
        self._blamed = self.findings.done("blamed")

    def _remember(self, faults: Sequence[FaultRow]) -> None:
        for fault in faults:
            self._faults.setdefault(fault.state, fault)

    @property
    def _unsure_mark(self) -> str:
        """The mark of states with a known verdict where it is open whether the decision is a fault."""
        return f"unsure {self.oracle}"

    def _known(self, runs: Sequence[RunRow], round: int) -> dict[Values, Known]:
        """What earlier rounds have decided about the states of these runs."""
        known = {}
        for state in {state for run in runs for state in run.states or ()}:
            row = self._states.get(state)
            verdict = None if row is None else self._verdicts.get(row.number)
            if row is None or verdict is None or verdict.verdict in ("UNKNOWN", "FLAKY"):
                continue
            if verdict.round < round and row.number not in self._unsure:
                fault = self._faults.get(state)
                known[state] = Known(
                    verdict.verdict,
                    fault is not None,
                    None if fault is None else fault.better,
                    None if fault is None else fault.outcome,
                    None if fault is None else fault.decision,
                )
        return known

    def keep(self, unit: Unit, result: Result) -> None:
        judged: JudgedRuns = result.content
        payload: JudgePayload = unit.payload
        began = self.findings.clock()
        verdicts: list[VerdictRow] = []
        fresh: list[StateRow] = []
        strategies = add_strategies(self.findings, judged.strategies)
        for own in judged.states:
            row = self._states.get(own.state)
            if row is None:
                row = StateRow(len(self._states), own.state, None, (), 0, own.run, own.step)
                self._states[own.state] = row
                fresh.append(row)
            before = self._verdicts.get(row.number)
            if before is not None and before.verdict != "UNKNOWN":
                continue  # another batch of this round was first
            resting = None if own.strategy is None else strategies[own.strategy]
            verdict = own.verdict.placed(row.number, resting, began)
            self._verdicts[row.number] = verdict
            verdicts.append(verdict)
            if own.fault is None and verdict.is_bug:
                self._unsure.add(row.number)
                self.findings.mark_done(self._unsure_mark, str(row.number), 0.0, 0)
        self.findings.add_states(fresh)
        self.findings.add_verdicts(verdicts)
        self.findings.add_faults(judged.faults)
        self.findings.add_contradictions(judged.contradictions)
        self._remember(judged.faults)
        bugs = {str(verdict.number) for verdict in verdicts if verdict.is_bug}
        self.findings.mark_all_done("blamed", sorted(bugs - self._blamed, key=int))
        self._blamed |= bugs
        self.judged += len(payload.runs)

    def progress(self) -> tuple[int, int | None]:
        return self.judged, self.total


__all__ = ["model_stages"]
