"""The test of a policy during training and selection: fixed pools, a fixed oracle, a budget in steps.

Policies are compared on the same states: the pools are made once, without bias, from the task and a seed alone. Each
policy has its own bound store; otherwise bounds found for one policy would help the next, and the order would matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from misstep.errors import UsageError
from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.pool import whole_walk
from misstep.fuzzing.settings import Settings
from misstep.oracles import Walk, Workbench
from misstep.oracles.dominance import try_dominance
from misstep.oracles.grammar import needs_dominance, read_oracle
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.verdict import Verdict
from misstep.policies.policy import Policy
from misstep.runs.again import require_function
from misstep.runs.outcomes import DEFAULT_MAX_STEPS, MOST_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task

# The oracle of tests inside training: the one of P25, limited by what it does instead of by the clock.
TEST_ORACLE = "bmo(100)"
POOL_SIZE = 50
TEST_BUDGET = 200_000  # expansions, evaluations and policy calls on one task


@dataclass(frozen=True)
class TestSettings:
    """The settings of a test."""

    __test__ = False

    pool_size: int = POOL_SIZE
    seed: int = 0
    oracle: str = TEST_ORACLE
    budget: int | None = TEST_BUDGET
    max_steps: int = DEFAULT_MAX_STEPS

    def __post_init__(self) -> None:
        for name in ("pool_size", "budget", "max_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}", expected="a positive number")
        for name, value in (("pool", self.pool_size), ("max_steps", self.max_steps)):
            if value > MOST_STEPS:
                raise UsageError(f"{name} is {value}", expected=f"at most {MOST_STEPS}")
        read_oracle(
            self.oracle
        )  # errors must not wait for the first policy that is good enough to be tested

    @property
    def fuzzing(self) -> Settings:
        # Walks without a bias need no policy; the time limit would make pools depend on the machine.
        return Settings(
            bias="none",
            max_states=self.pool_size,
            max_iterations=100_000,
            time_limit=None,
        )


@dataclass(frozen=True)
class TaskResult:
    """A policy on one task. `assumed`: it was not tested, because it fails from the initial state."""

    task: str
    pool: int
    initial_solved: bool
    processed: int = 0
    solved: int = 0
    bugs: int = 0
    lost: int = 0  # cost proven to be unnecessary, over all solved states
    steps: int = 0  # of the budget
    assumed: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def as_scored(self) -> TaskResult:
        """The result for the score of P25: if the initial state is not solved, nothing is, and every state is a bug."""
        if self.initial_solved:
            return self
        return TaskResult(self.task, self.pool, False, self.pool, 0, self.pool, assumed=True)

    @property
    def quality(self) -> float:
        """Between 0 and 1: the three parts of the score on this task alone."""
        own = self.as_scored
        share = max(1, own.processed)
        return (own.initial_solved + own.solved / share + 1 - own.bugs / share) / 3


class Judged(NamedTuple):
    """The verdicts on a pool, and what proves them."""

    bench: Workbench
    verdicts: list[Verdict]
    steps: int  # of the budget


class TestedTask:
    """A task with its pool."""

    __test__ = False

    def __init__(self, task: Task, settings: TestSettings) -> None:
        self.task = task
        self.settings = settings
        self.pool = fuzz(task, None, settings.fuzzing, settings.seed)
        self._to_test = [
            TestState(entry.state, Walk(*whole_walk(self.pool.entries, entry)))
            for entry in self.pool
        ]

    @cached_property
    def _dominance(self) -> Dominance | str | None:
        """One oracle for all policies, because it depends only on the task."""
        return try_dominance(self.task) if needs_dominance(self.settings.oracle) else None

    def test(self, policy: Policy, *, abstain: bool = True, check: bool = False) -> TaskResult:
        """Test the policy on the pool. With `abstain`, not if it fails from the initial state, as in P25. With `check`,
        the independent checker replays every bug, and the policy is asked again whether it is a function of the state.
        """
        runner = PolicyRunner(policy)
        start = self.pool.states[0]
        solves = runner.trace(start, self.settings.max_steps).outcome == "goal"
        name = self.task.name
        if abstain and not solves:
            return TaskResult(name, len(self.pool), False).as_scored
        judged = self.judge(runner)
        if check:
            require_function(policy, *runner.decided(), self.settings.seed)
        solved = lost = 0
        for verdict in judged.verdicts:
            solved += bool(verdict.policy_cost.reaches_goal)
            if verdict.is_bug:
                if check:
                    judged.bench.check(verdict)
                if math.isfinite(verdict.gap.low):
                    lost += int(verdict.gap.low)
        bugs = sum(verdict.is_bug for verdict in judged.verdicts)
        processed = len(judged.verdicts)
        return TaskResult(name, len(self.pool), solves, processed, solved, bugs, lost, judged.steps)

    def judge(self, runner: PolicyRunner) -> Judged:
        """The verdicts on the states of the pool, in its order, until the budget is spent."""
        settings = self.settings
        bench = Workbench(runner, max_steps=settings.max_steps, dominance=self._dominance)
        loop = TestLoop(bench, read_oracle(settings.oracle))
        steps = 0
        for tested in loop.run(self._to_test):
            effort = tested.verdict.effort
            steps += effort.expansions + effort.evaluations + effort.policy_calls
            if settings.budget is not None and steps >= settings.budget:
                break
        return Judged(bench, [tested.verdict for tested in loop.settle()], steps)


def summarise(results: Sequence[TaskResult]) -> dict[str, Any]:
    """The numbers of a test, as they are kept and shown."""
    processed = sum(result.processed for result in results)
    solved = sum(result.solved for result in results)
    return {
        "tasks": len(results),
        "coverage": sum(result.initial_solved for result in results),
        "processed": processed,
        "solved": solved,
        "bugs": sum(result.bugs for result in results),
        "mean_gap": sum(result.lost for result in results) / solved if solved else None,
    }


__all__ = ["TEST_ORACLE", "Judged", "TaskResult", "TestSettings", "TestedTask", "summarise"]
