"""Bugs over time with fuzzing and testing interleaved (P22, Figure 4): a unit is a variant of the fuzzer and an oracle.

Each round adds a few states to the pool and judges them; the clock counts both. With rounds of one state the oracle is
called for each new state, as in the paper. Each state is judged alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from misstep.campaigns.records import Record
from misstep.campaigns.testing import test
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part, switches
from misstep.experiments.kinds.switches import COSTLY, FAILS, OBJECTIVES
from misstep.experiments.kinds.tasks import fitting, is_learned, open_task, task_name
from misstep.experiments.schema import text, whole
from misstep.policies.load import load_policy
from misstep.runs.single import run as run_policy

WORLD = "planning"
VERSION = 1
KEYS = {
    **switches.KEYS,
    "round": whole(1),  # states
    FAILS: text(),  # the oracle for failing states
    COSTLY: text(),
}
COLUMNS = (
    *("policy", "learned", "task", "variant", "oracle", "objective", "solves_start", "state"),
    *("solved", "bug", "at"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    for label, payload in switches.payloads(step, row, seed):
        for objective in OBJECTIVES:
            own = {"objective": objective, "oracle": step[objective], "round": step["round"]}
            yield Part(f"{label}, {step[objective]}", {**payload, **own}, step["pool"])


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    policy = fitting(payload["policies"], task)
    solves = run_policy(policy, task).outcome == "goal"
    about = {"policy": policy, "task": task_name(payload["task"]), "solves_start": solves}
    if not solves:
        return {**about, "states": []}
    width, most = payload["round"], payload["pool"]
    # A state is a separate unit, so that its time stamp counts everything before it.
    options = {**switches.options(payload), "chunk": 1, "round": 1, "isolate": True}
    # All rounds together may take as long as the whole pool at once.
    limits = switches.limits(payload, with_fuzzing=True)
    size = min(width, most)
    oracle = payload["oracle"]
    with (
        closing(load_policy(policy, task)) as loaded,  # once, and not in each round
        test(task, loaded, pool=size, oracle=oracle, limits=limits, **options) as own,
    ):
        while size < most and len(own) == size and not _is_spent(own.records, limits):
            size = min(size + width, most)
            own.resume(pool=size, limits=limits)
        states = [
            [record.number, switches.is_solved(record), is_bug, opinion.at]
            for record in own.records
            for opinion in record.verdicts
            for is_bug in [switches.is_found(record, opinion, payload["objective"])]
        ]
    return {**about, "states": states}


def _is_spent(records: list[Record], limits: dict[str, float] | None) -> bool:
    """By the clock of the task, which does not count the time between rounds."""
    return limits is not None and max((own.at for own in records), default=0.0) >= limits["time"]


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {
        **{name: result[name] for name in ("policy", "task", "solves_start")},
        "learned": is_learned(result["policy"]),
        **{name: payload[name] for name in ("variant", "oracle", "objective")},
    }
    for number, solved, bug, at in result["states"]:
        yield {**about, "state": number, "solved": solved, "bug": bug, "at": at}


def longest(payload: Json) -> float | None:
    return switches.longest(payload, 1)
