"""Choices of the environment: silent edges that are steps of their own, and non-deterministic assignments.

The engine and the checker's reader have to agree with each other and with a third evaluation of the same random
models, which uses only small tables of edges.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.checking.jani import ModelError, SafetyTask, State
from misstep.errors import InputFormatError, UnsupportedError
from misstep.safety import Answer, Budget, Decider, System, envelope
from misstep.safety.decider import KINDS
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.episodes import Episodes
from misstep.tasks.jani.task import JaniTask
from support import jani
from support.jani import bounded, destination, edge, op, pa, variable
from support.jani_readers import agrees, same_outcomes

HIGH = 3  # of both variables of random models
LABELS = ("a", "b")
Pair = tuple[int, ...]  # the values of x and y


def nondet(condition: Any, name: str = "v") -> Any:
    return {"op": "nondet", "var": name, "exp": condition}


# -- the twin: random models as tables, and what they mean -----------------------------------------


@dataclass(frozen=True)
class Row:
    """An edge: where it is enabled, and for each destination its probability and the pairs that it may lead to."""

    label: str | None
    guard: frozenset[Pair]
    targets: tuple[tuple[float, dict[Pair, list[Pair]]], ...]


ALL = tuple(product(range(HIGH + 1), repeat=2))


def drawn_edge(dice: random.Random) -> tuple[Any, Row]:
    """The same edge as JANI and as a table."""
    label = dice.choice((None, *LABELS))
    axis, at = dice.choice("xy"), dice.randint(0, HIGH)
    symbol, holds = dice.choice((("≤", int.__le__), ("=", int.__eq__), ("≥", int.__ge__)))
    guard = frozenset(p for p in ALL if holds(p["xy".index(axis)], at))
    targets, destinations = [], []
    shares = dice.choice(((1.0,), (0.25, 0.75)))
    for share in shares:
        written, table = drawn_assignments(dice)
        destinations.append(destination(written, share))
        targets.append((share, table))
    return edge(label, op(symbol, axis, at), *destinations), Row(label, guard, tuple(targets))


def drawn_assignments(dice: random.Random) -> tuple[list[Any], dict[Pair, list[Pair]]]:
    """A constant, a sum that wraps, or any value beside the other variable, for one or both variables."""
    kinds = [dice.choice(("keep", "set", "add", "any", "later")) for _ in range(2)]
    numbers = [dice.randint(0, HIGH) for _ in range(2)]
    written = []
    for name, other, kind, number in zip("xy", "yx", kinds, numbers, strict=True):
        if kind == "set":
            written.append({"ref": name, "value": number})
        if kind == "add":
            written.append({"ref": name, "value": op("%", op("+", name, number), HIGH + 1)})
        if kind in ("any", "later"):  # later: it sees what the other variable has become
            level = {"index": 1} if kind == "later" else {}
            written.append({"ref": name, "value": nondet(op("≠", "v", other)), **level})
    table = {pair: list(after(pair, kinds, numbers)) for pair in ALL}
    return written, table


def after(pair: Pair, kinds: list[str], numbers: list[int]) -> Iterator[Pair]:
    first: list[list[int]] = []
    for i, (kind, number) in enumerate(zip(kinds, numbers, strict=True)):
        values = {"set": [number], "add": [(pair[i] + number) % (HIGH + 1)]}.get(kind, [pair[i]])
        if kind == "any":
            values = [v for v in range(HIGH + 1) if v != pair[1 - i]]
        first.append(values)
    for middle in product(*first):
        last = []
        for i, kind in enumerate(kinds):
            later = [v for v in range(HIGH + 1) if v != middle[1 - i]]
            last.append(later if kind == "later" else [middle[i]])
        yield from product(*last)


class Twin:
    """The meaning of `silent="step"` by its definition in docs/jani.md."""

    def __init__(self, rows: list[Row], unsafe: frozenset[Pair], goal: frozenset[Pair]) -> None:
        self.rows, self.unsafe, self.goal = rows, unsafe, goal

    def edges(self, pair: Pair, label: str | None) -> list[Row]:
        return [row for row in self.rows if row.label == label and pair in row.guard]

    def actions(self, pair: Pair) -> dict[str, dict[Pair, float]]:
        """Labels with their outcomes and their probabilities."""
        silent = self.edges(pair, None)
        found = {label: self.edges(pair, label) for label in LABELS}
        taken = {label: [*own, *silent] for label, own in found.items() if own}
        if not taken and silent:
            taken = {"τ": silent}
        return {label: self.weighed(pair, rows) for label, rows in taken.items()}

    @staticmethod
    def weighed(pair: Pair, rows: list[Row]) -> dict[Pair, float]:
        found: dict[Pair, float] = {}
        for row in rows:
            for share, table in row.targets:
                for target in table[pair]:
                    more = share / len(rows) / len(table[pair])
                    found[target] = found.get(target, 0.0) + more
        return found

    def is_open(self, pair: Pair) -> bool:
        return pair not in self.unsafe and pair not in self.goal

    def safe(self) -> set[Pair]:
        """The largest set without unsafe states that some label of each state stays in; dead ends are fine."""
        safe = set(ALL) - self.unsafe
        while True:
            lost = set()
            for pair in safe:
                actions = self.actions(pair).values() if self.is_open(pair) else ()
                if actions and not any(all(t in safe for t in own) for own in actions):
                    lost.add(pair)
            if not lost:
                return safe
            safe -= lost

    def policy_safe(self, chosen: dict[Pair, str]) -> set[Pair]:
        """Where runs of the policy never get unsafe; it is asked only where it has a choice."""
        safe = set(ALL) - self.unsafe
        while True:
            lost = {
                pair
                for pair in safe
                if self.is_open(pair)
                and (actions := self.actions(pair))
                and not all(t in safe for t in actions[chosen.get(pair, "τ")])
            }
            if not lost:
                return safe
            safe -= lost


def drawn_model(seed: int) -> tuple[JaniTask, Twin]:
    dice = random.Random(seed)
    pairs = [drawn_edge(dice) for _ in range(dice.randint(2, 7))]
    unsafe = (dice.randint(0, HIGH), dice.randint(0, HIGH))
    goal = (dice.randint(0, HIGH), dice.randint(0, HIGH))

    def at(pair: Pair) -> Any:
        return op("∧", op("=", "x", pair[0]), op("=", "y", pair[1]))

    document = jani.model(
        [variable("x", bounded(0, HIGH)), variable("y", bounded(0, HIGH))],
        [own for own, _ in pairs],
        prop=pa(at(unsafe), at(goal)),
        features=["nondet-selection"],
    )
    twin = Twin([row for _, row in pairs], frozenset({unsafe}), frozenset({goal}) - {unsafe})
    return jani.task(document, silent="step"), twin


def same_as_twin(task: JaniTask, twin: Twin, state: Pair) -> None:
    found = {
        task.labels[label]: task.probabilities(state, label) for label in task.applicable(state)
    }
    expected = twin.actions(state) if twin.is_open(state) else {}
    assert found.keys() == expected.keys()
    for label, outcomes in expected.items():
        assert set(task.outcomes(state, label)) == outcomes.keys()
        assert found[label] == pytest.approx(outcomes)


def same_probabilities(task: JaniTask, plain: SafetyTask, state: State) -> None:
    for label in task.applicable(state):
        steps = list(plain.model.steps(state, label))
        found: dict[State, float] = {}
        for step in steps:
            for outcome, probability in step:
                found[outcome] = found.get(outcome, 0.0) + probability / len(steps)
        assert found == pytest.approx(task.probabilities(state, label))


def compare(seed: int) -> tuple[int, int, int]:
    """Compare all states of a random model; returns the numbers of labels, environment states and mixed states."""
    task, twin = drawn_model(seed)
    plain = SafetyTask.from_source(task.source)
    assert agrees(task) == len(ALL)  # all of them are starts
    labels = alone = mixed = 0
    for state in ALL:
        same_as_twin(task, twin, state)
        if not twin.is_open(state):
            continue
        same_outcomes(task, plain, state)
        same_probabilities(task, plain, state)
        actions = twin.actions(state)
        labels += len(actions)
        alone += "τ" in actions
        mixed += "τ" not in actions and bool(actions) and bool(twin.edges(state, None))
    return labels, alone, mixed


def test_random_models_in_both_readers_and_their_twin() -> None:
    counts = [sum(column) for column in zip(*map(compare, range(60)), strict=True)]
    assert min(counts) > 100


def decided(seed: int) -> tuple[int, int]:
    """Compare deciders and runs of a policy on a random model with fixpoints over all of its states."""
    task, twin = drawn_model(seed)
    chosen: dict[Pair, str] = {}
    asked: set[Pair] = set()
    for pair in ALL:
        labels = [own for own in twin.actions(pair) if own != "τ"]
        if labels:
            chosen[pair] = random.Random(f"{seed} {pair}").choice(labels)

    def policy(state: State) -> str:
        pair = tuple(map(int, state))
        asked.add(pair)
        return chosen[pair]  # an error where the policy must not be asked

    system: System[State, str] = System(jani_transitions(task), policy)
    decider = Decider(system, KINDS[seed % len(KINDS)])
    safe, clean = twin.safe(), twin.policy_safe(chosen)
    for state in ALL:
        expected = Answer.SAFE if state in safe else Answer.NOT_SAFE
        assert decider.decide(state).answer == expected
        within = Answer.SAFE if state in clean else Answer.NOT_SAFE
        assert decider.decide(state, 0).answer == within
        runs = envelope(system, [state], Budget(expansions=1000))
        assert (runs.answer == Answer.SAFE) == (state in clean)
    assert all("τ" not in twin.actions(state) for state in asked)
    return len(safe), len(safe - clean)


def test_deciders_and_runs_against_exhaustive_fixpoints() -> None:
    counts = [sum(column) for column in zip(*map(decided, range(60)), strict=True)]
    assert min(counts) > 20  # bugs, too


# -- by hand ---------------------------------------------------------------------------------------


def test_nondeterministic_assignments() -> None:
    """They write cells and Booleans, by index, with transient variables, and together with another automaton."""
    cells = variable(
        "cells", {"kind": "array", "base": bounded(0, 2)}, {"op": "av", "elements": [0, 2]}
    )
    first = jani.automaton(
        "p",
        [
            edge(
                "a",
                True,
                destination(
                    [
                        {"ref": "t", "value": op("+", "k", 1)},
                        {"ref": "k", "value": nondet(op("≤", "v", "t")), "index": 1},
                        {
                            "ref": {"op": "aa", "exp": "cells", "index": "k"},
                            "value": nondet(op("≠", "w", "k"), "w"),
                            "index": 2,
                        },
                    ],
                    0.5,
                ),
                destination({"b": nondet(op("=", "v", op("=", "k", 0)))}, 0.5),
            )
        ],
        variables=[variable("t", bounded(0, 9), 0, transient=True)],
    )
    second = jani.automaton(
        "q",
        [edge("a", "b", destination({"c": nondet(True)}))],
        variables=[variable("c", "bool", False)],
    )
    document = jani.model(
        [cells, variable("k", bounded(0, 1), 0), variable("b", "bool", True)],
        [first, second],
        actions="a both",
        features=["nondet-selection", "arrays"],
    )
    document["system"]["syncs"] = [
        {"synchronise": ["a", None], "result": "a"},
        {"synchronise": ["a", "a"], "result": "both"},
    ]
    task = jani.task(document)
    assert agrees(task) > 20
    plain = SafetyTask.from_source(task.source)
    for state in task.initial_states():
        same_probabilities(task, plain, state)


def test_a_condition_can_bound_what_is_chosen() -> None:
    """The variable has no bounds or wide ones; the condition has constants on either side, and other parts."""
    between = op("∧", op("<", -2, "v"), op("≤", "v", op("+", "N", 1)), op("≠", "v", "y"))
    fixed = op("∧", op("=", op("*", "N", 5), "v"), op("≥", "v", "y"))
    edges = [
        edge("a", True, destination({"y": nondet(between)})),
        edge("b", op("≤", "y", 10), destination({"y": nondet(fixed)})),
        edge("b", True, destination({"wide": nondet(op("∧", op(">", "v", 5), op("≥", 7, "v")))})),
    ]
    document = jani.model(
        [variable("y", "int", 0), variable("wide", bounded(0, 10**9), 0)],
        edges,
        constants=[{"name": "N", "type": "int", "value": 2}],
    )
    task = jani.task(document)
    assert {y for y, _ in task.outcomes((0, 0), "a")} == {-1, 1, 2, 3}
    assert set(task.outcomes((0, 0), "b")) == {(10, 0), (0, 6), (0, 7)}
    assert agrees(task) == 18
    edges[0]["destinations"] = [destination({"y": nondet(op("<", "v", 3))})]
    with pytest.raises(UnsupportedError, match="without bounds"):
        jani.task(document)
    with pytest.raises(ModelError, match="without end"):
        SafetyTask(document)


def test_a_choice_without_values_is_an_error_of_the_model() -> None:
    chosen = nondet(op("∧", op(">", "v", "x"), op("<", "v", 3)))
    task = jani.task(
        jani.model([variable("x", bounded(0, 3), 0)], [edge("a", True, destination({"x": chosen}))])
    )
    plain = SafetyTask.from_source(task.source)
    assert task.outcomes((0,), "a") == plain.model.outcomes_of((0,), 0) == [(1,), (2,)]
    with pytest.raises(InputFormatError, match=r"no value satisfies .* in the state x=2") as found:
        task.outcomes((2,), "a")
    assert found.value.where is not None
    assert "assignments[0].value" in found.value.where
    assert found.value.expected
    assert found.value.hint
    with pytest.raises(ModelError, match="no value satisfies"):
        plain.model.outcomes_of((2,), 0)


def test_the_environment_under_bounds_that_disable() -> None:
    """An edge that its bounds disable does not count as a label that applies."""
    edges = [
        edge("a", True, destination({"x": op("+", "x", 2)})),
        edge(None, op("<", "x", 3), destination({"x": op("+", "x", 1)})),
    ]
    document = jani.model([variable("x", bounded(0, 3), 0)], edges)
    task = jani.task(document, silent="step", out_of_bounds="disable")
    assert agrees(task) == 4
    assert task.environment == 2
    found = {x: {task.labels[own] for own in task.applicable((x,))} for x in range(4)}
    assert found == {0: {"a"}, 1: {"a"}, 2: {"τ"}, 3: set()}
    assert task.outcomes((1,), "a") == [(3,), (2,)]
    assert task.outcomes((1,), "τ") == []
    assert task.is_dead_end((3,))


def test_no_silent_edge_is_no_environment() -> None:
    task = jani.task(jani.model([], [edge("a", True, destination())]), silent="step")
    assert task.environment is None
    assert task.labels == ("a", "b")
    with pytest.raises(UnsupportedError, match="an action is called τ"):
        jani.task(jani.model([], [edge(None, True, destination())], actions="τ"), silent="step")


def test_episodes_go_on_to_the_next_choice() -> None:
    """The learner is asked where it has a choice, and a silent cycle does not hang."""
    edges = [
        edge("a", op("=", "x", 0), destination({"x": 1})),
        edge(None, op("∧", op("≥", "x", 1), op("<", "x", 3)), destination({"x": op("+", "x", 1)})),
        edge("b", op("=", "x", 3), destination({"x": 4})),
        edge(None, op("≥", "x", 4), destination({"x": op("-", 9, "x")})),
    ]
    document = jani.model([variable("x", bounded(0, 5), 0)], edges)
    game = Episodes(jani.task(document, silent="step"))
    dice = CounterRandom(1)
    start = game.start(dice)
    after = game.step(start, 0, dice)
    assert game.engine.values(after.state) == (3,)
    circle = game.step(after.state, 1, dice)
    assert circle.end == ""
    assert game.mask(circle.state).tolist() == [False, False, True]


@pytest.mark.soundness
def test_many_random_models() -> None:
    for seed in range(1000, 2500):
        compare(seed)
        decided(seed)
