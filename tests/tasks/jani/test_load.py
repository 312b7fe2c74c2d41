"""Loading: includes, properties, parameters, `let`, interface files, identity."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from misstep.checking.jani import SafetyTask
from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.tasks.jani.interface import InterfaceInput, load_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.pddl.load import load_planning_task
from support.jani import (
    TINY_LINE,
    automaton,
    bounded,
    destination,
    edge,
    model,
    op,
    pa,
    task,
    variable,
    write,
)


def test_any_object_may_be_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(TINY_LINE["automata"][0]["edges"][0], "parts/edge.json", tmp_path)
    write(
        {
            **TINY_LINE["automata"][0],
            "edges": [{"file": "edge.json"}, *TINY_LINE["automata"][0]["edges"][1:]],
        },
        "parts/m.json",
        tmp_path,
    )
    write(TINY_LINE["properties"][0]["expression"]["reach"], "unsafe.json", tmp_path)
    prop = {
        **TINY_LINE["properties"][0]["expression"],
        "reach": {"file": "unsafe.json", "comment": "x"},
    }
    whole = {
        **TINY_LINE,
        "automata": [{"file": "parts/m.json"}],
        "properties": [{"name": "p", "expression": prop}],
    }
    path = write(whole, folder=tmp_path)
    assert len(load_jani(path).space()) == 11
    # Errors name the included file and the path inside it.
    broken = json.loads((tmp_path / "parts/edge.json").read_text())
    broken["guard"]["exp"]["left"]["left"] = "speed"
    write(broken, "parts/edge.json", tmp_path)
    with pytest.raises(InputFormatError) as caught:
        load_jani(path)
    assert caught.value.where == f"{tmp_path / 'parts' / 'edge.json'}: guard.exp.left.left"


def test_includes_in_a_circle(tmp_path: Path) -> None:
    write({"file": "b.jani"}, "a.jani", tmp_path)
    write({"file": "./a.jani"}, "b.jani", tmp_path)
    with pytest.raises(InputFormatError, match=r"includes itself.*circle"):
        load_jani(tmp_path / "a.jani")
    path = write({**TINY_LINE, "automata": [{"file": "model.jani"}]}, folder=tmp_path)
    with pytest.raises(InputFormatError, match="includes itself"):
        load_jani(path)
    with pytest.raises(InputFileError, match="no such file"):
        load_jani(write({"file": "none"}, folder=tmp_path))
    with pytest.raises(InputFormatError, match="not text"):
        load_jani(write({"file": 7}, folder=tmp_path))


def test_includes_that_multiply(tmp_path: Path) -> None:
    for i in range(20):
        inner = {"file": f"{i + 1}.json"}
        write(op("∧", inner, inner) if i < 19 else op("≤", "vel", 1), f"{i}.json", tmp_path)
    edges = [edge("acc", {"file": "0.json"}, destination())]
    with pytest.raises(InputFormatError, match="files are included"):
        load_jani(write({**TINY_LINE, "automata": [automaton("m", edges)]}, folder=tmp_path))


def test_let_is_put_in_place() -> None:
    inner = {
        "op": "let",
        "variables": [{"name": "n", "value": op("+", "k", "k")}],
        "expression": op("*", "n", "k"),
    }
    let = {
        "op": "let",
        "variables": [{"name": "k", "value": op("+", "x", 1)}, {"name": "j", "value": "k"}],
        "expression": op("+", inner, "j"),
    }
    built = task(model([variable("x", "int", 2)], [edge("a", True, destination({"x": let}))]))
    assert built.outcomes((2,), "a") == [(21,)]
    # Names do not leak out of their expression.
    with pytest.raises(InputFormatError, match="nothing is called 'k'"):
        task(
            model(
                [variable("x", "int", 2)], [edge("a", True, destination({"x": op("+", let, "k")}))]
            )
        )


def test_choosing_a_property(tmp_path: Path) -> None:
    first, second = pa(unsafe=op("=", "pos", 1)), pa(unsafe=op("=", "pos", 2))
    other = {"name": "other", "expression": {"op": "filter"}}
    first["name"], second["name"] = "one", "two"
    path = write({**TINY_LINE, "properties": [other, first, second]}, folder=tmp_path)
    assert load_jani(path).property_name == "one"
    assert load_jani(path, "two").is_unsafe((2, 0, 0))
    apart = write({"properties": [first, second]}, "p.jani", tmp_path)
    assert load_jani(path, apart).property_name == "one"
    assert load_jani(path, f"{apart}#two").property_name == "two"
    assert load_jani(path, write([second], "q.jani", tmp_path)).property_name == "two"
    assert load_jani(path, write(second, "r.jani", tmp_path)).property_name == "two"
    with pytest.raises(UsageError, match=r"no property and no file 'three'.*other, one, two"):
        load_jani(path, "three")
    with pytest.raises(InputFormatError, match="no property of the kind PA"):
        load_jani(path, "other")


def test_a_property_cannot_stand_in_for_what_the_user_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model from a stranger may have properties of any name."""
    monkeypatch.chdir(tmp_path)
    harmless = [{**pa(unsafe=False), "name": name} for name in ("(given)", "own.jani")]
    path = write({**TINY_LINE, "properties": harmless}, folder=tmp_path)
    asked = load_jani(path, unsafe="pos = 2")
    assert asked.is_unsafe((2, 0, 0))
    assert SafetyTask.from_source(asked.source).is_unsafe((2, 0, 0))
    assert not load_jani(path, "own.jani").is_unsafe((2, 0, 0))
    write(pa(unsafe=op("=", "pos", 2)), "own.jani", tmp_path)
    with pytest.raises(UsageError, match=r"both a property of the model and a file are called"):
        load_jani(path, "own.jani")
    assert load_jani(path, "./own.jani").is_unsafe((2, 0, 0))


