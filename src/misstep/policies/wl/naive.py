"""Weisfeiler-Leman colours computed directly from their definition, to train rankers and to test the core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from misstep.policies.wl.layout import Node
from misstep.policies.wl.model_file import Key, WlModel

Lookup = Callable[[int, Key], int | None]  # iteration and key to colour, None: never met


def colours(
    graph: Sequence[Node], objects: int, iterations: int, multiset: bool, lookup: Lookup
) -> Counter[int]:
    """How often each colour occurs, over all iterations."""
    current = [lookup(0, (node.is_a,)) for node in graph]
    found = Counter(colour for colour in current if colour is not None)
    for iteration in range(1, iterations + 1):
        around: list[list[tuple[int, int | None]]] = [[] for _ in graph]
        for number, node in enumerate(graph[objects:], objects):
            for position, term in enumerate(node.terms):
                around[number].append((position, current[term]))
                around[term].append((position, current[number]))
        current = [
            _refined(own, neighbours, iteration, multiset, lookup)
            for own, neighbours in zip(current, around, strict=True)
        ]
        found.update(colour for colour in current if colour is not None)
    return found


def _refined(
    own: int | None,
    neighbours: list[tuple[int, int | None]],
    iteration: int,
    multiset: bool,
    lookup: Lookup,
) -> int | None:
    if own is None or any(colour is None for _, colour in neighbours):
        return None
    key = [own]
    for (position, colour), count in sorted(Counter(neighbours).items()):
        assert colour is not None
        key += [position, colour, count if multiset else 1]
    return lookup(iteration, tuple(key))


def value(model: WlModel, graph: Sequence[Node], objects: int) -> float:
    """The value of a state, as `WlRanker` of the core computes it."""

    def lookup(iteration: int, key: Key) -> int | None:
        return model.layers[iteration - 1].get(key) if iteration else model.initial.get(key[0])

    found = colours(graph, objects, len(model.layers), model.multiset, lookup)
    return float(sum(model.weights[colour] * count for colour, count in found.items()))


class Collector:
    """Numbers the colours of training states in the order in which it meets them."""

    def __init__(self, iterations: int, *, multiset: bool) -> None:
        self.multiset = multiset
        self.tables: list[dict[Key, int]] = [{} for _ in range(iterations + 1)]
        self.size = 0

    def collect(self, graph: Sequence[Node], objects: int) -> Counter[int]:
        return colours(graph, objects, len(self.tables) - 1, self.multiset, self._lookup)

    def _lookup(self, iteration: int, key: Key) -> int:
        table = self.tables[iteration]
        if key not in table:
            table[key] = self.size
            self.size += 1
        return table[key]

    def matrix(self, counts: Iterable[Counter[int]]) -> NDArray[np.float64]:
        """A row for each state, a column for each colour."""
        rows = list(counts)
        matrix = np.zeros((len(rows), self.size))
        for row, found in zip(matrix, rows, strict=True):
            for colour, count in found.items():
                row[colour] = count
        return matrix

    def model(
        self,
        domain: str,
        predicates: Sequence[tuple[str, int]],
        weights: NDArray[np.float64],
    ) -> WlModel:
        initial = {key[0]: colour for key, colour in self.tables[0].items()}
        return WlModel(
            domain, tuple(predicates), self.multiset, initial, tuple(self.tables[1:]), weights
        )


__all__ = ["Collector", "colours", "value"]
