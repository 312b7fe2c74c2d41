"""The successors are the same as in another implementation of JANI."""

from __future__ import annotations

import json
import random
from collections import deque
from typing import Any

import pytest

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

jani = pytest.importorskip("momba.jani", reason="momba is not installed")
engine = pytest.importorskip("momba.engine", reason="momba-engine is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:converting an? .* constant:UserWarning")

State = tuple[Any, ...]
Graph = dict[State, dict[str, set[State]]]
MOST = 80


def spelled_out(value: Any) -> Any:
    """The peer (0.6.12) aborts the process on an implication, and 2 ≠ 1 and 2 ≠ 5 are both false there."""
    if isinstance(value, list):
        return [spelled_out(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: spelled_out(item) for key, item in value.items()}
    if inner.get("op") == "≠":
        return op("¬", {**inner, "op": "="})
    if inner.get("op") == "⇒":
        return op("\u2228", op("¬", inner["left"]), inner["right"])
    return inner


class Peer:
    """Momba's states do not compare by value, so values are taken out."""

    def __init__(self, document: Any) -> None:
        self.names = [v["name"] for v in document["variables"]]
        self.kinds = {
            v["name"]: v["type"] if isinstance(v["type"], str) else v["type"]["base"]
            for v in document["variables"]
        }
        self.locations = {
            a["name"]: [location["name"] for location in a["locations"]]
            for a in document["automata"]
            if len(a["locations"]) > 1
        }
        network = jani.load_model(json.dumps(spelled_out(document)), ignore_properties=True)
        self.explorer = engine.Explorer.new_discrete_time(network)

    def values(self, state: Any) -> State:
        by_name = {
            instance.automaton.name: location.name for instance, location in state.locations.items()
        }
        places = [names.index(by_name[name]) for name, names in self.locations.items()]
        readers = {
            "bool": lambda v: v.as_bool,
            "int": lambda v: v.as_int,
            "real": lambda v: v.as_float,
        }
        return (*places, *(readers[self.kinds[n]](state.global_env[n]) for n in self.names))

    def graph(self) -> Graph:
        found: Graph = {}
        queue = deque(self.explorer.initial_states)
        while queue and len(found) < MOST:
            state = queue.popleft()
            values = self.values(state)
            if values in found:
                continue
            labels: dict[str, set[State]] = {}
            for transition in state.transitions:
                outcomes = labels.setdefault(transition.action.action_type.label, set())
                for target in transition.destinations.support:
                    if target.probability > 0:
                        outcomes.add(self.values(target.state))
                        queue.append(target.state)
            found[values] = labels
        return found


def assert_same(document: Any) -> Graph:
    theirs = Peer(document).graph()
    built = load_jani(write(document))
    for state, labels in theirs.items():
        ours = {
            built.labels[label]: set(built.outcomes(state, label, raw=True))
            for label in built.applicable(state, raw=True)
        }
        assert ours == labels, built.text(state)
    return theirs


def test_the_tiny_line() -> None:
    syncs = [{"synchronise": [action], "result": action} for action in ("acc", "dec")]
    system = {**TINY_LINE["system"], "syncs": syncs}
    assert len(assert_same({**TINY_LINE, "system": system})) == 11


NAMES = ("x", "y", "z")


def number(dice: random.Random, depth: int = 2) -> Any:
    if depth == 0 or dice.random() < 0.3:
        return dice.choice([*NAMES, dice.randint(-3, 3)])
    symbol = dice.choice(["+", "-", "*", "min", "max", "ite", "abs", "floor"])
    a, b = number(dice, depth - 1), number(dice, depth - 1)
    if symbol == "ite":
        return op("ite", condition(dice, 0), a, b)
    if symbol == "abs":
        return op("abs", a)
    if symbol == "floor":
        return op("floor", op("/", a, dice.choice([2, 3, 4])))
    return op(symbol, a, b)


def condition(dice: random.Random, depth: int = 2) -> Any:
    if depth == 0 or dice.random() < 0.3:
        comparison = op(
            dice.choice(["=", "≠", "<", "≤", ">", "≥"]), number(dice, 1), number(dice, 1)
        )
        return dice.choice(["b", comparison, comparison])
    symbol = dice.choice(["∧", "\u2228", "¬", "⇒"])
    if symbol == "¬":
        return op("¬", condition(dice, depth - 1))
    return op(symbol, condition(dice, depth - 1), condition(dice, depth - 1))


def clamped(dice: random.Random) -> Any:
    return op("max", op("min", number(dice), 3), -2)


def random_destination(
    dice: random.Random, writable: list[str], probability: Any, location: str
) -> Any:
    chosen = dice.sample(writable, dice.randint(0, len(writable)))
    items = []
    for name in chosen:
        value = condition(dice, 1) if name == "b" else clamped(dice)
        items.append({"ref": name, "value": value, "index": dice.choice([0, 0, 1, 2])})
    return destination(items, probability, location)


def random_edge(dice: random.Random, writable: list[str], locations: tuple[str, ...]) -> Any:
    def target() -> str:
        return dice.choice(locations)

    if dice.random() < 0.5:
        destinations = [random_destination(dice, writable, None, target())]
    else:
        # Sometimes a destination of probability zero, which does not exist.
        p = dice.choice([0.25, op("/", 1, 3), 1.0, op("ite", "b", 1.0, 0.5)])
        destinations = [
            random_destination(dice, writable, p, target()),
            random_destination(dice, writable, op("-", 1, p), target()),
        ]
    guard = condition(dice)
    if dice.random() < 0.5:  # an equality to find the edge by
        guard = op("∧", op("=", dice.choice(NAMES), dice.randint(-2, 3)), guard)
    return edge(dice.choice("ab"), guard, *destinations, location=dice.choice(locations))


def random_variables(dice: random.Random) -> list[Any]:
    drawn = [variable(name, bounded(-2, 3), dice.randint(-2, 3)) for name in NAMES]
    return [*drawn, variable("b", "bool", dice.random() < 0.5)]


@pytest.mark.parametrize("seed", range(15))
def test_random_models(seed: int) -> None:
    dice = random.Random(seed)
    locations = dice.choice([("l",), ("l", "k")])
    edges = [random_edge(dice, [*NAMES, "b"], locations) for _ in range(dice.randint(5, 20))]
    document = model(random_variables(dice), [automaton("m", edges, locations)], prop=pa())
    document["system"]["syncs"] = [{"synchronise": [a], "result": a} for a in "ab"]
    assert_same(document)


@pytest.mark.parametrize("seed", range(15))
def test_random_pairs_of_automata(seed: int) -> None:
    dice = random.Random(1000 + seed)
    locations = dice.choice([("l",), ("l", "k"), ("l", "k", "h")])
    parts = [
        automaton(name, [random_edge(dice, writable, locations) for _ in range(6)], locations)
        for name, writable in (("p", ["x", "b"]), ("q", ["y", "z"]))
    ]
    document = model(random_variables(dice), parts, actions="a b c", prop=pa())
    document["system"]["syncs"] = [
        {"synchronise": ["a", "b"], "result": "c"},
        {"synchronise": ["a", "a"], "result": "a"},
        {"synchronise": ["b", None], "result": "b"},
        {"synchronise": [None, "b"], "result": "b"},
    ]
    assert_same(document)


def test_reals() -> None:
    document = model(
        [
            variable("h", bounded(-100, 100, "real"), 7.25),
            variable("v", bounded(-100, 100, "real"), -0.5),
        ],
        [
            edge(
                "a",
                op("≥", "h", 0.1),
                destination({"h": op("+", "h", op("*", "v", 0.3)), "v": op("-", "v", 1.47)}),
            ),
            edge(
                "b",
                op("<", "h", 6),
                destination({"v": op("*", -0.9487, "v")}, 0.5),
                destination({"v": op("/", "v", 3.5)}, 0.5),
            ),
        ],
    )
    document["system"]["syncs"] = [{"synchronise": [a], "result": a} for a in "ab"]
    assert len(assert_same(document)) > 20
