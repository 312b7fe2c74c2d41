"""The campaign engine gives units of work to workers and stores their results.

Only the coordinator, this process, writes. It asks each task for its next round of units, gives units to idle workers,
and stores results in the order of the round; those that follow each other within a moment are committed together
(transactions.py). Work on another task begins as soon as a worker would be idle. Tasks that are expected to take long
start first, and units of the task with most work left go first. No record depends on which worker did what and when, so
an interrupted campaign can continue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from misstep.campaigns.confirm import Asking
from misstep.campaigns.costs import Costs, task_sizes
from misstep.campaigns.limits import Limits, Progress, TaskProgress
from misstep.campaigns.models.stages import model_stages
from misstep.campaigns.planning.stages import blame_early, forget_early_blame, planning_stages
from misstep.campaigns.records import Record
from misstep.campaigns.settings import PLANNING, Settings
from misstep.campaigns.tables import CONFIRM, LIMIT, REMARK, Content, Findings
from misstep.campaigns.uninterrupted import listening
from misstep.campaigns.units import Result, Stage, Unit
from misstep.campaigns.view import read_records
from misstep.campaigns.workers import Lost, Outcome, Processes, ThisProcess, Worker, Workers
from misstep.errors import MisstepError

COUNTED = 1000  # verdicts that may be read for each unit, to tell how many bugs there are
JUDGE = "judge "  # how the names of stages that judge begin, in both worlds
ANY = Unit("", "", "", "")  # a unit that whoever is free may do


@dataclass
class _TaskRun:
    """A task on its way through its stages."""

    findings: Findings
    rounds: Iterator[tuple[Stage, Sequence[Unit]]]
    began: float
    stage: Stage | None = None
    waiting: deque[Unit] = field(default_factory=deque)
    order: deque[Unit] = field(default_factory=deque)  # of the round, as far as it is not stored
    results: dict[str, Outcome] = field(default_factory=dict)  # ended out of order

    def advance(self) -> bool:
        """Go on to the next round that has units; False if there is none."""
        for stage, units in self.rounds:
            if units:
                self.stage = stage
                self.waiting, self.order = deque(units), deque(units)
                return True
        return False


class Engine:
    """Works on what is left to do of a campaign."""

    def __init__(
        self,
        content: Content,
        settings: Settings,
        worker: Worker,
        *,
        oracles: Sequence[str],
        jobs: int = 1,
        limits: Limits | None = None,
        progress: Progress | None = None,
        asking: Asking | None = None,
        until: Callable[[Record], bool] | None = None,
        elsewhere: Callable[[], Workers] | None = None,
    ) -> None:
        self.content = content
        self.settings = settings
        self.worker = worker
        self.oracles = oracles
        self.jobs = jobs
        self.limits = limits or Limits()
        self.report = progress
        self.asking = asking or Asking()
        self.until = until  # a record that ends the work
        self.elsewhere = elsewhere  # who works instead of processes of this machine
        self.ended = False  # by such a record
        self.bugs = 0
        self._verdicts = self._uncounted = (
            0  # verdicts when bugs were counted, and units since then
        )
        self.stopped: list[str] = []  # tasks that a limit ended
        self.limit: str | None = None  # time, memory or crash, where one did
        self.costs = Costs({})
        self._began = perf_counter()

    def run(self, tasks: Sequence[str]) -> None:
        """Work until everything is done or a limit is reached. An interruption keeps all finished units."""
        with listening():
            self._run(tasks)

    def _run(self, tasks: Sequence[str]) -> None:
        self.costs = Costs(task_sizes(self.content.store))
        left = deque(self.costs.order(tasks) if self._spreads else tasks)
        self._tell_tasks(0, len(tasks))
        active: list[_TaskRun] = []
        workers: Workers | None = None
        try:
            while left or active:
                while left and self._wants_more(workers, active):
                    if self.ended:
                        left.clear()
                        break
                    if self._time_is_up():
                        self._leave(left)
                        break
                    run = self._begin(left.popleft())
                    if run.advance():
                        active.append(run)
                        workers = workers or self._workers()
                        self._fill(workers, active)
                self._tell_tasks(len(tasks) - len(left) - len(active), len(tasks))
                if not active:
                    continue
                assert workers is not None
                self._fill(workers, active)
                self._commit_unless_soon(workers)
                unit, outcome = workers.next()
                for run in active:  # none, if a limit has ended the work on the task meanwhile
                    if run.findings.name == unit.task:
                        run.results[unit.key] = outcome
                        if not self._store(run):
                            active.remove(run)
                        break
        finally:
            try:
                self.content.store.commit()
            finally:
                if workers is not None:
                    workers.close()

    def _commit_unless_soon(self, workers: Workers) -> None:
        """Results that follow each other within a moment share a transaction; nothing waits for a slow unit."""
        left = self.content.store.gathers_for()
        if left is not None and not (left and workers.ends_within(left)):
            self.content.store.commit()

    @property
    def _spreads(self) -> bool:
        """Whether tasks may overlap. Not if a record ends the work: then it must not matter which task is fastest."""
        return self.until is None and (self.jobs > 1 or self.elsewhere is not None)

    def _wants_more(self, workers: Workers | None, active: Sequence[_TaskRun]) -> bool:
        """Whether a worker would be idle unless work on another task begins."""
        if not active:
            return True
        return self._spreads and workers is not None and workers.takes(ANY)

    def _time_is_up(self) -> bool:
        limit = self.limits.time
        return limit is not None and perf_counter() - self._began >= limit

    def _leave(self, left: deque[str]) -> None:
        """Note the tasks for which no time is left."""
        text = f"the time limit of {self.limits.time:g} seconds was reached before work on it began"
        for task in left:
            self.content.add_event(LIMIT, f"{text}; --resume continues", task)
        self.stopped += left
        self.limit = "time"
        left.clear()

    def _begin(self, task: str) -> _TaskRun:
        findings = self.content.findings(task)
        forget_early_blame(findings)
        return _TaskRun(findings, self._rounds(findings), perf_counter())

    def _rounds(self, findings: Findings) -> Iterator[tuple[Stage, Sequence[Unit]]]:
        for stage in self._stages(findings, self.oracles):
            judges = stage.name.startswith(JUDGE)
            looks = judges and self.until is not None
            if looks:
                yield from self._look(findings, stage)  # what a session before this one has found
            for units in stage.rounds():
                if self.ended:
                    return
                yield stage, units
                if looks and units:
                    yield from self._look(findings, stage)
                elif judges and units and self._may_end_early:
                    yield from self._confirm(findings, stage)
            if self.ended:
                return

    @property
    def _may_end_early(self) -> bool:
        """Whether a limit may end the work. Only bugs that were confirmed by then count, so none must wait long."""
        limited = self.limits.time is not None or self.limits.task_time is not None
        return limited and self.asking.asks

    def _confirm(self, findings: Findings, judge: Stage) -> Iterator[tuple[Stage, Sequence[Unit]]]:
        """Ask the policy again about what was judged until now."""
        for stage in self._stages(findings, [judge.name.removeprefix(JUDGE)]):
            if stage.name == CONFIRM:
                for units in stage.rounds():
                    yield stage, units

    def _stages(self, findings: Findings, oracles: Sequence[str]) -> Iterator[Stage]:
        make = planning_stages if self.settings.world == PLANNING else model_stages
        return make(findings, self.settings, oracles, self.asking)

    def _look(self, findings: Findings, judge: Stage) -> Iterator[tuple[Stage, Sequence[Unit]]]:
        """After a round of judging, confirm and blame the bugs, and check whether one of them ends the work.

        The round is complete at this point, so the answer does not depend on the order of the work.
        """
        assert self.until is not None
        if not any(row.is_bug for row in findings.verdicts()):
            return
        blame_early(findings)
        for stage in self._stages(findings, [judge.name.removeprefix(JUDGE)]):
            if not stage.name.startswith(JUDGE):
                for units in stage.rounds():
                    yield stage, units
        self.ended = any(map(self.until, read_records(self.content, findings.name)))

    def _workers(self) -> Workers:
        memory = self.limits.megabytes(self.jobs)
        workers: Workers
        if self.elsewhere is not None:
            workers = self.elsewhere()
        elif self.jobs == 1 and memory is None:
            workers = ThisProcess(self.worker)
        else:
            workers = Processes(self.worker, self.jobs, memory)
        if self.asking.asks and self.asking.deterministic:
            workers.expect(1)
        return workers

    def _fill(self, workers: Workers, active: Sequence[_TaskRun]) -> None:
        for run in sorted(active, key=self._left, reverse=True) if len(active) > 1 else active:
            while run.waiting and workers.takes(run.waiting[0]):
                unit = run.waiting.popleft()
                assert run.stage is not None
                self._tell(run.findings, run.stage)  # it may take long
                if unit.process:
                    self.content.store.commit()  # it may start with a fork, which must not find a transaction open
                resources = {"task": self.content.task(unit.task), **unit.resources}
                workers.submit(replace(unit, resources=resources), self._seconds_left(run))

    def _left(self, run: _TaskRun) -> float:
        """Expected seconds."""
        assert run.stage is not None
        return self.costs.left(run.findings.name, run.stage, len(run.order))

    def _seconds_left(self, run: _TaskRun) -> float | None:
        now = perf_counter()
        left = [
            limit - (now - began)
            for limit, began in (
                (self.limits.time, self._began),
                (self.limits.task_time, run.began),
            )
            if limit is not None
        ]
        return min(left, default=None)

    def _store(self, run: _TaskRun) -> bool:
        """Store what is next in order; False if nothing is left to do on the task."""
        stage = run.stage
        assert stage is not None
        while run.order and run.order[0].key in run.results:
            unit = run.order.popleft()
            outcome = run.results.pop(unit.key)
            if isinstance(outcome, MisstepError):
                raise outcome
            if isinstance(outcome, Lost):
                why = self._why(outcome, unit)
                instead = stage.lost(unit, why)
                if instead is None:
                    self.limit = outcome.limit
                    return self._stop(run, stage, why)
                outcome = instead
            self._keep(run, stage, unit, outcome)
        return bool(run.order) or run.advance()

    def _keep(self, run: _TaskRun, stage: Stage, unit: Unit, result: Result) -> None:
        findings = run.findings
        with self.content.store.unit(gathered=True):
            stage.keep(unit, result)
            calls, sizes = result.policy_calls, result.batches
            findings.mark_done(unit.stage, unit.key, result.seconds, calls, sizes)
            for kind, texts in ((REMARK, result.remarks), (LIMIT, result.limits)):
                for text in texts:
                    self.content.add_event(kind, text, findings.name)
        self.costs.see(findings.name, stage.name, result.seconds)
        self._count_bugs()
        self._tell(findings, stage)

    def _tell(self, findings: Findings, stage: Stage) -> None:
        if self.report is not None:
            done, total = stage.progress()
            self.report(f"{findings.name}: {stage.title}", done, total, self.bugs)

    def _tell_tasks(self, done: int, total: int) -> None:
        if isinstance(self.report, TaskProgress):
            self.report.tasks(done, total)

    def _count_bugs(self) -> None:
        """Count bugs for the progress. This reads all verdicts, so it is done less often if there are many."""
        self._uncounted += 1
        if self.report is None or self._uncounted <= self._verdicts // COUNTED:
            return
        bugs = "SELECT DISTINCT task, number FROM verdicts WHERE verdict = 'BUG'"
        query = f"SELECT (SELECT count(*) FROM ({bugs})), (SELECT count(*) FROM verdicts)"
        self.bugs, self._verdicts = self.content.store.rows(query)[0]
        self._uncounted = 0

    def _why(self, lost: Lost, unit: Unit) -> str:
        named = f"the unit '{unit.key}' of '{unit.stage}'"
        if lost.limit == "crash":
            return f"{named} failed: {lost.words}"
        if lost.limit == "memory":
            megabytes = self.limits.megabytes(self.jobs)
            most = "" if megabytes is None else f" (the limit is {megabytes} MB a process)"
            return f"there was too little memory{most} for {named}"
        limit = self.limits.time if self._time_is_up() else self.limits.task_time
        return f"the time limit of {limit:g} seconds was reached"

    def _stop(self, run: _TaskRun, stage: Stage, why: str) -> bool:
        done, total = stage.progress()
        share = "" if total is None else f" at {done} of {total}"
        text = f"{why}: {stage.title} stopped{share}; --resume continues"
        self.content.add_event(LIMIT, text, run.findings.name)
        self.stopped.append(run.findings.name)
        run.waiting.clear()
        run.order.clear()
        return False


__all__ = ["Engine"]
