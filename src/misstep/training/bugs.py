"""Learning from bugs: the faults of a campaign as training data.

A bug says that something goes wrong after a state; the fault says where. The campaign has searched the runs of its bugs
and has stored each decision that is proven to lose something, together with a better one. Each becomes a sample: the
state, and the better operator. Its weight grows with the loss, up to a limit, because an infinite loss would outweigh
everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.records import Record
from misstep.campaigns.settings import DEFAULT_FAULT_BUDGET, PLANNING
from misstep.errors import UnsupportedError, UsageError
from misstep.tasks.task import State, Task
from misstep.training.samples import Sample, TaskSamples

MOST = 10.0  # a decision that loses more than this, or everything, weighs as if it lost this


@dataclass
class TaskFaults:
    """The proven faults on one task of a campaign."""

    task: Task
    samples: list[Sample] = field(default_factory=list)
    bugs: int = 0  # looked at
    unexplained: int = 0  # bugs whose run has no fault with a known better operator


def read_faults(campaign: Campaign | str | os.PathLike[str]) -> list[TaskFaults]:
    """The faults behind all bugs of a campaign, or of the campaign in a folder, task by task."""
    if isinstance(campaign, Campaign):
        return _read(campaign)
    with open_campaign(campaign) as opened:
        return _read(opened)


def _read(campaign: Campaign) -> list[TaskFaults]:
    where = str(campaign.folder or "the campaign")
    if campaign.settings.world != PLANNING:
        raise UnsupportedError(
            "there are no planning tasks in this campaign",
            where=where,
            expected="one of 'misstep test DOMAIN.pddl PROBLEM.pddl'",
        )
    if campaign.settings.fault_budget is None:
        raise UsageError(
            "the campaign has not looked for faults",
            where=where,
            hint=f"test again with a fault budget, such as {DEFAULT_FAULT_BUDGET}",
        )
    found: dict[str, TaskFaults] = {}
    kept: dict[str, TaskSamples] = {}
    for task in campaign.tasks:
        assert isinstance(task, Task)
        if task.pddl is None:
            raise UnsupportedError(
                f"the task {task.name} of the campaign has no PDDL files, and a network cannot read it without",
                where=where,
            )
        found[task.name], kept[task.name] = TaskFaults(task), TaskSamples()
    for record in campaign.iter_records():
        if record.is_bug:
            own, samples = found[record.task], list(_samples(record))
            own.bugs += 1
            own.unexplained += not samples
            for sample in samples:
                kept[record.task].add(sample)
    for name, own in found.items():
        own.samples = kept[name].samples
    return list(found.values())


def _samples(record: Record) -> Iterator[Sample]:
    for fault in record.faults or ():
        if fault.better is not None:
            state = State(list(map(int, fault.state)))
            yield Sample(state, (fault.better.operator,), weight_of(fault.loss[0]))


def weight_of(loss: float | None) -> float:
    """The weight of a decision that loses at least this much; None means that it loses the goal."""
    return 1 + (MOST if loss is None else min(MOST, max(1.0, float(loss))))


__all__ = ["TaskFaults", "read_faults", "weight_of"]
