"""Small tasks of the built-in domains."""

from __future__ import annotations

from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import Task


def task_of(domain: str, seed: int = 0, **sizes: int) -> Task:
    return load_task(generate(domain, seed=seed, **sizes))


__all__ = ["task_of"]
