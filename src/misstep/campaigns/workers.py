"""The workers that compute units: this process, or local processes.

Both take one unit at a time and return its result. A process gets the task, the settings and larger data once and
keeps them. For a policy that exists only in memory, processes are forked; otherwise they are new interpreters, because
threads and connections of a policy do not survive a fork.

Units that ask the policy again run in a separate process, which has another PYTHONHASHSEED and does nothing else.

Limits are enforced in the worker: an alarm interrupts a unit whose time is up, and a process with a memory limit gets
an error from the system. In both cases the unit counts as not done.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any, Protocol

from misstep.campaigns.alarm import Alarm, OutOfTime
from misstep.campaigns.models.work import ModelWork
from misstep.campaigns.planning.work import PlanningWork
from misstep.campaigns.process import (
    OVERDUE,
    STOPS,
    end_with,
    hash_seed,
    limit_memory,
    with_children,
    without_interrupts,
)
from misstep.campaigns.settings import Settings
from misstep.campaigns.units import Result, Unit, Work
from misstep.errors import Interrupted, MisstepError, ToolError
from misstep.files import of_system, reason
from misstep.kept import NOT_FROM_HERE, leave
from misstep.policies.service import share
from misstep.raised import in_words
from misstep.stops import HEARD, mark_stops
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask

THREADED = {"torch", "tensorflow", "jax", "grpc", "onnxruntime"}  # have threads of their own
KEPT_TASKS = 2  # tasks that a worker keeps loaded; all tasks of a suite would need too much memory


@dataclass(frozen=True)
class Lost:
    """A unit that was not done, because a limit ended it, or because it crashed its processes."""

    limit: str  # time, memory or crash
    words: str = ""  # of a crash: how the processes ended, and what the last one said


Outcome = Result | Lost | MisstepError


@dataclass
class Worker:
    """Does units of any task of a campaign, one after the other."""

    settings: Settings
    policy: Any  # a spec, or the policy itself
    batch_size: int | None = None
    _works: OrderedDict[str, Work] = field(default_factory=OrderedDict)
    _resources: dict[str, dict[str, Any]] = field(default_factory=dict)

    def do(self, unit: Unit, seconds: float | None = None) -> Outcome:
        """The result of a unit, or why there is none. Other errors are bugs in Misstep and are raised."""
        if seconds is not None and seconds <= 0:
            return Lost("time")  # also where no alarm is possible
        try:
            with Alarm(seconds):
                resources = self._resources.setdefault(unit.task, {})
                resources.update(unit.resources)
                return self._work(unit.task, resources["task"]).do(unit, resources)
        except OutOfTime:
            self.forget(unit.task)  # interrupted in the middle of something
            return Lost("time")
        except MemoryError:
            self.forget(unit.task)
            return Lost("memory")
        except MisstepError as error:
            error.where = error.where or unit.task
            return error

    def _work(self, name: str, task: AnyTask) -> Work:
        if name not in self._works:
            while len(self._works) >= KEPT_TASKS:
                self._works.popitem(last=False)[1].close()
            make = ModelWork if isinstance(task, JaniTask) else PlanningWork
            self._works[name] = make(task, self.settings, self.policy, self.batch_size)
        self._works.move_to_end(name)
        return self._works[name]

    def forget(self, name: str) -> None:
        self._resources.pop(name, None)
        if name in self._works:
            self._works.pop(name).close()

    def close(self) -> None:
        for name in list(self._works):
            self.forget(name)


class Workers(ABC):
    """A group of workers. Each worker has at most one unit at a time."""

    @abstractmethod
    def takes(self, unit: Unit) -> bool:
        """Whether the unit may be submitted now."""

    @abstractmethod
    def expect(self, process: int) -> None:
        """Announce units for the process with that number, so that it can start while others work."""

    @abstractmethod
    def submit(self, unit: Unit, seconds: float | None) -> None: ...

    def ends_within(self, seconds: float) -> bool:  # noqa: ARG002
        """Whether a unit is expected to end so soon; may wait that long to find out. No: nothing is known."""
        return False

    @abstractmethod
    def next(self) -> tuple[Unit, Outcome]:
        """Wait for a unit to end."""

    @abstractmethod
    def close(self) -> None:
        """End all work at once; unfinished units are lost."""


class ThisProcess(Workers):
    """Does each unit when its result is asked for. Only units that name a process are done elsewhere."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._unit: tuple[Unit, float | None] | None = None
        self._took: dict[tuple[str, str], float] = {}  # seconds of the last unit of a task and job
        self._others = Processes(worker, 0) if can_start(worker.policy) else None

    def takes(self, unit: Unit) -> bool:
        others = self._others_for(unit)
        return self._unit is None if others is None else others.takes(unit)

    def _others_for(self, unit: Unit) -> Processes | None:
        """The processes that do the unit. In between, the policy may have started threads, so that it stays here."""
        if not unit.process or self._others is None:
            return None
        is_possible = self._others.has(unit.process) or can_start(self.worker.policy)
        return self._others if is_possible else None

    def expect(self, process: int) -> None:
        # Forking takes no time, so wait until the policy is idle.
        if self._others is not None and isinstance(self.worker.policy, str):
            self._others.expect(process)

    def submit(self, unit: Unit, seconds: float | None) -> None:
        others = self._others_for(unit)
        if others is None:
            self._unit = unit, seconds
        else:
            others.submit(unit, seconds)

    def ends_within(self, seconds: float) -> bool:
        if self._unit is None:
            return self._others is not None and self._others.ends_within(seconds)
        unit, _ = self._unit
        return self._took.get((unit.task, unit.job), math.inf) < seconds

    def next(self) -> tuple[Unit, Outcome]:
        if self._unit is None:
            assert self._others is not None
            return self._others.next()
        unit, seconds = self._unit
        self._unit = None
        began = monotonic()
        outcome = self.worker.do(unit, seconds)
        self._took[unit.task, unit.job] = monotonic() - began
        return unit, outcome

    def close(self) -> None:
        self.worker.close()
        if self._others is not None:
            self._others.close()


