"""The stages of a planning task: pool, dominance, judge, confirm, blame.

Judging happens in rounds. A round has a few chunks, and a chunk has a few states; both sizes are settings and do not
depend on the number of workers. A chunk starts from what all earlier rounds have found out about the task
(`misstep.oracles.knowledge`) and never sees the other chunks of its round. Then one unit settles the round: it merges
what the chunks have found and compares all states with each other. The last such unit computes every verdict again,
because what was found for one state may decide another. So knowledge is shared over the whole pool, and nothing depends
on the order of the work.

Rounds are defined by the numbers of states. So a pool that grows later has the same rounds as one that was made at
once, except for the old last round, which may have been shorter; it is judged again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from misstep.campaigns.confirm import Asking, ConfirmStage, made_flaky
from misstep.campaigns.lent import loan_of
from misstep.campaigns.planning.payloads import (
    BlamePayload,
    Chunk,
    ChunkState,
    Judged,
    Pooled,
    PoolPayload,
    SettlePayload,
)
from misstep.campaigns.planning.witnesses import VouchStage, WitnessStage, left_to_judge
from misstep.campaigns.rows import StateRow, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.tables import Findings, Snapshot
from misstep.campaigns.units import Result, Stage, Unit
from misstep.campaigns.view import whole_walk
from misstep.oracles.grammar import needs_dominance

POOL_UNIT = 25  # states at least; a larger pool is made in larger steps
BLAME_UNIT = 10  # states
SETTLED = -1  # the part of a round that its settling stores


def planning_stages(
    findings: Findings, settings: Settings, oracles: Sequence[str], asking: Asking
) -> Iterator[Stage]:
    yield PoolStage(findings, settings)
    if "left alone" in findings.done(PoolStage.name):
        return
    loan = loan_of(findings.store)
    for oracle in oracles:
        lent = loan is not None and oracle == settings.oracle
        if loan is not None and lent:
            yield WitnessStage(findings, settings, loan)
        # It takes long, and is not needed if the witnesses decide everything.
        if needs_dominance(oracle) and (not lent or left_to_judge(findings, oracle)):
            yield DominanceStage(findings, oracle)
            if lent:
                yield VouchStage(findings, settings)
        yield JudgeStage(findings, settings, oracle)
        yield ConfirmStage(findings, asking, oracle, settings.seed)
        yield BlameStage(findings, settings, oracle)


def pool_key(states: int) -> str:
    """The mark of a finished pool."""
    return f"up to {states} states"


class PoolStage(Stage):
    """Runs the fuzzer to make the states to test."""

    name = "pool"
    title = "fuzzing"

    def __init__(self, findings: Findings, settings: Settings) -> None:
        super().__init__(findings)
        self.settings = settings.of_planning
        self.wanted = self.settings.fuzzing.max_states
        self.spent = findings.seconds(self.name)
        self.size = findings.state_count()

    def rounds(self) -> Iterator[Sequence[Unit]]:
        while not self.findings.done(self.name) & {pool_key(self.wanted), "left alone"}:
            known = self.findings.states()
            steps = max(POOL_UNIT, len(known) // 2)
            payload = PoolPayload(known, steps, self.spent)
            # Keys count units, not states: two units may end with the same number of them.
            key = f"{len(self.findings.done(self.name))} after {len(known)}"
            yield [Unit(self.findings.name, self.name, key, "pool", payload)]

    def keep(self, unit: Unit, result: Result) -> None:  # noqa: ARG002
        pooled: Pooled = result.content
        self.findings.add_states(pooled.fresh)
        self.spent += result.seconds
        self.size += len(pooled.fresh)
        if pooled.left_alone:
            self.findings.mark_done(self.name, "left alone", 0.0, 0)
        elif pooled.finished:
            self.findings.mark_done(self.name, pool_key(self.wanted), 0.0, 0)

    def progress(self) -> tuple[int, int | None]:
        return self.size, self.wanted


class DominanceStage(Stage):
    """Computes and stores the dominance function of the task, or the reason why there is none."""

    name = "dominance"
    title = "comparing variables"

    def __init__(self, findings: Findings, oracle: str) -> None:
        super().__init__(findings)
        self.oracle = oracle

    def rounds(self) -> Iterator[Sequence[Unit]]:
        key = f"for {self.oracle}"
        if self.findings.dominance() is None and key not in self.findings.done(self.name):
            yield [Unit(self.findings.name, self.name, key, "dominance", self.oracle)]

    def keep(self, unit: Unit, result: Result) -> None:  # noqa: ARG002
        found: bytes | str | None = result.content
        if found is None:
            return  # this oracle does not need one; another oracle may
        if isinstance(found, str):
            self.findings.set_dominance(None, found)
        else:
            self.findings.set_packed_dominance(found)

    def lost(self, unit: Unit, why: str) -> Result | None:  # noqa: ARG002
        if "memory" not in why:
            return None
        return Result(why, remarks=(f"no dominance function: {why}",))


class JudgeStage(Stage):
    """Runs the policy and lets one oracle judge."""

    title = "judging"

    def __init__(self, findings: Findings, settings: Settings, oracle: str) -> None:
        super().__init__(findings)
        self.settings = settings.of_planning
        self.oracle = oracle
        self.name = f"judge {oracle}"
        self.size = findings.state_count()
        self.tested = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        self.size = self.findings.state_count()
        self.tested = self.findings.verdict_count(self.oracle)
        left = left_to_judge(self.findings, self.oracle)
        if not left:
            return  # the witnesses of another campaign have decided all
        states = self.findings.states()
        judged = [row for row in states if row.number in left]
        done = self.findings.done(self.name)
        if final_key(len(states)) in done:
            return
        chunk, width = self.settings.chunk, self.settings.chunk * self.settings.round
        resources: dict[str, object] = {"dominance": self.findings.dominance()}
        # Runs that were made for another oracle.
        runs = {run.number: run for run in self.findings.runs()}
        for number in count():
            members = judged[number * width : (number + 1) * width]
            if not members:
                break
            if round_key(number, len(members)) in done:
                continue
            base = self._base(number)
            units = []
            for part, first in enumerate(range(0, len(members), chunk)):
                own = members[first : first + chunk]
                key = f"{number}.{part} of {len(members)}"
                if key not in done:
                    payload = Chunk(
                        self.oracle,
                        number,
                        part,
                        tuple(
                            ChunkState(s.number, s.state, whole_walk(states, s), runs.get(s.number))
                            for s in own
                        ),
                    )
                    units.append(self._unit(key, "judge", payload, {**resources, "base": base}))
            if units:
                yield units
            if not self.settings.isolate:
                last = (number + 1) * width >= len(judged)
                yield [self._settle(number, members, states if last else (), base, resources)]

    def _base(self, number: int) -> Snapshot | None:
        return self.findings.knowledge(self.oracle, number - 1).get(SETTLED)

    def _settle(
        self,
        number: int,
        members: Sequence[StateRow],
        read: Sequence[StateRow],
        base: Snapshot | None,
        resources: dict[str, object],
    ) -> Unit:
        """The unit that settles a round; in the last round, with all states, to compute their verdicts again."""
        parts = self.findings.knowledge(self.oracle, number)
        parts.pop(SETTLED, None)
        runs = {run.number: run for run in self.findings.runs()} if read else {}
        known = {row.number: row for row in self.findings.verdicts(self.oracle)} if read else {}
        payload = SettlePayload(
            self.oracle,
            number,
            tuple(parts.values()),
            tuple((row, runs[row.number], known[row.number]) for row in read),
        )
        key = round_key(number, len(members))
        return self._unit(key, "settle", payload, {**resources, "base": base})

    def _unit(self, key: str, job: str, payload: object, resources: dict[str, object]) -> Unit:
        return Unit(self.findings.name, self.name, key, job, payload, resources)

    def keep(self, unit: Unit, result: Result) -> None:
        findings = self.findings
        judged: Judged = result.content
        began = findings.clock()
        findings.add_runs(judged.runs)
        findings.add_permitted(judged.permitted)
        findings.add_contradictions(judged.contradictions)
        if unit.job == "judge":
            chunk: Chunk = unit.payload
            # A FLAKY state stays FLAKY if it is judged again in a larger pool or by another oracle.
            numbers = [row.number for row in judged.verdicts]
            flaky = findings.flaky(min(numbers), max(numbers)) if numbers else set()
            rows = [row.later(began) for row in judged.verdicts]
            findings.add_verdicts(
                [made_flaky(r) if r.number in flaky else r for r in rows] if flaky else rows
            )
            self.tested += len(judged.verdicts)
            if judged.knowledge is not None:
                findings.set_knowledge(self.oracle, chunk.round, chunk.part, judged.knowledge)
            return
        settled: SettlePayload = unit.payload
        assert judged.knowledge is not None
        # A decided verdict is only replaced by one that proves more.
        decided = {row.number: row.at for *_, row in settled.read if row.verdict != "UNKNOWN"}
        findings.add_verdicts(
            [row._replace(at=decided.get(row.number, began + row.at)) for row in judged.verdicts]
        )
        findings.set_knowledge(self.oracle, settled.round, SETTLED, judged.knowledge)
        # Keep the round before: if the pool grows, this round may have to be judged again.
        findings.forget_knowledge(self.oracle, before=settled.round - 1, parts=settled.round)
        if settled.read:
            findings.mark_done(self.name, final_key(len(settled.read)), 0.0, 0)

    def progress(self) -> tuple[int, int | None]:
        return self.tested, self.size


def round_key(number: int, size: int) -> str:
    return f"{number} settled at {size}"


def final_key(states: int) -> str:
    return f"{states} states"


class BlameStage(Stage):
    """Finds plans for bugs that are proven without one, and the decisions to blame."""

    title = "blaming"

    def __init__(self, findings: Findings, settings: Settings, oracle: str) -> None:
        super().__init__(findings)
        self.settings = settings
        self.oracle = oracle
        self.name = f"blame {oracle}"
        self.blamed = 0
        self.bugs = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        done = self.findings.done(self.name)
        already = self.findings.done("blamed")
        bugs = self._chosen([row for row in self.findings.verdicts(self.oracle) if row.is_bug])
        groups: dict[int, list[VerdictRow]] = {}
        for row in bugs:
            groups.setdefault(row.number // BLAME_UNIT, []).append(row)
        open_groups = {number: rows for number, rows in groups.items() if str(number) not in done}
        self.bugs = len(bugs)
        self.blamed = self.bugs - sum(map(len, open_groups.values()))
        if not open_groups:
            return
        runs = {run.number: run for run in self.findings.runs()}
        states = self.findings.states()
        base = self._knowledge(len(left_to_judge(self.findings, self.oracle)))
        units = []
        for number, rows in open_groups.items():
            members = tuple((states[r.number], runs[r.number], r) for r in rows)
            blamed = frozenset(r.number for r in rows if str(r.number) in already)
            payload = BlamePayload(self.oracle, members, blamed)
            resources = {"dominance": self.findings.dominance(), "base": base}
            units.append(
                Unit(self.findings.name, self.name, str(number), "blame", payload, resources)
            )
        yield units

    def _chosen(self, bugs: list[VerdictRow]) -> list[VerdictRow]:
        """The bugs whose faults are to be found, or whose derivation needs a plan."""
        most = self.settings.blame_most
        if self.settings.fault_budget is None:
            return [row for row in bugs if row.derivation is not None]
        if most is None or len(bugs) <= most:
            return bugs
        loan = loan_of(self.findings.store)
        old = frozenset() if loan is None else loan.bugs.get(self.findings.name, frozenset())
        first = sorted(bugs, key=lambda row: (row.number in old, row.number))[:most]
        return sorted(first, key=lambda row: row.number)

    def _knowledge(self, states: int) -> Snapshot | None:
        """The knowledge of the last round, or of the round before the first if no state was left to judge."""
        own = self.settings.of_planning
        last = (states - 1) // (own.chunk * own.round)
        return self.findings.knowledge(self.oracle, last).get(SETTLED)

    def keep(self, unit: Unit, result: Result) -> None:
        payload: BlamePayload = unit.payload
        improved, faults = result.content
        began = self.findings.clock()
        self.findings.add_verdicts([row._replace(at=min(row.at, began)) for row in improved])
        self.blamed += len(payload.members)
        if self.settings.fault_budget is None:
            return
        self.findings.add_faults(faults)
        numbers = (row.number for _, _, row in payload.members)
        self.findings.mark_all_done(
            "blamed", [str(number) for number in numbers if number not in payload.blamed]
        )

    def progress(self) -> tuple[int, int | None]:
        return self.blamed, self.bugs


EARLY = "early"  # marks that bugs were blamed before all states were judged


def blame_early(findings: Findings) -> None:
    """Prepare to blame bugs before all states are judged: forget earlier blame."""
    with findings.store.unit():
        forget_early_blame(findings)
        findings.mark_done(EARLY, "blamed", 0.0, 0)


def forget_early_blame(findings: Findings) -> None:
    """Let all bugs be blamed again, because there may be more by now. Models need not: they blame while judging."""
    if not findings.done(EARLY):
        return
    with findings.store.unit():
        findings.forget_stage(EARLY)
        for oracle in findings.oracles():
            if findings.done(f"blame {oracle}"):
                findings.forget_stage(f"blame {oracle}")
                findings.forget_stage("blamed")
                findings.forget_faults()


__all__ = ["blame_early", "forget_early_blame", "planning_stages", "pool_key"]
