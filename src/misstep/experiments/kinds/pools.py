"""Pools of test states and what oracles find in them (P22, Table 1): a unit is one variant of the fuzzer on one task.

All oracles judge the same pool. They share nothing with each other, and each judges each state alone, so that a plan
found for one state convicts no other. Oracles in `shared` may use their results on other states: going back from a
state to the one where its walk began needs the policy's run from there.

As in the paper, recall is the share of convicted states: failing ones among those that the policy does not solve, or
among the whole pool; costly ones among those that it solves. Rows are averages over tasks. Tasks whose initial state
the policy does not solve are counted but not tested.

If a domain has no decider of solvability, `perfect` is the result of `undo`: P22 uses it in domains where all actions
can be undone, so that every failing state is a bug. Ours has to prove each bug, so it may find fewer within its budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.metrics import ratio, regions, successors_in, unique_pair_fraction
from misstep.campaigns.records import Record
from misstep.campaigns.rows import Values
from misstep.campaigns.testing import test
from misstep.errors import UnsupportedError, UsageError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part, switches
from misstep.experiments.kinds.switches import COSTLY, FAILS, OBJECTIVES
from misstep.experiments.kinds.tasks import fitting, is_learned, open_task, task_name
from misstep.experiments.schema import table, texts
from misstep.oracles.solvability.oracle import decider_of
from misstep.runs.single import run as run_policy
from misstep.tasks.parameters import did_you_mean
from misstep.tasks.task import Task

WORLD = "planning"
VERSION = 1
PERFECT, UNDO, BEST_OF = "perfect", "undo", "best of"
KEYS = {
    **switches.KEYS,
    "oracles": table(by_scale=True),  # names, and specs
    FAILS: texts(),  # names of oracles that count for failing states
    COSTLY: texts(),
    "shared": texts(default=[]),
}
COLUMNS = (
    *("policy", "learned", "task", "variant", "oracle", "solves_start", "pool", "solved"),
    *("processed", FAILS, COSTLY, "recall_fails", "recall_fails_of_pool", "recall_costly"),
    *("unique_fails", "unique_costly", "regions_fails", "regions_costly"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    for name in (*step[FAILS], *step[COSTLY], *step["shared"]):
        if name not in step["oracles"]:
            raise UsageError(
                f"the step {step['name']} has no oracle {name!r:.60}",
                expected=", ".join(step["oracles"]),
                hint=did_you_mean(name, list(step["oracles"])),
            )
    for label, payload in switches.payloads(step, row, seed):
        own = {name: step[name] for name in ("oracles", FAILS, COSTLY, "shared")}
        yield Part(label, {**payload, **own}, step["pool"])


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    policy = fitting(payload["policies"], task)
    about = {"policy": policy, "task": task_name(payload["task"])}
    if run_policy(policy, task).outcome != "goal":
        return {**about, "solves_start": False}
    oracles = _applicable(payload["oracles"], task)
    with ExitStack() as opened:
        campaigns = list(_campaigns(payload, task, policy, oracles, opened))
        records = [campaign.records for campaign in campaigns]
        size = max(int(own.metrics()["sets"]["pool"]) for own in campaigns)
    judged = _judged(records, oracles)
    states = {own.number: own.state for group in records for own in group}
    solved = {own.number for group in records for own in group if switches.is_solved(own)}
    if PERFECT in payload["oracles"] and PERFECT not in judged and UNDO in judged:
        judged[PERFECT] = judged[UNDO]
    judged[BEST_OF] = _best_of(judged, payload)
    return {
        **about,
        "solves_start": True,
        "pool": size,
        "solved": len(solved),
        "oracles": {name: _measured(own, states, task) for name, own in judged.items()},
    }


def _applicable(oracles: Mapping[str, str], task: Task) -> dict[str, str]:
    """All oracles, without the decider of solvability if the domain has none."""
    try:
        decider_of(task)
    except UnsupportedError:
        return {name: spec for name, spec in oracles.items() if spec != PERFECT}
    return dict(oracles)


def _campaigns(
    payload: Json, task: Task, policy: str, oracles: Mapping[str, str], opened: ExitStack
) -> Iterator[Campaign]:
    """One campaign for oracles that judge each state alone and one for the others, on the same pool."""
    pool: Campaign | None = None
    options = {**switches.options(payload), "pool": payload["pool"]}
    for shared in (False, True):
        specs = [spec for name, spec in oracles.items() if (name in payload["shared"]) == shared]
        if not specs:
            continue
        first = switches.limits(payload, with_fuzzing=pool is None)
        own = opened.enter_context(
            test(
                task,
                policy,
                pool_from=pool,
                oracle=specs[0],
                isolate=not shared,
                limits=first,
                **options,
            )
        )
        for spec in specs[1:]:
            own.judge(spec, limits=switches.limits(payload, with_fuzzing=False))
        pool = pool or own
        yield own


@dataclass(frozen=True)
class _Judged:
    """The numbers of states that an oracle has processed and convicted."""

    processed: frozenset[int]
    found: Mapping[str, frozenset[int]]  # by objective


def _judged(records: Sequence[Sequence[Record]], oracles: Mapping[str, str]) -> dict[str, _Judged]:
    judged = {}
    for name, spec in oracles.items():
        opinions = [
            (record, opinion)
            for group in records
            for record in group
            for opinion in record.verdicts
            if opinion.oracle == spec
        ]
        found = {
            objective: frozenset(
                record.number
                for record, opinion in opinions
                if switches.is_found(record, opinion, objective)
            )
            for objective in OBJECTIVES
        }
        judged[name] = _Judged(frozenset(record.number for record, _ in opinions), found)
    return judged


def _best_of(judged: Mapping[str, _Judged], payload: Json) -> _Judged:
    """The bugs that any oracle finds, among those that count for an objective."""
    found = {
        objective: frozenset().union(
            *(own.found[objective] for name, own in judged.items() if name in payload[objective])
        )
        for objective in OBJECTIVES
    }
    return _Judged(frozenset().union(*(own.processed for own in judged.values())), found)


def _measured(own: _Judged, states: Mapping[int, Values], task: Task) -> Json:
    result: dict[str, Any] = {"processed": len(own.processed)}
    pool = list(states.values())
    for objective, numbers in own.found.items():
        bugs = {states[number] for number in numbers}
        result[objective] = sorted(numbers)
        result[f"unique_{objective}"] = unique_pair_fraction(bugs, pool)
        result[f"regions_{objective}"] = len(regions(bugs, successors_in(task)))
    return result


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {
        "policy": result["policy"],
        "learned": is_learned(result["policy"]),
        "task": result["task"],
        "variant": payload["variant"],
        "solves_start": result["solves_start"],
    }
    if not result["solves_start"]:
        yield {**about, "oracle": BEST_OF}
        return
    size, solved = result["pool"], result["solved"]
    for name, own in result["oracles"].items():
        fails, costly = len(own[FAILS]), len(own[COSTLY])
        yield {
            **about,
            "oracle": name,
            "pool": size,
            "solved": solved,
            **{key: own[key] for key in own if key not in OBJECTIVES},
            FAILS: fails,
            COSTLY: costly,
            "recall_fails": ratio(fails, size - solved),
            "recall_fails_of_pool": ratio(fails, size),
            "recall_costly": ratio(costly, solved),
        }


def longest(payload: Json) -> float | None:
    return switches.longest(payload, len(payload["oracles"]))
