"""From which tasks and batches on a GPU pays for ASNets: decisions per second of a core and of a GPU, host to host.

    python -m benchmarks.asnet_gpu [--device cuda] [--limit 60]

States start and decisions end as arrays on the host, as in campaigns; near ties are decided by the core. The share of
those is given beside.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.asnet import random_states
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.settings import preset
from misstep.policies.asnet.model_file import read_model
from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import random_weights
from misstep.policies.shipped import shipped
from misstep.runs.runner import PolicyRunner
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.load import load_task

TASKS: tuple[tuple[str, dict[str, int]], ...] = (
    ("gripper", {"balls": 12}),
    ("blocksworld", {"blocks": 10}),
    ("blocksworld", {"blocks": 20}),
    ("transport", {"vehicles": 3, "packages": 8, "locations": 10, "capacity": 2}),
    ("blocksworld", {"blocks": 40}),
    ("transport", {"vehicles": 4, "packages": 16, "locations": 20, "capacity": 2}),
    ("transport", {"vehicles": 4, "packages": 24, "locations": 30, "capacity": 2}),
)
CAMPAIGNS = (TASKS[2], TASKS[4], TASKS[5])
STATES = 20  # of the pool of a campaign
BATCHES = (32, 256, 1024, 4096)


def per_second(policy: Any, states: Any, seconds: float = 0.25) -> float:
    policy.decide(states)
    calls, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds:
        policy.decide(states)
        calls += 1
    return calls * len(states) / passed


def measure(domain: str, sizes: dict[str, int], device: str) -> dict[str, Any]:
    from misstep.policies.asnet.on_device import DeviceASNet

    with tempfile.TemporaryDirectory() as folder:
        task = load_task(*write_instance(generate(domain, **sizes), Path(folder)))
    structure = structure_of(task)
    native = ASNetPolicy(task, random_weights(structure.shape), structure=structure)
    fast = DeviceASNet(native, structure, device)
    states = np.ascontiguousarray(random_states(task, max(BATCHES)))
    expected, found = native.decide(states).operators, fast.decide(states).operators
    result: dict[str, Any] = {
        "task": f"{domain} {' '.join(map(str, sizes.values()))}",
        "operators": task.operator_count,
        "slots": sum(rows.size for rows in structure.related),
        "left to the core": fast.left / len(states),
        "other decisions": int((expected != found).sum()),
        "core": round(per_second(native, states[:256])),
    }
    for batch in BATCHES:
        result[f"gpu {batch}"] = round(per_second(fast, states[:batch]))
    return result


def campaign(domain: str, sizes: dict[str, int], device: str) -> dict[str, Any]:
    """Seconds of fuzzing with the default bias and a trained policy: that is what a campaign asks a policy for."""
    from misstep.policies.asnet.on_device import DeviceASNet

    with tempfile.TemporaryDirectory() as folder:
        task = load_task(*write_instance(generate(domain, **sizes), Path(folder)))
    weights, _ = read_model(shipped("asnets", domain).file)
    structure = structure_of(task, weights.shape)
    native = ASNetPolicy(task, weights, structure=structure)
    fast = DeviceASNet(native, structure, device)
    fast.decide(np.array([task.initial_state.values], dtype=np.int32))
    result: dict[str, Any] = {"campaign": f"{domain} {' '.join(map(str, sizes.values()))}"}
    result["operators"] = task.operator_count
    pools = []
    for name, policy in (("core", native), ("gpu", fast)):
        begin = time.perf_counter()
        pool = fuzz(task, PolicyRunner(policy), preset("p24", max_states=STATES), 1)
        result[f"{name} seconds"] = round(time.perf_counter() - begin, 2)
        pools.append([entry.state for entry in pool.entries])
    result["same pool"] = pools[0] == pools[1]
    result["states"] = len(pools[0])
    return result


def run(device: str, limit: float) -> list[dict[str, Any]]:
    begin, results = time.perf_counter(), []
    work = [(measure, *row) for row in TASKS] + [(campaign, *row) for row in CAMPAIGNS]
    for measured, domain, sizes in work:
        if time.perf_counter() - begin > limit:
            print(f"asnet {domain} {sizes}: no time left", flush=True)
            continue
        try:
            results.append(measured(domain, sizes, device))
            print(f"asnet {json.dumps(results[-1])}", flush=True)
        except Exception as error:
            print(f"asnet {domain} {sizes} failed: {error!r:.400}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.device, arguments.limit)))


if __name__ == "__main__":
    main()
