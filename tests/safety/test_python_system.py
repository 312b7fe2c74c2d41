"""Models and policies in Python run through the same code as native ones, with the same answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

import pytest

from misstep.errors import InputFormatError, ToolError, UsageError
from misstep.safety import (
    CONFIGURATIONS,
    Answer,
    Decider,
    FuzzSettings,
    System,
    analyse_all,
    envelope,
    fuzz,
    judge,
)
from support.safety import (
    GOAL,
    KINDS,
    UNSAFE,
    Explicit,
    is_safe,
    lift,
    random_world,
)


class Named:
    """An explicit system whose states are tuples and whose labels are words."""

    def __init__(self, world: Explicit) -> None:
        self.world = world

    def initial_states(self) -> list[tuple[str, int]]:
        return [("s", s) for s in self.world.initial]

    def applicable(self, state: tuple[str, int]) -> Iterable[str]:
        return (f"l{label}" for label, _ in self.world.actions[state[1]])

    def outcomes(self, state: tuple[str, int], label: str) -> set[tuple[str, int]]:
        return {("s", t) for t in self.world.outcomes(state[1], int(label[1:]))}

    def is_goal(self, state: tuple[str, int]) -> bool:
        return bool(self.world.flags[state[1]] & GOAL)

    def is_unsafe(self, state: tuple[str, int]) -> int:
        return self.world.flags[state[1]] & UNSAFE

    def distance(self, state: tuple[str, int]) -> float:
        return self.world.distances[state[1]]

    def policy(self, state: tuple[str, int]) -> str | None:
        label = self.world.policy[state[1]]
        return None if label < 0 else f"l{label}"


@pytest.mark.parametrize("kind", KINDS)
def test_python_models_get_the_same_answers_as_native_ones(kind: str) -> None:
    for seed in range(40):
        world = random_world(Random(seed), stops=seed % 3 == 0)
        decider = Decider(System(Named(world), inapplicable="stop_safe"), kind)
        for radius in (0, 1, math.inf):
            safe = is_safe(world, None if radius == math.inf else int(radius))
            for s in range(len(world)):
                answer = decider.decide(("s", s), radius)
                assert answer.answer is (Answer.SAFE if safe[s] else Answer.NOT_SAFE)
                if answer.is_safe:
                    assert all(
                        state[0] == "s" for state in decider.strategy(("s", s), radius).labels
                    )


def test_the_whole_pipeline_on_a_python_model() -> None:
    bugs = 0
    for seed in range(30):
        world = random_world(Random(seed))
        world.initial = list(range(len(world)))
        named, native = System(Named(world)), lift(world)
        reports = [
            fuzz(system, FuzzSettings("uniform", 1, runs=30, max_steps=20), seed=seed)
            for system in (named, native)
        ]
        assert reports[0].ends["unsafe"] + reports[0].ends["exhausted"] > 0
        assert reports[0].unsafe_starts == reports[1].unsafe_starts
        faults = analyse_all(Decider(named), reports[0].runs)
        for run in reports[0].runs:
            verdict = judge(Decider(named), run.states[0], run=run)
            assert verdict.is_bug == is_safe(world, None)[run.states[0][1]]
            bugs += verdict.is_bug
        assert {f.state for f in faults.faults} <= {("s", s) for s in range(len(world))}
    assert bugs > 20


def test_a_system_accepts_policies_of_all_kinds() -> None:
    world = Explicit([0, UNSAFE, GOAL], [[(0, [1]), (1, [2])], [], []], [0, 0, 0])
    model = Named(world)

    class Valued:
        def act(self, _: object) -> str:
            return "nonsense"

        def values(self, _: object) -> dict[str, float]:
            return {"l1": 1.0}

    class Batch:
        asked = 0

        def act(self, _: object) -> str:
            raise AssertionError("batches only")

        def act_batch(self, states: list[object]) -> list[str]:
            self.asked += len(states)
            return ["l0" for _ in states]

    for policy, label in (
        ("first", 0),
        ({("s", 0): "l1"}, 1),
        (lambda _: "l1", 1),
        (Valued(), 1),
        (None, 0),
    ):
        system = System(model, policy)
        found = system.native.decision(system.id(("s", 0)))
        assert found is not None
        assert system.label(found) == f"l{label}"
    explicit = System(world.transitions(), {0: 1})
    assert explicit.native.decision(0) == 1
    with pytest.raises(UsageError, match="3 is not a policy"):
        System(model, 3)  # type: ignore[arg-type]
    wide = Explicit([0] * 4, [[(0, [1, 2, 3])], *([(0, [s])] for s in (1, 2, 3))], [0] * 4)
    batch = Batch()
    system = System(Named(wide), batch)
    with pytest.raises(AssertionError, match="batches only"):
        envelope(system, [("s", 0)])
    assert envelope(system, [("s", 1), ("s", 2), ("s", 3)]).answer is Answer.SAFE
    assert batch.asked == 3


def test_errors_of_policies_are_reported() -> None:
    world = Explicit([0, GOAL], [[(0, [1])], []], [0, 0])
    system = System(Named(world), lambda _: "elsewhere")
    with pytest.raises(ToolError, match="'elsewhere', which does not apply, in state \\('s', 0\\)"):
        fuzz(system, FuzzSettings(runs=1))


def test_errors_of_models_are_reported() -> None:
    with pytest.raises(UsageError, match="dict is not a transition system"):
        System({}, "first")  # type: ignore[arg-type]

    class Broken(Named):
        def outcomes(self, state: tuple[str, int], label: str) -> set[tuple[str, int]]:  # noqa: ARG002
            return set()

    world = Explicit([0, GOAL], [[(0, [1])], []], [0, 0])
    for task in (lambda s: fuzz(s, FuzzSettings(runs=1)), lambda s: Decider(s).decide(("s", 0))):
        with pytest.raises(InputFormatError, match="label 'l0' has no outcome"):
            task(System(Broken(world)))

    class Unmeasured(Named):
        def distance(self, state: tuple[str, int]) -> float:  # noqa: ARG002
            return math.nan

    with pytest.raises(InputFormatError, match="the distance is not a number in state"):
        fuzz(System(Unmeasured(world)), FuzzSettings(runs=1))
    with pytest.raises(InputFormatError, match="no initial state"):
        fuzz(System(Named(world), initial=[]), FuzzSettings(runs=1))
    with pytest.raises(UsageError, match="initial states of its own"):
        System(world.transitions(), "first", initial=[0])
    with pytest.raises(UsageError, match="no state to start from"):
        fuzz(lift(world), starts=[])


@pytest.mark.parametrize(
    "wrong",
    [
        {"select": "best"},
        {"lookahead": 0},
        {"lookahead": 1.5},
        {"max_steps": 0},
        {"runs": True},
        {"lookahead_cap": -1},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        FuzzSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["dead_end", "inapplicable", "order"])
def test_wrong_rules_are_refused(rule: str) -> None:
    with pytest.raises(UsageError, match=f"{rule} is 'x'"):
        lift(Explicit([0], [[]], [-1]), **{rule: "x"})


def test_the_time_limit_ends_fuzzing() -> None:
    world = random_world(Random(8), 20, 20)
    cut = fuzz(lift(world), FuzzSettings(seconds=0.0))
    assert (cut.limit, sum(cut.ends.values())) == ("time", 0)
    assert fuzz(lift(world), FuzzSettings(seconds=600.0, runs=3)).limit is None


def test_configurations_of_the_paper() -> None:
    assert list(CONFIGURATIONS) == ["uniform-1", "greedy-1", "sample-1", "greedy-inf", "sample-inf"]
    world = random_world(Random(8), 20, 20)
    world.initial = list(range(20))
    for settings in CONFIGURATIONS.values():
        report = fuzz(lift(world), settings, seed=4)
        assert sum(report.ends.values()) == settings.runs
        assert len({run.states for run in report.runs}) == len(report.runs)
        assert report == fuzz(lift(world), settings, seed=4)
        assert all(len(run) > 0 for run in report.runs)
