"""The settings of a training, which together with the task determine its result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from misstep.errors import UsageError
from misstep.tasks.jani.episodes import Rewards
from misstep.training.stored import check_form, damaged

MAX_WIDTH = 4096
MAX_LAYERS = 8


@dataclass(frozen=True)
class QSettings:
    """The constants of deep Q-learning are the usual ones of this kind of policy."""

    hidden: tuple[int, ...] = (64, 64)
    steps: int = 100_000  # of all environments together
    seed: int = 0
    environments: int = 16
    horizon: int = 1100  # a longer episode is cut; its last state does not count as an end
    replay: int = 10_000
    batch_size: int = 64
    warm_up: int = 1000  # steps before the first update
    update_every: int = 4
    gamma: float = 0.99
    tau: float = 0.005  # share of the network that the target takes over in an update
    learning_rate: float = 5e-4
    epsilon_first: float = 1.0
    epsilon_last: float = 0.05
    epsilon_steps: int = 0  # until the last one is reached; 0: half of the steps
    checkpoints: int = 20  # kept on the way
    episodes: int = 64  # of a test
    stop_at: float | None = None  # a goal rate in tests that is good enough
    ignore: tuple[str, ...] = ()  # variables that the policy does not see
    uniform_outcomes: bool = (
        False  # not by the model's probabilities: rare accidents come up more often
    )
    shield: bool = False  # take no label that may lead to a state that is not safe (guard.py)
    start_ratio: float = 0.5  # of episodes that begin in a given state, where such states are given
    rewards: Rewards = field(default_factory=Rewards)

    def __post_init__(self) -> None:
        widths = self.hidden
        if not 1 <= len(widths) <= MAX_LAYERS or not all(1 <= w <= MAX_WIDTH for w in widths):
            raise UsageError(
                f"hidden layers of {', '.join(map(str, widths)) or 'nothing'}",
                expected=f"1 to {MAX_LAYERS} sizes from 1 to {MAX_WIDTH}, such as 64,64",
            )
        self._require("environments", 1, 10**4)  # all of them make a step before Ctrl-C is noticed
        for name in ("horizon", "batch_size", "update_every", "checkpoints"):
            self._require(name, 1, 10**7)
        self._require("replay", self.batch_size, 10**8)
        self._require("warm_up", self.batch_size, self.replay)
        self._require("steps", 1, 10**12)
        self._require("episodes", 1, 10**6)
        self._require("epsilon_steps", 0, 10**12)
        self._require("seed", 0, 2**64 - 1)
        for name in ("gamma", "tau", "learning_rate", "epsilon_first", "epsilon_last"):
            self._require(name, 1e-12, 1.0)
        self._require("start_ratio", 0.0, 1.0)
        if self.stop_at is not None:
            self._require("stop_at", 0.0, 1.0)

    def _require(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not math.isfinite(value) or not low <= value <= high:
            raise UsageError(f"{name} is {value}", expected=f"from {low} to {high}")

    def epsilon(self, step: int) -> float:
        """How often a label is taken at random: falls by the same factor each step, then stays."""
        until = self.epsilon_steps or max(1, self.steps // 2)
        share = min(1.0, step / until)
        ratio = self.epsilon_last / self.epsilon_first
        return float(self.epsilon_first * ratio**share)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], where: str) -> QSettings:
        with damaged(where):
            check_form(document, cls())
            known = {own.name for own in fields(cls)}
            given = {name: value for name, value in document.items() if name in known}
            if "steps" not in given:  # the default would be hours of training that nobody asked for
                raise ValueError("the number of steps is missing")
            given["hidden"] = tuple(given["hidden"])
            given["ignore"] = tuple(given["ignore"])
            given["rewards"] = Rewards(**given["rewards"])
            return cls(**given)


__all__ = ["QSettings"]
