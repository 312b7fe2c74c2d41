"""Signals and time limits are heard in the middle of work on one state, not only between states."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np
import pytest

from misstep import _core
from misstep.tasks.task import Task
from support.large import delivery


class Stop(BaseException):
    """Raised by the alarm."""


@pytest.fixture(scope="module")
def task() -> Task:
    return delivery(trucks=4, places=60, packages=4)  # 16,000 operators


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def heuristics() -> list[Callable[[Task], _core.Heuristic]]:
    return [_core.HMax, _core.HAdd, _core.HFF, _core.LMCut]


@pytest.mark.parametrize("make", heuristics())
def test_a_batch_of_estimates_is_interrupted(
    task: Task, make: Callable[[Task], _core.Heuristic]
) -> None:
    states = np.array([task.initial_state.values] * 200_000, dtype=np.int32)  # minutes of work
    heuristic = make(task)
    began = perf_counter()
    with pytest.raises(Stop), alarm(0.05):
        heuristic.evaluate_batch(states)
    assert perf_counter() - began < 20


def test_successors_of_a_batch_are_interrupted(task: Task) -> None:
    states = np.array([task.initial_state.values] * 300_000, dtype=np.int32)
    seen: list[object] = []
    with pytest.raises(Stop), alarm(0.02):
        seen.append(task.applicable_batch(states))
    assert seen == []


@pytest.mark.parametrize("search", [_core.AStar, _core.GreedyBestFirst])
def test_a_time_limit_ends_an_expansion(
    task: Task, search: type[_core.AStar] | type[_core.GreedyBestFirst]
) -> None:
    """Also the first one; the search goes on from there and finds what it would have found."""
    start = task.initial_state
    whole = search(task, _core.HFF(task), start).run(expansions=2)
    parts = search(task, _core.HFF(task), start)
    first = parts.run(seconds=1e-6)
    assert first.limit == "time"
    sessions = 0
    while (found := parts.run(seconds=2e-3, expansions=2)).limit == "time":
        sessions += 1
        assert sessions < 100_000
    assert found.expansions == whole.expansions
    assert found.registered == whole.registered
    if search is _core.AStar:
        assert found.lower_bound == whole.lower_bound


def test_an_interrupted_search_says_so(task: Task) -> None:
    search = _core.AStar(task, _core.LMCut(task), task.initial_state)
    with pytest.raises(Stop), alarm(0.05):
        search.run()
    with pytest.raises(RuntimeError, match="was interrupted and cannot go on"):
        search.run()