def can_start(policy: Any) -> bool:
    """Whether another process can ask the policy: a new interpreter always can, a fork only without threads.

    Threads of numerical libraries do not survive a fork, which would wait for them for ever.
    """
    if isinstance(policy, str):
        return True
    return threading.active_count() == 1 and not THREADED & sys.modules.keys()


class _Child(Protocol):
    """A worker process, new or forked."""

    def poll(self) -> int | None:
        """Its exit code; None as long as it runs."""

    def wait(self, timeout: float) -> object: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


@dataclass
class _Process:
    child: _Child
    connection: Connection
    role: int = 0  # the number by which units name it
    unit: Unit | None = None
    end: float | None = None  # when the process is killed, unless it has done the unit before
    sent: dict[str, dict[str, Any]] = field(default_factory=dict)  # task -> resources


class Processes(Workers):
    """Local processes with one worker each."""

    def __init__(self, worker: Worker, count: int, memory_mb: int | None = None) -> None:
        # A worker that has done nothing yet: each process loads the policy anew.
        self._worker = Worker(worker.settings, worker.policy, worker.batch_size)
        self._memory_mb = memory_mb
        self._is_shared = count > 1  # whether several of them work, which a device has to serve
        self._processes: list[_Process] = []
        try:
            for _ in range(count):
                self._start(0)
        except BaseException:
            self.close()
            raise

    def _start(self, role: int) -> None:
        start = _start_new if isinstance(self._worker.policy, str) else _fork
        # Processes that ask again do not use the shared inference service, because it is part of what they check.
        shares = self._is_shared and role == 0
        with without_interrupts():
            try:
                self._processes.append(start(self._worker, self._memory_mb, role, shares))
            except OSError as error:  # such as too many processes or open files
                raise ToolError(
                    f"cannot start another process: {reason(error)}",
                    hint="use fewer processes (--jobs)",
                ) from error

    def _of_role(self, role: int) -> list[_Process]:
        return [own for own in self._processes if own.role == role]

    def has(self, role: int) -> bool:
        """Whether such a process runs already."""
        return bool(self._of_role(role))

    def takes(self, unit: Unit) -> bool:
        known = self._of_role(unit.process)
        return any(own.unit is None for own in known) or (unit.process > 0 and not known)

    def expect(self, process: int) -> None:
        if not self._of_role(process):
            self._start(process)

    def submit(self, unit: Unit, seconds: float | None) -> None:
        self.expect(unit.process)
        free = [own for own in self._of_role(unit.process) if own.unit is None]
        # A process that has loaded the task already has less to do.
        chosen = next((own for own in free if unit.task in own.sent), free[0])
        known = chosen.sent.setdefault(unit.task, {})
        new = {
            name: value for name, value in unit.resources.items() if known.get(name) is not value
        }
        known.update(new)
        chosen.unit = unit
        chosen.end = None if seconds is None else monotonic() + max(seconds, 0) + OVERDUE
        try:
            chosen.connection.send((replace(unit, resources=new), seconds))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended; `next` notices that
        except (AttributeError, TypeError, ValueError) as error:
            raise ToolError(
                f"cannot send work to another process: {error}", hint="use one process (--jobs 1)"
            ) from error

    def ends_within(self, seconds: float) -> bool:
        busy = [own.connection for own in self._processes if own.unit is not None]
        patience = self._patience()
        return bool(wait(busy, seconds if patience is None else min(seconds, patience)))

    def next(self) -> tuple[Unit, Outcome]:
        busy = {own.connection: own for own in self._processes if own.unit is not None}
        ready = wait(list(busy), self._patience())
        if not ready:
            return self._kill_overdue()
        own = busy[ready[0]]  # type: ignore[index]
        unit = own.unit
        assert unit is not None
        try:
            outcome = own.connection.recv()
        except (EOFError, ConnectionResetError):
            _wait(own.child, 1)
            raise self._ended(unit, own.child.poll()) from None
        own.unit = None
        if isinstance(outcome, Lost):
            own.sent.pop(unit.task, None)  # the worker may have nothing of it left
        if isinstance(outcome, BaseException) and not isinstance(outcome, MisstepError):
            raise outcome
        return unit, outcome

    def _patience(self) -> float | None:
        """Seconds until a process is overdue."""
        ends = [own.end for own in self._processes if own.unit is not None and own.end is not None]
        return max(0.0, min(ends) - monotonic()) if ends else None

    def _kill_overdue(self) -> tuple[Unit, Outcome]:
        """Kill a process that did not stop its unit in time, and start another one in its place."""
        busy = [own for own in self._processes if own.unit is not None and own.end is not None]
        late = min(busy, key=lambda own: own.end or 0.0)
        late.child.kill()
        _wait(late.child, 5)
        late.connection.close()
        self._processes.remove(late)
        self._start(late.role)
        assert late.unit is not None
        return late.unit, Lost("time")

    def _ended(self, unit: Unit, code: int | None) -> MisstepError:
        if code == Interrupted.exit_code or (code is not None and -code in STOPS):
            if threading.current_thread() is not threading.main_thread():
                return Interrupted("stopped by the user")
            # If the user has stopped the worker, this process was told too, and goes no further.
            sleep(HEARD)
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        hint = "the policy may have ended it, or there was too little memory"
        if self._is_shared:
            hint += "; --jobs 1 tells more"
        return ToolError(f"a worker process ended by itself ({how})", where=unit.task, hint=hint)

    def close(self) -> None:
        for own in self._processes:
            # An idle process ends when its connection closes, and ends its policy too.
            with contextlib.suppress(OSError):  # a policy in this process has closed it
                own.connection.close()
            if own.child.poll() is not None:
                continue
            if not own.sent:
                own.child.kill()  # it may still be importing, and has loaded no policy that it would have to end
            elif own.unit is not None:
                own.child.terminate()
        for own in self._processes:
            if not _wait(own.child, 5 if own.unit is None else 0.5):
                own.child.kill()
                _wait(own.child, 5)
        self._processes = []


