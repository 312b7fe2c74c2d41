"""The work on a planning task: what each unit computes, from plain data to plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from misstep.campaigns.planning.payloads import (
    BlamePayload,
    Chunk,
    ChunkState,
    Judged,
    Pooled,
    PoolPayload,
    SettlePayload,
)
from misstep.campaigns.planning.rows import (
    cost_of,
    run_row,
    trace_of,
    verdict_row,
)
from misstep.campaigns.rows import FaultRow, Ids, RunRow, StateRow, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Snapshot
from misstep.campaigns.units import Result, Unit, Work
from misstep.campaigns.view import rank
from misstep.errors import MisstepError
from misstep.faults.blame import find_faults
from misstep.faults.distances import BoundedDistances, Distances, exact_distances
from misstep.fuzzing.fuzz import make_fuzzer
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.pool import Pool, PoolEntry
from misstep.oracles.bounds import BoundStore
from misstep.oracles.concrete import with_plan
from misstep.oracles.dominance import DominanceFunction, try_dominance
from misstep.oracles.grammar import needs_comparisons, read_oracle
from misstep.oracles.knowledge import Knowledge
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.oracles.oracle import Walk
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.verdict import Objective, Verdict
from misstep.oracles.witness import check_witness
from misstep.oracles.workbench import Workbench, read_verdict
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy, States
from misstep.runs.runner import PolicyRunner
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task


class _Base(NamedTuple):
    """What earlier rounds have found, ready to start from."""

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
        self.task = task
        self.settings = settings
        self.own = settings.of_planning
        self._source = policy
        self._batch_size = batch_size
        self._policy: Policy | None = None
        self._fuzzer: Fuzzer | None = None
        self._exact: Distances | str | None = None
        self._base: _Base | None = None
        self._dominance: tuple[bytes | str | None, Dominance | str | None] = (None, None)

    @cached_property
    def runner(self) -> PolicyRunner:
        # Not before it is needed: some units ask no policy, and starting one may take long.
        self._policy = load_policy(self._source, self.task)
        return PolicyRunner(self._policy, batch_size=self._batch_size)

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
        return 0 if self._policy is None else self.runner.policy_calls

    def _batches(self) -> Counter[int]:
        return Counter() if self._policy is None else self.runner.batches.copy()

    # -- the pool ---------------------------------------------------------------------------------

    def _pool(self, payload: PoolPayload, _: Mapping[str, Any]) -> Any:
        remarks: list[str] = []
        fuzzer = self._going_on(payload.known)
        if not payload.known:
            fuzzer.run_initial_state()
            initial = self.task.initial_state
            outcome = self.runner.trace(initial, self.settings.max_steps).outcome
            if outcome != "goal" and not self.task.is_goal(initial):
                text = f"the policy does not solve the initial state ({outcome})"
                left_alone = self.own.require_solved
                remarks.append(f"{text}: left alone" if left_alone else text)
                if left_alone:
                    return Pooled((), False, True), remarks, ()
        said = len(fuzzer.pool.remarks)
        stored = len(payload.known)
        began = last = perf_counter()
        limit = self.own.fuzzing.time_limit
        fresh: list[StateRow] = []
        finished = False
        while len(fresh) < payload.wanted and not finished:
            finished = not fuzzer.step()
            now = perf_counter()
            entries = fuzzer.pool.entries[stored + len(fresh) :]
            for place, entry in enumerate(entries, stored + len(fresh)):
                fresh.append(_state_row(place, entry, (now - last) / len(entries)))
            if entries:
                last = now
            if limit is not None and payload.spent + now - began > limit and not finished:
                fuzzer.pool.remark(f"the time limit of {limit:g} seconds ended the fuzzing")
                finished = True
        remarks += fuzzer.pool.remarks[said:]
        return Pooled(tuple(fresh), finished, False), remarks, ()

    def _going_on(self, known: Sequence[StateRow]) -> Fuzzer:
        """The fuzzer after these states. One that has to be built anew repeats the last iteration, which may have been
        cut short when the pool was full."""
        if self._fuzzer is not None and len(self._fuzzer.pool) == len(known):
            return self._fuzzer
        pool = None
        if known:
            last = known[-1].iteration
            kept = [row for row in known if row.number == 0 or row.iteration < last]
            entries = [
                PoolEntry(
                    state_of(self.task, row.state),
                    row.reference or 0,
                    row.walk,
                    row.iteration if row.number else -1,
                )
                for row in kept
            ]
            pool = Pool(entries, iterations=last if len(known) > 1 else 0)
        needs_policy = self.own.fuzzing.needs_policy
        self._fuzzer = make_fuzzer(
            self.task,
            self.runner if needs_policy else None,
            self.own.fuzzing,
            self.settings.seed,
            pool=pool,
            max_steps=self.settings.max_steps,
        )
        return self._fuzzer

    # -- dominance --------------------------------------------------------------------------------

    def _find_dominance(self, _: None, __: Mapping[str, Any]) -> Any:
        found = try_dominance(self.task)
        if isinstance(found, str):
            return found, [f"no dominance function: {found}"], ()
        return bytes(found.to_bytes()), list(found.remarks), ()

    def _dominance_of(self, resources: Mapping[str, Any]) -> Dominance | str | None:
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
                self.runner.recall(trace_of(self.task, state, member.run), member.run.named)
        groups = [[member] for member in chunk.states] if self.own.isolate else [list(chunk.states)]
        runs: list[RunRow] = []
        verdicts: list[VerdictRow] = []
        limits: list[str] = []
        knowledge = None
        for group in groups:
            knowledge = self._judge_group(chunk, group, resources, runs, verdicts, limits)
        return Judged(tuple(runs), tuple(verdicts), knowledge), (), limits

    def _judge_group(
        self,
        chunk: Chunk,
        members: Sequence[ChunkState],
        resources: Mapping[str, Any],
        runs: list[RunRow],
        verdicts: list[VerdictRow],
        limits: list[str],
    ) -> Snapshot | None:
        """Test states on one bound store; what it has found out, unless states are to be isolated."""
        bench = self._bench(resources)
        dominance = _function(self._dominance_of(resources))
        known: list[State] = []
        if not self.own.isolate:
            bench.pool, known = self._take_in(bench.bounds, chunk.oracle, resources.get("base"))
        before = bench.bounds.graph.upper_bounds(_rows(known)) if known else None
        began = perf_counter()
        items = [TestState(state_of(self.task, m.state), self._walk(m.walk)) for m in members]
        bench.run(_rows([item.state for item in items]))
        run_seconds = (perf_counter() - began) / len(items)
        loop = TestLoop(bench, read_oracle(chunk.oracle))
        marks = [perf_counter()]
        for _ in loop.run(items):
            marks.append(perf_counter())
        for place, (member, tested) in enumerate(zip(members, loop.settle(), strict=True)):
            verdict = tested.verdict
            bench.check(verdict)
            trace = bench.trace(verdict.state)
            runs.append(run_row(member.number, trace, bench.named(trace), run_seconds))
            # Also a verdict that was known from other states took its time.
            seconds = marks[place + 1] - marks[place]
            row = verdict_row(
                self.task,
                member.number,
                chunk.oracle,
                chunk.round,
                verdict,
                dominance,
                tested.at,
            )
            verdicts.append(row._replace(seconds=seconds))
            limits += [f"a search stopped at a limit: {limit}" for limit in verdict.limits]
            limits += verdict.problems
        if self.own.isolate:
            return None
        fresh = (
            bench.pool.states[len(known) :]
            if bench.pool is not None
            else [s for item in items for s in bench.trace(item.state).states]
        )
        if before is not None:  # what is known of the others is handed on where it is better now
            now = bench.bounds.graph.upper_bounds(_rows(known))
            fresh += [known[row] for row in np.flatnonzero(now < before)]
        return _snapshot(bench.bounds, dict.fromkeys(fresh))

    def _bench(self, resources: Mapping[str, Any]) -> Workbench:
        return Workbench(
            self.runner,
            objective=Objective(self.own.objective),
            max_steps=self.settings.max_steps,
            dominance=self._dominance_of(resources),
        )

    def _walk(self, operators: Ids | None) -> Walk | None:
        return None if operators is None else Walk(self.task.initial_state, operators)

    def _take_in(
        self, bounds: BoundStore, spec: str, base: Snapshot | None
    ) -> tuple[ComparisonPool | None, list[State]]:
        """Start from what earlier rounds have found: what compares its states, if anything, and the states."""
        dominance = _function(self._dominance[1])
        compares = dominance is not None and needs_comparisons(spec)
        if base is None:
            return ComparisonPool(bounds, dominance) if compares and dominance else None, []
        if self._base is None or self._base.snapshot is not base or self._base.oracle != spec:
            self._base = self._read_base(spec, base, dominance if compares else None)
        bounds.add_knowledge(self._base.known)
        pool = self._base.pool
        return None if pool is None else pool.copy(bounds), self._base.states

    def _read_base(self, spec: str, base: Snapshot, dominance: Dominance | None) -> _Base:
        """Read once for all units that start from it: comparing many states takes its time."""
        known = Knowledge.from_bytes(base.content, self.task.variable_count)
        rows = known.states[: base.given]
        if dominance is None:
            return _Base(spec, base, known, _states(rows), None)
        bounds = BoundStore(self.task)
        bounds.add_knowledge(known)
        pool = ComparisonPool(bounds, dominance)
        pool.seed(rows)
        return _Base(spec, base, known, pool.states, pool)

    def _settle(self, payload: SettlePayload, resources: Mapping[str, Any]) -> Any:
        """Merge what the chunks of a round have found, and read verdicts again, without asking the policy."""
        began = perf_counter()
        dominance = self._dominance_of(resources)
        bounds = BoundStore(self.task)
        pool, known_states = self._take_in(bounds, payload.oracle, resources.get("base"))
        given = dict.fromkeys(known_states)
        for part in payload.parts:
            known = Knowledge.from_bytes(part.content, self.task.variable_count)
            bounds.add_knowledge(known)
            states = _states(known.states[: part.given])
            given.update(dict.fromkeys(states))
            if pool is not None:
                pool.add(states)
        if pool is not None:
            pool.settle()
        verdicts = []
        for row, run, before in payload.read:
            now = self._read_again(bounds, row, run, before, dominance, perf_counter() - began)
            if now is not None:
                verdicts.append(now)
        return Judged((), tuple(verdicts), _snapshot(bounds, given)), (), ()

    def _read_again(
        self,
        bounds: BoundStore,
        row: StateRow,
        run: RunRow,
        before: VerdictRow,
        dominance: Dominance | str | None,
        at: float,
    ) -> VerdictRow | None:
        """A better verdict than before, or None."""
        state = state_of(self.task, row.state)
        objective = Objective(self.own.objective)
        verdict = read_verdict(bounds, state, cost_of(run), objective)
        function = _function(dominance)
        now = verdict_row(self.task, row.number, before.oracle, before.round, verdict, function, at)
        if rank(now) <= rank(before):
            return None
        self._check(verdict, trace_of(self.task, state, run), run.named, dominance)
        decided = before.verdict != "UNKNOWN"
        return now._replace(
            source=before.source if decided else None,
            expansions=before.expansions,
            evaluations=before.evaluations,
            seconds=before.seconds,
        )

    def _check(
        self, verdict: Verdict, trace: Any, named: int | None, dominance: Dominance | str | None
    ) -> None:
        function = None if verdict.derivation is None else _function(dominance)
        tables = None if function is None else function.independent()
        check_witness(self.task, trace, verdict, named, tables)

    # -- blaming ----------------------------------------------------------------------------------

    def _blame(self, payload: BlamePayload, resources: Mapping[str, Any]) -> Any:
        improved: list[VerdictRow] = []
        faults: list[FaultRow] = []
        self._dominance_of(resources)
        base = resources.get("base")
        known = (
            None if base is None else Knowledge.from_bytes(base.content, self.task.variable_count)
        )
        distances = self._distances(known)
        bench = None
        for row, run, verdict in payload.members:
            now = verdict
            if verdict.derivation is not None and not self._plan_proves_bug(run, verdict):
                if bench is None:
                    bench = self._bench(resources)
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
        """Exact ones on small tasks, which is quicker than many searches; elsewhere bounds."""
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

    def _plan_proves_bug(self, run: RunRow, verdict: VerdictRow) -> bool:
        """Whether the plan of a bug, where there is one, is better than the policy's run."""
        if verdict.plan is None:
            return False
        spent = cost_of(run)
        if Objective(self.own.objective) is Objective.GOAL:
            return spent.fails is True
        return sum(map(self.task.cost, verdict.plan)) < spent.lower_bound

    def _take_in_derivation(self, bounds: BoundStore, state: State, verdict: VerdictRow) -> None:
        """What a stored verdict rests on; where states are isolated, nothing else knows it."""
        for step in verdict.derivation or ():
            if "operator" in step:
                bounds.add_path(state, [step["operator"]])
                state = self.task.apply(state, step["operator"])
            else:
                dominated = state_of(self.task, tuple(step["state"]))
                bounds.add_dominance(dominated, state, step["value"])
                state = dominated

    def _concrete(
        self, bench: Workbench, row: StateRow, run: RunRow, before: VerdictRow
    ) -> VerdictRow | None:
        """The verdict with a plan, where a small search finds one."""
        began = perf_counter()
        state = state_of(self.task, row.state)
        trace = trace_of(self.task, state, run)
        self.runner.recall(trace, run.named)
        self._take_in_derivation(bench.bounds, state, before)
        verdict = bench.verdict_of(state)
        found = verdict if verdict.derivation is None else with_plan(bench, verdict)
        if not found.plan_proves_bug:
            return None
        bench.check(found)
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


def _snapshot(bounds: BoundStore, given: Mapping[State, None]) -> Snapshot:
    """What a store knows of these states."""
    states = list(given)
    width = bounds.task.variable_count
    rows = _rows(states) if states else np.empty((0, width), dtype=np.int32)
    return Snapshot(len(states), bounds.knowledge(rows).to_bytes())


def _function(dominance: Dominance | str | None) -> Dominance | None:
    return None if isinstance(dominance, str) else dominance


def _state_row(number: int, entry: PoolEntry, seconds: float) -> StateRow:
    reference = None if number == 0 else entry.reference
    iteration = max(entry.iteration, 0)
    return StateRow(
        number, entry.state.values, reference, entry.walk, iteration, number, 0, seconds
    )


def _states(rows: States) -> list[State]:
    return [State(row) for row in rows.tolist()]


def _rows(states: Sequence[State]) -> States:
    return np.array([state.values for state in states], dtype=np.int32)


__all__ = ["PlanningWork"]
