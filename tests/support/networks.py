"""Networks evaluated the plain way, and random ones to compare with."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.policies.networks.activation import Activation
from misstep.policies.networks.mlp import Layer, MlpWeights, Norm, Normalisation
from misstep.policies.networks.trees import Ensemble, Split, Tree, grow

Rows = NDArray[np.float64]

# A model of one tree as LightGBM writes it.
# Small trees as the two programs write them.
XGBOOST = {
    "learner": {
        "learner_model_param": {"base_score": "[5E-1,1E0]", "num_class": "2", "num_feature": "2"},
        "objective": {"name": "multi:softprob"},
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "tree_info": [0, 1],
                "trees": [
                    {
                        "left_children": [1, -1, -1],
                        "right_children": [2, -1, -1],
                        "split_indices": [feature, 0, 0],
                        "split_conditions": [0.1, 2.0, 3.0],
                        "split_type": [0, 0, 0],
                        "tree_param": {"size_leaf_vector": "1"},
                    }
                    for feature in (0, 1)
                ],
            },
        },
    }
}
LIGHTGBM = {
    "num_tree_per_iteration": 1,
    "max_feature_idx": 1,
    "objective": "binary sigmoid:1",
    "tree_info": [
        {
            "num_leaves": 2,
            "tree_structure": {
                "split_feature": 1,
                "threshold": 0.5,
                "decision_type": "<=",
                "missing_type": "None",
                "left_child": {"leaf_value": 1},
                "right_child": {"leaf_value": 2.5},
            },
        }
    ],
}
LIGHTGBM_FILE = """\
tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=1
objective=regression

Tree=0
num_leaves=2
num_cat=0
split_feature=1
threshold=0.1
decision_type=2
left_child=-1
right_child=-2
leaf_value=2 3
is_linear=0

end of trees
"""


def random_mlp(sizes: list[int], seed: int = 0, *, normalised: bool = False) -> MlpWeights:
    random = np.random.default_rng(seed)
    layers = tuple(
        Layer(random.normal(size=(b, a)), random.normal(size=b)) for a, b in pairwise(sizes)
    )
    normalisation = None
    if normalised:
        normalisation = Normalisation(
            random.normal(size=sizes[0]), random.uniform(0.5, 2, size=sizes[0]), 0.25, 3.0
        )
    return MlpWeights(layers, normalisation)


def naive_activation(activation: Activation, x: float) -> float:
    """The definitions of PyTorch, number by number."""
    p = activation.parameter
    match activation.name:
        case "relu":
            return 0.0 if x < 0 else x
        case "leaky-relu":
            return p * x if x < 0 else x
        case "elu":
            return p * math.expm1(x) if x < 0 else x
        case "tanh":
            return math.tanh(x)
        case "sigmoid":
            return naive_sigmoid(x)
        case "silu":
            return x * naive_sigmoid(x)
        case "gelu":
            return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))
        case "gelu-tanh":
            inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
            return 0.5 * x * (1 + math.tanh(inner))
    assert activation.name == "identity"
    return x


def naive_sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def naive_norm(norm: Norm, row: Rows) -> Rows:
    total = 0.0
    for x in row.tolist():
        total += x
    mean = total / len(row)
    squares = 0.0
    for x in row.tolist():
        squares += (x - mean) * (x - mean)
    deviation = math.sqrt(squares / len(row) + norm.epsilon)
    result: Rows = (row - mean) / deviation * norm.scale + norm.shift
    return result


def naive_mlp(weights: MlpWeights, rows: Rows) -> Rows:
    """Each sum starts with the bias and adds one product after the other."""
    n = weights.normalisation
    values = rows if n is None else (rows - n.mean) / n.range

    def normed(table: Rows, place: int, late: bool) -> Rows:
        for norm in weights.norms:
            if norm.place == place and norm.late == late:
                table = np.array([naive_norm(norm, row) for row in table]).reshape(table.shape)
        return table

    values = normed(normed(values, 0, False), 0, True)
    for number, layer in enumerate(weights.layers, start=1):
        sums = np.tile(layer.bias, (len(values), 1))
        for i in range(layer.matrix.shape[1]):
            sums = sums + layer.matrix[:, i] * values[:, i : i + 1]
        sums = normed(sums, number, False)
        if number < len(weights.layers):
            listed = [[naive_activation(weights.activation, x) for x in r] for r in sums.tolist()]
            sums = np.array(listed, np.float64).reshape(sums.shape)
        values = normed(sums, number, True)
    return values if n is None else values * n.output_range + n.output_mean


def naive_trees(ensemble: Ensemble, rows: Rows) -> Rows:
    result = np.tile(np.array(ensemble.base), (len(rows), 1))
    for row, sums in zip(rows, result, strict=True):
        for tree in ensemble.trees:
            at = 0 if tree.nodes else -1
            while at >= 0:
                feature, threshold, left, right = tree.nodes[at]
                value = float(np.float32(row[feature])) if ensemble.single else row[feature]
                goes_left = value < threshold if ensemble.strict else value <= threshold
                at = left if goes_left else right
            if tree.output is None:
                sums += np.asarray(tree.leaves[-1 - at])
            else:
                sums[tree.output] += tree.leaves[-1 - at]
    return result


def random_ensemble(
    seed: int, *, inputs: int = 4, outputs: int = 3, trees: int = 7, depth: int = 5, rule: int = 0
) -> Ensemble:
    """Thresholds are small integers and halves, so that inputs often meet them."""
    random = np.random.default_rng(seed)

    def tree(output: int | None) -> Tree:
        def look(level: int) -> Split | float | list[float]:
            if level == 0 or random.random() < 0.2:
                drawn = random.normal(size=outputs).tolist()
                return drawn if output is None else float(drawn[0])
            threshold = int(random.integers(-4, 5)) / 2
            return Split(int(random.integers(inputs)), threshold, level - 1, level - 1)

        return grow(depth, look, output, 10**6, "random")

    grown = tuple(tree(None if random.random() < 0.5 else i % outputs) for i in range(trees))
    base = tuple(random.normal(size=outputs).tolist())
    return Ensemble(inputs, outputs, bool(rule & 1), bool(rule & 2), grown, base)


def tensors_of(weights: MlpWeights, names: list[str]) -> dict[str, Any]:
    found = {}
    for name, layer in zip(names, weights.layers, strict=True):
        found[f"{name}.weight"] = layer.matrix.astype(np.float32)
        found[f"{name}.bias"] = layer.bias.astype(np.float32)
    return found


def safetensors_bytes(tensors: dict[str, Any], activation: str | None = "relu") -> bytes:
    """With the activation among the metadata, where a writer may declare it."""
    metadata = {"any": "thing"} if activation is None else {"activation": activation}
    header: dict[str, Any] = {"__metadata__": metadata}
    data = b""
    types = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64"}
    for name, tensor in tensors.items():
        raw = tensor.tobytes()
        header[name] = {
            "dtype": types[str(tensor.dtype)],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    encoded = json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data
