"""Deep Q-learning on a task, with checkpoints.

Episodes run side by side on the native engine. Each step goes into the replay buffer; the network learns from
random samples of it, and a slow copy of the network, the target, values the states. Inapplicable labels are excluded
everywhere: in the choice of a label, also in a random one, and in the value of the next state.

All random numbers come from the seed, by counters and generators whose positions are kept with the state. So the same
seed gives the same networks on one machine, and an interrupted training continues as if it had not been interrupted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import CounterRandom
from misstep.errors import InputFormatError, Interrupted, UsageError
from misstep.policies.networks.mlp import MlpWeights, mlp_network
from misstep.policies.networks.network import choose
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.environments import Environments, Masks, Rows, Transitions, usable
from misstep.training.qlearning.evaluate import evaluate, spread
from misstep.training.qlearning.folder import GIVEN, INIT, STARTS, QFolder
from misstep.training.qlearning.guard import Guard
from misstep.training.qlearning.interruption import noticed
from misstep.training.qlearning.learner import Learner
from misstep.training.qlearning.replay import Replay
from misstep.training.qlearning.settings import QSettings
from misstep.training.qlearning.start_network import in_units_of, read_start_network
from misstep.training.resumable import Arrays
from misstep.training.settings import require_same
from misstep.training.stored import MOST, damaged
from misstep.training.threads import one_thread

Report = Callable[[dict[str, Any]], None]  # gets each line of the log
# Streams of random numbers.
WALKS, EXPLORING = 1, 2
WALK_STEPS = 200  # of each walk, to see how far inputs spread
WALKS_AT_MOST = 64


@dataclass(frozen=True)
class QSummary:
    steps: int
    updates: int
    checkpoints: int
    best: str  # interface file
    last: str
    test: dict[str, Any]  # of the best
    stopped: bool  # since it was good enough
    seconds: float


def train(
    task: JaniTask,
    out: Path,
    settings: QSettings | None = None,
    *,
    starts: Sequence[State] = (),
    init: Path | None = None,
    device: str = "cpu",
    report: Report | None = None,
) -> QSummary:
    """A new training in a folder. Raises `Interrupted` on Ctrl-C, after storing everything.

    `starts` are states where the share `start_ratio` of the episodes begins. `init` is the interface of a network to
    begin with; its layers and the variables it does not see replace those in the settings.
    """
    settings = settings or QSettings()
    weights = None
    if init is not None:
        weights, ignored = read_start_network(init, task)
        settings = replace(settings, hidden=tuple(weights.sizes[1:-1]), ignore=ignored)
        weights = in_units_of(weights, settings.rewards.scale)
    columns = columns_of(task, settings)
    begins_in = usable(task, starts)
    described = {
        "task": task.digest,
        "model": task.name,
        **settings.as_dict(),
        GIVEN: {"starts": len(begins_in), "init": weights is not None},
    }

    def prepare(folder: QFolder) -> None:
        inputs = [task.variable_names[i] for i in columns]
        folder.write_given(begins_in, weights, inputs, task.labels)

    with QFolder.create(out, described, prepare) as folder, one_thread():
        return _Training(task, settings, folder, device).run(report)


def resume(
    task: JaniTask,
    out: Path,
    *,
    steps: int | None = None,
    asked: QSettings | None = None,
    device: str = "cpu",
    report: Report | None = None,
) -> QSummary:
    """Continue a training, possibly for more steps than it was begun with.

    Its other settings are those it was begun with. It is an error to ask for others (`asked`).
    """
    with QFolder.open_folder(out) as folder, one_thread():
        if folder.settings.get("task") != task.digest:
            raise UsageError(
                f"this training is about another task, {folder.settings.get('model')}",
                where=str(out),
                expected=f"a training of {task.name}",
            )
        _require_given(folder)
        settings = QSettings.from_dict(folder.settings, str(out))
        begun = QSettings.from_dict(folder.settings.get("begun", folder.settings), str(out))
        if asked is not None:
            given = replace(asked, steps=begun.steps)
            require_same(begun.as_dict(), given.as_dict(), QSettings().as_dict(), str(out))
        if steps is not None and steps != settings.steps:
            # The schedules stay as they were begun.
            until = settings.epsilon_steps or max(1, settings.steps // 2)
            each = _interval(settings)
            settings = replace(
                settings, steps=steps, epsilon_steps=until, checkpoints=max(1, steps // each)
            )
            folder.settings |= {**settings.as_dict(), "begun": begun.as_dict()}
            folder.write_settings()
        training = _Training(task, settings, folder, device)
        training.restore()
        return training.run(report)


def _require_given(folder: QFolder) -> None:
    """The files that the training was given; without them it would continue differently."""
    given = folder.settings.get(GIVEN)
    given = given if isinstance(given, dict) else {}
    for key, names in (("starts", [STARTS]), ("init", INIT)):
        for name in names:
            if given.get(key) and not (folder.path / name).exists():
                raise InputFormatError(
                    f"the training was stopped before it began: it has no {name}",
                    where=str(folder.path),
                    hint="start again in another folder",
                )


def columns_of(task: JaniTask, settings: QSettings) -> list[int]:
    """The variables that the policy sees."""
    unknown = sorted(set(settings.ignore) - set(task.variable_names))
    if unknown:
        raise UsageError(
            f"the model has no variable {unknown[0]}",
            where=task.name,
            hint="variables: " + ", ".join(task.variable_names[:20]),
        )
    columns = [i for i, name in enumerate(task.variable_names) if name not in settings.ignore]
    if not columns:
        raise UsageError("the policy would see no variable at all", where=task.name)
    return columns


def _interval(settings: QSettings) -> int:
    return max(1, settings.steps // settings.checkpoints)


class _Training:
    def __init__(self, task: JaniTask, settings: QSettings, folder: QFolder, device: str) -> None:
        self.task, self.settings, self.folder = task, settings, folder
        self.columns = columns_of(task, settings)
        self.inputs = [task.variable_names[i] for i in self.columns]
        self.sampling = np.random.default_rng(settings.seed)
        self.exploring = CounterRandom(settings.seed, EXPLORING)
        with damaged(
            str(folder.path / STARTS)
        ):  # an episode cannot begin where nothing can be done
            self.starts = usable(task, folder.read_starts())
        mean, range = spread(self._walk())
        self.learner = Learner(
            settings, mean, range, len(task.labels), self.sampling, device, self._init()
        )
        self.replay = Replay(settings.replay, len(self.columns), len(task.labels))
        self.environments = self._environments(self.exploring, settings.environments)
        self.step = self.updates = self.episodes = 0
        self.loss, self.losses = 0.0, 0  # since the last checkpoint
        self.seconds = 0.0
        self.began = monotonic()
        self.guard: Guard | None = None

    def _init(self) -> MlpWeights | None:
        """The network that the training began with; the folder has it, so that it can be begun again."""
        file = self.folder.path / INIT[1]
        if not self.folder.has_given("init", file):
            return None
        weights, _ = read_start_network(file, self.task)
        return in_units_of(weights, self.settings.rewards.scale)

    def _environments(self, random: CounterRandom, count: int) -> Environments:
        own = self.settings
        return Environments(
            self.task,
            own.rewards,
            self.columns,
            count=count,
            horizon=own.horizon,
            random=random,
            uniform_outcomes=own.uniform_outcomes,
            starts=self.starts,
            ratio=own.start_ratio,
        )

    def _walk(self) -> Rows:
        """What random walks see."""
        random = CounterRandom(self.settings.seed, WALKS)
        environments = self._environments(random, min(self.settings.environments, WALKS_AT_MOST))
        seen = []
        for _ in range(WALK_STEPS):
            seen.append(environments.observations())
            masks = environments.masks()
            environments.step([_any(mask, random) for mask in masks])
        return np.concatenate(seen)

    # -- the loop ---------------------------------------------------------------------------------

    def run(self, report: Report | None) -> QSummary:
        own = self.settings
        stopped = bool(self.folder.lines) and self._good_enough()
        with noticed() as stop:
            while self.step < own.steps and not stopped:
                if stop():
                    self._interrupted()
                before = self.step
                self._step()
                for _ in range(self.step // own.update_every - before // own.update_every):
                    if self.replay.added >= own.warm_up:
                        self._learn()
                each = _interval(own)
                if self.step // each > before // each or self.step >= own.steps:
                    line = self._checkpoint()
                    if report is not None:
                        report(line)
                    stopped = self._good_enough()
        if (
            not self.folder.lines
        ):  # resumed for fewer steps than were made before the first checkpoint
            self._checkpoint()
        return self._summary(stopped)

    def _step(self) -> None:
        rows, masks = self.environments.observations(), self.environments.masks()
        values = self.learner.values(rows)
        wanted = choose(values, masks).astype(np.int64)
        labels = wanted.copy()
        if self.settings.shield:
            masks = self._allowed(masks)
            labels = choose(values, masks).astype(np.int64)
        epsilon = self.settings.epsilon(self.step)
        for i, mask in enumerate(masks):
            if self.exploring.real() < epsilon:
                labels[i] = _any(mask, self.exploring)
        if self.settings.shield:
            self._learn_refusals(rows, masks, wanted)
        self.replay.add(rows, labels, self.environments.step(labels.tolist()))
        self.step += len(labels)

    def _allowed(self, masks: Masks) -> Masks:
        engine = self.environments.episodes.engine
        if self.guard is None or self.guard.engine is not engine:
            self.guard = Guard(self.task, engine)
        return self.guard.masks(self.environments.states, masks)

    def _learn_refusals(self, rows: Rows, allowed: Masks, wanted: NDArray[np.int64]) -> None:
        """A label that the shield refused counts as a step into an unsafe state."""
        refused = np.flatnonzero(~allowed[np.arange(len(wanted)), wanted])
        if len(refused):
            count = len(refused)
            reward = np.full(count, self.settings.rewards.unsafe, np.float32)
            step = Transitions(rows[refused], allowed[refused], reward, np.ones(count, np.bool_))
            self.replay.add(rows[refused], wanted[refused], step)

    def _learn(self) -> None:
        batch = self.replay.sample(self.settings.batch_size, self.sampling)
        self.loss += self.learner.update(batch)
        self.losses += 1
        self.updates += 1

    def _good_enough(self) -> bool:
        limit = self.settings.stop_at
        return limit is not None and bool(self.folder.lines[-1]["test"]["goal_rate"] >= limit)

    # -- what is kept -----------------------------------------------------------------------------

    def _checkpoint(self) -> dict[str, Any]:
        own = self.settings
        weights = self.learner.weights()
        network = mlp_network(weights)
        tally, self.environments.tally = self.environments.tally, type(self.environments.tally)()
        self.episodes += tally.episodes
        line = {
            "step": self.step,
            "updates": self.updates,
            "episodes": self.episodes,
            "epsilon": round(own.epsilon(self.step), 6),
            "loss": round(self.loss / max(1, self.losses), 9),
            "train": tally.summary(),
            "test": evaluate(
                self.task,
                network,
                self.columns,
                episodes=own.episodes,
                horizon=own.horizon,
                seed=own.seed,
                rewards=own.rewards,
                uniform_outcomes=own.uniform_outcomes,
            ),
            "network": f"checkpoints/{self.step:09}.jani2nnet",
            "seconds": round(self._elapsed(), 3),
        }
        self.loss, self.losses = 0.0, 0
        best = max((rating(old) for old in self.folder.lines), default=None)
        names = [f"checkpoints/{self.step:09}", "last"]
        if best is None or rating(line) > best:
            names.append("best")
        for name in names:
            self.folder.write_network(name, weights, self.inputs, self.task.labels)
        self.folder.add_line(line)
        self._keep_state()
        return line

    def _keep_state(self) -> None:
        rest = {
            "step": self.step,
            "updates": self.updates,
            "episodes": self.episodes,
            "loss": self.loss,
            "losses": self.losses,
            "seconds": self._elapsed(),
            "added": self.replay.added,
            "sampling": self.sampling.bit_generator.state,
            "environments": self.environments.snapshot(),
        }
        self.folder.write_state({**self.learner.arrays(), **self.replay.arrays()}, rest)

    def _interrupted(self) -> None:
        weights = self.learner.weights()
        last = self.folder.write_network("last", weights, self.inputs, self.task.labels)
        self._keep_state()
        raise Interrupted(
            f"stopped by the user after {self.step:,} steps; all is kept",
            where=str(last.parent),
            hint="--resume continues",
        )

    def restore(self) -> None:
        found = self.folder.read_state()
        if found is None:
            return
        arrays, rest = found
        where = str(self.folder.path / "state.npz")
        with damaged(where):
            self._restore(arrays, rest, where)

    def _restore(self, arrays: Arrays, rest: dict[str, Any], where: str) -> None:
        own = self.settings
        counts = ("step", "updates", "episodes", "losses", "added")
        if any(type(rest[name]) is not int or not 0 <= rest[name] < MOST for name in counts):
            raise ValueError("a count is not one")
        if any(not math.isfinite(rest[name]) for name in ("loss", "seconds")):
            raise ValueError("a number is not finite")
        if not all(map(_has_test, self.folder.lines)):
            raise ValueError("a line of the log has no test")
        self.learner.restore(arrays, rest["updates"], where)
        self.replay.restore(arrays, rest["added"])
        self.replay.check()
        self.sampling.bit_generator.state = rest["sampling"]
        counter = rest["environments"]["random"]
        self.exploring = CounterRandom(own.seed, EXPLORING, counter)
        self.environments = self._environments(CounterRandom(own.seed, WALKS), own.environments)
        self.environments.restore(rest["environments"])
        self.environments.check(own.environments)
        self.environments.random = self.exploring
        for name in ("step", "updates", "episodes", "loss", "losses", "seconds"):
            setattr(self, name, rest[name])

    def _elapsed(self) -> float:
        return self.seconds + monotonic() - self.began

    def _summary(self, stopped: bool) -> QSummary:
        lines = self.folder.lines
        best = max(lines, key=rating)
        path = self.folder.path
        return QSummary(
            steps=self.step,
            updates=self.updates,
            checkpoints=len(lines),
            best=str(path / "best.jani2nnet"),
            last=str(path / "last.jani2nnet"),
            test=json.loads(json.dumps(best["test"])),
            stopped=stopped,
            seconds=round(self._elapsed(), 3),
        )


def _has_test(line: dict[str, Any]) -> bool:
    """Whether a line of the log can be compared with others."""
    return all(type(own) in (int, float) and math.isfinite(own) for own in rating(line))


def rating(line: dict[str, Any]) -> tuple[float, float, float]:
    """The order of checkpoints: goals first, then safety, then the return."""
    test = line["test"]
    return test["goal_rate"], -test["unsafe_rate"], test["return"]


def _any(mask: np.ndarray[Any, np.dtype[np.bool_]], random: CounterRandom) -> int:
    labels = np.flatnonzero(mask)
    return int(labels[random.below(len(labels))])


__all__ = ["QSummary", "columns_of", "rating", "resume", "train"]
