"""Campaigns as databases of schema 5, filled from runs, plans and strategies that the libraries compute.

What is written here is what `docs/records.md` says the tables hold, so that the checker can be tested without the code
that runs campaigns.
"""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from misstep._core import CounterRandom
from misstep.checking.jani.documents import digest_of
from misstep.oracles import Workbench, parse_oracle
from misstep.oracles.verdict import Verdict
from misstep.oracles.witness import named_operator
from misstep.policies.load import load_policy
from misstep.runs.runner import Trace
from misstep.safety import Decider, FuzzSettings, System, fuzz, jani_transitions
from misstep.safety.faults import PathReport, StepReport, analyse
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.jani.task import State as JaniState
from misstep.tasks.task import State, Task
from support.strategies import model_of, packed_pairs
from support.worlds import exact_regrets

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tasks (id INTEGER PRIMARY KEY, name TEXT, world TEXT, digest TEXT, source BLOB);
CREATE TABLE policy (spec TEXT PRIMARY KEY, digest TEXT);
CREATE TABLE states (task, number, state, reference, walk, iteration, run, step, seconds, PRIMARY KEY (task, number));
CREATE TABLE runs (task, number, outcome, cost, operators, states, named, message, seconds, permitted,
    PRIMARY KEY (task, number));
CREATE TABLE permitted (task, state, operators, probabilities, PRIMARY KEY (task, state));
CREATE TABLE verdicts (task, number, oracle, verdict, kind, low, high, lower, upper, source, plan, derivation, strategy,
    size, expansions, evaluations, policy_calls, seconds, PRIMARY KEY (task, number, oracle));
CREATE TABLE strategies (task, number, states, content, PRIMARY KEY (task, number));
CREATE TABLE faults (task, run, step, state, decision, better, low, high, share, recurring, outcome,
    PRIMARY KEY (task, run, step));
CREATE TABLE contradictions (task, state, first, second, asked, PRIMARY KEY (task, state));
CREATE TABLE risks (task, number, low, high, least_low, least_high, PRIMARY KEY (task, number));
CREATE TABLE decisions (task, state, label, PRIMARY KEY (task, state));
CREATE TABLE dominance (task INTEGER PRIMARY KEY, tables BLOB, problem TEXT);
CREATE TABLE fuzzed (task, first, runs, ends, PRIMARY KEY (task, first));
"""


def new_database(world: str, **settings: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(TABLES)
    config = f'policy = "first"\nworld = "{world}"\nseed = 0\n\n[{world}]\n' + "".join(
        f'{key} = "{value}"\n' for key, value in settings.items()
    )
    for key, value in (("schema", "5"), ("config", config)):
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
    return connection


def insert(connection: sqlite3.Connection, table: str, **columns: object) -> None:
    names = ", ".join(columns)
    places = ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", (*columns.values(),))


def saved(connection: sqlite3.Connection, folder: Path) -> Path:
    """The database as the folder of a campaign."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = sqlite3.connect(folder / "run.db")
    copy.execute("PRAGMA journal_mode = WAL")
    connection.backup(copy)
    copy.close()
    return folder


def add_task(
    connection: sqlite3.Connection, id: int, world: str, source: Mapping[str, Any]
) -> None:
    files = {name: base64.b64encode(data).decode() for name, data in source["files"].items()}
    packed = zlib.compress(json.dumps({**source, "files": files}).encode())
    name = source["name"]
    digest = (
        sha256(source["files"]["task.sas"]).hexdigest()
        if world == "planning"
        else digest_of(source)
    )
    insert(connection, "tasks", id=id, name=name, world=world, digest=digest, source=packed)


def finite(value: float) -> int | None:
    return None if math.isinf(value) else int(value)


# Planning


class StoredPlanning:
    """A campaign on planning tasks. States are added one by one, each with its run."""

    def __init__(self, objective: str = "cost", revisit: str = "stop") -> None:
        self.connection = new_database("planning", objective=objective, revisit=revisit)
        self.numbers: dict[int, int] = {}

    def add_task(self, id: int, task: Task, tables: bytes | None = None) -> None:
        source = {"world": "planning", "name": task.name, "files": {"task.sas": task.sas}}
        add_task(self.connection, id, "planning", source)
        self.numbers[id] = 0
        if tables is not None:
            packed = zlib.compress(tables)
            insert(self.connection, "dominance", task=id, tables=packed)

    def add_walk(self, id: int, task: Task, bench: Workbench, steps: int, seed: int) -> list[int]:
        """States along a random walk from the initial state, each found from the one before."""
        random, here, reference, found = CounterRandom(seed), task.initial_state, None, []
        walk: list[int] = []
        for _ in range(steps):
            if task.is_goal(here):
                break
            reference = self.add_state(id, bench, here, reference, walk)
            found.append(reference)
            walk = []
            for _ in range(2):
                operators = task.applicable(here)
                walk.append(operators[random.below(len(operators))])
                here = task.apply(here, walk[-1])
        return found

    def add_state(
        self,
        id: int,
        bench: Workbench,
        state: State,
        reference: int | None = None,
        walk: Sequence[int] = (),
    ) -> int:
        number, self.numbers[id] = self.numbers[id], self.numbers[id] + 1
        insert(
            self.connection,
            "states",
            task=id,
            number=number,
            state=json.dumps(list(state.values)),
            reference=reference,
            walk=json.dumps(list(walk)),
            run=number,
            step=0,
        )
        run = bench.trace(state)
        insert(
            self.connection,
            "runs",
            task=id,
            number=number,
            outcome=run.outcome,
            cost=run.cost,
            operators=json.dumps(run.operators),
            named=named_operator(bench.runner, run),
            message=run.message,
        )
        return number

    def judge(self, id: int, number: int, bench: Workbench, state: State, oracle: str) -> Verdict:
        verdict = parse_oracle(oracle, bench).test(state)
        derivation = None if verdict.derivation is None else derivation_steps(bench, verdict)
        insert(
            self.connection,
            "verdicts",
            task=id,
            number=number,
            oracle=oracle,
            verdict=verdict.status.value.upper(),
            kind=None if verdict.kind is None else verdict.kind.value,
            low=finite(verdict.gap.low),
            high=finite(verdict.gap.high),
            lower=finite(verdict.lower_bound),
            upper=finite(verdict.upper_bound),
            source=verdict.oracle,
            plan=None if verdict.witness is None else json.dumps(list(verdict.witness)),
            derivation=None if derivation is None else json.dumps(derivation),
        )
        return verdict

    def blame(self, id: int, number: int, task: Task, run: Trace, h_star: Any) -> int:
        """The faults of a run; how many there are."""
        regrets = exact_regrets(task, run, h_star)
        for fault in regrets.faults:
            best = [
                op
                for op in task.applicable(fault.state)
                if task.cost(op) + h_star(task.apply(fault.state, op)) == h_star(fault.state)
            ]
            insert(
                self.connection,
                "faults",
                task=id,
                run=number,
                step=fault.step,
                state=json.dumps(list(fault.state.values)),
                decision=fault.operator,
                better=best[0] if best else None,
                low=finite(fault.low),
                high=finite(fault.high),
                recurring=int(fault.recurring),
            )
        return len(regrets.faults)


