"""The plain evaluator of JANI: each rule of the format, on a small model whose results are obvious."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from misstep.checking.jani import Model, ModelError, OutOfBoundsError, evaluate
from support.ground_truth import Census, census, explore, faults, is_safe, safe_states
from support.jani import pa
from support.plain_task import PlainTask, load

TINY = Path(__file__).parents[1] / "tasks" / "models" / "tiny_line.jani"
Json = dict[str, Any]


def bounded(
    name: str,
    low: Any,
    high: Any,
    base: str = "int",
    *,
    initial: Any = None,
    transient: bool = False,
) -> Json:
    kind = {"kind": "bounded", "base": base, "lower-bound": low, "upper-bound": high}
    whole: Json = {"name": name, "type": kind, "transient": transient}
    return whole if initial is None else {**whole, "initial-value": initial}


def edge(action: str | None, *destinations: Json, guard: Any = None, location: str = "l") -> Json:
    whole: Json = {"location": location, "destinations": list(destinations)}
    if action is not None:
        whole["action"] = action
    if guard is not None:
        whole["guard"] = {"exp": guard}
    return whole


def to(*assignments: tuple[Any, ...], location: str = "l", probability: Any = None) -> Json:
    written = [dict(zip(("ref", "value", "index"), a, strict=False)) for a in assignments]
    whole: Json = {"location": location, "assignments": written}
    if probability is not None:
        whole["probability"] = {"exp": probability}
    return whole


def binary(op: str, left: Any, right: Any) -> Json:
    return {"op": op, "left": left, "right": right}


NO_RESULT = binary("%", 1, 0)  # an error if it is ever computed


def automaton(name: str, edges: list[Json], **more: Any) -> Json:
    return {
        "name": name,
        "locations": [{"name": "l"}],
        "initial-locations": ["l"],
        "edges": edges,
        **more,
    }


def model(
    edges: list[Json], variables: list[Json], *, actions: tuple[str, ...] = ("a", "b"), **more: Any
) -> Json:
    return {
        "jani-version": 1,
        "name": "m",
        "type": "mdp",
        "actions": [{"name": name} for name in actions],
        "variables": variables,
        "automata": [automaton("m", edges)],
        "system": {"elements": [{"automaton": "m"}]},
        **more,
    }


def test_the_tiny_line_is_as_computed_by_hand() -> None:
    task = load(TINY)
    assert census(task) == Census(1, 11, 16, 3, 1, 0, 5, (1, 3, 5), 1, 2)
    space = explore(task)
    policy = space.policy()
    answers = {
        state: "".join(
            "Y" if i in safe_states(space, policy, r) else "n" for r in (0, 1, 2, math.inf)
        )
        for i, state in enumerate(space.states)
    }
    expected = {
        (0, 0, 0): "nnYY",
        (0, 1, 0): "nnYY",
        (1, 1, 0): "nYYY",
        (1, 0, 0): "nYYY",
        (2, 0, 0): "YYYY",
    }
    assert answers == {state: expected.get(state, "nnnn") for state in space.states}
    assert {space.states[i] for i in faults(space, policy, math.inf)} == {(0, 1, 0), (1, 1, 0)}


def test_the_task_and_not_the_model_stops_at_unsafe_states_and_goals() -> None:
    task = load(TINY)
    raw = [len(r) for s in explore(task).states for r in task.outcomes(s).values()]
    assert sum(raw) == 24


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (binary("/", 1, 2), 0.5),
        (binary("%", -7, 3), 2),
        (binary("+", 1, 0.5), 1.5),
        (binary("min", 2, 1.0), 1.0),
        (binary("max", 2, 3), 3),
        (binary("pow", 2, 3), 8.0),
        (binary("log", 8, 2), 3.0),
        ({"op": "floor", "exp": -0.5}, -1),
        ({"op": "ceil", "exp": -0.5}, 0),
        ({"op": "trc", "exp": -1.5}, -1),
        ({"op": "abs", "exp": -2}, 2),
        ({"op": "sgn", "exp": -0.1}, -1),
        ({"op": "ite", "if": True, "then": 1, "else": NO_RESULT}, 1),
        (binary("⇒", False, binary("=", NO_RESULT, 1)), True),
        (binary("∧", False, binary("=", NO_RESULT, 1)), False),
        (binary("=", 1, 1.0), True),
        (binary("≠", True, False), True),
        ({"op": "aa", "exp": {"op": "av", "elements": [4, 5]}, "index": "one"}, 5),
        ({"op": "ac", "var": "i", "length": 3, "exp": binary("*", "i", "i")}, (0, 1, 4)),
        ({"op": "let", "variables": [{"name": "x", "value": 2}], "expression": "x"}, 2),
        ({"expression": "one"}, 1),
        ({"constant": "π"}, math.pi),
    ],
    ids=lambda v: v["op"] if isinstance(v, dict) and "op" in v else "",
)
def test_the_value_of_each_operator(expression: Any, value: Any) -> None:
    found = evaluate(expression, {"one": 1})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "nobody",
        binary("/", 1, 0),
        binary("%", 1, 0),
        binary("%", 1.5, 2),
        binary("∧", 1, True),
        binary("+", True, 1),
        binary("=", True, 1),
        binary("*", 2**62, 2),
        binary("*", 1e300, 1e300),
        binary("log", -1, 2),
        {"op": "aa", "exp": {"op": "av", "elements": [4]}, "index": 1},
        {"op": "der", "var": "x"},
    ],
    ids=str,
)
def test_wrong_expressions_are_model_errors(expression: Any) -> None:
    with pytest.raises(ModelError):
        evaluate(expression, {})


def test_assignments_of_one_index_read_the_same_values_and_later_ones_see_them() -> None:
    swap = to(("x", "y"), ("y", "x"), ("z", binary("+", "x", 10), 1))
    variables = [bounded(n, 0, 99, initial=v) for n, v in (("x", 1), ("y", 2), ("z", 0))]
    assert Model(model([edge("a", swap)], variables)).outcomes((1, 2, 0)) == {"a": [(2, 1, 12)]}
    twice = model([edge("a", to(("x", 1), ("x", 1)))], variables)
    with pytest.raises(ModelError, match="twice"):
        Model(twice).outcomes((1, 2, 0))


def test_edges_of_one_label_are_one_choice_and_outcomes_are_a_set() -> None:
    edges = [
        edge("b", to(("x", 1))),
        edge("a", to(("x", 2), probability=0.5), to(("x", 3), probability=0.5)),
        edge("a", to(("x", 3)), guard=binary("=", "x", 0)),
        edge("a", to(("x", 4)), guard=binary("=", "x", 1)),
        edge("b", to(("x", 5), probability=0), to(("x", 1), probability=1)),
    ]
    compiled = Model(model(edges, [bounded("x", 0, 9)]))
    found = compiled.outcomes((0,))
    assert found == {"a": [(2,), (3,)], "b": [(1,)]}
    assert list(found) == ["a", "b"]


def test_values_outside_the_bounds_are_errors_or_disable_the_edge() -> None:
    edges = [edge("a", to(("x", binary("+", "x", 1)), probability=0.5), to(probability=0.5))]
    document = model([*edges, edge("b", to(("x", 0)))], [bounded("x", 0, 1)])
    with pytest.raises(OutOfBoundsError):
        Model(document).outcomes((1,))
    assert Model(document, out_of_bounds="disable").outcomes((1,)) == {"b": [(0,)]}


def test_types_of_variables() -> None:
    real = model([edge("a", to(("x", binary("*", "x", -1))))], [bounded("x", -1, 1, "real")])
    (zero,) = Model(real).outcomes((0.0,))["a"][0]
    assert math.copysign(1, zero) == 1
    with pytest.raises(ModelError):
        Model(model([edge("a", to(("x", 0.5)))], [bounded("x", 0, 1)])).outcomes((0,))


def test_constants_may_be_parameters_and_use_earlier_ones() -> None:
    constants = [
        {"name": "n", "type": "int"},
        {"name": "m", "type": "int", "value": binary("*", "n", 2)},
    ]
    document = model([edge("a", to(("x", "m")))], [bounded("x", 0, "m")], constants=constants)
    assert Model(document, {"n": 3}).outcomes((0,)) == {"a": [(6,)]}
    with pytest.raises(ModelError, match="needs a value"):
        Model(document)
    with pytest.raises(ModelError, match="no constant"):
        Model(document, {"n": 3, "k": 1})


def test_arrays() -> None:
    array = {
        "name": "v",
        "type": {"kind": "array", "base": {"kind": "bounded", "base": "int", "upper-bound": 9}},
        "initial-value": {"op": "ac", "var": "i", "length": 3, "exp": "i"},
    }
    cell = {"op": "aa", "exp": "v", "index": "k"}
    edges = [edge("a", to((cell, 7), ("k", binary("+", "k", 1))))]
    document = model(edges, [array, bounded("k", 0, 3)], properties=[pa()])
    task = PlainTask(document)
    assert task.starts() == [(0, 1, 2, k) for k in range(4)]
    assert task.outcomes((0, 1, 2, 1)) == {"a": [(0, 7, 2, 2)]}
    with pytest.raises(ModelError, match="index 3"):
        task.outcomes((0, 1, 2, 3))


def test_transient_variables_start_afresh_and_are_not_part_of_a_state() -> None:
    transient = bounded("c", 0, 9, transient=True, initial=4)
    edges = [edge("a", to(("x", "c"), ("c", 5), ("y", "c", 1)))]
    variables = [bounded("x", 0, 9), bounded("y", 0, 9), transient]
    document = model(edges, variables)
    assert Model(document).outcomes((0, 0)) == {"a": [(4, 5)]}
    document["automata"][0]["locations"][0]["transient-values"] = [{"ref": "c", "value": 8}]
    assert Model(document).outcomes((0, 0)) == {"a": [(8, 5)]}
    guarded = model([edge("a", to(("c", 5)), guard=binary("=", "c", 4))], variables)
    assert Model(guarded).outcomes((0, 0)) == {"a": [(0, 0)]}  # what an edge writes is forgotten
    guarded["automata"][0]["locations"][0]["transient-values"] = [{"ref": "c", "value": 8}]
    assert Model(guarded).outcomes((0, 0)) == {}


def two_automata(**system: Any) -> Json:
    """Two counters over a shared variable; the second one has two locations."""
    first = automaton("p", [edge("a", to(("x", binary("+", "x", 1))), guard=binary("<", "x", 2))])
    second = {
        "name": "q",
        "variables": [bounded("own", 0, 5, initial=0)],
        "locations": [{"name": "l"}, {"name": "r"}],
        "initial-locations": ["l", "r"],
        "edges": [
            edge("b", to(("own", binary("+", "x", "own")), location="r")),
            edge(
                "b",
                to(location="l", probability=0.5),
                to(location="r", probability=0.5),
                location="r",
            ),
        ],
    }
    return {
        "jani-version": 1,
        "name": "m",
        "type": "mdp",
        "actions": [{"name": "a"}, {"name": "b"}, {"name": "both"}],
        "variables": [bounded("x", 0, 2, initial=1)],
        "automata": [first, second],
        "system": {"elements": [{"automaton": "p"}, {"automaton": "q"}], **system},
        "properties": [pa()],
    }


def test_synchronised_automata_move_together() -> None:
    syncs = [
        {"synchronise": ["a", "b"], "result": "both"},
        {"synchronise": ["a", None], "result": "a"},
    ]
    task = PlainTask(two_automata(syncs=syncs))
    assert [slot.name for slot in task.model.slots] == ["q.location", "x", "own"]
    assert task.starts() == [(0, 1, 0), (1, 1, 0)]
    assert task.outcomes((0, 1, 0)) == {"a": [(0, 2, 0)], "both": [(1, 2, 1)]}
    assert task.outcomes((1, 1, 3)) == {"a": [(1, 2, 3)], "both": [(0, 2, 3), (1, 2, 3)]}
    assert task.outcomes((0, 2, 0)) == {}
    assert PlainTask(two_automata()).outcomes((0, 1, 0)) == {}
    with pytest.raises(ModelError, match="does not fit"):
        Model(two_automata(syncs=[{"synchronise": ["a"]}]))


def test_silent_steps_are_refused_or_a_label() -> None:
    unnamed = two_automata(syncs=[{"synchronise": ["a", None]}])
    with pytest.raises(ModelError, match="silent"):
        Model(unnamed).outcomes((0, 1, 0))
    assert Model(unnamed).outcomes((0, 2, 0)) == {}
    assert Model(unnamed, silent="as_action").outcomes((0, 1, 0)) == {"τ": [(0, 2, 0)]}
    alone = model([edge(None, to(("x", 1)))], [bounded("x", 0, 1)])
    assert Model(alone, silent="as_action").outcomes((0,)) == {"τ": [(1,)]}


def test_initial_states_of_the_model_itself() -> None:
    document = model(
        [],
        [
            bounded("x", 0, 3),
            bounded("y", 0, 9, initial=2),
            {"name": "b", "type": "bool"},
        ],
        properties=[pa()],
    )
    document["restrict-initial"] = {"exp": binary("≤", "y", "x")}
    assert PlainTask(document).starts() == [
        (2, 2, False),
        (2, 2, True),
        (3, 2, False),
        (3, 2, True),
    ]
    document["variables"].append({"name": "r", "type": "real"})
    with pytest.raises(ModelError, match="infinitely many"):
        PlainTask(document).starts()


def test_start_replaces_the_initial_states() -> None:
    variables = [bounded("x", 0, 9, initial=2), bounded("y", 0, 9, "real")]
    listed = {
        "op": "states-values",
        "values": [
            {"variables": [{"var": "y", "value": 1}]},
            {"variables": [{"var": "y", "value": 0.5}, {"var": "x", "value": 7}]},
            {"variables": [{"var": "y", "value": 1}]},
        ],
    }
    assert PlainTask(model([], variables, properties=[pa(start=listed)])).starts() == [
        (2, 1.0),
        (7, 0.5),
    ]
    condition = binary("∧", binary("=", "y", binary("/", 1, 4)), binary("<", 7, "x"))
    described = {"op": "state-condition", "exp": condition}
    assert PlainTask(model([], variables, properties=[pa(start=described)])).starts() == [
        (8, 0.25),
        (9, 0.25),
    ]


def test_locations_in_conditions() -> None:
    document = two_automata()
    here = {"op": "state-condition", "locations": [{"automaton": "q", "location": "r"}]}
    document["properties"][0]["expression"]["start"] = {**here, "exp": binary("=", "own", "x")}
    document["properties"][0]["expression"]["reach"] = here
    task = PlainTask(document)
    assert task.starts() == [(1, x, x) for x in range(3)]
    assert task.is_unsafe((1, 0, 0))
    assert not task.is_unsafe((0, 0, 0))


def test_files_may_include_files(tmp_path: Path) -> None:
    document = json.loads(TINY.read_text())
    (reach,) = [document["properties"][0]["expression"].pop("reach")]
    document["properties"][0]["expression"]["reach"] = {"file": "unsafe.jani"}
    (tmp_path / "unsafe.jani").write_text(json.dumps(reach))
    (tmp_path / "m.jani").write_text(json.dumps(document))
    assert census(load(tmp_path / "m.jani")) == census(load(TINY))


@pytest.mark.parametrize(
    "change",
    [
        {"type": "ta"},
        {"variables": [{"name": "x", "type": "clock"}]},
        {"functions": [{"name": "f"}]},
        {"constants": [{"name": "c", "type": "real", "value": {"op": "sin", "exp": 1.0}}]},
        {"variables": [{"name": "x", "type": {"kind": "datatype", "ref": "d"}}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_not_supported_is_refused(change: Json) -> None:
    with pytest.raises(ModelError):
        Model({**model([], []), **change})


class Listed:
    """A system given state by state: B is unsafe, G a goal."""

    def __init__(self, start: str, **edges: str) -> None:
        self.start, self.edges = start, edges

    def starts(self) -> list[str]:
        return [self.start]

    def is_unsafe(self, state: str) -> bool:
        return state == "B"

    def is_goal(self, state: str) -> bool:
        return state == "G"

    def outcomes(self, state: str) -> dict[str, list[str]]:
        choices = self.edges.get(state, "").split()
        return {f"{i}": list(choice) for i, choice in enumerate(choices)}


@pytest.mark.parametrize(
    ("system", "answers", "faulty"),
    [
        (Listed("s", s="s"), "s:YYYY", ""),
        (Listed("s", s="B G"), "s:nYYY", "s"),
        (Listed("s", s="B s"), "s:nnnY", "s"),
        (Listed("s", s="tu", t="G", u="B G"), "s:nYYY t:YYYY u:nYYY", "u"),
        (Listed("s", s="t t", t="sB"), "s:nnnn t:nnnn", ""),
        (Listed("s", s="t", t="sB t"), "s:nnnY t:nnnY", "t"),
        (Listed("s", s="D"), "s:YYYY D:YYYY", ""),
        (Listed("s", s="t G", t="B v", v="B G"), "s:nYYY t:nnYY v:nYYY", "tv"),
    ],
)
def test_the_fixpoint_on_systems_decided_by_hand(system: Listed, answers: str, faulty: str) -> None:
    space = explore(system)
    policy = space.policy()
    for answer in answers.split():
        state, expected = answer.split(":")
        i = space.states.index(state)
        radii = (0, 1, 2, math.inf)
        assert (
            "".join("Y" if i in safe_states(space, policy, r) else "n" for r in radii) == expected
        )
    assert {space.states[i] for i in faults(space, policy, math.inf)} == set(faulty)


def test_search_without_cycles_agrees_with_the_fixpoint() -> None:
    system = Listed("s", s="tB uv", t="B", u="G B", v="u BG D")
    space = explore(system)
    safe = safe_states(space, space.policy(), math.inf)
    assert {s for i, s in enumerate(space.states) if i in safe} == {
        s for s in space.states if is_safe(system, s)
    }
