"""Score, selection and the two algorithms on made-up tests."""

from __future__ import annotations

from fractions import Fraction

import pytest

from misstep.errors import UsageError
from misstep.training.algorithms import (
    NAMES,
    Configuration,
    configuration,
    next_step,
    select_offline,
    select_online,
)
from misstep.training.score import Parts, ranking, scores
from misstep.training.testing import TaskResult
from misstep.training.tree import Node, PolicyTree


def result(solved: bool = True, states: int = 10, bugs: int = 0, pool: int = 10) -> TaskResult:
    return TaskResult("t", pool, solved, pool, states, bugs)


def node(
    id: int, parent: int | None, *results: TaskResult, loss: float = 1.0, success: float = 0.0
) -> Node:
    epochs = 0 if parent is None else 1
    return Node(id, parent, epochs, 0, None if parent is None else loss, success, 0, "", results)


# -- the score --------------------------------------------------------------------------------------


def test_example_of_the_paper() -> None:
    """No task and one task are worst and best; next to a policy that solves all, almost equally bad."""

    def solves(count: int) -> Parts:
        return Parts.of([result(i < count, bugs=0) for i in range(20)])

    none, one, all_of_them = solves(0), solves(1), solves(20)
    assert scores([none, one]) == [0, 1]
    values = scores([none, one, all_of_them])
    assert values[0] == 0
    assert values[1] == Fraction(1, 20)
    assert values[2] == 1


def test_unsolved_initial_state_counts_as_all_bugs() -> None:
    parts = Parts.of([result(False, states=10, bugs=0), result(True, states=8, bugs=3)])
    assert parts == Parts(1, Fraction(8, 20), 1 - Fraction(13, 20))


def test_ties() -> None:
    a = Parts(2, Fraction(1, 2), Fraction(1, 2))
    assert ranking([a, a, a], [0, 2, 0]) == [2, 0, 1]  # fewer expansions, then the later one
    # Equal scores, so coverage decides: 1 + 1/2 against 1/2 + 1.
    x, y = Parts(2, Fraction(1, 4), Fraction(1)), Parts(1, Fraction(1, 2), Fraction(1))
    assert len(set(scores([x, y]))) == 1
    assert ranking([x, y], [0, 0]) == [0, 1]
    assert ranking([y, x], [0, 0]) == [1, 0]


def test_nothing_processed() -> None:
    assert scores([Parts.of([]), Parts.of([])]) == [0, 0]


# -- configurations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("epochs", "start"), [(40, 10), (60, 15), (80, 20), (240, 60)])
def test_configurations_of_the_paper(epochs: int, start: int) -> None:
    assert configuration("line", epochs) == Configuration(4, start)
    main = epochs - 20
    assert configuration("line-pitest", epochs) == Configuration(4, 5, main, 1, "score")
    assert configuration("tree", epochs) == Configuration(4, 5, main, 4, "random")
    assert configuration("tree-pitest", epochs) == Configuration(4, 5, main, 4, "score")
    assert configuration("start", epochs) == Configuration(4, 5)
    for name in NAMES[1:-1]:
        assert configuration(name, epochs).models == epochs + 4


def test_bad_configurations() -> None:
    with pytest.raises(UsageError, match="no configuration"):
        configuration("zigzag", 4)
    with pytest.raises(UsageError, match="0 epochs"):
        configuration("line", 0)
    with pytest.raises(UsageError, match="n_exp"):
        Configuration(1, 1, 1, 0)


def test_small_budgets() -> None:
    assert configuration("line", 3) == Configuration(3, 1)
    assert configuration("tree", 6, n_init=2) == Configuration(2, 3, 0, 4, "random")


# -- the algorithms ---------------------------------------------------------------------------------


def grow(config: Configuration, bugs: list[int], seed: int = 0) -> list[int | None]:
    """Run the algorithm with models whose i-th has that many bugs; the parents that come out."""
    tree = PolicyTree()
    while (step := next_step(tree, config, seed)) is not None:
        id = len(tree)
        tree.add(node(id, step.parent, result(bugs=bugs[id % len(bugs)])))
    return [n.parent for n in tree]


