"""The random half of the initial embeddings, fixed by a seed.

The published networks draw it anew for every evaluation. A policy under test must be a function of
the state, so here every object has fixed numbers, which depend only on the seed and its index.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom


def object_noise(seed: int, objects: int, width: int) -> NDArray[np.float32]:
    """Standard normal numbers, one row per object, by the method of Box and Muller."""
    noise = np.empty((objects, width))
    for index in range(objects):
        random = CounterRandom(seed, index)
        for column in range(0, width, 2):
            radius = math.sqrt(-2 * math.log(1 - random.real()))
            angle = 2 * math.pi * random.real()
            noise[index, column] = radius * math.cos(angle)
            if column + 1 < width:
                noise[index, column + 1] = radius * math.sin(angle)
    return noise.astype(np.float32)


__all__ = ["object_noise"]
