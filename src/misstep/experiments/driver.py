"""Run an experiment: give units to workers and store their results, in any order.

A unit is a function of its inputs, so the order, the number of processes, and interruptions only change the times.
Ctrl-C and SIGKILL lose only the units in progress, which the next run repeats; a long unit, such as a training,
continues from the files in its folder.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import misstep
from misstep.errors import InputFileError, InputFormatError, Interrupted, ToolError, UsageError
from misstep.experiments.definition import Definition, Unit
from misstep.experiments.elsewhere import ClusterPool
from misstep.experiments.kinds import Finished, Json, finish
from misstep.experiments.plan import longest_first
from misstep.experiments.sources import NOWHERE, Sources
from misstep.experiments.store import DONE, FAILED, WORK, Changes, ResultStore, Stored, begin
from misstep.experiments.worker import read_answer
from misstep.files import reason, refuse_linked_folders
from misstep.kept import NOT_FROM_HERE

Progress = Callable[[str, int, int], None]
PROGRAM = f"{NOT_FROM_HERE}from misstep.experiments.worker import main; main()"
_GRACE = 5.0  # seconds for a worker to end by itself


@dataclass(frozen=True)
class Outcome:
    """How a run of the driver ended."""

    units: int
    done: int  # in this run
    before: int  # done by earlier runs
    without: int  # units that have no result: something is missing, or they failed
    changes: Changes
    seconds: float


def run_experiment(
    definition: Definition,
    folder: Path,
    scale: str = "smoke",
    *,
    seeds: int | None = None,
    jobs: int = 1,
    megabytes: int | None = None,
    sources: Sources = NOWHERE,
    cluster: str | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Run all units that are not done yet, in processes or on a cluster. An interruption keeps finished units."""
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}", expected="a whole number from 1")
    count = definition.seeds(scale) if seeds is None else seeds
    if count < 1:
        raise UsageError(f"--seeds is {count}", expected="a whole number from 1")
    units = definition.units(scale, count, sources)
    began = monotonic()
    work = folder / WORK / misstep.__version__
    with begin(folder, definition.name, scale) as store:
        names = sources.names(definition.folder)
        changes = store.update(definition, units, scale, count, names)
        stored = store.results()
        # Units that could not run may be possible now: a package or a file may have been missing.
        known = {key for key, own in stored.items() if own.outcome == DONE}
        todo = [unit for unit in units if unit.key not in known]
        try:
            _tidy(work, {unit.key for unit in todo})
            if cluster is not None or jobs > 1:
                todo = longest_first(definition, scale, todo)
            pool: Pool | ClusterPool = Pool(min(jobs, len(todo)), megabytes, work)
            if cluster is not None and todo:
                pool = ClusterPool(cluster, megabytes, work, note)
            _work(store, todo, len(known), pool, progress)
        except KeyboardInterrupt:
            _finish(folder, units, store.results())
            raise Interrupted(
                "stopped by the user",
                where=str(folder),
                hint="what is done is kept; the same command continues",
            ) from None
        finished = store.results()
        _finish(folder, units, finished)
        _tidy(work, {key for key, own in finished.items() if own.outcome != DONE})
    without = sum(finished[unit.key].outcome != DONE for unit in units)
    done = len(todo) - without
    return Outcome(len(units), done, len(known), without, changes, monotonic() - began)


def _work(
    store: ResultStore,
    todo: Sequence[Unit],
    before: int,
    pool: Pool | ClusterPool,
    progress: Progress | None,
) -> None:
    waiting = deque(todo)
    total, done = before + len(todo), before
    with pool:
        while waiting or pool.busy:
            while waiting and pool.idle:
                pool.give(waiting.popleft())
            for unit, found in pool.collect():
                store.put(unit.key, found["outcome"], found["result"], found["seconds"])
                if found["outcome"] == DONE:
                    shutil.rmtree(pool.place(unit), ignore_errors=True)
                done += 1
                if progress is not None:
                    progress("units", done, total)


