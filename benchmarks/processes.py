"""Decisions a second of policies in other processes; writes JSON to standard output or to a file.

    python benchmarks/processes.py [--seconds 3] [--output FILE]

The policies do next to nothing, so that what is measured is the way there and back.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from misstep.policies.policy import States
from misstep.policies.process import ProcessPolicy
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

CONSTANT = """\
import json, sys
sys.stdin.readline()
print('{"protocol": 1, "name": "constant"}', flush=True)
for line in sys.stdin:
    batch = json.loads(line)
    print(json.dumps({"id": batch["id"], "operators": [0] * len(batch["states"])}), flush=True)
"""

SERVER = """\
import sys
from pathlib import Path
import numpy as np
from misstep.cli.serve_policy import serve
from misstep.policies.policy import Answers, Policy
from misstep.tasks.task import Task
class Constant(Policy):
    def decide(self, states, candidates=None):
        return Answers(np.zeros(len(states), dtype=np.int32))
sys.exit(serve(Constant(Task(Path(sys.argv[1]).read_bytes())), "127.0.0.1:0"))
"""


def rate(ask: Callable[[], int], seconds: float) -> float:
    """How many a second, after a first call that is not counted."""
    ask()
    start = perf_counter()
    count = 0
    while perf_counter() - start < seconds:
        count += ask()
    return round(count / (perf_counter() - start))


def measure_processes(task: Task, states: States, folder: Path, seconds: float) -> dict[str, Any]:
    (folder / "constant.py").write_text(CONSTANT)
    command = shlex.join([sys.executable, str(folder / "constant.py")])
    result = {}
    for size in (1, 16, 256, 2048):
        policy = ProcessPolicy(task, command)
        policy._chunk = size
        batch = np.resize(states, (size, states.shape[1]))
        result[f"batch {size}"] = rate(
            lambda p=policy, b=batch: len(p.decide(b).operators), seconds
        )  # type: ignore[misc]
        policy.close()
    return result


def measure_server(task: Task, states: States, folder: Path, seconds: float) -> dict[str, Any]:
    import grpc

    from misstep.policies.remote import wire
    from misstep.policies.remote.client import GrpcPolicy

    (folder / "task.sas").write_bytes(task.sas)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder / "task.sas")], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    address = f"127.0.0.1:{server.stdout.readline().split()[-1]}"
    result = {}
    try:
        with grpc.insecure_channel(address) as channel:
            stub = channel.unary_unary(f"/{wire.SERVICE}/{wire.GET_OPERATOR}")
            request = wire.encode_state_requests(states)[0]

            def block() -> int:
                stub(request)
                return 1

            result["one blocking call"] = rate(block, seconds)
        for in_flight in (1, 10, 32):
            policy = GrpcPolicy(task, address, in_flight=in_flight)
            result[f"{in_flight} in flight"] = rate(
                lambda p=policy: len(p.decide(states).operators),  # type: ignore[misc]
                seconds,
            )
            policy.close()
        result["speed-up of 10 in flight"] = round(
            result["10 in flight"] / result["one blocking call"], 2
        )
    finally:
        server.terminate()
        server.communicate()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = load_task(*write_instance(generate("gripper", balls=12), folder))
        initial = np.array(task.initial_state.values, dtype=np.int32)
        states = np.tile(initial, (256, 1))
        result: dict[str, Any] = {
            "benchmark": "processes",
            "unit": "decisions a second",
            "task": "gripper, 12 balls",
            "python": platform.python_version(),
            "process": measure_processes(task, states, folder, arguments.seconds),
        }
        if find_spec("grpc") is not None:
            result["server"] = measure_server(task, states, folder, arguments.seconds)
    text = json.dumps(result, indent=2)
    if arguments.output is None:
        print(text)
    else:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
