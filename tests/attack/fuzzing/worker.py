"""A process of the driver's: READER SEED BEGIN END OUT PROGRESS SECONDS."""

from __future__ import annotations

import faulthandler
import sys
from pathlib import Path

from attack.fuzzing.readers import READERS
from attack.fuzzing.work import Progress, work


def main(arguments: list[str]) -> None:
    name, seed, begin, end, out, progress, seconds = arguments
    faulthandler.enable()
    cases = range(int(begin), int(end))
    work(READERS[name], int(seed), cases, Path(out), Progress(Path(progress)), float(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
