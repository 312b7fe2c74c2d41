"""What the benchmarks share: tasks, medians, output."""

from __future__ import annotations

import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

TASKS: dict[str, tuple[str, dict[str, int]]] = {
    "blocks-10": ("blocksworld", {"blocks": 10}),
    "gripper-12": ("gripper", {"balls": 12}),
    "transport-1000": ("transport", {"vehicles": 3, "packages": 5, "locations": 11, "capacity": 3}),
    "visitall-8x8": ("visitall", {"width": 8, "height": 8}),
}


def benchmark_task(name: str) -> Task:
    domain, sizes = TASKS[name]
    folder = Path(tempfile.mkdtemp(prefix="misstep-bench-"))
    return load_task(*write_instance(generate(domain, seed=1, **sizes), folder))


def alternate(runs: int, *contestants: Callable[[], float]) -> list[float]:
    """Median result of each contestant; they take turns, so that a busy machine hits all alike."""
    results: list[list[float]] = [[] for _ in contestants]
    for _ in range(runs):
        for contestant, own in zip(contestants, results, strict=True):
            own.append(contestant())
    return [statistics.median(own) for own in results]


def remark(text: str) -> None:
    sys.stderr.write(text + "\n")


def report(name: str, results: dict[str, Any]) -> None:
    print(
        json.dumps({"benchmark": name, "machine": platform.machine(), "results": results}, indent=1)
    )
