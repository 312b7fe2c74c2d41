"""The rules of the transition relation, one small model each."""

from __future__ import annotations

from typing import Any

import pytest

from misstep.errors import InputFormatError, UnsupportedError
from misstep.tasks.jani.task import JaniTask
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
)

X = variable("x", bounded(0, 9), 0)
Y = variable("y", bounded(0, 9), 0)


def step(built: JaniTask, label: str = "a", state: Any = None) -> list[Any]:
    return built.outcomes(built.initial_states()[0] if state is None else state, label)


def assign(name: Any, value: Any, index: int | None = None) -> Any:
    item = {"ref": name, "value": value}
    return item if index is None else {**item, "index": index}


# -- assignments --------------------------------------------------------------------------------------


def test_assignments_of_one_index_read_the_old_values() -> None:
    built = task(
        model(
            [variable("x", bounded(0, 9), 3), variable("y", bounded(0, 9), 5)],
            [edge("a", True, destination({"x": "y", "y": "x"}))],
        )
    )
    assert step(built) == [(5, 3)]


def test_assignments_run_by_index() -> None:
    items = [assign("y", "x", 7), assign("x", op("+", "x", 1), -1), assign("x", op("*", "x", 2), 3)]
    built = task(model([X, Y], [edge("a", True, destination(items))]))
    assert step(built) == [(2, 2)]


def test_one_variable_twice_at_one_index_is_an_error() -> None:
    with pytest.raises(InputFormatError, match="assigned twice") as caught:
        task(model([X], [edge("a", True, destination([assign("x", 1), assign("x", 1, 0)]))]))
    assert "assignments[1]" in str(caught.value)
    built = task(model([X], [edge("a", True, destination([assign("x", 1), assign("x", 2, 1)]))]))
    assert step(built) == [(2,)]


@pytest.mark.parametrize(("value", "side"), [(10, "above"), (-1, "below")])
def test_out_of_bounds(value: int, side: str) -> None:
    edges = [
        edge("a", True, destination({"x": 3}, 0.5), destination({"x": op("+", "y", value)}, 0.5)),
        edge("a", True, destination({"x": 4})),
        edge("b", True, destination({"x": op("+", "y", value)})),
    ]
    document = model([X, Y], edges)
    built = task(document)
    with pytest.raises(InputFormatError, match=f"{side} its bound.*x=0, y=0") as caught:
        step(built)
    assert "edges[0].destinations[1].assignments[0].value" in str(caught.value)
    assert built.applicable((0, 0)) == [0, 1]
    disabled = task(document, out_of_bounds="disable")
    assert step(disabled) == [(4, 0)]  # the whole first edge is gone
    assert disabled.applicable((0, 0)) == [0]


def test_real_bounds() -> None:
    built = task(
        model(
            [variable("x", bounded(0, 1, "real"), 0.5)],
            [edge("a", True, destination({"x": op("+", "x", 0.75)}))],
        )
    )
    with pytest.raises(InputFormatError, match=r"1\.25 of x is above its bound 1"):
        step(built)


# -- probabilities and labels ----------------------------------------------------------------------------


def test_an_outcome_of_probability_zero_does_not_exist() -> None:
    edges = [
        edge("a", True, destination({"x": 1}, 1.0), destination({"x": 2}, 0.0)),
        edge("b", True, destination({"x": 1}, "y"), destination({"x": 2}, op("-", 1, "y"))),
    ]
    built = task(model([X, Y], edges))
    assert step(built) == [(1, 0)]
    assert step(built, "b") == [(2, 0)]
    assert step(built, "b", (0, 1)) == [(1, 1)]


def test_probabilities_must_sum_to_one() -> None:
    with pytest.raises(InputFormatError, match=r"sum to 0\.7.*a sum of 1") as caught:
        task(model([X], [edge("a", True, destination(None, 0.5), destination(None, 0.2))]))
    assert caught.value.where is not None
    assert caught.value.where.endswith("automata[0].edges[0]")
    with pytest.raises(InputFormatError, match=r"negative: -0\.5"):
        task(model([X], [edge("a", True, destination(None, 1.5), destination(None, -0.5))]))
    later = task(model([X], [edge("a", True, destination(None, "x"), destination(None, 0.5))]))
    with pytest.raises(InputFormatError, match=r"sum to 0\.5, in the state x=0"):
        step(later)
    negative = task(
        model([X], [edge("a", True, destination(None, op("-", "x", 1)), destination(None, 1))])
    )
    with pytest.raises(InputFormatError, match="negative"):
        step(negative)
    # Thirds are fine: rounding is not an error.
    thirds = [destination({"x": i}, op("/", 1, 3)) for i in range(3)]
    assert len(step(task(model([X], [edge("a", True, *thirds)])))) == 3


