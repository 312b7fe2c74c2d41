"""Planning tasks as Gymnasium environments (extra `gym`), for learners of other packages.

Actions are the numbers of operators; `action_masks()` and `info["action_mask"]` say which ones apply. Observations are
flat (a vector of 0 and 1, one for each fact) or made of objects (rows of atoms); `misstep.tasks.observations` describes
their order.
Importing this module registers `misstep/Planning-v0`. Agents trained here are tested with `sb3:FILE.zip`.

The reward of a step is `goal_reward` (default: 1) if it reaches the goal, minus `cost_weight` (default: 0.01) times the
cost of the operator. An operator that does not apply counts as a step without effect and gives `inapplicable_reward`
(default: -0.1).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from misstep.errors import MissingDependencyError, UsageError
from misstep.tasks.actions import action_number
from misstep.tasks.observations import FlatFacts, ObjectAtoms
from misstep.tasks.task import State, Task

try:
    import gymnasium
except ImportError as error:
    raise MissingDependencyError(
        "environments need Gymnasium, which is not installed", hint="pip install 'misstep[gym]'"
    ) from error

ID = "misstep/Planning-v0"
HORIZON = 200
Observation: TypeAlias = NDArray[np.float32] | dict[str, NDArray[np.int32]]
Info: TypeAlias = dict[str, Any]


class PlanningEnv(gymnasium.Env):  # type: ignore[misc] # without the package it is Any
    """An environment. An episode ends at the goal or in a state without applicable operators, or at the horizon.

    It begins in the initial state, or, with `walk=N`, where a random walk of at most N steps from there ends.
    `info["end"]` says how an episode was terminated: `goal`, `stuck`, or None.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (of the base class)

    def __init__(
        self,
        task: Task,
        *,
        observation: Literal["flat", "objects"] = "flat",
        horizon: int = HORIZON,
        walk: int = 0,
        goal_reward: float = 1.0,
        cost_weight: float = 0.01,
        inapplicable_reward: float = -0.1,
        render_mode: str | None = None,
    ) -> None:
        if not isinstance(task, Task):
            raise UsageError(
                f"{task!r:.80} is not a planning task", expected="misstep.load_task(...)"
            )
        if observation not in ("flat", "objects"):
            raise UsageError(f"observation={observation!r}", expected="'flat' or 'objects'")
        if horizon < 1 or walk < 0:
            raise UsageError(
                f"horizon={horizon}, walk={walk}", expected="a positive number of steps"
            )
        self.task = task
        self.horizon = horizon
        self.walk = walk
        self.goal_reward = goal_reward
        self.cost_weight = cost_weight
        self.inapplicable_reward = inapplicable_reward
        self.render_mode = render_mode
        self._view = FlatFacts(task) if observation == "flat" else ObjectAtoms(task)
        self.observation_space = _space(self._view)
        self.action_space = gymnasium.spaces.Discrete(task.operator_count)
        self.state: State | None = None
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """`options={"state": ...}` starts in a state of your choice, a `State` or text such as "at(a, b), free(l)"."""
        super().reset(seed=seed)
        chosen = (options or {}).get("state")
        if isinstance(chosen, str):
            chosen = self.task.parse_state(chosen)
        self.state = self._start() if chosen is None else self._checked(chosen)
        self.steps = 0
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        if self.state is None:
            raise UsageError(
                "there is no episode yet", where=self.task.name, hint="call reset first"
            )
        operator = action_number(action, self.task.operator_count, "operator")
        self.steps += 1
        applies = bool(self.action_masks()[operator])
        reward = self.inapplicable_reward
        if applies:
            self.state = self.task.apply(self.state, operator)
            reward = -self.cost_weight * self.task.cost(operator)
        end = None
        if self.task.is_goal(self.state):
            end = "goal"
            # Where nothing happens, no goal is reached.
            reward += self.goal_reward if applies else 0.0
        elif not self.action_masks().any():
            end = "stuck"
        info = {**self._info(), "end": end, "applicable": applies}
        truncated = end is None and self.steps >= self.horizon
        return self._observation(), float(reward), end is not None, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The applicable operators, under the name that learners with masks use."""
        mask = np.zeros(self.task.operator_count, np.bool_)
        if self.state is not None:
            mask[self._applicable(self.state)] = True
        return mask

    def render(self) -> str | None:
        if self.render_mode != "ansi" or self.state is None:
            return None
        return ", ".join(self.task.facts(self.state))

    def _start(self) -> State:
        state = self.task.initial_state
        for _ in range(int(self.np_random.integers(self.walk + 1))):
            operators = self._applicable(state)
            if not len(operators):
                break
            after = self.task.apply(state, int(operators[self.np_random.integers(len(operators))]))
            if self.task.is_goal(after):
                break
            state = after
        return state

    def _checked(self, state: Any) -> State:
        """A state of another task would give observations that mean something else."""
        sizes = [len(names) for names in self.task.fact_names]
        own = list(state.values) if isinstance(state, State) else []
        if len(own) != len(sizes) or any(v >= size for v, size in zip(own, sizes, strict=True)):
            raise UsageError(
                f"this is no state of the task: {state!r:.80}",
                where=self.task.name,
                expected="a State of the task, or its text",
            )
        return state  # type: ignore[no-any-return]

    def _applicable(self, state: State) -> NDArray[np.int32]:
        return self.task.applicable_batch(np.array([state.values], np.int32))[1]

    def _observation(self) -> Observation:
        assert self.state is not None
        values = np.array(self.state.values, np.int32)
        if isinstance(self._view, FlatFacts):
            row: NDArray[np.float32] = self._view.rows(values[None])[0]
            return row
        view = self._view
        # Copies, because users may keep what they get.
        goals, types = view.goals.copy(), view.type_of.copy()
        return {"atoms": view.atoms(values), "goals": goals, "types": types}

    def _info(self) -> Info:
        return {"action_mask": self.action_masks().astype(np.int8)}


def _space(view: FlatFacts | ObjectAtoms) -> Any:
    """Of observations. Rows of atoms: predicate first, then objects."""
    box = gymnasium.spaces.Box
    if isinstance(view, FlatFacts):
        return box(0, 1, (view.size,), np.float32)
    high = max(len(view.predicates), len(view.objects))
    return gymnasium.spaces.Dict(
        {
            "atoms": box(-1, high, (view.rows, 1 + view.arity), np.int32),
            "goals": box(-1, high, (len(view.goals), 1 + view.arity), np.int32),
            "types": box(0, len(view.types), (len(view.objects),), np.int32),
        }
    )


def make_env(task: Task, **options: Any) -> PlanningEnv:
    """The environment of a task; options as of `PlanningEnv`."""
    return PlanningEnv(task, **options)


def register() -> None:
    """`gymnasium.make("misstep/Planning-v0", task=misstep.load_task(...))`."""
    if ID not in gymnasium.registry:
        gymnasium.register(ID, entry_point="misstep.tasks.gym:PlanningEnv")


register()

__all__ = ["ID", "PlanningEnv", "make_env", "register"]
