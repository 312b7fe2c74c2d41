"""The work on a planning task: each unit computes plain data from plain data."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from misstep.campaigns.confirm import AskPayload, answers_of
from misstep.campaigns.planning.confirm import ask_again, contradiction, run_again, weigh_runs
from misstep.campaigns.planning.payloads import (
    BlamePayload,
    Chunk,
    ChunkState,
    Judged,
    Pooled,
    PoolPayload,
    SettlePayload,
)
from misstep.campaigns.planning.pooling import fresh_states, going_on, lost_bias
from misstep.campaigns.planning.rows import (
    Unpacking,
    cost_of,
    plan_proves_bug,
    run_row,
    runs_of,
    set_row,
    snapshot,
    states_of,
    take_in_derivation,
    trace_of,
    values_of,
    verdict_row,
)
from misstep.campaigns.planning.witnesses import judge_by_witnesses, vouch
from misstep.campaigns.rows import (
    ContradictionRow,
    FaultRow,
    Ids,
    PermittedRow,
    RunRow,
    SetRow,
    StateRow,
    VerdictRow,
)
from misstep.campaigns.settings import Settings
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Snapshot
from misstep.campaigns.units import Result, Unit, Work
from misstep.campaigns.view import rank
from misstep.errors import MisstepError
from misstep.faults.blame import find_faults
from misstep.faults.distances import BoundedDistances, Distances, exact_distances
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.oracles.bounds import BoundStore
from misstep.oracles.concrete import with_plan
from misstep.oracles.dominance import DominanceFunction, try_dominance
from misstep.oracles.grammar import needs_comparisons, needs_dominance, read_oracle
from misstep.oracles.knowledge import Knowledge
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.oracles.oracle import Walk
from misstep.oracles.permitted import sets_behind
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.verdict import Objective, Verdict
from misstep.oracles.witness import check_witness
from misstep.oracles.workbench import Workbench, read_verdict
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, TIMED_OUT, Policy
from misstep.runs.make import make_runner
from misstep.runs.permitted import PermittedRuns, WorstCase
from misstep.runs.runner import PolicyRunner, Trace
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task

NOTHING_KNOWN = PermittedRow(closed=False, least=0, most=None)


class _Base(NamedTuple):
    """The results of earlier rounds, ready for use."""

    oracle: str
    snapshot: Snapshot
    known: Knowledge
    states: list[State]  # that it is about
    pool: ComparisonPool | None  # of these states, to be copied


class PlanningWork(Work):
    """A planning task and its policy."""

    def __init__(
        self, task: AnyTask, settings: Settings, policy: Any, batch_size: int | None
    ) -> None:
        assert isinstance(task, Task)
        # A policy object from the user is bound to its own task object and cannot work with a copy.
        is_bound = isinstance(policy, Policy) and policy.task.digest == task.digest
        self.task: Task = policy.task if is_bound else task
        self.settings = settings
        self.own = settings.of_planning
        self._source = policy
        self._batch_size = batch_size
        self._policy: Policy | None = None
        self._fuzzer: Fuzzer | None = None
        self._exact: Distances | str | None = None
        self._base: _Base | None = None
        self.unpack = Unpacking(self.task)
        self._dominance: tuple[bytes | str | None, Dominance | str | None] = (None, None)
        self._asked_again = 0
        self._contradictions: list[ContradictionRow] = []  # of the unit under way

    @cached_property
    def runner(self) -> PolicyRunner:
        # Load it only when needed: some units ask no policy, and starting one may take long.
        self._policy = load_policy(self._source, self.task)
        return make_runner(
            self._policy,
            batch_size=self._batch_size,
            revisit=self.own.revisit,
            permitted_limit=self.own.permitted_limit,
            costly_some=self.own.costly_some,
            risk=self.own.risk,
        )

    def close(self) -> None:
        if self._policy is not None:
            self._policy.close()

    def do(self, unit: Unit, resources: Mapping[str, Any]) -> Result:
        began = perf_counter()
        calls, batches = self._calls(), self._batches()
        jobs: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
            "pool": self._pool,
            "dominance": self._find_dominance,
            "judge": self._judge,
            "settle": self._settle,
            "blame": self._blame,
            **dict.fromkeys(("ask", "sample", "often"), self._ask_again),
            "weigh": lambda payload, _: (weigh_runs(self.task, payload), (), ()),
            "witness": lambda payload, own: (judge_by_witnesses(self, payload, own), (), ()),
            "vouch": lambda payload, own: (vouch(self, payload, own), (), ()),
        }
        try:
            content, remarks, limits = jobs[unit.job](unit.payload, resources)
        except MisstepError as error:
            error.where = error.where or self.task.name
            raise
        seconds = perf_counter() - began
        asked, sizes = self._calls() - calls, dict(self._batches() - batches)
        return Result(content, seconds, asked, tuple(remarks), tuple(limits), sizes)

    def _calls(self) -> int:
        return 0 if self._policy is None else self.runner.policy_calls + self._asked_again

    def _ask_again(self, payload: AskPayload, _: Mapping[str, Any]) -> Any:
        runner, policy = self.runner, self._policy
        assert policy is not None
        if getattr(runner, "by_start", False):
            make = partial(type(runner), policy)  # one that remembers nothing
            asked = run_again(self.task, make, payload, self.settings.max_steps)
        else:
            asked = ask_again(policy, payload)
        self._asked_again += asked.decisions
        return asked, (), ()

    def _batches(self) -> Counter[int]:
        return Counter() if self._policy is None else self.runner.batches.copy()

    # -- the pool ---------------------------------------------------------------------------------

    def _pool(self, payload: PoolPayload, _: Mapping[str, Any]) -> Any:
        remarks: list[str] = []
        if self._fuzzer is None or len(self._fuzzer.pool) != len(payload.known):
            self._fuzzer = going_on(self.task, lambda: self.runner, self.settings, payload.known)
        fuzzer = self._fuzzer
        if not payload.known:
            fuzzer.run_initial_state()
            initial = self.task.initial_state
            outcome = self.runner.trace(initial, self.settings.max_steps).outcome
            if outcome != "goal" and not self.task.is_goal(initial):
                text = f"the policy does not solve the initial state ({outcome})"
                # A policy that crashes or is too slow is tested all the same: these errors must be counted.
                left_alone = self.own.require_solved and outcome not in ("error", "timeout")
                remarks.append(f"{text}: left alone" if left_alone else text)
                if left_alone:
                    return Pooled((), False, True), remarks, ()
            if (lost := lost_bias(self.settings, lambda: self.runner)) is not None:
                remarks.append(lost)
        said = len(fuzzer.pool.remarks)
        pooled = fresh_states(fuzzer, payload, self.own.fuzzing.time_limit)
        remarks += fuzzer.pool.remarks[said:]
        return pooled, remarks, ()

    # -- dominance --------------------------------------------------------------------------------

    def _find_dominance(self, oracle: str, _: Mapping[str, Any]) -> Any:
        if not needs_dominance(oracle, self.task):
            return None, (), ()
        found = try_dominance(self.task)
        if isinstance(found, str):
            return found, [f"no dominance function: {found}"], ()
        return zlib.compress(found.to_bytes()), list(found.remarks), ()

    def dominance_of(self, resources: Mapping[str, Any]) -> Dominance | str | None:
        tables = resources.get("dominance")
        if self._dominance[0] is not tables:
            read = (
                DominanceFunction.from_bytes(self.task, tables)
                if isinstance(tables, bytes)
                else tables
            )
            self._dominance = tables, read
        return self._dominance[1]

    # -- judging ----------------------------------------------------------------------------------

    def _judge(self, chunk: Chunk, resources: Mapping[str, Any]) -> Any:
        for member in chunk.states:
            if member.run is not None:
                state = state_of(self.task, member.state)
                self._recall(trace_of(self.task, state, member.run), member.run)
        groups = [[member] for member in chunk.states] if self.own.isolate else [list(chunk.states)]
        runs: list[RunRow] = []
        verdicts: list[VerdictRow] = []
        limits: list[str] = []
        sets: dict[SetRow, None] = {}
        knowledge = None
        for group in groups:
            knowledge = self._judge_group(chunk, group, resources, runs, verdicts, limits, sets)
        said, self._contradictions = tuple(self._contradictions), []
        return Judged(tuple(runs), tuple(verdicts), knowledge, tuple(sets), said), (), limits

    def _recall(self, trace: Trace, run: RunRow) -> None:
        self.runner.recall(trace, run.named)
        known, policy = runs_of(run), self.runner.policy
        if known is not None and isinstance(policy, WorstCase):
            policy.recall(trace.states[0], known)

    def _judge_group(
        self,
        chunk: Chunk,
        members: Sequence[ChunkState],
        resources: Mapping[str, Any],
        runs: list[RunRow],
        verdicts: list[VerdictRow],
        limits: list[str],
        sets: dict[SetRow, None],
    ) -> Snapshot | None:
        """Test states on one bound store; returns its knowledge, unless states are isolated."""
        bench = self.bench(resources)
        known: list[State] = []
        if not self.own.isolate:
            bench.pool, known = self._take_in(bench.bounds, chunk.oracle, resources.get("base"))
        before = bench.bounds.graph.upper_bounds(values_of(known)) if known else None
        began = perf_counter()
        items = [TestState(state_of(self.task, m.state), self._walk(m.walk)) for m in members]
        bench.run(values_of([item.state for item in items]))
        run_seconds = (perf_counter() - began) / len(items)
        loop = TestLoop(bench, read_oracle(chunk.oracle))
        marks = [perf_counter()]
        for _ in loop.run(items):
            marks.append(perf_counter())
        for place, (member, tested) in enumerate(zip(members, loop.settle(), strict=True)):
            verdict = tested.verdict
            trace = bench.trace(verdict.state)
            facts = bench.permitted(verdict.state)
            run = run_row(member.number, trace, bench.named(trace), run_seconds, facts)
            kept = member.run or run
            if self._is_as_before(bench, verdict, trace, run, member, sets):
                sets.update(dict.fromkeys(self.sets_of(trace, verdict)))
            else:
                if member.run is None and run.permitted is not None:
                    # The graph was explored anew, and the run follows what was recalled.
                    kept = run._replace(permitted=NOTHING_KNOWN)
                state, cost = verdict.state, cost_of(kept, costly_some=self.own.costly_some)
                verdict = read_verdict(BoundStore(self.task), state, cost, bench.objective)
            runs.append(kept)
            row = verdict_row(
                self.task,
                member.number,
                chunk.oracle,
                chunk.round,
                verdict,
                _function(bench.dominance) if verdict.derivation else None,
                tested.at,
            )
            # A verdict that follows from other states takes time, too.
            verdicts.append(row._replace(seconds=marks[place + 1] - marks[place]))
            limits += [f"a search stopped at a limit: {limit}" for limit in verdict.limits]
            limits += verdict.problems
        if self.own.isolate:
            return None
        fresh = (
            bench.pool.states[len(known) :]
            if bench.pool is not None
            else [s for item in items for s in bench.trace(item.state).states]
        )
        if before is not None:  # return only what is better now
            now = bench.bounds.graph.upper_bounds(values_of(known))
            fresh += [known[row] for row in np.flatnonzero(now < before)]
        return snapshot(bench.bounds, dict.fromkeys(fresh))

    def sets_of(self, trace: Trace, verdict: Verdict) -> Iterator[SetRow]:
        """What a set-valued policy permits in the states that the verdict rests on."""
        if isinstance(self.runner.policy, WorstCase):
            yield from map(set_row, sets_behind(self.runner.policy, trace, verdict))

    def bench(self, resources: Mapping[str, Any]) -> Workbench:
        return Workbench(
            self.runner,
            objective=Objective(self.own.objective),
            max_steps=self.settings.max_steps,
            dominance=self.dominance_of(resources),
        )

    def _walk(self, operators: Ids | None) -> Walk | None:
        return None if operators is None else Walk(self.task.initial_state, operators)

    def _take_in(
        self, bounds: BoundStore, spec: str, base: Snapshot | None
    ) -> tuple[ComparisonPool | None, list[State]]:
        """Start from the results of earlier rounds; returns their comparison pool, if any, and their states."""
        dominance = _function(self._dominance[1])
        compares = dominance is not None and needs_comparisons(spec, self.task)
        if base is None:
            return ComparisonPool(bounds, dominance) if compares and dominance else None, []
        if self._base is None or self._base.snapshot is not base or self._base.oracle != spec:
            self._base = self._read_base(spec, base, dominance if compares else None)
        bounds.add_knowledge(self._base.known)
        pool = self._base.pool
        return None if pool is None else pool.copy(bounds), self._base.states

    def _read_base(self, spec: str, base: Snapshot, dominance: Dominance | None) -> _Base:
        """Read the base once for all units that start from it, because comparing many states takes long."""
        known = Knowledge.from_bytes(base.content, self.task.variable_count)
        rows = known.states[: base.given]
        if dominance is None:
            return _Base(spec, base, known, states_of(rows), None)
        bounds = BoundStore(self.task)
        bounds.add_knowledge(known)
        pool = ComparisonPool(bounds, dominance)
        pool.seed(rows)
        return _Base(spec, base, known, pool.states, pool)

    def _settle(self, payload: SettlePayload, resources: Mapping[str, Any]) -> Any:
        """Merge the results of the chunks of a round and compute verdicts again, without running the policy.

        A set-valued policy is asked for its permitted operators if a new verdict rests on them.
        """
        began = perf_counter()
        dominance = self.dominance_of(resources)
        bounds = BoundStore(self.task)
        pool, known_states = self._take_in(bounds, payload.oracle, resources.get("base"))
        given = dict.fromkeys(known_states)
        for part in payload.parts:
            known = Knowledge.from_bytes(part.content, self.task.variable_count)
            bounds.add_knowledge(known)
            states = states_of(known.states[: part.given])
            given.update(dict.fromkeys(states))
            if pool is not None:
                pool.add(states)
        if pool is not None:
            pool.settle()
        verdicts = []
        sets: dict[SetRow, None] = {}
        for row, run, before in payload.read:
            at = perf_counter() - began
            now = self._read_again(bounds, row, run, before, dominance, at, sets)
            if now is not None:
                verdicts.append(now)
        said, self._contradictions = tuple(self._contradictions), []
        return Judged((), tuple(verdicts), snapshot(bounds, given), tuple(sets), said), (), ()

    def _read_again(
        self,
        bounds: BoundStore,
        row: StateRow,
        run: RunRow,
        before: VerdictRow,
        dominance: Dominance | str | None,
        at: float,
        sets: dict[SetRow, None],
    ) -> VerdictRow | None:
        """A better verdict than before, or None."""
        state = state_of(self.task, row.state)
        objective = Objective(self.own.objective)
        cost = cost_of(run, costly_some=self.own.costly_some)
        verdict = read_verdict(bounds, state, cost, objective)
        function = _function(dominance)
        now = verdict_row(self.task, row.number, before.oracle, before.round, verdict, function, at)
        if rank(now) <= rank(before):
            return None
        trace = trace_of(self.task, state, run)
        try:
            self._check(verdict, trace, run, dominance)
        except MisstepError:
            if self._agrees(trace, run, runs_of(run)):
                raise
            self._note_change(trace, run, sets)
            return None
        if run.permitted is not None:
            sets.update(dict.fromkeys(self.sets_of(trace, verdict)))
        decided = before.verdict != "UNKNOWN"
        return now._replace(
            source=before.source if decided else None,
            expansions=before.expansions,
            evaluations=before.evaluations,
            seconds=before.seconds,
        )

    def _is_as_before(
        self,
        bench: Workbench,
        verdict: Verdict,
        trace: Trace,
        run: RunRow,
        member: ChunkState,
        sets: dict[SetRow, None],
    ) -> bool:
        """Check a verdict; false if it rests on what the policy did in another session and does not do any more."""
        before = member.run
        if before and (before.operators, before.outcome) != (run.operators, run.outcome):
            other = contradiction(self.task, member.state, before, run)
            self._contradictions += [] if other is None else [other]
            return False
        try:
            bench.check(verdict)
        except MisstepError:
            # The run here follows what was recalled of earlier runs, also of those from other states.
            if self._agrees(trace, run, None if before is None else runs_of(before)):
                raise
            self._note_change(trace, run, sets)
            return False
        return True

    def _agrees(self, trace: Trace, run: RunRow, facts: PermittedRuns | None) -> bool:
        """Whether a set-valued policy chooses here what it chose in the process that ran it."""
        policy = self.runner.policy
        if not isinstance(policy, WorstCase):
            return True
        late = [TIMED_OUT] if run.outcome == "timeout" else []
        # The trace follows what was recalled, so that it may end as the run did.
        return policy.agrees(trace.states, [*answers_of(run), *late], facts)

    def _note_change(self, trace: Trace, run: RunRow, sets: dict[SetRow, None]) -> None:
        """What a set-valued policy says now along a run that it does not permit any more."""
        policy = self.runner.policy
        assert isinstance(policy, WorstCase)
        sets.update(dict.fromkeys(map(set_row, policy.sets(trace.states))))
        answers = answers_of(run)
        now = policy.decide(values_of(trace.states[: max(1, len(answers))])).operators.tolist()
        for state, first, second in zip(trace.states, answers, now, strict=False):
            if second in (FAILED, TIMED_OUT) and second != first:
                self._contradictions.append(ContradictionRow(state.values, first, second, 2))

    def _check(
        self, verdict: Verdict, trace: Trace, run: RunRow, dominance: Dominance | str | None
    ) -> None:
        function = None if verdict.derivation is None else _function(dominance)
        tables = None if function is None else function.independent()
        comes_back = trace.outcome != "loop" and len(set(trace.states)) < len(trace.states)
        if run.permitted is None and not comes_back:  # then the policy need not be loaded
            check_witness(self.task, trace, verdict, run.named, tables)
            return
        self._recall(trace, run)
        Workbench(self.runner).check_run(verdict, trace, run.named, tables)

    # -- blaming ----------------------------------------------------------------------------------

    def _blame(self, payload: BlamePayload, resources: Mapping[str, Any]) -> Any:
        improved: list[VerdictRow] = []
        faults: list[FaultRow] = []
        self.dominance_of(resources)
        base = resources.get("base")
        known = None if base is None else self.unpack(base)
        distances = self._distances(known)
        bench = None
        for row, run, verdict in payload.members:
            now = verdict
            if verdict.derivation is not None and not plan_proves_bug(
                self.task, self.own, run, verdict
            ):
                if bench is None:
                    bench = self.bench(resources)
                    if known is not None:
                        bench.bounds.add_knowledge(known)
                found = self._concrete(bench, row, run, verdict)
                if found is not None:
                    now = found
                    improved.append(now)
            if distances is None or row.number in payload.blamed:
                continue
            trace = trace_of(self.task, state_of(self.task, row.state), run)
            distances.allow(self.settings.fault_budget or 0)
            for fault in find_faults(trace, now.plan, distances):
                faults.append(FaultRow(row.number, *fault))
        return (tuple(improved), tuple(faults)), (), ()

    def _distances(self, known: Knowledge | None) -> Distances | None:
        """Exact distances on small tasks, where they are faster than many searches; otherwise bounds."""
        if self.settings.fault_budget is None:
            return None
        if self._exact is None:
            self._exact = exact_distances(self.task) or "too large"
        if not isinstance(self._exact, str):
            return self._exact
        distances = BoundedDistances(self.task)
        if known is not None:
            distances.store.add_knowledge(known)
        return distances

    def _concrete(
        self, bench: Workbench, row: StateRow, run: RunRow, before: VerdictRow
    ) -> VerdictRow | None:
        """The verdict with a plan, if a small search finds one."""
        began = perf_counter()
        state = state_of(self.task, row.state)
        trace = trace_of(self.task, state, run)
        self._recall(trace, run)
        take_in_derivation(self.task, bench.bounds, state, before)
        verdict = bench.verdict_of(state)
        own = bench.trace(state)
        if contradiction(self.task, row.state, run, run_row(0, own, bench.named(own), 0.0)):
            return (
                None  # the run in this process differs, so the verdict would be about another run
            )
        found = verdict if verdict.derivation is None else with_plan(bench, verdict)
        if not found.plan_proves_bug:
            return None
        try:
            bench.check(found)
        except MisstepError:
            if self._agrees(own, run, runs_of(run)):
                raise
            return None  # a set-valued policy permits otherwise in this process
        now = verdict_row(
            self.task,
            row.number,
            before.oracle,
            before.round,
            found,
            _function(bench.dominance),
            before.at,
        )
        effort = found.effort
        return now._replace(
            source=before.source,
            expansions=before.expansions + effort.expansions,
            evaluations=before.evaluations + effort.evaluations,
            seconds=before.seconds + perf_counter() - began,
            at=before.at,
        )


def _function(dominance: Dominance | str | None) -> Dominance | None:
    return None if isinstance(dominance, str) else dominance


__all__ = ["PlanningWork"]
