"""Judge states by what another campaign has proven, so that they need no oracle.

    WitnessStage   runs the policy from all states and derives verdicts from the copied plans and bounds
    VouchStage     checks derivations, which rest on a dominance function, with a function that is computed here

A verdict that a copied plan or bound decides is final, except that later rounds may prove more. If a state was a bug
and the policy is now as good as the witness, the state is left UNKNOWN: the oracle does not look for something better,
unless the settings say so, or a derivation that is not checked yet may prove something better. All other states are
left to the oracle, whose rounds begin with what is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from misstep.campaigns.lent import CLAIMS, Loan
from misstep.campaigns.planning.payloads import ChunkState, Judged, WitnessPayload
from misstep.campaigns.planning.rows import (
    cost_of,
    run_row,
    snapshot,
    states_of,
    values_of,
    verdict_row,
)
from misstep.campaigns.rows import LENT_ROUND, RunRow, SetRow, StateRow, Values, VerdictRow
from misstep.campaigns.settings import WITNESSES, Settings
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Findings, Snapshot
from misstep.campaigns.units import Result, Stage, Unit
from misstep.errors import InputFormatError
from misstep.oracles.bounds import BoundStore
from misstep.oracles.dominance import DominanceFunction
from misstep.oracles.knowledge import Knowledge
from misstep.oracles.verdict import Verdict
from misstep.oracles.workbench import read_verdict
from misstep.tasks.task import State

if TYPE_CHECKING:
    from misstep.campaigns.planning.work import PlanningWork

WITNESS_UNIT = 1000  # states; without any search, so many states take little time
SETTLED = -1
SOURCE = "witness"  # instead of the part of an oracle that decided


class WitnessStage(Stage):
    """Runs the policy and keeps the verdicts that copied witnesses decide."""

    title = "comparing with witnesses"

    def __init__(self, findings: Findings, settings: Settings, loan: Loan) -> None:
        super().__init__(findings)
        self.oracle = settings.oracle
        self.name = f"witness {settings.oracle}"
        self.settle_fixed = settings.retest == WITNESSES
        self.bugs = loan.bugs.get(findings.name, frozenset())
        self.size = findings.state_count()
        self.tested = 0

    def rounds(self) -> Iterator[Sequence[Unit]]:
        done = self.findings.done(self.name)
        states = self.findings.states()
        lent = self.findings.knowledge(self.oracle, LENT_ROUND)
        base, claimed = lent.get(SETTLED), _claimed(lent.get(CLAIMS), states)
        units = []
        for first in range(0, len(states), WITNESS_UNIT):
            own = states[first : first + WITNESS_UNIT]
            key = f"{first} to {first + len(own) - 1}"
            if key in done:
                self.tested += len(own)
                continue
            members = tuple(ChunkState(row.number, row.state, None, None) for row in own)
            bugs = frozenset(
                row.number for row in own if row.number in self.bugs and row.state not in claimed
            )
            payload = WitnessPayload(self.oracle, members, bugs, self.settle_fixed)
            resources = {"base": base}
            units.append(Unit(self.findings.name, self.name, key, "witness", payload, resources))
        yield units

    def keep(self, unit: Unit, result: Result) -> None:
        judged: Judged = result.content
        payload: WitnessPayload = unit.payload
        began = self.findings.clock()
        self.findings.add_runs(judged.runs)
        self.findings.add_permitted(judged.permitted)
        self.findings.add_verdicts([row._replace(at=began + row.at) for row in judged.verdicts])
        self.tested += len(payload.states)

    def progress(self) -> tuple[int, int | None]:
        return self.tested, self.size


class VouchStage(Stage):
    """Takes over the claims of copied derivations that the dominance function of this campaign confirms."""

    title = "checking derivations"

    def __init__(self, findings: Findings, settings: Settings) -> None:
        super().__init__(findings)
        self.oracle = settings.oracle
        self.name = f"vouch {settings.oracle}"

    def rounds(self) -> Iterator[Sequence[Unit]]:
        lent = self.findings.knowledge(self.oracle, LENT_ROUND)
        if CLAIMS in lent and not self.findings.done(self.name):
            payload = (lent[SETTLED], lent[CLAIMS])
            resources = {"dominance": self.findings.dominance()}
            yield [Unit(self.findings.name, self.name, "all", "vouch", payload, resources)]

    def keep(self, unit: Unit, result: Result) -> None:  # noqa: ARG002
        known: Snapshot = result.content
        self.findings.set_knowledge(self.oracle, LENT_ROUND, SETTLED, known)
        self.findings.forget_knowledge(self.oracle, parts=LENT_ROUND)


def left_to_judge(findings: Findings, oracle: str) -> set[int]:
    """Numbers of the states that the witnesses do not decide; all, if there are no witnesses."""
    return set(range(findings.state_count())) - findings.judged_in(oracle, LENT_ROUND)


def _claimed(claims: Snapshot | None, states: Sequence[StateRow]) -> set[Values]:
    """States that a derivation may prove more about than the plans do: as good as a plan is not yet fixed there."""
    if claims is None:
        return set()
    known = Knowledge.from_bytes(claims.content, len(states[0].state))
    return set(map(tuple, known.states.tolist()))


# -- what a worker does ---------------------------------------------------------------------------


def judge_by_witnesses(
    work: PlanningWork, payload: WitnessPayload, resources: Mapping[str, Any]
) -> Judged:
    """The runs from all states, and the verdicts on those that need no oracle."""
    bench = work.bench({})
    base: Snapshot | None = resources.get("base")
    if base is not None:
        bench.bounds.add_knowledge(work.unpack(base))
    states = [state_of(work.task, member.state) for member in payload.states]
    rows = values_of(states)
    enough = bench.bounds.graph.upper_bounds(rows)  # what the witnesses cost, before the runs count
    began = perf_counter()
    bench.run(rows)
    _refuse_contradictions(bench.bounds, states)
    seconds = (perf_counter() - began) / len(states)
    runs: list[RunRow] = []
    verdicts: list[VerdictRow] = []
    sets: dict[SetRow, None] = {}
    for place, (member, state) in enumerate(zip(payload.states, states, strict=True)):
        started = perf_counter()
        trace = bench.trace(state)
        named = bench.named(trace)
        run = run_row(member.number, trace, named, seconds, bench.permitted(state))
        runs.append(run)
        cost = cost_of(run, costly_some=bench.costly_some)
        verdict = read_verdict(bench.bounds, state, cost, bench.objective)
        sets.update(dict.fromkeys(work.sets_of(trace, verdict)))
        fixed = member.number in payload.bugs and _matches(verdict, float(enough[place]))
        if not verdict.is_decided and not (fixed and payload.settle_fixed):
            continue
        bench.check_run(verdict, trace, named, None)
        at = perf_counter() - began
        row = verdict_row(work.task, member.number, payload.oracle, LENT_ROUND, verdict, None, at)
        verdicts.append(row._replace(source=SOURCE, seconds=perf_counter() - started))
    return Judged(tuple(runs), tuple(verdicts), None, tuple(sets))


def _matches(verdict: Verdict, enough: float) -> bool:
    """Whether the policy reaches the goal at no higher cost than the witness."""
    cost = verdict.policy_cost
    return cost.reaches_goal is True and cost.lower_bound <= enough


def _refuse_contradictions(bounds: BoundStore, states: Sequence[State]) -> None:
    """Raise an error if a run costs less than a copied lower bound: then the other campaign is wrong."""
    lower, upper = bounds.graph.all_bounds()
    if not bool(np.any(np.asarray(lower) > np.asarray(upper))):
        return
    for state in states:
        low, high = bounds.graph.bounds(state)
        if low > high:
            where = ", ".join(bounds.task.facts(state))
            break
    else:
        where = "a state of a run"
    raise InputFormatError(
        f"the campaign to test again is wrong: a run costs less than its lower bound ({where:.200})",
        where=bounds.task.name,
        hint="'misstep replay DIR --full' says which of its lower bounds do not hold",
    )


def vouch(
    work: PlanningWork, payload: tuple[Snapshot, Snapshot], resources: Mapping[str, Any]
) -> Snapshot:
    """The copied plans and derivations; jumps have the value that the function of this campaign gives them."""
    base, claims = payload
    bounds = BoundStore(work.task)
    width = work.task.variable_count
    known = Knowledge.from_bytes(base.content, width)
    bounds.add_knowledge(known)
    given = states_of(known.states[: base.given])
    function = work.dominance_of(resources)
    if isinstance(function, DominanceFunction):
        claimed = Knowledge.from_bytes(claims.content, width)
        about = states_of(claimed.states)
        for source, operator, target, _ in claimed.edges.tolist():
            if operator >= 0:
                bounds.add_path(about[source], [operator])
            elif (value := function.value(about[target], about[source])) is not None:
                bounds.add_dominance(about[target], about[source], value)
    return snapshot(bounds, dict.fromkeys(given))


__all__ = [
    "VouchStage",
    "WitnessStage",
    "judge_by_witnesses",
    "left_to_judge",
    "vouch",
]
