"""Unsafe runs by configuration of the fuzzer: a unit is one configuration on one row, with one seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import process_time

from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part
from misstep.experiments.kinds.models import is_trained, open_subject
from misstep.experiments.schema import texts, whole
from misstep.safety.fuzz import CONFIGURATIONS, fuzz

WORLD = "models"
VERSION = 1
KEYS = {
    "configurations": texts(CONFIGURATIONS),
    "runs": whole(),
    "max_steps": whole(1000),
}
COLUMNS = (
    *("policy", "trained", "configuration", "runs", "unsafe", "distinct", "unsafe_starts", "steps"),
    *("looked_at", "cut", "crashes", "seconds"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    for configuration in step["configurations"]:
        payload = {
            "subject": row["subject"],
            "configuration": configuration,
            "runs": step["runs"],
            "max_steps": step["max_steps"],
            "seed": seed,
        }
        yield Part(configuration, payload, step["runs"])


def run(payload: Json) -> Json:
    opened = open_subject(payload["subject"])
    settings = replace(
        CONFIGURATIONS[payload["configuration"]],
        runs=payload["runs"],
        max_steps=payload["max_steps"],
    )
    system = opened.system()
    began = process_time()
    found = fuzz(system, settings, seed=payload["seed"])
    return {
        "policy": opened.policy,
        "runs": payload["runs"],
        "unsafe": found.ends["unsafe"],
        "distinct": len(found.runs),
        "unsafe_starts": found.unsafe_starts,
        "steps": found.steps,
        "looked_at": found.looked_at,
        "cut": found.cut_lookaheads,
        "crashes": found.ends.get("error", 0) + found.ends.get("timeout", 0),
        "seconds": process_time() - began,
    }


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {"configuration": payload["configuration"], "trained": is_trained(result["policy"])}
    yield {**about, **result}


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None