def test_a_label_has_the_outcomes_of_all_its_edges_once() -> None:
    edges = [
        edge("a", True, destination({"x": 1}, 0.5), destination({"x": 2}, 0.5)),
        edge("a", op("<", "x", 5), destination({"x": 2}, 0.5), destination({"x": 3}, 0.5)),
        edge("a", op("≥", "x", 5), destination({"x": 9})),
    ]
    built = task(model([X], edges))
    assert step(built) == [(1,), (2,), (3,)]
    assert step(built, "a", (5,)) == [(1,), (2,), (9,)]


def test_many_outcomes_are_distinct_too() -> None:
    edges = [
        edge("a", True, destination({"x": op("%", i * 7, 100), "y": 0})) for i in range(150)
    ] + [edge("a", op("=", "y", 1), destination({"x": i})) for i in range(3)]
    built = task(model([variable("x", bounded(0, 99), 0), Y], edges))
    found = step(built, "a", (0, 0))
    assert len(found) == len(set(found)) == 100
    assert len(step(built, "a", (0, 1))) == 103
    bad = [*edges[:60], edge("a", True, destination({"x": 99}, 0.5), destination({"x": 200}, 0.5))]
    late = [*bad, edge("a", True, destination({"x": 99}))]
    rolled = task(model([variable("x", bounded(0, 99), 0), Y], late), out_of_bounds="disable")
    assert (99, 0) in step(rolled)


def test_probabilities_of_outcomes() -> None:
    """Edges with the same label are equally likely; outcomes that they share get the sum."""
    depends = op("/", "x", 10)
    edges = [
        edge("a", True, destination({"x": 1}, 0.9), destination({"x": 2}, 0.1)),
        edge("a", op("<", "x", 5), destination({"x": 2}, 0.5), destination({"x": 3}, 0.5)),
        edge("b", True, destination({"x": 1}, depends), destination({"x": 2}, op("-", 1, depends))),
        edge("c", True, destination({"x": 4}, 0.25), destination({"x": 4}, 0.75)),
    ]
    built = task(model([X], edges, actions="a b c"))
    assert built.probabilities((0,), "a") == pytest.approx({(1,): 0.45, (2,): 0.3, (3,): 0.25})
    assert built.probabilities((7,), "a") == pytest.approx({(1,): 0.9, (2,): 0.1})
    assert built.probabilities((0,), "b") == {(2,): 1.0}
    assert built.probabilities((7,), "b") == pytest.approx({(1,): 0.7, (2,): 0.3})
    assert built.probabilities((7,), "c") == {(4,): 1.0}
    # An edge that is disabled since it leaves the bounds counts for nothing, the outcomes it shares included.
    late = [*edges[:1], edge("a", True, destination({"x": 1}, 0.5), destination({"x": 10}, 0.5))]
    disabled = task(model([X], late), out_of_bounds="disable")
    assert disabled.probabilities((0,), "a") == pytest.approx({(1,): 0.9, (2,): 0.1})
    # Asking for them changes nothing else, also after an error.
    broken = task(model([X], late))
    with pytest.raises(InputFormatError, match="above"):
        broken.probabilities((0,), "a")
    assert built.outcomes((0,), "a") == [(1,), (2,), (3,)]
    assert task(TINY_LINE).probabilities((0, 0, 1), "acc") == {}  # unsafe: no label applies


def test_labels_are_in_the_order_of_the_actions() -> None:
    edges = [edge("b", True, destination()), edge("a", True, destination())]
    built = task(model([X], edges, actions="unused b a"))
    assert built.labels == ("unused", "b", "a")
    assert built.applicable((0,)) == [1, 2]
    assert built.outcomes((0,), "unused") == []


# -- silence --------------------------------------------------------------------------------------------


