"""A GPU decides as the processor does, with and without recorded evaluations."""

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
