"""Trainings: repeatable, resumable, interruptible, and they learn."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, InputFormatError, Interrupted, UsageError
from misstep.policies.networks import load_network
from misstep.tasks.jani.interface import JaniInterface, load_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning import environments
from misstep.training.qlearning.evaluate import spread
from misstep.training.qlearning.settings import QSettings
from support.disk import files_up_to
from support.jani import TINY_LINE, write
from training.qlearning.conftest import figures, networks

pytest.importorskip("torch")
from misstep.training.qlearning.trainer import resume, train


def test_learns_to_stop_the_truck(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    settings = replace(
        small, steps=4000, epsilon_steps=2000, hidden=(16,), stop_at=1.0, replay=2000
    )
    summary = train(task, tmp_path / "out", settings)
    assert summary.test["goal_rate"] == 1.0
    assert summary.stopped
    assert summary.steps < 4000


def test_the_seed_decides(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(task, tmp_path / name, replace(small, seed=seed))
    assert networks(tmp_path / "a") == networks(tmp_path / "b")
    assert figures(tmp_path / "a") == figures(tmp_path / "b")
    assert networks(tmp_path / "a") != networks(tmp_path / "c")


def test_checkpoints_are_kept_with_figures(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    seen: list[dict[str, Any]] = []
    summary = train(task, tmp_path / "out", small, report=seen.append)
    lines = figures(tmp_path / "out")
    assert [line["step"] for line in lines] == [160, 320, 480, 640]
    assert [line["step"] for line in seen] == [160, 320, 480, 640]
    assert summary.checkpoints == 4
    assert summary.updates == (640 - 32) // small.update_every + 1
    for line in lines:
        assert line["train"]["episodes"] > 0
        assert line["test"]["episodes"] == small.episodes
        assert line["test"]["goal_rate"] + line["test"]["unsafe_rate"] <= 1
        interface = load_interface(tmp_path / "out" / line["network"])
        network = load_network(_network(interface))
        assert (network.inputs, network.outputs) == (3, 2)
        assert interface.outputs == task.labels
        assert interface.hidden == small.hidden
    best = _network(load_interface(Path(summary.best))).read_bytes()
    assert best in networks(tmp_path / "out").values()


def test_interrupted_and_resumed_it_is_the_same(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "whole", small)

    def interrupt(_: dict[str, Any]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="all is kept"):
        train(task, tmp_path / "parts", small, report=interrupt)
    with pytest.raises(Interrupted):
        resume(task, tmp_path / "parts", report=interrupt)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(figures(tmp_path / "parts")) == 2
    assert (tmp_path / "parts" / "last.jani2nnet").exists()
    resume(task, tmp_path / "parts")
    assert networks(tmp_path / "parts") == networks(tmp_path / "whole")
    assert figures(tmp_path / "parts") == figures(tmp_path / "whole")


def test_many_environments_do_not_make_the_walks_long(
    task: JaniTask, small: QSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They only show how far the inputs spread."""
    rows = []

    def noting(own: Any) -> Any:
        rows.append(len(own))
        return spread(own)

    monkeypatch.setattr("misstep.training.qlearning.trainer.spread", noting)
    for count in (2, 1000):
        train(task, tmp_path / str(count), replace(small, environments=count, steps=10))
    assert rows == [200 * 2, 200 * 64]


