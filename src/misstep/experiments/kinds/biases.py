"""Biases of the fuzzer (P24): a unit is a task with one seed, on which every bias makes a pool that an oracle judges.

Each bias has its own campaign, so no bound that an oracle has found in one pool helps it in another. They share what
does not depend on the pool: the answers of the policy, and the dominance function of the task.

Biases are compared by oracle coverage: the share of the states of a pool that the oracle finds to be bugs. A bias that
is fast, or that was not cut by the time limit, makes a larger pool. So for each task all pools are cut to the length of
the shortest, as prefixes in the order in which states were found. This is done twice: for the practical biases, and for
all, including those that use the exact distance h*. Tasks with too many states for h* are not part of the second
comparison. Only tasks whose initial state the policy solves count, unless `unsolved_starts` includes the others, which
`solves_start` distinguishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from misstep.campaigns.options import make_settings
from misstep.campaigns.settings import PLANNING, Settings
from misstep.campaigns.tables import Content
from misstep.campaigns.testing import conduct
from misstep.errors import BudgetLimitError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.kinds.remembering import remembering
from misstep.experiments.kinds.tasks import fitting, open_task, task_name
from misstep.experiments.schema import flag, number, text, texts, whole
from misstep.oracles.dominance import try_dominance
from misstep.oracles.grammar import needs_dominance
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.single import run as run_policy
from misstep.tasks.census import state_space
from misstep.tasks.task import Task


class _Bias(NamedTuple):
    fuzz: str  # as `misstep test --fuzz` calls it
    exact: bool = False  # whether it measures by h* instead of hFF


BIASES = {
    "0": _Bias("none"),
    "pi": _Bias("policy-cost"),
    "detour": _Bias("detour"),
    "surface": _Bias("surface"),
    "loop": _Bias("loop"),
    "detour h*": _Bias("detour", True),
    "surface h*": _Bias("surface", True),
    "loop h*": _Bias("loop", True),
}
MOST_EXACT = 1_000_000  # states; the fuzzer enumerates no more

BUDGETS = {"walk_length": whole(5), "state_budget": whole(50), "expansion_budget": whole(200)}

WORLD = "planning"
SEED = "{seed}"  # in the spec of a policy: the seed of the unit, where a policy has random parts
VERSION = 2
KEYS = {
    "biases": texts(BIASES),
    "oracle": text("bmo(100)+aras/ehc"),
    "pool": whole(100),
    **BUDGETS,
    "exact_states": whole(100_000),
    "seconds": number(None),
    "unsolved_starts": flag(),
}
COLUMNS = (
    *("policy", "task", "solves_start", "bias", "exact", "state", "solved", "bug"),
    *("optimal", "cost", "practical", "all_biases", "place", "pool_seconds"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    subject = row["subject"]
    shared = {name: step[name] for name in KEYS}
    for task in subject.get(
        "tasks", [subject]
    ):  # a row that is missing has one unit, which says so
        payload = {"task": task, **_policies(subject, seed), **shared, "seed": seed}
        if MISSING in task:
            yield Part(MISSING, payload, 0)
        else:
            yield Part(task_name(task), payload, step["pool"] * len(step["biases"]))


def _policies(subject: Json, seed: int) -> Json:
    def own(spec: str) -> str:
        return spec.replace(SEED, str(seed))

    policies, digests = subject.get("policies"), subject.get("digests")
    return {
        "policies": policies and [own(spec) for spec in policies],
        "digests": digests and {own(spec): digest for spec, digest in digests.items()},
    }


def run(payload: Json) -> Json:
    task = open_task(payload["task"])
    spec = fitting(payload["policies"], task)
    policy = remembering(load_policy(spec, task))
    try:
        solves = run_policy(policy, task).outcome == "goal"
        counts = solves or payload["unsolved_starts"]
        pools = _pools(task, policy, payload) if counts else {}
    finally:
        policy.close()
    name = task_name(payload["task"])
    return {"policy": spec, "task": name, "solves_start": solves, "pools": pools}


def _pools(task: Task, policy: Policy, payload: Json) -> Json:
    found: Json = {}
    small = None
    tables = _dominance(task, payload["oracle"])
    for name in payload["biases"]:
        if BIASES[name].exact and small is None:
            small = _is_small(task, payload["exact_states"])
        began = perf_counter()
        known = not BIASES[name].exact or small
        states = _judged(task, policy, name, payload, tables) if known else []
        found[name] = {"states": states, "seconds": perf_counter() - began}
    return found


def _is_small(task: Task, states: int) -> bool:
    """Whether the distances of all states can be computed."""
    try:
        state_space(task, max_states=min(states, MOST_EXACT))
    except BudgetLimitError:
        return False
    return True


def _dominance(task: Task, oracle: str) -> bytes | str | None:
    """As a campaign keeps it: the tables, or why there are none; None if the oracle does not use them."""
    if not needs_dominance(oracle, task):
        return None
    found = try_dominance(task)
    return found if isinstance(found, str) else bytes(found.to_bytes())


def _judged(
    task: Task, policy: Policy, name: str, payload: Json, tables: bytes | str | None
) -> list[list[bool | int | None]]:
    """For each state of the pool, in order: whether the policy solves it, its cost, and what is proven about it."""

    def prepare(content: Content, settings: Settings) -> None:  # noqa: ARG001
        findings = content.findings(task.name)
        if isinstance(tables, str):
            findings.set_dominance(None, tables)
        elif tables is not None:
            findings.set_dominance(tables)

    bias = BIASES[name]
    options = {own: payload[own] for own in ("pool", "oracle", "seed", *BUDGETS)}
    estimate = "h*" if bias.exact else "ff"
    settings = make_settings(
        PLANNING,
        "",
        # Only the bugs of a pool are counted, so faults are not searched.
        {**options, "preset": "p24", "fuzz": bias.fuzz, "estimate": estimate, "fault_budget": None},
    )
    limits = None if payload["seconds"] is None else {"time": float(payload["seconds"])}
    how = (1, None, limits, None)
    found = conduct([task], policy, settings, None, False, prepare, how, False)
    states: list[list[bool | int | None]] = []
    with found:
        for record in sorted(found.records, key=lambda own: own.number):
            opinion = next(iter(record.verdicts), None)
            if opinion is None or record.number != len(states):
                break  # time was up
            solved, is_optimal = record.run.outcome == "goal", opinion.verdict == "OPTIMAL"
            states.append([solved, opinion.is_bug, is_optimal, record.run.cost])
    return states


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:  # noqa: ARG001
    about = {name: result[name] for name in ("policy", "task", "solves_start")}
    if not result["pools"]:
        yield {**about, "practical": False, "all_biases": False}
    for bias, pool in result["pools"].items():
        of_bias = {"bias": bias, "exact": BIASES[bias].exact, "pool_seconds": pool["seconds"]}
        if not pool["states"]:
            yield {**about, **of_bias, "practical": False, "all_biases": False}
        for place, own in enumerate(pool["states"]):
            found = dict(zip(("solved", "bug", "optimal", "cost"), own, strict=True))
            yield {**about, **of_bias, "state": place, **found}


def joined(observations: list[dict[str, Value]]) -> None:
    """Cut the pools of each task to equal length, and say how the biases compare on a row."""
    parts: dict[tuple[Value, ...], list[dict[str, Value]]] = {}
    for own in observations:
        parts.setdefault((own["row"], own["seed"], own["task"]), []).append(own)
    for part in parts.values():
        _cut(part, "practical", [own for own in part if own.get("exact") is False])
        _cut(part, "all_biases", part if any(own.get("exact") for own in part) else [])
    by_row: dict[Value, list[dict[str, Value]]] = {}
    for own in observations:
        by_row.setdefault(own["row"], []).append(own)
    for part in by_row.values():
        _rank(part)


def _cut(
    part: Sequence[dict[str, Value]], column: str, compared: Sequence[dict[str, Value]]
) -> None:
    sizes: dict[Value, int] = {}
    for own in compared:
        sizes[own["bias"]] = sizes.get(own["bias"], 0) + (own.get("state") is not None)
    shortest = min(sizes.values(), default=0)
    for own in part:
        place = own.get("state")
        own[column] = own.get("bias") in sizes and isinstance(place, int) and place < shortest


def _rank(part: Sequence[dict[str, Value]]) -> None:
    """Say which practical biases find the most bugs on a row, where all have equally many states."""
    bugs: dict[Value, int] = {}
    for own in part:
        if own["practical"]:
            bugs[own["bias"]] = bugs.get(own["bias"], 0) + bool(own["bug"])
    most, least = max(bugs.values(), default=0), min(bugs.values(), default=0)
    for own in part:
        if not own["practical"]:
            own["place"] = None
        elif most == least:
            own["place"] = "tied"
        else:
            own["place"] = "best" if bugs[own["bias"]] == most else "behind"


def longest(payload: Json) -> float | None:
    seconds = payload["seconds"]
    return None if seconds is None else float(seconds) * len(payload["biases"])
