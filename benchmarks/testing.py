"""Whole campaigns through the Python API: what each stage takes, and what is found.

python -m benchmarks.testing                     planning tasks and models, seconds by stage and bugs
python -m benchmarks.testing --sharing [STATES]  what states gain from each other, on three competition tasks

With --sharing, each oracle judges one unbiased pool three times: as a campaign does (what is found for a state serves
the others), in chunks of 25 states that know nothing of each other, and with each state on a bound store of its own.
Seconds include the policy's runs, not the dominance function. Those of the chunks are of the bare loop, those of the
two campaigns include the independent check of every witness as well. So compare seconds within a column only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import misstep
from benchmarks.common import TASKS, benchmark_task, remark, report
from misstep.oracles.dominance import try_dominance
from misstep.oracles.grammar import needs_dominance, read_oracle
from misstep.oracles.oracle import Walk
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.workbench import Workbench
from misstep.runs.runner import PolicyRunner
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task

# Beside the repository, where they are installed.
COMPETITION = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "ipc"
STATES = 200
CHUNK = 25
ORACLES = ("bmo(0)", "bmo(100)", "undo", "aras/ehc")
SHARING_POLICY = "noisy:0.1:1+heuristic:ff"
SHARING_TASKS = (
    ("transport-opt11-strips", "p01"),
    ("transport-opt11-strips", "p03"),
    ("satellite", "p05-pfile5"),
)


class Subject(NamedTuple):
    """A campaign to be measured."""

    policy: str
    options: dict[str, Any]


PLANNING = {
    "gripper-12": Subject("heuristic:ff", {"fuzz": "detour"}),
    "blocks-10": Subject("heuristic:ff", {"fuzz": "loop"}),
    "transport-1000": Subject("noisy:0.1:1+heuristic:ff", {"fuzz": "none"}),
}
MODELS = {
    "two-way-line": Subject("random:1", {"runs": 500}),
    "one-way-line": Subject("shipped:one-way-line-small", {"runs": 500}),
    "inverted-pendulum": Subject("shipped:inverted-pendulum-small", {"runs": 2}),
}
# What the shipped network was trained on.
SIZES: dict[str, dict[str, Any]] = {"one-way-line": {"cells": 8, "packages": 3, "drop": True}}


def competition_task(domain: str, name: str) -> Task:
    folder = COMPETITION / domain
    if not folder.is_dir():
        sys.exit(f"this experiment needs the competition tasks in {COMPETITION.name}/{domain}")
    own = folder / f"domain_{name}.pddl"
    task = load_task(own if own.exists() else folder / "domain.pddl", folder / f"{name}.pddl")
    task.name = f"{domain}/{name}"
    return task


def campaign(task: Any, subject: Subject, **options: Any) -> dict[str, Any]:
    began = perf_counter()
    found = misstep.test(task, subject.policy, seed=1, **subject.options, **options)
    summary = found.summary
    return {
        "wall_seconds": round(perf_counter() - began, 3),
        "seconds": summary.seconds,
        "policy_calls": summary.policy_calls,
        "states": summary.states,
        "bugs": summary.bugs["total"],
        "unknown": summary.unknown,
        "faults": summary.faults,
    }


def campaigns() -> dict[str, Any]:
    results = {}
    for name, subject in PLANNING.items():
        assert name in TASKS
        results[name] = campaign(benchmark_task(name), subject, pool=100, patience=1000)
    for name, subject in MODELS.items():
        results[name] = campaign(misstep.generate(name, **SIZES.get(name, {})), subject)
    for name, row in results.items():
        parts = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in row["seconds"].items())
        remark(f"{name:20} {row['wall_seconds']:7.2f} s ({parts}), {row['bugs']} bugs")
    return results


# -- what states gain from each other -------------------------------------------------------------


def sharing(size: int) -> dict[str, Any]:
    results: dict[str, Any] = {}
    # No faults: they would be looked for in each of the campaigns.
    config = {"policy": SHARING_POLICY, "fault_budget": "none", "oracle": "lmcut"}
    for domain, name in SHARING_TASKS:
        task = competition_task(domain, name)
        own = results[task.name] = {}
        pool = misstep.test(task, None, config=config, fuzz="none", pool=size, seed=1)
        function = None
        for oracle in ORACLES:
            if needs_dominance(oracle) and function is None:
                function = try_dominance(task)
            settings = {**config, "oracle": oracle, "planning": {"isolate": False}}
            alone = {**config, "oracle": oracle, "planning": {"isolate": True}}
            row = own[oracle] = {
                "shared": judged(misstep.test(task, None, config=settings, pool_from=pool)),
                f"chunks_of_{CHUNK}": in_chunks(task, pool.records, oracle, function),
                "isolated": judged(misstep.test(task, None, config=alone, pool_from=pool)),
            }
            cells = [
                f"{how} {cell['bugs']} in {cell['seconds']:.2f} s" for how, cell in row.items()
            ]
            remark(f"{task.name:30} {oracle:10} " + ", ".join(cells))
    return results


def judged(found: misstep.Campaign) -> dict[str, Any]:
    # Judging includes settling: merging what the chunks of a round have found.
    return {"bugs": len(found.bugs), "seconds": found.summary.seconds["judge"]}


def in_chunks(
    task: Task, records: list[misstep.Record], oracle: str, function: Any
) -> dict[str, Any]:
    """The same loop that campaigns use, on a new bound store for each chunk."""
    bugs = 0
    began = perf_counter()
    for first in range(0, len(records), CHUNK):
        bench = Workbench(
            PolicyRunner(misstep.load_policy(SHARING_POLICY, task)), dominance=function
        )
        loop = TestLoop(bench, read_oracle(oracle))
        states = []
        for record in records[first : first + CHUNK]:
            assert record.found.walk is not None
            walk = Walk(task.initial_state, record.found.walk.operators)
            states.append(TestState(State(list(map(int, record.state))), walk))
        for _ in loop.run(states):
            pass
        bugs += sum(tested.verdict.is_bug for tested in loop.settle())
    return {"bugs": bugs, "seconds": round(perf_counter() - began, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sharing", type=int, nargs="?", const=STATES, metavar="STATES")
    size = parser.parse_args().sharing
    if size is None:
        report("testing", campaigns())
    else:
        report("sharing", sharing(size))


if __name__ == "__main__":
    main()
