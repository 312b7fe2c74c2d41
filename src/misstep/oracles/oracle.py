"""What an oracle is, and how oracles are combined.

An oracle gets a question (a state, and the policy's run from it) and looks for bounds that answer it. It puts them into
the bound store, and the verdict follows from the store, whichever oracle has found the bounds. Combinations are oracles
too: `Sequence` asks one after the other until the question is decided, `Union` asks all of them, `Route` chooses by the
outcome of the policy's run.

Not every oracle is asked about every state, but every oracle sees each state afterwards (`observe`): an oracle that
compares states with each other also learns from states that others decided.

If an oracle reaches a limit or crashes, it has found nothing, but the bounds that it has added until then stay valid.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from misstep.errors import MisstepError, UnsupportedError
from misstep.oracles.together import Runs
from misstep.oracles.values import Cost, PolicyCost
from misstep.oracles.verdict import Effort, Objective, Verdict
from misstep.oracles.workbench import Workbench
from misstep.raised import in_words
from misstep.tasks.task import State, Task

DEFAULT_SECONDS = (
    60.0  # a safety net for each call of an oracle; the budgets should end it long before
)


class Walk(NamedTuple):
    """How a state was found: from where, and by which operators.

    From the initial state on, not only from the last reference state: any state on the way may have a plan.
    """

    start: State
    operators: tuple[int, ...]


@dataclass
class Question:
    """The question whether the policy is as good as possible in a state, with the answers so far."""

    bench: Workbench
    state: State
    walk: Walk | None
    policy_cost: PolicyCost
    oracle: str | None = None  # whose answer counts
    effort: Effort = field(default_factory=Effort)
    limits: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The current verdict."""
        return replace(
            self.bench.verdict_of(self.state),
            oracle=self.oracle,
            effort=self.effort,
            limits=tuple(self.limits),
            problems=tuple(self.problems),
        )

    @property
    def bound(self) -> Cost:
        """Only plans that are cheaper than this are useful.

        For the cost they have to be cheaper than what the policy has spent. For reaching the goal any plan will do,
        and where the policy's run is unknown only the proof that there is none.
        """
        upper = self.bench.bounds.plan_cost(self.state)
        if self.bench.objective is Objective.GOAL:
            return upper
        return min(upper, self.policy_cost.lower_bound)

    def plan(self) -> list[int] | None:
        """The policy's run if it reaches the goal, or else the cheapest known plan."""
        if self.policy_cost.reaches_goal:
            return self.bench.trace(self.state).operators
        witness = self.bench.bounds.witness(self.state)
        return None if witness is None else list(witness)


class Report(NamedTuple):
    """The effort of an oracle, and the limit that ended it, if any."""

    expansions: int = 0
    evaluations: int = 0
    limit: str | None = None


class Oracle(ABC):
    """A method to find verdicts. It has only settings; the policy and the task come with the question."""

    def on(self, bench: Workbench) -> Tester:
        """The oracle, bound to a policy."""
        return Tester(self, bench)

    @abstractmethod
    def answer(self, question: Question) -> None:
        """Look for an answer and record the effort."""

    def wants(self, verdict: Verdict) -> bool:
        """Whether a sequence with this verdict still asks this oracle."""
        return not verdict.is_decided

    def observe(self, question: Question) -> None:  # noqa: B027 (most have nothing to learn from other states)
        """See a tested state, decided or not, after the oracle as a whole has answered. Must be quick."""

    def foresee(self, question: Question) -> list[Runs]:  # noqa: ARG002
        """The runs of the policy that the oracle will need, as far as they are known; most need none."""
        return []

    @abstractmethod
    def sources(self, task: Task | None = None) -> Iterator[Source]:
        """The oracles inside this one; for a task, only those that are useful there."""

    def settles(self, task: Task) -> bool:  # noqa: ARG002
        """Whether this oracle decides every reachable state, so that no further oracle is needed."""
        return False


class Tester:
    """An oracle on a workbench: a source of verdicts on a policy."""

    __test__ = False  # for pytest, which goes by the name

    def __init__(self, oracle: Oracle, bench: Workbench) -> None:
        self.oracle = oracle
        self.bench = bench

    def test(self, state: State, *, walk: Walk | None = None) -> Verdict:
        """The verdict on a state; `walk` says how it was found, for oracles that go back that way."""
        question = self.question(state, walk)
        self.oracle.answer(question)
        self.oracle.observe(question)
        return question.verdict

    def question(self, state: State, walk: Walk | None = None) -> Question:
        return Question(self.bench, state, walk, self.bench.policy_cost(state))

    def foresee(self, state: State) -> list[Runs]:
        """The runs that testing a state will take, as far as that can be told."""
        question = self.question(state)
        return [] if question.verdict.gap.is_exact else self.oracle.foresee(question)


