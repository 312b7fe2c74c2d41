"""The fuzzer of P24, Algorithm 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.fuzzing.biases import Bias
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.select import weighted_select
from misstep.fuzzing.settings import Settings
from misstep.policies.native import NativePolicy
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task


class Fuzzer2024(Fuzzer):
    """Walks are drawn to successors from which the run of the policy looks bad, and into those where it fails."""

    def __init__(
        self,
        task: Task,
        runner: PolicyRunner | None,
        settings: Settings,
        seed: int,
        *,
        pool: Pool | None = None,
        max_steps: int | None = DEFAULT_MAX_STEPS,
        naive: bool = False,
    ) -> None:
        """`naive` evaluates biases in the slow, obvious way, for comparison."""
        super().__init__(task, runner, settings, seed, pool=pool, max_steps=max_steps)
        limits = [limit for limit in (settings.state_budget, max_steps) if limit is not None]
        self.state_budget = min(limits, default=None)
        self.bias: Bias | None = None
        if settings.bias != "none":
            self.bias = Bias(
                self.graph,
                settings.bias,
                self.parts.space if settings.needs_h_star else None,
                evaluations=self.parts.evaluations,
                infinite_failures=settings.infinite_failures,
                naive=naive,
            )

    def iterate(self, random: _core.CounterRandom, share: float) -> None:
        length = 1 + random.below(self.settings.max_walk_length)
        reference = random.below(len(self.ids))
        s = self.ids[reference]
        walk: list[int] = []
        run_steps = 0
        cut_before = 0 if self.bias is None else self.bias.cut_weights
        if self.bias is None:
            s, walk = self.walks.uniform_walk(s, length, random)
        else:
            for _ in range(length):
                operators, successors = self.walks.successors(s, random)
                weights, steps = self.weigh(successors)
                run_steps += steps
                if share > 0:
                    weights = self._readmit(weights)
                chosen = weighted_select(weights, random, share)
                if chosen < 0:
                    break
                s = int(successors[chosen])
                walk.append(int(operators[chosen]))
        # Only now, so that an iteration that is interrupted leaves no trace.
        self.pool.walk_steps += len(walk)
        self.pool.run_steps += run_steps
        if self.bias is not None and self.bias.cut_weights > cut_before:
            self._count_cuts(self.bias.cut_weights - cut_before)
        if len(walk) < length:
            self.pool.discarded += 1
        else:
            self.offer(s, reference, tuple(walk))

    def _count_cuts(self, fresh: int) -> None:
        limit = f"the limit of {self.parts.evaluations:,} evaluations"
        about = f"{limit} cut searches for h*, whose lower bounds stand in;"
        self.pool.cut_weights += fresh
        self.pool.remark(
            f"{about} weights that rest on them: {self.pool.cut_weights:,}", replacing=about
        )

    def _readmit(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Part of smoothing: -inf becomes the lowest weight, because there are tasks where nothing else is left.

        No run of a task without a way back comes close to a loop, so all weights of that bias are -inf. It means
        a dead end for the surface bias only.
        """
        if self.settings.bias == "surface":
            return weights
        lowest = min(0.0, weights.min(initial=0.0, where=np.isfinite(weights)))
        return np.where(np.isneginf(weights), lowest, weights)

    def weigh(self, successors: NDArray[np.uint32]) -> tuple[NDArray[np.float64], int]:
        """Weights of the successors that the budget allows to look at, and the steps that took."""
        assert self.bias is not None
        assert self.runner is not None
        runs = _core.PartialRuns(
            self.graph, successors, self.state_budget, self.settings.expansion_budget
        )
        if isinstance(self.runner.policy, NativePolicy):
            runs.run_native(self.runner.policy.native)
        else:
            while len(pending := runs.advance()):
                self.runner.ask(pending)
        outcomes, steps, _ = runs.ends()
        return self.bias.values(successors[: len(steps)], outcomes, steps), int(steps.sum())


__all__ = ["Fuzzer2024"]
