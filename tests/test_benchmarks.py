"""The comparison of two benchmark results."""

from __future__ import annotations

from benchmarks import default_choices, service
from benchmarks.compare import compare

from support.tasks import small_task


def test_compare_shows_ratios_and_what_came_and_went() -> None:
    old = {"benchmark": "x", "results": {"a": {"rate": 100, "same": 0}, "b": 2.0, "flag": True}}
    new = {"benchmark": "x", "results": {"a": {"rate": 150, "same": 0}, "c": 1}}
    assert compare(old, new) == [
        "results / a / rate: 100 -> 150  1.50x",
        "results / a / same: 0 -> 0  -",
        "results / b: 2 -> gone",
        "results / c: new 1",
    ]


def test_defaults_are_compared_on_many_pairs() -> None:
    assert len(set(default_choices.PAIRS)) == len(default_choices.PAIRS) >= 30
    assert set(default_choices.SMALL) | set(default_choices.SHIPPED) <= set(default_choices.TASKS)
    old = {"bugs": 3.0, "decided": 5.0, "open": 1.0, "faults": 2.0, "seconds": 1.0}
    new = {**old, "bugs": 9.0, "faults": 1.0}
    results = {"one": {"old": old, "new": new}, "two": {"old": old, "new": old}}
    totals = default_choices.compared(results, ["old", "new"])
    assert (totals["old"]["bugs"], totals["new"]["bugs"]) == (6, 12)
    assert (totals["new"]["more bugs"], totals["new"]["fewer faults"]) == (1, 1)
    assert totals["old"]["more bugs"] == totals["new"]["fewer bugs"] == 0


def test_a_campaign_of_the_comparison_of_defaults() -> None:
    job = default_choices.Job("ferry-4", "heuristic:ff", "x", 0, {"unbiased_share": 0.5}, 5, 60.0)
    found = default_choices.work(job)
    assert found["decided"] + found["open"] == 5
    assert found["bugs"] <= found["decided"]


def test_a_campaign_without_a_network() -> None:
    found = service.host_alone(small_task("gripper-4"), 4, 60.0)
    assert found["calls"] > 0
    assert found["states_of_the_pool"] <= found["iterations"] + 1


def test_pools_that_begin_alike() -> None:
    one, longer, other = ({"rows": [rows]} for rows in (["a", "b"], ["a", "b", "c"], ["a", "c"]))
    assert service.same_pools([one, longer])
    assert not service.same_pools([longer, other])
    assert service.host_share((10, 100), (60, 200)) == 0.5
