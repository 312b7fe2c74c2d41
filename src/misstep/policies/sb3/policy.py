"""`sb3:[OPTIONS] FILE.zip`: agents of Stable-Baselines3 and sb3-contrib, on tasks and on models.

Inputs and actions are those of Misstep's environments: on a planning task, one number for each fact and one action for
each operator (`misstep.tasks.gym`); on a model, the variables and the labels (`misstep.tasks.jani.gym`), or those that
the agent's interface names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import UnsupportedError, UsageError
from misstep.files import is_there
from misstep.policies.labels.network import (
    interface_of,
    network_policy,
    plain_interface,
    with_mask,
)
from misstep.policies.labels.policy import LabelPolicy, Setting
from misstep.policies.networks.mlp import mlp_network
from misstep.policies.networks.network import Network, choose
from misstep.policies.networks.options import OPTIONS, declaration_of
from misstep.policies.options import Parser, split_options
from misstep.policies.policy import (
    FAILED,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.sb3.agent import Agent, read_agent
from misstep.tasks.observations import FlatFacts
from misstep.tasks.task import Task


class Sb3Policy(Policy):
    """Takes the action with the highest output: among the applicable ones if `masked`, otherwise among all."""

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


ON_TASKS = {name: OPTIONS[name] for name in ("activation", "mask", "check")}
ON_MODELS = {name: OPTIONS[name] for name in (*ON_TASKS, "interface", "inputs", "outputs")}


def _parse(argument: str, parsers: Mapping[str, Parser]) -> tuple[dict[str, Any], Path]:
    options, file = split_options(argument, "sb3", parsers)
    if not file:
        raise UsageError("an sb3 policy without a file", expected="sb3:FILE.zip")
    return options, Path(file)


def load(argument: str, task: Task) -> Sb3Policy:
    """The policy on a planning task."""
    options, path = _parse(argument, ON_TASKS)
    agent = read_agent(path, declaration_of(options))
    return Sb3Policy(task, agent, masked=options.get("mask"), where=str(path))


def load_label_policy(argument: str, setting: Setting) -> LabelPolicy:
    """The policy on a model. Without a mask, a label that does not apply is an error."""
    options, path = _parse(argument, ON_MODELS)
    named = options.keys() & {"interface", "inputs", "outputs"} or is_there(beside(path))
    if named:
        interface, where = interface_of(options, path, setting.task)
        agent = read_agent(path, declaration_of(options, interface, where))
        if "interface" not in options and not is_there(beside(path)):
            interface = replace(interface, filter=agent.masked)
    else:
        agent, where = read_agent(path, declaration_of(options)), str(path)
        interface = plain_interface(setting.task, mask=agent.masked)
    described = hashlib.sha256(f"{agent.digest} {agent.activation}".encode()).hexdigest()
    network = mlp_network(agent.weights, digest=described)
    return network_policy(network, with_mask(interface, options), setting, where=where)


def beside(path: Path) -> Path:
    """The places where the interface of an agent may be."""
    return path.with_suffix(".jani2nnet")


__all__ = ["Sb3Policy", "load", "load_label_policy"]
