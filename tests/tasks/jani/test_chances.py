"""Probabilities of models: wrong ones, ones that are zero, and none at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from misstep.checking.jani import ModelError, SafetyTask
from misstep.checking.jani.documents import Documents
from misstep.errors import InputFormatError, MisstepError
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable
from support.jani_readers import agrees

X = variable("x", bounded(0, 3), 0)


def coin(*chances: Any, **more: Any) -> Any:
    """An edge with these probabilities; the i-th destination leads to i."""
    ways = [destination({"x": i}, chance) for i, chance in enumerate(chances)]
    return jani.model([X], [edge("a", True, *ways)], **more)


def problem(error: MisstepError) -> tuple[str, str]:
    assert error.where is not None
    assert error.hint == (
        "correct the probabilities of this edge; where they depend on open constants, --constant gives those values"
    )
    return error.what, error.where.rpartition(": ")[2]


@pytest.mark.parametrize(
    ("chances", "what", "where", "expected"),
    [
        ((0.5, 0.4), "the probabilities of the destinations sum to 0.9", "edges[0]", "a sum of 1"),
        ((0.5, 0.6), "the probabilities of the destinations sum to 1.1", "edges[0]", "a sum of 1"),
        ((0, 0), "the probabilities of the destinations sum to 0", "edges[0]", "a sum of 1"),
        (
            (1.5, -0.5),
            "the probability is negative: -0.5",
            "edges[0].destinations[1].probability",
            "a probability from 0 to 1",
        ),
    ],
)
def test_constant_probabilities_that_are_none(
    chances: tuple[float, ...], what: str, where: str, expected: str
) -> None:
    """When the model is loaded, wherever the edge may be enabled."""
    with pytest.raises(InputFormatError) as found:
        jani.task(coin(*chances))
    assert problem(found.value) == (what, f"automata[0].{where}")
    assert found.value.expected == expected
    plain = SafetyTask(coin(*chances))
    with pytest.raises(ModelError):
        plain.outcomes((0,))


def test_computed_probabilities_that_are_none() -> None:
    """In the state where such an edge is enabled, which the message names; other states are fine."""
    share = op("/", "x", 2)
    document = coin(share, op("-", 1, share))
    task = jani.task(document)
    plain = SafetyTask.from_source(task.source)
    assert task.outcomes((1,), "a") == [(0,), (1,)]
    with pytest.raises(InputFormatError) as found:
        task.outcomes((3,), "a")
    assert "the probability is negative: -0.5, in the state x=3" in found.value.what
    with pytest.raises(ModelError, match="negative"):
        plain.outcomes((3,))
    other = jani.task(coin(share, share))
    with pytest.raises(InputFormatError) as found:
        other.outcomes((0,), "a")
    assert "sum to 0, in the state x=0" in found.value.what


def test_probability_zero_is_no_outcome() -> None:
    """In both views; what a positive one is worth differs, and the note says so."""
    task = jani.task(coin(0, 1e-12, 1 - 1e-12))
    assert agrees(task) == 3  # the start, and two outcomes
    assert task.outcomes((0,), "a") == [(1,), (2,)]
    assert task.probabilities((0,), "a")[(1,)] == pytest.approx(1e-12)
    (remark,) = task.remarks
    assert remark.startswith("a destination has probability 0 and is left out, at ")
    assert "edges[0].destinations[0].probability" in remark
    assert remark.endswith("every other outcome counts as possible, however unlikely it is")
    assert jani.task(coin(0.5, 0.5)).remarks == ()
    assert "2 destinations have" in jani.task(coin(0, 1, 0)).remarks[0]


TINY = op("*", 1e-200, 1e-200)


@pytest.mark.parametrize(
    "chance",
    [
        TINY,
        op("/", 1e-200, 1e200),
        op("pow", 0.1, 400),
        op("min", TINY, 0.5),
        op("ite", op("=", "x", 0), TINY, 0.0),
        op("*", op("*", op("+", "x", 1), 1e-200), 1e-200),
    ],
)
def test_a_probability_that_underflows_is_no_zero(chance: Any) -> None:
    """The outcome can happen, so that a proof without it would be wrong."""
    document = coin(chance, op("-", 1, chance))
    task = jani.task(document)
    with pytest.raises(InputFormatError, match="too small for a double, but not 0"):
        task.outcomes((0,), "a")
    with pytest.raises(ModelError, match="too small for a double"):
        SafetyTask.from_source(task.source).outcomes((0,))


def test_numbers_that_underflow() -> None:
    """In constants and in the file; a sum with something larger is fine, and so is a true zero."""
    constants = [{"name": "p", "type": "real", "value": TINY}]
    with pytest.raises(InputFormatError):
        jani.task(coin("p", 1, constants=constants))
    with pytest.raises(ModelError, match="too small"):
        SafetyTask(coin("p", 1, constants=constants))
    for chance in (op("+", TINY, 0.5), 0.5):
        assert agrees(jani.task(coin(chance, 0.5))) == 2
    for zero in (op("*", 0, 1e-200), op("-", 1, op("*", 10, 0.1)), op("*", op("-", 3, "x"), 0)):
        assert jani.task(coin(zero, 1.0)).outcomes((0,), "a") == [(1,)]
    text = json.dumps(coin(0.25, 1.0)).replace("0.25", "1e-400")
    with pytest.raises(InputFormatError, match="too small for a double"):
        jani.task(text)
    with pytest.raises(ModelError, match="too small for a double"):
        Documents({"model": text.encode()}).read("model")


def test_a_constant_decides_what_is_possible() -> None:
    constants = [{"name": "p", "type": "real"}]
    document = coin("p", op("-", 1, "p"), constants=constants, prop=pa(op("=", "x", 0), False))
    document["variables"] = [{**X, "initial-value": 1}]
    some, none = (jani.task(document, parameters={"p": p}) for p in (0.25, 0.0))
    assert some.outcomes((1,), "a") == [(0,), (1,)]
    assert none.outcomes((1,), "a") == [(1,)]
    assert none.remarks
    assert not some.remarks
    for own in (some, none):
        agrees(own)


def test_open_constants_are_all_named() -> None:
    constants = [{"name": name, "type": "real"} for name in ("p", "q")]
    document = coin("p", "q", constants=constants)
    with pytest.raises(MisstepError, match=r"p.*q") as found:
        jani.task(document)
    assert "--constant" in str(found.value)
    with pytest.raises(MisstepError, match="q"):
        jani.task(document, parameters={"p": 0.5})
    with pytest.raises(InputFormatError, match=r"sum to 0\.75"):
        jani.task(document, parameters={"p": 0.5, "q": 0.25})


def test_models_without_probabilities() -> None:
    edges = [edge("a", True, destination({"x": i})) for i in (1, 2)]
    document = jani.model([X], edges, type="lts")
    task = jani.task(document)
    assert agrees(task) == 3
    first, second = task.chance_remarks
    assert first.startswith("the model gives no probabilities")
    assert second == "edges of one label: these are taken as equally likely"
    assert task.probabilities((0,), "a") == {(1,): 0.5, (2,): 0.5}
    assert jani.task(coin(0.25, 0.75)).chance_remarks == ()


def test_what_is_taken_as_equally_likely_is_said() -> None:
    chosen = {"op": "nondet", "var": "v", "exp": True}
    edges = [
        edge("a", True, destination({"x": chosen}, 0.5), destination(None, 0.5)),
        edge(None, True, destination()),
    ]
    (remark,) = jani.task(jani.model([X], edges), silent="step").chance_remarks
    assert "silent edges" in remark
    assert "non-deterministic" in remark
    assert "edges of one label" not in remark


def test_rewards_of_edges_are_not_read() -> None:
    """Storm writes them as assignments of the edge; one that a destination reads is refused."""
    reward = variable("r", "real", 0.0, transient=True)
    own = {**edge("a", True, destination({"x": 1})), "assignments": [{"ref": "r", "value": 1}]}
    assert agrees(jani.task(jani.model([X, reward], [own]))) == 2
    own["destinations"] = [destination({"x": op("floor", "r")})]
    document = jani.model([X, reward], [own])
    with pytest.raises(MisstepError, match="outside of its destinations"):
        jani.task(document)
    with pytest.raises(ModelError):
        SafetyTask(document)


def test_probabilities_are_added_up_and_taken_back() -> None:
    """Of many outcomes that edges share, where one edge is disabled after some of its outcomes are known."""
    variables = [variable("x", bounded(0, 29), 0), variable("y", bounded(0, 2), 0)]
    ways = [destination({"x": k}, 1 / 60) for k in range(30)]
    disabled = edge("a", True, *ways, destination({"x": 30}, 0.5))
    edges = [edge("a", True, destination({"x": k // 2})) for k in range(60)]
    others = [edge("a", True, destination({"y": k})) for k in range(3)]
    own = [*edges[:35], disabled, *edges[35:]]
    document = jani.model(variables, [jani.automaton("m", own), jani.automaton("n", others)])
    document["system"]["syncs"] = [{"synchronise": ["a", "a"], "result": "a"}]
    task = jani.task(document, out_of_bounds="disable")
    found = task.probabilities((0, 0), "a")
    assert found == {(x, y): pytest.approx(1 / 90) for x in range(30) for y in range(3)}
