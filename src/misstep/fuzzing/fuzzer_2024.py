"""The fuzzer of P24, Algorithm 1."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.fuzzing.biases import Bias
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.select import weighted_select
from misstep.fuzzing.settings import Settings
from misstep.fuzzing.walking import Found, Ids, Offer, Start, Walking
from misstep.policies.native import NativePolicy
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task


class Weights(NamedTuple):
    """Of successors, and what they took."""

    values: NDArray[np.float64]
    steps: int  # of the policy's runs
    cut: int  # weights that rest on a distance whose search was cut


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

    def start(self, random: _core.CounterRandom, size: int) -> Start:
        length = 1 + random.below(self.settings.max_walk_length)
        reference = random.below(size)
        return Start(reference, length, self.draws_bias(random))

    def unbiased_walk(self, start: int, length: int, random: _core.CounterRandom) -> Found:
        end, walk = self.walks.uniform_walk(start, length, random)
        return _found(end, walk, length)

    def biased_walk(
        self, start: int, length: int, random: _core.CounterRandom, share: float
    ) -> Walking:
        s = start
        walk: list[int] = []
        run_steps = cut_weights = 0
        weighed: list[Ids] = []
        for _ in range(length):
            operators, successors = self.walks.successors(s, random)
            weight = yield from self.weigh(successors)
            weighed.append(successors)
            run_steps += weight.steps
            cut_weights += weight.cut
            weights = self._readmit(weight.values) if share > 0 else weight.values
            chosen = weighted_select(weights, random, share)
            if chosen < 0:
                break
            s = int(successors[chosen])
            walk.append(int(operators[chosen]))
        found = _found(s, walk, length)
        return found._replace(run_steps=run_steps, cut_weights=cut_weights, weighed=tuple(weighed))

    def look_around(self, id: int) -> tuple[Ids, Walking]:
        _, successors = self.walks.successors(id)
        return successors, self.runs(successors, self.state_budget)

    def _readmit(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Part of smoothing: -inf becomes the lowest weight, because there are tasks where nothing else is left.

        No run of a task without a way back comes close to a loop, so all weights of that bias are -inf. It means
        a dead end for the surface bias only.
        """
        if self.settings.bias == "surface":
            return weights
        lowest = min(0.0, weights.min(initial=0.0, where=np.isfinite(weights)))
        return np.where(np.isneginf(weights), lowest, weights)

    def weigh(self, successors: Ids) -> Generator[Ids, None, Weights]:
        """Weights of the successors that the budget allows to look at."""
        assert self.bias is not None
        assert self.runner is not None
        runs = _core.PartialRuns(
            self.graph, successors, self.state_budget, self.settings.expansion_budget
        )
        if isinstance(self.runner.policy, NativePolicy):
            runs.run_native(self.runner.policy.native)
        else:
            while len(pending := runs.advance()):
                yield pending
        outcomes, steps, _ = runs.ends()
        cut_before = self.bias.cut_weights
        values = self.bias.values(successors[: len(steps)], outcomes, steps)
        return Weights(values, int(steps.sum()), self.bias.cut_weights - cut_before)


def _found(end: int, walk: list[int], length: int) -> Found:
    """A walk that got stuck offers nothing."""
    offers = (Offer(end, tuple(walk)),) if len(walk) == length else ()
    return Found(offers, len(walk))


__all__ = ["Fuzzer2024"]