def test_silent_edges_are_refused_where_they_are_enabled() -> None:
    edges = [
        edge("a", True, destination({"x": op("min", op("+", "x", 1), 9)})),
        edge(None, op("=", "x", 2), destination({"x": 0})),
    ]
    built = task(model([X], edges))
    assert step(built, "a", (1,)) == [(2,)]
    for ask in (built.applicable, lambda s: built.outcomes(s, "a"), built.is_dead_end):
        with pytest.raises(UnsupportedError, match=r"silent edge.*x=2"):
            ask((2,))
    offered = task(model([X], edges), silent="as_action")
    assert offered.labels == ("a", "b", "τ")
    assert offered.outcomes((2,), "τ") == [(0,)]
    assert offered.applicable((1,)) == [0]


def test_silence_behind_an_unsafe_state_does_not_matter() -> None:
    edges = [edge(None, op("=", "x", 2), destination({"x": 0}))]
    built = task(model([X], edges, prop=pa(unsafe=op("=", "x", 2))))
    assert built.applicable((2,)) == []


# -- composition ------------------------------------------------------------------------------------------

LEFT = automaton(
    "left",
    [
        edge("a", True, destination({"x": op("+", "x", 1)}, 0.5), destination(None, 0.5)),
        edge("b", op("=", "x", 0), destination({"x": 5}, location="k")),
    ],
    ("l", "k"),
)
RIGHT = automaton(
    "right",
    [
        edge("a", op("<", "y", 3), destination({"y": op("+", "y", "x")}, location="k")),
        edge("a", op("<", "y", 1), destination({"y": 7})),
        edge("b", True, destination({"y": 9})),
    ],
    ("l", "k"),
)


def composed(syncs: Any, actions: str = "a b both") -> JaniTask:
    system = {"elements": [{"automaton": "left"}, {"automaton": "right"}], "syncs": syncs}
    return task(model([X, Y], [LEFT, RIGHT], actions=actions, system=system))


def test_two_automata_move_together() -> None:
    built = composed(
        [
            {"synchronise": ["a", "a"], "result": "both"},
            {"synchronise": [None, "b"], "result": "b"},
            {"synchronise": ["b", None], "result": "b"},
        ]
    )
    assert built.labels == ("b", "both")
    assert built.variable_names == ("left.location", "right.location", "x", "y")
    start = (0, 0, 0, 0)
    assert built.initial_states() == [start]
    assert set(built.outcomes(start, "both")) == {
        (0, 1, 1, 0),
        (0, 1, 0, 0),
        (0, 0, 1, 7),
        (0, 0, 0, 7),
    }
    assert set(built.probabilities(start, "both").values()) == {0.25}
    # One label, two vectors: whichever fires.
    assert set(built.outcomes(start, "b")) == {(0, 0, 0, 9), (1, 0, 5, 0)}
    assert built.outcomes((1, 0, 0, 0), "both") == []
    assert built.text((1, 0, 5, 0)) == "left.location=k, right.location=l, x=5, y=0"
    assert built.parse_state("y=0, left.location=k, x=5, right.location=l") == (1, 0, 5, 0)


def test_without_vectors_several_automata_do_not_move() -> None:
    system = {"elements": [{"automaton": "left"}, {"automaton": "right"}]}
    built = task(model([X, Y], [LEFT, RIGHT], system=system))
    assert built.labels == ()
    assert built.is_dead_end(built.initial_states()[0])


def test_partners_must_not_write_the_same_variable() -> None:
    parts = [
        automaton(name, [edge("a", True, destination([assign("x", 1, index)]))])
        for name, index in (("p", 0), ("q", 0), ("r", 1))
    ]

    def pair(*names: str) -> JaniTask:
        system = {
            "elements": [{"automaton": name} for name in names],
            "syncs": [{"synchronise": ["a", "a"], "result": "a"}],
        }
        return task(model([X], parts, system=system))

    with pytest.raises(InputFormatError, match="x is assigned twice"):
        step(pair("p", "q"))
    assert step(pair("p", "r")) == [(1,)]


def test_indices_are_shared_by_partners() -> None:
    first = automaton("p", [edge("a", True, destination([assign("x", 4, 0)]))])
    second = automaton("q", [edge("a", True, destination([assign("y", "x", 1)]))])
    system = {
        "elements": [{"automaton": "p"}, {"automaton": "q"}],
        "syncs": [{"synchronise": ["a", "a"], "result": "a"}],
    }
    assert step(task(model([X, Y], [first, second], system=system))) == [(4, 4)]


