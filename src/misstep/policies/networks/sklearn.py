"""Tree ensembles of scikit-learn, from the objects in memory: it has no file format but pickles.

A single decision tree or a forest, for classification or regression. scikit-learn rounds inputs to
single precision, keeps thresholds in double precision, and lets a number equal to a threshold go left.
A classifier's leaves hold the share of each class. A forest averages; here it adds, in the same order, since numbers
that were divided before could break a tie in another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.errors import UnsupportedError
from misstep.policies.networks.trees import Ensemble, Leaf, Split, grow

# Others also have trees, but weigh them, boost them, or show each some of the features.
KNOWN = (
    *(
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ),
    *("RandomForestClassifier", "RandomForestRegressor"),
    *("ExtraTreesClassifier", "ExtraTreesRegressor"),
)


def from_sklearn(model: Any) -> Ensemble:
    """The ensemble of a fitted tree or forest; write it with `encode_ensemble`."""
    name = type(model).__name__
    own = name in KNOWN and type(model).__module__.startswith("sklearn.")
    members = list(getattr(model, "estimators_", [model]))
    if not own or not all(hasattr(member, "tree_") for member in members):
        raise UnsupportedError(f"a {name}", expected="a fitted decision tree or forest")
    classes = getattr(model, "n_classes_", None)
    if getattr(model, "n_outputs_", 1) != 1 and classes is not None:
        raise UnsupportedError(f"a {name} of several outputs", expected="one class a decision")
    outputs = int(classes) if classes is not None else int(getattr(model, "n_outputs_", 1))
    trees = []
    for member in members:
        tree = member.tree_
        # Shape (node, output, class): shares or counts of classes, or one mean for each output.
        values = tree.value[:, 0, :] if classes is not None else tree.value[:, :, 0]
        if classes is not None:
            whole = values.sum(axis=1, keepdims=True)
            if not np.allclose(whole, 1):  # scikit-learn before 1.3 counts
                values = values / whole

        def look(node: int, tree: Any = tree, values: Any = values) -> Leaf | Split:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            if left == right:
                return [float(value) for value in values[node]]
            return Split(int(tree.feature[node]), float(tree.threshold[node]), left, right)

        trees.append(grow(0, look, None, int(tree.node_count) + 1, name))
    base = tuple(np.zeros(outputs).tolist())
    return Ensemble(int(model.n_features_in_), outputs, False, True, tuple(trees), base)


__all__ = ["from_sklearn"]