def interrupted_at(monkeypatch: pytest.MonkeyPatch, number: int, how: int) -> None:
    """A signal in the middle of a step of the training."""
    calls = 0
    step = environments.Environments.step

    def counted(self: environments.Environments, labels: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 200 + number:  # the first 200 are the walks before training
            os.kill(os.getpid(), how)
        return step(self, labels)

    monkeypatch.setattr(environments.Environments, "step", counted)


def test_interrupted_between_checkpoints(
    task: JaniTask, small: QSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(task, tmp_path / "whole", small)
    interrupted_at(monkeypatch, 57, signal.SIGTERM)
    with pytest.raises(Interrupted, match="228 steps"):
        train(task, tmp_path / "parts", small)
    resume(task, tmp_path / "parts")
    assert networks(tmp_path / "parts") == networks(tmp_path / "whole")
    assert figures(tmp_path / "parts") == figures(tmp_path / "whole")


def test_killed_after_the_state_was_written(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    """The state of an earlier checkpoint, with files and lines of later ones around."""
    out = tmp_path / "out"

    def keep(line: dict[str, Any]) -> None:
        if line["step"] == 160:
            shutil.copy(out / "state.npz", tmp_path / "state.npz")

    train(task, out, small, report=keep)
    whole, lines = networks(out), figures(out)
    shutil.copy(tmp_path / "state.npz", out / "state.npz")
    assert resume(task, out).checkpoints == 4
    assert networks(out) == whole
    assert figures(out) == lines


@pytest.mark.parametrize(("size", "file"), [(900, "last"), (4_000, "state.npz")])
def test_full_disk(task: JaniTask, small: QSettings, tmp_path: Path, size: int, file: str) -> None:
    train(task, tmp_path / "whole", small)
    out = tmp_path / "out"
    with files_up_to(size):
        with pytest.raises(InputFileError, match=r"cannot write.*--resume") as refused:
            train(task, out, small)
        assert file in str(refused.value.where)
        with pytest.raises(InputFileError, match=r"cannot write.*--resume"):
            resume(task, out)
        assert not list(out.rglob(".*"))
    resume(task, out)
    assert networks(out) == networks(tmp_path / "whole")
    assert figures(out) == figures(tmp_path / "whole")


def test_goes_on_for_more_steps(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    train(task, tmp_path / "whole", small)
    train(task, tmp_path / "parts", replace(small, steps=320, checkpoints=2))
    assert resume(task, tmp_path / "parts", steps=640).steps == 640
    assert networks(tmp_path / "parts") == networks(tmp_path / "whole")


def test_resumed_for_fewer_steps_than_it_has(
    task: JaniTask, small: QSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_at(monkeypatch, 20, signal.SIGINT)
    with pytest.raises(Interrupted, match="80 steps"):
        train(task, tmp_path / "out", small)
    summary = resume(task, tmp_path / "out", steps=8)
    assert (summary.steps, summary.checkpoints) == (80, 1)


def test_a_full_engine_is_replaced_without_a_trace(
    task: JaniTask, small: QSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(task, tmp_path / "usual", small)
    monkeypatch.setattr(environments, "ENGINE_BYTES", 0)
    train(task, tmp_path / "fresh", small)
    assert networks(tmp_path / "fresh") == networks(tmp_path / "usual")


def test_a_policy_may_be_blind(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    summary = train(task, tmp_path / "out", replace(small, ignore=("crash",)))
    interface = load_interface(Path(summary.best))
    assert [item.name for item in interface.inputs] == ["pos", "vel"]
    assert load_network(_network(interface)).inputs == 2


def test_what_is_refused(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no variable speed"):
        train(task, tmp_path / "out", replace(small, ignore=("speed",)))
    with pytest.raises(UsageError, match="no variable at all"):
        train(task, tmp_path / "out", replace(small, ignore=("pos", "vel", "crash")))
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputFileError, match="no training"):
        resume(task, tmp_path / "out")
    short = replace(small, steps=160, checkpoints=1)
    train(task, tmp_path / "out", short)
    with pytest.raises(InputFileError, match="--resume"):
        train(task, tmp_path / "out", short)
    (tmp_path / "other").mkdir()
    other = load_jani(
        write({**TINY_LINE, "name": "another"}, "other.jani", folder=tmp_path / "other")
    )
    with pytest.raises(UsageError, match="another task"):
        resume(other, tmp_path / "out")
    state = tmp_path / "out" / "state.npz"
    state.write_bytes(state.read_bytes()[:500])
    with pytest.raises(InputFormatError, match="damaged"):
        resume(task, tmp_path / "out", steps=320)


def _network(interface: JaniInterface) -> Path:
    assert interface.policy_file is not None
    return interface.policy_file


def test_start_states_where_nothing_can_be_done(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    """A file that was changed: episodes begin elsewhere, instead of failing in the middle of the training."""
    engine = task.new_engine()
    ended = next(
        state
        for position in range(20)
        for state in [(position, *[0] * (len(task.variable_names) - 1))]
        if _is_terminal(engine, state)
    )
    train(task, tmp_path / "out", small)
    (tmp_path / "out" / "starts.json").write_text(f"[{list(ended)}]")
    (tmp_path / "out" / "state.npz").unlink()
    assert resume(task, tmp_path / "out").steps == small.steps


def _is_terminal(engine: Any, state: tuple[int, ...]) -> bool:
    try:
        return bool(engine.is_terminal(engine.intern(state)))
    except Exception:  # not a state of the model
        return False