def test_a_vector_without_result_is_silent() -> None:
    built = composed([{"synchronise": ["a", "a"]}])
    with pytest.raises(UnsupportedError, match="silent"):
        built.applicable(built.initial_states()[0])


def test_local_variables_of_one_name() -> None:
    parts = [
        automaton(
            name,
            [edge("a", True, destination({"n": op("+", "n", 1)}))],
            variables=[variable("n", bounded(0, 9), start)],
        )
        for name, start in (("p", 1), ("q", 5))
    ]
    system = {
        "elements": [{"automaton": "q"}, {"automaton": "p"}],
        "syncs": [{"synchronise": ["a", None], "result": "a"}],
    }
    built = task(
        model([], parts, system=system, prop=pa(unsafe=op("=", "q.n", 6))),
    )
    assert built.variable_names == ("q.n", "p.n")
    assert step(built) == [(6, 1)]
    assert built.is_unsafe((6, 1))


# -- arrays and transient variables -----------------------------------------------------------------------------

ARRAY = variable("r", {"kind": "array", "base": bounded(0, 9)}, {"op": "av", "elements": [1, 2, 3]})


def at(array: Any, index: Any) -> Any:
    return {"op": "aa", "exp": array, "index": index}


def test_cells_of_arrays() -> None:
    edges = [
        edge("a", True, destination([assign(at("r", "x"), op("+", at("r", "x"), at("r", 0)))])),
        edge(
            "b",
            op("=", at("r", "x"), 3),
            destination(
                [assign("r", {"op": "ac", "var": "k", "length": 3, "exp": op("*", "k", "x")})]
            ),
        ),
    ]
    built = task(model([X, ARRAY], edges))
    assert built.variable_names == ("x", "r[0]", "r[1]", "r[2]")
    assert step(built) == [(0, 2, 2, 3)]
    assert step(built, "a", (2, 1, 2, 3)) == [(2, 1, 2, 4)]
    assert built.applicable((1, 1, 2, 3)) == [0]
    assert step(built, "b", (2, 1, 2, 3)) == [(2, 0, 2, 4)]
    with pytest.raises(InputFormatError, match=r"outside the array, in the state x=5"):
        step(built, "a", (5, 1, 2, 3))


def test_an_array_swaps_its_cells() -> None:
    items = [assign(at("r", "x"), at("r", "y")), assign(at("r", "y"), at("r", "x"))]
    built = task(model([X, Y, ARRAY], [edge("a", True, destination(items))]))
    assert step(built, "a", (0, 2, 1, 2, 3)) == [(0, 2, 3, 2, 1)]
    with pytest.raises(InputFormatError, match=r"r\[1\] is assigned twice"):
        step(built, "a", (1, 1, 1, 2, 3))


def test_arrays_of_arrays() -> None:
    grid = variable(
        "g",
        {"kind": "array", "base": {"kind": "array", "base": "int"}},
        {
            "op": "ac",
            "var": "i",
            "length": 2,
            "exp": {"op": "ac", "var": "j", "length": 3, "exp": op("+", op("*", 10, "i"), "j")},
        },
    )
    edges = [
        edge(
            "a",
            True,
            destination([assign(at(at("g", "x"), "y"), op("-", at(at("g", 1), "y"), 50))]),
        ),
        edge("b", True, destination([assign(at("g", "x"), at("g", 1))])),
    ]
    built = task(model([X, Y, grid], edges))
    start = (0, 1, 0, 1, 2, 10, 11, 12)
    assert step(built, "a", start) == [(0, 1, 0, -39, 2, 10, 11, 12)]
    assert step(built, "b", start) == [(0, 1, 10, 11, 12, 10, 11, 12)]
    with pytest.raises(InputFormatError, match="outside the array"):
        step(built, "a", (0, 3, 0, 1, 2, 10, 11, 12))  # would be a cell of the next row


def test_tables_of_constants() -> None:
    table = {
        "name": "t",
        "type": {"kind": "array", "base": "int"},
        "value": {"op": "av", "elements": [4, 0, 7]},
    }
    built = task(model([X], [edge("a", True, destination({"x": at("t", "x")}))], constants=[table]))
    assert [step(built, "a", (i,)) for i in range(3)] == [[(4,)], [(0,)], [(7,)]]
    with pytest.raises(InputFormatError, match="outside the array"):
        step(built, "a", (3,))


