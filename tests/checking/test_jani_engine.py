"""The checker's evaluator and the engine agree on every reachable state: built-in models, and one for each feature."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from misstep.checking.jani import ModelError, SafetyTask
from misstep.errors import InputFormatError, UnsupportedError
from misstep.reports.exports.model import model_file
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable
from support.jani_readers import agrees, same_outcomes
from support.models import VARIANTS, Choices, described


@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_built_in_models(name: str, choices: Choices, tmp_path: Path) -> None:
    write_model(generate_model(name, starts=20, **choices), path := tmp_path / "model.jani")
    assert agrees(load_jani(path, "sampled")) > 10


def counter(name: str, low: int, high: int, initial: int | None = 0) -> Any:
    return variable(name, bounded(low, high), initial)


def cell(array: Any, *indices: Any) -> Any:
    for index in indices:
        array = {"op": "aa", "exp": array, "index": index}
    return array


def assigned(*pairs: tuple[Any, ...]) -> list[Any]:
    return [dict(zip(("ref", "value", "index"), pair, strict=False)) for pair in pairs]


def test_arrays() -> None:
    """Cells by a computed index, nested ones, whole arrays, constructors, and literals of two types."""
    grid = variable(
        "grid",
        {"kind": "array", "base": {"kind": "array", "base": bounded(0, 2)}},
        {"op": "ac", "var": "i", "length": 2, "exp": {"op": "av", "elements": ["i", 0, 1]}},
    )
    row = variable("row", {"kind": "array", "base": "real"}, {"op": "av", "elements": [0, 0.5, 1]})
    next_k = op("%", op("+", "k", 1), 2)
    mixed = cell({"op": "av", "elements": [1, 2.5, "k"]}, "k")
    edges = [
        edge(
            "a",
            op("<", cell("grid", "k", 1), 2),
            destination(
                assigned(
                    (cell("grid", "k", 1), op("+", cell("grid", "k", 1), 1)),
                    ("k", next_k),
                    (cell("row", "k"), mixed, 1),
                )
            ),
        ),
        edge("b", True, destination(assigned((cell("grid", 0), cell("grid", 1))))),
        edge(
            "b",
            op("=", "k", 1),
            destination(assigned(("row", {"op": "av", "elements": ["k", 2, 3]}))),
        ),
    ]
    document = jani.model([grid, counter("k", 0, 1), row], edges)
    assert agrees(jani.task(document)) > 20


def test_arithmetic_with_types_that_mix() -> None:
    """The integer branch of an ite becomes real; integers and reals compare as reals."""
    half = op("ite", op("=", "x", 0), "x", 0.5)
    large = op("+", 2**53, op("ite", op("=", "x", 1), 1, 2))
    edges = [
        edge(
            "a",
            True,
            destination({"y": op("/", op("+", half, "x"), 3), "x": op("%", op("+", "x", 1), 4)}),
        ),
        edge("b", op("=", large, 2.0**53), destination({"y": op("*", half, -1)})),
        edge(
            "b",
            op("≤", op("floor", "y"), op("sgn", op("-", "x", 2))),
            destination({"y": op("pow", 2, "x")}),
        ),
        edge("b", op("⇒", op(">", "y", 1), op("≠", "b", True)), destination({"b": op("¬", "b")})),
        edge("a", op("≥", "y", 4), destination({"y": op("log", op("max", "y", 2), 2)})),
        edge("a", "b", destination({"y": op("-", op("abs", op("-", "x", "y")), op("trc", 0.7))})),
    ]
    variables = [counter("x", 0, 3), variable("y", "real", 0.0), variable("b", "bool", False)]
    assert agrees(jani.task(jani.model(variables, edges)), 400) > 40


def test_let_and_wrapped_expressions() -> None:
    body = op("+", "twice", op("ite", op("<", "twice", 4), 1, op("-", 0, "twice")))
    definitions = [
        {"name": "one", "value": 1},
        {"name": "twice", "value": op("*", "x", op("+", "one", 1))},
    ]
    let = {"op": "let", "variables": definitions, "expression": {"exp": body}}
    edges = [
        edge("a", {"expression": True}, destination({"x": let})),
        edge("b", True, destination({"x": 0})),
    ]
    assert agrees(jani.task(jani.model([counter("x", 0, 9)], edges))) == 3


def let_model(size: int) -> Any:
    """Each definition uses the one before twice: the expression without names has 2^size leaves."""
    definitions: list[Any] = [{"name": "v0", "value": "x"}]
    for i in range(1, size):
        doubled = op("+", f"v{i - 1}", f"v{i - 1}")
        definitions.append({"name": f"v{i}", "value": op("%", doubled, 7)})
    let = {"op": "let", "variables": definitions, "expression": f"v{size - 1}"}
    edges = [edge("a", True, destination({"x": let})), edge("b", True, destination({"x": 3}))]
    return jani.model([counter("x", 0, 9, 1)], edges)


def test_definitions_are_computed_once() -> None:
    assert agrees(jani.task(let_model(10))) == 2
    assert len(SafetyTask(let_model(60)).outcomes((1,))["a"]) == 1


def test_long_chains() -> None:
    """Long chains of conjunctions, sums and else-ifs: recursive functions would exceed Python's stack."""
    size = 400
    chain: Any = 0
    for i in range(size):
        chain = op("ite", op("=", "x", i), (i * 7) % 13, chain)
    wide = op("%", op("+", *(["x"] * size), 5), 17)
    both = op("∧", *[op("≤", "x", size + i) for i in range(size)])
    edges = [edge("a", both, destination({"x": wide})), edge("b", True, destination({"x": chain}))]
    assert agrees(jani.task(jani.model([counter("x", 0, size)], edges))) > 10


