"""Oracles on planning tasks: a unit is a campaign with one oracle on one task, with one seed.

Every oracle has its own campaign, so that no bound that one has found helps another. The pool is a function of the
task, the policy and the seed, so all oracles judge the same states in the same order. Oracles in `isolated` judge each
state alone: a plan found for one state is not used for the next, as in P23. The others keep their results and judge one
state after the other (P23, Algorithm 5).

Oracles are compared by recall in the joint pool (P23): of the states that all oracles have processed, the share that an
oracle convicts. Oracles with too few states per task are left out first. Tasks whose initial state the policy does not
solve are counted but not tested. Times are those of the oracle with its dominance function, without the fuzzing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from misstep.campaigns.metrics import joint_recall
from misstep.campaigns.records import Record
from misstep.campaigns.testing import test
from misstep.errors import UsageError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.kinds.tasks import fitting, is_learned, open_task, task_name
from misstep.experiments.schema import named_texts, number, texts, whole
from misstep.runs.single import run as run_policy
from misstep.tasks.parameters import did_you_mean

WORLD = "planning"
VERSION = 2
_CHUNK = 25  # states between two checks of the time limit, for oracles that keep their results
KEYS = {
    "oracles": named_texts(),
    "isolated": texts(default=[]),  # names of oracles
    "beside": texts(default=[]),  # oracles that do not count for the joint pool and the best of all
    "portfolio": texts(default=[]),  # oracles whose bugs together are an oracle of their own
    "pool": whole(),
    "seconds": number(None),
    "least_states": whole(25, least=0),
}
COLUMNS = (
    *("policy", "learned", "task", "oracle", "state", "solves_start", "solved", "processed", "bug"),
    *("at", "joint", "least_states", "beside", "portfolio"),
)
BEST_OF, PORTFOLIO = "best of", "portfolio"
_ROLES = ("isolated", "beside", "portfolio")


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    subject, oracles = row["subject"], _named(step)
    tasks = subject.get(
        "tasks", [subject]
    )  # a row that is missing has one unit for each oracle, which says so
    for task in tasks:
        for label, oracle in oracles.items():
            payload = {
                "task": task,
                "policies": subject.get("policies", []),
                "oracle": oracle,
                "name": label,
                **{role: label in step[role] for role in _ROLES},
                "pool": step["pool"],
                "seconds": step["seconds"],
                "least_states": step["least_states"],
                "seed": seed,
            }
            name = MISSING if MISSING in task else task_name(task)
            yield Part(f"{name}, {label}", payload, step["pool"])


def _named(step: Json) -> dict[str, str]:
    """Specs of oracles by their names."""
    own = step["oracles"]
    found = dict(own) if isinstance(own, dict) else {spec: spec for spec in own}
    for name in (name for role in _ROLES for name in step[role]):
        if name not in found:
            raise UsageError(
                f"the step {step['name']} has no oracle {name!r:.60}",
                expected=", ".join(found),
                hint=did_you_mean(name, list(found)),
            )
    return found


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    policy = fitting(payload["policies"], task)
    about = {"policy": policy, "task": task_name(payload["task"])}
    if run_policy(policy, task).outcome != "goal":
        return {**about, "solves_start": False, "states": []}
    limits = None if payload["seconds"] is None else {"time": float(payload["seconds"])}
    found = test(
        task,
        policy,
        preset="p23",
        pool=payload["pool"],
        oracle=payload["oracle"],
        isolate=payload["isolated"],
        # A state that is judged alone is a separate unit, so that its time stamp counts everything before it.
        chunk=1 if payload["isolated"] else _CHUNK,
        round=1,
        seed=payload["seed"],
        limits=limits,
        fault_budget="none",
    )
    with found:
        records = found.records
        fuzzing = sum(record.times.pool for record in records)
        states = [_state(record, fuzzing) for record in records]
    return {**about, "solves_start": True, "states": states}


def _state(record: Record, fuzzing: float) -> list[Value]:
    opinion = next(iter(record.verdicts), None)
    solved = record.run.outcome == "goal"
    if opinion is None:
        return [record.number, solved, False, False, None]
    return [record.number, solved, True, opinion.is_bug, max(0.0, opinion.at - fuzzing)]


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {
        **{name: result[name] for name in ("policy", "task", "solves_start")},
        "learned": is_learned(result["policy"]),
        "oracle": payload["name"],
        **{role: payload[role] for role in ("beside", "portfolio")},
        "least_states": payload["least_states"],
    }
    if not result["solves_start"]:  # so that the task is counted
        yield {**about, "state": None, "processed": False, "bug": False}
        return
    for number_, solved, processed, bug, at in result["states"]:
        yield {
            **about,
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
    """The parts of a record that `joint_recall` reads."""

    task: str
    id: str
    verdicts: tuple[_Opinion, ...]


def joined(observations: list[dict[str, Value]]) -> None:
    """Mark the joint pool of each row and seed, and add the states that any oracle, or the portfolio, convicts."""
    parts: dict[tuple[Value, Value], list[dict[str, Value]]] = {}
    for own in observations:
        parts.setdefault((own["row"], own["seed"]), []).append(own)
    for part in parts.values():
        observations += _join(part)


def _join(part: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    by_state: dict[tuple[Value, Value], list[dict[str, Value]]] = {}
    for own in part:
        by_state.setdefault((own["task"], own["state"]), []).append(own)
    kept = _compared(part, by_state)
    more = []
    for group in by_state.values():
        judged = {own["oracle"] for own in group if own["processed"]}
        joint = bool(kept) and kept <= judged
        for own in group:
            own["joint"] = joint and (own["oracle"] in kept or bool(own["beside"]))
        more.append(_union(BEST_OF, [own for own in group if own["oracle"] in kept], group, joint))
        members = [own for own in group if own["portfolio"]]
        if members:
            more.append(_union(PORTFOLIO, members, group, joint))
    return more


def _compared(
    part: Sequence[dict[str, Value]],
    by_state: Mapping[tuple[Value, Value], Sequence[dict[str, Value]]],
) -> set[str]:
    """The oracles that have processed enough states to be compared."""
    records = [
        _Seen(
            str(task),
            f"{task}:{state}",
            tuple(
                _Opinion(str(own["oracle"]), bool(own["bug"]))
                for own in group
                if own["processed"] and not own["beside"]
            ),
        )
        for (task, state), group in by_state.items()
    ]
    least = part[0]["least_states"]
    found = joint_recall(
        cast("list[Record]", records),
        tasks=max(len({own["task"] for own in part if own["solves_start"]}), 1),
        min_states_a_task=float(least) if isinstance(least, (int, float)) else 0,
    )
    return set(found.recall) - set(found.dropped)


def _union(
    name: str,
    members: Sequence[dict[str, Value]],
    group: Sequence[dict[str, Value]],
    joint: bool,
) -> dict[str, Value]:
    """The bugs that any of these oracles finds, each at the time of the first one."""
    at = [own["at"] for own in members if own["bug"] and isinstance(own["at"], float)]
    return {
        **group[0],
        "oracle": name,
        "bug": any(own["bug"] for own in members),
        "joint": joint,
        "processed": any(own["processed"] for own in group),
        "at": min(at, default=None),
    }


def longest(payload: Json) -> float | None:
    seconds = payload["seconds"]
    return None if seconds is None else float(seconds)
