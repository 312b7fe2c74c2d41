"""All metrics of one campaign, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from misstep.campaigns.metrics.blame import Blame, together
from misstep.campaigns.metrics.pairs import unique_pair_fraction
from misstep.campaigns.metrics.recall import MIN_STATES_A_TASK, joint_recall, recall
from misstep.campaigns.metrics.regions import regions, successors_in
from misstep.campaigns.metrics.sets import basic_sets, mean, ratio
from misstep.campaigns.metrics.severity import severity
from misstep.campaigns.metrics.timeline import bugs_over_time
from misstep.campaigns.records import Record
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task


def all_metrics(
    tasks: Sequence[AnyTask],
    records: Sequence[Record],
    pools: Mapping[str, int],
    with_regions: bool,
    blames: Mapping[str, Blame] | None = None,
) -> dict[str, Any]:
    """Task by task, and over all of them; `pools` has the number of states of each task, `blames` of models where
    the faults lie."""
    blames = blames or {}
    by_task: dict[str, list[Record]] = {task.name: [] for task in tasks}
    for record in records:
        by_task[record.task].append(record)
    rows = {
        task.name: {
            **_of_task(task, by_task[task.name], pools[task.name], with_regions),
            "blame": asdict(blames[task.name]) if task.name in blames else None,
        }
        for task in tasks
    }
    blamed = together(list(blames.values()))
    # An oracle that was interrupted early must not shrink the pool of the others; a small pool is no interruption.
    least = min(MIN_STATES_A_TASK, len(records) / max(1, len(tasks)))
    planning = all(isinstance(task, Task) for task in tasks)
    return {
        "sets": _sums([row["sets"] for row in rows.values()]),
        "recall": {
            name: mean(row["recall"][name] for row in rows.values())
            for name in ("fails", "fails_of_pool", "costly")
        }
        if planning
        else None,
        "coverage": ratio(sum(row["sets"]["bugs"] for row in rows.values()), sum(pools.values())),
        "severity": asdict(severity(records)) if planning else None,
        "radius": None if planning else _radii(records),
        "blame": None if blamed is None else asdict(blamed),
        "unique_pairs": mean(row["unique_pairs"] for row in rows.values()),
        "oracles": asdict(joint_recall(records, tasks=len(tasks), min_states_a_task=least)),
        "bugs_over_time": [list(step) for step in bugs_over_time(records)],
        "tasks": rows,
    }


def _of_task(
    task: AnyTask, records: Sequence[Record], pool: int, with_regions: bool
) -> dict[str, Any]:
    sets = basic_sets(records, pool)
    bugs = [record for record in records if record.is_bug]
    states = {record.state for record in bugs}
    planning = isinstance(task, Task)
    return {
        "sets": {**asdict(sets), "bugs": sets.bugs},
        "recall": {
            "fails": recall(sets).fails,
            "fails_of_pool": recall(sets, fails_over="pool").fails,
            "costly": recall(sets).costly,
        }
        if planning
        else None,
        "bugs": [record.number for record in bugs],
        "fuzzing_bugs": sum(bool(record.fuzzing_bug) for record in bugs) if planning else None,
        "severity": asdict(severity(records)) if planning else None,
        "unique_pairs": unique_pair_fraction(states, [record.state for record in records]),
        "regions": [len(region) for region in regions(states, successors_in(task))]
        if with_regions and isinstance(task, Task)
        else None,
    }


def _sums(rows: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return dict(total)


def _radii(records: Sequence[Record]) -> dict[str, int]:
    """Bugs of models by the smallest number of deviations known to be needed to avoid them."""
    found = Counter(
        "inf" if record.radius[0] is None else str(record.radius[0])
        for record in records
        if record.is_bug and record.radius is not None
    )
    return dict(sorted(found.items()))