class Source(Oracle):
    """An oracle that looks for bounds itself."""

    name = "oracle"  # in specs
    needs_dominance = False  # finds nothing without a dominance function
    keeps_pool = False  # compares all states that it sees with each other
    best = False  # searches for the largest gap it can prove, even if a bug is already known

    def __init__(self, seconds: float = DEFAULT_SECONDS) -> None:
        self.seconds = seconds

    def answer(self, question: Question) -> None:
        if not question.verdict.gap.is_exact:  # else nothing is left to be found out
            self.work(question, lambda: self.search(question))

    def wants(self, verdict: Verdict) -> bool:
        return not (verdict.gap.is_exact if self.best else verdict.is_decided)

    def sources(self, task: Task | None = None) -> Iterator[Source]:  # noqa: ARG002
        yield self

    def work(self, question: Question, search: Callable[[], Report]) -> None:
        """Run a search for a question, and record its effort and result."""
        before = question.verdict
        start = time.perf_counter()
        calls = question.bench.runner.policy_calls
        report = Report()
        try:
            report = search()
        except UnsupportedError as error:
            question.problems.append(f"{self.name}: not applicable: {error.what}")
        except MisstepError:
            raise  # a contradiction, or a policy or task that cannot be worked with
        except Exception as error:
            question.problems.append(f"{self.name}: {in_words(error)}")
        if report.limit is not None:
            question.limits.append(f"{self.name}: {report.limit}")
        question.effort += Effort(
            time.perf_counter() - start,
            report.expansions,
            report.evaluations,
            question.bench.runner.policy_calls - calls,
        )
        after = question.verdict
        if after.is_decided and (after.status, after.gap) != (before.status, before.gap):
            question.oracle = self.name

    @abstractmethod
    def search(self, question: Question) -> Report:
        """Put bounds for the state into the store."""

    def __repr__(self) -> str:
        return f"<oracle {self.name}>"


class Combination(Oracle):
    """An oracle that is made of others."""

    def __init__(self, parts: list[Oracle]) -> None:
        self.parts = parts

    def wants(self, verdict: Verdict) -> bool:
        return any(part.wants(verdict) for part in self.parts)

    def observe(self, question: Question) -> None:
        for part in self.parts:
            part.observe(question)

    def sources(self, task: Task | None = None) -> Iterator[Source]:
        for part in self.parts:
            yield from part.sources(task)


class Sequence(Combination):
    """Asks one oracle after the other until one has decided; then only those that search for the best gap.

    If the cost of the cheapest plan is known exactly, nothing is left to find, even if the policy's run was cut.
    Oracles after one that settles the task do not even see its states, because what they would learn is not needed (and
    a dominance function may take seconds to compute).
    """

    def answer(self, question: Question) -> None:
        for part in self.parts:
            lower, upper = question.bench.bounds.bounds(question.state)
            if lower != upper and part.wants(question.verdict):
                part.answer(question)

    def observe(self, question: Question) -> None:
        for part in self._working(question.bench.task):
            part.observe(question)

    def sources(self, task: Task | None = None) -> Iterator[Source]:
        for part in self.parts if task is None else self._working(task):
            yield from part.sources(task)

    def settles(self, task: Task) -> bool:
        return any(part.settles(task) for part in self.parts)

    def _working(self, task: Task) -> Iterator[Oracle]:
        for part in self.parts:
            yield part
            if part.settles(task):
                return

    def foresee(self, question: Question) -> list[Runs]:
        """Of the first that is asked: it may decide."""
        first = next((part for part in self.parts if part.wants(question.verdict)), None)
        return [] if first is None else first.foresee(question)


class Union(Combination):
    """Asks all oracles; the best bound counts."""

    def settles(self, task: Task) -> bool:
        return any(part.settles(task) for part in self.parts)

    def answer(self, question: Question) -> None:
        for part in self.parts:
            part.answer(question)

    def foresee(self, question: Question) -> list[Runs]:
        return [runs for part in self.parts for runs in part.foresee(question)]


class Route(Combination):
    """Asks one oracle if the policy reaches the goal, and another one if it does not, or not yet."""

    def __init__(self, reached: Oracle, otherwise: Oracle) -> None:
        super().__init__([reached, otherwise])
        self.reached = reached
        self.otherwise = otherwise

    def answer(self, question: Question) -> None:
        self._way(question.policy_cost).answer(question)

    def foresee(self, question: Question) -> list[Runs]:
        return self._way(question.policy_cost).foresee(question)

    def wants(self, verdict: Verdict) -> bool:
        return self._way(verdict.policy_cost).wants(verdict)

    def _way(self, cost: PolicyCost) -> Oracle:
        # An unknown run goes the second way too; what kind of bug comes of it is up to the verdict.
        return self.reached if cost.reaches_goal else self.otherwise


__all__ = [
    "DEFAULT_SECONDS",
    "Combination",
    "Oracle",
    "Question",
    "Report",
    "Route",
    "Sequence",
    "Source",
    "Tester",
    "Union",
    "Walk",
]
