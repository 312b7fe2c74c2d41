"""How good a network is: episodes without exploration, the network exactly as it is written to files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.policies.networks.network import Network, choose
from misstep.tasks.jani.episodes import Episodes, Rewards
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.environments import Tally

STREAM = 3  # of random numbers: the same episodes for every network


def evaluate(
    task: JaniTask,
    network: Network,
    columns: Sequence[int],
    *,
    episodes: int,
    horizon: int,
    seed: int = 0,
    rewards: Rewards | None = None,
    uniform_outcomes: bool = False,
) -> dict[str, Any]:
    """Means and rates over episodes from start states drawn at random.

    Every episode has random numbers of its own, so that it does not depend on how many others there are.
    """
    if network.inputs != len(columns) or network.outputs != len(task.labels):
        raise UsageError(
            f"a network of {network.inputs} inputs and {network.outputs} outputs",
            where=task.name,
            expected=f"{len(columns)} inputs and {len(task.labels)} outputs",
        )
    game = Episodes(task, rewards, uniform_outcomes=uniform_outcomes)
    randoms = [CounterRandom(seed, STREAM, number << 32) for number in range(episodes)]
    states = [game.start(random) for random in randoms]
    returns = [0.0] * episodes
    running = list(range(episodes))
    tally = Tally()
    for length in range(1, horizon + 1):
        rows = game.engine.matrix([states[i] for i in running])[:, list(columns)]
        masks = np.stack([game.mask(states[i]) for i in running])
        labels = choose(network.evaluate(np.ascontiguousarray(rows)), masks)
        going = []
        for i, label in zip(running, labels.tolist(), strict=True):
            step = game.step(states[i], label, randoms[i])
            states[i] = step.state
            returns[i] += step.reward
            if step.end or length == horizon:
                tally.add(returns[i], length, step.end)
            else:
                going.append(i)
        running = going
        if not running:
            break
    return tally.summary()


def spread(rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and range to bring inputs to about one; three digits are plenty. A constant input is only moved."""
    mean = rows.mean(axis=0, dtype=np.float64)
    deviation = rows.std(axis=0, dtype=np.float64)
    deviation[deviation < 1e-6] = 1.0
    return _rounded(mean), _rounded(deviation)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{value:.3g}") for value in values])


__all__ = ["evaluate", "spread"]
