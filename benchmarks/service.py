"""Campaigns with a graph network on one device: separate processes, the inference service, several walks at once.

    python -m benchmarks.service [--policies ../shared/policies/kr22-gnn] [--processes 16] [--seconds 6] [--out FILE]

Each campaign fuzzes gripper prob11 with the detour bias and a seed of its own. All contestants run in one go, one after
the other: `before` is what processes did before there were kernels, a service and several walks (the network goes
through PyTorch's own operations, as `gnn:--plain FILE` asks for), `separate` what they do now without the service,
`with the service` the same with it, `W walks` with W walks under way at once; then the same for one campaign alone.
`ratios` compares each with what was before. A rate counts the states that the network evaluated for the campaigns,
from a common start until the time is up. `states_of_pools` says what that was good for. Utilisation is that of the
device (nvidia-smi) and of all cores (/proc/stat) meanwhile. `host_alone` is one campaign with a network that takes no
time: what the host could do. All of it takes about two minutes with 16 processes on 16 cores, most of it to start them.

With the same seed the pools of all contestants with the same W must begin alike; `same_pools` says whether they do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import remark
from misstep.fuzzing.fuzz import make_fuzzer, preset
from misstep.policies.gnn.policy import Evaluated, GNNPolicy, Options, load
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.evaluator import Evaluator

MANY = 16


def fuzzing_task(policies: Path, problem: str) -> Task:
    tasks = policies / "gripper" / "tasks"
    return load_task(tasks / "domain.pddl", tasks / f"{problem}.pddl")


class NoNetwork:
    """Values at no cost: how far from the goal the state looks, and a little disorder."""

    kind = "cuda"

    def __init__(self, task: Task) -> None:
        self._goal = np.full(task.variable_count, -1, dtype=np.int32)
        for variable, value in task.goal:
            self._goal[variable] = value
        self._weights = np.random.default_rng(0).random((task.variable_count, 64)) * 0.3

    def evaluate(self, states: NDArray[np.int32], offsets: NDArray[np.int64]) -> Evaluated:  # noqa: ARG002
        missed = ((states != self._goal) & (self._goal >= 0)).sum(axis=1) * 3.0
        disorder = self._weights[np.arange(states.shape[1]), np.minimum(states, 63)].sum(axis=1)
        return missed + disorder, None


class OfNoNetwork(GNNPolicy):
    """All that the host does for a graph network, without the network."""

    def __init__(self, task: Task) -> None:
        Policy.__init__(self, task)
        self.options, self._ranks = Options(), None
        self._evaluator = cast("Evaluator", NoNetwork(task))
        self.name, self.digest, self.batch_size = "none", "none", 4096


def campaign(policy: Policy, walks: int, seed: int, states: int, seconds: float) -> dict[str, Any]:
    """One campaign, as far as it gets."""
    runner = PolicyRunner(policy)
    settings = preset("p24", bias="detour", max_states=states, walks=walks)
    fuzzer = make_fuzzer(policy.task, runner, settings, seed)
    before, began = os.times(), time.perf_counter()
    fuzzer.run_initial_state()
    while time.perf_counter() - began < seconds and fuzzer.step():
        pass
    after, spent = os.times(), time.perf_counter() - began
    rows = [(entry.state.values, entry.reference, entry.iteration) for entry in fuzzer.pool]
    return {
        "evaluations": runner.evaluations,
        "seconds": spent,
        "cpu_seconds": after.user + after.system - before.user - before.system,
        "pool": len(fuzzer.pool),
        "iterations": fuzzer.pool.iterations,
        "calls": sum(runner.batches.values()),
        "rows": [hashlib.sha256(repr(row).encode()).hexdigest()[:8] for row in rows],
    }


def host_alone(task: Task, walks: int, seconds: float) -> dict[str, float]:
    """A campaign with a network that takes no time."""
    found = campaign(OfNoNetwork(task), walks, 0, 1000, seconds)
    return {
        "evaluated_states_per_cpu_second": round(found["evaluations"] / found["cpu_seconds"]),
        "evaluated_states_of_a_call": round(found["evaluations"] / found["calls"], 1),
        "calls": found["calls"],
        "states_of_the_pool": found["pool"],
        "iterations": found["iterations"],
    }


def be_one(arguments: argparse.Namespace) -> None:
    """The program of one campaign: gets ready, waits for the start, tells what it did."""
    task = fuzzing_task(arguments.policies, arguments.problem)
    model = arguments.policies / "gripper" / "model.ckpt"
    plain = "--plain " if arguments.plain else ""
    policy = load(f"--device={arguments.device} {plain}{model}", task)
    initial = np.array([task.initial_state.values], dtype=np.int32)
    policy.decide(initial)
    print("ready", flush=True)
    sys.stdin.readline()
    found = campaign(policy, arguments.walks, arguments.seed, arguments.pool, arguments.seconds)
    print(json.dumps(found), flush=True)
    sys.stdin.readline()  # nobody leaves before all have ended
    policy.close()


class Contestant(NamedTuple):
    campaigns: int
    service: str  # on, off
    walks: int = 1
    plain: bool = False  # as it was before there were kernels


def contest(arguments: argparse.Namespace, how: Contestant) -> dict[str, Any]:
    """So many campaigns at once."""
    options = ("policies", "device", "problem", "pool", "seconds")
    command = [sys.executable, "-m", "benchmarks.service", "--one", "--walks", str(how.walks)]
    command += ["--plain"] * how.plain
    for option in options:
        command += [f"--{option}", str(getattr(arguments, option))]
    environment = {**os.environ, "MISSTEP_SERVICE": how.service, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    children = [
        subprocess.Popen(
            [*command, "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for seed in range(how.campaigns)
    ]
    try:
        for child in children:
            if _line(child) != "ready":
                return {"error": f"a campaign did not start: exit code {child.wait(10)}"}
        ready = time.perf_counter() - began
        watch, host, start = Watch(), host_times(), time.perf_counter()
        for child in children:
            _tell(child)
        found = [json.loads(_line(child) or "{}") for child in children]
        seconds, after = time.perf_counter() - start, host_times()
        device = watch.end()
        for child in children:
            _tell(child)
            child.wait(30)
    finally:
        for child in children:
            child.kill()
    if not all(found):
        return {"error": "a campaign ended by itself"}
    return summary(found, seconds, ready, host_share(host, after), device)


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def _tell(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


def summary(
    found: list[dict[str, Any]], seconds: float, ready: float, host: float, device: Any
) -> dict[str, Any]:
    evaluations = sum(own["evaluations"] for own in found)
    return {
        "campaigns": len(found),
        "evaluated_states_per_second": round(sum(o["evaluations"] / o["seconds"] for o in found)),
        "evaluated_states": evaluations,
        "states_of_pools": sum(own["pool"] for own in found),
        "states_of_pools_per_second": round(sum(o["pool"] / o["seconds"] for o in found), 2),
        "evaluated_states_of_a_call": round(evaluations / sum(own["calls"] for own in found), 1),
        "cpu_seconds_of_campaigns": round(sum(own["cpu_seconds"] for own in found), 1),
        "seconds": round(seconds, 1),
        "seconds_to_get_ready": round(ready, 1),
        "host_utilisation": round(host, 3),
        "device": device,
        "rows": [own["rows"] for own in found],
    }


def host_times() -> tuple[int, int]:
    """Busy and all ticks of all cores."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def host_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    return (after[0] - before[0]) / max(1, after[1] - before[1])