def test_transient_variables() -> None:
    locations = [
        {"name": "l", "transient-values": [{"ref": "t", "value": op("+", "x", 1)}]},
        {"name": "r"},
    ]
    automaton = {
        "name": "m",
        "locations": locations,
        "initial-locations": ["r", "l"],
        "variables": [variable("t", bounded(0, 9), 4, transient=True)],
        "edges": [
            edge(
                "a", True, destination(assigned(("x", "t"), ("t", 5), ("y", "t", 1)), location="r")
            ),
            edge(
                "b", op("<", "x", 5), destination(assigned(("y", "t")), location="l"), location="r"
            ),
        ],
    }
    document = jani.model([counter("x", 0, 9), counter("y", 0, 9)], [automaton])
    assert agrees(jani.task(document)) > 3


def test_transient_variables_in_guards_probabilities_and_properties() -> None:
    """They have the values that the locations define, cell by cell, whatever an edge has written."""
    array = {"kind": "array", "base": bounded(0, 9)}
    locations = [
        {
            "name": "l",
            "transient-values": [
                {"ref": "t", "value": op("+", "x", 1)},
                {"ref": cell("u", 1), "value": 3},
            ],
        },
        {"name": "r", "transient-values": [{"ref": "share", "value": 0.25}]},
    ]
    edges = [
        edge("a", op("<", "t", 6), destination({"x": "t", "u": {"op": "av", "elements": [7, 7]}})),
        edge("b", op("=", cell("u", op("%", "x", 2)), 3), destination({"x": 0}, location="r")),
        edge(
            "b",
            op("=", "t", 4),
            destination({"x": 1}, "share", location="l"),
            destination({"x": 2}, op("-", 1, "share"), location="r"),
            location="r",
        ),
    ]
    automaton = {
        "name": "m",
        "locations": locations,
        "initial-locations": ["r", "l"],
        "edges": edges,
        "variables": [
            variable("t", bounded(0, 9), 4, transient=True),
            variable("share", "real", 1.0, transient=True),
            variable("u", array, {"op": "av", "elements": [0, 0]}, transient=True),
        ],
    }
    prop = pa(op("∧", op("=", "t", 6), op("=", cell("u", 1), 3)), op(">", "t", 9))
    task = jani.task(jani.model([counter("x", 0, 9)], [automaton], prop=prop))
    assert agrees(task) > 5
    unsafe = [(where, x) for where in (0, 1) for x in range(10) if task.is_unsafe((where, x))]
    assert unsafe == [(0, 5)]


