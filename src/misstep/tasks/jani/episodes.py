"""Episodes on a model for learners: reset to a start state, choose labels, get the next states and rewards.

Outcomes are drawn by the model's probabilities, where edges of the same label are equally likely; or uniformly from the
distinct ones, so that a rare accident happens often enough to be learnt from. Episodes end as everywhere in Misstep:
unsafe first, then goal, then dead end. If only the environment can move, it does, so that a learner is asked only where
it has a choice.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom, JaniEngine
from misstep.errors import UsageError
from misstep.tasks.jani.task import JaniTask

End = Literal["", "unsafe", "goal", "dead_end"]  # "": the episode continues
START_TRIES = 1000
MOST_ALONE = 1000  # moves of the environment in a row: it may cycle
SAME = 1e-12  # probabilities that differ by rounding


@dataclass(frozen=True)
class Rewards:
    """The reward for the state that a step leads to; `step` if it is not unsafe, a goal or a dead end."""

    goal: float = 100.0
    unsafe: float = -100.0
    dead_end: float = -10.0
    step: float = -0.1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                raise UsageError(f"the reward {name} is {value!r}", expected="a finite number")

    def of(self, end: End) -> float:
        return cast(float, getattr(self, end or "step"))

    @property
    def scale(self) -> float:
        """The largest absolute value of them; 1 if all are zero."""
        return max(map(abs, asdict(self).values())) or 1.0


class Step(NamedTuple):
    state: int  # its id
    reward: float
    end: End


class Episodes:
    """Runs episodes on its own engine, by state ids."""

    def __init__(
        self, task: JaniTask, rewards: Rewards | None = None, *, uniform_outcomes: bool = False
    ) -> None:
        self.task = task
        self.uniform_outcomes = uniform_outcomes
        self.rewards = Rewards() if rewards is None else rewards
        self.engine: JaniEngine = task.new_engine()
        self.label_count = len(task.labels)

    def start(self, random: CounterRandom) -> int:
        """A start state where some label applies."""
        for _ in range(START_TRIES):
            state = self._settled(self.engine.sample_initial(random), random)
            if not self.engine.is_terminal(state):
                return state
        raise UsageError(
            f"{START_TRIES} start states were all unsafe, goals or dead ends",
            where=self.task.name,
            expected="start states where a label applies",
        )

    def step(self, state: int, label: int, random: CounterRandom) -> Step:
        """Takes a label, which must be applicable."""
        outcomes = self.engine.outcomes(state, label)
        if not outcomes:
            raise UsageError(
                f"{self.task.labels[label]} is not applicable",
                where=f"state {self.engine.text(state)}",
            )
        after = self._settled(self._after(state, label, outcomes, random), random)
        end = self.end_of(after)
        return Step(after, self.rewards.of(end), end)

    def _settled(self, state: int, random: CounterRandom) -> int:
        """Lets the environment move until the learner has a choice or the episode ends."""
        engine, alone = self.engine, self.engine.environment_label
        for _ in range(0 if alone < 0 else MOST_ALONE):
            if engine.is_terminal(state) or engine.applicable(state) != [alone]:
                break
            state = self._after(state, alone, engine.outcomes(state, alone), random)
        return state

    def _after(self, state: int, label: int, outcomes: list[int], random: CounterRandom) -> int:
        return outcomes[0] if len(outcomes) == 1 else self._draw(state, label, outcomes, random)

    def _draw(self, state: int, label: int, outcomes: list[int], random: CounterRandom) -> int:
        if not self.uniform_outcomes:
            chances = self.engine.probabilities(state, label)
            if max(chances) - min(chances) > SAME:
                return outcomes[_position(chances, random.real())]
        return outcomes[random.below(len(outcomes))]

    def end_of(self, state: int) -> End:
        if not self.engine.is_terminal(state):
            return ""
        if self.engine.is_unsafe(state):
            return "unsafe"
        return "goal" if self.engine.is_goal(state) else "dead_end"

    def mask(self, state: int) -> NDArray[np.bool_]:
        """Which labels apply."""
        mask = np.zeros(self.label_count, dtype=np.bool_)
        mask[self.engine.applicable(state)] = True
        return mask


def _position(chances: list[float], drawn: float) -> int:
    for i, chance in enumerate(chances):
        drawn -= chance
        if drawn < 0:
            return i
    return len(chances) - 1  # rounding may leave a little


__all__ = ["End", "Episodes", "Rewards", "Step"]
