"""The folder of a training names a teacher that is a program. It does not run without the user's word."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import MisstepError, UsageError
from misstep.oracles.registry import GROUP
from misstep.training.api import train
from support.tasks import small_task

pytest.importorskip("torch")

TINY: dict[str, Any] = {"epochs": 1, "steps": 2, "hidden": 2, "layers": 1}


def test_a_stored_command_is_not_run(tmp_path: Path) -> None:
    task, folder, mark = small_task("gripper-4"), tmp_path / "training", tmp_path / "mark"
    train(task, folder, **TINY)
    file = folder / "settings.json"
    settings = json.loads(file.read_text())
    command = f"command:touch {mark} {{sas}}"
    settings["settings"]["teacher"] = command
    file.write_text(json.dumps(settings))
    (folder / "log.jsonl").write_bytes(b"")  # so that lessons are needed
    with pytest.raises(UsageError, match="would run a program"):
        train(task, folder, resume=True, **TINY)
    assert not mark.exists()
    with pytest.raises(MisstepError, match="solves none"):
        train(task, folder, resume=True, teacher=command, **TINY)
    assert mark.exists()


def test_a_stored_oracle_of_others_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, folder = small_task("gripper-4"), tmp_path / "training"
    train(task, folder, **TINY)
    file = folder / "settings.json"
    settings = json.loads(file.read_text())
    settings["settings"]["test"]["oracle"] = "mine"
    file.write_text(json.dumps(settings))
    point = metadata.EntryPoint("mine", "no_such_module:Mine", GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [point])
    with pytest.raises(UsageError, match=r"would run code of another package.*--oracle again"):
        train(task, folder, resume=True, **TINY)
