"""Folders as a stranger may send them: made by a normal campaign, then changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from misstep.campaigns.testing import test as run_campaign
from support.campaigns import BATCHES, NOISY, SHARING, small_model
from support.tasks import small_task


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A campaign of each world that found bugs; not to be changed."""
    place = tmp_path_factory.mktemp("normal")
    run_campaign(
        small_task("gripper-4"), NOISY, out=place / "task", pool=12, oracle="exact", config=SHARING
    ).close()
    run_campaign(
        small_model("one-way-line"), "random:1", out=place / "model", runs=30, config=BATCHES
    ).close()
    return {"task": place / "task", "model": place / "model"}


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the planning campaign, to be changed."""
    return Path(shutil.copytree(folders["task"], tmp_path / "found"))


@pytest.fixture
def model_folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["model"], tmp_path / "model"))
