"""The checker with arrays: for each state it gives the answer of the slow checker, or leaves it open."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.checking.arrays import ArrayChecker, NotForArraysError
from misstep.checking.arrays.moves import Moves
from misstep.checking.arrays.sets import StateSet
from misstep.checking.errors import CheckError
from misstep.checking.jani import ModelError, SafetyTask, State
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model, write_model
from support import jani
from support.jani import automaton, bounded, destination, edge, op, pa, variable
from support.models import VARIANTS, Choices, described


def read(document: Any, **options: Any) -> SafetyTask:
    return SafetyTask.from_source(jani.task(document, **options).source)


def columns_of(task: SafetyTask, states: list[State]) -> list[Any]:
    kinds = {"bool": np.bool_, "int": np.int64, "real": np.float64}
    return [
        np.array([state[i] for state in states], kinds[slot.type.base])
        for i, slot in enumerate(task.model.slots)
    ]


def slow_outcomes(task: SafetyTask, state: State, label: int) -> list[str] | None:
    try:
        return sorted({repr(own) for own in task.model.outcomes_of(state, label)})
    except ModelError:
        return None


def agree(task: SafetyTask, states: list[State]) -> int:
    """Compare outcomes of all labels; how many states were in doubt, label by label."""
    moves, columns, doubts = Moves(task.model), columns_of(task, states), 0
    with np.errstate(all="ignore"):
        for label in range(len(task.labels)):
            blocks, doubt = moves.steps(columns, label)
            applies, unsure = moves.applies(columns, label)
            found: list[set[str]] = [set() for _ in states]
            for block in blocks:
                rows = zip(*(column.tolist() for column in block.after), strict=True)
                for row, after in zip(block.rows.tolist(), rows, strict=True):
                    found[row].add(repr(after))
            for row, state in enumerate(states):
                expected = slow_outcomes(task, state, label)
                if doubt[row]:
                    doubts += 1
                    continue
                assert sorted(found[row]) == expected, (state, task.labels[label])
                if not unsure[row] and not task.model.disables:
                    assert applies[row] == bool(expected)
    return doubts


def reachable(task: SafetyTask, starts: list[State], most: int = 200) -> list[State]:
    states, known = list(starts), set(starts)
    for state in states:  # grows
        for outcomes in task.outcomes(state).values():
            for outcome in outcomes:
                if outcome not in known and len(states) < most:
                    known.add(outcome)
                    states.append(outcome)
    return states


@pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)
def test_built_in_models(name: str, choices: Choices, tmp_path: Path) -> None:
    write_model(generate_model(name, starts=20, **choices), path := tmp_path / "model.jani")
    own = load_jani(path, "sampled")
    task = SafetyTask.from_source(own.source)
    states = reachable(task, list(own.initial_states()))
    assert agree(task, states) == 0
    checker = ArrayChecker(task)
    columns = columns_of(task, states)
    for state, unsafe, goal in zip(
        states,
        np.broadcast_to(checker._unsafe(columns).value, len(states)).tolist(),
        np.broadcast_to(checker._goal(columns).value, len(states)).tolist(),
        strict=True,
    ):
        assert (unsafe, goal) == (task.is_unsafe(state), task.is_goal(state))


def drawn(dice: random.Random, kind: str, depth: int) -> Any:
    """An expression over b, x and y, and the array z."""
    if depth == 0:
        cell = {"op": "aa", "exp": "z", "index": dice.choice((0, 1, "x"))}
        leaves: dict[str, list[Any]] = {
            "bool": ["b", True, False],
            "int": ["x", 0, 7, -3, cell, 2**62],
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
                op("ite", of("bool"), of("bool"), of("bool")),
            ]
        )
    choices = [
        op(dice.choice(("+", "-", "*", "min", "max")), of(kind), of(kind)),
        op("ite", of("bool"), of(kind), of("int")),
        op("abs", of(kind)),
        {
            "op": "let",
            "variables": [{"name": "w", "value": of(kind)}],
            "expression": op("+", "w", of("int")),
        },
    ]
    if kind == "int":
        choices += [op(dice.choice(("floor", "ceil", "trc", "sgn")), of(number))]
        choices += [op("%", of("int"), dice.choice((5, "x")))]
        choices += [{"op": "-", "exp": of("int")}]
    else:
        choices += [op("/", of(number), of(number)), op("pow", of(number), of("int"))]
        choices += [op(dice.choice(("cos", "sin")), of(number)), op("log", of(number), 2)]
    return dice.choice(choices)


@pytest.mark.parametrize("kind", ["bool", "int", "real"])
def test_random_expressions(kind: str) -> None:
    """It may leave a state open where the model is wrong, and where numbers are close to the limits of 64 bits."""
    dice = random.Random(f"arrays {kind}")
    doubts = wrong = total = 0
    array = {"kind": "array", "base": bounded(-4, 4)}
    for _ in range(60):
        document = jani.model(
            [
                variable("b", "bool", False),
                variable("x", bounded(-10, 10), 0),
                variable("y", bounded(-10, 10, "real"), 0),
                variable("z", array, {"op": "av", "elements": [1, 2]}),
                variable("result", kind, {"bool": False, "int": 0}.get(kind, 0.0)),
            ],
            [edge("a", True, destination({"result": drawn(dice, kind, 3)}))],
            actions="a",
            features=["arrays", "trigonometric-functions", "derived-operators"],
        )
        task = read(document)
        states: list[State] = [
            (
                dice.random() < 0.5,
                dice.randint(-10, 10),
                dice.choice((0.0, dice.uniform(-10, 10))),
                dice.randint(-4, 4),
                dice.randint(-4, 4),
                {"bool": False, "int": 0}.get(kind, 0.0),
            )
            for _ in range(25)
        ]
        doubts += agree(task, states)
        wrong += sum(slow_outcomes(task, state, 0) is None for state in states)
        total += len(states)
    assert wrong <= doubts < total / 2
    assert wrong > 0


def test_assignments_in_levels_to_cells_and_together() -> None:
    array = {"kind": "array", "base": bounded(0, 5)}
    cell = {"op": "aa", "exp": "z", "index": "x"}
    writes = [
        {"ref": cell, "value": op("+", "x", 1)},
        {"ref": "x", "value": cell, "index": 1},
        {"ref": {"op": "aa", "exp": "z", "index": 0}, "value": 4, "index": 2},
    ]
    twice = [{"ref": cell, "value": 1}, {"ref": {"op": "aa", "exp": "z", "index": 1}, "value": 2}]
    document = jani.model(
        [
            variable("x", bounded(0, 3), 0),
            variable("z", array, {"op": "av", "elements": [1, 2, 3]}),
        ],
        [edge("a", True, destination(writes)), edge("b", True, destination(twice))],
        features=["arrays"],
    )
    task = read(document)
    states: list[State] = [(x, a, b, 3) for x in range(4) for a in range(3) for b in range(3)]
    # In doubt: an index outside, a value outside, and of `b` the states where both write the same cell.
    assert agree(task, states) == sum(
        slow_outcomes(task, state, label) is None for state in states for label in range(2)
    )


def test_automata_that_move_together() -> None:
    def side(name: str, other: str) -> Any:
        return automaton(
            name,
            [
                edge(
                    "go",
                    op("<", name, 3),
                    destination({name: op("+", name, 1)}, 0.5, "r"),
                    destination({}, 0.5, "l"),
                ),
                edge("go", op("=", other, 2), destination({}, None, "r")),
                {**edge("back", True, destination({name: 0}, None, "l")), "location": "r"},
            ],
            ("l", "r"),
        )

    document = jani.model(
        [variable("p", bounded(0, 4), 0), variable("q", bounded(0, 4), 0)],
        [side("p", "q"), side("q", "p")],
        actions="go back",
        system={
            "elements": [{"automaton": "p"}, {"automaton": "q"}],
            "syncs": [
                {"synchronise": ["go", "go"], "result": "go"},
                {"synchronise": ["back", None], "result": "back"},
                {"synchronise": [None, "back"], "result": "back"},
            ],
        },
    )
    task = read(document)
    states: list[State] = [
        (a, b, p, q) for a in range(2) for b in range(2) for p in range(5) for q in range(5)
    ]
    assert agree(task, states) == 0


def test_constant_probabilities_whose_sum_is_nearly_wrong() -> None:
    """Close to the tolerance the slow checker decides."""
    ways = [destination({"x": 0}, 0.6666667), destination({"x": 1}, 0.3333326)]
    task = read(jani.model([variable("x", bounded(0, 3))], [edge("a", True, *ways)]))
    assert agree(task, [(x,) for x in range(4)]) == 4


def test_probabilities_that_depend_on_the_state() -> None:
    share = op("/", "x", 4)
    document = jani.model(
        [variable("x", bounded(0, 4), 0), variable("y", bounded(0, 1), 0)],
        [
            edge("a", True, destination({"y": 0}, share), destination({"y": 1}, op("-", 1, share))),
            edge("b", True, destination({"y": 0}, share), destination({"y": 1}, 0.5)),
        ],
    )
    task = read(document)
    states: list[State] = [(x, y) for x in range(5) for y in range(2)]
    assert agree(task, states) == sum(slow_outcomes(task, s, 1) is None for s in states) == 8


@pytest.mark.parametrize(
    "chance",
    [
        op("*", op("*", "x", 1e-200), 1e-200),
        op("*", 1e-200, 1e-200),
        op("/", op("/", "x", 1e200), 1e200),
        op("pow", op("/", "x", 10), 900),
    ],
)
def test_probabilities_that_underflow_are_left_to_the_slow_checker(chance: Any) -> None:
    task = read(
        jani.model(
            [variable("x", bounded(0, 3))],
            [
                edge(
                    "a",
                    True,
                    destination({"x": 0}, chance),
                    destination({"x": 1}, op("-", 1, chance)),
                )
            ],
        )
    )
    assert agree(task, [(x,) for x in range(4)]) >= 3


@pytest.mark.parametrize("rule", ["error", "disable"])
def test_bounds_are_left_to_the_slow_checker(rule: str) -> None:
    document = jani.model(
        [variable("x", bounded(0, 3), 0)],
        [
            edge("a", True, destination({"x": op("+", "x", 1)})),
            edge("b", True, destination({"x": 0})),
        ],
        prop=pa(),
    )
    task = read(document, out_of_bounds=rule)
    assert agree(task, [(x,) for x in range(4)]) == 1
    checker = ArrayChecker(task)
    stays = checker.check([np.arange(4)], np.array([0, 0, 0, 1]))
    assert stays.problem is None
    assert stays.targets is not None
    assert stays.targets.tolist() == [1, 2, 3, 0]
    assert checker.check([np.arange(4)], np.zeros(4, np.int64)).problem is not None


def test_models_that_are_left_to_the_slow_checker() -> None:
    transient = variable("t", bounded(0, 3), 0, transient=True)
    document = jani.model(
        [variable("x", bounded(0, 3), 0), transient], [edge("a", True, destination())]
    )
    with pytest.raises(NotForArraysError, match="transient"):
        ArrayChecker(read(document))
    plain = read(jani.model([variable("x", bounded(0, 3), 0)], [edge("a", True, destination())]))
    with pytest.raises(NotForArraysError, match="silent"):
        ArrayChecker(plain, "step")


def test_sets_are_exact() -> None:
    columns = [np.array([3, 1, 2, 1]), np.array([0.0, 0.5, 0.5, -0.0])]
    known = StateSet(columns)
    wanted = [np.array([1, 1, 9, 1]), np.array([0.0, 0.5, 0.5, -0.0])]
    assert known.places(wanted).tolist() == [3, 1, -1, 3]
    with pytest.raises(CheckError, match="twice"):
        StateSet([np.array([1, 2, 1])])


def test_states_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from misstep.checking.arrays import sets

    real = sets._hash

    def weak(columns: Any, seed: int) -> Any:
        return real(columns, seed) % np.uint64(2 if seed < 3 else 2**40)

    monkeypatch.setattr(sets, "_hash", weak)
    known = StateSet([np.arange(50)])
    assert known.places([np.arange(-5, 55)]).tolist() == [-1] * 5 + list(range(50)) + [-1] * 5
    monkeypatch.setattr(sets, "_hash", lambda columns, _: np.zeros(len(columns[0]), np.uint64))
    with pytest.raises(CheckError, match="told apart"):
        StateSet([np.arange(50)])
