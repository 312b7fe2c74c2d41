"""The three figures of the safety paper on our nine domains: fuzzing, deciding, blaming.

For each domain: unsafe runs and time of 1,000 fuzzing runs by configuration; how many of the states on unsafe runs each
oracle decides within its budget, from scratch, and in what time; and the time of the fault analysis of all unsafe runs
by oracle. Shipped networks are tested where there is one; elsewhere the policy takes the first label that applies,
or, where that one is safe, a random label in each state.
Seconds are processor time.

python -m benchmarks.ps [RUNS [DOMAIN...]] prints JSON, and the tables of docs/results.md on standard error
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.common import remark, report
from misstep.policies.load import load_policy
from misstep.policies.shipped import shipped_names
from misstep.safety import (
    CONFIGURATIONS,
    Answer,
    Budget,
    Decider,
    Fault,
    System,
    analyse,
    fuzz,
)
from misstep.safety.decider import KINDS
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model, write_model

MODELS: dict[str, dict[str, Any]] = {
    "one-way-line": {"cells": 8, "packages": 3, "drop": True},
    "two-way-line": {"cells": 8, "packages": 3, "drop": True, "ice": "3"},
    "blocksworld-cost": {"blocks": 4, "limit": 2, "max_cost": 2},
    "n-puzzle": {"width": 3, "height": 2, "max_cost": 1, "tile": 1, "cell": 4},
    "beluga": {"racks": 2, "lines": "0,3/2,1", "swaps": 6},
    "bouncing-ball": {"horizon": 100},
    "inverted-pendulum": {"horizon": 100},
    "cartpole": {"horizon": 100},
    "follow-car": {"horizon": 100},
    "follow-car, nondeterministic": {"horizon": 100, "nondeterministic": True},
}
FIRST_IS_SAFE = ("bouncing-ball", "follow-car")
STATES = 300  # decided from scratch, at most
BUDGET = Budget(evaluations=20_000, seconds=2)
SECONDS = 10  # of an oracle on a domain, for each of the two


def load(name: str) -> tuple[JaniTask, str]:
    domain = name.partition(",")[0]
    path = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / f"{name}.jani"
    write_model(generate_model(domain, **MODELS[name]), path)
    if f"{domain}-small" in shipped_names("safety"):
        return load_jani(path), f"shipped:{domain}-small"
    return load_jani(path), "random:1" if domain in FIRST_IS_SAFE else "first"


def fresh_system(task: JaniTask, policy: str) -> System[State, str]:
    engine = task.new_engine()
    handle = load_policy(policy, task, engine=engine)
    return System(jani_transitions(task, engine), handle.policy, inapplicable=handle.inapplicable)


def measure(name: str, runs: int) -> dict[str, Any]:
    task, policy = load(name)
    row: dict[str, Any] = {"policy": policy, "fuzzing": {}, "oracles": {}}
    unsafe = {}
    for configuration, settings in CONFIGURATIONS.items():
        system = fresh_system(task, policy)
        began = process_time()
        found = fuzz(system, dataclasses.replace(settings, runs=runs, max_steps=200), seed=1)
        row["fuzzing"][configuration] = {
            "unsafe_runs": found.ends["unsafe"],
            "seconds": round(process_time() - began, 3),
            "cut_lookaheads": found.cut_lookaheads,
        }
        for run in found.runs:
            unsafe[run.states] = run
    paths = list(unsafe.values())
    states = list(dict.fromkeys(s for run in paths for s in run.states[:-1]))[:STATES]
    row["distinct_runs"], row["states"] = len(paths), len(states)
    for kind in KINDS:
        row["oracles"][kind] = decide(task, policy, kind, states, paths[:200])
    return row


def decide(
    task: JaniTask, policy: str, kind: str, states: list[Any], paths: list[Any]
) -> dict[str, Any]:
    decided = safe = 0
    spent = 0.0
    system = fresh_system(task, policy)
    for state in states:
        decider = Decider(system, kind, budget=BUDGET)  # from scratch, but for the model's answers
        began = process_time()
        answer = decider.decide(state).answer
        spent += process_time() - began
        decided += answer is not Answer.UNKNOWN
        safe += answer is Answer.SAFE
        if spent > SECONDS:
            break
    shared = Decider(fresh_system(task, policy), kind, budget=BUDGET)
    faults: set[Fault[State, str]] = set()
    analysed = 0
    began = process_time()
    for path in paths:
        if process_time() - began > SECONDS:
            break
        faults.update(analyse(shared, path, largest=None).faults)
        analysed += 1
    return {
        "decided": decided,
        "safe": safe,
        "seconds": round(spent, 3),
        "faults": len(faults),
        "analysed": analysed,
        "blame_seconds": round(process_time() - began, 3),
    }


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    results = {}
    for name in sys.argv[2:] or MODELS:
        row = results[name] = measure(name, runs)
        cells = [f"{c['unsafe_runs']} in {c['seconds']:.2f}" for c in row["fuzzing"].values()]
        remark(f"| {name} | {row['policy']} | " + " | ".join(cells) + " |")
        cells = [
            f"{c['decided']} ({c['safe']}) in {c['seconds']:.2f}; "
            f"{c['faults']} of {c['analysed']} in {c['blame_seconds']:.2f}"
            for c in row["oracles"].values()
        ]
        remark(f"| {name} | {row['states']} | " + " | ".join(cells) + " |")
    report("ps", results)


if __name__ == "__main__":
    main()
