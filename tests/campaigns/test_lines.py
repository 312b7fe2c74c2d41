"""Lines of JSON are the text of `Record.as_dict`, and that is what `dataclasses.asdict` says."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.lines import RecordLines
from misstep.campaigns.records import Effort, Opinion, Record, Run, Witness
from misstep.campaigns.shared import SharedWitness
from misstep.campaigns.testing import test as run_test
from misstep.tasks.generate import generate
from support.made_up import large_campaign
from support.records import WITHOUT, record


def plain(value: Any) -> Any:
    """As slow as it is plain."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def assert_same(records: list[Record]) -> None:
    lines = RecordLines()
    for own in records:
        slow = plain(dataclasses.asdict(own))
        assert own.as_dict() == slow
        assert list(own.as_dict()) == list(slow)
        assert lines.line(own) == json.dumps(slow)


@pytest.fixture(scope="module")
def model() -> Campaign:
    return run_test(generate("two-way-line", cells=5, packages=2), "random:1", runs=40)


def test_records_of_tasks(tmp_path: Path) -> None:
    assert_same(open_campaign(large_campaign(tmp_path / "made-up", 40, tasks=2)).records)
    found = run_test(generate("gripper", balls=3), "random:1", pool=20)
    assert any(own.faults for own in found.records)
    assert_same(found.records)


def test_records_of_a_model(model: Campaign) -> None:
    assert any(isinstance(own.witness, SharedWitness) for own in model.records)
    assert_same(model.records)
    assert_same(model.records[::-1])


def test_a_state_is_not_written_as_an_equal_one() -> None:
    runs = [
        Run("unsafe", (0,), ("a",), None, (state, (*state,)), "\x7f \u2028 é")
        for state in ((1, 0), (True, False), (1.0, 0.0))
    ]
    assert_same([record(number, run=run, world="model") for number, run in enumerate(runs)])


def test_every_verdict_has_its_own_witness() -> None:
    plan = Witness("plan", (1, 2), ("b", "c"), 2, None, None, None, None)
    steps = Witness("derivation", None, None, None, ({"operator": 1, "x": [1, {}]},), 3, None, None)
    opinions = tuple(
        Opinion("o", None, "BUG", "costly", (1, None), None, (0, 2), own, Effort(1, 2), 0.5, 1e-9)
        for own in (plan, steps, WITHOUT)
    )
    assert_same([record(witness=plan, verdicts=opinions), record(witness=WITHOUT, verdicts=())])


def test_a_dictionary_is_the_readers_own(model: Campaign) -> None:
    own = model.records[0]
    before = json.dumps(own.as_dict())
    own.as_dict()["state"].append(1)
    own.as_dict()["verdicts"].clear()
    assert json.dumps(own.as_dict()) == before
