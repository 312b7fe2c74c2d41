"""The biases of P24: how bad the run of a policy looks from a state.

The values come from the core's `TraceBias`; core/fuzzing/trace_biases.h has the definitions. The fuzzer gives a run
that fails infinite weight, because the rest of the run no longer matters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.runs.outcomes import FAILING, OUTCOMES

_FAILS = np.array([outcome in FAILING for outcome in OUTCOMES])


class Bias:
    """Weighs candidates by the runs of the policy from them."""

    def __init__(
        self,
        graph: _core.PolicyGraph,
        name: str,
        space: _core.StateSpace | None = None,
        *,
        evaluations: int | None = None,
        infinite_failures: bool = True,
        naive: bool = False,
    ) -> None:
        """Distances are those of the state space; without it, found by searches of so many evaluations; or hFF."""
        self.name = name
        self._trace_bias = _core.TraceBias(graph, name, space, evaluations=evaluations, naive=naive)
        self._infinite_failures = infinite_failures

    @property
    def cut_weights(self) -> int:
        """Weights given so far that rest on a distance whose search was cut."""
        return self._trace_bias.cut_values

    def values(
        self, ids: NDArray[np.uint32], outcomes: NDArray[np.uint8], steps: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Weights of states whose runs, as far as the budget allowed, ended that way after so many steps."""
        if not self._infinite_failures:
            return self._trace_bias.values(ids, steps)
        weights = np.full(len(ids), np.inf)
        sound = np.flatnonzero(~_FAILS[outcomes])
        if len(sound):
            weights[sound] = self._trace_bias.values(ids[sound], steps[sound])
        return weights


__all__ = ["Bias"]
