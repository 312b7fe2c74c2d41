"""Runs that depend on their start: of policies that answer with a whole plan, and of policies with memory of the run.

An open-loop policy is asked once, at the start, and then its plan is followed. A policy that avoids the states it has
seen (`--revisit avoid`) depends on its past. In both cases the next step is not a function of the state, so there is no
policy graph, a run says nothing about runs from the states along it, and returning to a state is not a loop. Still,
each run is a sequence of transitions of the task, so it bounds the cost of the cheapest plan of every state on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misstep.errors import MisstepError, UnsupportedError
from misstep.policies.policy import Policy
from misstep.raised import in_words
from misstep.runs.follow import path_cost
from misstep.runs.outcomes import DEFAULT_MAX_STEPS, OUTCOMES
from misstep.runs.runner import Contradiction, PolicyRunner, RunEnds, Trace
from misstep.runs.single import run_once
from misstep.stops import ends_work
from misstep.tasks.task import State


class StartRunner(PolicyRunner):
    """Runs a policy from states and remembers what it did from each of them."""

    by_start = True

    def __init__(self, policy: Policy, *, batch_size: int | None = None) -> None:
        """The plan of a policy that answers with plans is followed; any other policy avoids states it has seen."""
        super().__init__(policy, batch_size=batch_size)
        self._runs: dict[State, Trace] = {}
        self._calls = 0

    @property
    def policy_calls(self) -> int:
        return self._calls

    def recall(self, trace: Trace, named: int | None = None) -> None:
        self._runs.setdefault(trace.states[0], replace(trace, named=named))

    def run_ids(
        self,
        ids: NDArray[np.uint32],
        max_steps: int | None = DEFAULT_MAX_STEPS,
        progress: Callable[..., None] | None = None,
    ) -> RunEnds:
        traces = []
        for id in ids.tolist():
            traces.append(self.trace(self.graph.state(id), max_steps))
            if progress is not None:
                progress()
        return RunEnds(
            ids,
            np.array([OUTCOMES.index(trace.outcome) for trace in traces], dtype=np.uint8),
            np.array([len(trace.operators) for trace in traces], dtype=np.int64),
            np.array([trace.cost for trace in traces], dtype=np.int64),
        )

    def trace(self, state: State, max_steps: int | None = DEFAULT_MAX_STEPS) -> Trace:
        known = self._runs.get(state)
        cut = None if known is None else self._cut(known, max_steps)
        if cut is not None:
            return cut
        calls, evaluations = self._calls, self.evaluations
        if self.policy.plans:
            found = self._follow(state, max_steps)
            self._calls += 1
        else:
            found = run_once(self.policy, state, revisit="avoid", max_steps=max_steps)
            self._calls += found.policy_calls
            self.evaluations += found.evaluations
        self._runs[state] = found
        return replace(
            found,
            policy_calls=self._calls - calls,
            evaluations=self.evaluations - evaluations,
        )

    def _cut(self, run: Trace, max_steps: int | None) -> Trace | None:
        """The run cut to a limit; None if it has to be followed further."""
        steps = len(run.operators)
        # A policy that stops after exactly that many steps would have to be asked once more to know it.
        needed = steps + (run.outcome not in ("goal", "cut"))
        if run.outcome != "cut" and (max_steps is None or needed <= max_steps):
            return replace(run, policy_calls=0, evaluations=0)
        if max_steps is None or steps < max_steps:
            return None
        operators = run.operators[:max_steps]
        cost = path_cost(self.task, operators)
        return Trace("cut", run.states[: max_steps + 1], operators, cost)

    def _follow(self, start: State, max_steps: int | None) -> Trace:
        """Follow the plan that the policy gives for a state."""
        states, operators = [start], list[int]()

        def ended(outcome: str, message: str | None = None, named: int | None = None) -> Trace:
            cost = path_cost(self.task, operators)
            return Trace(outcome, states, operators, cost, message, named=named)

        if self.task.is_goal(start):
            return ended("goal")
        try:
            plan = self._plan(start)
        except TimeoutError as error:
            return ended("timeout", in_words(error))
        except BaseException as error:  # also SystemExit: a policy does not end the test
            if isinstance(error, MisstepError) or ends_work(error):
                raise  # the policy as a whole is unusable, or the user or a limit ends the work
            return ended("error", in_words(error))
        for operator in plan:
            if max_steps is not None and len(operators) >= max_steps:
                return ended("cut")
            if operator not in self.task.applicable(states[-1]):
                why = f"({self.task.operator_name(operator)}) does not apply"
                return ended("inapplicable", why, operator)
            states.append(self.task.apply(states[-1], operator))
            operators.append(operator)
            if self.task.is_goal(states[-1]):
                return ended("goal")
        at_limit = max_steps is not None and len(operators) >= max_steps
        return ended("cut" if at_limit else "stuck")

    def _plan(self, state: State) -> list[int]:
        plan = []
        for step, given in enumerate(self.policy.plan(state)):
            if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
                raise ValueError(f"step {step} of the plan is {given!r:.60}; expected an operator")
            if not 0 <= given < self.task.operator_count:
                raise ValueError(f"step {step} of the plan: the task has no operator {given}")
            plan.append(int(given))
        return plan

    def named(self, run: Trace) -> int | None:
        known = self._runs.get(run.states[0])
        return None if known is None or run.outcome != "inapplicable" else known.named

    def message(self, id: int) -> str | None:
        known = self._runs.get(self.graph.state(id))
        return None if known is None else known.message

    def ask(self, ids: NDArray[np.uint32]) -> None:  # noqa: ARG002
        raise UnsupportedError(
            f"the policy {self.policy.name} has no decisions in single states: its runs depend on their start"
        )

    def verify(self, count: int, seed: int = 0) -> list[Contradiction]:  # noqa: ARG002
        """Single decisions cannot be asked again; compare whole runs instead."""
        return []


__all__ = ["StartRunner"]
