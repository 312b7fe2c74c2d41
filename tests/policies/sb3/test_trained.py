"""Agents that Stable-Baselines3 and sb3-contrib trained, read without them (made by tests/policies/trained/make.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import UnsupportedError
from misstep.policies.load import load_policy
from misstep.policies.networks import load_network, margins
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration, load_golden
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.sb3 import read_agent
from misstep.safety import System, jani_transitions
from support.jani import TINY_LINE, task

TRAINED = Path(__file__).parents[1] / "trained"
AGENTS = {
    "ppo": ("actor-critic", "tanh"),
    "maskable-elu": ("maskable", "elu:1"),
    "ppo-leaky": ("actor-critic", "leaky-relu:0.2"),
    "dqn": ("dqn", "relu"),
    "qrdqn": ("qrdqn", "relu"),
    "ars": ("ars", "relu"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_outputs_are_those_of_pytorch(name: str) -> None:
    agent = read_agent(TRAINED / f"{name}.zip")
    assert (agent.algorithm, str(agent.activation)) == AGENTS[name]
    golden = load_golden(TRAINED / f"{name}.json")
    found = mlp_network(agent.weights).evaluate(golden.inputs)
    scale = np.abs(golden.outputs).max()
    np.testing.assert_allclose(found, golden.outputs, rtol=1e-4, atol=1e-5 * scale)
    clear = margins(golden.outputs, np.ones(found.shape, np.bool_)) > 1e-5 * scale
    assert clear.sum() > 40
    assert (found.argmax(1) == golden.outputs.argmax(1))[clear].all()


@pytest.mark.parametrize("name", AGENTS)
def test_on_the_model_they_were_trained_on(name: str) -> None:
    """The decision in each state is the best output, among all labels or among those that apply."""
    own = task(TINY_LINE)
    file = TRAINED / f"{name}.zip"
    network = mlp_network(read_agent(file).weights)
    for spec, masked in ((f"sb3:--mask=on {file}", True), (f"sb3:--mask=off {file}", False)):
        loaded = load_policy(spec, own, inapplicable=None if masked else "stop_safe")
        system = System(jani_transitions(own), loaded.policy, inapplicable=loaded.inapplicable)
        seen = 0
        for state in own.initial_states():
            applicable = own.applicable(state)
            if not applicable:
                continue
            numbers = network.evaluate(np.array([state], np.float64))[0]
            among = applicable if masked else range(len(own.labels))
            best = max(among, key=lambda label: numbers[label])
            found = system.native.decision(system.id(state))
            assert found == (best if best in applicable else None)
            seen += 1
        assert seen > 0


def test_a_plain_file_is_an_agent() -> None:
    own = task(TINY_LINE)
    file = TRAINED / "maskable-elu.zip"
    assert load_policy(str(file), own).digest == load_policy(f"sb3:{file}", own).digest
    assert load_policy(str(file), own).inapplicable == "filter"
    assert load_policy(str(TRAINED / "ppo.zip"), own).inapplicable == "error"


def test_a_checkpoint_with_numbers_of_numpy() -> None:
    """Beside the weights lie a step, numpy scalars and the state of an optimiser. PyTorch is not needed."""
    path, golden = TRAINED / "ppo-actor.pt", load_golden(TRAINED / "ppo.json")
    with pytest.raises(UnsupportedError, match="does not say which activation"):
        load_network(path)
    declared = load_network(path, Declaration(activation=Activation("tanh")))
    agent = mlp_network(read_agent(TRAINED / "ppo.zip").weights)
    rows = golden.inputs
    np.testing.assert_array_equal(declared.evaluate(rows), agent.evaluate(rows))
    assert load_network(path, Declaration(golden=golden)).digest == declared.digest


def test_the_files_name_no_path_of_a_machine() -> None:
    import zipfile

    for file in TRAINED.glob("*.zip"):
        with zipfile.ZipFile(file) as archive:
            data = archive.read("data").decode()
            assert archive.namelist() == ["data", "policy.pth"]
        assert "site-packages" not in data
        assert "/" not in json.dumps(json.loads(data)["policy_class"].get("__module__"))
        assert file.stat().st_size < 50_000


def test_an_agent_with_an_interface_of_its_own(tmp_path: Path) -> None:
    own = task(TINY_LINE)
    file = tmp_path / "agent.zip"
    file.write_bytes((TRAINED / "maskable-elu.zip").read_bytes())
    names, labels = list(own.variable_names), list(own.labels)
    turned = (
        f"sb3:--inputs={','.join(reversed(names))} --outputs={','.join(reversed(labels))} {file}"
    )
    by_option = load_policy(turned, own)
    document = {
        "file": file.name,
        "input": [{"name": name} for name in reversed(names)],
        "output": labels[::-1],
    }
    (tmp_path / "agent.jani2nnet").write_text(json.dumps(document))
    assert load_policy(f"sb3:{file}", own).digest == by_option.digest
    (tmp_path / "agent.jani2nnet").unlink()
    assert load_policy(f"sb3:{file}", own).digest != by_option.digest
