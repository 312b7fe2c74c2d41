"""Several processes at once, each on a share of the cases of one reader; a process that dies or hangs is a finding."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from attack.fuzzing.mutators import Files
from attack.fuzzing.reader import Reader
from attack.fuzzing.work import Progress, write_finding

HANGS = 60.0  # seconds of the clock without an end of a case; machines may be busy
BEGINNING = 300.0  # until the first case, since seeds are made
WORKER = ("-m", "attack.fuzzing.worker")
SHORTEST = 20.0  # seconds of a share, if there are that many
_ENDLESS = 2**60


@dataclass
class Share:
    """What one process does: the cases from `begin` to `end`."""

    reader: Reader
    begin: int
    end: int
    seconds: float


@dataclass
class _Worker:
    share: Share
    process: subprocess.Popen[str]
    progress: Progress
    log: Path
    last: tuple[int, int] = (-1, -1)
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.monotonic)


@dataclass
class Told:
    """What came of it."""

    cases: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


class Driver:
    def __init__(self, seed: int, out: Path, jobs: int) -> None:
        self.seed, self.out, self.jobs = seed, out, jobs
        self.told = Told()

    def run(self, shares: list[Share]) -> Told:
        with tempfile.TemporaryDirectory(prefix="fuzzing-") as folder:
            waiting, working, number = list(shares), list[_Worker](), 0
            try:
                while waiting or working:
                    while waiting and len(working) < self.jobs:
                        number += 1
                        working.append(self._start(waiting.pop(0), Path(folder) / str(number)))
                    time.sleep(0.1)
                    for worker in list(working):
                        rest = self._look(worker)
                        if worker.process.poll() is not None:
                            working.remove(worker)
                            self._note(worker)
                        if rest is not None:
                            waiting.append(rest)
            except KeyboardInterrupt:  # what was done until then is told
                pass
            finally:
                for worker in working:
                    worker.process.kill()
                    worker.process.wait()
                    self._note(worker)
        return self.told

    def _start(self, share: Share, place: Path) -> _Worker:
        place.mkdir()
        progress = Progress(place / "progress")
        progress.set(share.begin, 0)
        words = [
            *(sys.executable, *WORKER, share.reader.name, str(self.seed)),
            *(
                str(share.begin),
                str(share.end),
                str(self.out),
                str(place / "progress"),
                str(share.seconds),
            ),
        ]
        with (place / "log").open("w") as log:
            # It finds the packages as we do.
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            process = subprocess.Popen(words, stdout=log, stderr=log, text=True, env=env)
        return _Worker(share, process, progress, place / "log")

    def _look(self, worker: _Worker) -> Share | None:
        """What is left to do after a process that died or hangs."""
        at, now = worker.progress.get(), time.monotonic()
        if at != worker.last:
            worker.last, worker.since = at, now
        code = worker.process.poll()
        patience = HANGS if at[1] or at[0] != worker.share.begin else BEGINNING
        if code is None and now - worker.since > patience:
            worker.process.kill()
            worker.process.wait()
            what = f"no end within {patience:.0f} s"
        elif code is not None and code < 0:
            what = f"the process ended by signal {-code}"
        else:
            return None
        case, share = worker.progress.get()[0], worker.share
        self._write(share.reader, case, what + "\n" + worker.log.read_text()[-5000:])
        left = share.seconds - (now - worker.began)
        return (
            Share(share.reader, case + 1, share.end, left)
            if case + 1 < share.end and left > 0
            else None
        )

    def _note(self, worker: _Worker) -> None:
        name = worker.share.reader.name
        self.told.cases[name] = self.told.cases.get(name, 0) + worker.progress.get()[1]
        text = worker.log.read_text()
        for line in text.splitlines():
            if line.startswith("finding: "):
                self.told.findings.append(line.removeprefix("finding: "))
        if worker.process.returncode > 0:
            self.told.broken.append(f"{name}: the fuzzer itself failed: {text[-1500:]}")

    def _write(self, reader: Reader, case: int, what: str) -> None:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            files: Files = reader.case(self.seed, case, Path(folder), reader.seeds())
        write_finding(self.out, reader.name, self.seed, case, files, what)
        self.told.findings.append(
            f"--reader {reader.name} --seed {self.seed} --case {case}: {what.splitlines()[0]}"
        )


def shares_of(readers: list[Reader], seconds: float, jobs: int) -> list[Share]:
    """For a time: every reader gets the same time, in as many shares of its cases as keep all processes busy."""

    def turns(rounds: int) -> int:
        return -(-len(readers) * rounds // jobs)

    # Short shares would spend their time on starting a process and making the seeds.
    most = max(1, min(jobs, int(seconds * jobs / (SHORTEST * len(readers)))))
    rounds = min(range(1, most + 1), key=lambda rounds: turns(rounds) / rounds)
    each = seconds / turns(rounds)
    return [Share(r, own * 10**9, _ENDLESS, each) for own in range(rounds) for r in readers]


__all__ = ["Driver", "Share", "Told", "shares_of"]