def function(name: str, kind: Any, parameters: dict[str, Any], body: Any) -> Any:
    listed = [{"name": own, "type": base} for own, base in parameters.items()]
    return {"name": name, "type": kind, "parameters": listed, "body": body}


def call(name: str, *arguments: Any) -> Any:
    return {"op": "call", "function": name, "args": list(arguments)}


def test_functions() -> None:
    """Functions of the model and of an automaton, nested, on arrays, with parameters that hide names."""
    array = {"kind": "array", "base": "int"}
    functions = [
        function("next", "int", {"n": "int", "by": "int"}, op("%", op("+", "n", "by"), "top")),
        function("twice", "int", {"n": "int"}, call("next", call("next", "n", 1), 1)),
        function("half", "real", {"x": "real"}, op("/", "x", 2)),
        function("second", "int", {"list": array}, op("+", cell("list", 1), "x")),
    ]
    own = function("near", "bool", {"y": "int"}, op("<", op("abs", op("-", "y", "x")), "reach"))
    let = {
        "op": "let",
        "variables": [{"name": "n", "value": 3}, {"name": "x", "value": 1}],
        "expression": op("+", call("twice", "n"), op("-", call("second", "list"), "x")),
    }
    edges = [
        edge(
            "a",
            call("near", "y"),
            destination({"x": call("twice", "x"), "y": call("next", "y", 1)}),
        ),
        edge("b", op("<", call("half", "x"), 1), destination({"y": op("min", let, 6)})),
        edge("b", True, destination({"x": call("next", "x", {"op": "-", "exp": -2})})),
    ]
    automaton = jani.automaton(
        "m",
        edges,
        variables=[counter("reach", 0, 3, 2)],
        functions=[own],
    )
    document = jani.model(
        [
            counter("x", 0, 6),
            counter("y", 0, 6),
            variable("list", array, {"op": "av", "elements": [1, 0]}),
        ],
        [automaton],
        constants=[{"name": "top", "type": "int", "value": 7}],
        functions=functions,
        prop=pa(op(">", call("half", "x"), 2.4), op("=", call("twice", "y"), 0)),
    )
    assert agrees(jani.task(document)) > 5


def test_functions_that_call_themselves_are_refused() -> None:
    functions = [
        function("f", "int", {"n": "int"}, call("g", "n")),
        function("g", "int", {"n": "int"}, op("+", call("f", "n"), 1)),
    ]
    edges = [edge("a", True, destination({"x": call("f", "x")}))]
    document = jani.model([counter("x", 0, 6)], edges, functions=functions)
    with pytest.raises(UnsupportedError, match="'f' calls itself"):
        jani.task(document)
    with pytest.raises(ModelError, match="calls itself"):
        SafetyTask(document)


def test_minus_of_one_operand() -> None:
    minus = {"op": "-", "exp": op("-", "x", "y")}
    edges = [
        edge("a", op("≤", minus, 2), destination({"x": op("+", {"op": "-", "exp": "y"}, 3)})),
        edge("b", True, destination({"y": op("min", 3, op("abs", minus))})),
    ]
    variables = [counter("x", 0, 3), variable("y", bounded(0, 3, "real"), 1.5)]
    with pytest.raises(InputFormatError, match="real"):  # an integer takes no real
        jani.task(jani.model(variables, edges))
    assert agrees(jani.task(jani.model([counter("x", 0, 3), counter("y", 0, 3)], edges))) > 3
    edges[0]["destinations"][0]["assignments"] = assigned(
        ("y", {"op": "-", "exp": {"op": "-", "exp": 1}})
    )
    assert agrees(jani.task(jani.model(variables, edges))) == 2


REACHED = op("∧", op("=", "p.own", 3), op("=", "q.own", 1))
SAFE = {"op": "¬", "exp": REACHED}


