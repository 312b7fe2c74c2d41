"""The independent checker accepts right derivations and refuses wrong ones."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.planning import work
from misstep.campaigns.store import open_store
from misstep.checking import DominanceTables, parse_sas, validate_derivation
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from support.commands import misstep, result_of
from support.dominance import logistics

# Truck {A, B}, package {A, B, in the truck}: from (B, A) the truck would have to go to A first, at a cost of 1.
EXAMPLE = logistics(2, 1, goal=1)
TASK = parse_sas(EXAMPLE.sas.decode(), EXAMPLE.name)
TABLES = DominanceTables(
    DominanceFunction.compute(EXAMPLE, DominanceSettings(merged=False)).to_bytes()
)
TRUCK, PACKAGE = {"variables": [0], "value": -1}, {"variables": [1], "value": 0}
JUMP: dict[str, Any] = {"state": [0, 0], "value": -1, "factors": [TRUCK, PACKAGE]}
PLAN = [{"operator": EXAMPLE.operator_name(op)} for op in (2, 0, 5)]


def checked(*steps: Any) -> str:
    """The problem that the checker finds; empty if there is none."""
    report = validate_derivation(TASK, steps, state=[1, 0], claimed_bound=4, tables=TABLES)
    assert report.valid == (report.reason == "")
    return report.reason


def test_a_derivation_of_a_jump_and_a_plan_is_followed() -> None:
    assert checked(JUMP, *PLAN) == ""
    assert checked({"state": [0, 0], "value": -1}, *PLAN) == ""  # the summands can be left out


@pytest.mark.parametrize(
    "factors",
    [
        [],
        [TRUCK],
        [PACKAGE, TRUCK],
        [TRUCK | {"value": -2}, PACKAGE | {"value": 1}],  # the sum is right
        [TRUCK, PACKAGE | {"value": 1}],
        [TRUCK | {"variables": [1]}, PACKAGE | {"variables": [0]}],
        [TRUCK, PACKAGE, {"variables": [2], "value": 0}],
        None,
        "much",
        [7],
    ],
)
def test_summands_that_differ_from_the_tables_are_refused(factors: Any) -> None:
    assert "by factor, the tables do not" in checked(JUMP | {"factors": factors}, *PLAN)


@pytest.mark.parametrize(
    "step",
    [
        {"value": -1},
        {"state": [0, 0]},
        {"state": [0], "value": -1},
        {"state": [0, 9], "value": -1},
        {"state": [0, -1], "value": -1},
        {"state": ["0", 0], "value": -1},
        {"state": None, "value": -1},
        {"state": [0, 0], "value": "-1"},
        {"operator": 3},
        "jump",
        None,
    ],
)
def test_wrong_steps_are_refused(step: Any) -> None:
    assert "step 1 is neither an operator nor a jump" in checked(step, *PLAN)


def test_values_and_ends_are_checked() -> None:
    assert checked(JUMP | {"value": 0}, *PLAN) == "step 1 claims a value of 0, it is -1"
    assert checked(JUMP, *PLAN[1:]) == "step 3 (op5) does not apply"
    assert checked(JUMP) == "it does not end in a goal"
    assert checked(JUMP, *PLAN, *PLAN[1:2]) == "step 5 (op0) does not apply"
    jump_on = {"state": [1, 1], "value": -3}
    assert checked(JUMP, jump_on) == "step 2 claims a value of -3, it is -7"


def test_some_choice_among_equal_names_has_to_prove_it() -> None:
    """Every operator has the same name: the truck may load at once, or drive away."""
    task = replace(TASK, operators=tuple(replace(op, name="do") for op in TASK.operators))
    steps = [JUMP, *[{"operator": "do"}] * len(PLAN)]

    def holds(bound: int, *steps: Any) -> bool:
        report = validate_derivation(task, steps, state=[1, 0], claimed_bound=bound, tables=TABLES)
        return report.valid

    assert holds(4, *steps)
    assert not holds(3, *steps)
    assert not holds(4, *steps[:-1])


def test_the_summands_of_either_factoring_are_accepted() -> None:
    both = DominanceTables(DominanceFunction.compute(EXAMPLE).to_bytes())
    merged = {"variables": [0, 1], "value": -1}
    for factors in ([TRUCK, PACKAGE], [merged]):
        steps = [JUMP | {"factors": factors}, *PLAN]
        assert validate_derivation(TASK, steps, state=[1, 0], claimed_bound=4, tables=both).valid, (
            factors
        )


def test_replay_finds_a_changed_summand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "with_plan", lambda _, verdict: verdict)  # keep the derivations
    path, out = tmp_path / "logistics.sas", tmp_path / "out"
    path.write_bytes(logistics(2, 2).sas)
    options = ("--policy", "noisy:0.6:1+heuristic:ff", "--pool", "30", "--oracle", "bmo(0)")
    assert misstep("test", path, *options, "-o", out).returncode == 1
    assert result_of("replay", out)["problems"] == []
    with open_store(out) as store:
        ((stored,), *_) = store.rows("SELECT derivation FROM verdicts WHERE derivation NOT NULL")
        changed = json.loads(stored)
        next(step for step in changed if "state" in step)["factors"][0]["value"] += 1
        store.execute(
            "UPDATE verdicts SET derivation = ? WHERE derivation = ?", json.dumps(changed), stored
        )
    wrong = result_of("replay", out, code=35)["problems"]
    assert wrong
    assert all("by factor, the tables do not" in row["problem"] for row in wrong)


def test_look_ups_that_share_their_parts_do_not_take_for_ever() -> None:
    """Sixty nodes, each of which leads to the one before it twice: 2^60 ways."""
    nodes = [(0, 0, 0, 0, 2, 0, 0), *((-1, i, i, 1, 1, 0) for i in range(60))]
    lookup = [len(nodes), *(number for node in nodes for number in node)]
    numbers = [1, 0, 0, 0, 1, 1, 0, 1, 0, len(lookup), *lookup]
    tables = DominanceTables(array("q", numbers).tobytes() + b"\0")
    assert tables.value((0, 0), (1, 1)) == 0
