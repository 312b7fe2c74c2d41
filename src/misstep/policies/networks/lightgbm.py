"""Tree ensembles of LightGBM, from `Booster.save_model` (text) or the JSON of `Booster.dump_model`.

LightGBM compares in double precision, and a number equal to a threshold goes left. Outputs are raw
scores: sums also where it averages, which does not change their order. A classifier of two classes has
one score; it becomes two outputs, zero for the first class and the score for the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import decoded
from misstep.policies.networks.trees import Ensemble, Leaf, Split, Tree, count, grow

KIND = "a model saved by LightGBM"
_CATEGORICAL, _ZERO_IS_MISSING = 1, 1


def is_lightgbm(document: dict[str, Any]) -> bool:
    return isinstance(document.get("tree_info"), list)


def decode_dump(document: dict[str, Any], where: str) -> Ensemble:
    """From the JSON of `dump_model`."""
    try:
        trees = [
            _nested(info["tree_structure"], int(info["num_leaves"]), where)
            for info in document["tree_info"]
        ]
        return _ensemble(
            trees,
            inputs=count(int(document["max_feature_idx"]) + 1, "the number of features", where),
            each_round=count(int(document["num_tree_per_iteration"]), "num_class", where),
            objective=str(document.get("objective", "")),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        _malformed(error, where)


def decode_text(content: bytes, where: str) -> Ensemble:
    """From the text of `save_model`."""
    text = decoded(content, where, KIND)
    if text.split("\n", 1)[0].strip() != "tree":
        raise InputFormatError("the first line is not 'tree'", where=where, expected=KIND)
    if "\nend of trees" not in text:
        raise InputFormatError("the file is cut off within the trees", where=where, expected=KIND)
    head, *blocks = text.split("\nend of trees")[0].split("\nTree=")
    header = _fields(head)
    try:
        return _ensemble(
            [_arrays(_fields(block), where) for block in blocks],
            inputs=count(int(header["max_feature_idx"]) + 1, "the number of features", where),
            each_round=count(int(header["num_tree_per_iteration"]), "num_class", where),
            objective=header.get("objective", ""),
        )
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        _malformed(error, where)


def _ensemble(trees: list[Tree], *, inputs: int, each_round: int, objective: str) -> Ensemble:
    if len(trees) % each_round:
        raise ValueError(f"{len(trees)} trees in rounds of {each_round}")
    binary = each_round == 1 and objective.split(" ")[0] in ("binary", "cross_entropy")
    for number, tree in enumerate(trees):
        tree.output = number % each_round + binary
    outputs = 2 if binary else each_round
    return Ensemble(inputs, outputs, False, False, tuple(trees), (0.0,) * outputs)


def _nested(root: dict[str, Any], leaves: int, where: str) -> Tree:
    def look(node: dict[str, Any]) -> Leaf | Split:
        if "leaf_coeff" in node or "leaf_const" in node:
            _linear(where)
        if "leaf_value" in node:
            return float(node["leaf_value"])
        if node["decision_type"] != "<=":
            _unsupported("splits on categories", where)
        if node.get("missing_type") == "Zero":
            _unsupported("zero standing for a missing value", where)
        split, threshold = int(node["split_feature"]), float(node["threshold"])
        return Split(split, threshold, node["left_child"], node["right_child"])

    return grow(root, look, 0, 2 * leaves, where)


def _arrays(fields: dict[str, str], where: str) -> Tree:
    if int(fields.get("is_linear", 0)):
        _linear(where)
    values = [float(word) for word in fields["leaf_value"].split()]
    if len(values) != int(fields["num_leaves"]):
        raise ValueError(f"{len(values)} leaves instead of {fields['num_leaves']}")
    if len(values) == 1:
        return Tree(0, [], list(values))
    feature, kind, left, right = (
        [int(word) for word in fields[name].split()]
        for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    threshold = [float(word) for word in fields["threshold"].split()]
    inner: Sequence[Sequence[float]] = (feature, kind, left, right, threshold)
    if any(len(array) != len(values) - 1 for array in inner):
        raise ValueError("arrays of different length")

    def look(node: int) -> Leaf | Split:
        if node < 0:
            return values[~node]
        if kind[node] & _CATEGORICAL:
            _unsupported("splits on categories", where)
        if kind[node] >> 2 & 3 == _ZERO_IS_MISSING:
            _unsupported("zero standing for a missing value", where)
        return Split(feature[node], threshold[node], left[node], right[node])

    return grow(0, look, 0, 2 * len(values), where)


def _linear(where: str) -> NoReturn:
    _unsupported("trees with linear models in their leaves", where)


def _fields(text: str) -> dict[str, str]:
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            yield key.strip(), value.strip()


def _unsupported(what: str, where: str) -> NoReturn:
    raise UnsupportedError(what, where=where, expected="splits by thresholds")


def _malformed(error: Exception, where: str) -> NoReturn:
    raise InputFormatError(
        f"a part is missing or wrong: {type(error).__name__} {str(error)[:60]}".strip(),
        where=where,
        expected=KIND,
    ) from error


__all__ = ["decode_dump", "decode_text", "is_lightgbm"]
