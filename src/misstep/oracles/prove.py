"""Prove that a policy reaches the goal of a planning task, or find a state from which it does not.

The caller chooses which states the claim is about (`scope`):

    all   every reachable state of the task from which the goal can be reached
    runs  the states of the policy's own run from the initial state

States from which the goal cannot be reached are dead ends: the claim leaves them out, the certificate proves each of
them, and the result has their number. For `all`, the whole task is enumerated, so it is known exactly whether a failing
state is solvable.

The certificate has the decision of every state and its rank, the number of steps that the policy takes from there to
the goal: each decision leads to a state of smaller rank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep._core import StateSpace
from misstep.checking.certificates import check_planning, read_certificate
from misstep.checking.certificates.planning import CLAIMS, FIRST
from misstep.checking.certificates.planning import DEAD_END as DEAD
from misstep.errors import BudgetLimitError, MemoryLimitError, TimeLimitError, UsageError
from misstep.policies.native import NativePolicy
from misstep.policies.policy import NO_ACTION, Policy, States
from misstep.ranges import check_limits, check_seed
from misstep.runs.again import SAMPLE, contradicted, sampled
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner, Trace
from misstep.safety.prove.certificate import CHECKED_STATES, CHUNK, ColumnKind, packed
from misstep.safety.prove.result import (
    BUG,
    FLAKY,
    NOT_A_BUG,
    PROVEN,
    UNKNOWN,
    Finding,
    Proof,
    carried_out,
)
from misstep.tasks.census import DEFAULT_MAX_STATES, state_space
from misstep.tasks.task import State, Task

SCOPES = ("all", "runs")
STARTS = 10_000  # runs at once
GOAL, ERROR, TIMEOUT = (OUTCOMES.index(name) for name in ("goal", "error", "timeout"))

ENDINGS = {TimeLimitError: "time", MemoryLimitError: "memory", BudgetLimitError: "states"}


@dataclass(frozen=True)
class ReachSettings:
    scope: str = "all"
    max_states: int | None = DEFAULT_MAX_STATES
    time_limit: float | None = None
    memory_limit_mb: int | None = None
    check: bool | None = None  # the certificate, independently; None: if it is small
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise UsageError(f"scope is {self.scope!r}", expected=" or ".join(SCOPES))
        check_seed(self.seed)
        check_limits(
            max_states=self.max_states,
            time_limit=self.time_limit,
            memory_limit_mb=self.memory_limit_mb,
        )


def prove_reaches(
    task: Task,
    policy: Policy,
    settings: ReachSettings | None = None,
    progress: Callable[..., None] | None = None,
) -> Proof:
    """The policy was loaded for the task."""
    search = _Search(task, policy, settings or ReachSettings(), progress)
    proof = carried_out(search, policy.deterministic, ENDINGS)
    proof.asked = search.runner.policy_calls
    return proof


class _Search:
    def __init__(
        self,
        task: Task,
        policy: Policy,
        settings: ReachSettings,
        progress: Callable[..., None] | None,
    ) -> None:
        self.task, self.policy, self.settings, self.progress = task, policy, settings, progress
        self.began = time.monotonic()
        self.runner = PolicyRunner(policy)
        self.runner.limit(settings.time_limit, self.began)
        self.proof = Proof(
            UNKNOWN, CLAIMS[settings.scope], task.name, policy.spec, starts=1, method=settings.scope
        )

    def ended(self, end: str, reason: str) -> None:
        self.proof.left_open(end, reason)

    def run(self) -> None:
        if self.settings.scope == "runs":
            self._own_run()
        else:
            self._everywhere()

    def _space(self) -> StateSpace:
        settings = self.settings
        left = settings.time_limit
        space = state_space(
            self.task,
            max_states=settings.max_states,
            time_limit=None if left is None else max(0.0, left - time.monotonic() + self.began),
            memory_limit_mb=settings.memory_limit_mb,
            progress=self.progress,
        )
        self.proof.states = len(space)
        return space

    # -- the policy's own run ---------------------------------------------------------------------

    def _own_run(self) -> None:
        trace = self.runner.trace(self.task.initial_state, None)
        self.proof.states = len(trace.states)
        if self._unanswered(trace) or self._contradicted(_rows(trace.states), _answers(trace)):
            return
        if trace.outcome != "goal":
            self._failed(trace, self._space())
            return
        # A loop is no way to a goal, so each state stands once.
        ranks = np.arange(len(trace.states) - 1, -1, -1, dtype=np.int64)
        codes = np.array([*(operator + FIRST for operator in trace.operators), 0], dtype=np.int64)
        self._proven(_rows(trace.states), codes, ranks)

    # -- every state ------------------------------------------------------------------------------

    def _everywhere(self) -> None:
        space = self._space()
        states, h_star = space.states(), space.h_star
        solvable = np.isfinite(h_star)
        tested = np.flatnonzero(solvable & (space.is_goal == 0))
        outcomes = np.full(len(space), GOAL, dtype=np.uint8)
        steps = np.zeros(len(space), dtype=np.int64)
        self.proof.hopeless = int(np.count_nonzero(~solvable))
        for first in range(0, len(tested), STARTS):
            rows = tested[first : first + STARTS]
            ends = self.runner.run(states[rows], None, self.progress)
            outcomes[rows], steps[rows] = ends.outcomes, ends.steps
        failing = np.flatnonzero(outcomes != GOAL)
        if len(failing):
            self._report(space, states, failing, outcomes)
            return
        decisions = np.full(len(space), -1, dtype=np.int64)
        if len(tested):
            decisions[tested] = self.runner.graph.decisions(self.runner.graph.add(states[tested]))
        chosen = tested[sampled(len(tested), SAMPLE, self.settings.seed)]
        if self._contradicted(states[chosen], decisions[chosen].tolist()):
            return
        codes = np.where(solvable, np.where(space.is_goal != 0, 0, decisions + FIRST), DEAD)
        self._proven(states, codes.astype(np.int64), steps)

    def _report(
        self,
        space: StateSpace,
        states: States,
        failing: NDArray[np.intp],
        outcomes: NDArray[np.uint8],
    ) -> None:
        """Report the failing state nearest to the initial state; a crash or a time-out only if there is no other."""
        proof = self.proof
        answered = failing[(outcomes[failing] != ERROR) & (outcomes[failing] != TIMEOUT)]
        place = int(answered[0] if len(answered) else failing[0])
        trace = self.runner.trace(State(states[place].tolist()), None)
        if self._unanswered(trace) or self._contradicted(_rows(trace.states), _answers(trace)):
            return
        self._failed(trace, space)
        proof.failing = len(answered)

    # -- endings ----------------------------------------------------------------------------------

    def _unanswered(self, trace: Trace) -> bool:
        if trace.outcome not in ("error", "timeout"):
            return False
        end = "crash" if trace.outcome == "error" else "timeout"
        self.ended(end, f"the policy gave no answer: {trace.message}")
        return True

    def _failed(self, trace: Trace, space: StateSpace) -> None:
        proof, start = self.proof, trace.states[0]
        place = space.find(start)
        solvable = place >= 0 and bool(np.isfinite(space.h_star[place]))
        plan = _plan(self.task, space, start) if solvable else []
        names = [self.task.operator_name(operator) for operator in trace.operators]
        proof.finding = Finding(
            start, trace.states, names, trace.outcome, solvable, len(plan), plan
        )
        proof.failing = 1
        proof.verdict = BUG if solvable else NOT_A_BUG
        why = (
            "from which the goal can be reached"
            if solvable
            else "from which nobody reaches the goal"
        )
        proof.reason = f"the policy fails ({trace.outcome}) from a state {why}"
        if not solvable:
            proof.hopeless = max(proof.hopeless, 1)

    def _contradicted(self, states: States, decisions: list[int]) -> bool:
        """Ask the policy again about these decisions: alone, shuffled, and in another process."""
        if isinstance(self.policy, NativePolicy) or not decisions:
            return False
        self.proof.asked_again += len(decisions)
        limit, seed = self.settings.time_limit, self.settings.seed
        left = None if limit is None else max(0.0, limit - time.monotonic() + self.began)
        wrong = contradicted(self.policy, states[: len(decisions)], decisions, seed, left)
        if wrong:
            proof = self.proof
            proof.verdict, proof.contradictions = FLAKY, len(wrong)
            shown = State(states[min(wrong)].tolist())
            proof.reason = f"asked again, the policy answers differently in {len(wrong)} states, first in {shown}"
        return bool(wrong)

    def _proven(self, states: States, codes: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        proof, task = self.proof, self.task
        header: dict[str, Any] = {
            "claim": "reaches the goal",
            "world": "planning",
            "from": self.settings.scope,
            "dead_ends": proof.hopeless,
            "task": {"name": task.name, "digest": task.digest},
            "policy": {"spec": self.policy.spec, "digest": self.policy.digest},
            "asked_again": proof.asked_again,
        }
        kinds = [ColumnKind(f"var{i}") for i in range(task.variable_count)]
        kinds += [ColumnKind("=operator"), ColumnKind("=rank")]

        def rows() -> Iterator[NDArray[np.int64]]:
            for first in range(0, len(states), CHUNK):
                part = slice(first, first + CHUNK)
                yield np.column_stack([states[part], codes[part], ranks[part]]).astype(np.int64)

        content = packed(header, len(states), kinds, rows)
        check = self.settings.check
        if check or (check is None and len(states) <= CHECKED_STATES):
            proof.checked = check_planning(read_certificate(content), task.sas)
            if not (proof.checked.valid or proof.checked.undecided):
                self.ended("gave up", f"the independent checker refuses: {proof.checked.reason}")
                return
        proof.verdict, proof.certificate = PROVEN, content


def _plan(task: Task, space: StateSpace, start: State) -> list[str]:
    best = space.best_operator
    plan, state = [], start
    while (operator := int(best[space.find(state)])) >= 0:
        plan.append(task.operator_name(operator))
        state = task.apply(state, operator)
    return plan


def _answers(trace: Trace) -> list[int]:
    """What the policy said on the run, step by step; also where it ended the run by naming no operator that applies."""
    last = NO_ACTION if trace.outcome == "stuck" else trace.named
    return trace.operators if last is None else [*trace.operators, last]


def _rows(states: list[State]) -> States:
    return np.array([state.values for state in states], dtype=np.int32)


__all__ = ["SCOPES", "ReachSettings", "prove_reaches"]