def _wait(child: _Child, seconds: float) -> bool:
    """Whether the process has ended within that time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.poll() is not None


_MAIN = (
    f"{NOT_FROM_HERE}import json, sys; fd, path = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from misstep.campaigns.workers import main; main(fd)"
)


def _start_new(worker: Worker, memory_mb: int | None, role: int, shares: bool) -> _Process:
    """Start a new interpreter. Unlike `multiprocessing`, this does not run the user's script again."""
    ours, theirs = socket.socketpair()
    with theirs:
        argument = json.dumps([theirs.fileno(), sys.path])
        child = subprocess.Popen(
            [sys.executable, "-c", _MAIN, argument],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONHASHSEED": hash_seed(role)},
        )
    connection = Connection(ours.detach())
    with contextlib.suppress(
        BrokenPipeError, ConnectionResetError
    ):  # it has ended; `next` notices that
        connection.send((worker, memory_mb, os.getpid(), shares))
    return _Process(child, connection, role)


def main(fd: int) -> None:
    """The program of a new interpreter."""
    connection = Connection(fd)
    try:
        worker, memory_mb, parent, shares = connection.recv()
    except (EOFError, ConnectionResetError):
        return
    if shares:
        share()
    _serve(connection, worker, memory_mb, parent)
    leave(0)


class _Fork:
    """A fork of this process."""

    def __init__(self, process: BaseProcess) -> None:
        self.process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float) -> None:
        self.process.join(timeout)

    def terminate(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()


def _fork(worker: Worker, memory_mb: int | None, role: int, _: bool) -> _Process:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def serve() -> None:
        ours.close()  # else the end of the coordinator would not be noticed
        _serve(theirs, worker, memory_mb, parent)

    parent = os.getpid()
    process = context.Process(target=serve, daemon=True)
    with with_children():
        process.start()
    theirs.close()
    return _Process(_Fork(process), ours, role)


def _serve(connection: Connection, worker: Worker, memory_mb: int | None, parent: int) -> None:
    """The main loop of a worker process."""
    # Ctrl-C reaches all processes. Workers have nothing to save and nothing to report, so the system ends them at once;
    # a Python handler would wait for native code.
    for number in STOPS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    mark_stops()
    end_with(parent)
    if memory_mb is not None:
        limit_memory(memory_mb)
    try:
        while True:
            connection.send(_outcome(connection, worker))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the coordinator has ended
    except OSError:  # the policy has closed the connection; the coordinator tells that we ended
        os._exit(1)
    finally:
        worker.close()


def _outcome(connection: Connection, worker: Worker) -> Any:
    """Do the next unit. If receiving its task takes too much memory, the unit is lost, as if the work had."""
    try:
        unit, seconds = connection.recv()
    except MemoryError:
        return Lost("memory")
    try:
        return worker.do(unit, seconds)
    except Exception as error:
        return sendable(error)


def sendable(error: Exception) -> Exception:
    if isinstance(error, OSError):
        return of_system(error)
    return MisstepError(
        f"internal error: {in_words(error)}",
        hint="please report it, with the output of the same command and --jobs 1 --debug",
    )


__all__ = ["Lost", "Outcome", "Processes", "ThisProcess", "Worker", "Workers"]
