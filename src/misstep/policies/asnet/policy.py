"""ASNets as policies, evaluated by the native core: `asnet:FILE`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep._core import ASNet as CoreASNet
from misstep.errors import UsageError
from misstep.policies.asnet.model_file import read_model, require_shape
from misstep.policies.asnet.shape import shape_of
from misstep.policies.asnet.structure import Structure, structure_of
from misstep.policies.asnet.weights import Weights
from misstep.policies.native import NativePolicy
from misstep.policies.policy import Candidates, Policy, States, checked_states
from misstep.tasks.task import Task


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
        """`structure`, if it is at hand, is that of the task; finding it takes longer than all the rest."""
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
    """The native network. `kernels` and `max_table_bits` choose between ways to the same result."""
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
    """The policy `asnet:FILE`."""
    if not argument:
        raise UsageError("asnet needs a file", expected="asnet:FILE")
    weights, digest = read_model(Path(argument))
    require_shape(weights, shape_of(task.lifted), argument)
    return ASNetPolicy(task, weights, name=f"asnet:{argument}", digest=digest)


__all__ = ["ASNetPolicy", "core_network", "load"]
