"""Statistics: intervals, sign-flip tests, and the choice among policies of which one is known to be worse."""

from __future__ import annotations

import numpy as np
import pytest

from misstep.comparison.statistics import (
    bootstrap,
    compare_with_best,
    holm,
    resamples,
    sign_flip_p,
)
from misstep.errors import UsageError
from misstep.training.selection import rank, select_policies
from misstep.training.testing import TaskResult, TestedTask, TestSettings
from support.tasks import generated_task


def test_sign_flips_by_hand() -> None:
    assert sign_flip_p([0.0, 0.0], 0) == 1.0
    assert sign_flip_p([1.0], 0) == 1.0  # one task proves nothing
    assert sign_flip_p([1.0] * 6, 0) == 2 / 64
    # The sums of 3, 1 and 1 with all signs are 5, 3, 3, 1 and their opposites.
    assert sign_flip_p([3.0, 1.0, -1.0], 0) == 6 / 8
    assert sign_flip_p([1.0] * 30, 0) < 0.001
    assert sign_flip_p([1.0, -1.0] * 15, 0) > 0.9


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_false_alarms_are_rare() -> None:
    """Equal policies: a significant difference in at most about 5 % of the experiments."""
    random = np.random.default_rng(1)
    alarms = sum(
        sign_flip_p((random.random(10) - random.random(10)).tolist(), 0) < 0.05 for _ in range(300)
    )
    assert alarms <= 25


def test_bootstrap_covers_the_mean() -> None:
    random = np.random.default_rng(2)
    draws = resamples(40, 0, 300)
    inside = 0
    for _ in range(100):
        values = random.normal(1.0, 1.0, 40)
        found = bootstrap(lambda chosen, v=values: float(v[list(chosen)].mean()), 40, draws)  # type: ignore[misc]
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 1.0 <= found.high
    assert 85 <= inside <= 99


def test_compare_with_best() -> None:
    quality = np.array([[1.0] * 12, [1.0] * 11 + [0.9], [0.2] * 12])
    close, far = compare_with_best(quality, 0, 0, resamples(12, 0, 200))
    assert not close.significant
    assert far.significant
    assert far.difference.value == pytest.approx(0.8)


def test_a_policy_that_is_first_by_its_score_and_worse_task_by_task_is_not_called_better() -> None:
    """The score weighs its parts by the best value of each; few states solved weigh much there."""

    def results(solved: int, bugs: int, fails: int) -> list[TaskResult]:
        return [TaskResult(f"t{k}", 100, k >= fails, 100, solved, bugs) for k in range(20)]

    found = rank(["a", "b"], [results(20, 50, 1), results(10, 30, 0)], 0)
    best, other = found.candidates
    assert (best.policy, other.policy) == ("a", "b")
    (comparison,) = found.comparisons
    assert (comparison.difference.value or 0) < 0
    assert comparison.corrected < 0.05
    assert not comparison.significant
    assert comparison.contrary
    assert found.as_dict()["comparisons"][0]["contrary"]


def test_the_best_of_many_equal_policies_is_rarely_called_better() -> None:
    """Which one is the best is seen from the same tasks, so that more than the tests with the best count."""
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        quality = random.normal(size=(20, 10))
        best = int(quality.mean(axis=1).argmax())
        alarms += any(found.significant for found in compare_with_best(quality, best, 0, []))
    assert alarms <= 8


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.soundness) for seed in (1, 2))]
)
def test_planted_loser_is_found(seed: int) -> None:
    """Of three policies one errs in a third of all states: it comes last, and the difference is significant."""
    tasks = [generated_task("blocksworld", seed=10 * seed + s, blocks=4) for s in range(10)]
    for number, task in enumerate(tasks):
        task.name = f"blocks-{number}"
    good, fair, planted = "optimal", "noisy:0.02:1+optimal", "noisy:0.33:2+optimal"
    found = select_policies(tasks, [planted, fair, good], TestSettings(pool_size=20, seed=seed))
    assert found.candidates[-1].policy == planted
    (against_planted,) = [c for c in found.comparisons if c.worse == 2]
    assert against_planted.significant
    assert against_planted.difference.low is not None
    assert against_planted.difference.low > 0
    best = found.candidates[0]
    assert best.score.value == 1
    assert best.coverage.value == 1
    report = found.as_dict()
    assert report["best"] == best.policy
    assert report["comparisons"][-1]["significant"]


def test_equal_policies_are_not_told_apart() -> None:
    tasks = [generated_task("gripper", balls=n) for n in (1, 2, 3)]
    for number, task in enumerate(tasks):
        task.name = str(number)
    found = select_policies(tasks, ["optimal", "noisy:0:1+optimal"], TestSettings(pool_size=5))
    assert [c.significant for c in found.comparisons] == [False]
    assert found.comparisons[0].p_value == 1


def test_pools_are_the_same_for_all() -> None:
    task = generated_task("blocksworld", blocks=5)
    settings = TestSettings(pool_size=20, seed=4)
    first, second = TestedTask(task, settings), TestedTask(task, settings)
    assert first.pool.states == second.pool.states
    assert first.pool.states != TestedTask(task, TestSettings(pool_size=20, seed=5)).pool.states


def test_budget_ends_a_test() -> None:
    from misstep.policies.load import load_policy

    task = generated_task("blocksworld", blocks=5)
    policy = load_policy("noisy:0.2:1+optimal", task)
    full = TestedTask(task, TestSettings(pool_size=20, budget=None)).test(policy, abstain=False)
    short = TestedTask(task, TestSettings(pool_size=20, budget=1)).test(policy, abstain=False)
    assert full.processed == full.pool == 20
    assert 1 <= short.processed < 20
    assert full.bugs > 0


def test_abstains_where_the_initial_state_is_not_solved() -> None:
    from misstep.policies.load import load_policy

    task = generated_task("blocksworld", blocks=5)
    result = TestedTask(task, TestSettings(pool_size=7)).test(load_policy("first", task))
    assert result == TaskResult(task.name, 7, False, 7, 0, 7, assumed=True)
    assert result.quality == 0


def test_bad_selections() -> None:
    task = generated_task("gripper", balls=1)
    with pytest.raises(UsageError, match="at least two"):
        select_policies([task], ["first"], TestSettings())
    with pytest.raises(UsageError, match="twice"):
        select_policies([task], ["first", "first"], TestSettings())
    with pytest.raises(UsageError, match="no tasks"):
        select_policies([], ["first", "optimal"], TestSettings())
    with pytest.raises(UsageError, match="pool_size"):
        TestSettings(pool_size=0)


def test_intervals_of_ratios_without_a_denominator() -> None:
    nothing = TaskResult("t", 5, False, 5, 0, 5)
    found = rank(["a", "b"], [[nothing], [nothing]], 0)
    assert found.candidates[0].mean_gap.as_list() == [None, None, None]