def derivation_steps(bench: Workbench, verdict: Verdict) -> list[dict[str, Any]]:
    assert verdict.derivation is not None
    assert not isinstance(bench.dominance, str)
    assert bench.dominance is not None
    steps: list[dict[str, Any]] = []
    here = verdict.state
    for step in verdict.derivation.steps:
        if step.operator is not None:
            steps.append(
                {"operator": step.operator, "name": bench.task.operator_name(step.operator)}
            )
        else:
            parts = bench.dominance.by_factor(dominated=step.state, dominating=here)
            factors = [{"variables": list(p.variables), "value": p.value} for p in parts]
            steps.append(
                {"state": list(step.state.values), "value": step.value, "factors": factors}
            )
        here = step.state
    return steps


# Models


def stored_model(
    task: JaniTask,
    policy: str = "first",
    *,
    runs: int = 20,
    radius: float = math.inf,
    seed: int = 1,
) -> sqlite3.Connection:
    """A campaign on a model: unsafe runs, all their states tested, all faults."""
    connection = new_database("model", radius="inf" if math.isinf(radius) else str(int(radius)))
    add_task(connection, 1, "model", {"world": "model", "name": task.name, **task.source})
    system = System(jani_transitions(task), load_policy(policy, task).policy)
    decider = Decider(system)
    numbers: dict[Any, int] = {}
    fuzzed = fuzz(system, FuzzSettings("sample", 1, runs=runs), seed=seed)
    ends = json.dumps({**fuzzed.ends, "unsafe starts": fuzzed.unsafe_starts})
    insert(connection, "fuzzed", task=1, first=0, runs=runs, ends=ends)
    for run in fuzzed.runs:
        insert(
            connection,
            "runs",
            task=1,
            number=run.number,
            outcome="unsafe",
            operators=json.dumps([task.label_id(str(label)) for label in run.labels]),
            states=json.dumps([list(state) for state in run.states]),
        )
        report = analyse(decider, run, radius, largest=2)
        for step in report.steps:
            if step.state not in numbers:
                numbers[step.state] = len(numbers)
                add_step(connection, decider, report, step, numbers[step.state])
            if step.fault is not None:
                add_fault(connection, task, decider, report, step)
    return connection


def add_step(
    connection: sqlite3.Connection,
    decider: Decider[JaniState, str],
    report: PathReport[JaniState, str],
    step: StepReport[JaniState, str],
    number: int,
) -> None:
    state = json.dumps(list(step.state))
    run = report.run.number
    insert(connection, "states", task=1, number=number, state=state, run=run, step=step.step)
    is_bug = step.safety.value == "safe"
    if is_bug:
        labels = decider.strategy(step.state, report.radius).labels
        transitions = decider.system.transitions
        pairs = [(tuple(s), transitions.label_id(label)) for s, label in labels.items()]
        states, content = packed_pairs(model_of(connection), pairs)
        insert(connection, "strategies", task=1, number=number, states=states, content=content)
    smallest = step.smallest_radius
    known = smallest is not None and not math.isinf(smallest)
    insert(
        connection,
        "verdicts",
        task=1,
        number=number,
        oracle=decider.kind,
        verdict="BUG" if is_bug else "NOT A BUG" if step.safety.value == "not safe" else "UNKNOWN",
        kind="unsafe" if is_bug else None,
        low=(int(smallest or 0) if known else 3) if is_bug else None,
        high=int(smallest or 0) if is_bug and known else None,
        strategy=number if is_bug else None,
    )


def add_fault(
    connection: sqlite3.Connection,
    task: JaniTask,
    decider: Decider[JaniState, str],
    report: PathReport[JaniState, str],
    step: StepReport[JaniState, str],
) -> None:
    assert step.fault is not None
    labels = decider.strategy(step.state, report.radius).labels
    insert(
        connection,
        "faults",
        task=1,
        run=report.run.number,
        step=step.step,
        state=json.dumps(list(step.state)),
        decision=task.label_id(str(step.label)),
        better=task.label_id(str(labels[step.state])),
        outcome=json.dumps(list(step.fault.outcome)),
    )


__all__ = ["StoredPlanning", "add_task", "insert", "new_database", "saved", "stored_model"]
