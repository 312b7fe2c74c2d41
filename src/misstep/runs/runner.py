"""Run a policy on a task. It is asked once per state; the policy graph stores its decisions and run outcomes.

Runs of many states advance in lockstep, so that the policy sees batches; a native policy runs without Python. The
results do not depend on batch sizes, on the order of the states, or on what was run before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import MisstepError, TimeLimitError, UnsupportedError, UsageError
from misstep.policies.native import NativePolicy
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.raised import in_words
from misstep.runs.outcomes import DEFAULT_MAX_STEPS, OUTCOMES
from misstep.stops import ends_work
from misstep.tasks.task import State


class RunEnds(NamedTuple):
    """How runs end, one row per run. `outcomes` are indices into `OUTCOMES`; steps and costs are those of the run."""

    ids: NDArray[np.uint32]
    outcomes: NDArray[np.uint8]
    steps: NDArray[np.int64]
    costs: NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """One run: its states, the operators between them, and how it ended."""

    outcome: str
    states: list[State]
    operators: list[int]
    cost: int
    message: str | None = None  # of the policy, where it failed
    values: list[float] | None = None  # of the states, if the policy values states
    evaluations: int = 0
    policy_calls: int = 0
    named: int | None = (
        None  # the operator that the policy named at the end, where that did not apply
    )


@dataclass(frozen=True)
class Contradiction:
    """A state for which the policy gave two different answers; the first one is used."""

    state: State
    first: int
    second: int


class PolicyRunner:
    """Runs a policy and remembers its decisions."""

    by_start = False  # whether runs depend on their start, so that the policy has no decisions in single states

    def __init__(self, policy: Policy, *, batch_size: int | None = None) -> None:
        if batch_size is not None and batch_size < 1:
            raise UsageError(f"the batch size is {batch_size}", expected="a positive number")
        if not self.by_start and (policy.set_valued or policy.stochastic or policy.plans):
            raise UnsupportedError(
                f"the policy {policy.name} is not a function of the state",
                hint="'misstep test' and 'misstep run' take set-valued policies and policies that answer with plans",
            )
        self.policy = policy
        self.task = policy.task
        self.batch_size = batch_size or policy.batch_size
        self.graph = _core.PolicyGraph(policy.task)
        self.messages: dict[int, str] = {}  # state id -> why the policy failed
        self.contradictions: list[Contradiction] = []
        self.evaluations = 0
        self.batches: Counter[int] = Counter()  # states of a call -> calls; not of native policies
        self._recalled = 0  # decisions that were not asked for here
        self._limit: tuple[float, float] | None = None  # seconds, and when they are over

    def limit(self, seconds: float | None, began: float) -> None:
        """From now on, raise a TimeLimitError when so many seconds are over since a `monotonic` time."""
        self._limit = None if seconds is None else (seconds, began + seconds)

    def _look_at_the_clock(self) -> None:
        if self._limit is not None and monotonic() >= self._limit[1]:
            raise TimeLimitError(
                "the policy was not run from all states",
                where=self.task.name,
                hint=f"the limit was {self._limit[0]:g} seconds",
            )

    @property
    def policy_calls(self) -> int:
        """The number of states that the policy was asked about, each counted once."""
        return self.graph.decided - self._recalled

    def recall(self, trace: Trace, named: int | None = None) -> None:
        """Add a run that the policy made before, so that it need not be asked again.

        `named` is the operator that it chose at the end, if that did not apply.
        """
        ids = self.graph.add(np.array([state.values for state in trace.states], dtype=np.int32))
        answers = list(trace.operators)
        if trace.outcome in ("stuck", "inapplicable", "error", "timeout"):
            stops = {"stuck": NO_ACTION, "error": FAILED, "timeout": TIMED_OUT}
            last = stops.get(trace.outcome, named)
            assert last is not None
            answers.append(last)
            if trace.message is not None and trace.outcome in ("error", "timeout"):
                self.messages.setdefault(int(ids[-1]), trace.message)
        before = self.graph.decided
        self.graph.decide(ids[: len(answers)], np.array(answers, dtype=np.int32))
        self._recalled += self.graph.decided - before

    def run(
        self,
        states: States,
        max_steps: int | None = DEFAULT_MAX_STEPS,
        progress: Callable[..., None] | None = None,
    ) -> RunEnds:
        """Run the policy from each state, for at most `max_steps` steps."""
        ids = self.graph.add(checked_states(states, self.task))
        return self.run_ids(ids, max_steps, progress)

    def run_ids(
        self,
        ids: NDArray[np.uint32],
        max_steps: int | None = DEFAULT_MAX_STEPS,
        progress: Callable[..., None] | None = None,
    ) -> RunEnds:
        """Run the policy from states that are in the policy graph."""
        if isinstance(self.policy, NativePolicy):
            before = self.policy.native.evaluations
            self.graph.run_native(self.policy.native, ids, max_steps, self._watched(progress))
            self.evaluations += self.policy.native.evaluations - before
        else:
            runs = _core.LockstepRuns(self.graph, ids, max_steps)
            while len(pending := runs.advance()):
                self.ask(pending)
        return RunEnds(ids, *self.graph.ends(ids, max_steps))

    def _watched(self, progress: Callable[..., None] | None) -> Callable[..., None] | None:
        if self._limit is None:
            return progress

        def report(*counts: Any) -> None:
            self._look_at_the_clock()
            if progress is not None:
                progress(*counts)

        return report

    def message(self, id: int) -> str | None:
        """Why the policy failed in a state, if it did."""
        ids = _ids([id])
        decision = int(self.graph.decisions(ids)[0])
        if isinstance(self.policy, NativePolicy) and decision == FAILED:
            return self.policy.failure
        if decision >= 0 and self.graph.successors(ids)[0] < 0:
            return f"({self.task.operator_name(decision)}) does not apply"
        return self.messages.get(id)

    def trace(self, state: State, max_steps: int | None = DEFAULT_MAX_STEPS) -> Trace:
        """The run from one state, with all its states and the number of questions to the policy."""
        calls, evaluations = self.policy_calls, self.evaluations
        ends = self.run(np.array([state.values], dtype=np.int32), max_steps)
        ids, operators = self.graph.trace(int(ends.ids[0]), max_steps)
        return Trace(
            outcome=OUTCOMES[ends.outcomes[0]],
            states=[State(row) for row in self.graph.states(ids).tolist()],
            operators=operators.tolist(),
            cost=int(ends.costs[0]),
            message=self.message(int(ids[-1])),
            evaluations=self.evaluations - evaluations,
            policy_calls=self.policy_calls - calls,
            named=int(self.graph.decisions(ids[-1:])[0])
            if OUTCOMES[ends.outcomes[0]] == "inapplicable"
            else None,
        )

    def named(self, run: Trace) -> int | None:
        """The operator that the policy chose at the end of a run, if it did not apply."""
        if run.outcome != "inapplicable":
            return None
        ids = self.graph.add(np.array([run.states[-1].values], dtype=np.int32))
        return int(self.graph.decisions(ids)[0])

    def decided(self) -> tuple[States, list[int]]:
        """The states that the policy was asked about, and its answers."""
        ids = np.arange(len(self.graph), dtype=np.uint32)
        decisions = self.graph.decisions(ids)
        asked = decisions != _UNASKED
        return self.graph.states(ids[asked]), decisions[asked].tolist()

    def ask(self, ids: NDArray[np.uint32]) -> None:
        """Ask the policy about states of the graph, in batches, and store its answers."""
        for first in range(0, len(ids), self.batch_size):
            self._look_at_the_clock()
            self._ask(ids[first : first + self.batch_size])

    def _ask(self, ids: NDArray[np.uint32]) -> None:
        states = self.graph.states(ids)
        self.batches[len(ids)] += 1
        answers = ask(self.policy, states)
        self.evaluations += answers.evaluations
        for row in self.graph.decide(ids, answers.operators):
            first = int(self.graph.decisions(ids[row : row + 1])[0])
            state = State(states[row].tolist())
            self.contradictions.append(Contradiction(state, first, int(answers.operators[row])))
        for row, message in answers.messages.items():
            self.messages.setdefault(int(ids[row]), message)


_UNASKED = -3


def _ids(ids: list[int]) -> NDArray[np.uint32]:
    return np.array(ids, dtype=np.uint32)


def ask(policy: Policy, states: States, candidates: Candidates | None = None) -> Answers:
    """Ask a policy; exceptions and invalid answers become failures of the states concerned."""
    try:
        answers = policy.decide(states) if candidates is None else policy.decide(states, candidates)
        problem = answers.problem(len(states), policy.task)
        if problem is None:
            return answers
    except BaseException as error:  # also SystemExit: a policy does not end the test
        if isinstance(error, MisstepError) or ends_work(error):
            raise  # the policy as a whole is unusable, or the user or a limit ends the work
        problem = in_words(error)
    if len(states) == 1:
        return Answers(np.array([FAILED], dtype=np.int32), {0: problem})
    # Row by row, so that one bad state does not spoil its batch.
    parts = [
        ask(policy, states[[row]], None if candidates is None else candidates.of(np.array([row])))
        for row in range(len(states))
    ]
    return Answers(
        np.concatenate([part.operators for part in parts]),
        {row: part.messages[0] for row, part in enumerate(parts) if part.messages},
        evaluations=sum(part.evaluations for part in parts),
    )
