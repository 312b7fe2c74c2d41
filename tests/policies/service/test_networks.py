"""Graph networks at the service: the decisions of networks in this process, alone and in joined batches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import misstep  # noqa: E402
from misstep.errors import InputFileError, InputFormatError  # noqa: E402
from misstep.policies import service  # noqa: E402
from misstep.policies.gnn import GNNPolicy, load  # noqa: E402
from misstep.policies.gnn.checkpoint import Checkpoint, read_checkpoint, weight_shapes  # noqa: E402
from misstep.policies.gnn.encoding import encode  # noqa: E402
from misstep.policies.gnn.evaluator import Evaluator  # noqa: E402
from misstep.policies.gnn.policy import NOISE  # noqa: E402
from misstep.policies.gnn.relations import GOAL  # noqa: E402
from misstep.policies.policy import States  # noqa: E402
from misstep.policies.service.models import Part, problem_of_offsets  # noqa: E402
from misstep.policies.service.networks import Joint, Network  # noqa: E402
from misstep.tasks.task import Task  # noqa: E402
from support.campaigns import told  # noqa: E402
from support.tasks import generated_task  # noqa: E402

WIDTH, ROUNDS = 8, 4


@pytest.fixture(scope="session")
def tasks() -> list[Task]:
    return [generated_task("gripper", balls=balls, seed=balls) for balls in (3, 4, 6)]


@pytest.fixture
def file(tmp_path: Path, tasks: list[Task]) -> Path:
    """A small random network for the domain."""
    predicates = [(p.name, len(p.parameters)) for p in tasks[0].lifted.predicates]
    types = [(name, 1) for name in tasks[0].lifted.types if name != "object"]
    state = [pair for pair in dict.fromkeys([*predicates, *types]) if pair[0] != "="]
    relations = [*state, *((name + GOAL, arity) for name, arity in state)]
    from misstep.policies.gnn.relations import Relation

    shapes = weight_shapes(tuple(Relation(*r) for r in relations), WIDTH, True)
    generator = torch.Generator().manual_seed(1)
    weights = {
        name: torch.randn(shape, generator=generator) * 0.2 for name, shape in shapes.items()
    }
    parameters = {"predicates": relations, "hidden_size": WIDTH, "iterations": ROUNDS}
    path = tmp_path / "small.ckpt"
    torch.save({"hyper_parameters": parameters, "state_dict": weights}, path)
    return path


def random_states(task: Task, count: int) -> States:
    states = np.tile(np.array(task.initial_state.values, dtype=np.int32), (count, 1))
    random = np.random.default_rng(count)
    for _ in range(12):
        offsets, operators = task.applicable_batch(states)
        states = task.apply_batch(states, operators[random.integers(offsets[:-1], offsets[1:])])
    return states


def here_and_there(
    file: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> tuple[GNNPolicy, GNNPolicy]:
    here = load(str(file), task)
    monkeypatch.setenv(service.VARIABLE, "on")
    there = load(str(file), task)
    monkeypatch.delenv(service.VARIABLE)
    return here, there


def test_the_same_decisions_and_values(
    file: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = here_and_there(file, tasks[1], monkeypatch)
    assert there.digest == here.digest
    states = random_states(tasks[1], 100)
    expected, found = here.decide(states), there.decide(states)
    assert np.array_equal(found.operators, expected.operators)
    assert np.array_equal(found.values, expected.values)  # type: ignore[arg-type]
    assert found.evaluations == expected.evaluations
    assert np.array_equal(there.values(states), here.values(states))
    there.close()


def test_joined_batches_give_the_same_values_up_to_rounding(file: Path, tasks: list[Task]) -> None:
    checkpoint = read_checkpoint(file)
    networks = [_network(checkpoint, task) for task in tasks]
    parts = [_successors(task, 30) for task in tasks]
    assert len({id(network.family) for network in networks[:2]}) == 1
    joint = networks[0].together(networks[:2], parts[:2])
    assert joint is not None
    for network, part, columns in zip(networks, parts, joint, strict=False):
        assert np.abs(network.evaluate(part).columns - columns).max() < NOISE / 10


def _network(checkpoint: Checkpoint, task: Task) -> Network:
    encoding = encode(task, checkpoint.relations, "here")
    sizes = np.array(task.domain_sizes, dtype=np.int64)
    return Network(task.name + task.digest, checkpoint, encoding, sizes, 0, "cpu")


def _successors(task: Task, count: int) -> Part:
    states = random_states(task, count)
    offsets, operators = task.applicable_batch(states)
    parents = np.repeat(np.arange(count), np.diff(offsets))
    return Part(task.apply_batch(states[parents], operators), np.asarray(offsets, dtype=np.int64))


def test_a_joint_encoding_shows_what_the_single_ones_show(file: Path, tasks: list[Task]) -> None:
    """Evaluated one decision at a time, so that nothing but the tables and the padding differs."""
    checkpoint = read_checkpoint(file)
    encodings = {task.digest: encode(task, checkpoint.relations, "here") for task in tasks}
    joint = Joint(encodings)
    together = Evaluator(checkpoint, joint.encoding, 0, "cpu")
    for task in tasks:
        single = Evaluator(checkpoint, encodings[task.digest], 0, "cpu")
        part = _successors(task, 20)
        rows = joint.rows(task.digest, part.states)
        expected, found = single.evaluate(*part), together.evaluate(rows, part.offsets)
        for own, other in zip(expected, found, strict=True):
            assert own is not None
            assert other is not None
            assert np.abs(own - other).max() < NOISE / 10


@pytest.mark.parametrize("task", [0, 2])
def test_states_that_the_task_does_not_have_are_refused(
    file: Path, tasks: list[Task], task: int
) -> None:
    network = _network(read_checkpoint(file), tasks[task])
    part = _successors(tasks[task], 3)
    assert network.problem(part) is None
    for wrong in (-1, 1000):
        states = part.states.copy()
        states[-1, -1] = wrong
        assert network.problem(Part(states, part.offsets)) is not None
    for offsets in ([1, len(part.states)], [0, 1], [0, 2, 1, len(part.states)], []):
        wrong_part = Part(part.states, np.array(offsets, dtype=np.int64))
        assert problem_of_offsets(wrong_part) is not None


def test_a_client_needs_no_torch(file: Path, tmp_path: Path, tasks: list[Task]) -> None:
    assert tasks[0].pddl is not None
    paths = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    for path, source in zip(paths, tasks[0].pddl, strict=True):
        path.write_bytes(source.content)
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\nfrom misstep.tasks.load import load_task\n"
        "from misstep.policies.gnn import load\nimport numpy as np\n"
        f"task = load_task({str(paths[0])!r}, {str(paths[1])!r})\npolicy = load({str(file)!r}, task)\n"
        "answers = policy.decide(np.array([task.initial_state.values], dtype=np.int32))\n"
        "assert answers.operators[0] >= 0\nassert 'torch' not in sys.modules\n"
    )
    environment = {**os.environ, service.VARIABLE: "on"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_errors_name_the_file_as_the_user_did(
    tmp_path: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(service.VARIABLE, "on")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.ckpt").write_bytes(b"no checkpoint")
    with pytest.raises(InputFileError, match=r"^none\.ckpt: no such file"):
        load("none.ckpt", tasks[0])
    with pytest.raises(InputFormatError, match=r"^bad\.ckpt"):
        load("bad.ckpt", tasks[0])


def test_many_tasks_at_once_decide_as_alone(
    file: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    from misstep.policies.service import client

    monkeypatch.setenv(service.VARIABLE, "on")
    policies: list[GNNPolicy] = []
    clients: list[client.Client] = []
    for task in tasks:
        client._clients.clear()  # a connection for each, as workers have
        policies.append(load(str(file), task))
        clients.append(client.client_of("cpu"))
    states = [random_states(task, 24) for task in tasks]
    expected = [
        np.concatenate([policy.decide(rows[[i]]).operators for i in range(len(rows))])
        for policy, rows in zip(policies, states, strict=True)
    ]
    wrong: list[int] = []

    def ask(number: int) -> None:
        for size in (24, 5, 24, 12, 1):
            for first in range(0, 24, size):
                found = policies[number].decide(states[number][first : first + size]).operators
                if not np.array_equal(found, expected[number][first : first + size]):
                    wrong.append(number)

    run: Callable[[int], threading.Thread] = lambda n: threading.Thread(target=ask, args=(n,))  # noqa: E731
    threads = [run(number) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not wrong
    for policy, own in zip(policies, clients, strict=True):
        policy.close()
        own.close()


@pytest.mark.parametrize("walks", [1, 16])
def test_the_records_are_those_without_the_service(
    file: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch, walks: int
) -> None:
    def records(jobs: int) -> list[dict[str, Any]]:
        how: dict[str, Any] = {"pool": 10, "walks": walks, "oracle": "exact", "max_steps": 30}
        with misstep.test(tasks[0], f"gnn:{file}", jobs=jobs, **how) as found:
            return told(found)

    monkeypatch.setenv(service.VARIABLE, "off")
    expected = records(1)
    assert expected
    monkeypatch.setenv(service.VARIABLE, "on")
    assert records(2) == expected
