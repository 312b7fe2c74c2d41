"""Compute the risks of a model's initial states under a policy, in stages, so that an interruption keeps results.

First all states that the policy can reach are explored, which gives its risk; then all states that any strategy can
reach, which gives the least risk. Both together show the decisions that add risk. A stage that reaches a limit leaves
valid but wide intervals, and then the last stage draws random runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.decoding import parse_json
from misstep.errors import (
    BudgetLimitError,
    InputFormatError,
    TimeLimitError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.labels.policy import LabelPolicy
from misstep.ranges import bytes_of, check_limits, check_seed, check_whole
from misstep.runs.again import SAMPLE, require_declared, sampled
from misstep.safety.again import Said, require_function
from misstep.safety.jani import system_of
from misstep.safety.risk.intervals import (
    Interval,
    LikelyRun,
    RiskFault,
    RiskReport,
    Sample,
    StateRisk,
    mean,
)
from misstep.safety.risk.sampling import sample_risk
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State

OPEN, STOP = 4, 5  # kinds of states of a game
START_STEPS = 2**20  # of the search for start states
DRAWN_STARTS = 100  # where they cannot be listed
Progress = Callable[..., None] | None
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RiskSettings:
    steps: int | None = None  # get into an unsafe state within so many steps; None: ever
    precision: float = 1e-8  # how close the two ends shall come
    max_states: int = 5_000_000
    time_limit: float | None = None
    memory_limit_mb: int | None = None
    runs: int = 10_000  # of the sample, where the model is too large
    level: float = 0.99
    max_steps: int = 1_000  # of a run
    seed: int = 0
    faults: int = 20  # the largest ones are kept

    def __post_init__(self) -> None:
        for name, low in (("max_states", 1), ("runs", 0), ("max_steps", 1), ("faults", 0)):
            check_whole(name, getattr(self, name), low)
        if self.steps is not None:
            check_whole("steps", self.steps, 0)
        check_seed(self.seed)
        check_limits(time_limit=self.time_limit, memory_limit_mb=self.memory_limit_mb)
        for name in ("precision", "level"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(
                    f"{name} is {getattr(self, name)}", expected="a number between 0 and 1"
                )


@dataclass
class _Part:
    """What was explored, with bounds for each state."""

    space: _core.JaniGame
    game: _core.RiskGame
    low: Floats
    high: Floats
    limit: str
    best: NDArray[np.int64] | None = None

    def at(self, number: int) -> Interval:
        if number < 0:
            return Interval()
        return Interval(float(self.low[number]), float(self.high[number]))

    def of(self, id: int) -> Interval:
        return self.at(self.space.number(id))

    @property
    def closed(self) -> bool:
        return self.limit == "none" and not bool((self.game.kinds == OPEN).any())


class RiskAnalysis:
    def __init__(
        self,
        task: JaniTask,
        policy: LabelPolicy,
        settings: RiskSettings | None = None,
        *,
        starts: Sequence[State] | None = None,
        engine: _core.JaniEngine | None = None,
    ) -> None:
        """The policy was loaded for the task, on the engine if one is given, else on the task's own."""
        refuse_without_probabilities(task)
        self.task = task
        self.settings = RiskSettings() if settings is None else settings
        self.system: System[State, str] = system_of(task, policy, engine)
        transitions = self.system.transitions
        assert isinstance(transitions, _core.JaniTransitions)
        self.transitions = transitions
        self.remarks: list[str] = []
        self.unasked = False  # there was no time to ask the policy again
        self._listed = True  # the starts are all there are
        self._began = time.monotonic()
        self.starts = tuple(starts) if starts is not None else self._all_starts()
        if not self.starts:
            raise InputFormatError(
                "no state satisfies the start condition",
                where=task.name,
                expected="at least one start state",
            )
        self._ids = [self.system.id(state) for state in self.starts]
        self._chain: _Part | None = None
        self._all: _Part | None = None
        self._stops = False  # the policy may end its run where a strategy would have to continue
        self._sample: Sample | None = None
        self._samples: dict[State, Sample] = {}

    def _all_starts(self) -> tuple[State, ...]:
        try:
            return tuple(self.task.initial_states(START_STEPS))
        except (BudgetLimitError, UnsupportedError, InputFormatError):
            self._listed = False
        found: dict[State, None] = {}
        for number in range(DRAWN_STARTS):
            random = _core.CounterRandom(self.settings.seed, number)
            found[self.task.sample_initial(random)] = None
        self.remarks.append(
            f"the start states cannot be listed; {len(found)} of them were drawn at random"
        )
        return tuple(found)

    def stages(self, progress: Progress = None) -> Iterator[str]:
        """Does the work stage by stage; yields the name of the one that comes next."""
        yield "exploring the policy's states"
        self._chain = self._explored(self.system.native, progress)
        self._stops = bool((self._chain.game.kinds == STOP).any())
        yield "exploring all states"
        self._all = self._explored(None, progress)
        if self.settings.runs and self._is_wide():
            yield "drawing runs"
            self._draw(progress)

    def run(self, progress: Progress = None) -> RiskReport:
        for _ in self.stages(progress):
            pass
        return self.report()

    # -- stages -----------------------------------------------------------------------------------

    def _seconds(self) -> float | None:
        limit = self.settings.time_limit
        return None if limit is None else max(0.0, limit - (time.monotonic() - self._began))

    def _explored(self, policy: _core.SafetySystem | None, progress: Progress) -> _Part:
        own = self.settings
        memory = bytes_of(own.memory_limit_mb)
        space = _core.JaniGame(
            self.transitions,
            self._ids,
            policy,
            seconds=self._seconds(),
            bytes=memory,
            states=own.max_states,
            progress=progress,
        )
        whose = "any strategy" if policy is None else "the policy"
        if space.limit != "none":
            self.remarks.append(
                f"{whose} can get to more states than were explored ({len(space):,}, limit: {_limit(space.limit)}): "
                "what is behind counts as 0 from below and as 1 from above"
            )
        game = space.game
        best = None
        if own.steps is None:
            (low, high, _, limit), best = game.bounds(
                own.precision, seconds=self._seconds(), progress=progress
            )
        else:
            low, high, _, limit = game.bounds_within(
                own.steps, seconds=self._seconds(), progress=progress
            )
        if limit != "none":
            self.remarks.append(
                f"the bounds for {whose} did not meet (limit: {_limit(limit)}); they hold all the same"
            )
        return _Part(space, game, low, high, space.limit if limit == "none" else limit, best)

    def _is_wide(self) -> bool:
        """Whether the policy's risk is known no better than a sample would tell."""
        assert self._chain is not None
        return any(self._chain.of(id).width > 1e-3 for id in self._ids)

    def _draw(self, progress: Progress) -> None:
        own = self.settings
        if own.steps is not None:
            self.remarks.append("runs were drawn up to the number of steps, and cut ones are safe")

        def drawn(starts: Sequence[State]) -> Sample:
            sample = sample_risk(
                self.system,
                starts,
                runs=own.runs,
                level=own.level,
                seed=own.seed,
                max_steps=own.max_steps if own.steps is None else own.steps,
                time_limit=self._seconds(),
                progress=progress,
            )
            if own.steps is None:
                return sample
            return Sample(
                own.runs, sample.unsafe, 0, own.level, own.seed, own.steps, sample.several_edges
            )

        if len(self.starts) == 1:
            self._sample = self._samples[self.starts[0]] = drawn(self.starts)
        else:
            self._sample = drawn(self.starts if self._listed else ())

    # -- what came out ----------------------------------------------------------------------------

    def risk_of(self, state: State) -> StateRisk:
        """Of any state that was explored."""
        id = self.system.id(state)
        own = Interval() if self._chain is None else self._chain.of(id)
        least = Interval() if self._all is None else self._all.of(id)
        if self._chain is not None and not self._stops and own.high < least.high:
            least = Interval(least.low, own.high)  # the policy is a strategy
        return StateRisk(state, own, least, self._samples.get(state))

    def report(self) -> RiskReport:
        starts = tuple(map(self.risk_of, self.starts))
        parts = (self._chain, self._all)
        complete = all(part is not None and self._has_met(part) for part in parts)
        remarks = list(self.remarks)
        if self._stops:
            remarks.append(
                "the policy stops in some states, which ends its run safely; a strategy has to continue there, so that "
                "the least risk may be above the policy's"
            )
        if self._all is not None and self._all.game.edge_count > self._all.game.label_count:
            remarks.append(
                "some labels have several enabled edges in a state: the worst of them is taken to happen"
            )
        if self._chain is not None and self._all is not None and self.settings.steps is None:
            faults = self._faults()
        else:
            faults = ()
        return RiskReport(
            starts,
            mean([start.policy for start in starts]),
            mean([start.least for start in starts]),
            self._sample,
            faults,
            self._likely(),
            self.settings.steps,
            self.settings.precision,
            0 if self._chain is None else len(self._chain.space),
            0 if self._all is None else len(self._all.space),
            complete,
            tuple(remarks),
        )

    def _has_met(self, part: _Part) -> bool:
        """Whether nothing is left open that a start could get to."""
        largest = 100 * self.settings.precision
        return part.closed and all(part.of(id).width <= largest for id in self._ids)

    def decisions(self, most: int) -> dict[State, str | None]:
        """What the policy does in all states that it can get to; None: it stops. Nothing if there are more."""
        chain = self._chain
        if chain is None or len(chain.space) > most or not chain.closed:
            return {}
        kinds, labels_of = chain.game.kinds, chain.game.labels_of
        found: dict[State, str | None] = {}
        for number in range(len(chain.space)):
            state = self.system.state(chain.space.id(number))
            if labels_of[number] < labels_of[number + 1]:
                found[state] = self._label(chain, number, 0)
            elif kinds[number] == STOP:
                found[state] = None
        return found

    def require_function(self, policy: LabelPolicy) -> None:
        """An error if the policy is not a function of the state, as far as a sample of its decisions tells.

        A time limit that comes first is a remark: the intervals hold if the policy is a function of the state.
        """
        require_declared(policy.spec, policy.deterministic)
        chain = self._chain
        if chain is None or policy.native:
            return
        kinds, first = chain.game.kinds, chain.game.labels_of.astype(np.int64)
        asked = np.flatnonzero((np.diff(first) > 0) | (kinds == STOP))
        said: list[Said] = []
        for number in asked[sampled(len(asked), SAMPLE, self.settings.seed)].tolist():
            stops = first[number] == first[number + 1]
            label = None if stops else self._label(chain, number, 0)
            said.append((self.system.state(chain.space.id(number)), label))
        try:
            require_function(self.task, policy, said, self.settings.seed, self._seconds())
        except TimeLimitError as error:
            self.unasked = True
            self.remarks.append(
                f"{error.what}, because of the limit of time; all of this is about the answers it gave first"
            )

    def _faults(self) -> tuple[RiskFault, ...]:
        assert self._chain is not None
        assert self._all is not None
        chain, whole = self._chain, self._all
        ids = [chain.space.id(number) for number in range(len(chain.space))]
        numbers = np.array([whole.space.number(id) for id in ids], dtype=np.int64)
        known = numbers >= 0
        low = np.where(known, whole.low[numbers], 0.0)
        high = np.where(known, whole.high[numbers], 1.0)
        after_low, after_high = chain.game.decision_values(low, high)
        roots = list(range(chain.space.root_count))
        visits = chain.game.visits(roots, chain.high)
        has_label = np.diff(chain.game.labels_of.astype(np.int64)) > 0
        worse = np.flatnonzero(has_label & (after_low > high) & (visits > 0))
        middle = (after_low[worse] + after_high[worse] - low[worse] - high[worse]) / 2
        ranked = worse[np.argsort(-visits[worse] * middle, kind="stable")][: self.settings.faults]
        return tuple(
            RiskFault(
                self.system.state(ids[number]),
                self._label(chain, number, 0),
                self._better(int(numbers[number])),
                Interval(float(after_low[number]), float(after_high[number])),
                Interval(float(low[number]), float(high[number])),
                float(visits[number]),
            )
            for number in map(int, ranked)
        )

    def _label(self, part: _Part, number: int, position: int) -> str:
        first = int(part.game.labels_of[number])
        return self.system.label(int(part.game.labels[first + position]))

    def _better(self, number: int) -> str | None:
        assert self._all is not None
        if self._all.best is None or number < 0 or self._all.best[number] < 0:
            return None
        return self._label(self._all, number, int(self._all.best[number]))

    def _likely(self) -> LikelyRun | None:
        if self._chain is None:
            return None
        states, probability = self._chain.game.likely_run(list(range(self._chain.space.root_count)))
        if not states or (
            self.settings.steps is not None and len(states) - 1 > self.settings.steps
        ):
            return None
        return LikelyRun(
            self.system.states(map(self._chain.space.id, states)),
            tuple(self._label(self._chain, number, 0) for number in states[:-1]),
            probability,
        )


def refuse_without_probabilities(task: JaniTask) -> None:
    """An error for models of type lts. A model that was translated from another language is none."""
    content: bytes = task.source["files"].get(task.source["path"], b"")
    try:
        model = parse_json(content.decode("utf-8-sig"))
    except ValueError:
        return
    if isinstance(model, dict) and model.get("type") == "lts":
        raise UnsupportedError(
            "the model is of type lts, which has no probabilities",
            where=task.name,
            expected="an mdp or a dtmc",
            hint="`misstep test` and `misstep census` say what can happen at worst; with the type mdp, an edge "
            "without a probability has 1",
        )


def _limit(name: str) -> str:
    return {"expansions": "the number of states"}.get(name, name)


def risk(
    task: JaniTask,
    policy: LabelPolicy,
    settings: RiskSettings | None = None,
    *,
    starts: Sequence[State] | None = None,
    progress: Progress = None,
) -> RiskReport:
    """The risks of a policy that was loaded for the task, from its start states or from others."""
    analysis = RiskAnalysis(task, policy, settings, starts=starts)
    analysis.run(progress)
    analysis.require_function(policy)
    return analysis.report()


__all__ = ["RiskAnalysis", "RiskSettings", "refuse_without_probabilities", "risk"]