def test_exact_tree_by_score() -> None:
    # Two lines of two models; then the best with fewer than two successors: model 1 (0 bugs), twice; then
    # its best child, and so on.
    config = Configuration(2, 1, 5, 2, "score")
    bugs = [9, 0, 9, 8, 5, 6, 7, 4, 9]
    parents = grow(config, bugs)
    assert parents == [None, 0, None, 2, 1, 1, 4, 4, 7]


def test_line_without_branches() -> None:
    config = Configuration(2, 1, 3, 1, "score")
    assert grow(config, [9, 5, 9, 1, 7, 8, 0]) == [None, 0, None, 2, 3, 1, 4]


def test_random_tree_is_a_function_of_the_seed() -> None:
    config = configuration("tree", 30, n_init=2)
    first, again, other = grow(config, [1], 5), grow(config, [1], 5), grow(config, [1], 6)
    assert first == again != other
    assert first[:12] == [None, 0, 1, 2, 3, 4, None, 6, 7, 8, 9, 10]
    counts = [first.count(i) for i in range(len(first))]
    assert max(counts) <= 4
    assert len(first) == 32


def test_original_stops_when_all_is_solved() -> None:
    tree = PolicyTree()
    config = configuration("original", 100)
    while (step := next_step(tree, config, 0)) is not None:
        solved = len(tree) >= 11
        tree.add(node(len(tree), step.parent, success=1.0 if solved else 0.5))
    assert len(tree) == 11 + 20
    assert select_offline(tree, "early-train") == 30


# -- offline ----------------------------------------------------------------------------------------


def test_criteria() -> None:
    tree = PolicyTree()
    tree.add(node(0, None, result(False), result(False)))
    tree.add(node(1, 0, result(bugs=9), result(bugs=9), loss=0.5))
    tree.add(node(2, 1, result(), result(False), loss=0.2))
    tree.add(node(3, 2, result(bugs=1), result(bugs=1), loss=0.9))
    tree.add(node(4, 3, result(bugs=3), result(bugs=3), loss=0.2))
    assert select_offline(tree, "early-train") == 4  # the last, as no twenty in a row
    assert select_offline(tree, "loss-train") == 4  # the later of equals
    assert select_offline(tree, "solved-val") == 4
    assert select_offline(tree, "pi-test-val") == 3
    assert select_offline(tree, "solved-test", {0: 1, 1: 7, 2: 3, 3: 3, 4: 3}) == 1
    with pytest.raises(UsageError, match="test tasks"):
        select_offline(tree, "solved-test")
    with pytest.raises(UsageError, match="no criterion"):
        select_offline(tree, "by-eye")


def test_criteria_without_validation() -> None:
    tree = PolicyTree([node(0, None), node(1, 0)])
    with pytest.raises(UsageError, match="needs validation tasks"):
        select_offline(tree, "pi-test-val")
    assert select_offline(tree, "loss-train") == 1


def test_expansions_do_not_count_offline() -> None:
    tree = PolicyTree([node(0, None, result()), node(1, 0, result(bugs=1))])
    assert select_offline(tree, "pi-test-val") == 0
    assert select_online(tree, Configuration(1, 1, 1, 1), 0) == 1


# -- the tree ---------------------------------------------------------------------------------------


def test_drawing() -> None:
    tree = PolicyTree(
        [
            node(0, None, result(False).as_scored),
            node(1, 0, result(), success=1.0),
            node(2, 1, result(bugs=5), loss=0.25),
            node(3, 1, result(bugs=1), success=0.5),
            node(4, 2, result()),
        ]
    )
    assert tree.draw(1).splitlines() == [
        "0  random weights  train 0%  val 0/1  states 0%  bugs 100%  score 0.000",
        "1  loss 1.000  train 100%  val 1/1  states 100%  bugs 0%  score 1.000  <- chosen",
        "├─ 2  loss 0.250  train 0%  val 1/1  states 100%  bugs 50%  score 0.833",
        "│  4  loss 1.000  train 0%  val 1/1  states 100%  bugs 0%  score 1.000",
        "└─ 3  loss 1.000  train 50%  val 1/1  states 100%  bugs 10%  score 0.967",
    ]
    assert [n["score"] for n in tree.as_dict()["models"]] == [0, 1, 0.833333, 0.966667, 1]


def test_nodes_survive_json() -> None:
    before = node(1, 0, result(bugs=2), loss=0.125)
    assert Node.from_dict(before.as_dict(), "here") == before
