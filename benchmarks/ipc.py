"""The competition tasks that the experiments use; they lie beside the repository where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path

from misstep.tasks.load import load_task
from misstep.tasks.task import Task

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "ipc"
THREE_EACH: dict[str, tuple[str, ...]] = {
    "blocks": ("probBLOCKS-5-0", "probBLOCKS-7-0", "probBLOCKS-9-0"),
    "gripper": ("prob01", "prob03", "prob05"),
    "satellite": ("p01-pfile1", "p03-pfile3", "p05-pfile5"),
    "storage": ("p05", "p08", "p11"),
    "transport-opt11-strips": ("p01", "p02", "p03"),
    "visitall-opt11-strips": ("problem02-full", "problem04-full", "problem05-full"),
}


def competition_tasks(domain: str) -> list[Task]:
    """Three tasks of a domain, from small to medium."""
    return [competition_task(domain, name) for name in THREE_EACH[domain]]


def competition_task(domain: str, name: str) -> Task:
    folder = FOLDER / domain
    if not folder.is_dir():
        sys.exit(f"this experiment needs the competition tasks in {FOLDER.name}/{domain}")
    task = load_task(_domain_of(folder, name), folder / f"{name}.pddl")
    task.name = f"{domain}/{name}"
    return task


def _domain_of(folder: Path, name: str) -> Path:
    own = folder / f"domain_{name}.pddl"
    return own if own.exists() else folder / "domain.pddl"
