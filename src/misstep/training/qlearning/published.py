"""The nine domains of safety tests at published sizes, with the settings of their trainings.

The sizes are those of the instances that others have published, where a domain of ours has one: 15 packages on 10
cells, 6 blocks of which 5 may lie on the table, the 3 by 3 puzzle, 4 jigs and 2 racks, 1,000 steps of control.

A policy does not see variables that cannot matter to it: the clock of control models, and counters of failures. If the
goal is too far away for random labels to find it, half of the episodes of a training begin in a pool of states closer
to the goal, the others in start states that are drawn once. Tests begin in start states only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from misstep.training.qlearning.settings import QSettings

Pool = Callable[[JaniTask, CounterRandom], list[State]]
POOL_STREAM = 11  # of random numbers
POOL_SIZE = 1000
WALKS, LONGEST_WALK = 8000, 40


@dataclass(frozen=True)
class Domain:
    """A model, how much of it a policy sees, and how long it takes to learn."""

    name: str
    options: dict[str, Any]
    steps: int
    horizon: int
    weight: float  # share of the time of a sweep
    ignore: tuple[str, ...] = ()  # variables, by the beginnings of their names
    epsilon_steps: int = 150_000
    episodes: int = 100  # of the test of a checkpoint
    checkpoints: int = 40
    seeds: int = 1
    pool: Pool | None = None
    replay: int = 10_000
    epsilon_last: float = 0.05
    stop_at: float | None = None  # goal rate in a test

    def model_text(self) -> str:
        return generate_model(self.name, **self.options).text

    def generate_command(self) -> str:
        flags = [
            f"--{key.replace('_', '-')}" + ("" if value is True else f" {value}")
            for key, value in self.options.items()
        ]
        return " ".join(["misstep generate", self.name, *flags, "-o model.jani"])

    def ignored(self, task: JaniTask) -> tuple[str, ...]:
        return tuple(
            name for name in task.variable_names if name.startswith(self.ignore or ("\0",))
        )

    def settings(
        self, task: JaniTask, width: int, seed: int, steps: int | None = None
    ) -> QSettings:
        return QSettings(
            hidden=(width, width),
            steps=steps or self.steps,
            seed=seed,
            horizon=self.horizon,
            checkpoints=self.checkpoints,
            episodes=self.episodes,
            epsilon_steps=min(self.epsilon_steps, steps or self.steps),
            ignore=self.ignored(task),
            start_ratio=1.0,
            replay=self.replay,
            epsilon_last=self.epsilon_last,
            stop_at=self.stop_at,
        )

    def starts(self, task: JaniTask) -> list[State]:
        """The pool where episodes begin; empty if drawing a start state is cheap."""
        return [] if self.pool is None else self.pool(task, CounterRandom(0, POOL_STREAM))


def sampled(task: JaniTask, random: CounterRandom, count: int = POOL_SIZE) -> list[State]:
    return [task.sample_initial(random) for _ in range(count)]


def near_puzzle(task: JaniTask, random: CounterRandom) -> list[State]:
    size = sum(name.startswith("tile_") for name in task.variable_names)
    solved = {"empty": size, **{f"tile_{k}": k - 1 for k in range(1, size + 1)}}
    return _around(task, solved, random)


def near_tower(task: JaniTask, random: CounterRandom) -> list[State]:
    """The tower of blocks is built when each one stands on the one before."""
    size = sum(name.startswith("on_") for name in task.variable_names)
    solved = {"on_0": size, f"clear_{size - 1}": 1, "hand_empty": 1, "table": 1}
    solved |= {f"on_{i}": i - 1 for i in range(1, size)}
    return _around(task, solved | {f"height_{i}": i for i in range(size)}, random)


def along_the_line(task: JaniTask, random: CounterRandom, *, near: bool = False) -> list[State]:
    """A standing truck anywhere, with packages delivered, on board, and on cells that it has not passed yet.

    All numbers of packages that are left are equally likely. With `near` each is drawn from numbers up to another one
    that is drawn, so that small ones, from which goals are near, come up more often.
    """
    names = task.variable_names
    cells = sum(name.startswith("load_") for name in names)
    found = []
    for start in sampled(task, random):
        values = zip(names, start, strict=True)
        total = int(sum(v for n, v in values if n.startswith(("load_", "cargo"))))
        place = random.below(cells)
        most = 1 + random.below(total) if near else total + 1
        left = 1 + random.below(most) if near else total - random.below(most)
        state = dict.fromkeys(names, 0) | {"pos": place, f"load_{cells - 1}": total - left}
        state["cargo"] = left if place == cells - 1 else random.below(left + 1)
        for _ in range(left - state["cargo"]):
            state[f"load_{place + random.below(cells - 1 - place)}"] += 1
        found += [start, tuple(state[name] for name in names)]
    return found


def _around(task: JaniTask, solved: Mapping[str, int], random: CounterRandom) -> list[State]:
    """As many states a few moves away from the goal as start states; variables not named are 0."""
    goal: State = tuple(solved.get(name, 0) for name in task.variable_names)
    if not task.is_goal(goal):
        raise UsageError("the state is no goal", where=task.text(goal))
    costs = [i for i, name in enumerate(task.variable_names) if name.startswith("cost_")]
    found: dict[State, None] = {}
    for _ in range(WALKS):
        state = goal
        for _ in range(1 + random.below(LONGEST_WALK)):
            state = _moved(task, state, costs, random)
        found[state] = None
    near = [state for state in found if not task.is_goal(state)]
    return near + sampled(task, random, len(near))


def _moved(task: JaniTask, state: State, costs: Iterable[int], random: CounterRandom) -> State:
    """A random move that does not fail and is not unsafe; no move if there is none."""
    after = []
    for label in task.applicable(state, raw=True):
        for outcome in task.outcomes(state, label, raw=True):
            values = list(outcome)
            for i in costs:
                values[i] = 0
            if tuple(values) != state and not task.is_unsafe(outcome):
                after.append(tuple(values))
    return after[random.below(len(after))] if after else state


_LINE = {"cells": 10, "packages": 15, "drop": True}
_BLOCKS = {"blocks": 6, "limit": 5, "max_cost": 12}
_PUZZLE = {"width": 3, "height": 3, "tile": 3, "cell": 7}
_BELUGA = {"racks": 2, "lines": "0,3/2,1", "swaps": 6}
_COSTS, _CLOCK = ("cost_", "height_"), ("t",)


def _control(name: str, horizon: int) -> Domain:
    """Control is learnt within seconds, so that early checkpoints are the interesting ones."""
    options, longest = {"horizon": horizon}, horizon + 10
    return Domain(name, options, 60_000, longest, 0.6, _CLOCK, 20_000, 50, 30, 3)


PUBLISHED: tuple[Domain, ...] = (
    Domain("one-way-line", _LINE, 1_000_000, 200, 2.5, pool=along_the_line),
    Domain(
        "two-way-line",
        _LINE,
        1_000_000,
        250,
        3.0,
        pool=partial(along_the_line, near=True),
        replay=50_000,
        epsilon_last=0.02,
    ),
    Domain("blocksworld-cost", _BLOCKS, 1_000_000, 150, 2.5, _COSTS, pool=near_tower),
    Domain("n-puzzle", _PUZZLE, 1_000_000, 150, 3.0, _COSTS, pool=near_puzzle, replay=50_000),
    Domain("beluga", _BELUGA, 600_000, 100, 1.5, epsilon_steps=100_000),
    _control("bouncing-ball", 1000),
    # Within 100 steps of learning the pendulum falls from no state any more: checkpoints are close, until that is so.
    replace(
        _control("inverted-pendulum", 1000), steps=6_000, checkpoints=120, seeds=6, stop_at=1.0
    ),
    _control("cartpole", 200),
    _control("follow-car", 1000),
)


def domain_of(name: str) -> Domain:
    for domain in PUBLISHED:
        if domain.name == name:
            return domain
    raise UsageError(
        f"no domain {name!r}", expected="one of " + ", ".join(own.name for own in PUBLISHED)
    )


__all__ = ["PUBLISHED", "Domain", "domain_of"]
