"""Campaigns on models: right records pass, and every kind of forged record is found."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from misstep.checking import model_records
from misstep.checking.campaign import check_campaign, check_database
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support import jani
from support.models import VARIANTS, Choices, described
from support.stored_campaigns import saved, stored_model

MODEL: tuple[str, Choices] = (
    "two-way-line",
    {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "2"},
)


@cache
def campaign(radius: float = math.inf) -> sqlite3.Connection:
    name, choices = MODEL
    path = jani.write(generate_model(name, **choices).document, "line.jani")
    return stored_model(load_jani(path), "random:1", runs=40, radius=radius)


def copied() -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign().backup(copy)
    return copy


def test_right_records_pass() -> None:
    report = check_database(campaign())
    assert report.problems == []
    (states,) = campaign().execute("SELECT count(*) FROM states").fetchone()
    assert len(report.findings) == report.checked["records"] == states
    for what in ("runs", "verdicts", "strategies", "faults"):
        assert report.checked[what] > 10, what
    for what in ("radii", "verdicts NOT A BUG", "losses"):
        assert report.not_checked[what] > 0, what


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_right_records_within_a_radius_pass(radius: int) -> None:
    report = check_database(campaign(radius))
    assert report.problems == []
    assert (report.checked["strategies"] > 0) == (radius > 0)


@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_all_models(name: str, choices: Choices, tmp_path: Path) -> None:
    write_model(generate_model(name, **choices), path := tmp_path / "model.jani")
    connection = stored_model(load_jani(path), "random:2", runs=10)
    assert check_campaign(saved(connection, tmp_path / "campaign")).problems == []


def test_options_and_properties_of_the_model_are_kept(tmp_path: Path) -> None:
    """Silent edges as a label, bounds that disable, parameters, an included file, a property in another file."""
    counts = jani.variable("x", jani.bounded(0, "N"), 0)
    edges = [
        jani.edge("a", True, jani.destination({"x": jani.op("+", "x", 2)})),
        jani.edge(None, True, {"file": "one.jani"}),
    ]
    document = jani.model([counts], edges, constants=[{"name": "N", "type": "int"}])
    document["properties"] = []
    jani.write(jani.destination({"x": jani.op("+", "x", 1)}), "one.jani", tmp_path)
    prop = jani.pa(jani.op("=", "x", 4), jani.op("=", "x", 5))
    prop_path = jani.write([{"name": "other", "expression": {}}, prop], "prop.jani", tmp_path)
    task = load_jani(
        jani.write(document, folder=tmp_path),
        f"{prop_path}#safety",
        {"N": 5},
        out_of_bounds="disable",
        silent="as_action",
    )
    assert task.labels == ("a", "b", "τ")
    connection = stored_model(task, "first", runs=3)
    for name in ("one.jani", "prop.jani", "model.jani"):
        (tmp_path / name).unlink()  # the campaign has everything
    report = check_database(connection)
    assert report.problems == []
    assert report.checked["strategies"] == 2
    connection.execute("UPDATE verdicts SET strategy = replace(strategy, ', 2]', ', 0]')")
    assert check_database(connection).problems


Change = Callable[[Any], object]
BUG = "verdicts", "verdict = 'BUG' AND json_array_length(strategy) > 1"
LOST = "verdicts", "verdict = 'NOT A BUG'"
STATE = "states", "step > 0"
RUN = "runs", "json_array_length(operators) > 2"
FAULT = "faults", "better IS NOT NULL"


def listed(change: Change) -> Change:
    """A change of a JSON list."""
    return lambda text: json.dumps(change(json.loads(text)))


FORGED: list[tuple[str, tuple[str, str], str, Change, str]] = [
    # What, where, which column, how, and what the checker says about it.
    (
        "end is not unsafe",
        RUN,
        "states",
        listed(lambda x: [*x[:-1], x[-2]]),
        "does not lead to the next",
    ),
    ("run is cut off", RUN, "states", listed(lambda x: x[:-1]), "one state more than labels"),
    (
        "begins elsewhere",
        RUN,
        "states",
        listed(lambda x: [x[1], *x[1:]]),
        "not begin in a start state",
    ),
    (
        "other state",
        RUN,
        "states",
        listed(lambda x: [x[0], x[0], *x[2:]]),
        "does not lead to the next",
    ),
    (
        "state out of bounds",
        RUN,
        "states",
        listed(lambda x: [[99] * len(x[0]), *x[1:]]),
        "is not from",
    ),
    (
        "state of another type",
        RUN,
        "states",
        listed(lambda x: [[True] * len(x[0]), *x[1:]]),
        "no value of type int",
    ),
    ("label", RUN, "operators", listed(lambda x: [9, *x[1:]]), "label 9, which does not exist"),
    ("negative label", RUN, "operators", listed(lambda x: [-1, *x[1:]]), "which does not exist"),
    ("run outcome", RUN, "outcome", lambda _: "goal", "the outcome is 'goal'"),
    ("run cost", RUN, "cost", lambda _: 3, "the outcome is 'unsafe', or it has a cost"),
    ("run without states", RUN, "states", lambda _: None, "missing or no text"),
    ("tested state", STATE, "state", listed(lambda x: [0] * len(x)), "is not in this state"),
    ("tested step", STATE, "step", lambda x: x - 1, "is not in this state"),
    ("tested end", STATE, "step", lambda _: 10**6, "is not in this state"),
    ("tested run", STATE, "run", lambda _: 10**6, "there is no such run"),
    ("true for a number", STATE, "state", listed(lambda x: [True, *x[1:]]), "no value of type int"),
    ("flipped bug", BUG, "verdict", lambda _: "NOT A BUG", "the kind of NOT A BUG is 'unsafe'"),
    ("invented bug", LOST, "verdict", lambda _: "BUG", "the kind of BUG is None"),
    ("no verdict", BUG, "verdict", lambda _: "OPTIMAL", "no such verdict"),
    ("kind", BUG, "kind", lambda _: "fails", "the kind of BUG"),
    ("kind of no bug", LOST, "kind", lambda _: "unsafe", "the kind of NOT A BUG"),
    ("no strategy", BUG, "strategy", lambda _: None, "a bug without a strategy"),
    ("strategy of no bug", LOST, "strategy", lambda _: "[]", "there is a strategy"),
    ("shorter strategy", BUG, "strategy", listed(lambda x: x[:-1]), "the strategy has"),
    ("state twice", BUG, "strategy", listed(lambda x: [x[0], *x]), "a state twice"),
    (
        "pairs",
        BUG,
        "strategy",
        listed(lambda x: [[*x[0], 1], *x[1:]]),
        "no list of states with labels",
    ),
    (
        "no label",
        BUG,
        "strategy",
        listed(lambda x: [[s, 77] for s, _ in x]),
        "77 does not apply in",
    ),
    (
        "label as text",
        BUG,
        "strategy",
        listed(lambda x: [[s, "a"] for s, _ in x]),
        "expected an integer",
    ),
    ("size", BUG, "size", lambda x: x + 1, "the strategy has"),
    ("radius", BUG, "low", lambda _: 7, "which is no interval"),
    ("radius 0", BUG, "high", lambda _: 0, "which is no interval"),
    ("negative radius", BUG, "low", lambda _: -1, "no negative number"),
    ("bounds", BUG, "upper", lambda _: 3, "a plan, a derivation or bounds for a model"),
    ("plan", BUG, "plan", lambda _: "[]", "a plan, a derivation or bounds for a model"),
    ("fault step", FAULT, "step", lambda x: x + 100, "the run has no such step"),
    ("fault state", FAULT, "state", listed(lambda x: [0] * len(x)), "the run is in another state"),
    ("fault decision", FAULT, "decision", lambda x: 1 - min(x, 1), "the policy's decision is"),
    ("fault outcome", FAULT, "outcome", listed(lambda x: [0] * len(x)), "the outcome is none of"),
    ("fault better", FAULT, "better", lambda _: 99, "the better label (label 99) does not apply"),
    ("fault loss", FAULT, "high", lambda _: 1, "which is no interval"),
    ("fault share", FAULT, "share", lambda _: -1, "its share is -1"),
]


@pytest.mark.parametrize(
    ("place", "column", "change", "expected"),
    [entry[1:] for entry in FORGED],
    ids=[entry[0] for entry in FORGED],
)
def test_forged_records(place: tuple[str, str], column: str, change: Change, expected: str) -> None:
    copy = copied()
    table, condition = place
    rowid, old = copy.execute(
        f"SELECT rowid, {column} FROM {table} WHERE {condition} LIMIT 1"
    ).fetchone()
    new = change(old)
    assert new != old
    copy.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, rowid))
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert any(expected in problem for problem in problems), problems
    # Where a bug is none any more, its faults are none either; where a fault is elsewhere, it is missing here.
    others = [problem for problem in problems if expected not in problem]
    follow = ("no bug is recorded of its state", "no fault says so")
    assert all(problem.endswith(follow) for problem in others), problems


def bug(copy: sqlite3.Connection) -> tuple[int, list[Any], list[list[Any]]]:
    """A bug with a strategy that goes on: rowid of its verdict, state and strategy."""
    rowid, state, strategy = copy.execute(
        "SELECT verdicts.rowid, state, strategy FROM verdicts JOIN states USING (task, number) "
        "WHERE json_array_length(strategy) > 2"
    ).fetchone()
    return rowid, json.loads(state), json.loads(strategy)


def test_every_state_of_a_strategy_is_needed() -> None:
    copy = copied()
    rowid, _, strategy = bug(copy)
    for left_out in range(len(strategy)):
        shorter = strategy[:left_out] + strategy[left_out + 1 :]
        copy.execute(
            "UPDATE verdicts SET strategy = ?, size = ? WHERE rowid = ?",
            (json.dumps(shorter), len(shorter), rowid),
        )
        ((_, problem),) = check_database(copy).problems
        assert "the strategy: no label is given for" in str(problem)


def test_a_strategy_that_follows_the_policy_into_danger_is_found() -> None:
    copy = copied()
    rowid, state, strategy = bug(copy)
    run, step = copy.execute(
        "SELECT run, step FROM states WHERE state = ?", (json.dumps(state),)
    ).fetchone()
    states, labels = copy.execute(
        "SELECT states, operators FROM runs WHERE number = ?", (run,)
    ).fetchone()
    path = zip(json.loads(states)[step:], json.loads(labels)[step:], strict=False)
    forged = [*path, *strategy]
    unique = {json.dumps(s): [s, label] for s, label in reversed(forged)}
    copy.execute(
        "UPDATE verdicts SET strategy = ?, size = NULL WHERE rowid = ?",
        (json.dumps(list(unique.values())), rowid),
    )
    ((_, problem),) = check_database(copy).problems
    assert str(problem).endswith("is unsafe") or "no label is given" in str(problem)


def test_strategies_that_were_too_large_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copied()
    rowid, _, _ = bug(copy)
    for size, problems in ((20_001, 0), (20_000, 1)):
        copy.execute("UPDATE verdicts SET strategy = NULL, size = ? WHERE rowid = ?", (size, rowid))
        report = check_database(copy)
        assert len(report.problems) == problems
        assert report.checked["strategies found again"] == 1 - problems
    copy.execute("UPDATE verdicts SET size = 20001 WHERE rowid = ?", (rowid,))
    monkeypatch.setattr(model_records, "LIMIT", 3)
    ((_, problem),) = check_database(copy).problems
    assert "too many states to find one; --full lists more states" in str(problem)
    assert check_database(copy, full=True).valid


def test_a_bug_without_any_strategy_is_refused() -> None:
    copy = copied()
    copy.execute(
        "UPDATE verdicts SET verdict = 'BUG', kind = 'unsafe', low = 0, size = 20001 "
        "WHERE verdict = 'NOT A BUG'"
    )
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert problems
    assert all("unsafe states cannot be avoided" in problem for problem in problems)


def test_a_radius_is_held_to() -> None:
    """A strategy that is known to deviate twice is no witness in a campaign of radius 1."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign(2).backup(copy)
    assert check_database(copy).valid
    copy.execute("UPDATE meta SET value = replace(value, '\"2\"', '\"1\"')")
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert any("the smallest radius is at least 2" in problem for problem in problems)
    copy.execute("UPDATE verdicts SET low = 1 WHERE low > 1")
    copy.execute("UPDATE meta SET value = replace(value, '\"1\"', '\"0\"')")
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert any("the smallest radius is at least 1" in problem for problem in problems)
    copy.execute("UPDATE verdicts SET low = 0")
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert any("deviations, not 0 at most" in problem for problem in problems)
    copy.execute("UPDATE meta SET value = replace(value, '\"0\"', '\"some\"')")
    ((record, problem),) = check_database(copy).problems
    assert (record, problem) == (
        "line",
        "the radius of the campaign is 'some'; expected a number or inf",
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM runs WHERE number = 0", "there is no such run"),
        ("UPDATE verdicts SET number = 999 WHERE number = 0", "a verdict without a state"),
        ("UPDATE states SET run = NULL WHERE number = 0", "the number of the run"),
        ("UPDATE states SET state = '7' WHERE number = 0", "no state of the model"),
        ("UPDATE states SET state = NULL WHERE number = 0", "missing or no text"),
        ("UPDATE runs SET operators = '{}' WHERE number = 0", "the run is no list"),
        ("DELETE FROM states", "the last state is not unsafe"),
    ],
)
def test_damaged_rows(statement: str, expected: str) -> None:
    copy = copied()
    if statement == "DELETE FROM states":  # a wrong run that no record tests
        copy.execute("DELETE FROM verdicts")
        copy.execute(
            "UPDATE runs SET states = json_remove(states, '$[#-1]'), operators = json_remove(operators, '$[#-1]')"
        )
    assert copy.execute(statement).rowcount > 0
    problems = check_database(copy).problems
    assert any(expected in str(problem) for _, problem in problems)


