"""Small models and tasks with policies that are tables, and what is true of them by brute force."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from misstep.checking.certificates.container import MAGIC
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import State, Task
from support import jani
from support.safety import GOAL, UNSAFE, Explicit, is_safe, policy_graph, random_world
from support.tasks import sas

LABELS = "a b c d e f"
Header = dict[str, Any]  # of a certificate
Columns = list[list[int]]
Change = Callable[[Header, Columns], tuple[Header, Columns]]


def model_of(world: Explicit, starts: list[int], listed: bool) -> JaniTask:
    """The system as a JANI model of one variable; starts as a list or as a condition."""
    edges = []
    for s, actions in enumerate(world.actions):
        for label, targets in actions:
            outcomes = sorted(set(targets))
            places = [
                jani.destination({"s": t}, 1 / len(outcomes) if len(outcomes) > 1 else None)
                for t in outcomes
            ]
            edges.append(jani.edge(LABELS.split()[label], jani.op("=", "s", s), *places))
    start: Any
    if listed:
        values = [{"variables": [{"var": "s", "value": s}]} for s in starts]
        start = {"op": "states-values", "values": values}
    else:
        start = {"op": "state-condition", "exp": _one_of(starts)}
    flags = world.flags
    unsafe = [s for s in range(len(world)) if flags[s] & UNSAFE]
    goal = [s for s in range(len(world)) if flags[s] & GOAL]
    return jani.task(
        jani.model(
            [jani.variable("s", jani.bounded(0, len(world) - 1))],
            edges,
            actions=LABELS,
            prop=jani.pa(_one_of(unsafe), _one_of(goal), start),
        )
    )


def _one_of(states: list[int]) -> Any:
    if not states:
        return False
    tests = [jani.op("=", "s", s) for s in states]
    return tests[0] if len(tests) == 1 else jani.op("∨", *tests)  # noqa: RUF001


def table_policy(world: Explicit) -> Callable[[Any], str | None]:
    labels = LABELS.split()

    def act(state: Any) -> str | None:
        label = world.policy[state["s"]]
        return None if label < 0 else labels[label]

    return act


def random_model(random: Random) -> tuple[Explicit, list[int]]:
    world = random_world(random, 3, 25, stops=False)
    starts = sorted(random.sample(range(len(world)), random.randint(1, min(4, len(world)))))
    return world, starts


def true_answer(world: Explicit, starts: list[int]) -> str:
    """By the definitions: what the policy can get to from each start, and whether some strategy avoids it."""
    safe = is_safe(world, None)
    bad = [
        start
        for start in starts
        if any(world.flags[s] & UNSAFE for s in policy_graph(world, start))
    ]
    if not bad:
        return "PROVEN"
    return "BUG" if any(safe[start] for start in bad) else "NOT A BUG"


def random_task(random: Random) -> Task:
    """A few small variables and random operators."""
    domains = [random.randint(2, 3) for _ in range(random.randint(2, 3))]

    def value(variable: int) -> int:
        return random.randrange(domains[variable])

    operators = []
    for _ in range(random.randint(3, 9)):
        changed = random.sample(range(len(domains)), random.randint(1, 2))
        kept = [v for v in range(len(domains)) if v not in changed and random.random() < 0.5]
        lines = [str(len(kept)), *(f"{v} {value(v)}" for v in kept), str(len(changed))]
        lines += [f"0 {v} {value(v) if random.random() < 0.7 else -1} {value(v)}" for v in changed]
        operators.append("\n".join([*lines, str(random.randint(0, 3))]))
    goal = [(v, value(v)) for v in random.sample(range(len(domains)), random.randint(1, 2))]
    initial = [value(v) for v in range(len(domains))]
    return Task(sas(domains, initial, sorted(goal), operators).encode(), name="random")


class TableOperators:
    """Decides at random, once and for all; sometimes for nothing, or for what does not apply."""

    deterministic = True

    def __init__(self, task: Task, seed: int, good: float) -> None:
        self.task, self.seed, self.good = task, seed, good
        self.best: dict[tuple[int, ...], int] = {}

    def decision(self, state: State) -> int | None:
        random = Random(f"{self.seed} {tuple(state.values)}")
        key = tuple(state.values)
        if random.random() < self.good and key in self.best:
            return self.best[key]
        applicable = self.task.applicable(state)
        choice = random.random()
        if not applicable or choice < 0.02:
            return None
        return random.choice(applicable)


def reachable(task: Task) -> list[State]:
    found = [task.initial_state]
    seen = set(found)
    for state in found:  # grows
        for operator in task.applicable(state):
            after = task.apply(state, operator)
            if after not in seen:
                seen.add(after)
                found.append(after)
    return found


def solvable_states(task: Task, states: list[State]) -> set[State]:
    """By repetition until nothing changes."""
    found = {state for state in states if task.is_goal(state)}
    changed = True
    while changed:
        changed = False
        for state in states:
            after = (task.apply(state, operator) for operator in task.applicable(state))
            if state not in found and any(one in found for one in after):
                found.add(state)
                changed = True
    return found


def reaches(task: Task, decide: Callable[[State], int | None], state: State) -> bool:
    seen = set()
    while not task.is_goal(state):
        operator = decide(state)
        if state in seen or operator is None or operator not in task.applicable(state):
            return False
        seen.add(state)
        state = task.apply(state, operator)
    return True


# -- taking certificates apart ----------------------------------------------------------------------


def taken_apart(content: bytes) -> tuple[dict[str, Any], list[list[int]]]:
    """The header, and the numbers of each column as they stand there."""
    end = content.index(b"\n", len(MAGIC))
    header: dict[str, Any] = json.loads(content[len(MAGIC) : end])
    place, columns = end + 1, []
    for one in header["columns"]:
        data = zlib.decompress(content[place : place + one["bytes"]])
        place += one["bytes"]
        width = one["width"]
        columns.append(
            [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]
        )
    return header, columns


def put_together(header: dict[str, Any], columns: list[list[int]]) -> bytes:
    header = json.loads(json.dumps(header))
    header["states"] = len(columns[0])
    parts = []
    for one, numbers in zip(header["columns"], columns, strict=True):
        data = b"".join(n.to_bytes(one["width"], "little") for n in numbers)
        parts.append(zlib.compress(data))
        one["bytes"] = len(parts[-1])
    return b"".join((MAGIC, json.dumps(header).encode(), b"\n", *parts))


def without_row(columns: Columns, row: int) -> Columns:
    return [column[:row] + column[row + 1 :] for column in columns]


def with_row(columns: Columns, *values: int) -> Columns:
    return [[*column, value] for column, value in zip(columns, values, strict=True)]


def changed_header(path: str, value: Any) -> Change:
    def change(header: Header, columns: Columns) -> tuple[Header, Columns]:
        part: Any = header
        *keys, last = path.split(".")
        for key in keys:
            part = part[int(key) if key.isdigit() else key]
        if value is None:
            del part[last]
        else:
            part[int(last) if last.isdigit() else last] = value
        return header, columns

    return change
