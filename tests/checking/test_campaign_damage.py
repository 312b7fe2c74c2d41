"""Whatever a campaign contains, the checker answers, or says in one line why it cannot."""

from __future__ import annotations

import base64
import json
import random
import sqlite3
import zlib
from functools import cache
from typing import Any

import pytest

from misstep.checking import CheckError
from misstep.checking.campaign import check_database
from misstep.checking.stored import Store
from support import jani
from support.stored_campaigns import new_database, stored_model

VALUES: list[Any] = [
    *(None, "x", b"\xff\xfe", -1, 0, 1, 2**60, 1.5, float("inf"), "[]", "{}", "[[[]]]"),
    *("9" * 5000, "null", '"x"', "[1e999]", "[" * 5000),
]
NODES: list[Any] = [
    *(None, True, 0, -1, 10**30, 1.5, "x", "", [], [[]], {}, [None], float("nan"), float("inf")),
    *({"op": "∧"}, {"op": []}, {"op": "ite"}, {"file": "a"}, {"exp": 1}),
]


@cache
def campaign() -> sqlite3.Connection:
    return stored_model(jani.task(jani.TINY_LINE), runs=5)


def copied() -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign().backup(copy)
    return copy


def answers(copy: sqlite3.Connection) -> None:
    try:
        lines = [str(problem) for _, problem in check_database(copy).problems]
    except CheckError as error:
        lines = [str(error)]
    assert not any("\n" in line for line in lines)


def mutated(document: Any, dice: random.Random) -> Any:
    """The document with one node left out, repeated or replaced."""
    places: list[tuple[Any, Any]] = []
    whole = [document]
    open_nodes: list[Any] = [whole]
    while open_nodes:
        node = open_nodes.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        places += [(node, key) for key in keys]
        open_nodes += [node[key] for key in keys if isinstance(node[key], (dict, list))]
    node, key = dice.choice(places[1:])
    if dice.random() < 0.3:
        del node[key]
    elif dice.random() < 0.3 and isinstance(node, list):
        node.insert(key, dice.choice(node))
    else:
        node[key] = dice.choice(NODES)
    return whole[0]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_columns_are_reported_in_one_line(seed: int) -> None:
    dice = random.Random(seed)
    for table in ("meta", "tasks", "states", "runs", "verdicts", "faults"):
        columns = [row[1] for row in campaign().execute(f"PRAGMA table_info({table})")]
        for column in columns:
            copy = copied()
            rows = copy.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            rowid, value = dice.choice(rows)
            changed = dice.choice(VALUES)
            if isinstance(value, str) and value.startswith("[") and dice.random() < 0.7:
                changed = json.dumps(mutated(json.loads(value), dice))
            try:
                copy.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, rowid))
            except sqlite3.Error:
                continue  # the table does not take it
            answers(copy)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_models_are_reported_in_one_line(seed: int) -> None:
    dice = random.Random(seed)
    (packed,) = campaign().execute("SELECT source FROM tasks").fetchone()
    for _ in range(60):
        source = json.loads(zlib.decompress(packed))
        ((path, content),) = source["files"].items()
        document = mutated(json.loads(base64.b64decode(content)), dice)
        source["files"][path] = base64.b64encode(json.dumps(document).encode()).decode()
        if dice.random() < 0.1:
            source = mutated(source, dice)
        copy = copied()
        copy.execute("UPDATE tasks SET source = ?", (zlib.compress(json.dumps(source).encode()),))
        answers(copy)


@pytest.mark.parametrize(
    "line",
    [
        '"costly_some" = true',
        'note = """',
        'note = ["""',
        "note = '''",
        "planning.risk = true",
        "[planning] # more",
    ],
)
def test_settings_that_the_checker_could_overlook_are_refused(line: str) -> None:
    """They are read line by line here, and as TOML elsewhere."""
    connection = new_database("planning", objective="cost")
    Store(connection)
    connection.execute("UPDATE meta SET value = value || ? WHERE key = 'config'", (line,))
    with pytest.raises(CheckError, match="the settings have the line"):
        Store(connection)


def test_a_line_of_settings_ends_where_that_of_toml_does() -> None:
    connection = new_database(
        "planning", policy="x\u2028objective = 'goal'\u2028", objective="cost"
    )
    assert Store(connection).setting("planning", "objective") == "cost"


def test_rows_of_which_only_some_were_read_end_after_their_connection() -> None:
    """As after Ctrl-C, where nobody can say what is closed first."""
    connection = copied()
    rows = Store(connection)._rows("states", "number", "ORDER BY 1")
    assert next(rows) == (0,)
    connection.close()
    rows.close()
