"""Fuzzing by the model's probabilities: the frequencies of outcomes agree with the exact probabilities.

The exact ones come from the checker's plain evaluator, which shares no code with the engine. Every test has a fixed
seed and asks whether the frequencies could come from these probabilities: by exact binomial tails for each
outcome, and by Pearson's chi-square for all of them together.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from random import Random
from typing import Any

import pytest

from misstep.errors import UsageError
from misstep.policies.load import load_policy
from misstep.safety import FuzzSettings, System, fuzz, jani_transitions
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from support import jani
from support.jani import automaton, bounded, destination, edge, model, op, pa, variable
from support.plain_task import PlainTask
from support.safety import GOAL, UNSAFE, Explicit, check_policy_run, random_world

LEVEL = 1e-4  # of all tests of a table together, by Bonferroni


def binomial_tail(count: int, total: int, p: float) -> float:
    """Two-sided: the smaller tail of the exact distribution, doubled."""
    if p >= 1:
        return 1.0 if count == total else 0.0

    def chance(k: int) -> float:
        ways = math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
        return math.exp(ways + k * math.log(p) + (total - k) * math.log1p(-p))

    low = math.fsum(map(chance, range(count + 1)))
    high = math.fsum(map(chance, range(count, total + 1)))
    return min(1.0, 2 * min(low, high))


def chi_square_score(counts: Mapping[Any, int], chances: Mapping[Any, float]) -> float:
    """Pearson's statistic as a standard normal score (Wilson and Hilferty)."""
    total = sum(counts.values())
    freedom = len(chances) - 1
    if freedom == 0:
        return 0.0
    pearson = sum((counts.get(k, 0) - total * p) ** 2 / (total * p) for k, p in chances.items())
    spread = 2 / (9 * freedom)
    return float(((pearson / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))


def fits(counts: Mapping[Hashable, int], chances: Mapping[Any, float]) -> bool:
    total = sum(counts.values())
    if set(counts) - set(chances):
        return False
    tails = [binomial_tail(counts.get(k, 0), total, p) for k, p in chances.items()]
    return min(tails) > LEVEL / len(tails) and chi_square_score(counts, chances) < 3.9


def test_the_statistical_tests_accept_what_fits_and_refuse_the_rest() -> None:
    """They accept frequencies that fit, and refuse frequencies that are slightly wrong."""
    chances = {"a": 0.45, "b": 0.3, "c": 0.25}
    assert fits({"a": 2260, "b": 1490, "c": 1250}, chances)
    assert not fits({"a": 2400, "b": 1400, "c": 1200}, chances)
    assert not fits({"a": 1667, "b": 1667, "c": 1666}, chances)
    assert not fits({"a": 10, "d": 1}, chances)
    assert binomial_tail(5, 10, 0.5) == 1.0
    assert binomial_tail(0, 10, 0.5) == pytest.approx(2 / 1024)


X = variable("x", bounded(0, 9), 0)
Y = variable("y", bounded(0, 9), 0)


def steps_by_state(
    task: JaniTask, runs: int, max_steps: int, policy: Any = "first"
) -> dict[Any, Counter[Any]]:
    """How often each outcome occurred, by state and label."""
    handle = load_policy(policy, task)
    system = System(jani_transitions(task), handle.policy, inapplicable=handle.inapplicable)
    settings = FuzzSettings("probable", 1, max_steps=max_steps)
    fuzzer = settings.fuzzer(system)
    found: dict[Any, Counter[Any]] = defaultdict(Counter)
    for run in fuzzer.runs(11, 0, runs):
        states = system.states(run.states)
        for before, label, after in zip(
            states, system.labels(run.labels), states[1:], strict=False
        ):
            found[before, label][after] += 1
    return found


def test_several_edges_with_one_label_are_equally_likely() -> None:
    """Enabled edges are equally likely, and outcomes that they share get the sum."""
    depends = op("/", op("+", "x", 1), 10)
    document = model(
        [X],
        [
            edge("a", op("=", "x", 0), destination({"x": 1}, 0.9), destination({"x": 2}, 0.1)),
            edge("a", op("=", "x", 0), destination({"x": 2}, 0.5), destination({"x": 3}, 0.5)),
            edge(
                "a",
                op("∧", op("<", 0, "x"), op("<", "x", 4)),
                destination({"x": 4}, depends),
                destination({"x": 5}, op("-", 1, depends)),
                destination({"x": 6}, 0),
            ),
        ],
        actions="a",
    )
    task, plain = jani.task(document), PlainTask(document)
    found = steps_by_state(task, 6000, 2)
    exact = {(1,): 0.45, (2,): 0.3, (3,): 0.25}
    assert plain.probabilities((0,), "a") == pytest.approx(exact)
    assert fits(found[(0,), "a"], exact)
    for x in (1, 2, 3):
        chances = plain.probabilities((x,), "a")
        own = found[(x,), "a"]
        assert (6,) not in own
        assert fits(own, {k: p for k, p in chances.items() if p > 0})
    uniform = dict.fromkeys(exact, 1 / 3)
    assert not fits(found[(0,), "a"], uniform)  # which is what uniform fuzzing would do


def test_probabilities_of_two_automata_are_multiplied() -> None:
    left = automaton(
        "left",
        [
            edge("a", True, destination({"x": 1}, 0.9), destination({"x": 2}, 0.1)),
            edge("a", True, destination({"x": 3}, 0.2), destination({"x": 2}, 0.8)),
        ],
    )
    right = automaton(
        "right", [edge("a", True, destination({"y": 1}, 0.25), destination({"y": 2}, 0.75))]
    )
    system = {
        "elements": [{"automaton": "left"}, {"automaton": "right"}],
        "syncs": [{"synchronise": ["a", "a"], "result": "a"}],
    }
    document = model([X, Y], [left, right], actions="a", system=system)
    task, plain = jani.task(document), PlainTask(document)
    found = steps_by_state(task, 6000, 1)
    chances = plain.probabilities((0, 0), "a")
    assert chances[(2, 2)] == pytest.approx((0.1 + 0.8) / 2 * 0.75)
    assert len(chances) == 6
    assert fits(found[(0, 0), "a"], chances)


def test_a_built_in_model_against_the_plain_evaluator() -> None:
    made = generate_model("one-way-line", cells=5, packages=2, vmax=3, drop=True, ice="2")
    document = made.document
    task, plain = jani.task(document), PlainTask(document)
    found = steps_by_state(task, 1500, 12, "random:1")
    tested = 0
    for (state, label), counts in found.items():
        chances = plain.probabilities(state, label)
        assert set(counts) <= set(chances)
        if len(chances) > 1 and sum(counts.values()) >= 100:
            tested += 1
            assert fits(counts, chances), (state, label)
    assert tested >= 5


def test_the_share_of_unsafe_runs_is_the_probability() -> None:
    """From x=0 to unsafe 9 or goal 8, with detours over 1: the exact probability by hand."""
    document = model(
        [X],
        [
            edge(
                "a",
                op("=", "x", 0),
                destination({"x": 9}, 0.1),
                destination({"x": 8}, 0.3),
                destination({"x": 1}, 0.6),
            ),
            edge("a", op("=", "x", 1), destination({"x": 0}, 0.5), destination({"x": 9}, 0.5)),
        ],
        actions="a",
        prop=pa(unsafe=op("=", "x", 9), goal=op("=", "x", 8)),
    )
    # p0 = 0.1 + 0.6 p1, p1 = 0.5 p0 + 0.5, so p0 = 0.4 / 0.7.
    exact = 0.4 / 0.7
    task = jani.task(document)
    system = System(jani_transitions(task), load_policy("first", task).policy)
    report = fuzz(system, FuzzSettings("probable", 1, runs=5000), seed=3)
    assert binomial_tail(report.ends["unsafe"], 5000, exact) > LEVEL
    assert report.ends["unsafe"] + report.ends["exhausted"] == 5000


def test_a_product_of_probabilities_may_underflow() -> None:
    """Two automata that each move with probability 1e-200: no number is small enough for both at once."""
    automata = [
        automaton(
            name, [edge("a", True, destination({}, 1.0), destination({f"x{name}": 1}, 1e-200))]
        )
        for name in "mn"
    ]
    elements = [{"automaton": "m"}, {"automaton": "n"}]
    document = model(
        [variable(f"x{name}", bounded(0, 1), 0) for name in "mn"],
        automata,
        actions="a",
        prop=pa(unsafe=op("∧", op("=", "xm", 1), op("=", "xn", 1))),
        system={"elements": elements, "syncs": [{"synchronise": ["a", "a"], "result": "a"}]},
    )
    task = jani.task(document)
    system = System(jani_transitions(task), load_policy("first", task).policy)
    report = fuzz(system, FuzzSettings("probable", 1, runs=5, max_steps=5), seed=3)
    assert report.ends["step limit"] == 5


class Chances:
    """A random system with random probabilities, as a model in Python."""

    def __init__(self, world: Explicit, random: Random) -> None:
        self.world = world
        self.chances: dict[tuple[int, int], dict[int, float]] = {}
        for s, actions in enumerate(world.actions):
            for label, targets in actions:
                weights = {t: random.choice([1, 2, 7]) for t in dict.fromkeys(targets)}
                total = sum(weights.values())
                self.chances[s, label] = {t: w / total for t, w in weights.items()}

    def applicable(self, state: int) -> list[int]:
        return [label for label, _ in self.world.actions[state]]

    def outcomes(self, state: int, label: int) -> list[int]:
        return self.world.outcomes(state, label)

    def probabilities(self, state: int, label: int) -> dict[int, float]:
        return self.chances[state, label]

    def is_goal(self, state: int) -> bool:
        return bool(self.world.flags[state] & GOAL)

    def is_unsafe(self, state: int) -> bool:
        return bool(self.world.flags[state] & UNSAFE)

    def unsafe_within(self, steps: int) -> list[float]:
        """The exact probability that the policy gets unsafe within a number of steps."""
        world = self.world
        found = [float(bool(flags & UNSAFE)) for flags in world.flags]
        for _ in range(steps):
            found = [
                before
                if world.is_terminal(s) or world.policy[s] < 0
                else math.fsum(p * found[t] for t, p in self.chances[s, world.policy[s]].items())
                for s, before in enumerate(found)
            ]
        return found


def test_unsafe_runs_of_random_systems_are_as_likely_as_they_should_be() -> None:
    runs, steps, worlds = 300, 15, 120
    tested = 0
    for seed in range(worlds):
        random = Random(seed)
        world = random_world(random, stops=seed % 4 == 0)
        model_ = Chances(world, random)
        chances = model_.unsafe_within(steps)
        start = next((s for s, p in enumerate(chances) if 0 < p < 1), 0)
        exact = chances[start]
        policy = dict(enumerate(world.policy))
        system = System(model_, policy, initial=[start], inapplicable="stop_safe")
        settings = FuzzSettings("probable", 1, max_steps=steps)
        found = settings.fuzzer(system).runs(seed, 0, runs)
        for run in found[:20]:
            states, labels = system.states(run.states), system.labels(run.labels)
            check_policy_run(world, list(states), list(labels))
            assert bool(world.flags[states[-1]] & UNSAFE) == (run.end == "unsafe")
        unsafe = sum(run.end == "unsafe" for run in found)
        if 0 < exact < 1:
            tested += 1
            assert binomial_tail(unsafe, runs, exact) > LEVEL / worlds, seed
        else:
            assert unsafe == runs * exact
    assert tested > 20


class Coin:
    """A model in Python with probabilities."""

    def applicable(self, state: int) -> list[str]:
        return ["flip"] if state == 0 else []

    def outcomes(self, state: int, label: str) -> list[int]:  # noqa: ARG002
        return [1, 2]

    def probabilities(self, state: int, label: str) -> dict[int, float]:  # noqa: ARG002
        return {1: 0.2, 2: 0.8}

    def is_goal(self, state: int) -> bool:
        return state == 1

    def is_unsafe(self, state: int) -> bool:
        return state == 2


def test_outcomes_of_python_models_are_drawn_by_their_probabilities() -> None:
    system = System(Coin(), "first", initial=[0])
    report = fuzz(system, FuzzSettings("probable", 1, runs=2000), seed=1)
    assert binomial_tail(report.ends["unsafe"], 2000, 0.8) > LEVEL

    class Unfair(Coin):
        probabilities = None  # type: ignore[assignment]

    with pytest.raises(UsageError, match="no probabilities"):
        fuzz(System(Unfair(), "first", initial=[0]), FuzzSettings("probable", 1))
    with pytest.raises(UsageError, match="lookahead"):
        FuzzSettings("probable")
