"""Another JANI tool on every built-in model over integers: the same successors in 1,000 random states each.

The states are those of random walks that start anywhere in the model's reachable space, so that they do not cluster
around the initial ones.
"""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support.models import VARIANTS, Choices, described
from support.momba import understood, values

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what it does while it is imported is not our business
    jani: Any = pytest.importorskip("momba.jani", reason="momba is not installed")
    engine: Any = pytest.importorskip("momba.engine", reason="momba-engine is not installed")

pytestmark = [pytest.mark.soundness, pytest.mark.filterwarnings("ignore")]
CONTROL = ("bouncing-ball", "inverted-pendulum", "cartpole", "follow-car")
LARGER: list[tuple[str, Choices]] = [
    ("one-way-line", {"cells": 8, "packages": 3, "drop": True, "ice": "3,5", "park": True}),
    ("two-way-line", {"cells": 8, "packages": 3, "drop": True, "ice": "3", "park": True}),
    ("blocksworld-cost", {"blocks": 4, "limit": 2, "max_cost": 2}),
    ("n-puzzle", {"width": 3, "height": 2, "tile": 1, "cell": 4, "max_cost": 1}),
    ("beluga", {"racks": 2, "lines": "0,3/2,1", "swaps": 6}),
]
MODELS = [v for v in [*VARIANTS, *LARGER] if v[0] not in CONTROL]
STATES = 1000
STARTS = 25


@pytest.mark.parametrize(("name", "choices"), MODELS, ids=described)
def test_momba_has_the_same_successors(name: str, choices: Choices, tmp_path: Path) -> None:
    dice = random.Random(name)
    instance = generate_model(name, **choices)
    write_model(instance, path := tmp_path / "model.jani")
    task = load_jani(path)
    space = task.space(max_states=3_000_000)
    document = {**understood(instance.document), "properties": []}
    compared: set[tuple[Any, ...]] = set()
    wanted = min(STATES, len(space))
    loads = 0
    while len(compared) < wanted and loads < 40 * STARTS:
        loads += 1
        start = space.state(dice.randrange(len(space)))
        if start in compared:
            continue
        for variable in document["variables"]:
            variable["initial-value"] = start[task.variable_names.index(variable["name"])]
        explorer = engine.Explorer.new_discrete_time(jani.load_model(json.dumps(document)))
        (theirs,) = explorer.initial_states
        known = [theirs]
        for _ in range(2 * STATES // STARTS):
            state: Any = values(theirs)
            found: dict[str, set[Any]] = {}
            for transition in theirs.transitions:
                reached = {values(d.state) for d in transition.destinations.support}
                found.setdefault(transition.action.action_type.label, set()).update(reached)
            labels = task.applicable(state, raw=True)
            ours = {task.labels[a]: set(task.outcomes(state, a, raw=True)) for a in labels}
            assert found == ours
            compared.add(state)
            # Beyond these the model itself may leave its bounds.
            if found and not task.is_unsafe(state) and not task.is_goal(state):
                known += [
                    d.state for t in theirs.transitions for d in list(t.destinations.support)[:2]
                ]
            theirs = dice.choice(known[-20:])
    assert len(compared) >= 0.9 * wanted
