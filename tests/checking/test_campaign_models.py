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

import numpy as np
import pytest

from misstep.checking import model_records, shared
from misstep.checking.campaign import check_campaign, check_database
from misstep.checking.closed import closed_problem
from misstep.checking.jani.documents import digest_of
from misstep.safety.shared import packed
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support import jani
from support.models import VARIANTS, Choices, described
from support.stored_campaigns import saved, stored_model
from support.strategies import Pairs, model_of, pairs_of, write_pairs

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


def test_a_bug_within_a_radius_rests_on_decisions_that_no_run_shows() -> None:
    """Also if nothing is said of the smallest radius."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign(1).backup(copy)
    copy.execute("UPDATE verdicts SET low = 0, high = NULL WHERE verdict = 'BUG'")
    copy.execute("UPDATE verdicts SET low = 2, high = NULL WHERE verdict = 'NOT A BUG'")
    report = check_database(copy)
    assert report.problems == []
    assert report.not_checked["radii"] > 0


@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_right_records_of_all_models_pass(name: str, choices: Choices, tmp_path: Path) -> None:
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
    for (number,) in connection.execute("SELECT number FROM strategies").fetchall():
        write_pairs(connection, number, [(state, 0) for state, _ in pairs_of(connection, number)])
    assert check_database(connection).problems


Change = Callable[[Any], object]
LONG = "SELECT number FROM strategies WHERE states > 2"
BUG = "verdicts", f"verdict = 'BUG' AND strategy IN ({LONG})"
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
        "not a value of type int",
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
    (
        "true for a number",
        STATE,
        "state",
        listed(lambda x: [True, *x[1:]]),
        "not a value of type int",
    ),
    ("flipped bug", BUG, "verdict", lambda _: "NOT A BUG", "the kind of NOT A BUG is 'unsafe'"),
    ("invented bug", LOST, "verdict", lambda _: "BUG", "the kind of BUG is None"),
    ("no verdict", BUG, "verdict", lambda _: "OPTIMAL", "no such verdict"),
    ("kind", BUG, "kind", lambda _: "fails", "the kind of BUG"),
    ("kind of no bug", LOST, "kind", lambda _: "unsafe", "the kind of NOT A BUG"),
    ("no strategy", BUG, "strategy", lambda _: None, "a bug without a strategy"),
    ("strategy of no bug", LOST, "strategy", lambda _: 0, "there is a strategy"),
    ("strategy that is not there", BUG, "strategy", lambda _: 10**6, "there is no strategy"),
    ("strategy as text", BUG, "strategy", lambda _: "a", "expected an integer"),
    ("size", BUG, "size", lambda _: 5, "the size of one that is too large"),
    ("radius", BUG, "low", lambda _: 7, "which is not an interval"),
    ("radius 0", BUG, "high", lambda _: 0, "which is not an interval"),
    ("negative radius", BUG, "low", lambda _: -1, "no negative number"),
    ("bounds", BUG, "upper", lambda _: 3, "a plan, a derivation or bounds for a model"),
    ("plan", BUG, "plan", lambda _: "[]", "a plan, a derivation or bounds for a model"),
    ("fault step", FAULT, "step", lambda x: x + 100, "the run has no such step"),
    ("fault state", FAULT, "state", listed(lambda x: [0] * len(x)), "the run is in another state"),
    ("fault decision", FAULT, "decision", lambda x: 1 - min(x, 1), "the policy's decision is"),
    ("fault outcome", FAULT, "outcome", listed(lambda x: [0] * len(x)), "the outcome is none of"),
    ("fault better", FAULT, "better", lambda _: 99, "the better label (label 99) does not apply"),
    ("fault loss", FAULT, "high", lambda _: 1, "how much is lost"),
    ("fault share", FAULT, "share", lambda _: -1, "how much is lost"),
]


@pytest.mark.parametrize(
    ("place", "column", "change", "expected"),
    [entry[1:] for entry in FORGED],
    ids=[entry[0] for entry in FORGED],
)
def test_forged_records_are_found(
    place: tuple[str, str], column: str, change: Change, expected: str
) -> None:
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


def bug(copy: sqlite3.Connection) -> tuple[int, tuple[Any, ...], int]:
    """A bug with a strategy that goes on: rowid of its verdict, state and the number of the strategy."""
    rowid, state, number = copy.execute(
        "SELECT verdicts.rowid, state, strategy FROM verdicts JOIN states USING (task, number) "
        f"WHERE strategy IN ({LONG})"
    ).fetchone()
    return rowid, tuple(json.loads(state)), number


def only_problem(copy: sqlite3.Connection) -> str:
    ((_, problem),) = check_database(copy).problems
    return str(problem)


def test_every_state_of_a_strategy_is_needed() -> None:
    copy = copied()
    _, state, number = bug(copy)
    pairs = pairs_of(copy, number)
    for left_out, _ in pairs:
        write_pairs(copy, number, [own for own in pairs if own[0] != left_out])
        missing = "the strategy: it does not have the state of the record"
        open_end = "leads to a state that has no label in the strategy"
        assert only_problem(copy).endswith(missing if left_out == state else open_end) or (
            left_out == state and only_problem(copy).endswith(open_end)
        )


def with_label(label: int) -> Callable[[Pairs], Pairs]:
    return lambda pairs: [(pairs[0][0], label), *pairs[1:]]


def with_value(value: object) -> Callable[[Pairs], Pairs]:
    return lambda pairs: [((value, *pairs[0][0][1:]), pairs[0][1]), *pairs[1:]]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (with_label(77), "there is no label 77"),
        (lambda pairs: [pairs[0], *pairs], "a state twice"),
        (with_value(99), "99 is not from"),
        (lambda pairs: [(state[:-1], label) for state, label in pairs], "values, not"),
    ],
)
def test_forged_strategies_are_found(change: Callable[[Pairs], Pairs], expected: str) -> None:
    copy = copied()
    _, _, number = bug(copy)
    pairs = change(pairs_of(copy, number))
    if len(pairs[0][0]) == len(pairs_of(copy, number)[0][0]):
        write_pairs(copy, number, pairs)
    else:
        columns = [np.array(own) for own in zip(*(state for state, _ in pairs), strict=True)]
        zeros = np.zeros(len(pairs), np.int64)
        own = packed(columns, zeros, zeros, zeros[:0])
        copy.execute("UPDATE strategies SET content = ? WHERE number = ?", (own.content, number))
    assert expected in only_problem(copy)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("content = x'00112233'", "compressed data are damaged"),
        ("content = NULL", "compressed data are missing"),
        ("content = substr(content, 1, 20)", "cut off"),
        ("content = 'text'", "compressed data are missing"),
        ("states = states + 1", "the strategy is damaged"),
        ("states = NULL", "the strategy is damaged"),
        ("states = 'many'", "the strategy is damaged"),
    ],
)
def test_damaged_strategies_are_refused(statement: str, expected: str) -> None:
    copy = copied()
    _, _, number = bug(copy)
    copy.execute(f"UPDATE strategies SET {statement} WHERE number = ?", (number,))
    assert expected in only_problem(copy)


def test_a_strategy_that_unpacks_to_too_much_is_refused() -> None:
    copy = copied()
    _, _, number = bug(copy)
    bomb = zlib.compress(bytes(shared.MAX_BYTES + 10), 9)
    copy.execute("UPDATE strategies SET content = ? WHERE number = ?", (bomb, number))
    assert "have more than" in only_problem(copy)


def all_on_one(copy: sqlite3.Connection) -> int:
    """All bugs on one strategy, as campaigns store them; how many they are."""
    union: dict[tuple[Any, ...], int] = {}
    numbers = [n for (n,) in copy.execute("SELECT number FROM strategies ORDER BY number")]
    for number in numbers:
        for state, label in pairs_of(copy, number):
            union.setdefault(state, label)
    write_pairs(copy, numbers[0], list(union.items()))
    copy.execute("UPDATE verdicts SET strategy = ? WHERE strategy IS NOT NULL", (numbers[0],))
    copy.execute("DELETE FROM strategies WHERE number <> ?", (numbers[0],))
    return len(numbers)


def test_a_strategy_is_checked_once_for_all() -> None:
    copy = copied()
    bugs = all_on_one(copy)
    report = check_database(copy)
    assert report.problems == []
    assert report.checked["strategies"] == 1
    assert report.checked["verdicts"] >= bugs > 10


def test_all_records_with_a_wrong_strategy_are_refused() -> None:
    copy = copied()
    bugs = all_on_one(copy)
    ((number,),) = copy.execute("SELECT number FROM strategies").fetchall()
    pairs = pairs_of(copy, number)
    for place in (0, len(pairs) // 2, len(pairs) - 1):
        state, label = pairs[place]
        for other in range(len(model_of(copy).labels)):
            write_pairs(copy, number, [*pairs[:place], (state, other), *pairs[place + 1 :]])
            refused = [
                problem for _, problem in check_database(copy).problems if "oracle" in str(problem)
            ]
            # Another label may do as well.
            assert len(refused) == (bugs if closed_problem(model_of(copy), shared_of(copy)) else 0)
            assert other != label or not refused


def shared_of(copy: sqlite3.Connection) -> shared.SharedStrategy:
    return shared.read_shared(*copy.execute("SELECT content, states FROM strategies").fetchone())


def test_a_strategy_that_follows_the_policy_into_danger_is_found() -> None:
    copy = copied()
    _, state, number = bug(copy)
    run, step = copy.execute(
        "SELECT run, step FROM states WHERE state = ?", (json.dumps(list(state)),)
    ).fetchone()
    states, labels = copy.execute(
        "SELECT states, operators FROM runs WHERE number = ?", (run,)
    ).fetchone()
    path = zip(map(tuple, json.loads(states)[step:]), json.loads(labels)[step:], strict=False)
    write_pairs(copy, number, list({**dict(pairs_of(copy, number)), **dict(path)}.items()))
    problem = only_problem(copy)
    assert "is unsafe" in problem or "no label in the strategy" in problem


def test_strategies_that_were_too_large_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copied()
    rowid, _, _ = bug(copy)
    for size, problems in ((1_000_001, 0), (1_000_000, 1)):
        copy.execute("UPDATE verdicts SET strategy = NULL, size = ? WHERE rowid = ?", (size, rowid))
        report = check_database(copy)
        assert len(report.problems) == problems
        assert report.checked["strategies found again"] == 1 - problems
    copy.execute("UPDATE verdicts SET size = 1000001 WHERE rowid = ?", (rowid,))
    monkeypatch.setattr(model_records, "LIMIT", 3)
    ((_, problem),) = check_database(copy).problems
    assert "too many states to find one; --full lists more states" in str(problem)
    assert check_database(copy, full=True).valid


def test_a_bug_without_any_strategy_is_refused() -> None:
    copy = copied()
    copy.execute(
        "UPDATE verdicts SET verdict = 'BUG', kind = 'unsafe', low = 0, size = 1000001 "
        "WHERE verdict = 'NOT A BUG'"
    )
    problems = [str(problem) for _, problem in check_database(copy).problems]
    assert problems
    assert all("unsafe states cannot be avoided" in problem for problem in problems)


def test_a_strategy_beyond_the_radius_is_refused() -> None:
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
    copy.execute("UPDATE meta SET value = replace(value, '\"some\"', ?)", (f'"{"9" * 5000}"',))
    ((_, problem),) = check_database(copy).problems
    assert str(problem).startswith("the radius of the campaign is '9999")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM runs WHERE number = 0", "there is no such run"),
        ("UPDATE verdicts SET number = 999 WHERE number = 0", "a verdict without a state"),
        ("UPDATE states SET run = NULL WHERE number = 0", "the number of the run"),
        ("UPDATE states SET state = '7' WHERE number = 0", "not a state of the model"),
        ("UPDATE states SET state = NULL WHERE number = 0", "missing or no text"),
        ("UPDATE runs SET operators = '{}' WHERE number = 0", "the run is not a list"),
        ("DELETE FROM states", "the last state is not unsafe"),
    ],
)
def test_damaged_rows_are_reported(statement: str, expected: str) -> None:
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
    changed = json.dumps(document).encode()
    source["files"][path] = base64.b64encode(changed).decode()
    copy.execute(
        "UPDATE tasks SET source = ?, digest = ?",
        (
            zlib.compress(json.dumps(source).encode()),
            digest_of({**source, "files": {path: changed}}),
        ),
    )
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
def test_damaged_models_are_reported(
    change: Callable[[dict[str, Any]], object], expected: str
) -> None:
    ((record, problem),) = check_database(changed_model(change)).problems
    assert record == "line"
    assert expected in str(problem)


def test_another_model_is_found() -> None:
    """Edges that are gone: the runs do not follow from the model any more."""
    copy = changed_model(lambda d: d["automata"][0]["edges"].clear())
    assert all("does not apply" in str(problem) for _, problem in check_database(copy).problems)


def test_a_model_that_is_not_supported_is_not_a_wrong_record() -> None:
    report = check_database(changed_model(lambda d: d.update(datatypes=[{"name": "f"}])))
    assert report.valid
    assert report.remarks == ["line: 'datatypes' is not supported"]
    assert report.not_checked["records"] > 10
