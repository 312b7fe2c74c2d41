"""`misstep train --repeats`: several seeds, the best of them, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from misstep.cli.main import main
from misstep.cli.repeats import _begin, _tell
from misstep.errors import InputFileError, UsageError
from misstep.experiments.kinds import repeats, run_part
from misstep.tasks.domains import generate, write_instance
from misstep.training.qlearning.loop import LoopSettings
from support.cluster import dask_workers, local_scheduler, needs_dask
from support.jani import TINY_LINE, write

Captured = pytest.CaptureFixture[str]
TINY = ("--steps", 128, "--hidden", 4, "--checkpoints", 2, "--episodes", 4, "--horizon", 20)


def misstep(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def networks(folder: Path) -> dict[str, bytes]:
    """All networks below a folder, by name."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*.nnet"))}


# -- the best -------------------------------------------------------------------------------------


def test_the_best_by_episodes() -> None:
    def of(goal: float, unsafe: float, worth: float) -> dict[str, Any]:
        return {"test": {"goal_rate": goal, "unsafe_rate": unsafe, "return": worth}}

    assert repeats.best_of([of(0.5, 0.1, 0), of(0.9, 0.5, 0), of(0.9, 0.2, 0)]) == 2
    assert repeats.best_of([of(0.5, 0.1, 3), of(0.5, 0.1, 3)]) == 0


def test_the_best_by_tests_or_else_by_the_training() -> None:
    def of(coverage: int, solved: int, bugs: int) -> dict[str, Any]:
        test = {"tasks": 2, "coverage": coverage, "processed": 10, "solved": solved, "bugs": bugs}
        return {"test": test, "success": 0.0, "loss": None}

    assert repeats.best_of([of(1, 5, 5), of(2, 9, 1), of(2, 9, 0)]) == 2
    assert repeats.best_of([of(1, 5, 5), of(1, 5, 5)]) == 0
    without = [
        {"test": None, "success": s, "loss": own} for s, own in ((0.5, 0.1), (1.0, 0.9), (1.0, 0.2))
    ]
    assert repeats.best_of(without) == 2


def test_files_of_a_worker_stay_in_the_folder(tmp_path: Path) -> None:
    from misstep.errors import InputFormatError

    result = {"summary": {}, "place": "/there", "files": {"../outside": ""}}
    with pytest.raises(InputFormatError, match="outside"):
        repeats.kept(tmp_path / "seed-0", result)
    assert not (tmp_path / "outside").exists()


def test_a_training_that_arrives_in_part_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed while files arrive begins that training anew."""
    files = {"settings.json": "", "test/run.db": "", "a": ""}
    written = []
    monkeypatch.setattr(repeats, "write_bytes", lambda file, _: written.append(file.name))
    repeats.kept(tmp_path / "seed-0", {"summary": {}, "place": "/there", "files": files})
    assert sorted(written) == ["a", "run.db", "settings.json"]
    assert written[-1] == "settings.json"


def test_a_training_in_the_folder_of_the_command_needs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed on Ctrl-C, and would leave it behind."""
    (tmp_path / repeats.MARK).write_text("ours")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setattr(repeats, "_train", lambda *_: LoopSettings())
    folder = str(tmp_path / "seed-0")
    assert repeats.run({"folder": folder, "mark": "ours", "carried": []})["place"] == folder


@pytest.mark.parametrize("name", ["repeats.mark", "repeats.json", "seed-1"])
def test_links_in_the_folder_are_not_followed(name: str, tmp_path: Path, capsys: Captured) -> None:
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    (mine / "file").write_text("precious")
    out.mkdir()
    (out / "repeats.mark").write_text("of before")
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(mine / "file" if name.startswith("repeats") else mine)
    folders = {1: out / "seed-1"}
    if name == "seed-1":
        with pytest.raises(InputFileError, match="symbolic link"):
            _begin(out, folders, resume=True)
    else:
        mark = _begin(out, folders, resume=True)
        assert _tell({}, out, as_json=True) == 0
        assert (out / "repeats.mark").read_text() == mark
        assert json.loads((out / "repeats.json").read_text()) == json.loads(capsys.readouterr().out)
    assert [own.name for own in mine.iterdir()] == ["file"]
    assert (mine / "file").read_text() == "precious"


