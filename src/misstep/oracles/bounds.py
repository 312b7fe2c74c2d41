"""The bound store: what is known about the cheapest plan of every state ever seen.

An oracle that only says "bug" or "no bug" loses what it has found out, although the next state may be a single step
away. So oracles here do not give verdicts. They find bounds on h*, the cost of the cheapest plan, and put them into one
store; verdicts follow from the store (`verdict.judge`).

Upper bounds u(s) >= h*(s) are plans. The store does not keep plans as such: it keeps all known transitions, and for
every state the cheapest path to a goal through them. A plan is added as its transitions, and so is a run of the policy,
whether it reaches the goal or not, and everything that a lookahead or a search around a plan expands. Two plans that
cross give a third one that no search has found. A new transition that improves one state also improves the states that
lead to it; this is propagated backwards at once, only where something changes.
Several rules of the papers are special cases: policy-predecessors of a bug are bugs with at least its gap; the states
of a run are tested together with its first state; the plan of one pool state serves another by the walk between them.
The witness of a bound is the path through the transitions, so each bound can be replayed.

Not every upper bound has a plan. A dominance function proves h*(t) <= h*(s) - D(s,t), which enters as one more way
from t on, a jump to s; its witness is a derivation (`derivation.py`). Plans are kept apart from what is derived, and
preferred where both prove the same.

Lower bounds l(s) <= h*(s) are proofs: an admissible heuristic, an exhausted search, or the fact that all states that
can be reached from s are expanded. They are propagated forwards: l(t) >= l(s) - c if s leads to t at cost c. One run
that is proven optimal proves every state along it optimal.

Both are about the task and not about the policy, so one store can serve all policies that are compared on a task.

The two kinds of bounds come from different code: transitions and Dijkstra's algorithm for upper bounds, LM-cut and A*
for lower bounds. If l(s) > u(s), one of them is wrong, and no verdict can be trusted. This is checked whenever a bound
is read or raised, and is an error that stops everything.

From searches with their own state table (A*, EHC, greedy search), only the plans are added; copying the tables would
double the memory of every search, to improve bounds of states that are not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import InputFormatError, MisstepError
from misstep.oracles.derivation import Derivation
from misstep.oracles.knowledge import Knowledge
from misstep.oracles.values import Cost
from misstep.policies.policy import States
from misstep.tasks.task import State, Task


class Bounds(NamedTuple):
    """The cheapest plan costs at least `lower` and at most `upper`; both infinite: there is none."""

    lower: Cost
    upper: Cost


class Leaves(NamedTuple):
    """Where a lookahead ends: states, a row each, what it costs to get there, and what it took."""

    states: States
    costs: NDArray[np.int64]
    expansions: int
    limit: str | None


class BoundStore:
    """Bounds on the cost of the cheapest plan of every state of a task, with a witness for each upper bound."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.graph = _core.BoundStore(task)
        self._feeders: dict[int, _core.RunFeeder] = {}

    def __len__(self) -> int:
        return len(self.graph)

    # -- reading ----------------------------------------------------------------------------------

    def bounds(self, state: State) -> Bounds:
        bounds = Bounds(*self.graph.bounds(state))
        if bounds.lower > bounds.upper:
            raise self._contradiction(state, bounds)
        return bounds

    def witness(self, state: State) -> tuple[int, ...] | None:
        """The cheapest known plan; None if there is none. The upper bound may be lower than its cost."""
        plan = self.graph.witness(state)
        return None if plan is None else tuple(plan)

    def plan_cost(self, state: State) -> Cost:
        """The cost of the cheapest known plan."""
        return self.graph.plan_cost(state)

    def plan_costs(self, states: States) -> NDArray[np.float64]:
        """The costs of the cheapest known plans of many states, one per row."""
        return self.graph.plan_costs(states)

    def derivation(self, state: State) -> Derivation | None:
        """The proof of the upper bound, if no known plan is as cheap."""
        steps = self.graph.derivation(state)
        return None if steps is None else Derivation.of(steps)

    def check(self) -> None:
        """Compares both bounds of all states."""
        lower, upper = self.graph.all_bounds()
        wrong = np.flatnonzero(lower > upper)
        if len(wrong):
            state = State(self.graph.states()[wrong[0]].tolist())
            raise self._contradiction(state, Bounds(lower[wrong[0]], upper[wrong[0]]))

    # -- upper bounds -----------------------------------------------------------------------------

    def add_path(self, state: State, operators: Sequence[int]) -> None:
        """Add the transitions along a path, wherever it leads."""
        self.graph.add_path(state, operators)

    def add_plan(self, state: State, plan: Sequence[int], cost: int) -> None:
        """Add a plan and check its claimed cost."""
        try:
            self.graph.add_path(state, plan)
        except ValueError as error:
            raise MisstepError(
                f"internal error: an oracle found an invalid plan: {error}; state {state}, plan {list(plan)}"
            ) from error
        upper = self.bounds(state).upper
        if upper > cost:
            raise MisstepError(
                f"internal error: an oracle found a plan of cost {cost}, but its transitions give {upper}; "
                f"state {state}, plan {list(plan)}"
            )

    def add_runs(
        self, policy: _core.PolicyGraph, ids: NDArray[np.uint32], max_steps: int | None = None
    ) -> None:
        """Add the runs from these states of a policy graph, up to a number of steps."""
        if (
            id(policy) not in self._feeders
        ):  # the feeder keeps the policy graph alive, and with it the key
            self._feeders[id(policy)] = _core.RunFeeder(policy, self.graph)
        self._feeders[id(policy)].feed(ids, max_steps)

    def add_dominance(self, dominated: State, dominating: State, value: int) -> None:
        """Add that D(dominated, dominating) = value: a bound on the first state then bounds the second."""
        self.graph.add_jump(dominating, dominated, value)

    def look_ahead(
        self,
        state: State,
        depth: int,
        bound: Cost,
        *,
        expansions: int | None = None,
        seconds: float | None = None,
    ) -> Leaves:
        """Expand all states fewer than `depth` steps away and cheaper than `bound`; returns the leaves."""
        states, costs, expanded, limit = self.graph.look_ahead(
            state, depth, finite_or_none(bound), expansions=expansions, seconds=seconds
        )
        return Leaves(states, costs, expanded, None if limit == "none" else limit)

    # -- handing on -------------------------------------------------------------------------------

    def knowledge(self, states: States) -> Knowledge:
        """What the bounds of these states (one per row) rest on, and the transitions between them."""
        return Knowledge(*self.graph.knowledge(states))

    def add_knowledge(self, knowledge: Knowledge) -> None:
        """Add the knowledge of another store of this task."""
        try:
            self.graph.add_knowledge(knowledge.states, knowledge.lower, knowledge.edges)
        except ValueError as error:
            raise InputFormatError(
                f"the knowledge does not fit the task: {error}", where=self.task.name
            ) from error

    # -- lower bounds -----------------------------------------------------------------------------

    def raise_lower_bound(self, state: State, bound: Cost) -> None:
        """Add the proof that no plan is cheaper than `bound`; if it is infinite, that there is no plan."""
        self.graph.raise_lower_bound(state, finite_or_none(bound))
        self.bounds(state)

    def close(
        self, state: State, *, expansions: int | None = None, seconds: float | None = None
    ) -> tuple[int, str | None]:
        """Expand all reachable states. Returns the number of expansions, and the limit that ended it, if any."""
        closed, expanded, limit = self.graph.close(state, expansions=expansions, seconds=seconds)
        return expanded, None if closed else limit

    def _contradiction(self, state: State, bounds: Bounds) -> MisstepError:
        plan = self.graph.witness(state)
        names = None if plan is None else [self.task.operator_name(op) for op in plan]
        return MisstepError(
            f"internal error: no plan is said to be cheaper than {bounds.lower}, but one costs {bounds.upper}; "
            f"state {state} ({', '.join(self.task.facts(state))}), plan {names}",
            where=self.task.name,
        )


def finite_or_none(bound: Cost) -> int | None:
    return None if math.isinf(bound) else int(bound)


__all__ = ["BoundStore", "Bounds", "Leaves", "finite_or_none"]
