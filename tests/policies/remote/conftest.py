"""Tasks, policies and servers for the tests of policy servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from misstep.policies.policy import FAILED, NO_ACTION, Answers, Candidates, Policy, States
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task


class FirstApplicable(Policy):
    """Has no answer where the robot is in room b with both hands free."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.batches: list[int] = []

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        self.batches.append(len(states))
        offsets, operators = candidates or self.all_candidates(states)
        return Answers(operators[offsets[:-1]])


class Scripted(Policy):
    """Answers by the value of the first variable."""

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        assert candidates is None
        if len(states) > 1 and (states[:, 0] == 1).all():
            raise RuntimeError("out of paper")
        operators = np.where(states[:, 0] == 0, NO_ACTION, FAILED).astype(np.int32)
        return Answers(operators, dict.fromkeys(np.flatnonzero(operators == FAILED), "cannot read"))


def make_task(folder: Path, **sizes: int) -> Task:
    return load_task(*write_instance(generate("gripper", **sizes), folder))


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("gripper"), balls=2)


@pytest.fixture(scope="session")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("gripper"), balls=3)


@pytest.fixture(scope="session")
def states(task: Task) -> States:
    """All reachable states."""
    found = [task.initial_state]
    seen = set(found)
    for state in found:
        for op in task.applicable(state):
            after = task.apply(state, op)
            if after not in seen:
                seen.add(after)
                found.append(after)
    return np.array([state.values for state in found], dtype=np.int32)


@pytest.fixture(scope="session")
def first_applicable() -> type[FirstApplicable]:
    return FirstApplicable


@pytest.fixture(scope="session")
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serves a policy and returns the address."""
    from misstep.policies.remote.server import PolicyServer

    servers = []

    def start(policy: Policy, address: str = "127.0.0.1:0") -> str:
        server = PolicyServer(policy, address)
        servers.append(server)
        return f"127.0.0.1:{server.port}" if server.port else address

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def raw_serve() -> Iterator[Callable[..., str]]:
    """A server that answers what it is told, built with grpc alone."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    servers: list[Any] = []

    def start(**methods: Callable[[bytes, Any], bytes]) -> str:
        server = grpc.server(ThreadPoolExecutor(10))
        handlers = {n: grpc.unary_unary_rpc_method_handler(m) for n, m in methods.items()}
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("phrm.policy.Policy", handlers),)
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(None).wait(5)


@pytest.fixture(scope="session")
def shuffle() -> Callable[..., bytes]:
    """The SAS of a task with variables, values and operators in another order."""
    return shuffled


def shuffled(task: Task, seed: int, drop: tuple[int, ...] = ()) -> bytes:
    random = Random(seed)
    variables = [v for v in range(task.variable_count) if v not in drop]
    random.shuffle(variables)
    place = {v: i for i, v in enumerate(variables)}
    orders = {
        v: random.sample(range(task.domain_sizes[v]), task.domain_sizes[v]) for v in variables
    }
    value = {(v, x): i for v, order in orders.items() for i, x in enumerate(order)}
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric"]
    lines.append(str(len(variables)))
    for i, v in enumerate(variables):
        names = [task.value_names(v)[x] for x in orders[v]]
        lines += ["begin_variable", f"var{i}", "-1", str(len(names)), *names, "end_variable"]
    initial = task.initial_state.values
    lines += ["0", "begin_state", *(str(value[v, initial[v]]) for v in variables), "end_state"]
    goal = [(place[v], value[v, x]) for v, x in task.goal]
    lines += ["begin_goal", str(len(goal)), *(f"{v} {x}" for v, x in goal), "end_goal"]
    blocks = []
    for op in range(task.operator_count):
        before = {v: x for v, x in task.preconditions(op) if v not in drop}
        effects = [(v, x) for _, v, x in task.effects(op) if v not in drop]
        if not effects:
            continue
        changed = {v for v, _ in effects}
        prevail = [(v, x) for v, x in before.items() if v not in changed]
        name = task.operator_name(op).upper() + "  "
        block = ["begin_operator", name, str(len(prevail))]
        block += [f"{place[v]} {value[v, x]}" for v, x in prevail]
        block.append(str(len(effects)))
        for v, x in effects:
            old = value[v, before[v]] if v in before else -1
            block.append(f"0 {place[v]} {old} {value[v, x]}")
        blocks.append([*block, str(task.cost(op)), "end_operator"])
    random.shuffle(blocks)
    lines += [str(len(blocks)), *(line for block in blocks for line in block), "0"]
    return ("\n".join(lines) + "\n").encode()
