"""A policy on the workbench: its runs, the bounds, and the verdicts that follow from the two."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from misstep import _core
from misstep.checking.dominance import Values
from misstep.checking.permitted import PermittedSets
from misstep.oracles.bounds import BoundStore
from misstep.oracles.metamorphic.comparisons import Dominance
from misstep.oracles.metamorphic.pool import ComparisonPool
from misstep.oracles.permitted import check_sets, sets_behind
from misstep.oracles.undo import Undoer
from misstep.oracles.values import Cost, PolicyCost, cost_of_permitted, cost_of_run
from misstep.oracles.verdict import Objective, Verdict, judge
from misstep.oracles.witness import check_witness, named_operator, twin_of
from misstep.planning import make_heuristic
from misstep.policies.policy import States
from misstep.runs.outcomes import DEFAULT_MAX_STEPS, OUTCOMES
from misstep.runs.permitted import PermittedRuns, WorstCase
from misstep.runs.runner import PolicyRunner, RunEnds, Trace
from misstep.tasks.task import State


class Workbench:
    """What all oracles of a test share: the policy's decisions, the bound store, the heuristics of the task."""

    def __init__(
        self,
        runner: PolicyRunner,
        *,
        objective: Objective = Objective.COST,
        max_steps: int | None = DEFAULT_MAX_STEPS,
        bounds: BoundStore | None = None,
        dominance: Dominance | str | None = None,
    ) -> None:
        """`dominance` is a function of the task, or why there is none; left out, it is computed when it is needed."""
        self.runner = runner
        self.task = runner.task
        self.objective = objective
        self.max_steps = max_steps
        self.bounds = BoundStore(self.task) if bounds is None else bounds
        self.pool: ComparisonPool | None = None  # of the metamorphic oracles, once there is one
        self._heuristics: dict[str, _core.Heuristic] = {}
        self._dominance = dominance
        self._fed: dict[
            State, int
        ] = {}  # runs that depend on their start and are in the store, and how far

    def heuristic(self, name: str) -> _core.Heuristic:
        """A heuristic of the task, built once."""
        if name not in self._heuristics:
            self._heuristics[name] = make_heuristic(name, self.task)
        return self._heuristics[name]

    @property
    def dominance(self) -> Dominance | str:
        """The dominance function of the task, or why there is none."""
        if self._dominance is None:
            from misstep.oracles.dominance import try_dominance

            self._dominance = try_dominance(self.task)
        return self._dominance

    @cached_property
    def undoer(self) -> Undoer:
        return Undoer(self.task)

    @cached_property
    def admissible(self) -> str:
        """The best admissible heuristic that the task allows."""
        return "max" if self.task.has_conditional_effects else "lmcut"

    @cached_property
    def least_cost(self) -> int:
        """The cost of the cheapest operator."""
        return min((self.task.cost(op) for op in range(self.task.operator_count)), default=0)

    def steps_worth_taking(self, cost: Cost) -> int | None:
        """Steps after which a run has surely spent that much; None: it may never have."""
        least = self.least_cost
        return None if math.isinf(cost) or least == 0 else int(-(-cost // least))

    def run(self, states: States, max_steps: int | None = None) -> RunEnds:
        """Run the policy from each state, in batches, and take the runs in."""
        limits = [limit for limit in (self.max_steps, max_steps) if limit is not None]
        limit = min(limits, default=None)
        ends = self.runner.run(states, limit)
        if self.runner.by_start:
            for row in np.asarray(states).tolist():
                self._feed(State(row), limit)
        else:
            self.bounds.add_runs(self.runner.graph, ends.ids, limit)
        return ends

    def _feed(self, state: State, limit: int | None) -> None:
        """Take the transitions of a run in that is in no policy graph."""
        operators = self.runner.trace(state, limit).operators
        if self._fed.get(state, -1) < len(operators):
            self.bounds.add_path(state, operators)
            self._fed[state] = len(operators)

    def policy_cost(self, state: State) -> PolicyCost:
        ends = self.run(_rows([state]))
        outcome, cost = OUTCOMES[ends.outcomes[0]], int(ends.costs[0])
        runs = self.permitted(state)
        if runs is None:
            return cost_of_run(outcome, cost)
        return cost_of_permitted(outcome, cost, runs, costly_some=self.costly_some)

    @property
    def worst_case(self) -> WorstCase | None:
        """The chooser, if the policy is set-valued."""
        policy = self.runner.policy
        return policy if isinstance(policy, WorstCase) else None

    @property
    def costly_some(self) -> bool:
        return self.worst_case is not None and self.worst_case.dearest

    def permitted(self, state: State) -> PermittedRuns | None:
        """What is known of all runs that a set-valued policy permits from a state."""
        return None if self.worst_case is None else self.worst_case.facts(state)

    @cached_property
    def sets(self) -> PermittedSets:
        """What the checker was told that a set-valued policy permits."""
        return PermittedSets(twin_of(self.task))

    def trace(self, state: State) -> Trace:
        """The run that the verdict on a state speaks of."""
        return self.runner.trace(state, self.max_steps)

    def verdict_of(self, state: State) -> Verdict:
        """The current verdict on a state. Runs the policy if needed, but does not search."""
        return read_verdict(self.bounds, state, self.policy_cost(state), self.objective)

    def named(self, run: Trace) -> int | None:
        """The operator that the policy chose at the end of a run where it did not apply."""
        return named_operator(self.runner, run)

    def check(self, verdict: Verdict) -> None:
        """Let the independent checker replay a verdict; raises an error if anything is not as claimed."""
        run = self.trace(verdict.state)
        known = None if verdict.derivation is None else self.dominance
        tables = None if known is None or isinstance(known, str) else known.independent()
        self.check_run(verdict, run, self.named(run), tables)

    def check_run(
        self, verdict: Verdict, run: Trace, named: int | None, tables: Values | None
    ) -> None:
        """The same for a run that may have been made before."""
        chooser = self.worst_case
        check_witness(
            self.task,
            run,
            verdict,
            named,
            tables,
            revisits=self.runner.policy.plans,
            of_set=chooser is not None,
        )
        if chooser is not None:
            check_sets(
                self.sets,
                sets_behind(chooser, run, verdict),
                run,
                named,
                chooser.facts(verdict.state),
                verdict,
                costly_some=chooser.dearest,
            )

    def verdicts_of(self, states: Iterable[State]) -> list[Verdict]:
        """`verdict_of` for many states, which run together."""
        states = list(states)
        if states:
            self.run(_rows(states))
        return [self.verdict_of(state) for state in states]


def read_verdict(
    bounds: BoundStore, state: State, cost: PolicyCost, objective: Objective
) -> Verdict:
    """The verdict that follows from what a bound store knows about a state, and from what the policy costs there."""
    lower, upper = bounds.bounds(state)
    return judge(
        state,
        cost,
        lower,
        upper,
        bounds.witness(state),
        objective,
        bounds.derivation(state),
        bounds.plan_cost(state),
    )


def _rows(states: list[State]) -> States:
    return np.array([state.values for state in states], dtype=np.int32)


__all__ = ["Workbench", "read_verdict"]
