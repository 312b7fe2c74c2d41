"""Faults out of campaigns, against the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_test
from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.tasks.generate import generate
from misstep.tasks.task import State, Task
from misstep.training.bugs import MOST, _samples, read_faults
from support.tasks import small_task
from support.worlds import World, world

POLICY = "noisy:0.3:5+optimal"


def campaign(tasks: list[Task], **options: object) -> Campaign:
    return run_test(tasks, POLICY, preset="p24", pool=30, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["blocksworld-4", "gripper-4", "ferry-3"])
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "bounds"])
def test_labels_of_faults(name: str, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact:
        monkeypatch.setattr("misstep.campaigns.planning.work.exact_distances", lambda _: None)
    truth = world(name, ())
    (found,) = read_faults(campaign([truth.task]))
    assert found.bugs > 0
    assert found.samples
    policy = load_policy(POLICY, truth.task)
    for sample in found.samples:
        (good,) = sample.good
        best = truth.h_star(sample.state)
        assert best < float("inf")
        # The policy errs in these states, and the label is better.
        chosen = int(policy.decide(np.array([sample.state.values], np.int32)).operators[0])
        assert costs(truth, sample.state, good) < costs(truth, sample.state, chosen)
        assert 2 <= sample.weight <= 1 + MOST
        if exact:
            assert costs(truth, sample.state, good) == best
            lost = costs(truth, sample.state, chosen) - best
            assert sample.weight == 1 + min(MOST, lost)
    if exact:  # every bug of this size has its fault
        assert found.unexplained == 0


def costs(truth: World, state: State, operator: int) -> float:
    return truth.task.cost(operator) + truth.h_star(truth.task.apply(state, operator))


def test_folders_and_campaigns_are_alike(tmp_path: Path) -> None:
    found = campaign([small_task("gripper-4")], out=tmp_path / "c")
    assert read_faults(found)[0].samples == read_faults(tmp_path / "c")[0].samples


def test_a_derivation_names_no_operator() -> None:
    """A fault of which only a derivation proves that something is better gives no sample."""
    truth = world("gripper-4", ())
    bug = next(bug for bug in campaign([truth.task]).bugs if bug.faults)
    assert bug.faults is not None
    blind = replace(bug, faults=tuple(replace(fault, better=None) for fault in bug.faults))
    assert list(_samples(bug))
    assert not list(_samples(blind))


def test_campaign_without_faults() -> None:
    # None means the default to `test`, so the setting comes from a tree.
    config = {"policy": POLICY, "fault_budget": "none"}
    found = run_test(small_task("gripper-4"), None, config=config, pool=5)
    with pytest.raises(
        UsageError, match="has not looked for faults; test again with a fault budget"
    ):
        read_faults(found)


def test_campaign_without_pddl() -> None:
    task = Task(small_task("gripper-4").sas, name="plain")
    with pytest.raises(UnsupportedError, match="no PDDL files"):
        read_faults(campaign([task]))


def test_campaign_without_planning_tasks() -> None:
    found = run_test(generate("two-way-line"), "first", runs=5)
    with pytest.raises(UnsupportedError, match="no planning tasks"):
        read_faults(found)


def test_training_takes_faults_in(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.training.feedback import Feedback
    from misstep.training.folder import TrainingFolder
    from misstep.training.samples import Samples
    from misstep.training.settings import LearnerSettings, TrainingSettings
    from misstep.training.trainer import resume, train
    from training.conftest import gripper

    task = small_task("gripper-4")
    faults = read_faults(campaign([task]))
    settings = TrainingSettings(
        config="line",
        epochs=2,
        n_init=1,
        hidden=4,
        learner=LearnerSettings(steps=3, batch_size=8),
        feedback=Feedback(every=0),
    )
    out = tmp_path / "out"
    summary = train([gripper(1), gripper(2)], [], out, settings, faults=faults)
    with TrainingFolder.open_folder(out) as folder:
        samples = Samples([gripper(1), gripper(2), task])
        folder.read_data(samples)
        assert samples[2].samples == faults[0].samples
        assert summary.samples == len(samples)
    before = (out / "best.safetensors").read_bytes()
    resume([gripper(1), gripper(2)], [], out, keep=1, faults=faults)
    assert (out / "best.safetensors").read_bytes() == before
