"""The comparison of two benchmark results."""

from __future__ import annotations

from benchmarks.compare import compare


def test_compare_shows_ratios_and_what_came_and_went() -> None:
    old = {"benchmark": "x", "results": {"a": {"rate": 100, "same": 0}, "b": 2.0, "flag": True}}
    new = {"benchmark": "x", "results": {"a": {"rate": 150, "same": 0}, "c": 1}}
    assert compare(old, new) == [
        "results / a / rate: 100 -> 150  1.50x",
        "results / a / same: 0 -> 0  -",
        "results / b: 2 -> gone",
        "results / c: new 1",
    ]
