"""A second opinion on the built-in models: another JANI tool reads them and finds the same successors."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from misstep.checking.jani import State
from misstep.tasks.models import generate_model
from support.models import VARIANTS, Choices, described
from support.momba import understood, values
from support.plain_task import PlainTask

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what it does while it is imported is not our business
    jani: Any = pytest.importorskip("momba.jani", reason="momba is not installed")
    engine: Any = pytest.importorskip("momba.engine", reason="momba-engine is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of its own about precision
MODELS = [v for v in VARIANTS if "trig" not in v[1]]  # a feature that momba does not have


def rounded(state: State) -> State:
    """Momba computes with other roundings in the last digit."""
    return tuple(float(f"{x:.10g}") if isinstance(x, float) else x for x in state)


def successors(theirs: Any) -> dict[str, set[State]]:
    found: dict[str, set[State]] = {}
    for transition in theirs.transitions:
        reached = {rounded(values(d.state)) for d in transition.destinations.support}
        found.setdefault(transition.action.action_type.label, set()).update(reached)
    return found


@pytest.mark.parametrize(("name", "choices"), MODELS, ids=described)
def test_the_same_successors_on_random_walks(name: str, choices: Choices) -> None:
    dice = random.Random(0)
    instance = generate_model(name, starts=5, **choices)
    task = PlainTask(instance.document)
    for start in PlainTask(instance.document, "sampled").starts():
        named = task.named(start)
        document = {**understood(instance.document), "properties": []}
        for variable in document["variables"]:
            variable["initial-value"] = named[variable["name"]]
        explorer = engine.Explorer.new_discrete_time(jani.load_model(json.dumps(document)))
        (theirs,) = explorer.initial_states
        for _ in range(15):
            state = values(theirs)
            ours = {
                label: {rounded(outcome) for outcome in reached}
                for label, reached in task.outcomes(state).items()
            }
            assert successors(theirs) == ours
            # Beyond these the model itself may leave its bounds.
            if not ours or task.is_unsafe(state) or task.is_goal(state):
                break
            transition = dice.choice(theirs.transitions)
            theirs = dice.choice(list(transition.destinations.support)).state


def test_the_tiny_line_has_as_many_states() -> None:
    document = json.loads(Path(__file__).with_name("tiny_line.jani").read_text())
    network = jani.load_model(json.dumps({**document, "properties": []}))
    assert engine.Explorer.new_discrete_time(network).count_states() == 11
