"""JANI models as Gymnasium environments (extra `gym`), for learners of other packages.

Observations are the values of a state, actions are the labels by number; `info["action_mask"]` says which ones apply in
the state just reached. Importing this module registers `misstep/Jani-v0`. Outcomes are drawn as in `episodes`.
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.errors import MissingDependencyError, UsageError
from misstep.tasks.jani.episodes import Episodes, Rewards
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask

try:
    import gymnasium
except ImportError as error:
    raise MissingDependencyError(
        "environments need Gymnasium, which is not installed", hint="pip install 'misstep[gym]'"
    ) from error

ID = "misstep/Jani-v0"
HORIZON = 1100
Observation: TypeAlias = NDArray[np.float64]
Info: TypeAlias = dict[str, Any]
Inapplicable = Literal["stay", "error"]


class JaniEnv(gymnasium.Env):  # type: ignore[misc] # without the package it is Any
    """An episode is terminated by an unsafe state, a goal or a dead end, and truncated at the horizon.

    A label that does not apply changes nothing but the number of steps and costs the reward `inapplicable_reward`;
    with `inapplicable="error"` it is an error. `info["end"]` says how an episode was terminated.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (of the base class)

    def __init__(
        self,
        model: str | os.PathLike[str] | JaniTask,
        *,
        property: str | os.PathLike[str] | None = None,
        parameters: dict[str, bool | int | float] | None = None,
        rewards: Rewards | None = None,
        horizon: int = HORIZON,
        inapplicable: Inapplicable = "stay",
        inapplicable_reward: float = -1.0,
        uniform_outcomes: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if inapplicable not in ("stay", "error"):
            raise UsageError(f"inapplicable={inapplicable!r}", expected="'stay' or 'error'")
        if horizon < 1:
            raise UsageError(f"the horizon is {horizon}", expected="a positive number of steps")
        if isinstance(model, JaniTask):
            if property is not None or parameters:
                raise UsageError("a task has its property and parameters already")
            self.task = model
        else:
            self.task = load_jani(model, property, parameters)
        self.episodes = Episodes(self.task, rewards, uniform_outcomes=uniform_outcomes)
        self.horizon = horizon
        self.inapplicable = inapplicable
        self.inapplicable_reward = inapplicable_reward
        self.render_mode = render_mode
        self.observation_space = observation_space(self.task)
        self.action_space = gymnasium.spaces.Discrete(len(self.task.labels))
        self.random: CounterRandom | None = None
        self.state = -1
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """`options={"state": ...}` starts in a state of your choice, as a tuple or as text such as "pos=3, vel=1"."""
        super().reset(seed=seed)
        if seed is not None or self.random is None:
            self.random = CounterRandom(int(self.np_random.integers(2**63)))
        chosen = (options or {}).get("state")
        if chosen is None:
            self.state = self.episodes.start(self.random)
        else:
            values: State = self.task.parse_state(chosen) if isinstance(chosen, str) else chosen
            self.state = self.episodes.engine.intern(values)
        self.steps = 0
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        if self.random is None:
            raise UsageError("no episode has begun", where=self.task.name, hint="call reset first")
        label = int(action)
        if not 0 <= label < len(self.task.labels):
            raise UsageError(f"there is no label {label}", expected=str(self.action_space))
        self.steps += 1
        applies = self.action_masks()[label]
        if applies or self.inapplicable == "error":
            after, reward, end = self.episodes.step(self.state, label, self.random)
            self.state = after
        else:
            reward, end = self.inapplicable_reward, self.episodes.end_of(self.state)
        info = {**self._info(), "end": end, "applicable": bool(applies)}
        truncated = not end and self.steps >= self.horizon
        return self._observation(), float(reward), bool(end), truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """By the name under which learners with masks look for it."""
        return self.episodes.mask(self.state)

    @property
    def values(self) -> State:
        """The state, as everything else in Misstep takes it."""
        return self.episodes.engine.values(self.state)

    def render(self) -> str | None:
        return self.episodes.engine.text(self.state) if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        row: Observation = self.episodes.engine.matrix([self.state])[0]
        return row

    def _info(self) -> Info:
        return {"action_mask": self.action_masks().astype(np.int8)}


def observation_space(task: JaniTask) -> gymnasium.spaces.Box:
    """The bounds of the variables; none where the model has none."""
    low = [-np.inf if v[2] is None else float(v[2]) for v in task.variables]
    high = [np.inf if v[3] is None else float(v[3]) for v in task.variables]
    return gymnasium.spaces.Box(np.array(low), np.array(high), dtype=np.float64)


def make_env(model: str | os.PathLike[str] | JaniTask, **options: Any) -> JaniEnv:
    """The environment of a model file or a task; options as of `JaniEnv`."""
    return JaniEnv(model, **options)


def register() -> None:
    """`gymnasium.make("misstep/Jani-v0", model="model.jani")`."""
    if ID not in gymnasium.registry:
        gymnasium.register(ID, entry_point="misstep.tasks.jani.gym:JaniEnv")


register()

__all__ = ["ID", "JaniEnv", "make_env", "observation_space", "register"]
