"""Each kind of mistake in a model is reported in one clear line."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    UnsupportedError,
    UsageError,
)
from misstep.tasks.jani.load import load_jani
from support.jani import TINY_LINE, op, task, write

Change = Callable[[Any], Any]
EDGE = "automata[0].edges[0]"


def changed(*path: Any, to: Any) -> Any:
    """The tiny line with one value replaced; `...` removes it."""
    document = copy.deepcopy(TINY_LINE)
    place = document
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


A, E = ("automata", 0), ("automata", 0, "edges", 0)
G = (*E, "guard", "exp")
D = (*E, "destinations", 0)
P = ("properties", 0, "expression")

CASES: list[tuple[str, Any, type[MisstepError], str, str]] = [
    # what, document, class, where, message
    (
        "no version",
        changed("jani-version", to=...),
        InputFormatError,
        "",
        "'jani-version' is missing",
    ),
    ("new version", changed("jani-version", to=2), UnsupportedError, "jani-version", "version 2"),
    ("type", changed("type", to="sta"), UnsupportedError, "type", "'sta' are not supported"),
    (
        "functions",
        changed("functions", to=[{}]),
        InputFormatError,
        "functions[0]",
        "'name' is missing",
    ),
    (
        "datatypes",
        changed("datatypes", to=[{}]),
        UnsupportedError,
        "datatypes",
        "datatypes are not supported",
    ),
    (
        "unknown function",
        changed(*G, to={"op": "call", "function": "f", "args": []}),
        InputFormatError,
        f"{EDGE}.guard.exp.function",
        "no function is called 'f' here",
    ),
    (
        "variables",
        changed("variables", to=7),
        InputFormatError,
        "variables",
        "found 7; expected a list",
    ),
    (
        "clock",
        changed("variables", 0, "type", to="clock"),
        UnsupportedError,
        "variables[0].type",
        "clock",
    ),
    (
        "unknown type",
        changed("variables", 0, "type", to="integer"),
        InputFormatError,
        "variables[0].type",
        "no such type",
    ),
    (
        "datatype",
        changed("variables", 0, "type", to={"kind": "datatype", "ref": "d"}),
        UnsupportedError,
        "variables[0].type.kind",
        "'datatype'",
    ),
    (
        "bounds",
        changed("variables", 1, "type", "lower-bound", to=5),
        InputFormatError,
        "variables[1].type",
        "between 5 and 2",
    ),
    (
        "real bound",
        changed("variables", 1, "type", "lower-bound", to=0.5),
        InputFormatError,
        "variables[1].type.lower-bound",
        "type real; expected type int",
    ),
    (
        "bound of a variable",
        changed("variables", 1, "type", "lower-bound", to="pos"),
        InputFormatError,
        "variables[1].type.lower-bound",
        "this is not a constant",
    ),
    (
        "initial value",
        changed("variables", 1, "initial-value", to=3),
        InputFormatError,
        "variables[1].initial-value",
        "3 is out of bounds",
    ),
    (
        "two of a name",
        changed("variables", 1, "name", to="pos"),
        InputFormatError,
        "variables[1].name",
        "'pos' is declared twice",
    ),
    (
        "variable and constant",
        changed("variables", 1, "name", to="L"),
        InputFormatError,
        "variables[1].name",
        "'L' is declared twice",
    ),
    (
        "constant",
        changed("constants", 0, "value", to=op("/", 1, 0)),
        InputFormatError,
        "constants[0].value",
        "type real",
    ),
    (
        "constant without result",
        changed("constants", 1, "value", to=op("/", 1, 0)),
        InputFormatError,
        "constants[1].value",
        "not a constant, or has no value",
    ),
    (
        "parameter",
        changed("constants", 0, "value", to=...),
        UsageError,
        "",
        "parameters without a value: L",
    ),
    ("automata", changed("automata", to=...), InputFormatError, "", "'automata' is missing"),
    (
        "locations",
        changed(*A, "locations", to=[]),
        InputFormatError,
        "automata[0]",
        "without locations",
    ),
    (
        "time",
        changed(*A, "locations", 0, "time-progress", to={"exp": True}),
        UnsupportedError,
        "automata[0].locations[0].time-progress",
        "time-progress",
    ),
    (
        "initial location",
        changed(*A, "initial-locations", to=["k"]),
        InputFormatError,
        "automata[0].initial-locations[0]",
        "no location 'k'",
    ),
    (
        "edge location",
        changed(*E, "location", to=["l"]),
        InputFormatError,
        f"{EDGE}.location",
        "a list of 1",
    ),
    (
        "action",
        changed(*E, "action", to="jump"),
        InputFormatError,
        f"{EDGE}.action",
        "no action 'jump'",
    ),
    ("rate", changed(*E, "rate", to={"exp": 1}), UnsupportedError, f"{EDGE}.rate", "rates"),
    (
        "guard type",
        changed(*G, to=op("+", 1, 1)),
        InputFormatError,
        f"{EDGE}.guard",
        "type int; expected type bool",
    ),
    ("guard null", changed(*G, to=None), InputFormatError, f"{EDGE}.guard.exp", "found null"),
    (
        "operand",
        changed(*G, "left", to=op("≤", "vel", "speed")),
        InputFormatError,
        f"{EDGE}.guard.exp.left.right",
        "nothing is called 'speed'",
    ),
    (
        "operand type",
        changed(*G, "left", to=op("≤", "vel", True)),
        InputFormatError,
        f"{EDGE}.guard.exp.left",
        "type bool; expected numbers",
    ),
    (
        "operand missing",
        changed(*G, "left", to={"op": "≤", "left": 1}),
        InputFormatError,
        f"{EDGE}.guard.exp.left",
        "'right' is missing",
    ),
    (
        "operator",
        changed(*G, "op", to="&&"),
        InputFormatError,
        f"{EDGE}.guard.exp.op",
        "no such operator: '&&'",
    ),
    (
        "internal operator",
        changed(*G, "op", to="to real"),
        InputFormatError,
        f"{EDGE}.guard.exp.op",
        "no such operator",
    ),
    (
        "quantifier",
        changed(*G, "op", to="forall"),
        UnsupportedError,
        f"{EDGE}.guard.exp.op",
        "'forall' is not supported",
    ),
    (
        "trigonometry",
        changed(*G, "left", to=op("<", op("sin", 1), 2)),
        InputFormatError,
        f"{EDGE}.guard.exp.left.left.op",
        "feature",
    ),
    (
        "modulo",
        changed(*G, "left", to=op("=", op("%", 1.5, 2), 2)),
        InputFormatError,
        f"{EDGE}.guard.exp.left.left",
        "real; expected integers",
    ),
    (
        "large integer",
        changed(*G, "left", to=op("=", "vel", 2**63)),
        InputFormatError,
        f"{EDGE}.guard.exp.left.right",
        "64 bits",
    ),
    (
        "destinations",
        changed(*E, "destinations", to=[]),
        InputFormatError,
        f"{EDGE}.destinations",
        "without destinations",
    ),
    (
        "probability type",
        changed(*D, "probability", "exp", to=True),
        InputFormatError,
        f"{EDGE}.destinations[0].probability",
        "expected type real",
    ),
    (
        "probability sum",
        changed(*D, "probability", "exp", to=0.5),
        InputFormatError,
        EDGE,
        "sum to 0.6",
    ),
    (
        "probability missing",
        changed(*D, "probability", to=...),
        InputFormatError,
        EDGE,
        "sum to 1.1",
    ),
    (
        "ref",
        changed(*D, "assignments", 0, "ref", to="p"),
        InputFormatError,
        f"{EDGE}.destinations[0].assignments[0].ref",
        "'p' is not a variable",
    ),
    (
        "ref operator",
        changed(*D, "assignments", 0, "ref", to=op("+", "pos", 1)),
        InputFormatError,
        f"{EDGE}.destinations[0].assignments[0].ref",
        "cannot be assigned",
    ),
    (
        "value type",
        changed(*D, "assignments", 0, "value", to=0.5),
        InputFormatError,
        f"{EDGE}.destinations[0].assignments[0].value",
        "type real; expected type int",
    ),
    (
        "twice",
        changed(*D, "assignments", 1, "ref", to="pos"),
        InputFormatError,
        f"{EDGE}.destinations[0].assignments[1]",
        "assigned twice",
    ),
    (
        "element",
        changed("system", "elements", 0, "automaton", to="n"),
        InputFormatError,
        "system.elements[0].automaton",
        "no automaton 'n'",
    ),
    (
        "input-enable",
        changed("system", "elements", 0, "input-enable", to=["acc"]),
        UnsupportedError,
        "system.elements[0].input-enable",
        "input-enable",
    ),
    (
        "vector length",
        changed("system", "syncs", to=[{"synchronise": ["acc", None], "result": "acc"}]),
        InputFormatError,
        "system.syncs[0].synchronise",
        "2 actions for 1 automata",
    ),
    (
        "vector result",
        changed("system", "syncs", to=[{"synchronise": ["acc"], "result": "go"}]),
        InputFormatError,
        "system.syncs[0].result",
        "no action 'go'",
    ),
    (
        "no property",
        changed("properties", to=[]),
        InputFormatError,
        "",
        "no property of the kind PA",
    ),
    (
        "another property",
        changed(*P, to={"op": "filter"}),
        InputFormatError,
        "",
        "no property of the kind PA among safety",
    ),
    (
        "no unsafety",
        changed(*P, "reach", to=...),
        InputFormatError,
        "properties[0].expression",
        "'reach' is missing",
    ),
    (
        "start variable",
        changed(*P, "start", "values", 0, "variables", 0, "var", to="q"),
        InputFormatError,
        "properties[0].expression.start.values[0].variables[0].var",
        "no variable 'q'",
    ),
    (
        "start value",
        changed(*P, "start", "values", 0, "variables", 0, "value", to=3),
        InputFormatError,
        "properties[0].expression.start.values[0].variables[0].value",
        "3 is out of bounds",
    ),
    (
        "array",
        changed(*G, "left", to={"op": "aa", "exp": "vel", "index": 0}),
        InputFormatError,
        f"{EDGE}.guard.exp.left.exp",
        "this is not an array",
    ),
    (
        "array as value",
        changed(*G, "left", to={"op": "av", "elements": [True]}),
        InputFormatError,
        f"{EDGE}.guard.exp.left",
        "this is an array",
    ),
    (
        "array without length",
        changed("variables", 0, "type", to={"kind": "array", "base": "int"}),
        InputFormatError,
        "variables[0].initial-value",
        "not a constant array",
    ),
]


@pytest.mark.parametrize(
    ("document", "error", "where", "what"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_one_line(document: Any, error: type[MisstepError], where: str, what: str) -> None:
    path = write(document)
    with pytest.raises(error) as caught:
        load_jani(path)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is error
    assert (caught.value.where or "").removeprefix(str(path)).removeprefix(": ") == where


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", ":1:1", "not JSON"),
        ('{"a": 1,\n "b"}', ":2:5", "not JSON"),
        ('{"a": NaN}', "", "NaN is not a number in JSON"),
        ('{"a": -Infinity}', "", "-Infinity"),
        ('{"a": 1, "a": 2}', "", "key 'a' twice"),
        ("[" * 100_000, "", "nested too deeply"),
        ("[]", "", "a list of 0; expected"),
        ("7", "", "found 7"),
        ('{"jani-version": 1e999}', "", "too large"),
    ],
)
def test_not_json(tmp_path: Path, text: str, where: str, what: str) -> None:
    path = write(text, folder=tmp_path)
    with pytest.raises(InputFormatError) as caught:
        load_jani(path)
    assert what in str(caught.value)
    assert (caught.value.where or "").startswith(f"{path}{where}")


def test_files(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no such file"):
        load_jani(tmp_path / "none.jani")
    with pytest.raises(InputFileError, match="this is a folder"):
        load_jani(tmp_path)
    (tmp_path / "x.jani").write_bytes(b'{"name":\n"\xff"}')
    with pytest.raises(InputFormatError, match=r"x\.jani:2: not UTF-8"):
        load_jani(tmp_path / "x.jani")


def test_numbers_beyond_doubles() -> None:
    text = json.dumps(changed(*G, to=op("<", "vel", 0.125))).replace("0.125", "1e999")
    with pytest.raises(InputFormatError, match="too large"):
        task(text)


@pytest.mark.parametrize("side", ["left", "right"])
def test_long_chains(side: str) -> None:
    """Longer than Python's stack of calls would allow."""
    chain: Any = op("≤", "vel", 1)
    for i in range(600):
        parts = [chain, op("≠", "vel", i + 5)]
        chain = op("∧", *(parts if side == "left" else parts[::-1]))
    document = changed(*G, to=op("∧", chain, TINY_LINE["automata"][0]["edges"][0]["guard"]["exp"]))
    assert len(task(document).space()) == 11
    nested: Any = 1
    for _ in range(300):
        nested = {"op": "aa", "exp": {"op": "av", "elements": [nested]}, "index": 0}
    with contextlib.suppress(InputFormatError):  # depends on the interpreter, but is never a crash
        task(changed(*G, to=op("=", nested, 1)))


