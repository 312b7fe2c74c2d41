"""Ensembles of decision trees, and our own file format for them.

The file is JSON:

    {"format": "misstep-trees", "version": 1, "inputs": 2, "outputs": 3,
     "comparison": "le", "precision": "double", "base": [0, 0, 0],
     "trees": [{"output": 0, "nodes": [[0, 1.5, -1, -2]], "leaves": [0.25, -1.0]}]}

A node is [feature, threshold, left, right]. It goes left if the feature is below the threshold (`lt`) or at
most the threshold (`le`), after rounding the feature to `single` precision or not (`double`). A child that
is not negative is a node of the tree, and it comes after its parent; a negative one is the leaf -1 - child.
A tree adds the number of the leaf it reaches to its `output`; without one, a leaf has a number for every
output.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from misstep import _core
from misstep.errors import InputFormatError, UnsupportedError
from misstep.policies.networks.network import NativeNetwork

FORMAT = "misstep-trees"
VERSION = 1
KIND = "an ensemble of decision trees"
MAX_COUNT = 65_536  # of inputs, and of outputs
LARGEST = sys.float_info.max
COMPARISONS = {"lt": True, "le": False}
PRECISIONS = {"single": True, "double": False}

Node = tuple[int, float, int, int]  # feature, threshold, left, right
Leaf = float | Sequence[float]


class Split(NamedTuple):
    """An inner node with its children, whatever they are."""

    feature: int
    threshold: float
    left: Any
    right: Any


@dataclass
class Tree:
    output: int | None
    nodes: list[Node] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)


@dataclass(frozen=True)
class Ensemble:
    inputs: int
    outputs: int
    strict: bool
    """Left is below the threshold; otherwise at most the threshold."""
    single: bool
    """Inputs are rounded to single precision first."""
    trees: tuple[Tree, ...]
    base: tuple[float, ...]
    """What the sums start with."""


def tree_network(ensemble: Ensemble, where: str, digest: str = "") -> NativeNetwork:
    """The native network."""
    nodes = [node for tree in ensemble.trees for node in tree.nodes]
    leaves = [np.ravel(leaf) for tree in ensemble.trees for leaf in tree.leaves]
    values = np.concatenate([np.empty(0), *leaves]).astype(np.float64)
    thresholds = np.array([node[1] for node in nodes], dtype=np.float64)
    if not np.isfinite(values).all() or not np.isfinite(ensemble.base).all():
        _refuse("a leaf is infinite or undefined", where)
    if not np.isfinite(thresholds).all():
        _refuse("a threshold is infinite or undefined", where)

    def integers(numbers: Sequence[int]) -> Any:
        return np.array(numbers, dtype=np.int32)

    trees = ensemble.trees
    try:
        core = _core.Trees(
            ensemble.inputs,
            ensemble.outputs,
            strict=ensemble.strict,
            single=ensemble.single,
            nodes=integers([len(tree.nodes) for tree in trees]),
            leaves=integers([len(tree.leaves) for tree in trees]),
            tree_outputs=integers([-1 if tree.output is None else tree.output for tree in trees]),
            feature=integers([node[0] for node in nodes]),
            threshold=thresholds,
            left=integers([node[2] for node in nodes]),
            right=integers([node[3] for node in nodes]),
            values=values,
            base=np.array(ensemble.base, dtype=np.float64),
        )
    except (ValueError, OverflowError) as error:
        _refuse(str(error), where, error)
    return NativeNetwork(core, "trees", digest)


def grow(
    root: Any,
    look: Callable[[Any], Leaf | Split],
    output: int | None,
    limit: int,
    where: str,
) -> Tree:
    """A tree from nodes of any form, parents before children.

    `look` says what a node is, an inner one or the number of a leaf. At most
    `limit` nodes are visited: in a damaged file, children may lead back to their parents.
    """
    tree = Tree(output)
    waiting: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        if len(tree.nodes) + len(tree.leaves) >= limit:
            _refuse("a tree that leads back to itself", where)
        found = look(node)
        if isinstance(found, Split):
            code = len(tree.nodes)
            # Where only missing values go right, the programs write an infinite threshold. Inputs are finite.
            threshold = (
                math.copysign(LARGEST, found.threshold)
                if math.isinf(found.threshold)
                else found.threshold
            )
            tree.nodes.append((found.feature, threshold, -1, -1))
            waiting += [(found.right, code, 3), (found.left, code, 2)]
        else:
            code = ~len(tree.leaves)
            tree.leaves.append(found)
        if parent >= 0:
            f, t, left, right = tree.nodes[parent]
            tree.nodes[parent] = (f, t, code, right) if side == 2 else (f, t, left, code)
    return tree


def decode_ensemble(document: dict[str, Any], where: str) -> Ensemble:
    """From our own format."""
    if document.get("version") != VERSION:
        raise UnsupportedError(
            f"version {document.get('version')!r:.60} of the format",
            where=where,
            expected=f"version {VERSION}",
            hint="a newer Misstep may read it",
        )
    inputs, outputs = (count(document.get(key), key, where) for key in ("inputs", "outputs"))
    strict = _one_of(document, "comparison", COMPARISONS, where)
    single = _one_of(document, "precision", PRECISIONS, where)
    listed = document.get("trees")
    if not isinstance(listed, list):
        _refuse("there is no list of trees", where)
    trees = tuple(_tree(tree, number, outputs, where) for number, tree in enumerate(listed))
    base = document.get("base", [0.0] * outputs)
    if not _is_numbers(base, outputs):
        _refuse(f"base is not a list of {outputs} numbers", where)
    return Ensemble(inputs, outputs, strict, single, trees, tuple(map(float, base)))


def encode_ensemble(ensemble: Ensemble) -> str:
    document = {
        "format": FORMAT,
        "version": VERSION,
        "inputs": ensemble.inputs,
        "outputs": ensemble.outputs,
        "comparison": "lt" if ensemble.strict else "le",
        "precision": "single" if ensemble.single else "double",
        "base": list(ensemble.base),
        "trees": [
            ({} if tree.output is None else {"output": tree.output})
            | {
                "nodes": [list(node) for node in tree.nodes],
                "leaves": [x if isinstance(x, (int, float)) else list(x) for x in tree.leaves],
            }
            for tree in ensemble.trees
        ],
    }
    return json.dumps(document, allow_nan=False) + "\n"


def _tree(tree: Any, number: int, outputs: int, where: str) -> Tree:
    nodes = tree.get("nodes") if isinstance(tree, dict) else None
    leaves = tree.get("leaves") if isinstance(tree, dict) else None
    if not isinstance(nodes, list) or not isinstance(leaves, list):
        _refuse(f"tree {number} has no nodes and leaves", where)
    output = tree.get("output")
    if output is not None and not (_is_whole(output) and 0 <= output < outputs):
        _refuse(f"tree {number} has the output {output!r:.60}", where)
    for node in nodes:
        if not (_is_numbers(node, 4) and all(_is_whole(node[i]) for i in (0, 2, 3))):
            _refuse(f"tree {number} has the node {node!r:.60}", where)
    for leaf in leaves:
        if not (_is_numbers(leaf, outputs) if output is None else _is_numbers([leaf], 1)):
            _refuse(f"tree {number} has the leaf {leaf!r:.60}", where)
    return Tree(output, [tuple(node) for node in nodes], leaves)


def _one_of(document: dict[str, Any], key: str, known: dict[str, bool], where: str) -> bool:
    value = document.get(key)
    if not isinstance(value, str) or value not in known:
        _refuse(f"{key} is {value!r:.60}, not {' or '.join(known)}", where)
    return known[value]


def count(value: Any, key: str, where: str) -> int:
    """A number of inputs or outputs that can be meant."""
    if not _is_whole(value) or not 1 <= value <= MAX_COUNT:
        _refuse(f"{key} is {value!r:.60}, not a number from 1 to {MAX_COUNT}", where)
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _is_numbers(values: Any, count: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    )


def _refuse(what: str, where: str, cause: Exception | None = None) -> NoReturn:
    raise InputFormatError(what, where=where, expected=KIND) from cause


__all__ = [
    "FORMAT",
    "KIND",
    "Ensemble",
    "Split",
    "Tree",
    "count",
    "decode_ensemble",
    "encode_ensemble",
    "grow",
    "tree_network",
]
