"""Models with very many names, or with lists that stand for very many states, take time that grows with their size."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.checking.jani import SafetyTask, expressions, steps
from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.errors import BudgetLimitError, InputFormatError, UnsupportedError
from misstep.tasks.jani.load import load_jani
from support.jani import (
    TINY_LINE,
    automaton,
    bounded,
    destination,
    edge,
    model,
    op,
    pa,
    variable,
    write,
)

MANY = 50_000


def with_actions(document: dict[str, Any]) -> None:
    document["actions"] += [{"name": f"a{k}"} for k in range(MANY)]


def with_locations(document: dict[str, Any]) -> None:
    document["automata"][0]["locations"] += [{"name": f"l{k}"} for k in range(MANY)]


def with_assignments(document: dict[str, Any]) -> None:
    document["variables"] += [{**document["variables"][1], "name": f"v{k}"} for k in range(10_000)]
    assigned = document["automata"][0]["edges"][0]["destinations"][0]["assignments"]
    assigned += [{"ref": f"v{k}", "value": 1} for k in range(10_000)]


@pytest.mark.parametrize("change", [with_actions, with_locations, with_assignments])
def test_many_names(change: Any, tmp_path: Path) -> None:
    """Names used to be looked for one after the other, for minutes."""
    document = copy.deepcopy(TINY_LINE)
    change(document)
    task = load_jani(write(document, folder=tmp_path))
    checker = SafetyTask.from_source(task.source)
    (state,) = task.initial_states()
    assert sorted(map(str, task.outcomes(state, 0, raw=True))) == sorted(
        map(str, checker.model.outcomes_of(state, 0))
    )


def test_a_list_that_leaves_many_locations_open(tmp_path: Path) -> None:
    """Each of forty automata may start in two locations, so the one entry stands for 2^40 states."""
    document = copy.deepcopy(TINY_LINE)
    (own,) = document["automata"]
    own["locations"].append({"name": "other"})
    own["initial-locations"].append("other")
    document["automata"] = [{**copy.deepcopy(own), "name": f"m{k}"} for k in range(40)]
    elements = [{"automaton": f"m{k}"} for k in range(40)]
    document["system"] = {"elements": elements, "syncs": [{"synchronise": ["acc"] * 40}]}
    with pytest.raises(UnsupportedError, match="more than 2,097,152 start states"):
        load_jani(write(document, folder=tmp_path))


def cell(index: int) -> Any:
    return {"op": "aa", "exp": "a", "index": index}


def with_an_array(cells: int, start: Any, assignments: list[Any]) -> Any:
    many = {"op": "ac", "var": "i", "length": cells, "exp": 0}
    array = {"name": "a", "type": {"kind": "array", "base": bounded(0, 3)}, "initial-value": many}
    return model(
        [array, variable("k", bounded(0, 3), 0)],
        [edge("a", True, destination(assignments))],
        features=["arrays"],
        prop=pa(start=None if start is None else {"op": "state-condition", "exp": start}),
    )


@pytest.mark.parametrize(
    "start",
    [
        op("=", "k", 0),
        op("=", {"op": "aa", "exp": "a", "index": "k"}, 1),
        op("∧", *(op("≤", cell(i), cell(i + 1)) for i in range(400))),
    ],
)
def test_starts_of_a_large_array(start: Any, tmp_path: Path) -> None:
    """The first million of 4^20000 starts were listed, in minutes and gigabytes, before one was drawn."""
    began = time.process_time()
    task = load_jani(write(with_an_array(20_000, start, []), folder=tmp_path))
    assert len(task.sample_initial(CounterRandom(1))) == 20_001
    with pytest.raises(BudgetLimitError):
        task.initial_states(1000)
    assert time.process_time() - began < 20


def test_a_large_array_is_assigned(tmp_path: Path) -> None:
    """Each cell was compared with all cells before, to find one that is assigned twice."""
    many = {"op": "ac", "var": "i", "length": 60_000, "exp": 1}
    later = {"ref": {"op": "aa", "exp": "a", "index": "k"}, "value": 2, "index": 1}
    written = [{"ref": "a", "value": many}, later]
    task = load_jani(write(with_an_array(60_000, None, written), folder=tmp_path))
    (state,) = task.initial_states()
    began = time.process_time()
    for _ in range(10):
        (found,) = task.outcomes(state, "a")
    assert found[:3] == (2, 1, 1)
    assert time.process_time() - began < 3


def test_array_constructors_inside_each_other(tmp_path: Path) -> None:
    """A million elements of a million elements each, which nobody could wait for."""
    kind: Any = bounded(0, 3)
    value: Any = 0
    for depth in range(10):
        kind = {"kind": "array", "base": kind}
        value = {"op": "ac", "var": f"i{depth}", "length": 1_000_000, "exp": value}
    array = {"name": "a", "type": kind, "initial-value": value}
    document = model([array], [edge("a", True, destination([]))], features=["arrays"])
    with pytest.raises(UnsupportedError, match="more than 2000000 elements"):
        load_jani(write(document, folder=tmp_path))
    with pytest.raises(UnsupportedModelError, match="more than 8000000 elements"):
        expressions.evaluate(value, {})


def test_functions_that_grow_exponentially(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker put each of two calls in place thirty times, one inside the other."""
    monkeypatch.setattr(expressions, "MAX_CALLS", 1000)
    functions = {"f0": expressions.Definition((("p", "int", 0),), ("int", 0), "p")}
    for i in range(1, 30):
        call = {"op": "call", "function": f"f{i - 1}", "args": ["p"]}
        functions[f"f{i}"] = expressions.Definition(
            (("p", "int", 0),), ("int", 0), op("+", call, call)
        )
    scope = expressions.Scope({}, functions=functions)
    with pytest.raises(UnsupportedModelError, match="more than 1000 calls"):
        expressions.compile_expression({"op": "call", "function": "f29", "args": [1]}, scope)