# -- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--jobs", 2), UsageError, "--jobs has no meaning here; expected --repeats N"),
        (("--cluster", "local:2"), UsageError, "--cluster has no meaning here"),
        (("--repeats", 2, "--jobs", 0), UsageError, "--jobs is 0"),
        (("--repeats", 2, "--jobs", 2, "--cluster", "local:2"), UsageError, "both --jobs"),
        (("--repeats", 2, "--resume"), InputFileError, "no repeats of a training"),
    ],
)
def test_bad_usage(
    tmp_path: Path, capsys: Captured, more: tuple[object, ...], code: Any, says: str
) -> None:
    pytest.importorskip("torch")
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    assert misstep("train", "qlearning", model, "--out", out, *TINY, *more) == code.exit_code
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1
    assert not out.exists()


def test_each_seed_is_trained_as_it_is_alone(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("torch")
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    words = ("train", "qlearning", model, *TINY)
    assert misstep(*words, "--out", out, "--seed", 4, "--repeats", 2, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [own["seed"] for own in told["repeats"]] == [4, 5]
    assert told["best_seed"] in (4, 5)
    assert told["best"] == str(out / f"seed-{told['best_seed']}" / "best.jani2nnet")
    assert misstep(*words, "--out", tmp_path / "alone", "--seed", 5) == 0
    assert networks(out / "seed-5") == networks(tmp_path / "alone")
    assert misstep(*words, "--out", out, "--seed", 4, "--repeats", 2) == InputFileError.exit_code
    # One more seed; what is done stays as it is.
    before = networks(out)
    assert misstep(*words, "--out", out, "--seed", 4, "--repeats", 3, "--resume") == 0
    after = networks(out)
    assert {name: after[name] for name in before} == before
    assert (out / "seed-6" / "best.nnet").exists()
    assert "<- best" in capsys.readouterr().out


@pytest.mark.soundness
def test_asnets_and_a_training_that_fails(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("torch")
    small, other = (
        write_instance(generate("gripper", balls=n), tmp_path / f"balls{n}")[1] for n in (1, 2)
    )
    words = ("train", "asnet", small.with_name("domain.pddl"), small, "--validate", other)
    tiny = ("--steps", 2, "--hidden", 4, "--layers", 1, "--pool", 4, "--epochs", 2)
    out = tmp_path / "out"
    assert misstep(*words, *tiny, "--out", out, "--repeats", 2, "--jobs", 2, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["best"].endswith("best.safetensors")
    assert all(own["test"]["tasks"] == 1 for own in told["repeats"])
    more = ("--teacher", "command:no-such-program {sas} {plan}", "--exhaustive-states", 1)
    assert misstep(*words, *tiny, *more, "--out", tmp_path / "bad", "--repeats", 2) != 0
    assert "seed 0: " in capsys.readouterr().err


def test_a_worker_that_does_not_see_the_folder(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model = write(TINY_LINE, folder=tmp_path)
    settings = {"steps": 128, "hidden": [4], "checkpoints": 2, "episodes": 4, "horizon": 20}
    payload = {
        "settings": settings,
        "more": {"init": None, "from_bugs": None, "device": "cpu"},
        "tasks": [{"name": "m", "files": [str(model)]}],
        "validate": [],
        "model": {},
        "carried": [],
        "seed": 1,
        "folder": str(tmp_path / "nowhere" / "seed-1"),
        "mark": "a mark",
    }
    there = repeats.kept(tmp_path / "got" / "seed-1", run_part("training", payload, tmp_path))
    assert not (tmp_path / "nowhere").exists()
    assert there["best"] == str(tmp_path / "got" / "seed-1" / "best.jani2nnet")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / repeats.MARK).write_text("a mark")
    here = run_part("training", {**payload, "folder": str(tmp_path / "here" / "seed-1")}, tmp_path)
    assert "files" not in here
    assert networks(tmp_path / "here" / "seed-1") == networks(tmp_path / "got" / "seed-1")


@needs_dask
@pytest.mark.soundness
def test_a_worker_that_is_killed_in_the_middle(tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("torch")
    model, out = write(TINY_LINE, folder=tmp_path), tmp_path / "out"
    long = ("--steps", 12_800, "--hidden", 4, "--checkpoints", 20, "--episodes", 4)
    words = ("train", "qlearning", model, *long, "--horizon", 20, "--repeats", 2)
    assert misstep(*words, "--out", tmp_path / "here", "--jobs", 2) == 0
    with local_scheduler(2) as (address, pid):
        killed = []

        def kill() -> None:
            while not list(out.glob("seed-*/log.jsonl")):
                time.sleep(0.05)
            killed.extend(dask_workers(pid))
            for own in killed:
                os.kill(own, signal.SIGKILL)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        assert misstep(*words, "--out", out, "--cluster", address) == 0
        thread.join()
    assert killed
    assert networks(out) == networks(tmp_path / "here")
    capsys.readouterr()