def changed_model(change: Callable[[dict[str, Any]], object]) -> sqlite3.Connection:
    """The campaign with another model in it."""
    copy = copied()
    source = json.loads(zlib.decompress(copy.execute("SELECT source FROM tasks").fetchone()[0]))
    ((path, content),) = source["files"].items()
    document = json.loads(base64.b64decode(content))
    change(document)
    source["files"][path] = base64.b64encode(json.dumps(document).encode()).decode()
    copy.execute("UPDATE tasks SET source = ?", (zlib.compress(json.dumps(source).encode()),))
    return copy


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.pop("automata"), "there is no automaton"),
        (lambda d: d.update(automata=7), "'automata' is 7"),
        (lambda d: d["variables"].pop(), "nothing is called"),
        (lambda d: d.update(properties=[]), "no property of the kind PA"),
        (lambda d: d["automata"][0]["edges"][0].update(location=[]), "no location []"),
        (lambda d: d["automata"][0]["edges"][0].update(guard={"op": []}), "'op' is []"),
        (lambda d: d["automata"][0]["edges"][0].update(guard={"op": "+"}), "'right' is missing"),
        (lambda d: d["automata"][0]["edges"][0].update(guard=None, action=["x"]), "no action"),
    ],
)
def test_damaged_models(change: Callable[[dict[str, Any]], object], expected: str) -> None:
    ((record, problem),) = check_database(changed_model(change)).problems
    assert record == "line"
    assert expected in str(problem)


def test_another_model_is_found() -> None:
    """Edges that are gone: the runs do not follow from the model any more."""
    copy = changed_model(lambda d: d["automata"][0]["edges"].clear())
    assert all("does not apply" in str(problem) for _, problem in check_database(copy).problems)


def test_what_is_not_supported_is_no_problem() -> None:
    report = check_database(changed_model(lambda d: d.update(datatypes=[{"name": "f"}])))
    assert report.valid
    assert report.remarks == ["line: 'datatypes' is not supported"]
    assert report.not_checked["records"] > 10
