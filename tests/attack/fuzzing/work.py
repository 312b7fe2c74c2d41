"""The process that runs cases of one reader, one after the other, within limits."""

from __future__ import annotations

import gc
import mmap
import resource
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attack.fuzzing.mutators import Files
from attack.fuzzing.reader import Reader

SECONDS = 2.0  # of processor time, a case
MEGABYTES = 512
KEPT = 3  # findings of the same kind that are written down
PROGRESS_BYTES = 16


class Progress:
    """The number of the case at work and how many are done, where the driver sees them even if this process dies."""

    def __init__(self, path: Path) -> None:
        path.touch()
        with path.open("r+b") as file:
            file.truncate(PROGRESS_BYTES)
            self._memory = mmap.mmap(file.fileno(), PROGRESS_BYTES)

    def set(self, case: int, done: int) -> None:
        self._memory[:] = case.to_bytes(8, "little") + done.to_bytes(8, "little")

    def get(self) -> tuple[int, int]:
        content = bytes(self._memory)
        return int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little")


@contextmanager
def limited_memory() -> Iterator[None]:
    """What takes more fails with a MemoryError, which is a finding."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEGABYTES * 2**20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def run_case(reader: Reader, files: Files, place: Path) -> tuple[str | None, str]:
    """What is wrong, if anything is, and where it comes from."""
    began = processor_seconds()
    problem, place_of_error = None, ""
    try:
        with warnings.catch_warnings(), limited_memory():
            warnings.simplefilter("error")  # a warning on a terminal is no answer either
            reader.read(files, place)
    except Exception as error:
        problem = reader.problem(error)
        if problem is not None:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "misstep" in frame.filename] or frames
            place_of_error = f"{Path(ours[-1].filename).name}:{ours[-1].name}"
            problem += "\n" + "".join(traceback.format_exception(error))
    taken = processor_seconds() - began
    if problem is None and taken > SECONDS:
        problem, place_of_error = f"took {taken:.1f} s of processor time", "slow"
    return problem, place_of_error


def write_finding(out: Path, reader: str, seed: int, case: int, files: Files, what: str) -> Path:
    folder = out / f"{reader}-{seed}-{case}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("/", "_")).write_bytes(content)
    again = f"python -m attack.fuzzing --reader {reader} --seed {seed} --case {case}\n\n"
    (folder / "FINDING.txt").write_text(again + what, errors="backslashreplace")
    return folder


def work(
    reader: Reader, seed: int, cases: Iterable[int], out: Path, progress: Progress, seconds: float
) -> Counter[str]:
    """Run the cases as long as there is time, which begins when the seeds are made; the findings by their kind."""
    seeds = reader.seeds()
    until = time.monotonic() + seconds
    found: Counter[str] = Counter()
    for done, case in enumerate(cases):
        if time.monotonic() > until:
            break
        progress.set(case, done)
        place = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            (place / "case").mkdir()
            files = reader.case(seed, case, place, seeds)
            problem, kind = run_case(reader, files, place / "case")
        finally:
            shutil.rmtree(place, ignore_errors=True)
        if problem is not None:
            what = f"{reader.name}: {problem.splitlines()[0][:200]} ({kind})"
            same = f"{reader.name} {problem.split(':')[0]} {kind}"
            found[same] += 1
            if found[same] <= KEPT:
                write_finding(out, reader.name, seed, case, files, problem)
                print(
                    f"finding: --reader {reader.name} --seed {seed} --case {case}: {what}",
                    flush=True,
                )
            gc.collect()
        progress.set(case + 1, done + 1)
    return found


__all__ = ["Progress", "run_case", "work", "write_finding"]
