"""The command: fuzz for a time, for a number of cases, or run one case again."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from attack.fuzzing.drive import Driver, Share, shares_of
from attack.fuzzing.reader import Reader
from attack.fuzzing.readers import READERS
from attack.fuzzing.work import run_case, write_finding


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack.fuzzing", description=__doc__)
    parser.add_argument("--reader", action="append", choices=[*READERS], help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--case", type=int, help="run this case alone, here, and say what comes out"
    )
    parser.add_argument("--cases", type=int, help="this many of each reader")
    parser.add_argument("--seconds", type=float, default=60, help="if no number of cases is given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz-findings"))
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # `timeout` and `kill` end it as Ctrl-C does: what was done until then is told.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    readers = [READERS[name] for name in given.reader or READERS]
    if given.case is not None:
        return again(readers[0], given.seed, given.case, given.out)
    if given.cases is not None:
        shares = [Share(reader, 0, given.cases, 1e9) for reader in readers]
    else:
        shares = shares_of(readers, given.seconds, given.jobs)
    told = Driver(given.seed, given.out, given.jobs).run(shares)
    for name, count in sorted(told.cases.items()):
        print(f"{name:12} {count:9,} cases")
    for line in (*told.findings, *told.broken):
        print(line)
    total = sum(told.cases.values())
    print(
        f"fuzz: {total:,} cases of {len(told.cases)} readers, {len(told.findings)} findings in {given.out}"
    )
    return 1 if told.findings or told.broken else 0


def again(reader: Reader, seed: int, case: int, out: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        place = Path(folder)
        (place / "case").mkdir()
        files = reader.case(seed, case, place, reader.seeds())
        print("the files are in", write_finding(out, reader.name, seed, case, files, ""))
        problem, kind = run_case(reader, files, place / "case")
    print("as it should be" if problem is None else f"{kind}: {problem}")
    return problem is not None


if __name__ == "__main__":
    sys.exit(main())
