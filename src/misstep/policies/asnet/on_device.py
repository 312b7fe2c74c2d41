"""ASNets on a GPU: with `asnet:--device=cuda FILE`, or automatically on tasks where a GPU is faster.

The native network answers one state in a few microseconds, and campaigns run it without returning to Python. A GPU
needs a fraction of a millisecond for any batch, so it is faster only if a state is expensive, that is, on tasks with
many operators. The number of operators was measured (`python -m benchmarks.asnet_gpu`).

The decisions are those of the native network. The two add in different orders, so decisions that rounding could change
are left to the native network, and so are states without applicable operators or with numbers that are not finite. A
sum may overflow in one order only, and ELU makes -1 of a sum that is minus infinity. So a network whose weights do not
exclude that is left to the native one altogether.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.policies.asnet.policy import ASNetPolicy
from misstep.policies.asnet.structure import Structure
from misstep.policies.asnet.torch_network import ASNet, GroundTask
from misstep.policies.asnet.weights import Weights
from misstep.policies.policy import Answers, Candidates, Policy, States, checked_states
from misstep.policies.torch_extra import device_kind, exact_arithmetic, torch

# If two numbers are closer than this, relative to the best one, the native network decides.
NEAR = 1e-4
LARGEST = 1e38  # below the largest number in single precision
UNSURE = -5  # in place of an operator
SMALLEST = 32  # states of a record
# Numbers that a layer holds at once, operators times states times hidden size: 2 GB.
NUMBERS = 2**29


class DeviceASNet(Policy):
    """The decisions of a native network, most of them computed on a GPU."""

    chooses = True

    def __init__(self, native: ASNetPolicy, structure: Structure, device: str) -> None:
        super().__init__(native.task)
        device_kind(device)
        self.native = native
        self.name, self.digest = native.name, native.digest
        self.device = torch.device(device)
        self._model = ASNet(native.weights).to(self.device).eval()
        self._ground = GroundTask(native.task, structure, device)
        room = NUMBERS // max(1, native.task.operator_count * native.weights.hidden)
        self.piece = max(SMALLEST, min(32_768, 1 << max(0, room.bit_length() - 1)))
        self.batch_size = min(4096, self.piece)
        self._records: dict[int, _Record] = {}
        self._may_overflow = bool(largest_sum(native.weights) > LARGEST)
        self.left = 0
        """States that were left to the native network."""

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        if candidates is not None or self._may_overflow:
            return self.native.decide(states, candidates)
        operators = np.empty(len(states), dtype=np.int32)
        with exact_arithmetic():
            for start in range(0, len(states), self.piece):
                part = states[start : start + self.piece]
                operators[start : start + len(part)] = self._decide(part)
        answers = Answers(operators, evaluations=len(states))
        unsure = np.flatnonzero(operators == UNSURE)
        self.left += len(unsure)
        if len(unsure):
            asked = self.native.decide(np.ascontiguousarray(states[unsure]))
            operators[unsure] = asked.operators
            answers.messages = {int(unsure[row]): text for row, text in asked.messages.items()}
        return answers

    def _decide(self, states: States) -> Any:
        size = max(SMALLEST, 1 << (len(states) - 1).bit_length())
        if size not in self._records:
            self._records[size] = _Record(self._model, self._ground, size)
        return self._records[size](states)


def largest_sum(weights: Weights) -> float:
    """A bound of the sums in all modules, whatever the state and the order in which they add."""
    bound = 1.0  # of the inputs, and of what stands in for missing ones
    for layer in range(weights.layers + 1):
        for kind in ("action", "proposition"):
            start = f"{kind}.{layer}."
            sums = [bound]
            for name, matrix in weights.tensors.items():
                if name.startswith(start) and name.endswith(".weight"):
                    bias = weights.tensors[f"{name.removesuffix('.weight')}.bias"]
                    rows = np.abs(matrix).sum(axis=1, dtype=np.float64) * bound
                    sums.append(float((rows + np.abs(bias)).max()))
            bound = max(sums)
    return bound


def sure_decisions(model: ASNet, ground: GroundTask, states: Any) -> Any:
    """The operator of each state, or UNSURE."""
    logits, applicable = model(ground, states)
    odd = (applicable & ~torch.isfinite(logits)).any(1)
    logits = logits.masked_fill(~applicable, float("-inf"))
    best, chosen = logits.max(1, keepdim=True)
    near = (logits >= best - NEAR * (1 + best.abs())).sum(1) > 1
    unsure = near | odd | ~applicable.any(1)
    return torch.where(unsure, UNSURE, chosen[:, 0]).to(torch.int32)


class _Record:
    """The network for batches up to one size; on a GPU recorded as a CUDA graph, which is one launch."""

    def __init__(self, model: ASNet, ground: GroundTask, size: int) -> None:
        self._model, self._ground = model, ground
        on_gpu = ground.device.type == "cuda"
        shape = (size, ground.variable_count)
        self._states = torch.zeros(shape, dtype=torch.int32, device=ground.device)
        self._sent = torch.zeros(shape, dtype=torch.int32, pin_memory=on_gpu)
        self._received = torch.zeros(size, dtype=torch.int32, pin_memory=on_gpu)
        self._graph: Any = None
        self._result: Any = None
        if on_gpu:
            with torch.cuda.device(ground.device):
                self._capture()

    def _capture(self) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                sure_decisions(self._model, self._ground, self._states)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._result = sure_decisions(self._model, self._ground, self._states)

    def __call__(self, states: States) -> Any:
        count = len(states)
        self._sent[:count].copy_(torch.from_numpy(states))
        self._states[:count].copy_(self._sent[:count], non_blocking=True)
        if self._graph is None:
            self._result = sure_decisions(self._model, self._ground, self._states)
        else:
            self._graph.replay()
        self._received[:count].copy_(self._result[:count], non_blocking=True)
        if self._graph is not None:
            torch.cuda.current_stream(self._ground.device).synchronize()
        return self._received[:count].numpy()


__all__ = ["DeviceASNet", "sure_decisions"]
