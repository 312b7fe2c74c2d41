"""Examine candidates, in this process or in several; the first one in order that works is taken.

If possible, a candidate is first cut out of the translated task; most are refused there within a few milliseconds. The
others are translated and judged. With several processes, later candidates are examined ahead of time, and their results
are dropped when an earlier one works. So the outcome and all counts are the same as with one process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Protocol

from misstep.campaigns.process import STOPS, end_with, with_children, without_interrupts
from misstep.comparison.shrink.judging import Judge, refusal
from misstep.comparison.shrink.problem import Problem
from misstep.comparison.shrink.projection import Projector
from misstep.errors import (
    MemoryLimitError,
    MisstepError,
    PolicyAwayError,
    TimeLimitError,
    ToolError,
    UndecidedError,
)
from misstep.files import reason
from misstep.kept import not_from_here, without_script
from misstep.oracles.registry import has_registered
from misstep.stops import HEARD
from misstep.tasks.pddl.text import Source
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import Task

Started = AbstractContextManager[None]
TRANSLATION_SECONDS = 60.0
LIMITS = (TimeLimitError, MemoryLimitError, ToolError)  # of the translator, not errors of the task
PROBLEM_FILE = "problem.pddl"


@dataclass(frozen=True)
class Base:
    """The smallest task so far, from which candidates are cut."""

    sas: bytes
    problem: Problem


@dataclass(frozen=True)
class Candidate:
    problem: Problem
    exact: bool = False  # ask the translator in any case


@dataclass(frozen=True)
class Examined:
    """The result of examining a candidate."""

    sas: bytes | None = None  # of the task that shows what is sought
    translated: bool = False
    refused: str | None = None  # why the policy does not take the task
    problem: str | None = None  # why there is no such task
    undecided: str | None = None  # why it is not known whether it shows what is sought

    @property
    def works(self) -> bool:
        return self.sas is not None


class Examiner:
    """Examines candidates one by one."""

    def __init__(self, judge: Judge, domain: Source, name: str) -> None:
        self.judge = judge
        self.domain = domain
        self.name = name
        self._projector: tuple[Base, Projector] | None = None

    def task(self, problem: Problem) -> Task:
        """The task, made by the translator."""
        source = self.source(problem)
        sas = translate_sources(
            (self.domain, source), time_limit=TRANSLATION_SECONDS, use_cache=False
        )
        return Task(sas, name=self.name, pddl=(self.domain, source))

    def source(self, problem: Problem) -> Source:
        return Source(PROBLEM_FILE, problem.text(self.name).encode())

    def examine(self, candidate: Candidate, base: Base | None) -> Examined:
        try:
            if base is not None and not candidate.exact and not self._passes(candidate, base):
                return Examined()
            task = self.task(candidate.problem)
        except LIMITS as error:
            return Examined(translated=True, undecided=error.what)
        except MisstepError as error:
            return Examined(translated=True, problem=error.what)
        try:
            found = self.judge.certified(task)
        except PolicyAwayError:
            raise  # says nothing about the task
        except UndecidedError as error:
            return Examined(translated=True, undecided=error.what)
        except MisstepError as error:
            why = refusal(self.judge, task)
            undecided = error.what if why is None else None
            return Examined(translated=True, refused=why, problem=error.what, undecided=undecided)
        if found is None:
            return Examined(translated=True)
        found.close()
        return Examined(task.sas, translated=True)

    def _passes(self, candidate: Candidate, base: Base) -> bool:
        """Whether the task cut out of the last one shows the fault; also true if it cannot be cut out."""
        known = self._projector
        if known is None or known[0].sas != base.sas or known[0].problem != base.problem:
            pddl = (self.domain, self.source(base.problem))
            task = Task(base.sas, name=self.name, pddl=pddl)
            known = self._projector = (base, Projector(task, base.problem))
        source = self.source(candidate.problem)
        cut = known[1].project(candidate.problem, self.name, source)
        if cut is None:
            return True
        try:
            return self.judge.shows(cut)
        except PolicyAwayError:
            raise
        except UndecidedError:
            return False  # the last round asks again, with the translator
        except MisstepError:
            return True  # the translated task decides


class Examining(Protocol):
    def each(
        self, candidates: Iterable[Candidate], base: Base | None
    ) -> Iterator[tuple[Candidate, Examined]]: ...


OpenExamining = Callable[[Examiner], AbstractContextManager[Examining]]
"""Begins to examine candidates: here, or elsewhere."""


class Alone:
    """All in this process."""

    def __init__(self, examiner: Examiner) -> None:
        self.examiner = examiner

    def each(
        self, candidates: Iterable[Candidate], base: Base | None
    ) -> Iterator[tuple[Candidate, Examined]]:
        for candidate in candidates:
            yield candidate, self.examiner.examine(candidate, base)


_OWN: Examiner | None = None  # of a worker process


def _begin(examiner: Examiner, parent: int) -> None:
    global _OWN
    for number in (signal.SIGINT, signal.SIGHUP):  # the parent process handles interruptions
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    end_with(parent)  # which may have been killed while this process was importing
    _OWN = examiner


def _examine(candidate: Candidate, base: Base | None) -> Examined:
    assert _OWN is not None
    return _OWN.examine(candidate, base)


class Together:
    """Several processes, which examine some candidates ahead of time."""

    def __init__(
        self, pool: ProcessPoolExecutor, jobs: int, starting: Callable[[], Started]
    ) -> None:
        self.pool = pool
        self.jobs = jobs
        self.starting = starting  # around everything that may start a process

    def each(
        self, candidates: Iterable[Candidate], base: Base | None
    ) -> Iterator[tuple[Candidate, Examined]]:
        waiting: deque[tuple[Candidate, Future[Examined]]] = deque()
        left = iter(candidates)
        try:
            while True:
                while len(waiting) < self.jobs:
                    candidate = next(left, None)
                    if candidate is None:
                        break
                    with self.starting():
                        waiting.append((candidate, self.pool.submit(_examine, candidate, base)))
                if not waiting:
                    return
                candidate, future = waiting.popleft()
                yield candidate, future.result()
        except BrokenProcessPool:
            # If the user has stopped the processes, this one was told too, and goes no further.
            sleep(HEARD)
            raise ToolError(
                "a worker process ended by itself",
                hint="the policy may have ended it, or there was too little memory; --jobs 1 tells more",
            ) from None
        finally:
            for _, future in waiting:
                future.cancel()


@contextmanager
def examining_here(examiner: Examiner, jobs: int) -> Iterator[Examining]:
    if jobs == 1:
        yield Alone(examiner)
        return
    # A policy that exists only in memory reaches a process by forking; see `misstep.campaigns.workers`.
    in_memory = not isinstance(examiner.judge.source, str)
    context = multiprocessing.get_context("fork" if in_memory else "spawn")
    others = set(multiprocessing.active_children())

    @contextmanager
    def starting() -> Iterator[None]:
        # A process that Ctrl-C reaches while it imports would print a traceback.
        with ExitStack() as stack:
            stack.enter_context(without_interrupts())
            stack.enter_context(with_children())
            if not in_memory:  # a fork imports nothing, and goes on with the user's script as it is
                stack.enter_context(not_from_here())
                if not has_registered():
                    stack.enter_context(without_script())
            try:
                yield
            except OSError as error:
                raise ToolError(
                    f"cannot start other processes, which also need shared memory: {reason(error)}",
                    hint="use one process (--jobs 1)",
                ) from error

    with starting():
        pool = ProcessPoolExecutor(jobs, context, _begin, (examiner, os.getpid()))
    try:
        yield Together(pool, jobs, starting)
    except BaseException:  # nobody waits for what is under way
        for own in set(multiprocessing.active_children()) - others:
            own.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


__all__ = [
    "Base",
    "Candidate",
    "Examined",
    "Examiner",
    "Examining",
    "OpenExamining",
    "examining_here",
]