def _finish(folder: Path, units: Sequence[Unit], stored: Mapping[str, Stored]) -> None:
    """Write the files that a kind makes from all results, including those of earlier runs."""
    for name in dict.fromkeys(unit.kind for unit in units):
        parts = [
            Finished(unit.row, unit.seed, unit.payload, stored[unit.key].result)
            for unit in units
            if unit.kind == name and unit.key in stored and stored[unit.key].outcome == DONE
        ]
        try:
            finish(name, folder, parts)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputFormatError(
                f"a stored result is not what its kind stores ({type(error).__name__})",
                where=str(folder),
                hint="run the experiment again into another folder",
            ) from error
        except OSError as error:
            raise InputFileError(f"cannot write: {reason(error)}", where=str(folder)) from error


def _tidy(work: Path, wanted: set[str]) -> None:
    """Remove the folders of units that are no longer needed, and those of other versions.

    The folder may come from a stranger: a link in it would make us remove, or write, files elsewhere.
    """
    refuse_linked_folders(work.parent.parent, (work.parent.name,))
    for old in work.parent.iterdir() if work.parent.is_dir() else ():
        refuse_linked_folders(work.parent, (old.name,))
        for own in old.iterdir() if old.is_dir() else ():
            refuse_linked_folders(old, (own.name,))
            if old != work or own.name not in wanted:
                shutil.rmtree(own, ignore_errors=True)
        with suppress(OSError):  # something is in it
            old.rmdir()
    with suppress(OSError):
        work.parent.rmdir()


class Pool:
    """Worker processes, each with at most one unit."""

    def __init__(self, size: int, megabytes: int | None, work: Path | None = None) -> None:
        self._megabytes = megabytes
        self._work = Path(WORK) if work is None else work
        self._selector = selectors.DefaultSelector()
        self._units: dict[subprocess.Popen[bytes], tuple[Unit, float]] = {}
        self.idle: list[subprocess.Popen[bytes]] = []
        self._size = size

    def __enter__(self) -> Pool:
        self.idle = [self._start() for _ in range(self._size)]
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.idle, *self._units):
            process.kill() if process in self._units else _end(process)
            process.wait()
            _close(process)
        self._selector.close()

    def place(self, unit: Unit) -> Path:
        """The folder of a unit, if it needs one."""
        return self._work / unit.key

    @property
    def busy(self) -> bool:
        return bool(self._units)

    def give(self, unit: Unit) -> None:
        process = self.idle.pop()
        assert process.stdin is not None
        assert process.stdout is not None
        place = str(self.place(unit).absolute())
        request = {"kind": unit.kind, "payload": unit.payload, "place": place}
        self._units[process] = unit, monotonic()
        self._selector.register(process.stdout, selectors.EVENT_READ, process)
        with suppress(BrokenPipeError):  # it has ended, which the next read will show
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()

    def collect(self) -> list[tuple[Unit, Json]]:
        """Wait for at least one result."""
        found = []
        for key, _ in self._selector.select():
            process: subprocess.Popen[bytes] = key.data
            assert process.stdout is not None
            unit, began = self._units[process]
            # Workers write whole lines, so the rest of a line arrives soon.
            line = process.stdout.readline()
            self._selector.unregister(process.stdout)
            del self._units[process]
            if line.endswith(b"\n"):
                self.idle.append(process)
                found.append((unit, read_answer(line)))
                continue
            message = f"its process ended with the code {process.wait()} (out of memory?)"
            _close(process)
            result = {"message": message}
            seconds = monotonic() - began
            found.append((unit, {"outcome": FAILED, "result": result, "seconds": seconds}))
            self.idle.append(self._start())
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", PROGRAM]
        if self._megabytes is not None:
            command.append(str(self._megabytes))
        root = str(Path(misstep.__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        # One thread each: libraries that use all cores would distort the times of other units.
        env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        try:
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        except OSError as error:
            raise ToolError(f"no worker process could be started: {error.strerror}") from error


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # input that it no longer reads
                stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


__all__ = ["Outcome", "Pool", "Progress", "run_experiment"]