def test_parameters() -> None:
    open_length = changed("constants", 0, "value", to=...)
    assert len(task(open_length, parameters={"L": 3}).space()) == 11
    assert len(task(open_length, parameters={"L": 4}).space()) > 11
    with pytest.raises(
        UsageError, match="no such parameters: M; expected constants that the model"
    ):
        task(open_length, parameters={"L": 3, "M": 1})
    with pytest.raises(UsageError, match="L has a value"):
        task(TINY_LINE, parameters={"L": 3})
    with pytest.raises(InputFormatError, match="type real; expected type int"):
        task(open_length, parameters={"L": 0.5})
    with pytest.raises(UsageError, match="parameter L is 'p'"):
        task(open_length, parameters={"L": "p"})


@pytest.mark.parametrize("option", ["out_of_bounds", "silent", "scale"])
def test_options(option: str) -> None:
    with pytest.raises(UsageError, match=option):
        task(TINY_LINE, **{option: "perhaps"})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(places(TINY_LINE)),
    st.sampled_from(
        [..., None, True, 0, -1, 2.5, "pos", "l", "acc", [], {}, [1], {"op": "∧"}, {"file": "x"}]
    ),
)
def test_damage_never_gives_another_kind_of_error(place: tuple[Any, ...], to: Any) -> None:
    with contextlib.suppress(MisstepError):
        task(changed(*place, to=to)).space()
