"""The folder of a training that is resumed is damaged, or comes from a stranger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attack.fuzzing.trained import model, training_seeds, unpacked
from misstep.errors import InputFileError, InputFormatError
from misstep.tasks.task import Task
from misstep.training.folder import TrainingFolder
from misstep.training.qlearning.loop import LoopSettings, _begin
from misstep.training.qlearning.settings import QSettings
from misstep.training.samples import Samples
from misstep.training.settings import TrainingSettings
from misstep.training.tree import Node
from support.tasks import small_task


def settings(**changed: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps({**TrainingSettings().as_dict(), **changed}))
    return found


WRONG: dict[str, list[object]] = {
    "epochs": ["x", 1.5, True, None, -1, 10**30],
    "config": [[], "nothing", 7],
    "learner": [[], {**TrainingSettings().as_dict()["learner"], "decay": []}],
    "unit_costs": [1],
    "unknown": [1],
}


@pytest.mark.parametrize("changed", [{name: own} for name in WRONG for own in WRONG[name]])
def test_settings_of_another_form(changed: dict[str, object]) -> None:
    with pytest.raises(InputFormatError, match="damaged"):
        TrainingSettings.from_dict(settings(**changed), "x")
    assert TrainingSettings.from_dict(settings(), "x") == TrainingSettings()


@pytest.mark.parametrize(
    "changed",
    [
        {"ignore": [[]]},
        {"hidden": "x"},
        {"hidden": []},
        {"gamma": "x"},
        {"steps": 0},
        {"rewards": 1},
    ],
)
def test_settings_of_q_learning(changed: dict[str, object]) -> None:
    usual = json.loads(json.dumps(QSettings().as_dict()))
    with pytest.raises(InputFormatError, match="damaged"):
        QSettings.from_dict({**usual, **changed}, "x")
    assert QSettings.from_dict(usual, "x") == QSettings()


@pytest.mark.parametrize(
    "changed",
    [{"parent": "x"}, {"success": 2}, {"samples": -1}, {"results": [{}]}, {"seconds": []}],
)
def test_records_of_models(changed: dict[str, object]) -> None:
    node = Node(0, None, 0, 7, None, 0.5, 3, "d")
    with pytest.raises(InputFormatError, match="damaged"):
        Node.from_dict({**node.as_dict(), **changed}, "x")
    assert Node.from_dict(json.loads(json.dumps(node.as_dict())), "x") == node


DATA = {
    "states0": np.zeros((2, 99), np.int32),
    "counts0": np.array([-5, 5], np.int32),
    "good0": np.array([10**6], np.int32),
    "weights0": np.array([np.nan]),
    "failed0": np.zeros(3),
}


@pytest.mark.parametrize("name", DATA)
def test_data_that_does_not_fit_the_task(tmp_path: Path, name: str) -> None:
    task: Task = small_task("ferry-3")
    with TrainingFolder.open_folder(unpacked(training_seeds()[0], tmp_path)) as folder:
        folder.read_data(Samples([task], single=True))
        kinds = ("states", "counts", "good", "weights", "failed")
        arrays = folder.read_arrays("data/0000.npz", [f"{kind}0" for kind in kinds])
        folder.write_arrays("data/0000.npz", {**arrays, name: DATA[name]})
        with pytest.raises(InputFormatError, match="damaged"):
            folder.read_data(Samples([task], single=True))


@pytest.mark.parametrize(
    "place",
    ["bugs", "plain", "first", "bugs/round-0", "bugs/round-1/test", "plain/round-1/learning"],
)
def test_links_in_a_loop(tmp_path: Path, place: str) -> None:
    out, elsewhere = tmp_path / "loop", tmp_path / "elsewhere"
    elsewhere.mkdir()
    _begin(model(), None, out, LoopSettings(), resume=False)
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).symlink_to(elsewhere)
    with pytest.raises(InputFileError, match="symbolic link"):
        _begin(model(), None, out, LoopSettings(), resume=True)


@pytest.mark.parametrize("name", ["loop.json", "rounds.jsonl"])
def test_files_of_a_loop_that_are_links(tmp_path: Path, name: str) -> None:
    out, precious = tmp_path / "loop", tmp_path / "precious"
    _begin(model(), None, out, LoopSettings(), resume=False)
    precious.write_bytes((out / "loop.json").read_bytes())
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(precious)
    with pytest.raises(InputFileError, match="symbolic link"):
        _begin(model(), None, out, LoopSettings(), resume=True)
