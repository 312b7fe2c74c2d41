"""Policies of models in tests: small networks with their interfaces, and what a policy decides in every state."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.networks.mlp import Layer, MlpWeights
from misstep.policies.networks.nnet import write_nnet
from misstep.safety import System, jani_transitions
from misstep.tasks.jani.interface import write_interface
from misstep.tasks.jani.task import JaniTask, State


def system_of(task: JaniTask, handle: LabelPolicy) -> System[State, str]:
    return System(jani_transitions(task), handle.policy, inapplicable=handle.inapplicable)


def decisions(
    task: JaniTask, spec: str, *, inapplicable: str | None = None
) -> dict[State, str | None]:
    """The label of every state that is not terminal."""
    handle = load_policy(spec, task, inapplicable=inapplicable)
    system = system_of(task, handle)
    space = task.space()
    ids = [system.id(space.state(i)) for i in range(len(space)) if space.kinds[i] == 0]
    found = {}
    for id in ids:
        label = system.native.decision(id)
        found[system.state(id)] = None if label is None else system.label(label)
    handle.close()
    return found


def save(folder: Path, weights: MlpWeights, inputs: list[str], labels: list[str]) -> Path:
    write_nnet(weights, folder / "net.nnet")
    write_interface(
        folder / "net.jani2nnet", network=folder / "net.nnet", inputs=inputs, labels=labels
    )
    return folder / "net.nnet"


def constant(*outputs: float, inputs: int = 1) -> MlpWeights:
    """The same numbers in every state."""
    return MlpWeights((Layer(np.zeros((len(outputs), inputs)), np.array(outputs, dtype=float)),))


__all__ = ["constant", "decisions", "save", "system_of"]
