"""Oracles on planning tasks: a unit is a campaign with one oracle on one task, with one seed.

Every oracle has a campaign of its own, so that no bound which one has found helps another. The pool is a function of
the task, the policy and the seed, so all oracles judge the same states in the same order. What is compared is recall
in the joint pool (P23): the share of the states that all oracles have processed which an oracle convicts. An oracle
with too few states a task is left out first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from misstep.campaigns.metrics import joint_recall
from misstep.campaigns.records import Record
from misstep.campaigns.testing import test
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.kinds.tasks import fitting, open_task, task_name
from misstep.experiments.schema import number, texts, whole
from misstep.runs.single import run as run_policy

WORLD = "planning"
VERSION = 1
KEYS = {
    "oracles": texts(),
    "pool": whole(),
    "seconds": number(None),
    "least_states": whole(25, least=0),
}
COLUMNS = (
    *("policy", "task", "oracle", "state", "solves_start", "solved", "processed", "bug"),
    *("at", "joint", "least_states"),
)
BEST_OF = "best of"


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    subject = row["subject"]
    tasks = subject.get(
        "tasks", [subject]
    )  # a row that is missing has one unit for each oracle, which says so
    for task in tasks:
        for oracle in step["oracles"]:
            payload = {
                "task": task,
                "policies": subject.get("policies", []),
                "oracle": oracle,
                "pool": step["pool"],
                "seconds": step["seconds"],
                "least_states": step["least_states"],
                "seed": seed,
            }
            name = MISSING if MISSING in task else task_name(task)
            yield Part(f"{name}, {oracle}", payload, step["pool"])


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    policy = fitting(payload["policies"], task)
    solves = run_policy(policy, task).outcome == "goal"
    limits = None if payload["seconds"] is None else {"time": float(payload["seconds"])}
    found = test(
        task,
        policy,
        pool=payload["pool"],
        oracle=payload["oracle"],
        seed=payload["seed"],
        limits=limits,
    )
    with found:
        states = [_state(record) for record in found.records]
    name = task_name(payload["task"])
    return {"policy": policy, "task": name, "solves_start": solves, "states": states}


def _state(record: Record) -> list[Value]:
    opinion = next(iter(record.verdicts), None)
    solved = record.run.outcome == "goal"
    if opinion is None:
        return [record.number, solved, False, False, None]
    return [record.number, solved, True, opinion.is_bug, opinion.at]


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {name: result[name] for name in ("policy", "task", "solves_start")}
    for number_, solved, processed, bug, at in result["states"]:
        yield {
            **about,
            "oracle": payload["oracle"],
            "least_states": payload["least_states"],
            "state": number_,
            "solved": solved,
            "processed": processed,
            "bug": bug,
            "at": at,
        }


@dataclass(frozen=True)
class _Opinion:
    oracle: str
    is_bug: bool


@dataclass(frozen=True)
class _Seen:
    """What `joint_recall` looks at of a record."""

    task: str
    id: str
    verdicts: tuple[_Opinion, ...]


def joined(observations: list[dict[str, Value]]) -> None:
    """Mark the joint pool of each row and seed, and add the states that any oracle convicts."""
    parts: dict[tuple[Value, Value], list[dict[str, Value]]] = {}
    for own in observations:
        parts.setdefault((own["row"], own["seed"]), []).append(own)
    for part in parts.values():
        observations += _join(part)


def _join(part: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    by_state: dict[tuple[Value, Value], list[dict[str, Value]]] = {}
    for own in part:
        by_state.setdefault((own["task"], own["state"]), []).append(own)
    records = [
        _Seen(
            str(task),
            f"{task}:{state}",
            tuple(_Opinion(str(o["oracle"]), bool(o["bug"])) for o in group if o["processed"]),
        )
        for (task, state), group in by_state.items()
    ]
    tasks = len({own["task"] for own in part})
    least = part[0]["least_states"]
    found = joint_recall(
        cast("list[Record]", records),
        tasks=tasks,
        min_states_a_task=float(least) if isinstance(least, (int, float)) else 0,
    )
    kept = set(found.recall) - set(found.dropped)
    best = []
    for group in by_state.values():
        judged = {own["oracle"] for own in group if own["processed"]}
        joint = bool(kept) and kept <= judged
        for own in group:
            own["joint"] = joint and own["oracle"] in kept
        bug = any(own["bug"] for own in group if own["oracle"] in kept)
        at = [own["at"] for own in group if own["bug"] and isinstance(own["at"], float)]
        best.append(
            {
                **group[0],
                "oracle": BEST_OF,
                "bug": bug,
                "joint": joint,
                "processed": bool(judged),
                "at": min(at, default=None),
            }
        )
    return best


def longest(payload: Json) -> float | None:
    seconds = payload["seconds"]
    return None if seconds is None else float(seconds)
