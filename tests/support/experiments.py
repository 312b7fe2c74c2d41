"""Definitions of experiments that take milliseconds, and made-up results."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from misstep.experiments.definition import Definition, parse_definition
from misstep.experiments.lines import TomlText
from misstep.experiments.store import DONE, NAME, begin, open_results

SMALL = """
name = "tiny"
title = "A tiny experiment"
world = "models"
seeds = { smoke = 2, small = 8 }

[[rows]]
name = "line"
model = "one-way-line"
options = { smoke = { cells = 5, packages = 2, drop = true }, small = { cells = 6, packages = 3, drop = true } }
policies = ["first"]
tags = { deterministic = false }

[[rows]]
name = "ball"
model = "bouncing-ball"
options = { horizon = 30 }
policies = ["random:1"]
tags = { deterministic = true }

[[steps]]
name = "fuzzing"
kind = "safety-fuzzing"
configurations = ["uniform-1", "greedy-inf"]
runs = 30
max_steps = 60

[[steps]]
name = "deciding"
kind = "safety-deciding"
configuration = "greedy-inf"
runs = 30
max_steps = 60
states = 15
states_a_unit = 10
oracles = ["localfix", "tarjan"]
radii = ["1", "inf"]
evaluations = 10000

[[tables]]
name = "unsafe runs"
title = "Unsafe runs"
step = "fuzzing"
column = "configuration"
cells = { unsafe = "sum(unsafe)" }
baseline = "uniform-1"

[tables.paper.line]
greedy-inf = 99

[[figures]]
name = "bars"
title = "Unsafe runs"
step = "fuzzing"
type = "bars"
bins = "row"
series = ["configuration"]
value = "sum(unsafe)"

[[figures]]
name = "curves"
title = "Decided states"
step = "deciding"
type = "curves"
panels = "truth"
series = ["oracle", "radius"]
value = "seconds"
reached = "decided"

[[figures]]
name = "scatter"
title = "Two oracles"
step = "deciding"
type = "scatter"
where = "radius == 'inf'"
series = ["oracle"]
by = ["row", "seed", "state"]
against = "tarjan"
value = "sum(seconds)"

[[claims]]
name = "guided"
text = "Guidance helps."
step = "fuzzing"
groups = ["row"]
holds = "sum(unsafe, configuration == 'greedy-inf') > sum(unsafe, configuration == 'uniform-1')"
agrees = "== 1"
sampled = false

[[claims]]
name = "cheap"
text = "Almost all runs are unsafe."
step = "fuzzing"
value = "share(unsafe > 20)"
agrees = ">= 0.5"
needs = 4
"""


def definition(text: str = SMALL, name: str = "tiny.toml") -> Definition:
    return parse_definition(TomlText(text, name))


def write(folder: Path, text: str = SMALL) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text)
    return path


def fill(folder: Path, made_up: Mapping[tuple[str, str, str], float], text: str = SMALL) -> None:
    """A folder with made-up unsafe runs by row, configuration and nothing else."""
    own = definition(text)
    units = own.units("smoke", 2)
    with begin(folder, own.name, "smoke") as store:
        store.update(own, units, "smoke", 2)
        for unit in units:
            if unit.step != "fuzzing":
                continue
            key = (unit.row, unit.payload["configuration"], str(unit.seed))
            unsafe = made_up.get(key, made_up.get((unit.row, unit.payload["configuration"], "")))
            if unsafe is not None:
                result = {
                    **dict.fromkeys(("distinct", "unsafe_starts", "steps", "looked_at", "cut"), 0),
                    "policy": "made-up",
                    "runs": 30,
                    "unsafe": unsafe,
                    "seconds": 0.5,
                }
                store.put(unit.key, DONE, result, 0.5)


def without_times(value: Any) -> Any:
    """A result without what differs from run to run."""
    if isinstance(value, dict):
        return {name: without_times(own) for name, own in value.items() if name != "seconds"}
    if isinstance(value, list):
        return [without_times(own) for own in value if not isinstance(own, float)]
    return value


def results(folder: Path) -> dict[str, Any]:
    """By unit, without times."""
    with open_results(folder) as store:
        stored = store.results()
        return {unit.title: without_times(stored[unit.key].result) for unit in store.units()}


def count(folder: Path) -> int:
    """How many results there are, also while somebody writes."""
    path = folder / NAME
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=20)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # it is being made
