"""What campaigns on models forget, what they leave open, and what their records keep."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.models import work
from misstep.campaigns.testing import test as run_campaign
from support.campaigns import BATCHES, ModelTruth, small_model


def claims(found: Campaign) -> list[object]:
    return [
        (own.id, own.verdict, own.radius, own.faults and [fault.step for fault in own.faults])
        for own in found.records
    ]


def test_forgetting_states_changes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_model("two-way-line")
    kept = run_campaign(task, "random:3", runs=40, config=BATCHES)
    monkeypatch.setattr(work, "FORGET_AFTER", 0)
    forgetful = run_campaign(task, "random:3", runs=40, config=BATCHES)
    assert claims(forgetful) == claims(kept)
    assert len(kept.bugs) > 10
    assert forgetful.replay().ok
    ModelTruth(small_model("two-way-line"), "random:3").check(forgetful)


def test_a_full_memory_leaves_states_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any memory every question is left open, and no verdict is wrong."""
    monkeypatch.setattr(work, "room", lambda: 1)
    found = run_campaign(small_model("two-way-line"), "random:3", runs=20, config=BATCHES)
    verdicts = Counter(record.verdict for record in found.records)
    assert verdicts["UNKNOWN"] > 0
    ModelTruth(small_model("two-way-line"), "random:3").check(found)
    assert found.replay().ok


def test_the_memory_for_states_follows_the_limit_of_the_process() -> None:
    script = (
        "import resource; from misstep.campaigns.models.room import MOST, room; assert room() == MOST; "
        "resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30)); assert 2**26 <= room() <= 2**29"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ))


def test_records_of_a_closed_campaign_have_their_strategies(tmp_path: Path) -> None:
    with run_campaign(small_model("one-way-line"), "first", runs=60, out=tmp_path / "c") as found:
        bugs = found.bugs
    copies = pickle.loads(pickle.dumps(bugs))
    for bug, copy in zip(bugs, copies, strict=True):
        strategy = bug.witness.strategy
        assert strategy is not None
        assert bug.state in {state for state, _, _ in strategy}
        assert copy.witness.strategy == strategy
        assert copy.as_dict() == bug.as_dict()
