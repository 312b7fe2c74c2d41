"""ASNets in PyTorch decide as the native network does, and are used where they are faster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import MissingDependencyError, UsageError
from misstep.policies.asnet import policy as asnet
from misstep.policies.asnet.model_file import write_model
from misstep.policies.asnet.structure import structure_of
from misstep.policies.asnet.weights import Weights
from misstep.policies.native import NativePolicy
from misstep.policies.policy import States
from misstep.tasks.task import Task

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

MakeTask = Callable[..., Task]
Walk = Callable[[Task, int], States]
Weigh = Callable[..., Weights]
TASKS: list[tuple[str, dict[str, int]]] = [
    ("blocksworld", {"blocks": 6}),
    ("gripper", {"balls": 5}),
    ("visitall", {"width": 4, "height": 4}),
]


@pytest.mark.parametrize(("domain", "sizes"), TASKS, ids=[name for name, _ in TASKS])
def test_decisions_are_those_of_the_native_network(
    domain: str, sizes: dict[str, int], make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    from misstep.policies.asnet.on_device import DeviceASNet

    task = make_task(domain, **sizes)
    native = asnet.ASNetPolicy(task, weigh(task, seed=3), name="asnet:x", digest="y")
    fast = DeviceASNet(native, structure_of(task), "cpu")
    fast.piece = 64
    states = walk(task, 300)
    expected = native.decide(states)
    answers = fast.decide(states)
    assert answers.operators.tolist() == expected.operators.tolist()
    assert (fast.name, fast.digest, answers.evaluations) == ("asnet:x", "y", 300)
    candidates = native.all_candidates(states)
    chosen = fast.decide(states, candidates).operators
    assert chosen.tolist() == native.decide(states, candidates).operators.tolist()
    assert fast.decide(states[:0]).operators.shape == (0,)


def test_ties_are_left_to_the_native_network(make_task: MakeTask, walk: Walk, weigh: Weigh) -> None:
    """With weights of zero all operators are equally good."""
    from misstep.policies.asnet.on_device import DeviceASNet

    task = make_task("blocksworld", blocks=4)
    weights = weigh(task, seed=0)
    for tensor in weights.tensors.values():
        tensor[...] = 0
    native = asnet.ASNetPolicy(task, weights)
    fast = DeviceASNet(native, structure_of(task), "cpu")
    states = walk(task, 50)
    assert fast.decide(states).operators.tolist() == native.decide(states).operators.tolist()
    single = np.diff(task.applicable_batch(states)[0]) == 1
    assert fast.left == 50 - single.sum()


def test_overflow_fails_as_in_the_native_network(make_task: MakeTask, weigh: Weigh) -> None:
    from misstep.policies.asnet.on_device import DeviceASNet

    task = make_task("blocksworld", blocks=4)
    weights = weigh(task, seed=0)
    for tensor in weights.tensors.values():
        tensor[...] = 3e38
    native = asnet.ASNetPolicy(task, weights)
    states = np.array([task.initial_state.values] * 2, dtype=np.int32)
    fast = DeviceASNet(native, structure_of(task), "cpu").decide(states)
    expected = native.decide(states)
    assert fast.operators.tolist() == expected.operators.tolist() == [-2, -2]
    assert fast.messages == expected.messages


def test_sums_that_overflow_in_one_order_only(
    make_task: MakeTask, walk: Walk, weigh: Weigh
) -> None:
    from misstep.policies.asnet.on_device import DeviceASNet

    task = make_task("visitall", width=4, height=4)
    states, failed = walk(task, 50), 0
    for seed in range(20):
        weights = weigh(task, seed=seed, hidden=4, layers=2 + seed % 2)
        random = np.random.default_rng(seed)
        for name, tensor in weights.tensors.items():
            tensor[...] = random.normal(size=tensor.shape) * (1e37 if "action.0" in name else 1)
        native = asnet.ASNetPolicy(task, weights)
        expected = native.decide(states).operators
        fast = DeviceASNet(native, structure_of(task, weights.shape), "cpu")
        assert fast.decide(states).operators.tolist() == expected.tolist()
        failed += np.count_nonzero(expected < 0)
    assert 0 < failed < 20 * len(states)


def test_the_bound_of_sums(make_task: MakeTask, weigh: Weigh) -> None:
    from misstep.policies.asnet.on_device import largest_sum

    weights = weigh(make_task("visitall", width=2, height=2), hidden=2, layers=1)
    for tensor in weights.tensors.values():
        tensor[...] = 2
    sums, bound = [1.0], 1.0
    for kind in ("action.0.", "proposition.0.", "action.1."):
        widths = [
            t.shape[1] for n, t in weights.tensors.items() if n.startswith(kind) and t.ndim == 2
        ]
        bound = 2 * max(widths) * bound + 2
        sums.append(bound)
    assert largest_sum(weights) == sums[-1]


def test_a_gpu_is_used_on_large_tasks_only(
    make_task: MakeTask, weigh: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task("blocksworld", blocks=4)
    write_model(weigh(task), tmp_path / "net.safetensors")
    argument = str(tmp_path / "net.safetensors")
    assert isinstance(asnet.load(argument, task), NativePolicy)
    assert isinstance(asnet.load(f"--device=cpu {argument}", task), NativePolicy)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MissingDependencyError, match="no CUDA device"):
        asnet.load(f"--device=cuda {argument}", task)
    with pytest.raises(UsageError, match="no device 'tpu'"):
        asnet.load(f"--device=tpu {argument}", task)
    monkeypatch.setattr(asnet, "GPU_OPERATORS", task.operator_count)
    assert not asnet.pays_on_gpu(task)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert asnet.pays_on_gpu(task)
    with monkeypatch.context() as worker:
        worker.setattr(multiprocessing, "parent_process", lambda: object())
        assert not asnet.pays_on_gpu(task)
    monkeypatch.setattr(asnet, "GPU_OPERATORS", task.operator_count + 1)
    assert not asnet.pays_on_gpu(task)


def test_numbers_that_are_not_finite_are_left_to_the_native_network() -> None:
    """It fails there, also if another number is the best one."""
    from misstep.policies.asnet.on_device import UNSURE, sure_decisions

    logits = torch.tensor([[5.0, -torch.inf], [5.0, torch.nan], [5.0, torch.inf], [5.0, 1.0]])
    both, first = torch.ones(4, 2, dtype=torch.bool), torch.tensor([[True, False]] * 4)
    none = torch.zeros(4, 2, dtype=torch.bool)
    for applicable, expected in (
        (both, [UNSURE, UNSURE, UNSURE, 0]),
        (first, [0, 0, 0, 0]),
        (none, [UNSURE] * 4),
    ):
        model: Any = lambda *_, own=applicable: (logits, own)  # noqa: E731
        assert sure_decisions(model, model, None).tolist() == expected