def test_a_label_with_very_many_outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve automata with ten edges each made 10^12 combinations in one state, and no limit and no signal ended it."""
    document = copy.deepcopy(TINY_LINE)
    (own,) = document["automata"]
    here = own["locations"][0]["name"]
    moves = {"location": here, "action": "acc", "destinations": [{"location": here}]}
    own["edges"] = [moves] * 10
    document["automata"] = [{**copy.deepcopy(own), "name": f"m{k}"} for k in range(12)]
    elements = [{"automaton": f"m{k}"} for k in range(12)]
    syncs = [{"synchronise": ["acc"] * 12, "result": "acc"}]
    document["system"] = {"elements": elements, "syncs": syncs}
    task = load_jani(write(document, folder=tmp_path))
    (state,) = task.initial_states()
    with pytest.raises(InputFormatError, match="more than 1,000,000 outcomes in one state"):
        task.outcomes(state, "acc")
    monkeypatch.setattr(steps, "MOST_COMBINATIONS", 1000)
    with pytest.raises(ModelError, match="more than 1,000 outcomes in one state"):
        SafetyTask.from_source(task.source).model.outcomes_of(state, task.labels.index("acc"))


def test_a_label_with_very_many_combinations_that_are_disabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no outcome that could be counted; a checker that is given 10^12 of them would never end."""
    document = copy.deepcopy(TINY_LINE)
    (own,) = document["automata"]
    here = own["locations"][0]["name"]
    too_much = {"ref": "pos", "value": 1_000_000}
    own["edges"] = [
        {
            "location": here,
            "action": "acc",
            "destinations": [{"location": here, "assignments": [too_much]}],
        }
    ] * 100
    document["automata"] = [own, {**copy.deepcopy(own), "name": "other"}]
    for edge_of_other in document["automata"][1]["edges"]:
        edge_of_other["destinations"] = [{"location": here}]
    document["system"] = {
        "elements": [{"automaton": own["name"]}, {"automaton": "other"}],
        "syncs": [{"synchronise": ["acc"] * 2, "result": "acc"}],
    }
    task = load_jani(write(document, folder=tmp_path), out_of_bounds="disable")
    (state,) = task.initial_states()
    assert task.outcomes(state, "acc") == []
    model_of_checker = SafetyTask.from_source(task.source).model
    label = task.labels.index("acc")
    assert model_of_checker.outcomes_of(state, label) == []
    monkeypatch.setattr(steps, "MOST_COMBINATIONS", 1000)
    with pytest.raises(ModelError, match="more than 1,000 outcomes in one state"):
        model_of_checker.outcomes_of(state, label)


WIDE = 600
ANYTHING = {"op": "nondet", "var": "v", "exp": True}


@pytest.mark.parametrize(
    "automata",
    [
        [automaton("m", [edge("a", True, destination({"x": ANYTHING, "y": ANYTHING}))])],
        [automaton(v, [edge("a", True, destination({v: k})) for k in range(WIDE)]) for v in "xy"],
    ],
)
def test_probabilities_of_a_label_with_many_outcomes(automata: list[Any], tmp_path: Path) -> None:
    """Each outcome was compared with all before it, or all were copied for each edge: no limit and no signal helped."""
    document = model([variable(name, bounded(0, WIDE - 1), 0) for name in "xy"], automata)
    parts = [own["name"] for own in automata]
    syncs = [{"synchronise": ["a"] * len(parts), "result": "a"}]
    document["system"] = {"elements": [{"automaton": name} for name in parts], "syncs": syncs}
    task = load_jani(write(document, folder=tmp_path))
    (state,) = task.initial_states()
    number = task.label_id("a")
    id = task.engine.intern(state)
    chances = task.engine.probabilities(id, number)
    assert len(chances) == len(task.engine.outcomes(id, number)) == WIDE**2
    assert min(chances) == max(chances) == pytest.approx(1 / WIDE**2)


def test_values_that_are_tried_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 values a few fit, once more for each value that was chosen before: minutes in one state."""
    highest = 999

    def choice(k: int, fitting: int) -> Any:
        total = op("%", op("+", f"v{k}", f"x{k - 1}"), highest + 1) if k else "v0"
        drawn = {"op": "nondet", "var": f"v{k}", "exp": op("<", total, fitting)}
        return {"ref": f"x{k}", "index": k, "value": drawn}

    assigned = [choice(0, 100), choice(1, 100), choice(2, 1)]
    document = model(
        [variable(f"x{k}", bounded(0, highest), 0) for k in range(3)],
        [edge("a", True, destination(assigned))],
        features=["nondet-selection"],
    )
    task = load_jani(write(document, folder=tmp_path))
    (state,) = task.initial_states()
    with pytest.raises(InputFormatError, match="more than 10,000,000 values of"):
        task.outcomes(state, "a")
    monkeypatch.setattr(steps, "MOST_TRIED", 100_000)
    with pytest.raises(ModelError, match="more than 100,000 values to try in one state"):
        SafetyTask.from_source(task.source).model.outcomes_of(state, 0)
