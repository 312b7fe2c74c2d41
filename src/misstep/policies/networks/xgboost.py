"""Tree ensembles of XGBoost, from the JSON of `Booster.save_model`; the package itself is not needed.

XGBoost compares in single precision, and a number equal to a threshold goes right. Outputs are margins:
the functions that turn them into probabilities do not change their order. A classifier of two classes has
one margin; it becomes two outputs, zero for the first class and the margin for the second.

What the file says of the start of the margins (`base_score`) is a prediction. Which margin it stands for depends on the
objective, so one that is not known is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.networks.trees import Ensemble, Leaf, Split, Tree, count, grow

KIND = "a model saved by XGBoost as JSON"
Link = Callable[[float], float]  # from a prediction to its margin


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _same(margin: float) -> float:
    return margin


_SAME = (
    *("multi:softmax", "multi:softprob", "binary:logitraw", "binary:hinge"),
    *("reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror"),
    *("reg:absoluteerror", "reg:quantileerror", "rank:pairwise", "rank:ndcg", "rank:map"),
)
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
LINKS: Mapping[str, Link] = MappingProxyType(
    dict.fromkeys(("binary:logistic", "reg:logistic"), _logit)
    | dict.fromkeys(_LOG, math.log)
    | dict.fromkeys(_SAME, _same)
)
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
        base = _base(str(parameters.get("base_score", "0")), scores, objective, where)
        if not model["trees"]:  # XGBoost takes the start for margins then
            _unsupported("a model without trees", "one that was trained", where)
        _check_rounds(learner, len(model["trees"]), scores, where)
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
        base, scores = (0.0, *base), 2
    return Ensemble(inputs, scores, True, True, tuple(trees), base)


def _base(text: str, scores: int, objective: str, where: str) -> tuple[float, ...]:
    """The margins at the start: the file has one prediction for all outputs, or one each."""
    values = parse_json(text) if text.startswith("[") else [float(text)]
    listed = tuple(_single(value) for value in values)
    if len(listed) not in (1, scores) or not all(map(math.isfinite, listed)):
        raise ValueError(f"base_score {text}")
    if objective not in LINKS:
        _unsupported(f"the objective {objective!r:.60}", f"one of {', '.join(LINKS)}", where)
    try:
        margins = tuple(map(LINKS[objective], listed))
    except (ValueError, ZeroDivisionError):
        raise InputFormatError(
            f"base_score is {text:.60}", where=where, expected=f"a prediction of {objective}"
        ) from None
    return margins * scores if len(margins) == 1 else margins


def _check_rounds(learner: dict[str, Any], trees: int, scores: int, where: str) -> None:
    """Refuse rounds after the best one: the classes for scikit-learn pass over them, and `Booster.predict` does not."""
    best = learner.get("attributes", {}).get("best_iteration")
    if best is None:
        return
    parameters = learner["gradient_booster"]["model"]["gbtree_model_param"]
    each_round = scores * max(1, int(parameters.get("num_parallel_tree", 1)))
    if (int(best) + 1) * each_round < trees:
        raise UnsupportedError(
            f"training stopped early, and the file has {trees // each_round - int(best) - 1} rounds after the best "
            "one, which some programs use and others do not",
            where=where,
            expected="the rounds that are to be used",
            hint="save booster[: booster.best_iteration + 1], or use all after booster.set_attr(best_iteration=None)",
        )


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
