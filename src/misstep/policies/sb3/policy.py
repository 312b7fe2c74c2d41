"""`sb3:[--activation=tanh|relu] [--mask=on|off] FILE.zip`: agents of Stable-Baselines3, on tasks and on models.

Inputs and actions are those of the environments that Misstep makes: on a planning task a number for each fact and an
action for each operator (`misstep.tasks.gym`), on a model the variables and the labels (`misstep.tasks.jani.gym`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.labels.network import network_policy
from misstep.policies.labels.policy import LabelPolicy, Setting
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.networks.network import Network, choose
from misstep.policies.options import split_options
from misstep.policies.policy import (
    FAILED,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.sb3.agent import ACTIVATIONS, Agent, read_agent
from misstep.tasks.jani.interface import InterfaceInput, JaniInterface
from misstep.tasks.observations import FlatFacts
from misstep.tasks.task import Task


class Sb3Policy(Policy):
    """Takes the action with the highest number: among those that apply if `masked`, otherwise whatever it is."""

    def __init__(
        self, task: Task, agent: Agent, *, masked: bool | None = None, where: str = "sb3"
    ) -> None:
        super().__init__(task)
        self.agent = agent
        self.masked = agent.masked if masked is None else masked
        self.chooses = self.masked
        self.network: Network = mlp_network(agent.weights, digest=agent.digest)
        self.facts = FlatFacts(task)
        for what, has, needs in (
            ("inputs", self.network.inputs, self.facts.size),
            ("actions", self.network.outputs, task.operator_count),
        ):
            if has != needs:
                of = "facts" if what == "inputs" else "operators"
                raise UnsupportedError(
                    f"the agent has {has} {what}, and the task {needs} {of}",
                    where=where,
                    expected="an agent trained in the environment of this task",
                    hint="see misstep.tasks.gym; an agent belongs to one task",
                )
        described = f"sb3 {agent.digest} {agent.activation} {self.masked}"
        self.digest = hashlib.sha256(described.encode()).hexdigest()
        self.name = f"sb3:{where}"

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        outputs = self.network.evaluate(self.facts.rows(states).astype(np.float64))
        allowed = np.ones(outputs.shape, np.bool_)
        if self.masked:
            offsets, operators = self.all_candidates(states) if candidates is None else candidates
            allowed[:] = False
            allowed[np.repeat(np.arange(len(states)), np.diff(offsets)), operators] = True
        chosen = choose(outputs, allowed)
        failed = np.flatnonzero(chosen == FAILED).tolist()
        message = "the network gives infinite or undefined numbers"
        return Answers(chosen, dict.fromkeys(failed, message), evaluations=len(states))


def _activation(text: str) -> str:
    if text not in ACTIVATIONS:
        raise ValueError(" or ".join(ACTIVATIONS))
    return text


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("on or off")
    return text == "on"


def _parse(argument: str) -> tuple[dict[str, Any], Path]:
    options, file = split_options(argument, "sb3", {"activation": _activation, "mask": _switch})
    if not file:
        raise UsageError("an sb3 policy without a file", expected="sb3:FILE.zip")
    return options, Path(file)


def load(argument: str, task: Task) -> Sb3Policy:
    """The policy on a planning task."""
    options, path = _parse(argument)
    agent = read_agent(path, options.get("activation"))
    return Sb3Policy(task, agent, masked=options.get("mask"), where=str(path))


def load_label_policy(argument: str, setting: Setting) -> LabelPolicy:
    """The policy on a model. Without a mask, a label that does not apply is an error."""
    options, path = _parse(argument)
    agent = read_agent(path, options.get("activation"))
    interface = JaniInterface(
        inputs=tuple(InterfaceInput(name) for name in setting.task.variable_names),
        outputs=tuple(setting.task.labels),
        hidden=(),
        filter=options.get("mask", agent.masked),
        policy_file=None,
        torch_file=None,
    )
    described = hashlib.sha256(f"{agent.digest} {agent.activation}".encode()).hexdigest()
    network = mlp_network(agent.weights, digest=described)
    return network_policy(network, interface, setting, where=str(path))


__all__ = ["Sb3Policy", "load", "load_label_policy"]
