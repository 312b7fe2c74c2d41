"""Walks before their turn, so that a policy that likes batches gets them.

One walk asks the policy about one or two states at a time, because each step waits for the answers to the last one. But
iteration i + j of a fuzzer draws from a stream of its own, so most of what it will do is known while iteration i still
waits. When a walk has to ask, the walks of the next iterations are taken as far as they get without asking, and
all their questions go to the policy in one batch.

This is a guess in one point only: where a later walk starts depends on how many states the walks before it add to the
pool. A walk whose start turns out to be another one is taken again, and the answers that nobody needs were asked in
vain. Everything else stays as it was: a walk is a function of its start and its stream, an answer is a function of the
state, and what was found enters the pool in the order of the iterations. So the pool is that of a fuzzer that never
looks ahead.

Questions asked in vain are bounded: `in_vain` counts the states that were asked about and that no walk has needed so
far, and where it is above `ALLOWED_AT_ONCE` and a share of the states that were needed, nothing is asked ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from misstep import _core
from misstep.fuzzing.walking import Found, Ids, Start, Walker, Walking
from misstep.policies.native import NativePolicy
from misstep.runs.runner import PolicyRunner

ENOUGH = 32  # states of a batch; more are asked only if the walk itself needs them
WINDOW = 96  # iterations that are looked at
ALLOWED_AT_ONCE = 64  # states that may be asked in vain, and
ALLOWED_SHARE = 0.5  # so many more for each state that was needed


class Walks(Protocol):
    """What looking ahead needs of a fuzzer."""

    graph: _core.PolicyGraph
    ids: list[int]  # of the pool

    def start(self, random: _core.CounterRandom, size: int) -> Start: ...
    def walk(
        self, start: int, drawn: Start, random: _core.CounterRandom, share: float
    ) -> Walking: ...
    def stream(self, iteration: int) -> _core.CounterRandom: ...
    def would_join(self, found: Found) -> Iterator[int]: ...
    def may_go_on(self, iteration: int, size: int) -> bool: ...


def likes_batches(runner: PolicyRunner | None) -> bool:
    """Whether asking early is worth it: not for native policies, nor where each state is a question of its own."""
    return (
        type(runner) is PolicyRunner
        and not isinstance(runner.policy, NativePolicy)
        and not (runner.policy.set_valued or runner.policy.plans)
        and min(runner.batch_size, runner.policy.batch_size) > 1
    )


class Ahead:
    """Takes the walks of a fuzzer, and those after them where that fills a batch."""

    def __init__(self, fuzzer: Walks, runner: PolicyRunner) -> None:
        self._fuzzer = fuzzer
        self._runner = runner
        self._enough = min(ENOUGH, runner.batch_size)
        self._walkers: dict[int, Walker] = {}  # by iteration
        self._needed = np.zeros(0, dtype=bool)  # by id of the policy graph
        self._needed_count = 0
        self._asked_before = runner.graph.decided
        self._joined = 1.0  # states that a walk adds to the pool, of late

    @property
    def in_vain(self) -> int:
        """States that were asked about while this fuzzer worked, and that no walk has needed so far."""
        return max(0, self._runner.graph.decided - self._asked_before - self._needed_count)

    def walk(self, iteration: int, share: float) -> tuple[Start, Found]:
        """The walk of this iteration, from the pool as it is now."""
        drawn, walker = self._walker(iteration, self._fuzzer.ids, share)
        assert walker is not None
        while True:
            pending = walker.advance()
            if walker.found is not None:
                break
            self._ask(pending, iteration, share)
        return drawn, walker.found

    def done(self, iteration: int, found: Found, joined: int) -> None:
        """The walk has had its turn, and so many of its states have joined the pool."""
        self._walkers.pop(iteration, None)
        self._joined += (joined - self._joined) / 8
        for ids in found.weighed:
            self._need(ids)

    # -- asking -----------------------------------------------------------------------------------

    def _ask(self, pending: Ids, iteration: int, share: float) -> None:
        chosen = set(pending.tolist())
        allowed = ALLOWED_AT_ONCE + ALLOWED_SHARE * self._needed_count - self.in_vain
        room = min(self._enough - len(chosen), allowed)
        if room > 0:
            for id in self._questions(iteration, share):
                chosen.add(id)
                if len(chosen) >= self._enough:
                    break
        self._runner.ask(np.array(sorted(chosen), dtype=np.uint32))

    def _questions(self, iteration: int, share: float) -> Iterator[int]:
        """What the walks after this one wait for, in their order."""
        fuzzer = self._fuzzer
        ids: list[int | None] = [*fuzzer.ids, *self._unknown()]
        joined: set[int] = set()
        for later in range(iteration + 1, iteration + WINDOW):
            if not fuzzer.may_go_on(later, len(ids)):
                return
            _, walker = self._walker(later, ids, share)
            if walker is None:  # it starts where a walk before it ends
                ids += self._unknown()
                continue
            yield from walker.advance().tolist()
            if walker.found is None:
                ids += self._unknown()
            else:
                fresh = dict.fromkeys(fuzzer.would_join(walker.found))
                ids += [id for id in fresh if id not in joined]
                joined.update(fresh)

    def _unknown(self) -> list[None]:
        return [None] * round(self._joined)

    def _walker(
        self, iteration: int, ids: list[int] | list[int | None], share: float
    ) -> tuple[Start, Walker | None]:
        """The walk of an iteration from a pool of these states; None stands for one that is not known yet."""
        random = self._fuzzer.stream(iteration)
        drawn = self._fuzzer.start(random, len(ids))
        start = ids[drawn.reference]
        if start is None:
            return drawn, None
        # How many numbers were drawn may depend on the size of the pool.
        key = (start, drawn.length, drawn.is_biased, random.counter, share)
        walker = self._walkers.get(iteration)
        if walker is None or walker.key != key:
            walker = Walker(key, self._fuzzer.walk(start, drawn, random, share))
            self._walkers[iteration] = walker
        return drawn, walker

    # -- what was needed --------------------------------------------------------------------------

    def _need(self, ids: Ids) -> None:
        """Mark the runs from these states. A run of which a part is marked is marked to its end."""
        graph = self._runner.graph
        if len(self._needed) < len(graph):
            grown = np.zeros(max(len(graph), 2 * len(self._needed)), dtype=bool)
            grown[: len(self._needed)] = self._needed
            self._needed = grown
        while len(ids):
            ids = np.unique(ids[~self._needed[ids]])
            self._needed[ids] = True
            self._needed_count += int((graph.decisions(ids) != _UNASKED).sum())
            after = graph.successors(ids)
            ids = after[after >= 0].astype(np.uint32)


_UNASKED = -3

__all__ = ["ENOUGH", "Ahead", "likes_batches"]
