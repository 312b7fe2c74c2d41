"""Searches: what they return, their limits and bounds, and that they can be stopped and resumed."""

from __future__ import annotations

import pytest

from misstep import _core
from misstep.errors import UnsupportedError, UsageError
from misstep.planning import SEARCHES, plan
from misstep.tasks.task import Task
from support.tasks import CONDITIONAL, generated_task, random_costs, sas, small_task

UNSOLVABLE = sas([2, 2], [0, 0], [(1, 1)], ["0\n1\n0 0 -1 1\n1", "0\n1\n0 0 -1 0\n1"])
AT_GOAL = sas([2], [1], [(0, 1)], ["0\n1\n0 0 1 0\n1"])
NO_OPERATORS = sas([2], [0], [(0, 1)], [])


@pytest.mark.parametrize("search", SEARCHES)
def test_unsolvable_tasks_are_proven_so(search: str) -> None:
    for text in (UNSOLVABLE, NO_OPERATORS):
        result = plan(Task(text.encode()), search)
        assert (result.status, result.cost, result.lower_bound) == ("unsolvable", None, None)


@pytest.mark.parametrize("search", SEARCHES)
def test_goal_at_the_start_is_an_empty_plan(search: str) -> None:
    result = plan(Task(AT_GOAL.encode()), search)
    assert (result.status, result.operators, result.cost) == ("plan", (), 0)
    assert result.text == "; cost = 0\n"
    assert plan(Task(AT_GOAL.encode()), search, bound=0).status != "plan"


@pytest.mark.parametrize("search", SEARCHES)
def test_a_bound_is_strict_and_its_proof_is_a_proof(search: str) -> None:
    task = small_task("blocksworld-4")
    best = plan(task).cost
    assert best is not None
    for bound in range(best + 3):
        result = plan(task, search, bound=bound)
        if result.status == "plan":
            assert result.cost is not None
            assert result.cost < bound
        elif result.status == "none-below-bound":
            assert bound <= best
        else:
            assert result.status == "undecided"
            assert not SEARCHES[search].optimal


@pytest.mark.parametrize("heuristic", ["lmcut", "blind"])
def test_astar_stops_at_limits_and_goes_on(heuristic: str) -> None:
    task = random_costs(generated_task("blocksworld", blocks=5), seed=3, choices=(1, 2, 9))
    start = task.initial_state
    whole = plan(task, f"astar-{heuristic}")
    engine = _core.AStar(task, _core.LMCut(task) if heuristic == "lmcut" else None, start)
    bounds = []
    expansions = 1
    while (result := engine.run(expansions=expansions)).status == "limit":
        assert result.limit == "expansions"
        assert result.lower_bound is not None
        bounds.append(result.lower_bound)
        expansions += 1
    assert (result.cost, result.expansions) == (whole.cost, whole.expansions)
    assert len(bounds) > 3
    assert all(bound <= (whole.cost or 0) for bound in bounds)
    again = engine.run()
    assert (again.status, again.plan, again.cost) == ("plan", result.plan, result.cost)


def test_a_decided_search_gives_its_result_again() -> None:
    task = small_task("blocksworld-4")
    hff = _core.HFF(task)
    for engine in (
        _core.AStar(task, _core.LMCut(task), task.initial_state),
        _core.GreedyBestFirst(task, hff, task.initial_state),
        _core.EnforcedHillClimbing(task, hff, task.initial_state),
    ):
        first, second = engine.run(), engine.run()
        assert first.status == second.status == "plan"
        assert (first.plan, first.cost) == (second.plan, second.cost)
    unsolvable = Task(UNSOLVABLE.encode())
    hopeless = _core.EnforcedHillClimbing(
        unsolvable, _core.HFF(unsolvable), unsolvable.initial_state
    )
    assert [hopeless.run().status for _ in range(2)] == ["exhausted", "exhausted"]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("limit", "name"),
    [
        ({"max_expansions": 1}, "expansions"),
        ({"time_limit": 1e-9}, "time"),
    ],
)
def test_every_limit_ends_every_search(search: str, limit: dict[str, float], name: str) -> None:
    task = generated_task("blocksworld", blocks=8)
    result = plan(task, search, **limit)  # type: ignore[arg-type]
    assert (result.status, result.limit) == ("limit", name)
    of_memory = SEARCHES[search].build(task, task.initial_state, None).run(bytes=0)
    assert (of_memory.status, of_memory.limit) == ("limit", "memory")


def test_progress_is_reported_and_errors_in_it_end_the_search() -> None:
    task = generated_task("blocksworld", blocks=12)
    calls = []
    plan(task, "astar-blind", time_limit=0.5, progress=lambda *numbers: calls.append(numbers))
    assert calls
    assert all(len(numbers) == 5 for numbers in calls)

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        plan(task, "astar-blind", time_limit=60, progress=stop)


def test_conditional_effects_are_refused_by_name() -> None:
    task = Task(CONDITIONAL.encode())
    with pytest.raises(UnsupportedError, match="LM-cut"):
        plan(task, "astar-lmcut")
    best = plan(task, "astar-blind").cost
    assert best == plan(task, "astar-max").cost
    for search in ("gbfs-ff", "ehc-ff"):
        cost = plan(task, search).cost
        assert cost is not None
        assert best is not None
        assert cost >= best


def test_a_heuristic_of_another_task_is_refused() -> None:
    a, b = small_task("gripper-4"), small_task("ferry-3")
    with pytest.raises(ValueError, match="another task"):
        _core.AStar(a, _core.LMCut(b), a.initial_state)


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean astar-lmcut"):
        plan(small_task("gripper-4"), "astar-lmcutt")
