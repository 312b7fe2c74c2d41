"""Native networks agree with plain ones bit for bit, with every instruction set and batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep._core import available_kernels
from misstep.errors import UsageError
from misstep.policies.networks import choose, margins
from misstep.policies.networks.mlp import Layer, MlpWeights, mlp_network
from misstep.policies.networks.trees import Ensemble, Tree, tree_network
from misstep.policies.policy import FAILED, NO_ACTION
from support.networks import naive_mlp, naive_trees, random_ensemble, random_mlp

SIZES = [[1, 1], [3, 2], [5, 7, 4], [2, 8, 8, 9], [12, 64, 64, 5], [3, 17, 1, 33, 2], [200, 3]]


@pytest.mark.parametrize("kernels", available_kernels())
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("normalised", [False, True])
def test_mlp_against_naive(kernels: str, sizes: list[int], normalised: bool) -> None:
    weights = random_mlp(sizes, normalised=normalised)
    network = mlp_network(weights, kernels=kernels)
    assert (network.inputs, network.outputs) == (sizes[0], sizes[-1])
    for count in (0, 1, 2, 3, 7, 8, 15, 64, 65, 200):
        rows = np.random.default_rng(count).normal(size=(count, sizes[0])) * 10
        np.testing.assert_array_equal(network.evaluate(rows), naive_mlp(weights, rows))


def test_rows_do_not_depend_on_each_other() -> None:
    network = mlp_network(random_mlp([6, 20, 20, 4]))
    rows = np.random.default_rng(0).normal(size=(100, 6))
    whole = network.evaluate(rows)
    for begin in (0, 1, 63, 64, 99):
        np.testing.assert_array_equal(network.evaluate(rows[begin:])[0], whole[begin])


def test_undefined_numbers_are_not_hidden_by_rectifying() -> None:
    huge = MlpWeights(
        (
            Layer(np.array([[1e308, 1e308], [1e308, 1e308]]), np.zeros(2)),
            Layer(np.array([[1.0, -1.0], [1.0, 1.0]]), np.zeros(2)),
        )
    )
    network = mlp_network(huge)
    outputs = network.evaluate(np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert np.isnan(outputs[0, 0])
    assert list(network.choose(np.array([[1.0, 1.0], [0.0, 0.0]]))) == [FAILED, 0]


@pytest.mark.parametrize("rule", range(4))
@pytest.mark.parametrize("seed", range(5))
def test_trees_against_naive(seed: int, rule: int) -> None:
    ensemble = random_ensemble(seed, rule=rule)
    network = tree_network(ensemble, "random")
    random = np.random.default_rng(seed)
    rows = random.integers(-5, 6, size=(150, 4)) / 2
    np.testing.assert_array_equal(network.evaluate(rows), naive_trees(ensemble, rows))
    near = np.nextafter(rows, random.choice([-np.inf, np.inf], size=rows.shape))
    np.testing.assert_array_equal(network.evaluate(near), naive_trees(ensemble, near))


@pytest.mark.parametrize(
    ("strict", "single", "value", "expected"),
    [
        (True, False, 1.0, 2.0),
        (False, False, 1.0, 1.0),
        (True, False, np.nextafter(1, 0), 1.0),
        (True, True, np.nextafter(1, 0), 2.0),  # rounded to single precision it is the threshold
        (False, False, np.nextafter(1, 2), 2.0),
        (False, True, np.nextafter(1, 2), 1.0),
    ],
)
def test_numbers_at_a_threshold(strict: bool, single: bool, value: float, expected: float) -> None:
    tree = Tree(0, [(0, 1.0, -1, -2)], [1.0, 2.0])
    network = tree_network(Ensemble(1, 1, strict, single, (tree,), (0.0,)), "one")
    assert network.evaluate(np.array([[value]]))[0, 0] == expected


def test_trees_of_one_leaf_and_no_trees() -> None:
    leaf = Tree(None, [], [[1.0, 2.0]])
    rows = np.zeros((3, 1))
    one = tree_network(Ensemble(1, 2, True, True, (leaf, leaf), (0.5, 0.0)), "leaf")
    assert one.evaluate(rows).tolist() == [[2.5, 4.0]] * 3
    none = tree_network(Ensemble(1, 2, True, True, (), (0.5, 0.0)), "none")
    assert none.evaluate(rows).tolist() == [[0.5, 0.0]] * 3


numbers = st.sampled_from([-1.0, 0.0, 1.0, 1.0 + 2**-50, float("inf"), float("nan")])


@given(st.lists(st.lists(st.tuples(numbers, st.booleans()), min_size=3, max_size=3), max_size=9))
def test_choosing_against_naive(table: list[list[tuple[float, bool]]]) -> None:
    outputs = np.array([[x for x, _ in row] for row in table]).reshape(-1, 3)
    allowed = np.array([[a for _, a in row] for row in table], dtype=bool).reshape(-1, 3)
    expected = []
    for row in table:
        known = {i: x for i, (x, is_allowed) in enumerate(row) if is_allowed}
        if not known:
            expected.append(NO_ACTION)
        elif not all(np.isfinite(x) for x in known.values()):
            expected.append(FAILED)
        else:
            expected.append(min(i for i, x in known.items() if x == max(known.values())))
    assert choose(outputs, allowed).tolist() == expected


def test_margins() -> None:
    outputs = np.array([[1.0, 3.0, 2.5], [1.0, 3.0, 2.5], [1.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
    allowed = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1], [0, 0, 1]], dtype=bool)
    assert margins(outputs, allowed).tolist() == [0.5, 2.0, 0.0, np.inf]
    assert margins(outputs[:, :1], allowed[:, :1]).tolist() == [np.inf] * 4


def test_filtering_changes_the_choice() -> None:
    network = mlp_network(MlpWeights((Layer(np.eye(3), np.zeros(3)),)))
    rows = np.array([[1.0, 3.0, 2.0]] * 3)
    allowed = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    assert network.choose(rows, allowed).tolist() == [1, 2, NO_ACTION]
    assert network.choose(rows).tolist() == [1, 1, 1]


def test_wrong_shapes_are_refused() -> None:
    network = mlp_network(random_mlp([3, 2]))
    with pytest.raises(UsageError, match="3 inputs"):
        network.evaluate(np.zeros((2, 4)))
    with pytest.raises(UsageError, match="allowed"):
        network.choose(np.zeros((2, 3)), np.ones((2, 3), dtype=bool))


@pytest.mark.parametrize(
    "tree",
    [
        Tree(0, [(0, 0.0, 0, -1)], [1.0]),  # leads back to itself
        Tree(0, [(0, 0.0, -1, -3)], [1.0, 2.0]),
        Tree(0, [(5, 0.0, -1, -2)], [1.0, 2.0]),
        Tree(0, [(0, 0.0, 1, -2)], [1.0, 2.0]),
        Tree(3, [], [1.0]),
        Tree(0, [], []),
        Tree(None, [], [[1.0]]),
        Tree(0, [(0, float("nan"), -1, -2)], [1.0, 2.0]),
        Tree(0, [], [float("inf")]),
    ],
    ids=str,
)
def test_wrong_trees_are_refused(tree: Tree) -> None:
    with pytest.raises(Exception, match=r"tree|node|leaf|threshold"):
        tree_network(Ensemble(2, 2, True, True, (tree,), (0.0, 0.0)), "wrong")
