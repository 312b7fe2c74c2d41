"""Risks of JANI models: intervals, limits, samples, faults, and input that has no risk."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.binomial import clopper_pearson
from misstep.errors import InputFormatError, UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.safety.jani import system_of
from misstep.safety.risk import Interval, RiskAnalysis, RiskSettings, Sample, risk, sample_risk
from misstep.safety.risk.intervals import mean
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from support.risk_games import (
    GOAL,
    INNER,
    UNSAFE,
    SmallGame,
    as_jani,
    exact_values,
    random_game,
    write,
)

TWO_WAYS = SmallGame(  # a0 risks a half, a1 a tenth; from 1 on nothing can be chosen
    [INNER, INNER, UNSAFE, GOAL],
    [
        [[[(1, 0.5), (2, 0.25), (3, 0.25)]], [[(2, 0.1), (3, 0.9)]]],
        [[[(2, 0.5), (3, 0.5)]]],
        [],
        [],
    ],
)


def task_of(game: SmallGame, folder: Path) -> JaniTask:
    return load_jani(write(as_jani(game), folder / "m.jani"))


def analysed(task: JaniTask, policy: str = "first", **settings: Any) -> RiskAnalysis:
    analysis = RiskAnalysis(task, load_policy(policy, task), RiskSettings(**settings))
    for _ in analysis.stages():
        pass
    return analysis


def near(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high and interval.width < 1e-8


def test_the_risk_of_a_policy_and_the_least_one(tmp_path: Path) -> None:
    report = risk(task := task_of(TWO_WAYS, tmp_path), load_policy("first", task))
    (start,) = report.starts
    assert near(start.policy, 0.5)
    assert near(start.least, 0.1)
    assert start.size == pytest.approx(0.4)
    assert report.complete
    assert report.avoidable == 1
    (fault,) = report.faults
    assert (fault.state, fault.label, fault.better) == ((0,), "a0", "a1")
    assert fault.added == pytest.approx(0.4)
    assert fault.share == pytest.approx(report.size)
    assert report.likely is not None
    assert report.likely.states == ((0,), (2,))  # as likely as the one through 1, and shorter
    assert report.likely.probability == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0, 0.0, "0"),
        (1.0, 1.0, "1"),
        (0.5, 0.5 + 1e-12, "0.500000000"),
        (0.1, 0.2, "[0.100000, 0.200000]"),
        (0.1234567, 0.7654321, "[0.123456, 0.765433]"),
        (1e-7, 2e-7, "[0.000000, 0.000001]"),
        (1e-12, 2e-12, "[0.000000000, 0.000000001]"),
        (1 - 1e-12, 1.0, "[0.999999999, 1.000000000]"),
        (1 - 1e-9, 1 - 1e-9, "[0.999999999, 0.999999999]"),
    ],
)
def test_a_small_risk_does_not_look_like_none(low: float, high: float, text: str) -> None:
    assert str(Interval(low, high)) == text


def test_a_mean_is_never_rounded_inward() -> None:
    almost = [Interval(1 - 2**-53, 1.0), Interval(1.0, 1.0)]
    assert Fraction(mean(almost).low) <= 1 - Fraction(1, 2**54)
    least = [Interval(0.0, 5e-324), Interval(0.0, 0.0)]
    assert mean(least).high > 0
    assert mean([Interval(1.0, 1.0)] * 3) == Interval(1.0, 1.0)
    assert mean([Interval(0.0, 0.0)] * 3) == Interval(0.0, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_models_have_the_values_of_their_games(seed: int, tmp_path: Path) -> None:
    """Also with several edges of a label, of which the worst is taken."""
    game = random_game(seed, inner=4, labels=2, edges=2)
    analysis = analysed(task_of(game, tmp_path))
    least, own = exact_values(game), exact_values(game.under([0] * len(game.kinds)))
    found = analysis.report().starts[0]
    assert Fraction(found.least.low) <= least[0] <= Fraction(found.least.high)
    assert Fraction(found.policy.low) <= own[0] <= Fraction(found.policy.high)
    assert max(found.least.width, found.policy.width) <= 1e-7


def test_the_risk_within_a_number_of_steps(tmp_path: Path) -> None:
    task = task_of(TWO_WAYS, tmp_path)
    for steps, own, least in ((0, 0.0, 0.0), (1, 0.25, 0.1), (2, 0.5, 0.1)):
        (start,) = analysed(task, steps=steps).report().starts
        assert near(start.policy, own)
        assert near(start.least, least)


def test_outcomes_of_probability_zero_do_not_exist(tmp_path: Path) -> None:
    model = as_jani(TWO_WAYS)
    edge = model["automata"][0]["edges"][0]
    edge["destinations"][1]["probability"] = {"exp": 0.0}
    edge["destinations"][2]["probability"] = {"exp": 0.5}
    (start,) = analysed(load_jani(write(model, tmp_path / "m.jani"))).report().starts
    assert near(start.policy, 0.25)


@pytest.mark.parametrize(
    ("shares", "message"),
    [((0.5, 0.25, 0.3), "sum to"), ((1.25, -0.5, 0.25), "negative")],
)
def test_numbers_that_are_not_probabilities_are_refused(
    shares: tuple[float, ...], message: str, tmp_path: Path
) -> None:
    model = as_jani(TWO_WAYS)
    for place, share in zip(model["automata"][0]["edges"][0]["destinations"], shares, strict=True):
        place["probability"] = {"exp": share}
    with pytest.raises(InputFormatError, match=message):
        analysed(load_jani(write(model, tmp_path / "m.jani")))


def test_probabilities_that_do_not_sum_to_one_in_some_state_are_refused(tmp_path: Path) -> None:
    """A probability that depends on the state is checked where it is met."""
    model = as_jani(TWO_WAYS)
    places = model["automata"][0]["edges"][0]["destinations"]
    places[0]["probability"] = {"exp": {"op": "+", "left": 0.75, "right": "s"}}
    with pytest.raises(InputFormatError, match="sum to"):
        analysed(load_jani(write(model, tmp_path / "m.jani")))


def test_a_model_without_probabilities_is_refused(tmp_path: Path) -> None:
    model = {**as_jani(TWO_WAYS), "type": "lts"}
    for edge in model["automata"][0]["edges"]:
        del edge["destinations"][1:]
        del edge["destinations"][0]["probability"]
    task = load_jani(write(model, tmp_path / "m.jani"))
    with pytest.raises(UnsupportedError, match=r"lts.*has no probabilities") as error:
        analysed(task)
    assert "misstep census" in str(error.value)


def test_wrong_settings_are_refused() -> None:
    for wrong in (
        {"steps": -1},
        {"precision": 0.0},
        {"level": 1.0},
        {"max_states": 0},
        {"runs": -1},
    ):
        with pytest.raises(UsageError):
            RiskSettings(**wrong)


# -- models that are too large --------------------------------------------------------------------


def test_what_is_not_explored_widens_the_interval(tmp_path: Path) -> None:
    task = task_of(TWO_WAYS, tmp_path)
    report = analysed(task, max_states=1, runs=2_000).report()
    (start,) = report.starts
    assert start.policy.low == pytest.approx(0.25)
    assert start.policy.high == pytest.approx(0.75)
    assert not report.complete
    assert any("more states than were explored" in text for text in report.remarks)
    assert report.sample is not None
    assert report.sample.interval.low < 0.5 < report.sample.interval.high
    assert start.sampled_size is not None


def test_infinite_models_are_sampled() -> None:
    """With real variables there are infinitely many states."""
    task = load_jani(generate_model("bouncing-ball", horizon=40))
    report = analysed(task, max_states=300, runs=200, max_steps=50).report()
    assert not report.complete
    assert report.sample is not None
    assert 0 <= report.sample.interval.low <= report.sample.interval.high <= 1
    for start in report.starts:
        assert 0 <= start.policy.low <= start.policy.high <= 1


def test_cut_runs_count_for_neither_side() -> None:
    own = Sample(100, 10, 20, 0.95, 0, 5)
    assert own.interval.low == clopper_pearson(10, 100, 0.95)[0]
    assert own.interval.high == clopper_pearson(30, 100, 0.95)[1]


def test_a_choice_of_the_environment_is_not_sampled_away(tmp_path: Path) -> None:
    """The sample draws among edges, and the risk is that of the worst one."""
    game = SmallGame([INNER, UNSAFE, GOAL], [[[[(1, 1.0)], [(2, 1.0)]]], [], []])
    task = task_of(game, tmp_path)
    (start,) = analysed(task).report().starts
    assert near(start.policy, 1.0)
    system = system_of(task, load_policy("first", task))
    own = sample_risk(system, [(0,)], runs=500, level=0.99, seed=0, max_steps=10)
    assert own.several_edges
    assert own.interval.high == 1.0
    assert own.interval.low < 0.6


def test_samples_are_a_function_of_the_seed(tmp_path: Path) -> None:
    task = task_of(TWO_WAYS, tmp_path)
    system = system_of(task, load_policy("first", task))
    drawn = [
        sample_risk(system, [(0,)], runs=300, level=0.99, seed=seed, max_steps=10).unsafe
        for seed in (1, 1, 2, 3)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_wrong_sizes_and_levels_of_samples_are_refused(tmp_path: Path) -> None:
    system = system_of(task := task_of(TWO_WAYS, tmp_path), load_policy("first", task))
    for wrong in ({"runs": 0}, {"level": 1.5}):
        asked: dict[str, Any] = {"runs": 10, "level": 0.9, **wrong}
        with pytest.raises(UsageError):
            sample_risk(system, [(0,)], seed=0, max_steps=10, **asked)


@pytest.mark.soundness
def test_sampled_intervals_hold_as_often_as_they_say(tmp_path: Path) -> None:
    """10,000 samples of a risk that is known exactly, at three levels, drawn by the sampler itself."""
    task = task_of(TWO_WAYS, tmp_path)
    system = system_of(task, load_policy("first", task))
    repetitions, runs = 10_000, 60
    counts = np.array(
        [
            sample_risk(system, [(0,)], runs=runs, level=0.9, seed=seed, max_steps=10).unsafe
            for seed in range(repetitions)
        ]
    )
    for level in (0.8, 0.95, 0.99):
        ends = np.array([clopper_pearson(k, runs, level) for k in range(runs + 1)])
        held = (ends[counts, 0] <= 0.5) & (ends[counts, 1] >= 0.5)
        # Four standard errors below the level is still a fair draw.
        assert held.mean() >= level - 4 * (level * (1 - level) / repetitions) ** 0.5


@pytest.mark.soundness
@pytest.mark.parametrize("cut", [0.0, 0.1, 0.4])
def test_cut_runs_never_break_an_interval(cut: float) -> None:
    """Whatever cut runs would have done, the interval holds: 10,000 draws for each of five risks."""
    draw = np.random.default_rng(0)
    runs, level, repetitions = 50, 0.95, 10_000
    ends = np.array([clopper_pearson(k, runs, level) for k in range(runs + 1)])
    for truth in (0.01, 0.2, 0.5, 0.9, 1.0):
        unsafe = draw.binomial(runs, truth, repetitions)
        lost = draw.binomial(unsafe, cut), draw.binomial(runs - unsafe, cut)
        seen = unsafe - lost[0]
        held = (ends[seen, 0] <= truth) & (ends[seen + lost[0] + lost[1], 1] >= truth)
        assert held.mean() >= level - 4 * (level * (1 - level) / repetitions) ** 0.5


# -- other shapes of models -----------------------------------------------------------------------


def two_automata() -> dict[str, Any]:
    """Two coins are thrown together until one shows heads: both heads is unsafe."""
    fair = {"exp": {"op": "/", "left": 1, "right": 3}}
    other = {"exp": {"op": "/", "left": 2, "right": 3}}
    coin = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1}

    def automaton(name: str) -> dict[str, Any]:
        shown = [(other, 0), (fair, 1)]
        return {
            "name": name,
            "locations": [{"name": "l"}],
            "initial-locations": ["l"],
            "edges": [
                {
                    "location": "l",
                    "action": "throw",
                    "destinations": [
                        {
                            "location": "l",
                            "probability": share,
                            "assignments": [{"ref": name, "value": side}],
                        }
                        for share, side in shown
                    ],
                }
            ],
        }

    def heads(name: str) -> dict[str, Any]:
        return {"op": "=", "left": name, "right": 1}

    def condition(op: str) -> dict[str, Any]:
        return {"op": "state-condition", "exp": {"op": op, "left": heads("x"), "right": heads("y")}}

    return {
        "jani-version": 1,
        "name": "coins",
        "type": "mdp",
        "actions": [{"name": "throw"}],
        "variables": [{"name": name, "type": coin, "initial-value": 0} for name in "xy"],
        "automata": [automaton("x"), automaton("y")],
        "system": {
            "elements": [{"automaton": "x"}, {"automaton": "y"}],
            "syncs": [{"synchronise": ["throw", "throw"], "result": "throw"}],
        },
        "properties": [
            {
                "name": "safety",
                "expression": {
                    "op": "PA",
                    "reach": condition("\u2227"),
                    "objective": {"op": "objective", "goal": condition("\u2228")},
                },
            }
        ],
    }


def test_probabilities_of_automata_that_move_together_are_multiplied(tmp_path: Path) -> None:
    (start,) = analysed(load_jani(write(two_automata(), tmp_path / "m.jani"))).report().starts
    assert near(start.policy, 1 / 5)  # one ninth of five ninths
    assert near(start.least, 1 / 5)


def test_a_silent_edge_is_a_label_like_others(tmp_path: Path) -> None:
    model = as_jani(TWO_WAYS)
    for edge in model["automata"][0]["edges"]:
        if edge["action"] == "a1":
            del edge["action"]
    task = load_jani(write(model, tmp_path / "m.jani"), silent="as_action")
    (start,) = analysed(task).report().starts
    assert near(start.policy, 0.5)
    assert near(start.least, 0.1)
