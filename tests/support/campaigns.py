"""Campaigns with made-up records: the store does not ask where they come from."""

from __future__ import annotations

from misstep.campaigns.records import PoolRecord, RunRecord, VerdictRecord
from misstep.campaigns.store import CampaignStore
from misstep.tasks.task import Task
from support.tasks import sas

SIZE = 40


def counter_task(name: str = "counter", size: int = 5000) -> Task:
    """A counter that goes up one by one: any number of states, numbered."""
    text = sas([2, size], [0, 0], [(1, 3)], ["0\n1\n0 0 -1 1\n2", "0\n1\n0 1 0 1\n1"])
    return Task(text.encode(), name=name)


def pool_record(index: int, task: str = "counter") -> PoolRecord:
    if index == 0:
        return PoolRecord(task, 0, (0, 0))
    return PoolRecord(task, index, (0, index), (index - 1) // 2, ("op0", "op1"), 10 * index, 0.5)


def run_record(index: int, task: str = "counter") -> RunRecord:
    outcome = "goal" if index % 3 else "loop"
    return RunRecord(task, (0, index), outcome, 2, 3 + index, ("op0", "op1"), None)


def verdict_record(index: int, task: str = "counter") -> VerdictRecord:
    if index % 3 == 0:
        return VerdictRecord(task, (0, index), "BUG", "fails", None, None, 2, 0, "ehc", ("op0",))
    if index % 3 == 1:
        return VerdictRecord(task, (0, index), "OPTIMAL", None, 0, 0, 3, 3, "astar", None, 0.25)
    if index == SIZE - 11:
        steps = ({"operator": "op0"}, {"state": [0, 1], "value": -1, "factors": []})
        return VerdictRecord(
            task, (0, index), "BUG", "costly", 1, 3, 2, 0, "bmo", None, derivation=steps
        )
    return VerdictRecord(task, (0, index), "UNKNOWN", seconds=0.5, expansions=7)


def fill(store: CampaignStore, count: int = SIZE, tested: int = SIZE - 10) -> None:
    store.add_task(counter_task())
    store.set_policy("heuristic:ff", "abc")
    for index in range(count):
        store.add_pool(pool_record(index))
    for index in range(tested):
        store.add_tested(run_record(index), verdict_record(index))
