"""The study of learning from bugs: its arms, its tasks, the paired test, and that a kill changes nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import UsageError
from misstep.experiments.definition import load_definition
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, bug_lessons
from misstep.experiments.kinds.arms import read_arm
from misstep.experiments.kinds.paired import compare_arms
from misstep.tasks.domains import generate

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def test_arms_are_read() -> None:
    assert read_arm("none", 40).feedback is None
    assert read_arm("again", 40).chance != read_arm("none", 40).chance == "epoch"
    plain = read_arm("faults", 40).feedback
    assert plain is not None
    assert (plain.source, plain.ratio, plain.states, plain.weighted) == ("faults", 0.5, 40, False)
    other = read_arm("before, ratio 0.25, by regret", 40).feedback
    assert other is not None
    assert (other.source, other.ratio, other.weighted) == ("before", 0.25, True)
    assert read_arm("faults, ratio 1", 40).feedback.ratio == 1  # type: ignore[union-attr]
    assert read_arm("faults, labels of the test", 40).feedback.labels == "found"  # type: ignore[union-attr]
    assert read_arm("faults, once", 40).once
    assert read_arm("faults, once", 40).all_at_once(4).states == 160
    assert read_arm("control", 40).control
    for wrong, message in (
        ("bugs", "no arm 'bugs'; expected one of random"),
        ("faults, twice", "no part 'twice' of the arm"),
        ("none, once", "no arm 'none, once'"),
        ("faults, ratio 2", "no part 'ratio 2'"),
    ):
        with pytest.raises(UsageError, match=message):
            read_arm(wrong, 40)


@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_the_tasks_of_the_three_parts_are_different(scale: str) -> None:
    definition = load_definition("from-bugs")
    asked = next(own for own in definition.top["steps"])["arms"][scale]
    arms: dict[str, list[str]] = {}
    for unit in definition.units(scale, 1):
        arms.setdefault(unit.row, []).extend(unit.payload["arms"])
        groups = [
            {(own["seed"], *own["sizes"].items()) for own in unit.payload[name]}
            for name in ("train", "bug_tasks", "test")
        ]
        assert sum(map(len, groups)) == len(set.union(*groups))
        assert MISSING not in unit.payload["train"][0]
        for own in unit.payload["test"][:2]:
            generate(own["domain"], seed=own["seed"], **own["sizes"])
    assert all(own == asked for own in arms.values())


def observed(values: dict[str, list[int]]) -> list[dict[str, Value]]:
    """Bugs of each arm among 100 states, seed by seed."""
    return [
        {"row": "r", "seed": seed, "arm": arm, "solved": True, "states": 100, "solved_states": 50,
         "bugs": bugs, "cost": 12, "best": 10, "last": seed > 0, "compared": False}
        for arm, own in values.items()
        for seed, bugs in enumerate(own)
    ]  # fmt: skip


def test_arms_are_compared_pair_by_pair() -> None:
    # Between seeds there are large differences, and inside of a pair a small one that is always there.
    seeds = [10, 80, 30, 60, 50, 20, 90, 40]
    found = compare_arms(
        observed(
            {"none": seeds, "a": [own - 2 for own in seeds], "b": [own + (-1) ** k for k, own in enumerate(seeds)]}
        ),
        ("none", "missing"),
    )  # fmt: skip
    by_arm = {own["arm"]: own for own in found if own["measure"] == "bugs"}
    assert set(by_arm) == {"a", "b"}
    a, b = by_arm["a"], by_arm["b"]
    assert (a["difference"], a["low"], a["high"], a["pairs"]) == (-2, -2, -2, 8)
    assert a["p"] == 2 / 2**8
    assert a["corrected"] == 2 * 2 / 2**8  # two arms
    assert (b["difference"], b["corrected"]) == (0, 1)
    assert all(own["compared"] and own["against"] == "none" for own in found)
    assert {own["p"] for own in found if own["measure"] == "cost of plans"} == {1}
    last = next(own for own in found if own["measure"] == "bugs, last" and own["arm"] == "a")
    assert (last["difference"], last["pairs"]) == (-2, 7)


def test_the_start_is_in_no_comparison_and_told_once() -> None:
    result: dict[str, Any] = {
        "start": {"rounds": [[[1, 10, 8, 4, 30, 20]]], "epochs": 3, "added": 0},
        "arms": {
            "none": {"rounds": [[[0, 10, 9, 3, 30, 20]], [[1, 10, 9, 1, 30, 20]]], "added": 0}
        },
    }
    first = list(bug_lessons.observations({"first": True}, result))
    second = list(bug_lessons.observations({"first": False}, result))
    assert [own["arm"] for own in first] == ["start", "none", "none"]
    assert [own["arm"] for own in second] == ["none", "none"]
    assert [(own["round"], own["last"], own["bugs"]) for own in second] == [
        (1, False, 3),
        (2, True, 1),
    ]
    seen = [{"row": "r", "seed": 0, **own} for own in first]
    bug_lessons.joined(seen)
    assert "start" not in {own["arm"] for own in seen if own["compared"]}


@needs_torch
def test_a_unit_goes_on_after_a_kill(tmp_path: Path) -> None:
    unit = load_definition("from-bugs").units("smoke", 1)[0]
    few = {name: unit.payload[name][:1] for name in ("train", "test")}
    quick = {"start_epochs": 1, "oracle": "bmo(100)", "test_oracle": "bmo(5)", "max_steps": 20}
    payload = {**unit.payload, **few, **quick, "arms": ["none", "faults", "again"]}
    whole = bug_lessons.run_in(payload, tmp_path)
    log = tmp_path / "arms.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    log.write_bytes(b"".join(lines[:2]) + lines[2][:20])  # in the middle of a line
    assert bug_lessons.run_in(payload, tmp_path) == whole
    assert log.read_bytes().splitlines(keepends=True) == lines
    assert whole["arms"]["faults"]["added"] > 0
    assert whole["arms"]["none"]["added"] == 0
