"""Many episodes side by side, so that the network is asked about a batch of states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.tasks.jani.episodes import Episodes, Rewards
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask

Rows = NDArray[np.float32]
Masks = NDArray[np.bool_]

# An engine stores all states. In models with real variables few states recur, so it is replaced now and then.
ENGINE_BYTES = 256 * 2**20


class Transitions(NamedTuple):
    """The result of a step of all environments: `after` has the states that it led to, also for ended episodes."""

    after: Rows
    after_masks: Masks
    rewards: NDArray[np.float32]
    terminal: NDArray[np.bool_]


@dataclass
class Tally:
    """Of episodes that ended."""

    episodes: int = 0
    total: float = 0.0  # of returns
    steps: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def add(self, total: float, steps: int, end: str) -> None:
        self.episodes += 1
        self.total += total
        self.steps += steps
        self.ends[end or "cut"] += 1

    def summary(self) -> dict[str, Any]:
        n = max(1, self.episodes)
        return {
            "episodes": self.episodes,
            "return": round(self.total / n, 6),
            "length": round(self.steps / n, 3),
            "goal_rate": round(self.ends["goal"] / n, 6),
            "unsafe_rate": round(self.ends["unsafe"] / n, 6),
            "dead_end_rate": round(self.ends["dead_end"] / n, 6),
        }


class Environments:
    """`columns` are the variables that are observed. `ratio` is the share of episodes that begin in one of `starts`."""

    def __init__(
        self,
        task: JaniTask,
        rewards: Rewards,
        columns: Sequence[int],
        *,
        count: int,
        horizon: int,
        random: CounterRandom,
        uniform_outcomes: bool = False,
        starts: Sequence[State] = (),
        ratio: float = 0.0,
    ) -> None:
        self.task = task
        self.rewards = rewards
        self.columns = list(columns)
        self.horizon = horizon
        self.random = random
        self.uniform_outcomes = uniform_outcomes
        self.starts, self.ratio = list(starts), ratio
        self.episodes = self._game()
        self.states = [self._start() for _ in range(count)]
        self.lengths = [0] * count
        self.returns = [0.0] * count
        self.tally = Tally()

    def _game(self) -> Episodes:
        return Episodes(self.task, self.rewards, uniform_outcomes=self.uniform_outcomes)

    def _start(self) -> int:
        """The start of an episode. If no states are given, no random number is used to choose between the kinds."""
        if self.starts and self.random.real() < self.ratio:
            chosen = self.starts[self.random.below(len(self.starts))]
            return self.episodes.engine.intern(chosen)
        return self.episodes.start(self.random)

    def observations(self) -> Rows:
        return self._rows(self.states)

    def masks(self) -> Masks:
        return self._masks(self.states)

    def step(self, labels: Sequence[int]) -> Transitions:
        """Take these labels; if an episode ends, another one begins."""
        after, rewards, terminal = [], [], []
        following = list(self.states)
        for i, label in enumerate(labels):
            step = self.episodes.step(self.states[i], label, self.random)
            after.append(step.state)
            rewards.append(step.reward)
            terminal.append(step.end != "")
            self.returns[i] += step.reward
            self.lengths[i] += 1
            following[i] = step.state
            if step.end or self.lengths[i] >= self.horizon:
                self.tally.add(self.returns[i], self.lengths[i], step.end)
                self.returns[i], self.lengths[i] = 0.0, 0
                following[i] = self._start()
        result = Transitions(
            self._rows(after),
            self._masks(after),
            np.array(rewards, dtype=np.float32),
            np.array(terminal, dtype=np.bool_),
        )
        self.states = following
        if self.episodes.engine.bytes > ENGINE_BYTES:
            self.restore(self.snapshot())
        return result

    def _rows(self, states: Sequence[int]) -> Rows:
        return self.episodes.engine.matrix(states)[:, self.columns].astype(np.float32)

    def _masks(self, states: Sequence[int]) -> Masks:
        masks = np.zeros((len(states), self.episodes.label_count), dtype=np.bool_)
        for row, state in enumerate(states):
            masks[row, self.episodes.engine.applicable(state)] = True
        return masks

    def snapshot(self) -> dict[str, Any]:
        """All that the rest of the episodes depends on, as JSON values."""
        values: list[State] = [self.episodes.engine.values(state) for state in self.states]
        return {
            "states": [list(state) for state in values],
            "lengths": list(self.lengths),
            "returns": list(self.returns),
            "tally": [
                self.tally.episodes,
                self.tally.total,
                self.tally.steps,
                dict(self.tally.ends),
            ],
            "random": self.random.counter,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from there, on a new engine; the caller has to restore the random numbers."""
        self.episodes = self._game()
        self.states = [self.episodes.engine.intern(state) for state in snapshot["states"]]
        self.lengths = list(snapshot["lengths"])
        self.returns = list(snapshot["returns"])
        episodes, total, steps, ends = snapshot["tally"]
        self.tally = Tally(episodes, total, steps, Counter(ends))

    def check(self, count: int) -> None:
        """Raise a `ValueError` unless so many episodes can go on from here, after `restore` from a file."""
        tally, engine = self.tally, self.episodes.engine
        if not count == len(self.states) == len(self.lengths) == len(self.returns):
            raise ValueError("there is not one state for each episode")
        if any(
            engine.is_terminal(state) or not len(engine.applicable(state)) for state in self.states
        ):
            raise ValueError("an episode that has ended goes on")
        whole = (*self.lengths, tally.episodes, tally.steps, *tally.ends.values())
        if any(type(own) is not int or own < 0 for own in whole):
            raise ValueError("a length of an episode is not a number")
        if not np.isfinite([*self.returns, tally.total]).all():
            raise ValueError("a return of an episode is not a number")


def usable(task: JaniTask, states: Sequence[State]) -> list[State]:
    """Those where there is something to do, each once."""
    engine = task.new_engine()
    ids = dict.fromkeys(engine.intern(state) for state in states)
    return [engine.values(id) for id in ids if not engine.is_terminal(id)]


__all__ = ["Environments", "Masks", "Rows", "Tally", "Transitions", "usable"]
