"""A GPU gives the same decisions as the processor, with and without recorded evaluations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from misstep.policies.gnn import GNNPolicy
from misstep.policies.policy import States

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("blocks", "probBLOCKS-10-0"),
        ("gripper", "prob05"),
        ("logistics", "probLOGISTICS-7-0"),
        ("visitall", "problem05-full"),
    ],
)
def test_agrees_with_the_processor(
    open_policy: Callable[..., GNNPolicy],
    walk: Callable[[GNNPolicy, int], States],
    domain: str,
    problem: str,
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device")
    slow = open_policy(domain, problem, "--device=cpu")
    fast = open_policy(domain, problem, "--device=cuda")
    states = walk(slow, 300)
    # The first sizes are recorded and replayed, the last is too large for that.
    for count in (1, 7, 7, 20, 20, 300):
        rows = states[:count] if count < 300 else np.concatenate([states] * 3)
        expected, answers = slow.decide(states[:count]), fast.decide(rows)
        assert expected.values is not None
        assert answers.values is not None
        assert answers.operators[:count].tolist() == expected.operators.tolist()
        assert answers.values[:count] == pytest.approx(expected.values, abs=1e-3)


@pytest.mark.parametrize("width", [16, 32, 64, 128])
def test_there_are_kernels_for_every_width(width: int) -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device")
    pytest.importorskip("triton", reason="Triton is not installed")
    from misstep.policies.gnn.encoding import encode
    from misstep.policies.gnn.evaluator import Evaluator
    from support import kernel_cases

    network = kernel_cases.checkpoint(width)
    for task in kernel_cases.tasks():
        encoding = encode(task, network.relations, "test")
        fast = Evaluator(network, encoding, 0, "cuda")
        assert fast.refused == ""
        states = kernel_cases.some_states(task, 100)
        offsets = np.array([0, 30, 30, 100])
        expected, _ = Evaluator(network, encoding, 0, "cpu").evaluate(states, offsets)
        for _ in range(3):  # the second time it is replayed
            assert fast.evaluate(states, offsets)[0] == pytest.approx(expected, abs=1e-4)
