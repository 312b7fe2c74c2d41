"""Planning with the native searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from misstep import _core
from misstep.errors import UsageError
from misstep.ranges import bytes_of, check_limits, check_whole
from misstep.tasks.task import State, Task

HEURISTICS: dict[str, Callable[[Task], _core.Heuristic]] = {
    "ff": _core.HFF,
    "add": _core.HAdd,
    "max": _core.HMax,
    "lmcut": _core.LMCut,
}


@dataclass(frozen=True)
class SearchKind:
    """A search algorithm with its heuristic. If it is `optimal`, it returns cheapest plans."""

    summary: str
    optimal: bool
    build: Callable[[Task, State, int | None], Any]


SEARCHES: dict[str, SearchKind] = {
    "astar-lmcut": SearchKind(
        "A* with LM-cut: cheapest plan, or a proof that there is none",
        True,
        lambda task, start, bound: _core.AStar(task, _core.LMCut(task), start, bound),
    ),
    "astar-max": SearchKind(
        "A* with hmax; also for tasks with conditional effects",
        True,
        lambda task, start, bound: _core.AStar(task, _core.HMax(task), start, bound),
    ),
    "astar-blind": SearchKind(
        "A* without a heuristic; also for tasks with conditional effects",
        True,
        lambda task, start, bound: _core.AStar(task, None, start, bound),
    ),
    "gbfs-ff": SearchKind(
        "greedy best-first search with hFF: some plan, fast",
        False,
        lambda task, start, bound: _core.GreedyBestFirst(task, _core.HFF(task), start, bound),
    ),
    "ehc-ff": SearchKind(
        "enforced hill-climbing with hFF: some plan, fast, may give up",
        False,
        lambda task, start, bound: _core.EnforcedHillClimbing(task, _core.HFF(task), start, bound),
    ),
}


@dataclass(frozen=True)
class PlanResult:
    """The result of a search.

    `status` is "plan", "unsolvable" (proven), "none-below-bound" (proven: no plan is cheaper than the bound),
    "undecided" (the method gave up) or "limit" (`limit` then names which one). No plan is cheaper than `lower_bound`;
    None means that there is no plan.
    """

    status: str
    limit: str | None
    operators: tuple[str, ...]
    cost: int | None
    lower_bound: int | None
    expansions: int
    evaluations: int
    generated: int
    registered: int
    bytes: int

    @property
    def text(self) -> str:
        """The plan in the format of the planning competitions."""
        lines = [f"({name})\n" for name in self.operators]
        return "".join(lines) + f"; cost = {self.cost}\n"


def make_heuristic(name: str, task: Task) -> _core.Heuristic:
    """Make a heuristic for the task: ff, add, max or lmcut. Call it with a state; `evaluate_batch` takes many."""
    return HEURISTICS[known_heuristic(name)](task)


def known_heuristic(name: str) -> str:
    """The name, or an error if there is no such heuristic."""
    if name not in HEURISTICS:
        raise UsageError(f"there is no heuristic {name!r}", expected=", ".join(HEURISTICS))
    return name


def plan(
    task: Task,
    search: str = "astar-lmcut",
    *,
    start: State | None = None,
    bound: int | None = None,
    time_limit: float | None = None,
    memory_limit_mb: int | None = None,
    max_expansions: int | None = None,
    progress: Callable[..., None] | None = None,
) -> PlanResult:
    """Search for a plan from `start` (default: the initial state), cheaper than `bound` if one is given."""
    if search not in list(SEARCHES):  # which also takes what has no hash
        close = get_close_matches(str(search), SEARCHES, 1)
        raise UsageError(
            f"no search {search!r}",
            expected=", ".join(SEARCHES),
            hint=f"did you mean {close[0]}?" if close else None,
        )
    if bound is not None:
        check_whole("bound", bound, 0)
    if start is not None and not isinstance(start, State):
        raise UsageError(
            f"start is {start!r:.80}", expected="a State, as task.parse_state makes it"
        )
    check_limits(
        time_limit=time_limit, memory_limit_mb=memory_limit_mb, max_expansions=max_expansions
    )
    kind = SEARCHES[search]
    engine = kind.build(task, task.initial_state if start is None else start, bound)
    result = engine.run(
        seconds=time_limit,
        bytes=bytes_of(memory_limit_mb),
        expansions=max_expansions,
        progress=progress,
    )
    status = result.status
    if status == "exhausted":
        if result.lower_bound is None:
            status = "unsolvable"
        else:
            proven = bound is not None and result.lower_bound >= bound
            status = "none-below-bound" if proven else "undecided"
    return PlanResult(
        status=status,
        limit=result.limit if status == "limit" else None,
        operators=tuple(task.operator_name(op) for op in result.plan),
        cost=result.cost,
        lower_bound=result.lower_bound,
        expansions=result.expansions,
        evaluations=result.evaluations,
        generated=result.generated,
        registered=result.registered,
        bytes=result.bytes,
    )


__all__ = ["HEURISTICS", "SEARCHES", "PlanResult", "known_heuristic", "make_heuristic", "plan"]
