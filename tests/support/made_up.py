"""Large campaigns that are made up, for what has to cope with many records: valid states, runs and plans."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


# -- strangers ------------------------------------------------------------------------------------

# Names as somebody would choose them who wants a report to do something else than show them.
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "</script><svg onload=alert(3)>",
    "\u202egnp.exe \u2066 \u05e9\u05dc\u05d5\u05dd",
    "bell\x07 escape\x1b[31m null-ish\x7f",
    "=HYPERLINK(0)",
    "x" * 10_000,
)


def hostile_task(name: str) -> Task:
    """A counter whose facts and operators have those names; each operator goes on by one."""
    last = len(HOSTILE) - 1
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric", "1"]
    lines += ["begin_variable", "var0", "-1", str(last + 1)]
    lines += [*(f"Atom {own}" for own in HOSTILE), "end_variable", "0", "begin_state", "0"]
    lines += ["end_state", "begin_goal", "1", f"0 {last}", "end_goal", str(last)]
    for value in range(last):
        lines += ["begin_operator", HOSTILE[value], "0", "1", f"0 0 {value} {value + 1}", "1"]
        lines += ["end_operator"]
    return Task("\n".join([*lines, "0", ""]).encode(), name=name)


def wide_task(facts: int) -> Task:
    """So many facts are true in every state; the only operator changes the first of them."""
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric", str(facts)]
    for number in range(facts):
        values = [f"Atom is(thing{number})", f"Atom was(thing{number})"]
        lines += ["begin_variable", f"var{number}", "-1", "2", *values, "end_variable"]
    lines += ["0", "begin_state", *["0"] * facts, "end_state", "begin_goal", "1", "0 1", "end_goal"]
    lines += ["1", "begin_operator", "go", "0", "1", "0 0 0 1", "1", "end_operator", "0", ""]
    return Task("\n".join(lines).encode(), name="wide")


def one_bug(
    folder: Path,
    task: Task,
    *,
    policy: str = "heuristic:ff",
    message: str = "",
    derivation: tuple[dict[str, Any], ...] | None = None,
) -> Path:
    """A campaign of one state, the initial one, where the policy stops although all operators in a row are a plan.

    With a derivation that is the proof, and there is no plan.
    """
    plan = tuple(range(task.operator_count))
    state = tuple(task.initial_state.values)
    with create_store(folder, Settings(policy, oracle="undo").as_dict()) as store:
        content = Content(store)
        content.set_policy(policy, "abc")
        content.add_task(task)
        findings = content.findings(task.name)
        with store.unit():
            findings.add_states([StateRow(0, state)])
            findings.add_runs([RunRow(0, "stuck", 0, (), message=message or None)])
            proof = (plan, None) if derivation is None else (None, derivation)
            bug = (0, "undo", 0, "BUG", "fails", None, None, 1, len(plan), "ehc")
            findings.add_verdicts([VerdictRow(*bug, *proof)])
            findings.add_faults([FaultRow(0, 0, state, None, 0, None, None, 1.0)])
            findings.mark_done("blamed", "0", 0.0, 0)
    return folder


__all__ = ["HOSTILE", "hostile_task", "large_campaign", "one_bug", "wide_task"]