def test_transient_variables() -> None:
    """Set anew before each step, by their initial value and then by the location; no part of the state."""
    parts = automaton(
        "m",
        [
            edge(
                "a",
                True,
                destination(
                    [assign("t", 5, 0), assign("x", "t", 1), assign("y", "t", 0)], location="k"
                ),
            ),
            edge("b", True, destination([assign("x", "t")], location="k"), location="k"),
        ],
        ("l", "k"),
    )
    parts["locations"][1]["transient-values"] = [{"ref": "t", "value": op("+", "x", 2)}]
    built = task(model([variable("t", "int", 1, transient=True), X, Y], [parts]))
    assert built.variable_names == ("m.location", "x", "y")
    assert step(built) == [(1, 5, 1)]
    assert step(built, "b", (1, 5, 1)) == [(1, 7, 1)]
    tight = task(model([variable("t", bounded(0, 6), 1, transient=True), X, Y], [parts]))
    with pytest.raises(InputFormatError, match=r"t = 7 is outside its bounds"):
        step(tight, "b", (1, 5, 1))
    guarded = task(
        model(
            [variable("t", "int", 1, transient=True), X],
            [edge("a", op("=", "t", 1), destination([assign("t", 5)]))],
        )
    )
    assert step(guarded) == [(0,)]  # what an edge writes is forgotten
    parts["locations"][0]["transient-values"] = [{"ref": "u", "value": "t"}]
    both = [variable(name, "int", 1, transient=True) for name in ("t", "u")]
    with pytest.raises(InputFormatError, match="transient variable is read"):
        task(model([*both, X, Y], [parts]))


# -- terminal states ---------------------------------------------------------------------------------------


def test_the_tiny_line() -> None:
    built = task(TINY_LINE)
    space = built.space()
    assert (len(space), space.outcome_count, space.root_count) == (11, 16, 1)
    assert [list(space.kinds).count(kind) for kind in range(4)] == [7, 3, 1, 0]
    assert built.space(raw=True).outcome_count == 24
    assert built.outcomes((1, 2, 0), "dec") == [(1, 2, 1)]
    assert built.applicable((2, 0, 0)) == []  # the goal
    assert built.applicable((2, 0, 0), raw=True) == [0]
    assert not built.is_dead_end((2, 0, 0))


def test_unsafe_wins_over_goal_and_both_over_dead_ends() -> None:
    edges = [edge("a", op("≤", "x", 2), destination({"x": op("+", "x", 1)}))]
    built = task(
        model([X], edges, prop=pa(op("=", "x", 1), op("∧", op("≥", "x", 1), op("≤", "x", 3))))
    )
    kinds = [
        (built.is_unsafe(s), built.is_goal(s), built.is_dead_end(s))
        for s in ((0,), (1,), (2,), (3,), (4,))
    ]
    assert kinds == [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, True, False),
        (False, False, True),
    ]
    assert built.applicable((1,)) == []
    assert built.applicable((1,), raw=True) == [0]


def test_an_error_leaves_the_engine_usable() -> None:
    edges = [edge("a", op(">", op("/", 1, "x"), 0), destination({"x": op("-", "x", 1)}))]
    built = task(model([X], edges))
    for _ in range(2):
        with pytest.raises(InputFormatError, match="division by zero"):
            built.applicable((0,))
        assert built.outcomes((2,), "a") == [(1,)]


def test_an_equality_behind_an_error_does_not_hide_it() -> None:
    """Guards are found by their equalities, but not by those that stand behind what may fail."""
    late = [
        edge("a", op("∧", op(">", op("/", 1, "y"), 0), op("=", "x", i)), destination())
        for i in range(5)
    ]
    early = [
        edge("a", op("∧", op("=", "x", i), op(">", op("/", 1, "y"), 0)), destination())
        for i in range(1, 6)
    ]
    with pytest.raises(InputFormatError, match="division by zero"):
        task(model([X, Y], late)).applicable((7, 0))
    assert task(model([X, Y], early)).applicable((7, 0)) == []
    with pytest.raises(InputFormatError, match="division by zero"):
        task(model([X, Y], early)).applicable((5, 0))
