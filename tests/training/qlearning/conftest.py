"""Tiny trainings on the truck of three cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.settings import QSettings
from support.jani import TINY_LINE, write
from support.qlearning import small_settings

pytest.importorskip("torch")


@pytest.fixture
def task(tmp_path: Path) -> JaniTask:
    return load_jani(write(TINY_LINE, folder=tmp_path))


@pytest.fixture
def small() -> QSettings:
    return small_settings()


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
