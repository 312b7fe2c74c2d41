"""Run the policy ahead for several states at once, for the runs that oracles will need.

An oracle such as lookahead runs the policy from many states around the tested one. Most of these runs merge soon, so
the policy would be asked in small batches. Therefore, before a state is tested, the loop collects the runs that the
oracle will need for this state and the next ones, until they fill a batch, and runs them together. This only changes
when the policy is asked: the bound store does not see these runs before the oracle asks for them, so verdicts are the
same. If a state is decided before its turn, its runs were made in vain; so only as many states are considered as fill a
batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from misstep import _core
from misstep.fuzzing.ahead import ENOUGH, likes_batches
from misstep.policies.policy import States
from misstep.runs.runner import PolicyRunner


class Runs(NamedTuple):
    """Starts of runs, a row each, and how many steps of each are looked at; None: no limit."""

    states: States
    max_steps: int | None


def run_together(runner: PolicyRunner, parts: Sequence[Runs]) -> None:
    """Ask the policy for all these runs. They advance in step, so that their questions make batches."""
    graph = runner.graph
    active = [_core.LockstepRuns(graph, graph.add(part.states), part.max_steps) for part in parts]
    while active:
        waiting = [(runs, runs.advance()) for runs in active]
        active = [runs for runs, pending in waiting if len(pending)]
        if active:
            runner.ask(np.unique(np.concatenate([pending for _, pending in waiting])))


class Foresight:
    """Has the runs made that the states to be tested will need, a batch of states at a time."""

    def __init__(self, runner: PolicyRunner) -> None:
        self._runner = runner
        self._enough = min(ENOUGH, runner.batch_size) if likes_batches(runner) else 0
        self._done = 0  # states that are prepared, in their order

    def prepare(self, place: int, needs: Iterator[list[Runs]]) -> None:
        """Before the state at this place is tested. `needs` are the runs for it and for those after it."""
        if not self._enough or place < self._done:
            return
        chosen: list[Runs] = []
        self._done = place
        for runs in needs:
            self._done += 1
            chosen += runs
            if sum(self._unknown(part) for part in chosen) >= self._enough:
                break
        run_together(self._runner, chosen)

    def _unknown(self, part: Runs) -> int:
        decisions = self._runner.graph.decisions(self._runner.graph.add(part.states))
        return int((decisions == _UNASKED).sum())


_UNASKED = -3

__all__ = ["Foresight", "Runs", "run_together"]