def test_conditions_over_locations() -> None:
    edges = [edge("a", True, destination(location="k"))]
    place = {
        "op": "state-condition",
        "locations": [{"automaton": "m", "index": 0, "location": "k"}],
    }
    prop = {"name": "p", "expression": {"op": "PA", "reach": place}}
    built = task(model([], [automaton("m", edges, ("l", "k"))], prop=prop))
    assert [built.is_unsafe((location,)) for location in (0, 1)] == [False, True]
    assert built.distance((0,)) == 1


def test_identity(tmp_path: Path) -> None:
    path = write(
        {**TINY_LINE, "constants": [{"name": "L", "type": "int"}, TINY_LINE["constants"][1]]},
        folder=tmp_path,
    )
    built = load_jani(path, parameters={"L": 3})
    elsewhere = write(path.read_text(), "other.jani", tmp_path)
    assert load_jani(elsewhere, parameters={"L": 3}).digest == built.digest
    assert load_jani(path, parameters={"L": 4}).digest != built.digest
    assert load_jani(path, parameters={"L": 3}, out_of_bounds="disable").digest != built.digest
    path.unlink()  # the content is kept
    copy = pickle.loads(pickle.dumps(built))
    assert copy.digest == built.digest
    assert len(copy.space()) == len(built.space()) == 11
    assert repr(copy) == "<JaniTask model: 3 variables, 2 labels>"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("pos=1, vel=0", "missing or unknown: crash"),
        ("pos=1, vel=0, crash", "'crash' is not a value"),
        ("pos=1, pos=1, vel=0, crash=0", "each variable once"),
        ("pos=1, vel=x, crash=0", "'x' is not a value"),
        ("pos=9, vel=0, crash=0", "outside its bounds"),
        ("pos=1.5, vel=0, crash=0", "not an integer"),
    ],
)
def test_states_that_cannot_be_read(text: str, what: str) -> None:
    with pytest.raises(InputFormatError, match=what):
        task(TINY_LINE).parse_state(text)


# -- interface files ------------------------------------------------------------------------------------

