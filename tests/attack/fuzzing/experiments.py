"""Readers of experiments: definitions, stored results, and results of parts of units."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.reader import CODES, Reader, placed
from misstep.experiments.definition import load_definition
from misstep.experiments.driver import _finish
from misstep.experiments.journal import read_journal
from misstep.experiments.plan import plan
from misstep.experiments.report import write_report
from misstep.experiments.store import NAME, begin
from misstep.experiments.trust import require_trusted
from support.experiments import SMALL, definition, fill

PLANNING = """
name = "few"
title = "A few oracles"
world = "planning"
[[rows]]
name = "gripper"
domain = "gripper"
sizes = [{ balls = 2 }, { balls = 3 }]
policies = ["heuristic:ff", "first"]
tags = { easy = true }
[[steps]]
name = "oracles"
kind = "planning-oracles"
oracles = { quick = "undo", other = "bmo(100)" }
pool = { smoke = 5, small = 9 }
seconds = 3.5
[[steps]]
name = "campaigns"
kind = "planning-campaigns"
variants = { plain = { fuzz = "none" }, other = { oracle = "exact" } }
pool = 4
seconds = 2
[[tables]]
name = "bugs"
title = "Bugs"
step = "oracles"
baseline = "quick"
cells = { bugs = "sum(bug)", share = "share(bug == 1)" }
[costs.smoke.oracles]
gripper = 0.5
"""


def definition_seeds() -> list[Files]:
    return [{"x.toml": text.encode()} for text in (SMALL, PLANNING)]


def use_definition(files: Files, place: Path) -> None:
    found = load_definition(str(placed(files, place) / "x.toml"))
    require_trusted(found, True)
    plan(found, "smoke", 1, 2)


# -- stored results -------------------------------------------------------------------------------


def store_seeds() -> list[Files]:
    """Made-up results of one step, and a folder where all units are done."""
    from misstep.experiments.driver import run_experiment

    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    made_up = {(row, own, ""): 3 for row in ("line", "ball") for own in ("uniform-1", "greedy-inf")}
    try:
        fill(place / "some", made_up)
        run_experiment(definition(), place / "all", seeds=1)
        return [{NAME: (place / own / NAME).read_bytes()} for own in ("some", "all")]
    finally:
        shutil.rmtree(place)


def damage_store(seeds: Sequence[Files], random: Random, place: Path) -> Files:
    """Mostly in the values of its tables: else SQLite notices."""
    content = random.choice(seeds)[NAME]
    if random.random() < 0.2:
        return {NAME: damaged(content, [content], random)}
    file = place / "damaged.db"
    file.write_bytes(content)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.text_factory = bytes
        for _ in range(random.choice((1, 1, 2, 4))):
            _damage_cell(connection, random)
    return {NAME: file.read_bytes()}


def _damage_cell(connection: sqlite3.Connection, random: Random) -> None:
    table = random.choice(("meta", "units", "results", "results"))
    columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
    if not rows:
        return
    column, row = random.choice(columns), random.choice(rows)
    (old,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
    new: object
    if isinstance(old, bytes) and random.random() < 0.8:
        new = damaged(old, [old], random).decode("utf-8", "surrogateescape")
        new = (
            new.encode("utf-8", "replace").decode()
            if random.random() < 0.9
            else damaged(old, [old], random)
        )
    else:
        new = random.choice(
            ("", "x", "[]", "{}", b"\xff", 0, -1, 2**62, 1e308, float("inf"), -0.5, "NaN")
        )
    try:
        if random.random() < 0.1:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        else:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
    except (sqlite3.IntegrityError, OverflowError):
        pass  # a value that SQLite refuses


def use_store(files: Files, place: Path) -> None:
    """The report, the plan, and as far as a run that continues goes without running."""
    folder = placed(files, place)
    problem: Exception | None = None
    try:
        write_report(folder)
    except Exception as error:
        problem = error
    own = definition()
    plan(own, "smoke", 2, 1, folder)
    units = own.units("smoke", 2)
    with begin(folder, own.name, "smoke") as store:
        store.update(own, units, "smoke", 2)
        _finish(folder, units, store.results())
    if problem is not None:
        raise problem


# -- parts of units -------------------------------------------------------------------------------


def journal_seeds() -> list[Files]:
    return [
        {"x.jsonl": b'["solves 1", [true, false]]\n["test 1 0", {"task": "t", "pool": 3}]\n["cut'}
    ]


def use_journal(files: Files, place: Path) -> None:
    read_journal(placed(files, place) / "x.jsonl")


READERS = (
    # The scale and the name of the experiment are the user's: that they do not fit is an error of the usage.
    Reader("definition", definition_seeds, use_definition, codes=CODES | {2}, cases=120),
    Reader("experiment", store_seeds, use_store, codes=CODES | {2}, mutate=damage_store, cases=30),
    Reader("journal", journal_seeds, use_journal, cases=600),
)
