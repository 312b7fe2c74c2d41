"""Faults out of campaigns, against the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.campaigns.campaign import Campaign, start_store
from misstep.campaigns.configuration import CampaignSettings
from misstep.campaigns.store import create_store
from misstep.errors import UnsupportedError
from misstep.fuzzing.settings import preset
from misstep.tasks.task import Task
from misstep.training.bugs import MOST, read_faults
from support.tasks import small_task
from support.worlds import World, world


def campaign(folder: Path, tasks: list[Task], policy: str) -> Path:
    settings = CampaignSettings(policy, fuzzing=preset("p24", max_states=30))
    with start_store(folder, settings) as store:
        Campaign(store, settings).run(tasks)
    return folder


def check(truth: World, faults: list[object]) -> None:
    assert faults
    for sample in faults:
        h = truth.h_star(sample.state)  # type: ignore[attr-defined]
        assert h < float("inf")
        for op in sample.good:  # type: ignore[attr-defined]
            after = truth.task.apply(sample.state, op)  # type: ignore[attr-defined]
            assert truth.task.cost(op) + truth.h_star(after) == h
        assert 2 <= sample.weight <= 1 + MOST  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["blocksworld-4", "gripper-4", "ferry-3"])
@pytest.mark.parametrize("max_states", [20_000, 5], ids=["exhaustive", "astar"])
def test_labels_of_faults_are_optimal(tmp_path: Path, name: str, max_states: int) -> None:
    truth = world(name, ())
    folder = campaign(tmp_path / "c", [truth.task], "noisy:0.3:5+optimal")
    (found,) = read_faults(folder, max_states=max_states)
    assert found.bugs > 0
    check(truth, list(found.samples))
    # The policy errs in these states, and nowhere else on its runs.
    from misstep.policies.load import load_policy

    policy = load_policy("noisy:0.3:5+optimal", truth.task)
    for sample in found.samples:
        import numpy as np

        chosen = int(policy.decide(np.array([sample.state.values], np.int32)).operators[0])
        after = truth.h_star(truth.task.apply(sample.state, chosen))
        assert truth.task.cost(chosen) + after > truth.h_star(sample.state)
    # Every bug of this size has its fault.
    assert found.unexplained == 0


def test_unaffordable_proofs_give_no_samples(tmp_path: Path) -> None:
    truth = world("blocksworld-4", ())
    folder = campaign(tmp_path / "c", [truth.task], "noisy:0.3:5+optimal")
    (found,) = read_faults(folder, max_states=5, expansions=1)
    for sample in found.samples:  # what is left stands on witnesses and LM-cut
        chosen = [truth.h_star(truth.task.apply(sample.state, op)) for op in sample.good]
        assert min(chosen) < float("inf")
    assert found.bugs > 0


def test_campaign_without_pddl(tmp_path: Path) -> None:
    task = Task(small_task("gripper-4").sas, name="plain")
    folder = campaign(tmp_path / "c", [task], "noisy:0.3:5+optimal")
    with pytest.raises(UnsupportedError, match="no PDDL files"):
        read_faults(folder)


def test_campaign_without_planning_tasks(tmp_path: Path) -> None:
    create_store(tmp_path / "c", {"campaign": "safety"}).close()
    with pytest.raises(UnsupportedError, match="no planning tasks"):
        read_faults(tmp_path / "c")


def test_training_takes_faults_in(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from misstep.training.folder import TrainingFolder
    from misstep.training.samples import Samples
    from misstep.training.settings import LearnerSettings, TrainingSettings
    from misstep.training.trainer import resume, train
    from training.conftest import gripper

    task = small_task("gripper-4")
    faults = read_faults(campaign(tmp_path / "c", [task], "noisy:0.3:5+optimal"))
    settings = TrainingSettings(
        config="line",
        epochs=2,
        n_init=1,
        hidden=4,
        learner=LearnerSettings(steps=3, batch_size=8),
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
