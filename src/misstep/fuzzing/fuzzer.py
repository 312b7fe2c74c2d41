"""What both fuzzers share: the outer loop, the pool, and when to stop.

Iteration i of the outer loop has its own random stream, (seed, i). It is a function of that stream and of the pool
before it, so a fuzzer that continues a pool makes the same pool as one that never stopped. A walk itself changes
nothing (`misstep.fuzzing.walking`), so walks of later iterations may be started early to ask the policy in larger
batches (`misstep.fuzzing.ahead`).

With `walks` = W, the walk of iteration i starts from a state that iteration i - W or an earlier one has found, so that
W walks can be under way at once and the pool is still a function of the seed alone. W = 1 is the papers' fuzzer.

On small tasks the fuzzer runs out of states: all reachable states are in the pool, or the weights lead away from the
rest. If no state is new for `patience` iterations in a row, the fuzzer smooths the choice, once; if that does not help,
it stops. Both leave a remark in the pool, and so does a time limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import perf_counter

import numpy as np

from misstep import _core
from misstep.errors import UsageError
from misstep.fuzzing.ahead import Ahead, likes_batches
from misstep.fuzzing.dead_ends import make_walks
from misstep.fuzzing.parts import parts_that_fit
from misstep.fuzzing.pool import Pool, PoolEntry
from misstep.fuzzing.settings import Settings
from misstep.fuzzing.walking import Found, Ids, Offer, Start, Walking
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task

PROGRESS_EVERY = 0.1  # seconds


class Fuzzer(ABC):
    """Makes a pool, one iteration at a time: call `step` or `run`, or iterate."""

    def __init__(
        self,
        task: Task,
        runner: PolicyRunner | None,
        settings: Settings,
        seed: int,
        *,
        pool: Pool | None = None,
        max_steps: int | None = DEFAULT_MAX_STEPS,
    ) -> None:
        """With a pool, continue after its last iteration; everything else must be as when the pool was made."""
        _check(task, runner, settings, seed)
        self.task = task
        self.runner = runner
        self.settings = settings
        self.max_steps = max_steps  # of a run
        self.seed = seed
        self.pool = Pool.of(task) if pool is None else pool
        if self.pool[0].state != task.initial_state:
            raise UsageError(
                "the pool does not begin with the initial state", hint="it is of another task"
            )
        self.parts = parts_that_fit(task, settings)
        for text in self.parts.remarks:
            self.pool.remark(text)
        self._recall_smoothing()
        self.graph = _core.PolicyGraph(task) if runner is None else runner.graph
        self.walks = make_walks(self.graph, settings, self.parts)
        self._calls_before = 0 if runner is None else runner.policy_calls - self.pool.policy_calls
        self.ahead: Ahead | None = None
        if settings.needs_policy and runner is not None and likes_batches(runner):
            self.ahead = Ahead(self, runner)
        self.ids = [self._id(entry) for entry in self.pool]
        self._found_in = [entry.iteration for entry in self.pool]
        self._members = set(self.ids)
        self.novelty = None
        if self.settings.novelty:
            self.novelty = _core.NoveltyStore(self.task, self.settings.novelty)
            for entry in self.pool:
                self.novelty.insert(entry.state)

    def _id(self, entry: PoolEntry) -> int:
        return int(self.graph.add(np.array([entry.state.values], dtype=np.int32))[0])

    # -- the outer loop ---------------------------------------------------------------------------

    @abstractmethod
    def start(self, random: _core.CounterRandom, size: int) -> Start:
        """Draw where a walk starts, if the pool has so many states."""

    @abstractmethod
    def biased_walk(
        self, start: int, length: int, random: _core.CounterRandom, share: float
    ) -> Walking:
        """A walk from a state of the policy graph; `share` of the choices are uniform."""

    @abstractmethod
    def unbiased_walk(self, start: int, length: int, random: _core.CounterRandom) -> Found:
        """A walk without asking the policy."""

    def walk(self, start: int, drawn: Start, random: _core.CounterRandom, share: float) -> Walking:
        if drawn.is_biased:
            return (yield from self.biased_walk(start, drawn.length, random, share))
        return self.unbiased_walk(start, drawn.length, random)

    @abstractmethod
    def look_around(self, id: int) -> tuple[Ids, Walking]:
        """The successors of a state, and the runs from them that a bias may look at."""

    def runs(self, ids: Ids, max_steps: int | None) -> Walking:
        """Wait until the runs from these states are known."""
        runs = _core.LockstepRuns(self.graph, ids, max_steps)
        while len(pending := runs.advance()):
            yield pending
        return Found((), 0)

    def run_initial_state(self) -> None:
        """Run the policy from the initial state. Questions of walks go with it where the policy likes batches."""
        if self.ahead is not None:
            first = np.array(self.ids[:1], dtype=np.uint32)
            self.ahead.run(self.runs(first, self.max_steps))
        elif self.runner is not None:
            self.runner.run_ids(np.array(self.ids[:1], dtype=np.uint32), self.max_steps)

    def draws_bias(self, random: _core.CounterRandom) -> bool:
        """Whether a walk follows the bias. Draws nothing where all do, or none."""
        settings = self.settings
        if not settings.needs_policy:
            return False
        return settings.unbiased_share == 0 or random.real() >= settings.unbiased_share

    def stream(self, iteration: int) -> _core.CounterRandom:
        """The random numbers of an iteration."""
        return _core.CounterRandom(self.seed, iteration)

    def may_go_on(self, iteration: int, size: int) -> bool:
        """Whether there may be an iteration with this number, with so many states in the pool."""
        last = self.settings.max_iterations
        return size < self.settings.max_states and (last is None or iteration < last)

    def starts(self, iteration: int) -> int:
        """How many states of the pool the walk of an iteration may start from."""
        return max(1, bisect_right(self._found_in, iteration - self.settings.walks))

    def share(self, iteration: int) -> float:
        """How many of the choices of a walk are uniform."""
        smoothed_at = self.pool.smoothed_at
        is_smooth = smoothed_at is not None and iteration >= smoothed_at
        return self.settings.min_weight if is_smooth else 0.0

    def iterate(self) -> None:
        """Do one iteration: a walk, and its result goes to the pool. An interruption changes nothing."""
        iteration = self.pool.iterations
        if self.ahead is None:
            random = self.stream(iteration)
            drawn = self.start(random, self.starts(iteration))
            walking = self.walk(self.ids[drawn.reference], drawn, random, self.share(iteration))
            found = self._alone(walking)
        else:
            drawn, found = self.ahead.walk(iteration)
        self.take(drawn, found)
        if self.ahead is not None:
            self.ahead.done(iteration, found)

    def _alone(self, walking: Walking) -> Found:
        while True:
            try:
                pending = next(walking)
            except StopIteration as end:
                found: Found = end.value
                return found
            assert self.runner is not None
            self.runner.ask(pending)

    def take(self, drawn: Start, found: Found) -> None:
        """Put what a walk has found into the pool."""
        pool = self.pool
        pool.walk_steps += found.steps
        pool.run_steps += found.run_steps
        if found.cut_weights:
            self._count_cuts(found.cut_weights)
        if not found.offers:
            pool.discarded += 1
        for offer in found.offers:
            # P22 may offer several states, of which only some may fit in.
            if len(pool) < self.settings.max_states:
                self.offer(offer, drawn.reference)

    def _count_cuts(self, fresh: int) -> None:
        limit = f"the limit of {self.parts.evaluations:,} evaluations"
        about = f"{limit} cut searches for h*, whose lower bounds stand in;"
        self.pool.cut_weights += fresh
        self.pool.remark(
            f"{about} weights that rest on them: {self.pool.cut_weights:,}", replacing=about
        )

    def step(self) -> bool:
        """Do an iteration. False, and nothing done, if the fuzzer is finished."""
        if self.finished():
            return False
        pool = self.pool
        self.iterate()
        pool.iterations += 1
        if self.runner is not None:
            pool.policy_calls = self.runner.policy_calls - self._calls_before
        return True

    def __iter__(self) -> Iterator[Pool]:
        while self.step():
            yield self.pool

    def run(self, progress: Callable[[Pool], None] | None = None) -> Pool:
        """Run until finished. The progress callback gets the pool a few times a second."""
        limit = self.settings.time_limit
        began = last = perf_counter()
        while self.step():
            now = perf_counter()
            if progress is not None and now - last >= PROGRESS_EVERY:
                last = now
                progress(self.pool)
            if limit is not None and now - began >= limit and not self.finished():
                self.pool.remark(
                    f"the time limit of {limit:g} seconds ended the fuzzing with "
                    f"{len(self.pool)} of {self.settings.max_states} states"
                )
                break
        return self.pool

    def finished(self) -> bool:
        pool, settings = self.pool, self.settings
        if len(pool.entries) >= settings.max_states:
            return True
        if pool.iterations == 0 and self._hopeless():
            return True
        if settings.max_iterations is not None and pool.iterations >= settings.max_iterations:
            return self._stopped(f"{pool.iterations} iterations were allowed")
        if pool.idle() < settings.patience:
            return False
        if self._may_smooth():
            self._smooth(pool[-1].iteration, len(pool))
            return False
        return self._stopped(self._idle())

    def _idle(self) -> str:
        return f"no new state in {self.settings.patience} iterations in a row"

    def _may_smooth(self) -> bool:
        settings = self.settings
        return self.pool.smoothed_at is None and settings.needs_policy and settings.min_weight > 0

    def _smooth(self, last: int, states: int) -> None:
        """The last new state came in that iteration. Walks that were under way when patience ended stay as they are."""
        iteration = last + self.settings.patience + self.settings.walks
        self.pool.smoothed_at = iteration
        self.pool.remark(
            f"{self._idle()}, at {states} states: from iteration {iteration} on "
            f"{self.settings.min_weight:.0%} of the choices are uniform"
        )

    def _recall_smoothing(self) -> None:
        """A pool that was stored as its entries does not say when the choice was smoothed, but where it was idle."""
        if not self._may_smooth():
            return
        for states, (before, after) in enumerate(pairwise(self.pool), 1):
            if after.iteration - before.iteration > self.settings.patience:
                self._smooth(before.iteration, states)
                return

    def _hopeless(self) -> bool:
        if self.task.is_goal(self.task.initial_state):
            return self._stopped("the initial state is a goal")
        if self.task.operator_count == 0:
            return self._stopped("the task has no operators")
        return False

    def _stopped(self, why: str) -> bool:
        self.pool.remark(f"{why}: stopped at {len(self.pool)} of {self.settings.max_states} states")
        return True

    # -- the pool ---------------------------------------------------------------------------------

    def would_join(self, found: Found) -> Iterator[int]:
        """States that would join the pool as it is now."""
        for id, _ in found.offers:
            is_new = id not in self._members
            if is_new and (self.novelty is None or self.novelty.is_novel(self.graph.state(id))):
                yield id

    def offer(self, offer: Offer, reference: int) -> None:
        """Add a state to the pool if it is new, and novel enough."""
        pool = self.pool
        id, walk = offer
        if id in self._members:
            pool.duplicates += 1
            return
        state = self.graph.state(id)
        if self.novelty is not None:
            if not self.novelty.is_novel(state):
                pool.rejected += 1
                return
            self.novelty.insert(state)
            if self.novelty.full:
                pool.remark(
                    f"the novelty filter is full: it keeps {self.novelty.tuples:,} tuples of facts, and "
                    "states that come later may be less new than asked for"
                )
        pool.entries.append(PoolEntry(state, reference, walk, pool.iterations))
        self.ids.append(id)
        self._found_in.append(pool.iterations)
        self._members.add(id)


def _check(task: Task, runner: PolicyRunner | None, settings: Settings, seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}", expected="0 to 2^64 - 1")
    if runner is None and settings.needs_policy:
        raise UsageError(f"the bias {settings.bias} needs a policy")
    if runner is not None and runner.task is not task:
        raise UsageError("the policy is of another task")


__all__ = ["Fuzzer"]