@pytest.mark.parametrize(
    "expression",
    [
        {"op": "F", "exp": REACHED},
        {"op": "∀", "exp": {"op": "G", "exp": SAFE}},
        {"op": "G", "exp": {"op": "state-condition", "exp": SAFE}},
        {
            "op": "filter",
            "fun": "max",
            "states": {"op": "initial"},
            "values": {"op": "Pmax", "exp": {"op": "U", "left": True, "right": REACHED}},
        },
        op("≤", {"op": "Pmax", "exp": {"op": "F", "exp": REACHED}}, 0.1),
    ],
    ids=["F", "G", "G of a condition", "U", "P"],
)
def test_reachability_properties(expression: Any) -> None:
    """They define what is to be avoided only if the user names them."""
    document = composed(syncs=SYNCS)
    whole = jani.task(document, silent="as_action")
    document["properties"] = [{"name": "reach", "expression": expression}]
    with pytest.raises(InputFormatError, match="--property reach takes what that one reaches"):
        jani.task(document, silent="as_action")
    task = jani.task(document, silent="as_action", property="reach")
    assert agrees(task) > 20
    some = [(0, x, p, q) for x in range(4) for p in range(4) for q in range(4)]
    assert [task.is_unsafe(s) for s in some] == [whole.is_unsafe(s) for s in some]
    # Other starts, and one file that says all of it.
    started = jani.task(document, silent="as_action", property="reach", start="x = 2")
    assert agrees(started) > 5
    assert {state[1] for state in started.initial_states()} == {2}
    alone = jani.task(json.loads(model_file(task)), silent="as_action")
    assert [alone.is_unsafe(s) for s in some] == [whole.is_unsafe(s) for s in some]


def test_properties_that_are_given_beside_the_model() -> None:
    document = composed(syncs=SYNCS)
    whole = jani.task(document, silent="as_action")
    del document["properties"]
    task = jani.task(
        document, silent="as_action", unsafe="p.own = 3 and q.own == 1", goal="not (x < 3)"
    )
    assert agrees(task) > 20
    some = [(0, x, p, q) for x in range(4) for p in range(4) for q in range(4)]
    assert [task.is_unsafe(s) for s in some] == [whole.is_unsafe(s) for s in some]
    assert [task.is_goal(s) for s in some] == [whole.is_goal(s) for s in some]
    started = jani.task(composed(syncs=SYNCS), silent="as_action", start="x = 2 && !(p.own > 1)")
    assert agrees(started) > 5
    assert {state[1] for state in started.initial_states()} == {2}


def composed(**system: Any) -> Any:
    """Two automata with local variables of one name; the second one has two locations and a silent edge."""
    first = jani.automaton(
        "p",
        [
            edge(
                "a",
                op("<", "own", 3),
                destination({"own": op("+", "own", 1)}, 0.25),
                destination({"x": "own"}, 0.75),
            )
        ],
        variables=[counter("own", 0, 3)],
    )
    second = jani.automaton(
        "q",
        [
            edge("b", op("<", "own", 2), destination({"own": op("+", "own", 1)}, location="r")),
            edge("b", True, destination(location="r"), location="l"),
            edge(
                "a",
                True,
                destination({"own": 0}, op("/", "x", 3)),
                destination(None, op("-", 1, op("/", "x", 3)), "r"),
                location="r",
            ),
            edge(None, op("=", "x", 2), destination(location="l"), location="r"),
        ],
        ("l", "r"),
        variables=[counter("own", 0, 3)],
        **{"initial-locations": ["l", "r"], "restrict-initial": {"exp": op("=", "own", 0)}},
    )
    document = jani.model(
        [counter("x", 0, 3, None)],
        [first, second],
        actions="a b both c",
        prop=pa(
            op("∧", op("=", "p.own", 3), op("=", "q.own", 1)),
            op("=", "x", 3),
        ),
    )
    document["restrict-initial"] = {"exp": op("<", "x", 2)}
    document["system"].update(system)
    return document


SYNCS = [
    {"synchronise": ["a", "b"], "result": "both"},
    {"synchronise": ["a", None], "result": "a"},
    {"synchronise": ["a", "a"], "result": "both"},
    {"synchronise": [None, "b"], "result": None},
]


