"""The benchmarks: that none is forgotten, and what compares their results."""

from __future__ import annotations

from pathlib import Path

from benchmarks import all as together
from benchmarks import service
from benchmarks.compare import compare

from support.tasks import small_task


def test_all_runs_each_benchmark_or_says_why_not() -> None:
    others = {"__init__", "all", "common", "compare"}
    named = {file.stem for file in Path(together.__file__).parent.glob("*.py")} - others
    assert set(together.NAMES) <= named
    assert together.__doc__ is not None
    for name in named - set(together.NAMES):
        assert f"`{name}`" in together.__doc__


def test_compare_shows_ratios_and_what_came_and_went() -> None:
    old = {"benchmark": "x", "results": {"a": {"rate": 100, "same": 0}, "b": 2.0, "flag": True}}
    new = {"benchmark": "x", "results": {"a": {"rate": 150, "same": 0}, "c": 1}}
    assert compare(old, new) == [
        "results / a / rate: 100 -> 150  1.50x",
        "results / a / same: 0 -> 0  -",
        "results / b: 2 -> gone",
        "results / c: new 1",
    ]


def test_a_campaign_without_a_network() -> None:
    found = service.host_alone(small_task("gripper-4"), 4, 60.0)
    assert found["calls"] > 0
    assert found["states_of_the_pool"] <= found["iterations"] + 1


def test_pools_that_begin_alike() -> None:
    one, longer, other = ({"rows": [rows]} for rows in (["a", "b"], ["a", "b", "c"], ["a", "c"]))
    assert service.same_pools([one, longer])
    assert not service.same_pools([longer, other])
    assert service.host_share((10, 100), (60, 200)) == 0.5


def test_ratios_are_over_as_many_campaigns_before() -> None:
    plan = service.contestants_of(16, 4)
    rates = {name: 100.0 * (1 + place) for place, name in enumerate(plan)}
    results: dict[str, dict[str, float | str]] = {
        name: {"evaluated_states_per_second": rate} for name, rate in rates.items()
    }
    results["one alone"] = {"error": "a campaign ended by itself"}
    found = service.ratios(results, plan)
    assert found["16 with the service, over before"] == 3.0
    assert found["one alone, 4 walks, over before"] == 1.4
    assert found["one alone, over before"] is None
