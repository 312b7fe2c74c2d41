"""Ensembles of other programs give the same numbers here as there.

Inputs are integers and halves: thresholds lie right on them, where the rules of the programs differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks import load_network
from misstep.policies.networks.sklearn import from_sklearn
from misstep.policies.networks.trees import encode_ensemble, tree_network
from support.networks import LIGHTGBM as LIGHTGBM_DUMP
from support.networks import LIGHTGBM_FILE

pytestmark = pytest.mark.filterwarnings("ignore")  # of the other programs
RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 6, size=(400, 5)) / 2
LABELS = (X[:, 0] * 2 + X[:, 1] > X[:, 2]).astype(int) + (X[:, 3] > 1)
BINARY = (LABELS > 0).astype(int)
# Also right beside the thresholds, nearer than single precision can tell.
TESTED = np.concatenate([X, np.nextafter(X, -np.inf), np.nextafter(X, np.inf), X + 0.25])

XGBOOST: list[tuple[dict[str, Any], Any]] = [
    ({"objective": "multi:softprob", "num_class": 3}, LABELS),
    ({"objective": "multi:softmax", "num_class": 3, "base_score": 0.25}, LABELS),
    ({"objective": "binary:logistic"}, BINARY),
    ({"objective": "binary:logistic", "base_score": 0.3}, BINARY),
    ({"objective": "reg:squarederror"}, np.stack([LABELS, BINARY], axis=1)),
    ({"objective": "reg:squarederror"}, LABELS),
    ({"objective": "binary:logitraw"}, BINARY),
    ({"objective": "binary:hinge", "base_score": 0.3}, BINARY),
    ({"objective": "binary:logistic"}, np.stack([LABELS > 1, BINARY], axis=1)),
    ({"objective": "count:poisson"}, np.stack([LABELS, BINARY], axis=1)),
]


@pytest.mark.parametrize(("parameters", "target"), XGBOOST, ids=lambda v: str(v)[:40])
def test_xgboost(parameters: dict[str, Any], target: Any, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, label=target)
    booster = xgboost.train({**parameters, "max_depth": 5, "nthread": 1}, data, 8)
    path = tmp_path / "model.json"
    booster.save_model(path)
    network = load_network(path)
    expected = booster.predict(xgboost.DMatrix(TESTED), output_margin=True)
    expected = expected.reshape(len(TESTED), -1)
    if "binary" in parameters["objective"] and expected.shape[1] == 1:
        expected = np.concatenate([np.zeros_like(expected), expected], axis=1)
    np.testing.assert_allclose(network.evaluate(TESTED), expected, rtol=1e-5, atol=1e-5)


LIGHTGBM: list[tuple[dict[str, Any], Any]] = [
    ({"objective": "multiclass", "num_class": 3}, LABELS),
    ({"objective": "multiclassova", "num_class": 3}, LABELS),
    ({"objective": "binary"}, BINARY),
    ({"objective": "regression"}, LABELS),
    (
        {
            "objective": "multiclass",
            "num_class": 3,
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": 0.5,
        },
        LABELS,
    ),
]


@pytest.mark.parametrize("dump", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("parameters", "target"), LIGHTGBM, ids=lambda v: str(v)[:60])
def test_lightgbm(parameters: dict[str, Any], target: Any, dump: bool, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {**parameters, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, label=target), 8)
    path = tmp_path / ("model.json" if dump else "model.txt")
    if dump:
        path.write_text(json.dumps(booster.dump_model()))
    else:
        booster.save_model(path)
    network = load_network(path)
    expected = booster.predict(TESTED, raw_score=True).reshape(len(TESTED), -1)
    if parameters["objective"] == "binary":
        expected = np.concatenate([np.zeros_like(expected), expected], axis=1)
    np.testing.assert_allclose(network.evaluate(TESTED), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dump", [False, True], ids=["text", "json"])
def test_lightgbm_with_features_we_do_not_have(dump: bool, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    path = tmp_path / ("model.json" if dump else "model.txt")
    for settings, told in (
        ({"categorical_feature": [0]}, "categories"),
        ({"zero_as_missing": True}, "zero standing for a missing value"),
    ):
        whole = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, **settings}
        data = lightgbm.Dataset(np.floor(X), label=(np.floor(X)[:, 0] % 2), params=whole)
        booster = lightgbm.train(whole, data, 3)
        if dump:
            path.write_text(json.dumps(booster.dump_model()))
        else:
            booster.save_model(path)
        with pytest.raises(UnsupportedError, match=told):
            load_network(path)


def test_sklearn(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.tree import DecisionTreeClassifier

    for model in (
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(n_estimators=7, max_depth=5, random_state=0),
    ):
        model.fit(X, LABELS)
        network = tree_network(from_sklearn(model), "sklearn")
        count = len(getattr(model, "estimators_", [model]))
        assert (network.evaluate(TESTED) / count == model.predict_proba(TESTED)).all()
    regressor = RandomForestRegressor(n_estimators=5, random_state=0)
    regressor.fit(X, np.stack([LABELS, BINARY], axis=1))
    path = tmp_path / "forest.json"
    path.write_text(encode_ensemble(from_sklearn(regressor)))
    np.testing.assert_allclose(
        load_network(path).evaluate(TESTED) / 5, regressor.predict(TESTED), atol=1e-12
    )
    with pytest.raises(UnsupportedError, match="a dict"):
        from_sklearn({})


@pytest.mark.parametrize("module", ["sklearn.ensemble", "sklearn.tree"])
def test_only_forests_that_average_are_taken(module: str) -> None:
    """AdaBoostClassifier, BaggingClassifier and VotingClassifier have trees as well, and others inherit from a tree."""
    member = SimpleNamespace(tree_=None)
    for name in ("AdaBoostClassifier", "BaggingClassifier", "VotingClassifier", "Own"):
        kind = type(name, (), {"estimators_": [member], "__module__": module})
        with pytest.raises(UnsupportedError, match=f"a {name}"):
            from_sklearn(kind())


# Files as these programs write them, small enough to read; and what damage does to them.

XGBOOST_FILE: dict[str, Any] = {
    "learner": {
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "2", "num_target": "1"},
        "objective": {"name": "reg:squarederror"},
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "tree_info": [0],
                "trees": [
                    {
                        "left_children": [1, -1, -1],
                        "right_children": [2, -1, -1],
                        "split_indices": [1, 0, 0],
                        "split_conditions": [0.1, 2.0, 3.0],
                        "split_type": [0, 0, 0],
                        "tree_param": {"size_leaf_vector": "1"},
                    }
                ],
            },
        },
    }
}  # fmt: skip


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_threshold_of_xgboost_is_a_single_precision_number(tmp_path: Path) -> None:
    network = load_network(write(tmp_path / "m.json", XGBOOST_FILE))
    # 0.1 as an input is rounded to the same single precision number, which is not below itself.
    assert network.evaluate(np.array([[0, 0.1], [0, 0.0999]])).tolist() == [[3.5], [2.5]]


@pytest.mark.parametrize(
    ("objective", "outputs", "start"),
    [
        ("binary:logistic", 1, [0, np.log(3)]),
        ("binary:logitraw", 1, [0, 0.75]),
        ("binary:hinge", 1, [0, 0.75]),
        ("binary:logistic", 2, [np.log(3), 0]),
        ("count:poisson", 2, [np.log(0.75), np.log(0.5)]),
        ("multi:softprob", 2, [0.75, 0.5]),
    ],
)
def test_what_the_margins_of_xgboost_start_from(
    objective: str, outputs: int, start: list[float], tmp_path: Path
) -> None:
    """The file has a prediction, and the objective says which margin that is."""
    document = altered(["objective", "name"], objective)
    parameters = document["learner"]["learner_model_param"]
    parameters |= {
        "base_score": "[7.5E-1,5E-1]" if outputs == 2 else "7.5E-1",
        "num_target": outputs,
    }
    zero = {"left_children": [-1], "right_children": [-1], "split_indices": [0]}
    tree = {**zero, "split_conditions": [0.0], "tree_param": {"size_leaf_vector": "1"}}
    document["learner"]["gradient_booster"]["model"]["trees"] = [tree]
    network = load_network(write(tmp_path / "m.json", document))
    np.testing.assert_allclose(network.evaluate(np.zeros((1, 2))), [start], atol=1e-12)


def test_rounds_after_the_best_one_are_refused(tmp_path: Path) -> None:
    document = altered(["attributes"], {"best_iteration": "0"})
    model = document["learner"]["gradient_booster"]["model"]
    model["gbtree_model_param"] = {"num_parallel_tree": "1"}
    path = write(tmp_path / "m.json", document)
    assert load_network(path).evaluate(np.zeros((1, 2))).tolist() == [[2.5]]
    model |= {"trees": model["trees"] * 2, "tree_info": [0, 0]}
    with pytest.raises(UnsupportedError, match="has 1 rounds after the best one"):
        load_network(write(path, document))
    model["gbtree_model_param"] = {"num_parallel_tree": "2"}
    assert load_network(write(path, document)).evaluate(np.zeros((1, 2))).tolist() == [[4.5]]


def test_a_threshold_of_lightgbm_goes_left(tmp_path: Path) -> None:
    network = load_network(write(tmp_path / "m.txt", LIGHTGBM_FILE))
    above = float(np.nextafter(0.1, 1))
    assert network.evaluate(np.array([[0, 0.1], [0, above]])).tolist() == [[2.0], [3.0]]


def test_a_split_of_lightgbm_on_what_is_missing(tmp_path: Path) -> None:
    content = LIGHTGBM_FILE.replace("threshold=0.1", "threshold=inf")
    network = load_network(write(tmp_path / "m.txt", content))
    assert network.evaluate(np.array([[0, 1e300], [0, -5.0]])).tolist() == [[2.0], [2.0]]


def altered(path: list[Any], value: Any) -> dict[str, Any]:
    document: Any = json.loads(json.dumps(XGBOOST_FILE))
    inner = document["learner"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert isinstance(document, dict)
    return document


TREE = ["gradient_booster", "model", "trees", 0]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["gradient_booster", "name"], "dart", "the booster 'dart'"),
        (["gradient_booster", "model"], {"trees": [], "tree_info": []}, "a model without trees"),
        ([*TREE, "split_type"], [1, 0, 0], "categories"),
        ([*TREE, "tree_param", "size_leaf_vector"], "3", "several numbers in a leaf"),
        ([*TREE, "left_children"], [0, -1, -1], "leads back"),
        ([*TREE, "left_children"], [7, -1, -1], "IndexError"),
        ([*TREE, "left_children"], [-5, -1, -1], "does not exist"),
        ([*TREE, "left_children"], [1, -1], "different length"),
        ([*TREE, "split_indices"], [9, 0, 0], "a node of a tree"),
        ([*TREE, "split_conditions"], [0.1, float("nan"), 1], "infinite or undefined"),
        (["gradient_booster", "model", "tree_info"], [4], "a tree does not fit"),
        (["gradient_booster", "model", "tree_info"], [], "ValueError"),
        (["learner_model_param", "base_score"], "x", "ValueError"),
        (["learner_model_param", "base_score"], "[1,2,3]", "base_score"),
        (["learner_model_param"], {}, "KeyError"),
        (["objective"], 3, "TypeError"),
        (["objective", "name"], "reg:unheard", "the objective 'reg:unheard'"),
    ],
    ids=str,
)
def test_wrong_files_of_xgboost(path: list[Any], value: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(MisstepError) as caught:
        load_network(write(tmp_path / "m.json", altered(path, value)))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tree\n", "bush\n", "the first line"),
        ("end of trees\n", "", "cut off"),
        ("leaf_value=2 3", "leaf_value=2", "1 leaves instead of 2"),
        ("leaf_value=2 3", "leaf_value=2 nan", "infinite or undefined"),
        ("left_child=-1", "left_child=0", "leads back"),
        ("left_child=-1", "left_child=-9", "IndexError"),
        ("left_child=-1", "left_child=5", "IndexError"),
        ("split_feature=1", "split_feature=7", "a node of a tree"),
        ("threshold=0.1", "threshold=", "different length"),
        ("decision_type=2", "decision_type=1", "categories"),
        ("decision_type=2", "decision_type=6", "missing value"),
        ("is_linear=0", "is_linear=1", "linear models"),
        ("max_feature_idx=1", "", "KeyError"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=2", "rounds of 2"),
    ],
)
def test_wrong_files_of_lightgbm(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in LIGHTGBM_FILE
    with pytest.raises(MisstepError) as caught:
        load_network(write(tmp_path / "m.txt", LIGHTGBM_FILE.replace(old, new)))
    assert told in str(caught.value)


def test_linear_leaves_in_a_dump_are_refused(tmp_path: Path) -> None:
    document = json.loads(json.dumps(LIGHTGBM_DUMP))
    document["tree_info"][0]["tree_structure"]["left_child"] |= {"leaf_const": 1, "leaf_coeff": [2]}
    with pytest.raises(UnsupportedError, match="linear models in their leaves"):
        load_network(write(tmp_path / "m.json", document))


def test_a_dump_without_trees_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFormatError, match="KeyError"):
        load_network(write(tmp_path / "m.json", {"tree_info": [{"num_leaves": 2}]}))