def test_composition() -> None:
    task = jani.task(composed(syncs=SYNCS), silent="as_action")
    assert task.labels == ("a", "both", "τ")
    assert agrees(task) > 20
    task = jani.task(composed(syncs=SYNCS[:3]), silent="as_action", out_of_bounds="disable")
    assert agrees(task) > 20
    task = jani.task(composed(syncs=SYNCS), silent="step")
    assert task.labels == ("a", "both", "τ")
    assert agrees(task) > 20
    task = jani.task(composed(syncs=SYNCS[:3]), silent="step", out_of_bounds="disable")
    assert agrees(task) > 20


def test_automata_without_vectors_move_silently_only() -> None:
    assert agrees(jani.task(composed(), silent="as_action")) == 4


@pytest.mark.parametrize("of_other", [None, op(">", 1, 2)])
def test_a_guard_without_a_value_where_another_automaton_forbids_the_step(of_other: Any) -> None:
    """The engine leaves out vectors that can never be taken, so that it never looks at their guards."""
    step = destination({"y": op("+", "y", 1)})
    without_value = edge("a", op("=", op("%", 1, "x"), 0), destination())
    automata = [
        jani.automaton("m", [without_value, edge("b", op("<", "y", 1), step)]),
        jani.automaton("other", [edge("b", True, destination())]),
    ]
    if of_other is not None:
        automata[1]["edges"].append(edge("a", of_other, destination()))
    document = jani.model([counter("x", 0, 1), counter("y", 0, 2)], automata)
    document["system"]["syncs"] = [{"synchronise": [own, own], "result": own} for own in ("a", "b")]
    assert agrees(jani.task(document)) == 2


def test_refused_silent_steps() -> None:
    task = jani.task(composed(syncs=SYNCS[:3]))
    plain = SafetyTask.from_source(task.source)
    for state in product((0, 1), (0, 2), (0,), (0,)):
        if state[:2] != (1, 2):
            same_outcomes(task, plain, state)
            continue
        with pytest.raises(UnsupportedError):
            task.outcomes(state, 0)
        for ask in (plain.outcomes, plain.model.is_dead_end):
            with pytest.raises(ModelError, match="silent"):
                ask(state)


def test_bounds_that_disable_or_fail() -> None:
    edges = [
        edge("a", True, destination({"x": op("+", "x", 1)}, 0.5), destination({"x": 0}, 0.5)),
        edge("a", op("=", "x", 3), destination({"x": 1})),
        edge("b", True, destination({"x": op("+", "x", 2)})),
    ]
    document = jani.model([counter("x", 0, 3)], edges)
    assert agrees(jani.task(document, out_of_bounds="disable")) == 4
    task = jani.task(document)
    plain = SafetyTask.from_source(task.source)
    for x in range(4):
        for label in (0, 1):
            try:
                expected = task.outcomes((x,), label)
            except InputFormatError:
                with pytest.raises(ModelError):
                    plain.model.outcomes_of((x,), label)
            else:
                assert plain.model.outcomes_of((x,), label) == expected


@pytest.mark.parametrize(
    "start",
    [
        None,
        {"op": "state-condition", "exp": op("<", "x", 2)},
        {
            "op": "state-condition",
            "exp": op("=", "q.own", 1),
            "locations": [{"automaton": "q", "location": "r"}],
        },
        op("=", "x", "p.own"),
        {
            "op": "states-values",
            "values": [
                {
                    "variables": [
                        {"var": "x", "value": 1},
                        {"var": "own", "automaton": "q", "value": op("+", 1, 1)},
                    ]
                },
                {
                    "variables": [{"var": "x", "value": 2}],
                    "locations": [{"automaton": "q", "location": "r"}],
                },
            ],
        },
    ],
    ids=["initial", "condition", "locations", "expression", "listed"],
)
def test_start_states(start: Any) -> None:
    document = composed(syncs=SYNCS[:2])
    if start is not None:
        document["properties"][0]["expression"]["start"] = start
    assert agrees(jani.task(document, silent="as_action")) > 2


