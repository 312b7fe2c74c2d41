"""From a clean clone to the first bug: seconds, and processor seconds, until `make demo` prints that it found one.

The demo runs in a clone of what is committed, with an empty home and an environment of three variables, so that
nothing is installed and no cache is filled:

- cold: the first `make demo` of that clone;
- again: the second one, which has nothing to build;
- second clone: another clone with the same home, so that caches of downloads and of compilers are full.

python -m benchmarks.first_bug [cold|again|clone]     how far to go; all three unless told
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import remark, report

REPOSITORY = Path(__file__).resolve().parent.parent
STEPS = ["cold", "again", "clone"]
INSTALLED = "$ misstep"  # how the demo shows its first command
FOUND = "bugs "  # how `misstep test` begins the line that counts them

Times = dict[str, dict[str, float]]


def processor_seconds(session: int) -> float:
    """User and system seconds of all processes of a session, with those of their children that have ended."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def demo(clone: Path, home: Path) -> Times:
    """Runs `make demo` and says what had been spent when it was installed, when a bug was found, and at the end."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    began = time.monotonic()
    make = subprocess.Popen(
        ["make", "demo"],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    times: Times = {}

    def note(moment: str, processor: float) -> None:
        seconds = time.monotonic() - began
        times[moment] = {"seconds": round(seconds, 1), "processor": round(processor, 1)}

    assert make.stdout is not None
    for line in make.stdout:
        if "installed" not in times and line.startswith(INSTALLED):
            note("installed", processor_seconds(make.pid))
        if "first bug" not in times and line.startswith(FOUND):
            note("first bug", processor_seconds(make.pid))
    _, status, usage = os.wait4(make.pid, 0)
    make.returncode = os.waitstatus_to_exitcode(status)
    if make.returncode != 0 or "first bug" not in times:
        raise RuntimeError(f"make demo found no bug: exit code {make.returncode}")
    note("end", usage.ru_utime + usage.ru_stime)
    return times


def main() -> None:
    last = sys.argv[1] if len(sys.argv) > 1 else STEPS[-1]
    if last not in STEPS:
        sys.exit(f"expected one of {', '.join(STEPS)}, not {last}")
    results: dict[str, Times] = {}
    with tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        for step in STEPS[: STEPS.index(last) + 1]:
            clone = Path(folder) / ("other" if step == "clone" else "clone")
            if not clone.exists():
                subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(clone)], check=True)
            results[step] = demo(clone, home)
            remark(f"{step}: {results[step]}")
    report("first bug", {"processors": os.cpu_count(), "load": os.getloadavg()[0], **results})


if __name__ == "__main__":
    main()
