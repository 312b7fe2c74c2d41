"""Train a Weisfeiler-Leman ranker by least squares and write it in wlplan's format.

    python examples/train_wl_ranker.py ferry-wl.model

The labels are the exact distances to the goal in all states of a few small ferry tasks. The ranker is then tested on a
larger task, where it is not perfect.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import misstep
from misstep.policies.wl.layout import layout_of
from misstep.policies.wl.model_file import write_model
from misstep.policies.wl.naive import Collector
from misstep.tasks.census import state_space

ITERATIONS = 1
TASKS = [
    misstep.load_task(misstep.generate("ferry", cars=cars, locations=locations, seed=seed))
    for cars, locations in ((1, 2), (2, 2), (1, 3), (2, 3))
    for seed in (0, 1)
]


def train(out: Path) -> None:
    collector = Collector(ITERATIONS, multiset=False)
    lifted = TASKS[0].lifted
    predicates = sorted((predicate.name, predicate.arity) for predicate in lifted.predicates)
    counts, labels = [], []
    for task in TASKS:
        layout = layout_of(task, predicates)
        space = state_space(task, max_states=10_000)
        for values, distance in zip(space.states(), space.h_star, strict=True):
            counts.append(collector.collect(layout.graph(values.tolist()), layout.objects))
            labels.append(float(distance))
    features = collector.matrix(counts)
    # A small penalty: many colours always occur together, and their weights are shared out evenly.
    square = features.T @ features + 1e-3 * np.eye(collector.size)
    weights = np.round(np.linalg.solve(square, features.T @ np.array(labels)), 6)
    model = collector.model(lifted.domain_name, predicates, weights)
    write_model(model, out, {"optimisation": "least squares", "iterations": ITERATIONS})
    error = np.abs(features @ weights - labels).mean()
    print(f"{len(labels)} states, {collector.size} colours, mean error {error:.2f}")


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "ferry-wl.model")
    train(out)
    task = misstep.load_task(misstep.generate("ferry", cars=3, locations=4, seed=1))
    found = misstep.test(task, f"wl:{out}", pool=50, seed=1)
    print(f"{len(found.bugs)} bugs in {len(found.records)} states of {task.name}")