def test_start_states_of_arrays() -> None:
    array = variable(
        "v", {"kind": "array", "base": bounded(0, 9)}, {"op": "av", "elements": [1, 2]}
    )
    start = {
        "op": "states-values",
        "values": [
            {"variables": [{"var": "v", "value": [3, 4]}]},
            {"variables": [{"var": "v", "index": 1, "value": 7}]},
            {
                "variables": [
                    {"var": "v", "value": {"op": "ac", "var": "i", "length": 2, "exp": "i"}}
                ]
            },
        ],
    }
    document = jani.model([array], [], prop=pa(start=start))
    assert agrees(jani.task(document)) == 3


def test_parameters_files_and_properties(tmp_path: Path) -> None:
    document = jani.model(
        [counter("x", 0, 5)],
        [{"file": "parts/edge.jani", "comment": "elsewhere"}],
        constants=[
            {"name": "N", "type": bounded(0, 5)},
            {"name": "M", "type": "real", "value": op("/", "N", 2)},
        ],
    )
    (tmp_path / "parts").mkdir()
    jani.write(edge("a", op("<", "x", "N"), {"file": "to.jani"}), "parts/edge.jani", tmp_path)
    jani.write(destination({"x": op("+", "x", 1)}), "parts/to.jani", tmp_path)
    other = pa(op("≥", "x", "M"), start={"op": "state-condition", "exp": op("≤", "x", 1)})
    path = jani.write(document, folder=tmp_path)
    prop = jani.write({**other, "name": "other"}, "other.jani", tmp_path)
    for choice, size in ((None, 5), ("safety", 5), (str(prop), 3), (f"{prop}#other", 3)):
        assert agrees(load_jani(path, choice, {"N": 4})) == size


# Random expressions

NUMBERS = ("+", "-", "*", "min", "max")


def drawn(dice: random.Random, kind: str, depth: int) -> Any:
    if depth == 0:
        leaves = {
            "bool": ["b", True, False],
            "int": ["x", 0, 1, 7, -3],
            "real": ["y", 0.5, -1.25, 3],
        }
        return dice.choice(leaves[kind])

    def of(kind: str) -> Any:
        return drawn(dice, kind, depth - 1)

    number = dice.choice(("int", "real"))
    if kind == "bool":
        return dice.choice(
            [
                op(dice.choice("∧∨⇒"), of("bool"), of("bool")),  # noqa: RUF001
                op("¬", of("bool")),
                op(dice.choice("=≠<≤>≥"), of(number), of(dice.choice(("int", "real")))),
                op("=", of("bool"), of("bool")),
                op("ite", of("bool"), of("bool"), of("bool")),
            ]
        )
    choices = [
        op(dice.choice(NUMBERS), of(kind), of(kind)),
        op("ite", of("bool"), of(kind), of("int")),
        op("abs", of(kind)),
        cell({"op": "av", "elements": [of(kind), of(kind)]}, op("%", of("int"), 2)),
    ]
    if kind == "int":
        choices += [
            op(dice.choice(("floor", "ceil", "trc", "sgn")), of(number)),
            op("%", of("int"), 5),
        ]
    else:
        choices += [
            op("/", of(number), of(number)),
            op("pow", of(number), 2),
            op("cos", of(number)),
        ]
    return dice.choice(choices)


@pytest.mark.parametrize("kind", ["bool", "int", "real"])
def test_random_expressions(kind: str) -> None:
    dice = random.Random(kind)
    variables = [
        variable("b", "bool", False),
        variable("x", bounded(-10, 10), 0),
        variable("y", bounded(-10, 10, "real"), 0),
    ]
    values = failures = 0
    for _ in range(40):
        task = jani.evaluator(variables, drawn(dice, kind, 4), kind)
        plain = SafetyTask.from_source(task.source)
        zero = {"bool": False, "int": 0, "real": 0.0}[kind]
        for _ in range(15):
            state = (
                dice.random() < 0.5,
                dice.randint(-10, 10),
                dice.choice((0.0, dice.uniform(-10, 10))),
                zero,
            )
            try:
                expected = task.outcomes(state, 0)
            except InputFormatError:
                failures += 1
                with pytest.raises(ModelError):
                    plain.model.outcomes_of(state, 0)
            else:
                values += 1
                assert repr(plain.model.outcomes_of(state, 0)) == repr(expected)
    assert values > 400
    assert kind != "real" or failures > 5
