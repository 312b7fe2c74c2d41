"""The fuzzer of P22, Algorithm 1."""

from __future__ import annotations

import numpy as np

from misstep import _core
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.select import weighted_select
from misstep.fuzzing.walking import Found, Ids, Offer, Start, Walking
from misstep.runs.outcomes import FAILING, OUTCOMES

_FAILS = np.array([outcome in FAILING for outcome in OUTCOMES])


class Fuzzer2022(Fuzzer):
    """Walks prefer successors with a long run of the policy. Those where it fails go to the pool, and walks avoid them.

    A run that the step limit cuts weighs that many steps: it is not known to fail.
    """

    def start(self, random: _core.CounterRandom, size: int) -> Start:
        reference = random.below(size)
        length = 1 + random.below(self.settings.max_walk_length)
        return Start(reference, length, self.draws_bias(random))

    def unbiased_walk(self, start: int, length: int, random: _core.CounterRandom) -> Found:
        end, walk = self.walks.uniform_walk(start, length, random)
        return Found((Offer(end, tuple(walk)),), len(walk))

    def biased_walk(
        self, start: int, length: int, random: _core.CounterRandom, share: float
    ) -> Walking:
        assert self.runner is not None
        walk: tuple[int, ...] = ()
        s = start
        run_steps = 0
        offers: list[Offer] = []
        weighed: list[Ids] = []
        for _ in range(length):
            operators, successors = self.walks.successors(s)
            if len(successors) == 0:
                break
            if self.ahead is not None:
                yield from self.runs(successors, self.max_steps)
            ends = self.runner.run_ids(successors, self.max_steps)
            weighed.append(successors)
            run_steps += int(ends.steps.sum())
            fails = _FAILS[ends.outcomes]
            for failed in np.flatnonzero(fails):
                offers.append(Offer(int(successors[failed]), (*walk, int(operators[failed]))))
            weights = np.where(fails, 0.0, ends.steps)
            if weights.sum() == 0 and share == 0:
                break  # the paper does not say
            chosen = weighted_select(weights, random, share)
            s = int(successors[chosen])
            walk = (*walk, int(operators[chosen]))
        offers.append(Offer(s, walk))
        return Found(tuple(offers), len(walk), run_steps, weighed=tuple(weighed))

    def look_around(self, id: int) -> tuple[Ids, Walking]:
        _, successors = self.walks.successors(id)
        return successors, self.runs(successors, self.max_steps)


__all__ = ["Fuzzer2022"]
