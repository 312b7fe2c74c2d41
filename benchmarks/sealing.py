"""What the digest of the records adds to the processor time of a cheap campaign: gripper, `heuristic:ff`, 200 states.

python -m benchmarks.sealing [RUNS]
"""

from __future__ import annotations

import gc
import sqlite3
import statistics
import sys
import tempfile
import time
from typing import Any

from benchmarks.common import report
from misstep import generate, test
from misstep.campaigns import store
from misstep.campaigns.seal import Seal

RUNS = 40
STATES = 200


class Unsealed(Seal):
    """Writes nothing and is told nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass

    def stored(self) -> None:
        pass

    def insert(self, table: str, rows: Any, statement: str, *, one_by_one: bool) -> None:  # noqa: ARG002
        self._connection.executemany(statement, rows)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    task = generate("gripper", balls=6)

    def seconds(seal: type[Seal]) -> float:
        vars(store)["Seal"] = seal
        gc.collect()
        with tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder:
            before = time.process_time()
            test(task, "heuristic:ff", pool=STATES, out=f"{folder}/campaign")
            return time.process_time() - before

    seconds(Seal)
    pairs = [(seconds(Seal), seconds(Unsealed)) for _ in range(runs)]
    sealed, unsealed = (statistics.median(own) for own in zip(*pairs, strict=True))
    # Of neighbours: a machine that is busy for a while hits both.
    added = statistics.median(a - b for a, b in pairs)
    least = min(a for a, _ in pairs) - min(b for _, b in pairs)
    report(
        "sealing",
        {
            "milliseconds with": round(1e3 * sealed, 1),
            "milliseconds without": round(1e3 * unsealed, 1),
            "percent, median of pairs": round(100 * added / unsealed, 2),
            "percent, of the fastest": round(100 * least / min(b for _, b in pairs), 2),
        },
    )


if __name__ == "__main__":
    main()
