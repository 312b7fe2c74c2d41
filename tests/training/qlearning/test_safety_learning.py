"""Learning that uses what testing found: bugs to begin in, a network to begin with, a shield."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.campaigns.testing import test as run_test
from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.policies.networks import load_network
from misstep.safety import Answer, Decider, System
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model
from misstep.training.api import train as train_by_name
from misstep.training.qlearning.bug_states import read_bug_states
from misstep.training.qlearning.folder import QFolder
from misstep.training.qlearning.guard import Guard
from misstep.training.qlearning.settings import QSettings
from misstep.training.qlearning.start_network import read_start_network
from training.qlearning.conftest import figures, networks

pytest.importorskip("torch")
from misstep.training.qlearning.trainer import resume, train


def states_of(task: JaniTask) -> list[State]:
    space = task.space()
    return [space.state(i) for i in range(len(space))]


def safe_states(task: JaniTask) -> set[State]:
    decider = Decider(System(jani_transitions(task), "first"), "vi")
    return {state for state in states_of(task) if decider.decide(state).answer is Answer.SAFE}


# -- states to begin in ---------------------------------------------------------------------------


def test_episodes_begin_in_given_states(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    doomed = next(s for s in states_of(task) if s not in safe_states(task) and task.applicable(s))
    settings = replace(small, start_ratio=1.0)
    train(task, tmp_path / "a", settings, starts=[doomed, doomed])
    assert json.loads((tmp_path / "a" / "starts.json").read_text()) == [list(doomed)]
    assert all(line["train"]["unsafe_rate"] == 1.0 for line in figures(tmp_path / "a"))
    with pytest.raises(UsageError, match="start_ratio"):
        replace(small, start_ratio=1.5)


def test_resuming_begins_in_them_too(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    starts = [s for s in states_of(task) if task.applicable(s)]
    train(task, tmp_path / "whole", small, starts=starts)
    train(task, tmp_path / "parts", replace(small, steps=320, checkpoints=2), starts=starts)
    resume(task, tmp_path / "parts", steps=640)
    assert figures(tmp_path / "whole")[0]["step"] == figures(tmp_path / "parts")[0]["step"]
    (tmp_path / "parts" / "starts.json").write_text("7")
    with pytest.raises(InputFormatError, match="no states"):
        resume(task, tmp_path / "parts", steps=960)


def test_bugs_are_safe_states_of_this_model(task: JaniTask, tmp_path: Path) -> None:
    with run_test(task, "first", out=tmp_path / "found", runs=20) as found:
        bugs = {tuple(record.state) for record in found.bugs}
        assert bugs
    starts = set(read_bug_states(tmp_path / "found", task))
    assert bugs <= starts <= safe_states(task)
    file = tmp_path / "other.jani"
    file.write_text(generate_model("one-way-line", cells=4, packages=1).text)
    other = load_jani(file)
    with pytest.raises(UsageError, match="about another model"):
        read_bug_states(tmp_path / "found", other)


def test_a_campaign_without_bugs_is_refused(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    def stopping(state: State) -> str | None:
        safe = safe_states(task)
        for label in task.applicable(state):
            if all(outcome in safe for outcome in task.outcomes(state, label)):
                return task.labels[label]
        return None

    with run_test(task, stopping, runs=5) as found:
        assert not found.bugs
        assert read_bug_states(found, task, required=False) == []
        with pytest.raises(UsageError, match="no bug to learn from"):
            train_by_name(task, tmp_path / "out", from_bugs=found, steps=small.steps)


# -- a network to begin with ----------------------------------------------------------------------


def test_a_training_begins_with_a_network(task: JaniTask, small: QSettings, tmp_path: Path) -> None:
    train(task, tmp_path / "first", small)
    init = tmp_path / "first" / "last.jani2nnet"
    train(task, tmp_path / "second", replace(small, hidden=(3,), seed=9), init=init)
    file = load_interface(tmp_path / "second" / "init.jani2nnet").policy_file
    before = load_network(tmp_path / "first" / "last.nnet")
    assert file is not None
    rows = np.array(states_of(task), dtype=np.float64)
    assert np.allclose(load_network(file).evaluate(rows), before.evaluate(rows))
    assert json.loads((tmp_path / "second" / "settings.json").read_text())["hidden"] == list(
        small.hidden
    )
    assert networks(tmp_path / "second")["last.nnet"] != networks(tmp_path / "first")["last.nnet"]


def test_inputs_and_outputs_may_come_in_any_order(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "first", small)
    source = tmp_path / "first" / "last.jani2nnet"
    document = json.loads(source.read_text())
    document["input"] = document["input"][::-1]
    document["output"] = document["output"][::-1]
    source.write_text(json.dumps(document))
    weights, ignored = read_start_network(source, task)
    assert ignored == ()
    old = load_network(tmp_path / "first" / "last.nnet")
    rows = np.array(states_of(task), dtype=np.float64)
    from misstep.policies.networks.mlp import mlp_network

    expected = old.evaluate(np.ascontiguousarray(rows[:, ::-1]))[:, ::-1]
    assert np.allclose(mlp_network(weights).evaluate(rows), expected)


def test_networks_that_do_not_fit_are_refused(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "first", small)
    source = tmp_path / "first" / "last.jani2nnet"
    document = json.loads(source.read_text())
    changes = (
        ({"output": ["acc", "fly"]}, InputFormatError, "no output for the label dec"),
        ({"file": "x.pt"}, UnsupportedError, "in the format .nnet"),
        ({"output": ["acc"]}, InputFormatError, "has 2 outputs and its interface 1"),
        ({"activation": "tanh"}, InputFormatError, "declared as tanh, and the file says relu"),
        ({"layer-norm": "before"}, UnsupportedError, "a layer normalisation is declared"),
    )
    for change, kind, told in changes:
        source.write_text(json.dumps({**document, **change}))
        with pytest.raises(kind, match=told):
            read_start_network(source, task)


def test_a_network_that_sees_constants_is_refused(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "first", small)
    source = tmp_path / "first" / "last.jani2nnet"
    document = json.loads(source.read_text())
    document["input"][0] = {"name": "L", "automaton": None}
    source.write_text(json.dumps(document))
    with pytest.raises(UnsupportedError, match="the input L is a constant"):
        read_start_network(source, task)


def test_what_ended_before_it_began_is_no_training(
    task: JaniTask, small: QSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a loop, whose folders have fixed names, begins it anew."""
    train(task, tmp_path / "first", small)
    starts = [state for state in states_of(task) if task.applicable(state)]
    given: Any = {"starts": starts, "init": tmp_path / "first" / "last.jani2nnet"}

    def full(*_: object) -> None:
        raise InputFileError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(QFolder, "write_settings", full)
        with pytest.raises(InputFileError, match="nothing was begun"):
            train(task, tmp_path / "second", small, **given)
    assert (tmp_path / "second" / "starts.json").exists()
    train(task, tmp_path / "second", small, **given)


