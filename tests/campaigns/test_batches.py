"""The sizes of the batches in which a policy is asked: counted, stored and shown, and without an effect on records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import misstep
from misstep.campaigns.batches import decoded_sizes, distribution, encoded, summed, text_of
from misstep.policies.load import load_policy
from misstep.tasks.task import Task
from support.campaigns import told
from support.fuzzing import InPython
from support.tasks import small_task


class Foreign(InPython):
    """A policy that is asked through Python."""

    def __init__(self, task: Task) -> None:
        super().__init__(load_policy("noisy:0.1:3+heuristic:ff", task))
        self.name = self.digest = "foreign"


def found_with(batch_size: int | None, **options: Any) -> misstep.Campaign:
    task = small_task("transport-2")
    return misstep.test(task, Foreign, pool=40, batch_size=batch_size, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"fuzz": "none"}, {"preset": "p22"}, {"oracle": "undo | lookahead(2)"}],
    ids=["default", "unbiased", "p22", "lookahead"],
)
def test_records_do_not_depend_on_batches(options: dict[str, Any]) -> None:
    alone = found_with(1, **options)
    together = found_with(None, **options)
    assert told(together) == told(alone)
    assert together.summary.bugs == alone.summary.bugs
    assert set(alone.summary.batches["from_size"]) == {"1"}
    asked = alone.summary.policy_calls - alone.summary.asked_again
    assert alone.summary.batches["calls"] == asked
    assert together.summary.batches["mean"] > 3


def test_the_summary_shows_them() -> None:
    summary = found_with(None).summary
    shown = summary.batches
    assert shown["calls"] * shown["mean"] == pytest.approx(
        summary.policy_calls - summary.asked_again, rel=0.01
    )
    assert sum(shown["from_size"].values()) == shown["calls"]
    assert ("batches", text_of(shown)) in summary.lines()
    native = misstep.test(small_task("ferry-3"), "heuristic:ff", pool=10).summary
    assert native.batches == {}
    assert "batches" not in dict(native.lines())


def test_the_distribution() -> None:
    sizes = Counter({1: 3, 2: 1, 3: 1, 32: 4, 40: 1})
    assert distribution(sizes) == {
        "calls": 10,
        "mean": 17.6,
        "median": 32,
        "from_size": {"1": 3, "2": 2, "32": 5},
    }
    text = "17.6 states a call on average, half of the calls at least 32"
    assert text_of(distribution(sizes)) == text
    assert distribution({}) == {}
    assert decoded_sizes(encoded(sizes)) == sizes
    assert summed([sizes, {1: 1}])[1] == 4


@pytest.mark.parametrize("text", ["[]", '{"0": 1}', '{"1": 0}', '{"1": 1.5}', '{"x": 1}', "x"])
def test_sizes_that_nobody_wrote(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|invalid literal|Expecting"):
        decoded_sizes(text)