INTERFACE: dict[str, Any] = {
    "file": "nets/policy.nnet",
    "torch-file": None,
    "input": [
        {"name": "vel", "automaton": None},
        {"name": "n", "automaton": {"name": "m", "index": 0}},
        {"name": "r", "index": 1, "automaton": None},
        {"name": "m", "index": 0},
    ],
    "elements": [16, 8],
    "output": ["dec", "acc"],
}


def test_interface(tmp_path: Path) -> None:
    interface = load_interface(write(INTERFACE, "p.jani2nnet", tmp_path))
    assert interface.policy_file == tmp_path / "nets" / "policy.nnet"
    assert interface.torch_file is None
    assert interface.hidden == (16, 8)
    assert interface.filter
    assert interface.inputs == (
        InterfaceInput("vel"),
        InterfaceInput("n", "m"),
        InterfaceInput("r", index=1),
        InterfaceInput("m", index=0, location=True),
    )
    array = variable("r", {"kind": "array", "base": "int"}, {"op": "av", "elements": [1, 2]})
    parts = automaton("m", [], ("l", "k"), variables=[variable("n", "int", 0)])
    built = task(model([array, variable("vel", "int", 0)], [parts], actions="acc dec"))
    assert built.variable_names == ("m.location", "r[0]", "r[1]", "vel", "n")
    assert interface.columns(built) == [3, 4, 2, 0]
    assert interface.labels(built) == [1, 0]
    with pytest.raises(InputFormatError, match=r"reads m\.n, which the model does not have"):
        interface.columns(task(TINY_LINE))
    with pytest.raises(UsageError, match="no label 'dec'"):
        interface.labels(task(model([], [])))


@pytest.mark.parametrize(
    ("key", "value", "where", "what"),
    [
        ("output", ["a", "a"], "output", "one of them twice"),
        ("output", [], "output", "no labels"),
        ("output", [1], "output[0]", "expected a label"),
        ("elements", [0], "elements[0]", "positive size"),
        ("input", [{"automaton": None}], "input[0]", "'name' is missing"),
        ("filter", 1, "filter", "true or false"),
        ("file", 3, "file", "the path of a file"),
    ],
)
def test_bad_interfaces(tmp_path: Path, key: str, value: Any, where: str, what: str) -> None:
    path = write({**INTERFACE, key: value}, "p.jani2nnet", tmp_path)
    with pytest.raises(InputFormatError, match=what) as caught:
        load_interface(path)
    assert caught.value.where == f"{path}: {where}"


def test_the_property_may_name_its_interface(tmp_path: Path) -> None:
    prop = pa(file="p.jani2nnet")
    built = load_jani(write({**TINY_LINE, "properties": [prop]}, folder=tmp_path))
    assert built.interface_file == tmp_path / "p.jani2nnet"
    assert task(TINY_LINE).interface_file is None


def test_extras_are_ignored() -> None:
    document = {
        **TINY_LINE,
        "metadata": {"author": "x"},
        "restrict-initial": {"exp": True, "comment": "y"},
        "x-more": 7,
    }
    variables = [{**v, "comment": "z"} for v in TINY_LINE["variables"]]
    assert len(task({**document, "variables": variables}).space()) == 11


def test_bounds_on_one_side() -> None:
    kind = {"kind": "bounded", "base": "int", "lower-bound": 0}
    built = task(
        model([variable("x", kind, 1)], [edge("a", True, destination({"x": op("-", "x", 1)}))])
    )
    assert built.outcomes((1,), "a") == [(0,)]
    with pytest.raises(InputFormatError, match="below its bound 0"):
        built.outcomes((0,), "a")
    with pytest.raises(InputFormatError, match="no bounds"):
        task(model([variable("x", kind)], []))
    assert task(model([variable("x", bounded(0, 2), 1)], [])).variables == [("x", "int", 0, 2)]


def test_a_model_is_no_planning_task(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="not a planning task"):
        load_planning_task(write(TINY_LINE, folder=tmp_path))


def test_a_model_without_variables() -> None:
    built = task(model([], [edge("a", True, destination())]))
    assert built.initial_states() == [()]
    assert built.outcomes((), "a") == [()]
    assert len(built.space()) == 1
