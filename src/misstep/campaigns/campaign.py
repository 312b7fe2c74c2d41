"""A campaign: pools are made, cut into chunks, tested, and stored, so that it can be stopped and resumed anywhere.

The unit of work is a chunk: a few pool states that share a bound store. What comes out of it depends on the task, the
policy, the settings and the chunk alone, so it does not matter which process works on it, in which order, or
whether the campaign was killed in between. A chunk is stored as a whole or not at all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, time
from typing import Any

from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.records import Event, PoolRecord
from misstep.campaigns.store import (
    POOL_FINISHED,
    TASK_FINISHED,
    CampaignStore,
    begin_store,
    open_store,
)
from misstep.campaigns.testing import Job, Tested, judge_chunk
from misstep.errors import InputFormatError, Interrupted, ToolError, UsageError
from misstep.faults.explain import follow
from misstep.fuzzing.fuzz import make_fuzzer
from misstep.fuzzing.pool import Pool, PoolEntry
from misstep.oracles.dominance import DominanceFunction, try_dominance
from misstep.oracles.grammar import needs_dominance, read_oracle
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task

# phase, done, of how many (None: unknown), bugs so far
Progress = Callable[[str, int, int | None, int], None]


@dataclass
class Summary:
    """Numbers of a campaign, over all its tasks."""

    tasks: int = 0
    pool: int = 0
    tested: int = 0
    solved: int = 0
    bugs: dict[str, int] = field(
        default_factory=lambda: {"total": 0, "fails": 0, "costly": 0, "unclassified": 0}
    )
    optimal: int = 0
    unknown: int = 0
    errors: int = 0  # states from which the policy crashed or answered nonsense
    policy_calls: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    by_task: dict[str, dict[str, int]] = field(default_factory=dict)


class Campaign:
    """Runs what is left to do of a campaign."""

    def __init__(
        self,
        store: CampaignStore,
        settings: CampaignSettings,
        *,
        jobs: int = 1,
        batch_size: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.jobs = jobs
        self.batch_size = batch_size
        self.report = progress or (lambda *_: None)
        self.seconds = {"fuzzing": 0.0, "dominance": 0.0, "testing": 0.0}
        self.policy_calls = 0
        self.bugs = 0

    def run(self, tasks: Sequence[Task]) -> Summary:
        """Work until all tasks are done. Interrupted, it keeps the chunks that are finished."""
        known = self.store.task_names()
        if known and set(known) != {task.name for task in tasks}:
            raise UsageError(
                "the campaign has other tasks",
                where=str(self.store.folder),
                expected=", ".join(known),
            )
        if known:
            self._know(tasks)
        for task in tasks:
            if known and self.store.last_unit(task.name).finished:
                continue
            policy = load_policy(self.settings.policy, task)
            try:
                self._know(
                    tasks
                )  # not before there is a policy: a mistyped one leaves nothing behind
                self._run_task(task, policy)
            finally:
                policy.close()
        return self.summary()

    def _know(self, tasks: Sequence[Task]) -> None:
        with self.store.unit():  # all or none
            for task in tasks:
                self.store.add_task(task)

    def _run_task(self, task: Task, policy: Policy) -> None:
        self.store.set_policy(self.settings.policy, policy.digest)
        runner = PolicyRunner(policy, batch_size=self.batch_size)
        if self._left_alone(task, runner):
            return
        began = perf_counter()
        entries = self._make_pool(task, runner)
        self.seconds["fuzzing"] += perf_counter() - began
        began = perf_counter()
        tables = self._dominance(task)
        self.seconds["dominance"] += perf_counter() - began
        began = perf_counter()
        self._test(task, runner, entries, tables)
        self.seconds["testing"] += perf_counter() - began
        self.policy_calls += runner.policy_calls
        self._event(TASK_FINISHED, task)

    def _left_alone(self, task: Task, runner: PolicyRunner) -> bool:
        outcome = runner.trace(task.initial_state, self.settings.max_steps).outcome
        if outcome == "goal" or task.is_goal(task.initial_state):
            return False
        text = f"the policy does not solve the initial state ({outcome})"
        if not self.store.pool(task.name):  # else it was said before the campaign was interrupted
            self._event("remark", task, text)
        if self.settings.require_solved:
            self._event(TASK_FINISHED, task, f"{text}: left alone")
        return self.settings.require_solved

    # -- the pool ---------------------------------------------------------------------------------

    def _make_pool(self, task: Task, runner: PolicyRunner) -> list[PoolEntry]:
        known = _entries(task, self.store.pool(task.name))
        if self.store.last_unit(task.name).pool_finished:
            return known
        pool = Pool(known, iterations=known[-1].iteration + 1) if known else None
        fuzzer = make_fuzzer(
            task,
            runner,
            self.settings.fuzzing,
            self.settings.seed,
            pool=pool,
            max_steps=self.settings.max_steps,
        )
        stored = len(known)
        began = perf_counter()
        limit = self.settings.fuzzing.time_limit
        while True:
            fresh = fuzzer.pool.entries[stored:]
            if fresh:
                self.store.add_pool(
                    *(_pool_record(task, stored + i, entry) for i, entry in enumerate(fresh))
                )
                stored += len(fresh)
                self.report(f"{task.name}: fuzzing", stored, fuzzer.settings.max_states, self.bugs)
            if limit is not None and perf_counter() - began > limit:
                fuzzer.pool.remark(f"the time limit of {limit:g} seconds ended the fuzzing")
                break
            if not fuzzer.step():
                break
        for text in fuzzer.pool.remarks:
            self._event("remark", task, text)
        self._event(POOL_FINISHED, task)
        return fuzzer.pool.entries

    # -- testing ----------------------------------------------------------------------------------

    def _dominance(self, task: Task) -> bytes | str | None:
        """The dominance function, or why there is none; None if no oracle asks for one. Computed once, and stored."""
        if not needs_dominance(self.settings.oracle):
            return None
        known = self.store.dominance(task.name)
        if known is None:
            self.report(f"{task.name}: dominance", 0, None, self.bugs)
            found = try_dominance(task)
            if isinstance(found, str):
                known, remarks = (None, found), [f"no dominance function: {found}"]
            else:
                known, remarks = (found.to_bytes(), None), list(found.remarks)
            with self.store.unit():
                self.store.set_dominance(task.name, *known)
                for text in remarks:
                    self._event("remark", task, text)
        tables, problem = known
        return problem if tables is None else tables

    def _test(
        self,
        task: Task,
        runner: PolicyRunner,
        entries: list[PoolEntry],
        tables: bytes | str | None,
    ) -> None:
        done = {verdict.state for verdict in self.store.verdicts(task.name)}
        size = self.settings.chunk
        chunks = []
        for first in range(0, len(entries), size):
            # Goal states are in nobody's way; there is nothing to decide in them.
            chunk = [e for e in entries[first : first + size] if not task.is_goal(e.state)]
            if any(entry.state.values not in done for entry in chunk):
                chunks.append([Job.of(entries, entry) for entry in chunk])
        count = len(done)
        for results in self._results(task, runner, chunks, tables):
            with self.store.unit():
                for tested in results:
                    self.store.add_tested(tested.run, tested.verdict)
                    for text in tested.remarks:
                        self._event("limit", task, text)
            count += len(results)
            self.bugs += sum(tested.verdict.verdict == "BUG" for tested in results)
            self.report(f"{task.name}: testing", count, len(entries), self.bugs)

    def _results(
        self,
        task: Task,
        runner: PolicyRunner,
        chunks: list[list[Job]],
        tables: bytes | str | None,
    ) -> Iterator[list[Tested]]:
        if self.jobs == 1 or len(chunks) < 2:
            dominance = read_dominance(task, tables)
            for chunk in chunks:
                yield judge_chunk(runner, self.settings, chunk, dominance)
            return
        # New processes instead of forks: threads and connections of a policy do not survive a fork.
        context = multiprocessing.get_context("spawn")
        workers = min(self.jobs, len(chunks))
        executor = ProcessPoolExecutor(
            workers, context, _start_worker, (task, self.settings, self.batch_size, tables)
        )
        try:
            with _without_interrupts():
                futures: list[Future[tuple[list[Tested], int]]] = [
                    executor.submit(_work, chunk) for chunk in chunks
                ]
            for future in as_completed(futures):
                results, calls = future.result()
                self.policy_calls += calls
                yield results
        except BrokenProcessPool as error:
            raise ToolError(
                "a process that tests ended by itself",
                where=task.name,
                hint="the policy may have ended it, or there was too little memory; --jobs 1 tells more",
            ) from error
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    def _event(self, kind: str, task: Task, text: str = "") -> None:
        self.store.add_event(Event(time(), kind, text, {}, task.name))

    def summary(self) -> Summary:
        """From the records alone, but for what was spent in this session."""
        total = summary_of(self.store)
        total.policy_calls = self.policy_calls
        total.seconds = {name: round(spent, 3) for name, spent in self.seconds.items()}
        return total


def start_store(folder: Path, settings: CampaignSettings, *, resume: bool = False) -> CampaignStore:
    """The campaign with these settings; one that exists only to `resume`."""
    read_oracle(settings.oracle)  # before there is anything that a corrected command would meet
    return begin_store(folder, settings.as_dict(), resume=resume)


def resume_store(folder: Path) -> tuple[CampaignStore, CampaignSettings, list[Task]]:
    """A campaign that was begun, its settings and its tasks."""
    store = open_store(folder)
    try:
        settings = CampaignSettings.from_dict(store.config, str(store.path))
        tasks = [store.task(name) for name in store.task_names()]
        if not tasks:
            raise InputFormatError(
                "the campaign ended before it knew its tasks",
                where=str(folder),
                hint="start it again without --resume",
            )
    except BaseException:
        store.close()
        raise
    return store, settings, tasks


def summary_of(store: CampaignStore) -> Summary:
    """The numbers of what is stored."""
    total = Summary()
    for name in store.task_names():
        total.tasks += 1
        own = dict.fromkeys(("pool", "tested", "solved", "bugs", "optimal", "unknown"), 0)
        own["pool"] = len(store.pool(name))
        for tested in store.tested(name):
            own["tested"] += 1
            own["solved"] += tested.outcome == "goal"
            own["optimal"] += tested.verdict == "OPTIMAL"
            own["unknown"] += tested.verdict == "UNKNOWN"
            total.errors += tested.outcome == "error"
            if tested.is_bug and tested.kind is not None:
                own["bugs"] += 1
                total.bugs["total"] += 1
                total.bugs[tested.kind] += 1
        total.by_task[name] = own
        total.pool += own["pool"]
        total.tested += own["tested"]
        total.solved += own["solved"]
        total.optimal += own["optimal"]
        total.unknown += own["unknown"]
        messages = [run.message for run in store.runs(name) if run.outcome == "error"]
        if messages:
            text = messages[0] or "no message"
            total.remarks.append(f"{name}: the policy failed in {len(messages)} runs: {text}")
    said = Counter(
        f"{event.task}: {event.text}"
        for event in store.events()
        if event.kind in ("remark", "limit")
    )
    total.remarks += [
        text if times == 1 else f"{text} ({times} times)" for text, times in said.items()
    ]
    return total


def _entries(task: Task, records: Sequence[PoolRecord]) -> list[PoolEntry]:
    """The pool as it was. Names of operators need not be unique, so walks are followed."""
    entries: list[PoolEntry] = []
    for record in records:
        state = State(list(record.state))
        if record.reference is None:
            entries.append(PoolEntry(state, 0, (), -1))
            continue
        start = entries[record.reference].state
        walked = follow(task, start, record.walk, "", 0, end=state)
        entries.append(
            PoolEntry(state, record.reference, tuple(walked.operators), record.iteration)
        )
    return entries


def _pool_record(task: Task, index: int, entry: PoolEntry) -> PoolRecord:
    return PoolRecord(
        task=task.name,
        index=index,
        state=entry.state.values,
        reference=None if index == 0 else entry.reference,
        walk=tuple(task.operator_name(op) for op in entry.walk),
        iteration=max(entry.iteration, 0),
    )


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that begin here inherit that Ctrl-C waits until they can handle it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_worker: dict[str, Any] = {}


def _start_worker(
    task: Task, settings: CampaignSettings, batch_size: int | None, tables: bytes | str | None
) -> None:
    # Ctrl-C reaches all processes; those that only test have nothing to save and nothing to say.
    signal.signal(signal.SIGINT, lambda *_: os._exit(Interrupted.exit_code))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    policy = load_policy(settings.policy, task)
    _worker["dominance"] = read_dominance(task, tables)
    _worker["runner"] = PolicyRunner(policy, batch_size=batch_size)
    _worker["settings"] = settings


def _work(chunk: list[Job]) -> tuple[list[Tested], int]:
    """What came out, and how often the policy was asked."""
    runner: PolicyRunner = _worker["runner"]
    before = runner.policy_calls
    results = judge_chunk(runner, _worker["settings"], chunk, _worker["dominance"])
    return results, runner.policy_calls - before


def read_dominance(task: Task, tables: bytes | str | None) -> Dominance | str | None:
    return DominanceFunction.from_bytes(task, tables) if isinstance(tables, bytes) else tables


__all__ = ["Campaign", "Progress", "Summary", "resume_store", "start_store", "summary_of"]
