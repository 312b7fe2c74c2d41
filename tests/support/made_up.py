"""Large campaigns that are made up, for what has to cope with many records: valid states, runs and plans."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from misstep.campaigns.rows import FaultRow, RunRow, StateRow, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.store import create_store
from misstep.campaigns.tables import Content, Findings
from misstep.tasks.task import State, Task
from support.large import delivery

ORACLES = ("bmo(100)+aras/ehc", "astar(evaluations=1000)")
BATCH = 5000
TRUCKS, PLACES = 2, 6


def large_campaign(folder: Path, count: int, *, tasks: int = 4, seed: int = 1) -> Path:
    """A finished campaign of `count` tested states; half of them bugs, of every kind."""
    settings = Settings("heuristic:ff", seed=seed, oracle=ORACLES[0])
    with create_store(folder, settings.as_dict()) as store:
        content = Content(store)
        content.set_policy("heuristic:ff", "abc")
        for number in range(tasks):
            task = delivery(TRUCKS, PLACES, 6 + number)
            task.name = f"delivery-{number + 1}"
            content.add_task(task)
            own = count // tasks + (count % tasks if number == 0 else 0)
            _fill(content.findings(task.name), task, own, random.Random(seed + number))
        store.rows("INSERT OR REPLACE INTO meta VALUES ('finished', '1') RETURNING key")
    return folder


def _fill(findings: Findings, task: Task, count: int, draw: random.Random) -> None:
    walks = list(_walks(task, draw, min(count, 500)))
    for first in range(0, count, BATCH):
        numbers = range(first, min(count, first + BATCH))
        with findings.store.unit():
            findings.add_states([_state(n, walks[n % len(walks)]) for n in numbers])
            findings.add_runs([_run(n, walks[n % len(walks)]) for n in numbers])
            for n in numbers:
                findings.add_verdicts(_verdicts(n, walks[n % len(walks)]))
            bugs = [n for n in numbers if n % 2]
            findings.add_faults([_fault(n, walks[n % len(walks)]) for n in bugs])
            for n in bugs:
                findings.mark_done("blamed", str(n), 0.0, 0)


def _walks(task: Task, draw: random.Random, count: int) -> Iterator[list[tuple[State, int]]]:
    """Random drives of 10 to 30 steps, as pairs of a state and an operator; they apply wherever the packages are."""
    drives = {op for op, name in enumerate(task.operator_names) if name.startswith("drive")}
    for _ in range(count):
        state, walk = task.initial_state, []
        for _ in range(draw.randrange(10, 30)):
            operator = draw.choice([op for op in task.applicable(state) if op in drives])
            walk.append((state, operator))
            state = task.apply(state, operator)
        yield walk


def _state(number: int, walk: list[tuple[State, int]]) -> StateRow:
    state = _with_packages(walk[0][0], number)
    if number == 0:
        return StateRow(0, state)
    return StateRow(number, state, 0, (), 10 * number, number, 0, 0.001)


def _with_packages(state: State, number: int) -> tuple[int, ...]:
    """The packages lie at the digits of the number, so that all states differ."""
    values = list(state.values)
    for place in range(TRUCKS, len(values)):
        number, values[place] = divmod(number, PLACES + TRUCKS)
    return tuple(values)


def _run(number: int, walk: list[tuple[State, int]]) -> RunRow:
    outcome = "loop" if number % 4 == 1 else "goal"
    return RunRow(number, outcome, 60, tuple(op for _, op in walk), seconds=0.001)


def _verdicts(number: int, walk: list[tuple[State, int]]) -> list[VerdictRow]:
    plan = tuple(op for _, op in walk[: len(walk) // 2])
    at = number * 0.01
    if number % 4 == 1:
        kind, low, high = "fails", None, None
    else:
        kind, low, high = "costly", 1 + number % 37, 2 + number % 41 + 37
    if number % 2:
        bug = (0, "BUG", kind, low, high, 3, 20, "aras", plan)
        return [VerdictRow(number, oracle, *bug, expansions=5, at=at) for oracle in ORACLES]
    verdict = "OPTIMAL" if number % 3 else "UNKNOWN"
    return [VerdictRow(number, ORACLES[0], 0, verdict, None, 0, 0, 3, 60, "astar", at=at)]


def _fault(number: int, walk: list[tuple[State, int]]) -> FaultRow:
    step = number % len(walk)
    state, operator = walk[step]
    better = walk[(step + 1) % len(walk)][1]
    return FaultRow(number, step, _with_packages(state, number), operator, better, 1, 2, 0.5)


__all__ = ["large_campaign"]
