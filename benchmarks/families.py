"""The families of policies side by side, with policies that we made.

    python -m benchmarks.families [RUNS [FAMILY...]]

For each family: the lines that a user writes (0 where a spec is all; of Python files, those that are no comment, no
docstring and not empty), decisions a second in batches of 256 states, the mean batch in a default campaign (none for
native policies and for those that plan), and the bugs that default campaigns find on three tasks (pool 50,
seed 0).

The result is JSON on standard output; a table is written to standard error, a row as soon as it is known. A family
that needs an extra is left out where it is missing.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import alternate, remark, report
from misstep.campaigns.testing import test as run_campaign
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy, States
from misstep.policies.zoo.index import ZOO, entry
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task

BATCH = 256
POOL, SEED = 50, 0
Sizes = dict[str, int]


@dataclass(frozen=True)
class Family:
    """A policy of the zoo, the file that a user writes for it, and the sizes of three tasks of its domain."""

    policy: str
    tasks: tuple[Sizes, Sizes, Sizes]
    written: str | None = None
    needs: str | None = None  # a package


def ferry(*sizes: tuple[int, int, int]) -> Any:
    return tuple({"cars": cars, "locations": at, "seed": seed} for cars, at, seed in sizes)


FERRY = ferry((3, 3, 1), (4, 4, 1), (6, 5, 1))
SMALL_FERRY = ferry((2, 3, 0), (2, 3, 1), (2, 3, 2))  # the agent has 13 inputs
GRIPPER = ({"balls": 4, "seed": 1}, {"balls": 7, "seed": 1}, {"balls": 12, "seed": 1})
MICONIC: Any = tuple({"passengers": n, "floors": n + 1, "seed": 1} for n in (3, 4, 5))
FAMILIES = {
    "rules": Family("ferry-rules", FERRY),
    "rules, all permitted": Family("ferry-rules-all", FERRY),
    "sketch, all permitted": Family("gripper-sketch", GRIPPER),
    "sketch, a chooser": Family("ferry-sketch-first", FERRY),
    "program, open loop": Family("ferry-program", FERRY, "ferry_program.py"),
    "program, closed loop": Family("ferry-program-closed", FERRY, "ferry_program.py"),
    "wl, greedy": Family("ferry-wl", FERRY),
    "wl, hill climbing": Family("ferry-wl-hill", FERRY),
    "sb3": Family("ferry-ppo", SMALL_FERRY),
    "rgnn": Family("ferry-rgnn", FERRY, needs="torch"),
    "asnet": Family("ferry-asnet", FERRY),
    "python": Family("miconic-python", MICONIC, "miconic_function.py"),
    "exec": Family("gripper-exec", GRIPPER, "gripper_exec.py"),
}


def lines_written(file: str | None) -> int:
    """Lines of code: not empty, no comment, no docstring."""
    if file is None:
        return 0
    text = (ZOO / file).read_text()
    left = set(range(1, len(text.splitlines()) + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = {number: line.strip() for number, line in enumerate(text.splitlines(), 1)}
    return sum(1 for number in left if lines[number] and not lines[number].startswith("#"))


def walked_states(task: Task) -> States:
    """A walk that begins anew at goals, because no campaign asks about those."""
    random = np.random.default_rng(0)
    found: list[tuple[int, ...]] = []
    state = task.initial_state
    while len(found) < BATCH:
        operators = task.applicable(state)
        if task.is_goal(state) or not operators:  # there may be no way out of either
            state = task.initial_state
            continue
        found.append(state.values)
        state = task.apply(state, operators[random.integers(len(operators))])
    return np.array(found, np.int32)


def rate(policy: Policy, states: States) -> float:
    """Decisions a second; of an open-loop policy, plans."""
    rounds, began = 0, perf_counter()
    while rounds == 0 or perf_counter() - began < 0.2:
        if policy.plans:
            for row in states.tolist():
                policy.plan(State(row))
        elif policy.set_valued:
            policy.permitted(states)
        else:
            policy.decide(states)
        rounds += 1
    return rounds * len(states) / (perf_counter() - began)


def decisions(spec: str, task: Task, runs: int) -> float:
    policy = load_policy(spec, task)
    try:
        states = walked_states(task)
        return alternate(runs, lambda: rate(policy, states))[0]
    finally:
        policy.close()


def measure(family: Family, runs: int) -> dict[str, Any]:
    own, spec = entry(family.policy), f"zoo:{family.policy}"
    tasks = [load_task(generate(own.generator, **sizes)) for sizes in family.tasks]
    result: dict[str, Any] = {
        "policy": spec,
        "lines": lines_written(family.written),
        "decisions a second": decisions(spec, tasks[1], runs),
    }
    bugs, calls, asked = [], 0, 0.0
    for task in tasks:
        with run_campaign(task, spec, pool=POOL, seed=SEED) as found:
            batches = found.summary.batches
            calls += batches.get("calls", 0)
            asked += batches.get("mean", 0.0) * batches.get("calls", 0)
            bugs.append(f"{len(found.bugs)} of {len(found.records)}")
    result["mean batch"] = asked / calls if calls else None
    result["bugs"] = dict(zip((task.name for task in tasks), bugs, strict=True))
    return result


def row(name: str, own: dict[str, Any]) -> str:
    batch = "-" if own["mean batch"] is None else f"{own['mean batch']:.1f}"
    speed, bugs = f"{own['decisions a second']:,.0f}", ", ".join(own["bugs"].values())
    return f"{name:<24}{own['lines']:>6}{speed:>13}{batch:>8}  {bugs}"


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    results = {}
    remark(f"{'family':<24}{'lines':>6}{'decisions/s':>13}{'batch':>8}  bugs on three tasks")
    for name in sys.argv[2:] or FAMILIES:
        family = FAMILIES[name]
        if family.needs is not None and importlib.util.find_spec(family.needs) is None:
            remark(f"{name:<24}left out: {family.needs} is not installed")
            continue
        results[name] = measure(family, runs)
        remark(row(name, results[name]))
    report("families", results)


if __name__ == "__main__":
    main()
