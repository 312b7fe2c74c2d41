"""Decisions as the published policy server makes them: single precision, and no tolerance.

The server adds 100,000 to the value of each successor that the network takes for unsolvable. Where a checkpoint has no
head that tells, the server makes one up from random weights, another one in each process. Mostly its answer is the
same for all successors of a state, and the penalty decides nothing by itself. But the sum is in single precision, where
numbers of that size are 0.0078 apart: values that differ by less become equal, and of equal ones the server takes the
first in the order of the actions' names. So near-ties are decided by names, and that is what is done here.

There are heads, however, that tell successors of one state apart, at random, and then a good one may be penalised.
`with_head` makes up a head as the server does, so that this can be looked at too.

A value that rounding has put next to such a step might fall on either side of it in a batch of another shape.
`uncertain` finds the decisions that this could change; these are asked for alone.
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
    """The network with a head of random weights, each layer as PyTorch begins one."""
    from misstep.policies.gnn.checkpoint import weight_shapes
    from misstep.policies.torch_extra import torch

    if checkpoint.has_solvable:
        raise UsageError(
            "--made-up-head, and the network has a head of its own",
            where=where,
            hint="leave it out: the server takes the network's",
        )
    random = np.random.Generator(np.random.Philox(seed))
    bound = checkpoint.width**-0.5  # each layer of a head reads that many numbers
    weights = dict(checkpoint.weights)
    for name, shape in weight_shapes(checkpoint.relations, checkpoint.width, True).items():
        if name.startswith(HEAD):
            drawn = random.uniform(-bound, bound, shape).astype(np.float32)
            weights[name] = torch.from_numpy(drawn)
    return replace(checkpoint, weights=weights, has_solvable=True)


def penalised(
    values: NDArray[np.float64], logits: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """What the server compares: in single precision, and with the penalty for all where there is no head."""
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
    """Of each row that has any, the position with the least score, and among equal ones with the least rank."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((ranks, scores, rows))
    return order[offsets[:-1][np.diff(offsets) > 0]]


def uncertain(
    values: NDArray[np.float64],
    logits: NDArray[np.float64] | None,
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int64],
    noise: float,
) -> NDArray[np.int64]:
    """The rows in which another choice is possible if each value is off by at most `noise`."""
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
    if logits is not None:
        could_win |= np.abs(logits) < noise
    return filled[np.logical_or.reduceat(could_win, offsets[filled])]


__all__ = ["choose", "name_ranks", "penalised", "uncertain"]
