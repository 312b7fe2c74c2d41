"""JANI models as Gymnasium environments (extra `gym`), for learners of other packages.

Observations are the values of a state, actions are the labels by number; `info["action_mask"]` says which ones apply in
the state just reached. Outcomes are drawn as in `episodes`. `gymnasium.make("misstep.gym:misstep/Jani-v0", model=FILE)`
makes one without any import of ours; importing this module registers the plain id as well.

For safe learning there are `next_state_safety`, `safe_action`, `safe_actions` and `distance_to_unsafe`. With
`mask="safe"` the mask leaves only labels that are known to be safe, if there is one. With `safety=True` each `info`
tells about the state just reached: whether it is safe (`next_state_safety`: True, False, or None if unknown), a safe
action in it (`next_safe_action`, -1 if none is known) and `distance_to_unsafe`.
"""

from __future__ import annotations

import os
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.errors import MissingDependencyError, UsageError
from misstep.tasks.actions import action_number
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
Masks = Literal["applicable", "safe"]


class Lookahead(Protocol):
    """The interface of the safety analysis, by ids of the engine; `misstep.safety.lookahead` implements it."""

    def is_safe(self, state: int) -> bool | None: ...
    def label_is_safe(self, state: int, label: int) -> bool | None: ...
    def safe_labels(self, state: int) -> list[int]: ...
    def safe_label(self, state: int) -> int | None: ...


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
        mask: Masks = "applicable",
        safety: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if mask not in ("applicable", "safe"):
            raise UsageError(f"mask={mask!r}", expected="'applicable' or 'safe'")
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
        self.mask = mask
        self.safety = safety
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
        random = self._random()
        label = self._label(action)
        self.steps += 1
        applies = self.episodes.mask(self.state)[label]
        if applies or self.inapplicable == "error":
            after, reward, end = self.episodes.step(self.state, label, random)
            self.state = after
        else:
            reward, end = self.inapplicable_reward, self.episodes.end_of(self.state)
        info = {**self._info(), "end": end, "applicable": bool(applies)}
        truncated = not end and self.steps >= self.horizon
        return self._observation(), float(reward), bool(end), truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The mask, under the name that learners with masks look for.

        With `mask="safe"`, the labels that are known to be safe; where there is none, those that apply, because a
        mask that forbids everything has no meaning to a learner.
        """
        applicable = self.episodes.mask(self._begun())
        if self.mask == "applicable" or not applicable.any():
            return applicable
        safe = self.safe_actions()
        return safe if safe.any() else applicable

    # -- safety -----------------------------------------------------------------------------------

    @cached_property
    def lookahead(self) -> Lookahead:
        """Made on first use. It is imported by its name, because tasks come before safety in the order of imports."""
        module = import_module("misstep.safety.lookahead")
        found: Lookahead = module.Lookahead(self.task, self.episodes.engine)
        return found

    def is_safe(self) -> bool | None:
        """Whether some strategy avoids unsafe states from the present state on; None if that is not known."""
        return self.lookahead.is_safe(self._begun())

    def next_state_safety(self, action: Any) -> bool | None:
        """Whether every state that the action may lead to is safe; False also if it does not apply, None if unknown."""
        return self.lookahead.label_is_safe(self._begun(), self._label(action))

    def safe_actions(self) -> NDArray[np.bool_]:
        """The actions that are known to be safe, as a mask."""
        mask = np.zeros(len(self.task.labels), dtype=np.bool_)
        mask[self.lookahead.safe_labels(self._begun())] = True
        return mask

    def safe_action(self) -> int | None:
        """The safe action that keeps farthest from unsafe states; None if no action is known to be safe."""
        return self.lookahead.safe_label(self._begun())

    def distance_to_unsafe(self) -> float:
        """An estimate of the distance to unsafe states; 0 exactly if the measured condition holds."""
        return self.episodes.engine.distance(self._begun())

    def _begun(self) -> int:
        """The present state."""
        self._random()
        return self.state

    def _random(self) -> CounterRandom:
        if self.random is None:
            raise UsageError(
                "there is no episode yet", where=self.task.name, hint="call reset first"
            )
        return self.random

    def _label(self, action: Any) -> int:
        return action_number(action, len(self.task.labels), "label")

    @property
    def values(self) -> State:
        """The state, as everything else in Misstep takes it."""
        return self.episodes.engine.values(self._begun())

    def render(self) -> str | None:
        return self.episodes.engine.text(self._begun()) if self.render_mode == "ansi" else None

    def _observation(self) -> Observation:
        row: Observation = self.episodes.engine.matrix([self.state])[0]
        return row

    def _info(self) -> Info:
        info: Info = {"action_mask": self.action_masks().astype(np.int8)}
        if self.safety:
            action = self.safe_action()
            info["next_state_safety"] = self.is_safe()
            info["next_safe_action"] = -1 if action is None else action
            info["distance_to_unsafe"] = self.distance_to_unsafe()
        return info


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
