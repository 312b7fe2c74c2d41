"""Retests of policies that permit several operators: the worst permitted run counts, before and after."""

from __future__ import annotations

from collections import Counter

from misstep.campaigns.testing import test as run_campaign
from support.permitted import DrawingPolicy, improving, mostly, true_distance
from support.tasks import generated_task


def test_a_set_valued_policy_is_judged_by_witnesses() -> None:
    task = generated_task("gripper", balls=3)
    sloppy = DrawingPolicy(task, mostly(improving(true_distance), 4, 1))
    careful = DrawingPolicy(task, improving(true_distance))
    with run_campaign(task, sloppy, pool=14, oracle="exact") as before:
        better = before.retest(careful)
        same = before.retest(sloppy)
        worse = better.campaign.retest(sloppy)
    bugs = sum(own.was_bug for own in better.outline)
    assert bugs > 0
    assert better.counts["fixed"] == bugs
    assert not better.bugs
    assert same.counts["still"] == bugs
    assert worse.counts["new"] == bugs
    for found in (better, same, worse):
        assert found.campaign.replay().ok
        assert Counter(own.after.source for own in found.outline)["witness"] > 0