def test_files_of_others_stay_and_are_no_part_of_a_training(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "first", small)
    folder = tmp_path / "own"
    folder.mkdir()
    own = {"starts.json": b"[[0]]", "init.nnet": b"of the user", "init.jani2nnet": b"{}"}
    for name, content in own.items():
        (folder / name).write_bytes(content)
    starts = [state for state in states_of(task) if task.applicable(state)]
    for given in ({"starts": starts}, {"init": tmp_path / "first" / "last.jani2nnet"}):
        with pytest.raises(InputFileError, match="the file exists and differs"):
            train(task, folder, small, **given)
    train(task, folder, small)
    resume(task, folder)
    assert {name: (folder / name).read_bytes() for name in own} == own
    one, two = (tmp_path / name / "last.nnet" for name in ("first", "own"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", ["best.nnet", "state.npz"])
def test_a_training_does_not_begin_where_it_would_replace_files(
    task: JaniTask, small: QSettings, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"of the user")
    with pytest.raises(InputFileError, match="would replace this file"):
        train(task, tmp_path, small)
    assert (tmp_path / name).read_bytes() == b"of the user"


@pytest.mark.parametrize("name", ["starts.json", "init.nnet"])
def test_a_training_that_was_killed_before_it_had_all_does_not_go_on_as_another_one(
    task: JaniTask, small: QSettings, tmp_path: Path, name: str
) -> None:
    train(task, tmp_path / "first", small)
    starts = [state for state in states_of(task) if task.applicable(state)]
    init = tmp_path / "first" / "last.jani2nnet"
    train(task, tmp_path / "second", small, starts=starts, init=init)
    (tmp_path / "second" / name).unlink()
    (tmp_path / "second" / "state.npz").unlink()
    with pytest.raises(InputFormatError, match=f"stopped before it began: it has no {name}"):
        resume(task, tmp_path / "second")


# -- a shield -------------------------------------------------------------------------------------


def test_the_shield_allows_what_is_safe_and_no_more(task: JaniTask) -> None:
    engine = task.new_engine()
    guard, safe = Guard(task, engine), safe_states(task)
    for state in states_of(task):
        labels = task.applicable(state)
        if not labels:
            continue
        mask = np.zeros((1, len(task.labels)), np.bool_)
        mask[0, labels] = True
        good = [a for a in labels if all(t in safe for t in task.outcomes(state, a))]
        found = np.flatnonzero(guard.masks([engine.intern(state)], mask)[0]).tolist()
        assert found == (good or labels)


def test_no_episode_is_unsafe_under_a_shield(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    train(task, tmp_path / "plain", small)
    train(task, tmp_path / "a", replace(small, shield=True))
    train(task, tmp_path / "b", replace(small, shield=True))
    assert any(line["train"]["unsafe_rate"] > 0 for line in figures(tmp_path / "plain"))
    assert all(line["train"]["unsafe_rate"] == 0 for line in figures(tmp_path / "a"))
    assert networks(tmp_path / "a") == networks(tmp_path / "b")


def test_what_the_shield_refuses_is_learnt(
    task: JaniTask, small: QSettings, tmp_path: Path
) -> None:
    """Without its shield the network stays safe: it has heard what it must not do."""
    settings = replace(
        small, steps=3000, checkpoints=2, epsilon_steps=1500, hidden=(16,), replay=2000, shield=True
    )
    summary = train(task, tmp_path / "out", settings)
    assert summary.test["unsafe_rate"] == 0


# -- by name --------------------------------------------------------------------------------------


def test_options_of_models_by_name(task: JaniTask, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "steps": 320,
        "checkpoints": 1,
        "episodes": 4,
        "horizon": 20,
        "hidden": (4,),
    }
    train_by_name(task, tmp_path / "first", **given)
    with run_test(task, "first", out=tmp_path / "found", runs=5):
        pass
    train_by_name(
        task,
        tmp_path / "second",
        init=tmp_path / "first" / "last.jani2nnet",
        from_bugs=tmp_path / "found",
        shield=True,
        **given,
    )
    assert (tmp_path / "second" / "starts.json").exists()
    begun: list[dict[str, Any]] = [
        {"from_bugs": tmp_path / "found"},
        {"init": tmp_path / "first"},
    ]
    for option in begun:
        with pytest.raises(UsageError, match="with resume"):
            train_by_name(task, tmp_path / "second", resume=True, **option, **given)
