"""Decisions a second of policies in other processes.

python -m benchmarks.processes [SECONDS]

The policies do next to nothing, so that what is measured is the way there and back; one server has a real
network behind it, which gains from requests that arrive together.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.common import alternate, benchmark_task, report
from misstep._core import CounterRandom
from misstep.policies.policy import Policy, States
from misstep.policies.process import ProcessPolicy
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

RUNS = 7
TASK = "gripper-12"
NETWORK = Path(__file__).resolve().parents[2] / "shared/policies/kr22-gnn/blocks"

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
    """How many decisions a second."""
    start = perf_counter()
    count = 0
    while perf_counter() - start < seconds:
        count += ask()
    return round(count / (perf_counter() - start))


def ask_policy(policy: Policy, states: States) -> int:
    return len(policy.decide(states).operators)


def measure_processes(task: Task, states: States, folder: Path, seconds: float) -> dict[str, float]:
    (folder / "constant.py").write_text(CONSTANT)
    policy = ProcessPolicy(task, shlex.join([sys.executable, str(folder / "constant.py")]))
    sizes = (1, 16, policy.batch_size)
    contestants = [
        partial(rate, partial(ask_policy, policy, states[:size]), seconds) for size in sizes
    ]
    medians = alternate(RUNS, *contestants)
    policy.close()
    return {f"batch {size}": found for size, found in zip(sizes, medians, strict=True)}


def measure_server(
    command: list[str], task: Task, states: States, seconds: float
) -> dict[str, float]:
    import grpc

    from misstep.policies.remote import wire
    from misstep.policies.remote.client import GrpcPolicy

    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = f"127.0.0.1:{server.stdout.readline().split()[-1]}"

    def blocking() -> float:
        with grpc.insecure_channel(address) as channel:
            stub = channel.unary_unary(f"/{wire.SERVICE}/{wire.GET_OPERATOR}")
            requests = cycle(wire.encode_state_requests(states))
            return rate(lambda: len(stub(next(requests))) and 1, seconds)

    # One client at a time: the event loops of several would wake each other.
    def pipelined(in_flight: int) -> float:
        policy = GrpcPolicy(task, address, in_flight=in_flight)
        found = rate(partial(ask_policy, policy, states), seconds)
        policy.close()
        return found

    windows = (1, 10, 64)
    try:
        medians = alternate(RUNS, blocking, *(partial(pipelined, window) for window in windows))
    finally:
        server.terminate()
        server.communicate()
    names = ["one blocking call", *(f"{window} in flight" for window in windows)]
    return dict(zip(names, medians, strict=True))


def constant_server(folder: Path, seconds: float) -> dict[str, float]:
    task = benchmark_task(TASK)
    (folder / "task.sas").write_bytes(task.sas)
    command = [sys.executable, "-c", SERVER, str(folder / "task.sas")]
    return measure_server(command, task, initial_states(task), seconds)


def network_server(seconds: float) -> dict[str, float]:
    """A graph network that gains from batches, as real policies do."""
    problem = NETWORK / "tasks" / "probBLOCKS-10-0.pddl"
    task = load_planning_task(problem)
    spec = f"gnn:{NETWORK / 'model.ckpt'}"
    command = [sys.executable, "-m", "misstep", "serve-policy", spec, str(problem)]
    random = CounterRandom(1)
    state, walk = task.initial_state, []
    for _ in range(256):
        operators = task.applicable(state)
        state = task.apply(state, operators[random.below(len(operators))])
        walk.append(state.values)
    return measure_server(command, task, np.array(walk, dtype=np.int32), max(seconds, 2.0))


def initial_states(task: Task) -> States:
    return np.tile(np.array(task.initial_state.values, dtype=np.int32), (256, 1))


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    task = benchmark_task(TASK)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {"process": measure_processes(task, initial_states(task), folder, seconds)}
        if find_spec("grpc") is not None:
            results["server of a constant"] = constant_server(folder, seconds)
            if find_spec("torch") is not None and NETWORK.is_dir():
                results["server of a graph network"] = network_server(seconds)
    report("processes", {"task": TASK, "unit": "decisions a second", **results})


if __name__ == "__main__":
    main()
