"""Runs the benchmarks one after the other and writes the JSON of each to a folder.

python -m benchmarks.all [FOLDER]

Not among them: `asnet_gpu`, `gnn_kernels` and `service`, which need a GPU, and `first_bug`, which builds from nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = (
    "starting",
    "sealing",
    "planner",
    "walks",
    "pairs",
    "memory",
    "improve",
    "asnet",
    "gnn",
    "networks",
    "sketches",
    "families",
    "families_of_bugs",
    "processes",
    "python_policies",
    "jani",
    "safety",
    "safety_jani",
    "model_campaigns",
    "dominance",
    "testing",
    "report",
    "training",
    "fuzzing",
    "confirming",
    "storing",
    "retest",
    "reading",
    "shrinking",
    "published",
    "cluster",
    "scaling",
)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in NAMES:
        sys.stderr.write(f"== {name}\n")
        target = folder / f"{name}.json"
        with target.open("w") as out:
            code = subprocess.run(
                [sys.executable, "-m", f"benchmarks.{name}"], stdout=out
            ).returncode
        if code != 0:
            failed.append(name)
            target.unlink()
    sys.stderr.write(f"results are in {folder}; compare two of them with benchmarks.compare\n")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
