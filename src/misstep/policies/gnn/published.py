"""Decisions as the published policy server makes them: single precision, and no tolerance.

The server adds 100,000 to the value of each successor that the network considers unsolvable. If a checkpoint has no
head for solvability, the server makes one from random weights, a different one in each process. In most cases this head
gives the same answer for all successors of a state, so the penalty itself decides nothing. But the sum is in single
precision, where numbers of that size are 0.0078 apart: values that differ by less become equal, and among equal ones
the server takes the first in the order of the actions' names. So names decide near-ties, and this module does the same.

Some random heads, however, give different answers for the successors of a state, and then a good one may be penalised.
`with_head` makes a head as the server does, so that this can be tested too.

A value close to such a rounding step may fall on either side of it in a batch of another shape. `uncertain` finds the
decisions that this could change; these are evaluated alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UsageError
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.checkpoint import Checkpoint

HEAD = "solvable_readout."
PENALTY = np.float32(100_000.0)


def with_head(checkpoint: Checkpoint, seed: int, where: str) -> Checkpoint:
    """The network with a head of random weights, each layer initialised as PyTorch does."""
    from misstep.policies.gnn.checkpoint import weight_shapes
    from misstep.policies.torch_extra import torch

    if checkpoint.has_solvable:
        raise UsageError(
            "--made-up-head, and the network has a head of its own",
            where=where,
            hint="leave it out: the server takes the network's",
        )
    random = np.random.Generator(np.random.Philox(seed))
    bound = checkpoint.width**-0.5  # the number of inputs of each layer of a head
    weights = dict(checkpoint.weights)
    for name, shape in weight_shapes(checkpoint.relations, checkpoint.width, True).items():
        if name.startswith(HEAD):
            drawn = random.uniform(-bound, bound, shape).astype(np.float32)
            weights[name] = torch.from_numpy(drawn)
    return replace(checkpoint, weights=weights, has_solvable=True)


def penalised(
    values: NDArray[np.float64], logits: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The numbers that the server compares: in single precision, all with the penalty if there is no head."""
    added = np.ones(len(values), np.float32) if logits is None else (logits <= 0).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values, which fail later
        compared: NDArray[np.float32] = values.astype(np.float32) + PENALTY * added
        return compared.astype(np.float64)


def name_ranks(task: Task) -> NDArray[np.int64]:
    """The place of each operator in the order of names."""
    names = [task.operator_name(number) for number in range(task.operator_count)]
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def choose(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], ranks: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each row with entries, the position with the lowest score, and among equal scores with the lowest rank."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((ranks, scores, rows))
    return order[offsets[:-1][np.diff(offsets) > 0]]


def uncertain(
    values: NDArray[np.float64],
    logits: NDArray[np.float64] | None,
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int64],
    noise: NDArray[np.float64],
    doubtful: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The rows in which another choice is possible if each value is off by at most its `noise`.

    Those with a doubtful logit are among them.
    """
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled) == 0:
        return filled
    chosen = choose(penalised(values, logits), offsets, ranks)
    sizes = np.diff(offsets)[filled]
    worst = np.repeat(penalised(values + noise, logits)[chosen], sizes)
    first = np.repeat(ranks[chosen], sizes)
    best = penalised(values - noise, logits)
    could_win = (best < worst) | ((best == worst) & (ranks < first))
    could_win[chosen] = False
    could_win |= doubtful
    return filled[np.logical_or.reduceat(could_win, offsets[filled])]


__all__ = ["choose", "name_ranks", "penalised", "uncertain"]
