"""Models for the tests of the inference service, which need no PyTorch."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UnsupportedError
from misstep.policies.gnn.policy import NOISE, Evaluated, GNNPolicy, Options
from misstep.policies.policy import Policy
from misstep.policies.service.client import Client, Served, client_of
from misstep.policies.service.models import Model, Output, Part
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.evaluator import Evaluator

LOADER = "support.served:load"


def standin(states: NDArray[np.int32], salt: int = 0) -> NDArray[np.float64]:
    """Values that look arbitrary, of which many are equal up to the tolerance of decisions."""
    weights = np.random.default_rng(salt).integers(0, 3, states.shape[1])
    fine = np.random.default_rng(salt + 1).integers(0, 5, states.shape[1])
    return (states @ weights) % 2 + (states @ fine) % 9 * 2.5e-4


class Standin(Model):
    """What it does is in its description: it may wait, end the service, fail, or count the rows of its batches."""

    def __init__(self, content: bytes) -> None:
        told = json.loads(content)
        self.key = content.decode()
        self.width = told["width"]
        self.columns = 2
        self.about = {"pid": os.getpid()}
        self._told = told
        if "asks_itself" in told:
            opened(Client("cpu"))
        if "refuse" in told:
            raise UnsupportedError(told["refuse"], where="here", hint="do not")

    def evaluate(self, part: Part) -> Output:
        told = self._told
        time.sleep(told.get("seconds", 0))
        self._obey(told)
        states = part.states
        if told.get("fails_at") is not None and (states[:, 0] == told["fails_at"]).any():
            raise ValueError("this state is too much")
        # As a network rounds differently in another company.
        noise = (np.arange(len(states)) * 7919 + len(part.offsets)) % 100 / 100 * NOISE * 0.9
        values = standin(states, told.get("salt", 0)) + noise * (len(part.offsets) > 2)
        rows = np.full(len(states), float(len(states)))
        return Output(np.stack([values, rows]))

    def _obey(self, told: dict[str, object]) -> None:
        if "once" in told:  # end the service, unless that was done before
            mark = Path(str(told["once"]))
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), 9)
        if told.get("deadly"):
            os.write(2, b"the device is on fire\n")
            os._exit(3)

    @property
    def family(self) -> object:
        return self._told.get("family", self)

    def together(
        self, models: Sequence[Model], parts: Sequence[Part]
    ) -> list[NDArray[np.float64]] | None:
        if "family" not in self._told:
            return None
        total = sum(len(part.states) for part in parts)
        outputs = []
        for model, part in zip(models, parts, strict=True):
            columns = model.evaluate(part).columns
            columns[1] = total
            outputs.append(columns)
        return outputs


def load(content: bytes) -> Standin:
    return Standin(content)


def opened(client: Client, width: int = 3, **told: object) -> Served:
    return client.open(LOADER, json.dumps({"width": width, **told}).encode())


class StandinPolicy(GNNPolicy):
    """Decides as graph networks do, by stand-in values of this process or of the service."""

    def __init__(self, task: Task, *, served: bool, **told: object) -> None:
        Policy.__init__(self, task)
        self.options = Options()
        self._ranks = None
        self._evaluator = cast("Evaluator", _Values(task, served, told))
        self.name, self.digest, self.batch_size = "standin", "standin", 4096


class _Values:
    kind = "cpu"
    steady = False

    def __init__(self, task: Task, served: bool, told: dict[str, object]) -> None:
        content = json.dumps({"width": task.variable_count, **told}).encode()
        self.served = client_of("cpu").open(LOADER, content) if served else None
        self._model = Standin(content)

    def evaluate(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> Evaluated:
        if self.served is None:
            return self._model.evaluate(Part(states, offsets)).columns[0], None
        return self.served.ask(states, offsets).columns[0], None

    def evaluate_alone(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> Evaluated:
        if self.served is None:
            return self._model.alone(Part(states, offsets)).columns[0], None
        return self.served.ask(states, offsets, alone=True).columns[0], None


def load_wordy(_: bytes) -> Standin:
    """Fails with a message that needs many packets."""
    raise UnsupportedError("too many words " * 100_000)
