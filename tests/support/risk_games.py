"""Small games with probabilities, their exact values by brute force, and the same games as JANI models."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from misstep import _core

INNER, UNSAFE, GOAL, DEAD_END, OPEN = range(5)
Edge = list[tuple[int, float]]  # outcomes with weights
Label = list[Edge]


@dataclass(frozen=True)
class SmallGame:
    kinds: list[int]
    labels: list[list[Label]]  # by state

    @property
    def inner(self) -> list[int]:
        return [s for s, kind in enumerate(self.kinds) if kind == INNER]

    def native(self) -> _core.RiskGame:
        labels_of, edges_of, outcomes_of = [0], [0], [0]
        names: list[int] = []
        outcomes: list[int] = []
        weights: list[float] = []
        for own in self.labels:
            for number, label in enumerate(own):
                names.append(number)
                for edge in label:
                    outcomes += [outcome for outcome, _ in edge]
                    weights += [weight for _, weight in edge]
                    outcomes_of.append(len(outcomes))
                edges_of.append(len(outcomes_of) - 1)
            labels_of.append(len(names))
        return _core.RiskGame(
            np.array(self.kinds, np.uint8),
            np.array(labels_of, np.uint64),
            np.array(names, np.int32),
            np.array(edges_of, np.uint64),
            np.array(outcomes_of, np.uint64),
            np.array(outcomes, np.uint32),
            np.array(weights, np.float64),
        )

    def under(self, choices: Sequence[int]) -> SmallGame:
        """One label a state."""
        return SmallGame(
            self.kinds,
            [[own[choices[s]]] if own else [] for s, own in enumerate(self.labels)],
        )


def random_game(seed: int, *, inner: int = 4, labels: int = 2, edges: int = 1) -> SmallGame:
    draw = random.Random(seed)
    count = inner + 2
    kinds = [INNER] * inner + [UNSAFE, draw.choice((GOAL, DEAD_END))]

    def edge() -> Edge:
        targets = draw.sample(range(count), draw.randint(1, 3))
        parts = [draw.choice((1, 1, 2, 3, 7, 1000)) for _ in targets]
        # Rounded quotients, which do not sum up to one exactly.
        return [(t, part / sum(parts)) for t, part in zip(targets, parts, strict=True)]

    own: list[list[Label]] = [
        [[edge() for _ in range(draw.randint(1, edges))] for _ in range(draw.randint(1, labels))]
        for _ in range(inner)
    ]
    return SmallGame(kinds, [*own, [], []])


def exact_values(game: SmallGame) -> list[Fraction]:
    """Min over all strategies of max over all choices of edges, each by a linear system with fractions."""
    inner = game.inner
    best = [Fraction(2)] * len(game.kinds)
    for labels in product(*(range(len(game.labels[s])) for s in inner)):
        chosen = dict(zip(inner, labels, strict=True))
        worst = [Fraction(0)] * len(game.kinds)
        for edges in product(*(game.labels[s][chosen[s]] for s in inner)):
            values = exact_chain(game, dict(zip(inner, edges, strict=True)))
            worst = list(map(max, worst, values))
        best = list(map(min, best, worst))
    return best


def exact_chain(game: SmallGame, edges: dict[int, Edge]) -> list[Fraction]:
    """The probability to get unsafe in a Markov chain: 0 where it cannot, elsewhere the only solution."""
    reaching = {s for s, kind in enumerate(game.kinds) if kind == UNSAFE}
    while True:
        more = {s for s, edge in edges.items() if any(t in reaching for t, _ in edge)} - reaching
        if not more:
            break
        reaching |= more
    open_states = [s for s in edges if s in reaching]
    place = {s: i for i, s in enumerate(open_states)}
    rows = []
    for s in open_states:
        total = sum(Fraction(weight) for _, weight in edges[s])
        row = [Fraction(int(i == place[s])) for i in range(len(open_states) + 1)]
        row[-1] = Fraction(0)
        for t, weight in edges[s]:
            share = Fraction(weight) / total
            if t in place:
                row[place[t]] -= share
            elif game.kinds[t] == UNSAFE:
                row[-1] += share
        rows.append(row)
    solution = _solved(rows)
    values = [Fraction(int(kind == UNSAFE)) for kind in game.kinds]
    for s, i in place.items():
        values[s] = solution[i]
    return values


def _solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss and Jordan."""
    size = len(rows)
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        head = rows[i][i]
        rows[i] = [x / head for x in rows[i]]
        for k in range(size):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact_within(game: SmallGame, steps: int) -> list[Fraction]:
    values = [Fraction(int(kind == UNSAFE)) for kind in game.kinds]
    for _ in range(steps):
        values = [
            min(max(_mean(edge, values) for edge in label) for label in own) if own else values[s]
            for s, own in enumerate(game.labels)
        ]
    return values


def _mean(edge: Edge, values: Sequence[Fraction]) -> Fraction:
    total = sum(Fraction(weight) for _, weight in edge)
    return sum((Fraction(weight) * values[t] for t, weight in edge), Fraction(0)) / total


def as_jani(game: SmallGame, start: int = 0) -> dict[str, Any]:
    """The same game as a model with one variable; labels a0, a1, ..."""
    most = max((len(own) for own in game.labels), default=1)
    unsafe = [s for s, kind in enumerate(game.kinds) if kind == UNSAFE]
    goals = [s for s, kind in enumerate(game.kinds) if kind == GOAL]
    return {
        "jani-version": 1,
        "name": "small",
        "type": "mdp",
        "actions": [{"name": f"a{i}"} for i in range(most)],
        "variables": [
            {
                "name": "s",
                "type": {
                    "kind": "bounded",
                    "base": "int",
                    "lower-bound": 0,
                    "upper-bound": len(game.kinds) - 1,
                },
                "initial-value": start,
            }
        ],
        "automata": [
            {
                "name": "m",
                "locations": [{"name": "l"}],
                "initial-locations": ["l"],
                "edges": list(_edges(game)),
            }
        ],
        "system": {
            "elements": [{"automaton": "m"}],
            "syncs": [{"synchronise": [f"a{i}"], "result": f"a{i}"} for i in range(most)],
        },
        "properties": [
            {
                "name": "safety",
                "expression": {
                    "op": "PA",
                    "start": {
                        "op": "state-condition",
                        "exp": {"op": "=", "left": "s", "right": start},
                    },
                    "reach": {"op": "state-condition", "exp": _one_of(unsafe)},
                    "objective": {
                        "op": "objective",
                        "goal": {"op": "state-condition", "exp": _one_of(goals)},
                    },
                },
            }
        ],
    }


def _edges(game: SmallGame) -> Iterator[dict[str, Any]]:
    for s, own in enumerate(game.labels):
        for number, label in enumerate(own):
            for edge in label:
                yield {
                    "location": "l",
                    "action": f"a{number}",
                    "guard": {"exp": {"op": "=", "left": "s", "right": s}},
                    "destinations": [
                        {
                            "location": "l",
                            "probability": {"exp": weight},
                            "assignments": [{"ref": "s", "value": t}],
                        }
                        for t, weight in edge
                    ],
                }


def _one_of(states: Sequence[int]) -> Any:
    found: Any = False
    for s in states:
        found = {"op": "\u2228", "left": found, "right": {"op": "=", "left": "s", "right": s}}
    return found


def write(model: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(model, ensure_ascii=False), encoding="utf-8")
    return path
