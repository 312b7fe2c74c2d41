"""The fuzzer of P22, Algorithm 1."""

from __future__ import annotations

import numpy as np

from misstep import _core
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.select import weighted_select
from misstep.runs.outcomes import FAILING, OUTCOMES

_FAILS = np.array([outcome in FAILING for outcome in OUTCOMES])


class Fuzzer2022(Fuzzer):
    """Walks prefer successors with a long run of the policy. Those where it fails go to the pool, and walks avoid them.

    A run that the step limit cuts weighs that many steps: it is not known to fail.
    """

    def iterate(self, random: _core.CounterRandom, share: float) -> None:
        reference = random.below(len(self.ids))
        length = 1 + random.below(self.settings.max_walk_length)
        if self.settings.bias == "none":
            s, operators = self.walks.uniform_walk(self.ids[reference], length, random)
            self.pool.walk_steps += len(operators)
            self.offer(s, reference, tuple(operators))
            return
        before = len(self.ids), self.pool.duplicates, self.pool.rejected
        try:
            walk, s = self._biased_walk(reference, length, random, share)
        except BaseException:  # Ctrl-C as well: the iteration did not take place
            self._undo(*before)
            raise
        self.pool.walk_steps += len(walk)
        self._offer(s, reference, walk)

    def _biased_walk(
        self, reference: int, length: int, random: _core.CounterRandom, share: float
    ) -> tuple[tuple[int, ...], int]:
        walk: tuple[int, ...] = ()
        s = self.ids[reference]
        run_steps = 0
        for _ in range(length):
            operators, successors = self.walks.successors(s)
            if len(successors) == 0:
                break
            assert self.runner is not None
            ends = self.runner.run_ids(successors, self.max_steps)
            run_steps += int(ends.steps.sum())
            fails = _FAILS[ends.outcomes]
            for failed in np.flatnonzero(fails):
                self._offer(int(successors[failed]), reference, (*walk, int(operators[failed])))
            weights = np.where(fails, 0.0, ends.steps)
            if weights.sum() == 0 and share == 0:
                break  # the paper does not say
            chosen = weighted_select(weights, random, share)
            s = int(successors[chosen])
            walk = (*walk, int(operators[chosen]))
        self.pool.run_steps += run_steps
        return walk, s

    def _offer(self, id: int, reference: int, walk: tuple[int, ...]) -> None:
        if len(self.pool) < self.settings.max_states:
            self.offer(id, reference, walk)

    def _undo(self, size: int, duplicates: int, rejected: int) -> None:
        del self.pool.entries[size:]
        self.pool.duplicates, self.pool.rejected = duplicates, rejected
        self._index_pool()


__all__ = ["Fuzzer2022"]
