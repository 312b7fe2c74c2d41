"""ASNets as policies, `asnet:[--device=auto|cpu|cuda] FILE`: run by the native core, or on large tasks by a GPU."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep._core import ASNet as CoreASNet
from misstep.errors import MissingDependencyError, UsageError
from misstep.policies.asnet.model_file import read_model, require_shape
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import Structure, structure_of
from misstep.policies.asnet.weights import Weights
from misstep.policies.native import NativePolicy
from misstep.policies.options import split_options, word
from misstep.policies.policy import Candidates, Policy, States, checked_states
from misstep.tasks.task import Task

# With this many operators a GPU is faster: measured by `python -m benchmarks.asnet_gpu`, see on_device.py.
GPU_OPERATORS = 3_000


class ASNetPolicy(NativePolicy):
    """Takes the applicable operator with the highest number, the first one if several have it."""

    # Finite weights can still be so large that sums overflow.
    failure = "the network gives infinite or undefined numbers"

    def __init__(
        self,
        task: Task,
        weights: Weights,
        *,
        name: str = "asnet",
        digest: str = "",
        structure: Structure | None = None,
    ) -> None:
        """`structure` is that of the task, if it is known already; computing it takes longer than all the rest."""
        self.weights = weights
        self.core = core_network(task, structure or structure_of(task, weights.shape), weights)
        super().__init__(task, self.core.policy())
        self.name = name
        self.digest = digest

    def logits(self, states: States, candidates: Candidates) -> NDArray[np.float32]:
        """The number of each candidate; the policy takes the highest."""
        return self.core.logits(checked_states(states, self.task), *candidates)


def core_network(
    task: Task,
    structure: Structure,
    weights: Weights,
    *,
    kernels: str = "",
    max_table_bits: int = 12,
) -> CoreASNet:
    """The native network. `kernels` and `max_table_bits` affect only the speed, not the result."""
    related = [rows.ravel() for rows in structure.related]
    return CoreASNet(
        task,
        slots=structure.slot_predicates,
        predicate_count=len(structure.shape.predicates),
        schema_begin=structure.schema_begin,
        operators=structure.operators,
        related=np.concatenate([np.empty(0, np.int32), *related]),
        predicate_begin=structure.predicate_begin,
        fact_variable=structure.fact_variable,
        fact_value=structure.fact_value,
        fact_goal=structure.fact_goal,
        hidden=weights.hidden,
        layers=weights.layers,
        weights=weights.flat(),
        kernels=kernels,
        max_table_bits=max_table_bits,
    )


def load(argument: str, task: Task) -> Policy:
    """The policy `asnet:[--device=auto|cpu|cuda|cuda:N] FILE`."""
    options, path = split_options(argument, "asnet", {"device": word})
    if not path:
        raise UsageError("asnet needs a file", expected="asnet:FILE")
    weights, digest = read_model(Path(path))
    require_shape(weights, shape_of(task.lifted), path)
    structure = structure_of(task, weights.shape)
    policy = ASNetPolicy(
        task, weights, name=f"asnet:{argument}", digest=digest, structure=structure
    )
    device = options.get("device", "auto")
    if device == "auto":
        device = "cuda" if pays_on_gpu(task) else "cpu"
    if device == "cpu":
        return policy
    from misstep.policies.asnet.on_device import DeviceASNet

    return DeviceASNet(policy, structure, device)


def pays_on_gpu(task: Task) -> bool:
    """Whether there is a GPU and it decides faster than a CPU core in the small batches of a campaign."""
    if task.operator_count < GPU_OPERATORS:
        return False  # Checked before PyTorch is imported, which takes longer than most tasks.
    if multiprocessing.parent_process() is not None:
        return False  # Each of several workers has its own core, but would share the GPU with all the others.
    try:
        from misstep.policies.torch_extra import torch
    except MissingDependencyError:
        return False
    return bool(torch.cuda.is_available())


__all__ = ["ASNetPolicy", "core_network", "load"]
