"""Whole campaigns with other settings: a unit is a campaign of one variant with one policy on one task.

A variant is a name with settings of `misstep test`: `{ fuzz = "none" }`, `{ oracle = "lmcut, ehc" }`. All variants get
the same number of states and the same time; states that a campaign has not decided in its time are open. Faults are
distinct wrong decisions, so many bugs with one cause are one fault. Unlike in other steps, all policies of a row are
tested, not only the first that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from misstep.campaigns.testing import test
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.kinds.tasks import open_task, task_name
from misstep.experiments.schema import Key, number, whole

WORLD = "planning"
VERSION = 1
SETTINGS = ("fuzz", "unbiased_share", "oracle")


def _fits(own: Any) -> bool:
    return (
        isinstance(own, dict)
        and bool(own)
        and all(isinstance(one, dict) and set(one) <= set(SETTINGS) for one in own.values())
    )


KEYS = {
    "variants": Key(f"a table of tables with some of {', '.join(SETTINGS)}", _fits),
    "pool": whole(),
    "seconds": number(),
}
COLUMNS = ("policy", "task", "variant", "states", "bugs", "decided", "open", "faults", "seconds")


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    subject = row["subject"]
    for task in subject.get("tasks", [subject]):
        for policy in subject.get("policies", [""]):
            for variant, options in step["variants"].items():
                payload = {
                    "task": task,
                    "policy": policy,
                    "variant": variant,
                    "options": options,
                    "pool": step["pool"],
                    "seconds": step["seconds"],
                    "seed": seed,
                }
                name = MISSING if MISSING in task else task_name(task)
                yield Part(f"{name}, {policy}, {variant}", payload, step["pool"])


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    found = test(
        task,
        payload["policy"],
        pool=payload["pool"],
        seed=payload["seed"],
        limits={"time": float(payload["seconds"])},
        **payload["options"],
    )
    with found:
        summary = found.summary
        bugs = summary.bugs["total"]
        decided = bugs + summary.optimal + summary.unsolvable
        return {
            "task": task_name(payload["task"]),
            "states": summary.states,
            "bugs": bugs,
            "decided": decided,
            "open": summary.states - decided,
            "faults": summary.faults,
            "seconds": sum(summary.seconds.values()),
        }


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    yield {"policy": payload["policy"], "variant": payload["variant"], **result}


def longest(payload: Json) -> float | None:
    return float(payload["seconds"])


__all__ = ["observations", "run", "units"]
