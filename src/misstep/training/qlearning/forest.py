"""Ensembles of trees fitted to the values of a network, by gradient boosting.

A tree's leaves hold a number for every label. The trees are fitted to the difference between each label's value and the
best applicable one: only this determines the policy, and it needs fewer leaves than the values themselves. Labels that
do not apply in a state are ignored there. Each tree is fitted to the remaining error and removes a share of it.

The states come from the network's own episodes, with some random labels in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.policies.networks.network import Network, choose
from misstep.policies.networks.trees import Ensemble, Split, Tree, grow
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.environments import Environments, usable
from misstep.training.qlearning.settings import QSettings

Floats = NDArray[np.float64]
STREAM = 13  # of random numbers
DIGITS = 4  # of the numbers in leaves


@dataclass(frozen=True)
class ForestSettings:
    trees: int = 20
    depth: int = 5
    rate: float = 0.3  # share of the rest that a tree takes over
    rows: int = 20_000  # states to fit to
    thresholds: int = 32  # tried for each input
    least: int = 10  # states in a leaf
    random_labels: float = 0.1
    seed: int = 0


class Sample(NamedTuple):
    rows: Floats
    masks: NDArray[np.bool_]
    values: Floats  # of the labels


def collect(
    task: JaniTask,
    network: Network,
    columns: Sequence[int],
    horizon: int,
    settings: ForestSettings,
    starts: Sequence[State] = (),
) -> Sample:
    """States that the network meets, with its values."""
    random = CounterRandom(settings.seed, STREAM)
    own = QSettings()
    environments = Environments(
        task,
        own.rewards,
        columns,
        count=own.environments,
        horizon=horizon,
        random=random,
        starts=usable(task, starts),
        ratio=1.0,
    )
    rows, masks = [], []
    for _ in range(max(1, settings.rows // own.environments)):
        rows.append(environments.observations().astype(np.float64))
        masks.append(environments.masks())
        labels = choose(network.evaluate(rows[-1]), masks[-1]).tolist()
        for i, mask in enumerate(masks[-1]):
            if random.real() < settings.random_labels:
                possible = np.flatnonzero(mask)
                labels[i] = int(possible[random.below(len(possible))])
        environments.step(labels)
    matrix = np.concatenate(rows)
    return Sample(matrix, np.concatenate(masks), network.evaluate(matrix))


def fit_forest(sample: Sample, settings: ForestSettings | None = None) -> Ensemble:
    settings = settings or ForestSettings()
    masks = sample.masks
    best = np.where(masks, sample.values, -np.inf).max(axis=1, keepdims=True)
    rest = np.where(masks, sample.values - best, 0.0)
    base = _means(rest, masks)
    rest = np.where(masks, rest - base, 0.0)
    quantiles = np.linspace(0, 1, settings.thresholds + 2)[1:-1]
    cuts = [_between(_short(np.quantile(column, quantiles)), column) for column in sample.rows.T]
    # In which interval between the cuts of its input each number lies: what is left of cut k is what lies in 0 to k.
    places = [
        np.searchsorted(own, column, side="left")
        for own, column in zip(cuts, sample.rows.T, strict=True)
    ]
    trees = []
    for _ in range(settings.trees):
        fitter = _Fitter(sample.rows, places, rest, masks, cuts, settings)
        everything = np.arange(len(rest))
        trees.append(grow((everything, 0), fitter.look, None, 2 ** (settings.depth + 2), "forest"))
        rest = np.where(masks, rest - fitter.predicted, 0.0)
    inputs, outputs = sample.rows.shape[1], sample.values.shape[1]
    start = tuple(float(f"{value:.{DIGITS}g}") for value in base)
    return Ensemble(inputs, outputs, False, False, tuple(_rounded(t) for t in trees), start)


class _Fitter:
    """Grows one tree on the remaining error; `predicted` is its share of that."""

    def __init__(
        self,
        rows: Floats,
        places: list[NDArray[np.intp]],
        rest: Floats,
        masks: NDArray[np.bool_],
        cuts: list[Floats],
        settings: ForestSettings,
    ) -> None:
        self.rows, self.rest, self.masks, self.cuts = rows, rest, masks, cuts
        self.places = places
        self.settings = settings
        self.predicted = np.zeros_like(rest)

    def look(self, node: tuple[NDArray[np.intp], int]) -> Split | list[float]:
        chosen, depth = node
        found = None
        if depth < self.settings.depth and len(chosen) >= 2 * self.settings.least:
            found = self._best(chosen)
        if found is None:
            values = self.settings.rate * _means(self.rest[chosen], self.masks[chosen])
            self.predicted[chosen] = values
            return [float(value) for value in values]
        feature, threshold = found
        left = self.rows[chosen, feature] <= threshold
        return Split(feature, threshold, (chosen[left], depth + 1), (chosen[~left], depth + 1))

    def _best(self, chosen: NDArray[np.intp]) -> tuple[int, float] | None:
        """The split that explains most: the sum of squares that the means of both sides account for."""
        rest, masks = self.rest[chosen], self.masks[chosen].astype(np.float64)
        whole, counts = rest.sum(axis=0), masks.sum(axis=0)
        best, found = float(_explained(whole, counts)) + 1e-9, None
        for feature, cuts in enumerate(self.cuts):
            if not len(cuts):
                continue
            place = self.places[feature][chosen]
            bins = len(cuts) + 1
            sizes = np.cumsum(np.bincount(place, minlength=bins))[:-1]
            sums, seen = _left_of(place, rest, bins), _left_of(place, masks, bins)
            gains = _explained(sums, seen) + _explained(whole - sums, counts - seen)
            least = self.settings.least
            gains[(sizes < least) | (len(chosen) - sizes < least)] = -np.inf
            top = int(gains.argmax())
            if gains[top] > best:
                best, found = float(gains[top]), (feature, float(cuts[top]))
        return found


def _explained(sums: Floats, counts: Floats) -> Floats:
    return np.asarray((sums**2 / np.maximum(counts, 1)).sum(axis=-1))


def _left_of(place: NDArray[np.intp], columns: Floats, bins: int) -> Floats:
    """The sums of the columns left of each cut."""
    sums = [np.bincount(place, column, bins) for column in columns.T]
    left: Floats = np.cumsum(np.stack(sums, axis=1).astype(np.float64), axis=0)[:-1]
    return left


def _means(rest: Floats, masks: NDArray[np.bool_]) -> Floats:
    return np.asarray(rest.sum(axis=0) / np.maximum(masks.sum(axis=0), 1))


def _between(cuts: Floats, column: Floats) -> Floats:
    """A threshold at the largest value would leave nothing on its right."""
    smaller: Floats = cuts[cuts < column.max()]
    return smaller


def _short(values: Floats) -> Floats:
    return np.unique([float(f"{value:.6g}") for value in values])


def _rounded(tree: Tree) -> Tree:
    leaves = [[float(f"{value:.{DIGITS}g}") for value in np.ravel(leaf)] for leaf in tree.leaves]
    return Tree(tree.output, tree.nodes, list(leaves))


def agreement(sample: Sample, network: Network) -> float:
    """In which share of the states the network chooses what the sample's values choose."""
    own = choose(network.evaluate(sample.rows), sample.masks)
    return float((own == choose(sample.values, sample.masks)).mean())


__all__ = ["ForestSettings", "Sample", "agreement", "collect", "fit_forest"]
