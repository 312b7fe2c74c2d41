"""The times at which things were found and the time they took, which reports and metrics use."""

from __future__ import annotations

from typing import Any

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_campaign
from support.campaigns import BATCHES, NOISY, SHARING, small_model
from support.tasks import random_costs, small_task

COMPARING = "bmo(10), bmo(20)+aras/ehc"


def units(campaign: Campaign, stage: str) -> list[float]:
    query = "SELECT seconds FROM units WHERE stage LIKE ? || '%' AND policy_calls + seconds > 0"
    return [seconds for (seconds,) in campaign._store.rows(query, stage)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_everything_takes_time(jobs: int) -> None:
    task = small_task("gripper-4")
    found = run_campaign(task, NOISY, pool=30, oracle=COMPARING, config=SHARING, jobs=jobs)
    assert len(found) == 30
    for record in found.records:
        assert record.times.pool > 0
        assert record.times.run > 0
        assert record.times.judge > 0
        assert record.at > 0
    for stage in ("pool", "dominance", "judge", "blame"):
        assert units(found, stage)
        assert all(seconds > 0 for seconds in units(found, stage))
    summary = found.summary
    assert set(summary.seconds) == {"pool", "dominance", "judge", "blame"}
    whole = found._content.findings(task.name).clock()
    assert all(record.at < whole for record in found.records)
    assert sum(r.times.pool + r.times.run + r.times.judge for r in found.records) < whole


def test_everything_takes_time_on_models() -> None:
    found = run_campaign(small_model("two-way-line"), "random:3", runs=60, config=BATCHES)
    for record in found.records:
        assert record.times.run > 0
        assert record.times.judge > 0
        assert record.at > 0
    assert all(seconds > 0 for stage in ("fuzz", "judge") for seconds in units(found, stage))
    assert set(found.summary.seconds) == {"fuzz", "judge"}


def test_times_of_a_second_oracle_come_later() -> None:
    found = run_campaign(small_task("blocksworld-4"), "first", pool=12, oracle="gbfs(3)")
    before = {record.number: record.verdicts[0].at for record in found.records}
    found.judge("exact")
    for record in found.records:
        assert record.verdicts[0].at == before[record.number]
        assert record.verdicts[1].at > max(before.values())


def test_a_bug_that_was_found_late_is_late() -> None:
    """Some states are decided later than they were tested, by what was found for another state."""
    late = 0
    for name in ("gripper-4", "blocksworld-4", "transport-2"):
        task = random_costs(small_task(name), seed=6, choices=(0, 1, 3))
        found = run_campaign(
            *(task, "noisy:0.2:3+optimal"), pool=40, oracle="lookahead(1)", config=SHARING
        )
        order = sorted(found.records, key=lambda record: record.number)
        for record in order:
            if record.is_bug and record.source is None:  # known from other states
                later = [other for other in order if other.number > record.number]
                own_round = [o for o in order if o.number // 3 == record.number // 3]
                tested = [
                    o.at for o in own_round if o.source is not None and o.number < record.number
                ]
                assert all(record.at > at for at in tested)
                late += any(other.at < record.at for other in later)
    assert late > 10


def test_settling_does_not_count_time_twice() -> None:
    """A verdict that a later round only tells better keeps its time; none is later than all work on the task."""
    task = random_costs(small_task("ferry-3"), seed=6, choices=(0, 1, 3))
    how: dict[str, Any] = {"oracle": "bmo(10)+aras/ehc", "config": SHARING}
    found = run_campaign(task, "noisy:0.2:3+optimal", pool=40, **how)
    whole = found._content.findings(task.name).clock()
    for record in found.records:
        assert 0 < record.at < whole
        if record.source is not None:  # decided by its own test: in its own round, not at the end
            later = [o for o in found.records if o.number >= record.number + 12 and o.source]
            assert all(record.at < other.at for other in later)
