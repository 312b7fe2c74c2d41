"""Start walks ahead of time, so that the policy can be asked in larger batches.

One walk asks the policy about one or two states at a time, because each step waits for the answers to the last one. But
iteration i + j of a fuzzer has its own random stream, so most of its walk is known while iteration i still waits. When
a walk has to ask, the walks of the next iterations are followed as far as possible without asking, and all their
questions go to the policy in one batch. If the batch is still not full, the runs around the oldest states of the pool
are started, because walks will probably start there later.

Only one thing is a guess: the start of a later walk depends on how many states the walks before it add to the pool. If
the guess was wrong, the walk is repeated, and some questions were asked in vain. The result does not change: a walk is
a function of its start and its stream, an answer is a function of the state, and states enter the pool in the order of
the iterations. So the pool is the same as without looking ahead.

With `walks` = W, the starts of the next W - 1 walks are known, because they are drawn from the pool as it was W
iterations before. All questions of these walks go into the batch.

Questions asked in vain are bounded. A state counts as asked in vain as long as no walk that has had its turn, and none
that is under way, needs it. Where there are more than a few for each state of the pool, 256 at most, and half of the
states that were needed, nothing is asked ahead.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple, Protocol

import numpy as np

from misstep import _core
from misstep.fuzzing.settings import Settings
from misstep.fuzzing.walking import Found, Ids, Start, Walker, Walking
from misstep.policies.native import NativePolicy
from misstep.runs.runner import PolicyRunner

ENOUGH = 32  # states of a batch; more are asked only if the walk itself needs them
ENOUGH_FOR_MANY = 64  # the same, where several walks are under way at once
WINDOW = 96  # iterations that are looked at
# States that may be asked in vain: so many for each state that the pool shall have, up to a limit, and
ALLOWED_FOR_STATE, ALLOWED_AT_ONCE = 2.5, 256
ALLOWED_SHARE = 0.5  # for each state that was needed, where a walk waits for the answer.
EARLY = 0.5  # the part of the pool whose states are likely to be the start of a walk


class Walks(Protocol):
    """The part of a fuzzer that looking ahead needs."""

    graph: _core.PolicyGraph
    ids: list[int]  # of the pool
    settings: Settings

    def start(self, random: _core.CounterRandom, size: int) -> Start: ...
    def walk(
        self, start: int, drawn: Start, random: _core.CounterRandom, share: float
    ) -> Walking: ...
    def stream(self, iteration: int) -> _core.CounterRandom: ...
    def look_around(self, id: int) -> tuple[Ids, Walking]: ...
    def would_join(self, found: Found) -> Iterator[int]: ...
    def may_go_on(self, iteration: int, size: int) -> bool: ...
    def starts(self, iteration: int) -> int: ...
    def share(self, iteration: int) -> float: ...


def likes_batches(runner: PolicyRunner | None) -> bool:
    """Whether asking early is worth it: not for native policies, nor for those that answer state by state."""
    return (
        type(runner) is PolicyRunner
        and not isinstance(runner.policy, NativePolicy)
        and not (runner.policy.set_valued or runner.policy.plans)
        and min(runner.batch_size, runner.policy.batch_size) > 1
    )


class _Guess(NamedTuple):
    """Questions that may be asked before their time, and where those are noted that are."""

    questions: Ids
    asked: set[int]


class Ahead:
    """Takes the walks of a fuzzer, and those after them where that fills a batch."""

    def __init__(self, fuzzer: Walks, runner: PolicyRunner) -> None:
        self._fuzzer = fuzzer
        self._runner = runner
        enough = ENOUGH if fuzzer.settings.walks == 1 else ENOUGH_FOR_MANY
        self._enough = min(enough, runner.batch_size)
        self._allowed = min(ALLOWED_AT_ONCE, ALLOWED_FOR_STATE * fuzzer.settings.max_states)
        # By iteration, one for each start that was guessed: a guess that looks wrong may turn out right.
        self._walkers: dict[int, dict[tuple[object, ...], Walker]] = {}
        self._scouts: list[Walker] = []  # runs around states of the pool, under way
        self._looked: set[int] = set()  # states around which runs were begun
        self._next = 0  # state of the pool to look around next
        self._beyond: deque[int] = deque()
        self._needed = np.zeros(0, dtype=bool)  # by id of the policy graph
        self._needed_count = 0
        self._in_vain: set[int] = set()

    @property
    def in_vain(self) -> int:
        """States that the policy was asked about and that, by now, no walk needs."""
        return len(self._in_vain)

    def run(self, walking: Walking) -> None:
        """Let a run go first, before there are walks."""
        self._drive(Walker(walking), -1)

    def walk(self, iteration: int) -> tuple[Start, Found]:
        """The walk of this iteration, from the pool as it is now."""
        fuzzer = self._fuzzer
        drawn, walker = self._walker(iteration, fuzzer.ids, fuzzer.starts(iteration))
        assert walker is not None
        return drawn, self._drive(walker, iteration)

    def _drive(self, walker: Walker, iteration: int) -> Found:
        while True:
            pending = walker.advance()
            if walker.found is not None:
                return walker.found
            self._ask(pending, iteration)

    def done(self, iteration: int, found: Found) -> None:
        """The walk has had its turn."""
        self._make_room()
        for ids in found.weighed:
            self._need(ids)
        for walker in self._walkers.pop(iteration, {}).values():
            self._in_vain.update(id for id in walker.asked if not self._needed[id])

    # -- asking -----------------------------------------------------------------------------------

    def _ask(self, pending: Ids, iteration: int) -> None:
        chosen = set(pending.tolist())
        walks = self._of_walks(iteration)
        for known in islice(walks, self._fuzzer.settings.walks - 1):  # not guessed at all
            known.asked.update(set(known.questions.tolist()) - chosen)
            chosen.update(known.questions.tolist())
        if self.in_vain < self._allowed + ALLOWED_SHARE * self._needed_count:
            guesses = chain(walks, self._of_scouts())
            while len(chosen) < self._enough and (guess := next(guesses, None)):
                fresh = [id for id in guess.questions.tolist() if id not in chosen]
                fresh = fresh[: self._enough - len(chosen)]
                chosen.update(fresh)
                guess.asked.update(fresh)
        self._runner.ask(np.array(sorted(chosen), dtype=np.uint32))

    def _of_walks(self, iteration: int) -> Iterator[_Guess]:
        """What the walks after this one wait for, in their order."""
        fuzzer = self._fuzzer
        lag = fuzzer.settings.walks
        ids: list[int | None] = list(fuzzer.ids)
        joined: set[int] = set()
        if iteration >= 0:
            ids.append(None)
        sizes = [len(ids)]  # of the pool, after this iteration and those that follow
        for later in range(iteration + 1, iteration + max(WINDOW, lag)):
            if not fuzzer.may_go_on(later, len(ids)):
                return
            before = later - lag - iteration
            size = fuzzer.starts(later) if before < 0 else sizes[before]
            _, walker = self._walker(later, ids, size)
            if walker is not None:
                yield _Guess(walker.advance(), walker.asked)
            if walker is None or walker.found is None:
                ids.append(
                    None
                )  # it leads to where nothing is known yet, so most likely to a new state
            else:
                fresh = dict.fromkeys(fuzzer.would_join(walker.found))
                ids += [id for id in fresh if id not in joined]
                joined.update(fresh)
            sizes.append(len(ids))

    def _of_scouts(self) -> Iterator[_Guess]:
        """What the runs around states of the pool wait for; new ones are begun where those are not enough."""
        for scout in list(self._scouts):
            questions = scout.advance()
            if scout.found is not None:
                self._scouts.remove(scout)
            yield _Guess(questions, self._in_vain)
        for id in self._places() if self.in_vain < self._allowed else ():
            successors, runs = self._fuzzer.look_around(id)
            if len(self._fuzzer.ids) < self._enough:
                self._beyond.extend(successors.tolist())
            scout = Walker(runs)
            questions = scout.advance()
            if scout.found is None:
                self._scouts.append(scout)
            yield _Guess(questions, self._in_vain)

    def _places(self) -> Iterator[int]:
        """Where walks are likely to pass: the older half of the pool, and while it is small, what is around it."""
        ids = self._fuzzer.ids
        early = min(len(ids), math.ceil(EARLY * self._fuzzer.settings.max_states))
        while self._next < early:
            self._next += 1
            if self._is_new_place(ids[self._next - 1]):
                yield ids[self._next - 1]
        while self._beyond and len(ids) < self._enough:
            id = self._beyond.popleft()
            if self._is_new_place(id):
                yield id

    def _is_new_place(self, id: int) -> bool:
        before = len(self._looked)
        self._looked.add(id)
        return len(self._looked) > before

    def _walker(
        self, iteration: int, ids: list[int] | list[int | None], size: int
    ) -> tuple[Start, Walker | None]:
        """The walk of an iteration from one of the first `size` states; None stands for one that is not known yet."""
        share = self._fuzzer.share(iteration)
        random = self._fuzzer.stream(iteration)
        drawn = self._fuzzer.start(random, size)
        start = ids[drawn.reference]
        if start is None:
            return drawn, None
        # How many numbers were drawn may depend on the size of the pool.
        key = (start, drawn.length, drawn.is_biased, random.counter, share)
        walkers = self._walkers.setdefault(iteration, {})
        walker = walkers.get(key)
        if walker is None:
            walker = walkers[key] = Walker(self._fuzzer.walk(start, drawn, random, share))
        return drawn, walker

    # -- what was needed --------------------------------------------------------------------------

    def _make_room(self) -> None:
        size = len(self._runner.graph)
        if len(self._needed) < size:
            grown = np.zeros(max(size, 2 * len(self._needed)), dtype=bool)
            grown[: len(self._needed)] = self._needed
            self._needed = grown

    def _need(self, ids: Ids) -> None:
        """Mark the runs from these states. A run of which a part is marked is marked to its end."""
        graph = self._runner.graph
        while len(ids):
            ids = np.unique(ids[~self._needed[ids]])
            self._needed[ids] = True
            self._in_vain.difference_update(ids.tolist())
            self._needed_count += int((graph.decisions(ids) != _UNASKED).sum())
            after = graph.successors(ids)
            ids = after[after >= 0].astype(np.uint32)


_UNASKED = -3

__all__ = ["ENOUGH", "Ahead", "likes_batches"]
