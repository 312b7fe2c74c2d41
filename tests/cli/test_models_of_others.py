"""Models that were not written for Misstep, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import jani
from support.commands import misstep
from support.jani import bounded, destination, edge, op, pa, variable


def silent_counter(folder: Path, **more: Any) -> Path:
    """Counts up by a label, and down by itself; the property is that of a model checker."""
    edges = [
        edge("a", op("<", "x", 5), destination({"x": op("+", "x", 1)})),
        edge("b", op("<", "x", 4), destination({"x": op("+", "x", 2)})),
        edge(None, op("=", "x", 3), destination({"x": 0})),
    ]
    prop = {"name": "reach", "expression": {"op": "F", "exp": op("=", "x", 5)}}
    return jani.write(
        jani.model([variable("x", bounded(0, 5), 0)], edges, prop=prop, **more), folder=folder
    )


def test_silent_edges(tmp_path: Path) -> None:
    model = silent_counter(tmp_path)
    chosen = ("--property", "reach", "--policy", "first", "--json")
    refused = misstep("census", model, *chosen)
    assert refused.returncode == 32
    assert "--silent as-action" in refused.stdout
    counted = misstep("census", model, *chosen, "--silent", "as-action")
    assert json.loads(counted.stdout)["states"] == 6
    wrong = misstep("census", model, *chosen, "--silent", "never")
    assert wrong.returncode == 2
    assert "error or as-action or step" in wrong.stderr


def test_silent_edges_as_steps_of_the_environment(tmp_path: Path) -> None:
    """The policy is asked where it has a choice only; what was found is checked by the other reader."""
    edges = [
        edge("a", op("<", "x", 3), destination({"x": op("+", "x", 1)})),
        edge("b", op("<", "x", 3), destination({"x": 0})),
        edge(None, op("=", "x", 1), destination({"x": 2})),
        edge(None, op("=", "x", 3), destination({"x": 4})),
    ]
    document = jani.model([variable("x", bounded(0, 5), 0)], edges, prop=pa(op("=", "x", 4)))
    model = jani.write(document, folder=tmp_path)
    (tmp_path / "asked.py").write_text(
        "def act(state):\n    assert state['x'] < 3, 'nobody has a choice here'\n    return 'a'\n"
    )
    policy = ("--policy", f"python:{tmp_path / 'asked.py'}:act", "--silent", "step")
    counted = json.loads(misstep("census", model, *policy, "--json").stdout)
    assert (counted["states"], counted["unsafe"]) == (5, 1)
    folder = tmp_path / "found"
    found = misstep("test", model, *policy, "--runs", "20", "--out", folder, "--json")
    assert found.returncode == 1, found.stderr
    assert json.loads(found.stdout)["bugs"]["total"] > 0
    assert misstep("replay", folder, "--full").returncode == 0


def test_probability_zero_is_told(tmp_path: Path) -> None:
    """Beside the result, which does not count the outcome."""
    ways = [destination({"x": 1}, 0), destination({"x": 2}, 1)]
    document = jani.model([variable("x", bounded(0, 2), 0)], [edge("a", True, *ways)])
    counted = misstep("census", jani.write(document, folder=tmp_path), "--json")
    assert json.loads(counted.stdout)["states"] == 2
    assert "note: a destination has probability 0 and is left out" in counted.stderr


def test_a_condition_in_the_place_of_a_property(tmp_path: Path) -> None:
    model = silent_counter(tmp_path)
    none = misstep("census", model, "--silent", "as-action")
    assert none.returncode == 31
    assert "--unsafe CONDITION says what is unsafe" in none.stderr
    given = ("--silent", "as-action", "--policy", "first")
    named = misstep("census", model, *given, "--property", "reach", "--json")
    typed = misstep("census", model, *given, "--unsafe", "x >= 5", "--json")
    assert json.loads(typed.stdout) == json.loads(named.stdout)
    both = misstep("census", model, *given, "--unsafe", "x >= 5", "--property", "reach")
    assert both.returncode == 2
    folder = tmp_path / "found"
    found = misstep(
        *("test", model, *given, "--unsafe", "x = 5", "--start", "x <= 2", "--runs", "50"),
        *("--out", folder, "--json"),
    )
    assert json.loads(found.stdout)["bugs"]["total"] > 0
    assert misstep("replay", folder).returncode == 0


def test_start_states_from_a_file(tmp_path: Path) -> None:
    model = silent_counter(tmp_path)
    states = tmp_path / "starts.json"
    states.write_text(
        json.dumps({"op": "states-values", "values": [{"variables": [{"var": "x", "value": 4}]}]})
    )
    given = ("--silent", "as-action", "--unsafe", "x = 9", "--start", states, "--json")
    assert json.loads(misstep("census", model, *given).stdout)["states"] == 2


def test_the_message_names_the_parameter_that_another_constant_needs(tmp_path: Path) -> None:
    constants = [
        {"name": "size", "type": "int"},
        {"name": "double", "type": "int", "value": op("*", "size", 2)},
    ]
    model = silent_counter(tmp_path, constants=constants)
    said = misstep("census", model, "--property", "reach").stderr
    assert "parameters without a value: size" in said
    assert "--constant size=VALUE" in said


def test_messages_do_not_print_whole_states() -> None:
    variables = [variable(f"v{i}", bounded(0, 3), 0) for i in range(300)]
    edges = [edge("a", True, destination({"v0": op("+", "v0", 9)}))]
    task = jani.task(jani.model(variables, edges, prop=pa()))
    with pytest.raises(Exception, match="and 294 more variables") as caught:
        task.outcomes(task.initial_states()[0], 0)
    assert len(str(caught.value)) < 400


def test_starts_that_are_not_drawn_uniformly_are_told(tmp_path: Path) -> None:
    """A permutation, and a slot that nobody looks at, so that there are too many to list."""
    names = [f"x{i}" for i in range(12)]
    differ = op("∧", *(op("≠", a, b) for i, a in enumerate(names) for b in names[:i]))
    variables = [variable(name, bounded(0, 11)) for name in names]
    variables.append(variable("free", bounded(0, 2**40)))
    prop = pa(False, False, {"op": "state-condition", "exp": differ})
    model = jani.write(
        jani.model(variables, [edge("a", True, destination({"x0": "x1"}))], prop=prop),
        folder=tmp_path,
    )
    result = misstep("test", model, "--policy", "first", "--runs", "5", "--out", tmp_path / "c")
    assert result.returncode == 0
    assert "start states are found by a random search" in result.stderr
