"""Models with very many names, or with lists that stand for very many states, take time that grows with their size."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from misstep.checking.jani import SafetyTask
from misstep.errors import UnsupportedError
from misstep.tasks.jani.load import load_jani
from support.jani import TINY_LINE, write

MANY = 50_000


def with_actions(model: dict[str, Any]) -> None:
    model["actions"] += [{"name": f"a{k}"} for k in range(MANY)]


def with_locations(model: dict[str, Any]) -> None:
    model["automata"][0]["locations"] += [{"name": f"l{k}"} for k in range(MANY)]


def with_assignments(model: dict[str, Any]) -> None:
    model["variables"] += [{**model["variables"][1], "name": f"v{k}"} for k in range(10_000)]
    assigned = model["automata"][0]["edges"][0]["destinations"][0]["assignments"]
    assigned += [{"ref": f"v{k}", "value": 1} for k in range(10_000)]


@pytest.mark.parametrize("change", [with_actions, with_locations, with_assignments])
def test_many_names(change: Any, tmp_path: Path) -> None:
    """Names used to be looked for one after the other, for minutes."""
    model = copy.deepcopy(TINY_LINE)
    change(model)
    task = load_jani(write(model, folder=tmp_path))
    checker = SafetyTask.from_source(task.source)
    (state,) = task.initial_states()
    assert sorted(map(str, task.outcomes(state, 0, raw=True))) == sorted(
        map(str, checker.model.outcomes_of(state, 0))
    )


def test_a_list_that_leaves_many_locations_open(tmp_path: Path) -> None:
    """Each of forty automata may start in two locations, so the one entry stands for 2^40 states."""
    model = copy.deepcopy(TINY_LINE)
    (own,) = model["automata"]
    own["locations"].append({"name": "other"})
    own["initial-locations"].append("other")
    model["automata"] = [{**copy.deepcopy(own), "name": f"m{k}"} for k in range(40)]
    elements = [{"automaton": f"m{k}"} for k in range(40)]
    model["system"] = {"elements": elements, "syncs": [{"synchronise": ["acc"] * 40}]}
    with pytest.raises(UnsupportedError, match="more than 2,097,152 start states"):
        load_jani(write(model, folder=tmp_path))
