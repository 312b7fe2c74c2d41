"""Tree ensembles of XGBoost, from the JSON of `Booster.save_model`; the package itself is not needed.

XGBoost compares in single precision, and a number equal to a threshold goes right. Outputs are margins:
the functions that turn them into probabilities do not change their order. A classifier of two classes has
one margin; it becomes two outputs, zero for the first class and the margin for the second.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.networks.trees import Ensemble, Leaf, Split, Tree, count, grow

KIND = "a model saved by XGBoost as JSON"
_ARRAYS = ("left_children", "right_children", "split_indices", "split_conditions")


def is_xgboost(document: dict[str, Any]) -> bool:
    return isinstance(document.get("learner"), dict)


def decode_xgboost(document: dict[str, Any], where: str) -> Ensemble:
    try:
        learner = document["learner"]
        parameters = learner["learner_model_param"]
        booster = learner["gradient_booster"]
        objective = str(learner["objective"]["name"])
        if booster["name"] != "gbtree":
            _unsupported(f"the booster {booster['name']!r:.60}", "'gbtree'", where)
        model = booster["model"]
        inputs = count(int(parameters["num_feature"]), "num_feature", where)
        classes = int(parameters.get("num_class", 0))
        targets = int(parameters.get("num_target", 1))
        scores = count(max(classes, targets, 1), "num_class", where)
        binary = scores == 1 and objective.startswith("binary:")
        base = _base(str(parameters.get("base_score", "0")), scores)
        trees = []
        for tree, output in zip(model["trees"], model["tree_info"], strict=True):
            trees.append(_tree(tree, int(output) + binary, where))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputFormatError(
            f"a part is missing or wrong: {type(error).__name__} {str(error)[:60]}".strip(),
            where=where,
            expected=KIND,
        ) from error
    if binary:
        if not 0 < base[0] < 1:
            raise InputFormatError(
                f"base_score is {base[0]}", where=where, expected="a probability"
            )
        # What is stored is the probability that the margins start from.
        base = (0.0, math.log(base[0] / (1 - base[0])))
        scores = 2
    return Ensemble(inputs, scores, True, True, tuple(trees), base)


def _base(text: str, scores: int) -> tuple[float, ...]:
    """One number for all outputs, or one each."""
    values = parse_json(text) if text.startswith("[") else [float(text)]
    listed = tuple(_single(value) for value in values)
    if len(listed) not in (1, scores) or not all(map(math.isfinite, listed)):
        raise ValueError(f"base_score {text}")
    return listed * scores if len(listed) == 1 else listed


def _tree(tree: dict[str, Any], output: int, where: str) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1) or 1) > 1:
        _unsupported("trees with several numbers in a leaf", "one output a tree", where)
    if any(tree.get("split_type", [])):
        _unsupported("splits on categories", "splits by thresholds", where)
    left, right, feature, condition = (tree[name] for name in _ARRAYS)
    if not len(left) == len(right) == len(feature) == len(condition):
        raise ValueError("arrays of different length")

    def look(node: int) -> Leaf | Split:
        if node < 0:
            raise ValueError("a child that does not exist")
        number = _single(condition[node])
        if left[node] == -1:  # a leaf keeps its number where an inner node has its threshold
            return number
        return Split(int(feature[node]), number, int(left[node]), int(right[node]))

    return grow(0, look, output, len(left) + 1, where)


def _single(value: Any) -> float:
    """A number as XGBoost has it; infinite ones are refused later on."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _unsupported(what: str, expected: str, where: str) -> NoReturn:
    raise UnsupportedError(what, where=where, expected=expected)


__all__ = ["decode_xgboost", "is_xgboost"]
