"""The two switches of P22's fuzzer, and the other common keys of its two experiments.

The policy-quality bias lets walks prefer successors from which the policy needs many steps, and puts those where it
fails into the pool. The novelty filter keeps states out of the pool that have no new pair of facts. A variant of the
fuzzer is named by what it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from misstep.campaigns.records import Opinion, Record
from misstep.experiments.kinds import MISSING, Json
from misstep.experiments.kinds.tasks import task_name
from misstep.experiments.schema import Key, number, texts, whole

# Bias, novelty filter.
VARIANTS = {
    "both": (True, True),
    "no bias": (False, True),
    "no novelty": (True, False),
    "neither": (False, False),
}
FAILS, COSTLY = OBJECTIVES = ("fails", "costly")  # P22's qualitative and quantitative bugs
KEYS: dict[str, Key] = {
    "variants": texts(VARIANTS),
    "pool": whole(200),
    "walk_length": whole(5),
    "novelty": whole(2),
    "patience": whole(10_000),
    "fuzz_seconds": number(None),
    "oracle_seconds": number(None),
}
_OF_A_UNIT = ("pool", "walk_length", "novelty", "patience", "fuzz_seconds", "oracle_seconds")


def payloads(step: Json, row: Json, seed: int) -> Iterator[tuple[str, Json]]:
    """The common part of all units: a task, a variant, and the time for fuzzing; each with a label."""
    subject = row["subject"]
    # A row that is missing has units that say so.
    for task in subject.get("tasks", [subject]):
        for variant in step["variants"]:
            payload = {
                "task": task,
                "policies": subject.get("policies", []),
                "variant": variant,
                "seed": seed,
                **{name: step[name] for name in _OF_A_UNIT},
            }
            yield f"{MISSING if MISSING in task else task_name(task)}, {variant}", payload


def options(payload: Json) -> dict[str, Any]:
    """The settings of a campaign whose pool comes from the variant of the fuzzer. Faults are not searched."""
    bias, novelty = VARIANTS[payload["variant"]]
    found = {
        "preset": "p22",
        "fuzz": "policy-length" if bias else "none",
        "novelty": payload["novelty"] if novelty else 0,
        "walk_length": payload["walk_length"],
        "patience": payload["patience"],
        "seed": payload["seed"],
        "fault_budget": "none",
    }
    if payload["fuzz_seconds"] is not None:
        found["fuzz_time"] = float(payload["fuzz_seconds"])
    return found


def limits(payload: Json, *, with_fuzzing: bool) -> dict[str, float] | None:
    """Seconds for one oracle on the whole pool."""
    if payload["oracle_seconds"] is None:
        return None
    more = payload["fuzz_seconds"] if with_fuzzing else 0
    return None if more is None else {"time": float(payload["oracle_seconds"]) + float(more)}


def longest(payload: Json, oracles: int) -> float | None:
    """Seconds of fuzzing, and of so many oracles."""
    fuzzing, judging = payload["fuzz_seconds"], payload["oracle_seconds"]
    return None if None in (fuzzing, judging) else float(fuzzing) + oracles * float(judging)


def is_solved(record: Record) -> bool:
    return record.run.outcome == "goal"


def is_found(record: Record, opinion: Opinion, objective: str) -> bool:
    """Whether an oracle convicts the state for that objective."""
    kind = opinion.kind or ""
    failing = kind.startswith("fails") or kind == "crash"
    wanted = failing if objective == FAILS else kind.startswith("costly")
    # A run that was cut is neither solved nor known to fail.
    return opinion.is_bug and wanted and is_solved(record) == (objective == COSTLY)


__all__ = [
    "COSTLY",
    "FAILS",
    "KEYS",
    "OBJECTIVES",
    "VARIANTS",
    "is_found",
    "is_solved",
    "limits",
    "longest",
    "options",
    "payloads",
]
