"""Tiny trainings on the truck of three cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.settings import QSettings
from support.jani import TINY_LINE, write

pytest.importorskip("torch")

SMALL = QSettings(
    hidden=(8,),
    steps=640,
    environments=4,
    horizon=20,
    replay=256,
    batch_size=16,
    warm_up=32,
    epsilon_steps=300,
    checkpoints=4,
    episodes=8,
)


@pytest.fixture
def task(tmp_path: Path) -> JaniTask:
    return load_jani(write(TINY_LINE, folder=tmp_path))


@pytest.fixture
def small() -> QSettings:
    return replace(SMALL)


def networks(folder: Path) -> dict[str, bytes]:
    """All that a training made but times and the state."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".nnet", ".jani2nnet")
    }


def figures(folder: Path) -> list[dict[str, Any]]:
    """The log, without times."""
    import json

    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]
