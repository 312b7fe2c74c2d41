"""Python policies at the service, if their code asks for it.

A class or function with an attribute `service = "cuda"` (or another device) is loaded once, at the service for that
device, instead of once in each worker. The service supports only policies that decide: those that value, permit or plan
need calls that it does not offer.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np

from misstep.errors import UnsupportedError
from misstep.policies.policy import Answers, Candidates, Policy, States, checked_states
from misstep.policies.service import asked_for
from misstep.policies.service.address import surroundings_here
from misstep.policies.service.client import client_of
from misstep.policies.service.models import Model, Output, Part
from misstep.tasks.load import rebuild_task
from misstep.tasks.task import Task

HERE = "misstep.policies.service.code"
OTHER_ROLES = ("values", "permitted", "probabilities", "plan")


def device_of(code: object) -> str | None:
    """The device whose service the code asks for, if it asks for one and the settings allow it."""
    device = getattr(code, "service", None)
    if not isinstance(device, str) or any(hasattr(code, role) for role in OTHER_ROLES):
        return None
    return device if asked_for() else None


class ServedPolicy(Policy):
    """A Python policy at the service."""

    def __init__(self, task: Task, spec: str, device: str) -> None:
        super().__init__(task)
        client = client_of(device, surroundings_here())
        self._served = client.open(f"{HERE}:load", _packed(task, spec))
        about = self._served.about
        self.name = spec
        self.digest = about["digest"]
        self.deterministic = about["deterministic"]
        self.batch_size = about["batch_size"]
        self.files = tuple(about["files"])
        self.environment = about["environment"]
        self.only_decides: bool = about["only_decides"]

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among candidates")
        states = checked_states(states, self.task)
        self.task.check_batch(states)
        reply = self._served.ask(states, np.arange(len(states) + 1))
        evaluations = int(reply.columns[1].sum())
        operators = reply.columns[0].astype(np.int32)
        return Answers(operators, reply.messages, evaluations=evaluations)

    def close(self) -> None:
        self._served.close()


def served_policy(task: Task, spec: str, device: str) -> ServedPolicy | None:
    """The policy at the service; None if the policy does more than decide."""
    policy = ServedPolicy(task, spec, device)
    if policy.only_decides:
        return policy
    policy.close()
    return None


def _packed(task: Task, spec: str) -> bytes:
    source = task.source
    files = {name: base64.b64encode(own).decode() for name, own in source["files"].items()}
    return json.dumps({"spec": spec, "task": {**source, "files": files}}).encode()


# -- the service ------------------------------------------------------------------------------------


def load(content: bytes) -> PythonModel:
    from misstep.policies.load import load_policy

    message: dict[str, Any] = json.loads(content)
    source = message["task"]
    files = {name: base64.b64decode(own) for name, own in source["files"].items()}
    task = rebuild_task({**source, "files": files})
    assert isinstance(task, Task)
    policy = load_policy(message["spec"], task)
    # The digest as well: the same spec means another policy when its files have changed.
    key = hashlib.sha256(content + policy.digest.encode()).hexdigest()
    return PythonModel(key, policy)


class PythonModel(Model):
    """A Python policy on a task. Its outputs are operators and the number of evaluations for each."""

    columns = 2

    def __init__(self, key: str, policy: Policy) -> None:
        self.key = key
        self.width = policy.task.variable_count
        self._policy = policy
        self.about = {
            "digest": policy.digest,
            "deterministic": policy.deterministic,
            "batch_size": policy.batch_size,
            "files": list(policy.files),
            "environment": dict(policy.environment),
            "only_decides": not (
                policy.chooses or policy.valued or policy.set_valued or policy.plans
            ),
        }

    def evaluate(self, part: Part) -> Output:
        columns = np.zeros((2, len(part.states)))
        messages: dict[int, str] = {}
        size = max(1, self._policy.batch_size)
        for first in range(0, len(part.states), size):
            states = part.states[first : first + size]
            answers = self._policy.decide(states)
            columns[0, first : first + size] = answers.operators
            columns[1, first] = answers.evaluations
            messages.update({first + row: text for row, text in answers.messages.items()})
        return Output(columns, messages)


__all__ = ["PythonModel", "ServedPolicy", "device_of", "load", "served_policy"]
