"""Campaigns on planning tasks: right records pass, and every kind of forged record is found."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from misstep._core import StateSpace
from misstep.checking import CheckError, planning_records
from misstep.checking.campaign import check_database
from misstep.checking.distances import Distances
from misstep.oracles.dominance import DominanceFunction
from misstep.tasks.task import State
from support.dominance import logistics
from support.oracles import dominance_of, sample, variant, workbench
from support.stored_campaigns import StoredPlanning, insert
from support.worlds import World, world

NOISY = "noisy:0.3:5+heuristic:ff"
COSTS = (1, 2, 5)


@cache
def campaign() -> sqlite3.Connection:
    """One task with runs of every outcome and faults, another one with derivations."""
    # The runs are those of several policies, so that they need not agree.
    stored = StoredPlanning(revisit="avoid")
    insert(stored.connection, "meta", key="nature", value='{"kind": "avoid"}')
    here = world("transport-2", COSTS)
    stored.add_task(1, here.task)
    _transport(stored, here)
    _logistics(stored)
    return stored.connection


def _transport(stored: StoredPlanning, here: World) -> None:
    task, space = variant("transport-2", COSTS)
    assert task.sas == here.task.sas
    for policy, max_steps in ((NOISY, 1000), ("misbehaving", 1000), (NOISY, 6)):
        bench = workbench(task, policy, max_steps=max_steps)
        found = stored.add_walk(1, task, bench, 12, seed=max_steps)
        outcomes: dict[str, int] = {}
        for state in sample(space, 400):
            run = bench.trace(state)
            if not run.operators or outcomes.setdefault(run.outcome, 0) >= 4:
                continue
            outcomes[run.outcome] += 1
            number = stored.add_state(1, bench, state)
            stored.judge(1, number, bench, state, "elimination")  # knows less, so it comes first
            stored.judge(1, number, bench, state, "exact")
            stored.blame(1, number, task, run, here.h_star)
        assert found


def _logistics(stored: StoredPlanning) -> None:
    task = logistics(2, 2)
    tables = dominance_of(task)
    assert isinstance(tables, DominanceFunction)
    stored.add_task(2, task, tables.to_bytes())
    bench = workbench(task, "noisy:0.6:1+heuristic:ff")
    space = StateSpace(task, [task.initial_state])
    for state in sample(space, 200):
        if not task.is_goal(state):
            number = stored.add_state(2, bench, state)
            stored.judge(2, number, bench, state, "bmo(0)")


def test_what_only_the_engine_could_compute_again_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Distances
    monkeypatch.setattr(planning_records, "Distances", lambda sas, starts: own(sas, starts, 1))
    report = check_database(campaign(), full=True)
    for what in ("lower bounds", "verdicts OPTIMAL"):
        assert report.left_open[what] == report.not_checked[what] > 0, what


def copied() -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign().backup(copy)
    return copy


def test_right_records_pass() -> None:
    calls: list[tuple[int, int]] = []
    report = check_database(campaign(), lambda done, total: calls.append((done, total)))
    assert report.problems == []
    (states,) = campaign().execute("SELECT count(*) FROM states").fetchone()
    assert len(report.findings) == report.checked["records"] == states
    assert calls[-1] == (states, states)
    for what in ("runs", "walks", "plans", "derivations", "verdicts", "faults"):
        assert report.checked[what] > 4, what
    for what in ("lower bounds", "runs of the policy", "walks", "losses"):
        assert report.not_checked[what] > 0, what
    assert not campaign().in_transaction


def test_the_campaign_has_records_of_every_kind() -> None:
    rows = campaign().execute("SELECT DISTINCT outcome FROM runs").fetchall()
    assert {outcome for (outcome,) in rows} == {
        *("goal", "loop", "stuck", "inapplicable", "error", "cut")
    }
    kinds = campaign().execute("SELECT DISTINCT kind FROM verdicts").fetchall()
    assert {kind for (kind,) in kinds} == {"fails", "costly", "crash", "unclassified", None}
    verdicts = campaign().execute("SELECT DISTINCT verdict FROM verdicts").fetchall()
    assert {verdict for (verdict,) in verdicts} == {"BUG", "OPTIMAL", "UNKNOWN"}


Change = Callable[[Any], object]
BUG = "verdicts", "verdict = 'BUG' AND derivation IS NULL"
COSTLY = "verdicts", "kind = 'costly' AND derivation IS NULL"
FAILS = "verdicts", "kind = 'fails' AND derivation IS NULL"
DERIVED = "verdicts", "json_array_length(derivation) > 1"
STEPPED = "verdicts", "json_extract(derivation, '$[0].operator') IS NOT NULL"
WALK = "states", "json_array_length(walk) > 0"
FAULT = "faults", "better IS NOT NULL AND decision IS NOT NULL"


def ran(outcome: str) -> tuple[str, str]:
    return "runs", f"outcome = '{outcome}' AND json_array_length(operators) > 1"


def jump(change: Change) -> Change:
    """A change of the first jump of a derivation."""

    def changed(text: str) -> str:
        steps = json.loads(text)
        change(next(step for step in steps if "state" in step))
        return json.dumps(steps)

    return changed


def operator(**values: Any) -> Change:
    """Another operator at the beginning of a derivation."""

    def changed(text: str) -> str:
        first, *rest = json.loads(text)
        return json.dumps([first | values, *rest])

    return changed


def listed(change: Change) -> Change:
    """A change of a JSON list."""

    def changed(text: str) -> str:
        return json.dumps(change(json.loads(text)))

    return changed


FORGED: list[tuple[str, tuple[str, str], str, Change | None, str]] = [
    # What, where, which column, how, and what the checker says about it.
    ("run cost", ran("goal"), "cost", lambda x: x + 1, "the run: it costs"),
    ("run operator", ran("goal"), "operators", listed(lambda x: [x[-1], *x[1:]]), "the run: step"),
    ("run cut off", ran("goal"), "operators", listed(lambda x: x[:-1]), "the run: the outcome is"),
    ("run too long", ran("goal"), "operators", listed(lambda x: [*x, x[-1]]), "the run: step"),
    ("no operator", ran("goal"), "operators", listed(lambda x: [10**6, *x]), "does not exist"),
    ("negative id", ran("goal"), "operators", listed(lambda x: [-1, *x]), "does not exist"),
    ("text as id", ran("goal"), "operators", listed(lambda x: ["0", *x]), "expected an integer"),
    ("true as id", ran("goal"), "operators", listed(lambda x: [True, *x]), "expected an integer"),
    ("goal as cut", ran("goal"), "outcome", lambda _: "cut", "the run: the outcome is cut"),
    ("loop as goal", ran("loop"), "outcome", lambda _: "goal", "comes back to a state"),
    ("loop as stuck", ran("loop"), "outcome", lambda _: "stuck", "comes back to a state"),
    ("open loop", ran("loop"), "operators", listed(lambda x: x[:-1]), "was not seen before"),
    ("stuck as loop", ran("stuck"), "outcome", lambda _: "loop", "was not seen before"),
    ("no outcome", ran("goal"), "outcome", lambda _: "fine", "no such outcome"),
    ("named applies", ran("inapplicable"), "named", lambda _: -2, "named"),
    ("nothing named", ran("inapplicable"), "named", lambda _: None, "is not given"),
    ("named in a goal run", ran("goal"), "named", lambda _: 0, "is said to have been named"),
    ("error as stuck", ran("error"), "outcome", lambda _: "stuck", "the kind is fails, not crash"),
    ("plan cost", COSTLY, "upper", lambda x: x + 1, "the plan: the plan costs"),
    ("plan step left out", BUG, "plan", listed(lambda x: x[1:] or [0]), "the plan: "),
    ("plan order", BUG, "plan", listed(lambda x: x[::-1]), "the plan: "),
    ("plan is empty", BUG, "plan", lambda _: "[]", "the goal is not reached"),
    ("no plan", BUG, "plan", lambda _: None, "a bug without a plan"),
    ("plan is not JSON", BUG, "plan", lambda _: "[1, 2", "not JSON"),
    ("plan is a number", BUG, "plan", lambda _: "7", "not a list"),
    ("flipped bug", BUG, "verdict", lambda _: "OPTIMAL", "the verdict is BUG, not OPTIMAL"),
    ("invented bug", ("verdicts", "verdict = 'OPTIMAL'"), "verdict", lambda _: "BUG", "not BUG"),
    ("kind", COSTLY, "kind", lambda _: "fails", "the kind is costly"),
    ("kind of no bug", ("verdicts", "kind IS NULL"), "kind", lambda _: "fails", "the kind is None"),
    ("gap low", COSTLY, "low", lambda x: x + 1, "the gap is"),
    ("gap high", COSTLY, "high", lambda x: x + 1, "the gap is"),
    ("infinite gap", COSTLY, "low", lambda _: None, "the gap is"),
    ("finite gap", FAILS, "low", lambda _: 5, "the gap is"),
    ("lower bound", COSTLY, "lower", lambda x: x + 1000, "is above the upper bound"),
    ("unsolvable", FAILS, "lower", lambda _: None, "is above the upper bound"),
    ("negative bound", COSTLY, "lower", lambda _: -1, "no negative number"),
    ("bound as text", COSTLY, "lower", lambda _: "many", "expected an integer"),
    ("no upper bound", COSTLY, "upper", lambda _: None, "the plan: it has no cost"),
    ("a strategy", BUG, "strategy", lambda _: 0, "a strategy for a planning task"),
    ("derived bound", DERIVED, "upper", lambda x: x - 1, "the derivation: it proves"),
    ("jump value", DERIVED, "derivation", jump(lambda s: s.update(value=99)), "claims a value of"),
    ("jump factors", DERIVED, "derivation", jump(lambda s: s.update(factors=[])), "by factor"),
    (
        "jump state",
        DERIVED,
        "derivation",
        jump(lambda s: s.update(state=[0])),
        "neither an operator",
    ),
    ("derivation cut", DERIVED, "derivation", listed(lambda x: x[:-1]), "the derivation: "),
    (
        "derived operator",
        STEPPED,
        "derivation",
        operator(operator=1, name="op1"),
        "the derivation: ",
    ),
    ("derived name", STEPPED, "derivation", operator(name="op1"), "neither an operator"),
    ("derivation text", DERIVED, "derivation", lambda _: "{}", "no steps"),
    (
        "state",
        WALK,
        "state",
        listed(lambda x: [1 - min(x[0], 1), *x[1:]]),
        "leads to another state",
    ),
    ("state value", WALK, "state", listed(lambda x: [99, *x[1:]]), "the state gives variable 0"),
    ("state length", WALK, "state", listed(lambda x: x[1:]), "the state has"),
    ("walk", WALK, "walk", listed(lambda x: x[:-1]), "the walk: "),
    ("walk operator", WALK, "walk", listed(lambda x: [9999, *x]), "the walk: step 1 is operator"),
    ("reference", WALK, "reference", lambda _: 10**9, "which does not exist"),
    ("own reference", WALK, "reference", None, "it starts where it ends"),
    ("other run", WALK, "run", lambda x: x + 1, "not its own"),
    ("fault step", FAULT, "step", lambda x: x + 500, "the run has no such step"),
    ("fault state", FAULT, "state", listed(lambda x: x[::-1]), "the run is in another state"),
    ("fault decision", FAULT, "decision", lambda x: x + 1, "the policy's decision is another"),
    ("fault stops", FAULT, "decision", lambda _: None, "the policy's decision is another"),
    ("better operator", FAULT, "better", None, "the better operator"),
    ("better does not exist", FAULT, "better", lambda _: 10**6, "does not exist"),
    ("loss", FAULT, "high", lambda _: -1, "no negative number"),
    ("interval", ("faults", "low > 0"), "high", lambda _: 0, "which is not an interval"),
    ("share", FAULT, "share", lambda _: 2.0, "they are [2.0"),
    ("recurring", ("faults", "recurring = 0"), "recurring", lambda _: 1, "is said to come again"),
    ("not recurring", ("faults", "recurring = 1"), "recurring", lambda _: 0, "comes again"),
]


@pytest.mark.parametrize(
    ("place", "column", "change", "expected"),
    [entry[1:] for entry in FORGED],
    ids=[entry[0] for entry in FORGED],
)
def test_forged_records_are_found(
    place: tuple[str, str], column: str, change: Change | None, expected: str
) -> None:
    copy = copied()
    table, condition = place
    rowid, task, number, old = copy.execute(
        f"SELECT rowid, task, {'run' if table == 'faults' else 'number'}, {column} FROM {table} "
        f"WHERE {condition} ORDER BY task, 3 LIMIT 1"
    ).fetchone()
    if change is None:  # what depends on the record
        new = number if column == "reference" else _inapplicable(copy, rowid)
    elif expected == "named":
        new, expected = _applicable(copy, task, number), "applies in the last state"
    else:
        new = change(old)
    assert new != old
    copy.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, rowid))
    (name,) = copy.execute("SELECT name FROM tasks WHERE id = ?", (task,)).fetchone()
    problems = dict(check_database(copy).problems)
    assert expected in str(problems.pop(f"{name}:{number}"))
    if table != "states":  # where other walks may start
        assert not problems


def _inapplicable(copy: sqlite3.Connection, rowid: int) -> int:
    """An operator that does not apply in the state of a fault."""
    (state,) = copy.execute("SELECT state FROM faults WHERE rowid = ?", (rowid,)).fetchone()
    task, _ = variant("transport-2", COSTS)
    applicable = task.applicable(State(json.loads(state)))
    return next(op for op in range(len(task.operator_names)) if op not in applicable)


def _applicable(copy: sqlite3.Connection, task_id: int, number: int) -> int:
    """An operator that applies in the last state of a run."""
    assert task_id == 1
    task, _ = variant("transport-2", COSTS)
    state, operators = copy.execute(
        "SELECT state, operators FROM states JOIN runs USING (task, number) WHERE task = 1 AND number = ?",
        (number,),
    ).fetchone()
    here = State(json.loads(state))
    for op in json.loads(operators):
        here = task.apply(here, op)
    return task.applicable(here)[0]


def test_one_wrong_verdict_of_several_oracles_is_found() -> None:
    for oracle in ("exact", "elimination"):
        copy = copied()
        number = copy.execute(
            "SELECT number FROM verdicts WHERE task = 1 AND verdict = 'BUG' AND oracle = ?",
            (oracle,),
        ).fetchone()[0]
        copy.execute(
            "UPDATE verdicts SET low = 77 WHERE task = 1 AND number = ? AND oracle = ?",
            (number, oracle),
        )
        ((_, problem),) = check_database(copy).problems
        assert str(problem).startswith(f"oracle {oracle}: the gap is")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM runs WHERE number = 14 AND task = 1", "without a run"),
        ("DELETE FROM states WHERE task = 1 AND number = 14", "without a state"),
        ("UPDATE verdicts SET number = 999 WHERE rowid = 1", "a verdict without a state"),
        ("UPDATE runs SET operators = NULL WHERE task = 1 AND number = 0", "missing or no text"),
        ("UPDATE runs SET cost = NULL WHERE task = 1 AND number = 0", "expected an integer"),
        ("UPDATE states SET state = x'ff00' WHERE task = 1 AND number = 0", "not JSON"),
        ("UPDATE states SET state = '[NaN]' WHERE task = 1 AND number = 0", "not JSON"),
        ("UPDATE tasks SET source = x'00112233' WHERE id = 2", "compressed data are damaged"),
        ("UPDATE tasks SET source = NULL WHERE id = 2", "compressed data are missing"),
        ("UPDATE tasks SET world = 'other' WHERE id = 2", "the world of the task is 'other'"),
        ("UPDATE dominance SET tables = substr(tables, 1, 30)", "cut off"),
        ("UPDATE runs SET number = 'first' WHERE task = 1 AND number = 0", "the number of a row"),
        ("UPDATE states SET reference = 2 WHERE task = 1 AND number = 1", "never start from"),
        ("DELETE FROM dominance", "no dominance function"),
        ("DELETE FROM tasks WHERE id = 2", "belong to no task"),
    ],
)
def test_damaged_rows_are_reported(statement: str, expected: str) -> None:
    copy = copied()
    assert copy.execute(statement).rowcount > 0
    problems = check_database(copy).problems
    assert any(expected in str(problem) for _, problem in problems)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "UPDATE meta SET value = '2' WHERE key = 'schema'",
            "the campaign has schema 2; expected schema 5",
        ),
        ("DELETE FROM meta WHERE key = 'schema'", "the campaign has schema None"),
        ("DROP TABLE meta", "no database of a campaign"),
        ("DROP TABLE faults", "the database is damaged: no such table: faults"),
    ],
)
def test_campaigns_that_cannot_be_checked_are_refused(statement: str, expected: str) -> None:
    copy = copied()
    copy.execute(statement)
    with pytest.raises(CheckError, match=expected):
        check_database(copy)
    assert not copy.in_transaction


def test_costly_runs_are_right_if_the_goal_is_the_objective() -> None:
    """With the objective to reach goals, a costly run is fine."""
    copy = copied()
    copy.execute("UPDATE meta SET value = replace(value, '\"cost\"', '\"goal\"')")
    problems = check_database(copy).problems
    assert any("the gap is 0 to 0" in str(problem) for _, problem in problems)
    copy.execute("UPDATE meta SET value = replace(value, 'objective', 'other')")
    assert any("the objective is None" in str(p) for _, p in check_database(copy).problems)


def test_a_task_that_is_not_supported_is_not_a_wrong_record(everything: str) -> None:
    copy = copied()
    source = json.loads(zlib.decompress(copy.execute("SELECT source FROM tasks").fetchone()[0]))
    source["files"]["task.sas"] = base64.b64encode(everything.encode()).decode()
    copy.execute(
        "UPDATE tasks SET source = ? WHERE id = 2", (zlib.compress(json.dumps(source).encode()),)
    )
    report = check_database(copy)
    assert report.valid
    assert report.not_checked["records"] > 10
    assert "axioms" in report.remarks[0]