class Watch:
    """Asks nvidia-smi how busy the device is, twice a second."""

    def __init__(self) -> None:
        program = shutil.which("nvidia-smi")
        query = "--query-gpu=utilization.gpu,utilization.memory,memory.used,power.draw"
        self._child = program and subprocess.Popen(
            [program, query, "--format=csv,noheader,nounits", "-lms", "500"],
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> dict[str, float] | None:
        if not self._child:
            return None
        self._child.terminate()
        text = self._child.communicate()[0]
        rows = [line.split(",") for line in text.strip().splitlines() if line.count(",") == 3]
        names = ("utilisation", "memory_utilisation", "memory_mb", "watts")
        return {
            name: round(statistics.mean(float(row[place]) for row in rows), 1)
            for place, name in enumerate(names)
            if rows and all(row[place].strip().replace(".", "", 1).isdigit() for row in rows)
        }


def same_pools(contestants: list[dict[str, Any]]) -> bool:
    """Whether pools of the same seed begin alike."""
    pools: dict[int, list[list[str]]] = {}
    for found in contestants:
        for seed, rows in enumerate(found.get("rows", [])):
            pools.setdefault(seed, []).append(rows)
    return all(
        own[: len(other)] == other[: len(own)]
        for same in pools.values()
        for own, other in pairwise(same)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--policies", type=Path, default=Path("../shared/policies/kr22-gnn"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--problem", default="prob11")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--pool", type=int, default=2000)
    parser.add_argument("--walks", type=int, default=MANY)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        be_one(arguments)
        return
    many, walks = arguments.processes, arguments.walks
    plan = contestants_of(many, walks)
    results: dict[str, Any] = {"device": arguments.device, "cores": os.cpu_count()}
    task = fuzzing_task(arguments.policies, arguments.problem)
    for own in (1, walks):
        results[f"host_alone, W = {own}"] = host_alone(task, own, min(2.0, arguments.seconds))
    contestants = {}
    for name, how in plan.items():
        contestants[name] = contest(arguments, how)
        shown = {key: value for key, value in contestants[name].items() if key != "rows"}
        remark(f"{name}: {json.dumps(shown)}")
        results[name] = shown
    for own in (1, walks):
        same = [contestants[name] for name, how in plan.items() if how.walks == own]
        results[f"same_pools, W = {own}"] = same_pools(same)
    results["ratios"] = ratios(results, plan)
    text = json.dumps(results, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    print(text)


def contestants_of(many: int, walks: int) -> dict[str, Contestant]:
    return {
        f"{many} before": Contestant(many, "off", plain=True),
        f"{many} separate": Contestant(many, "off"),
        f"{many} with the service": Contestant(many, "on"),
        f"{many} with the service, {walks} walks": Contestant(many, "on", walks),
        "one before": Contestant(1, "off", plain=True),
        "one alone": Contestant(1, "off"),
        f"one alone, {walks} walks": Contestant(1, "off", walks),
        f"one with the service, {walks} walks": Contestant(1, "on", walks),
    }


def ratios(results: dict[str, Any], plan: dict[str, Contestant]) -> dict[str, float | None]:
    """The rate of each contestant, over that of as many campaigns before; None where one of them has none."""

    def rate(name: str) -> float:
        return float(results[name].get("evaluated_states_per_second", 0))

    before = {how.campaigns: rate(name) for name, how in plan.items() if how.plain}
    return {
        f"{name}, over before": round(rate(name) / before[how.campaigns], 2)
        if before[how.campaigns] and rate(name)
        else None
        for name, how in plan.items()
        if not how.plain
    }


if __name__ == "__main__":
    main()
