"""The fuzzer's runs are runs of the policy, a function of seed and number; the envelope is all of them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest

from misstep._core import (
    CounterRandom,
    FirstLabel,
    SafetyFuzzer,
    SafetySystem,
    explore_envelope,
)
from support.safety import (
    GOAL,
    UNSAFE,
    Explicit,
    check_policy_run,
    is_safe,
    policy_graph,
    random_world,
)

CONFIGURATIONS = [
    (select, lookahead, stop)
    for select, lookahead, stop in product(
        ("greedy", "sample", "uniform"), (1, 2, None), (True, False)
    )
]


def fuzzer(
    system: SafetySystem,
    select: str = "greedy",
    lookahead: int | None = None,
    *,
    cap: int = 1000,
    max_steps: int = 30,
    stop: bool = True,
) -> SafetyFuzzer:
    return SafetyFuzzer(
        system,
        select=select,
        lookahead=lookahead,
        lookahead_cap=cap,
        max_steps=max_steps,
        stop_on_revisit=stop,
    )


@pytest.mark.parametrize(("select", "lookahead", "stop"), CONFIGURATIONS)
def test_runs_are_valid(select: str, lookahead: int | None, stop: bool) -> None:
    ends: Counter[str] = Counter()
    for seed in range(120):
        world = random_world(Random(seed), stops=seed % 4 == 0)
        world.initial = list(range(len(world)))
        system = world.system()
        for run in fuzzer(system, select, lookahead, stop=stop).runs(seed, 0, 10):
            ends[run.end] += 1
            check_policy_run(world, run.states, run.labels)
            unsafe = [bool(world.flags[s] & UNSAFE) for s in run.states]
            assert not any(unsafe[:-1])
            assert unsafe[-1] == (run.end == "unsafe")
            if run.end == "exhausted" and lookahead is None:
                # It has seen everything that the policy can still get to.
                reached = policy_graph(world, run.states[-1])
                assert not any(world.flags[s] & UNSAFE for s in reached)
            if run.end == "revisit":
                assert stop
                assert run.states[-1] in run.states[:-1]
            if run.end == "step limit":
                assert len(run) >= 30
    assert ends["unsafe"] > 100
    assert ends["exhausted"] > 100
    assert ends["revisit" if stop else "step limit"] > 10


def test_deterministic_by_seed_and_number() -> None:
    world = random_world(Random(5), 25, 25)
    world.initial = list(range(25))

    def runs(seed: int, first: int, count: int) -> list[tuple[list[int], list[int], str]]:
        found = fuzzer(world.system(), "sample", 2, stop=False).runs(seed, first, count)
        return [(run.states, run.labels, run.end) for run in found]

    assert runs(1, 0, 20) == runs(1, 0, 7) + runs(1, 7, 13)
    assert runs(1, 0, 20) != runs(2, 0, 20)
    # What is known from other runs plays no role.
    warm = fuzzer(world.system(), "sample", 2, stop=False)
    warm.runs(9, 0, 50)
    assert [run.states for run in warm.runs(1, 0, 20)] == [states for states, *_ in runs(1, 0, 20)]


def star(distances: list[float]) -> Explicit:
    """0 leads to one of 1, 2, ..., which are goals."""
    n = len(distances)
    return Explicit(
        [0, *[GOAL] * n],
        [[(0, list(range(1, n + 1)))], *([] for _ in range(n))],
        [0] * (n + 1),
        [0],
        [9.0, *distances],
    )


def chosen(world: Explicit, select: str, runs: int) -> Counter[int]:
    found = fuzzer(world.system(), select, 1).runs(3, 0, runs)
    return Counter(run.states[1] for run in found)


def test_greedy_chooses_uniformly_among_the_closest() -> None:
    counts = chosen(star([2.0, 1.0, 1.0, 5.0]), "greedy", 2000)
    assert set(counts) == {2, 3}
    assert abs(counts[2] - 1000) < 150


def test_sampling_follows_the_distances() -> None:
    counts = chosen(star([1000.0, 1001.0, float("inf"), 1000.0]), "sample", 4000)
    assert set(counts) == {1, 2, 4}
    total = 2 + 2.718281828**-1
    for state, weight in ((1, 1.0), (4, 1.0), (2, 2.718281828**-1)):
        assert abs(counts[state] - 4000 * weight / total) < 200
    assert set(chosen(star([float("inf")] * 3), "sample", 100)) == {1, 2, 3}


def test_uniform_ignores_the_distances() -> None:
    counts = chosen(star([1.0, 50.0, 50.0]), "uniform", 3000)
    assert all(abs(counts[s] - 1000) < 150 for s in (1, 2, 3))


def test_lookahead_gets_over_a_plateau() -> None:
    """Two outcomes look alike; only one of them gets unsafe two steps later. With a lookahead greedy runs always
    find it."""
    world = Explicit(
        [0, 0, 0, 0, 0, UNSAFE, GOAL],
        [[(0, [1, 2])], [(0, [3])], [(0, [4])], [(0, [6])], [(0, [5])], [], []],
        [0] * 7,
        [0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0],
    )
    assert all(run.end == "unsafe" for run in fuzzer(world.system()).runs(0, 0, 50))
    short = Counter(run.end for run in fuzzer(world.system(), lookahead=1).runs(0, 0, 50))
    assert set(short) == {"unsafe", "exhausted"}
    capped = Counter(run.end for run in fuzzer(world.system(), cap=2).runs(0, 0, 50))
    assert set(capped) == {"unsafe", "exhausted"}
    for cap, cut in ((2, True), (1000, False)):
        runs = fuzzer(world.system(), cap=cap).runs(0, 0, 50)
        assert any(run.cut for run in runs) == cut


def test_two_states_in_turn() -> None:
    world = Explicit([0, 0], [[(0, [1])], [(0, [0])]], [0, 0])
    assert fuzzer(world.system(), stop=True).runs(0, 0, 1)[0].states == [0, 1, 0]
    limited = fuzzer(world.system(), lookahead=1, stop=False, max_steps=7).runs(0, 0, 1)[0]
    assert (limited.end, len(limited)) == ("step limit", 7)
    alone = Explicit([0], [[(0, [0])]], [0])
    assert fuzzer(alone.system(), stop=False).runs(0, 0, 1)[0].end == "exhausted"


def test_unsafe_start() -> None:
    world = Explicit([UNSAFE], [[]], [-1])
    run = fuzzer(world.system()).run(0, CounterRandom(0))
    assert (run.end, run.states, run.labels) == ("unsafe", [0], [])


def test_envelope_is_complete() -> None:
    """Against the distances in the policy graph: a shortest unsafe run, or a proof that there is none."""
    for seed in range(400):
        world = random_world(Random(seed), stops=seed % 4 == 0)
        safe = is_safe(world, 0)
        for s in range(len(world)):
            found = explore_envelope(world.system(), [s])
            reached = policy_graph(world, s)
            unsafe = [d for t, d in reached.items() if world.flags[t] & UNSAFE]
            assert found.is_safe == (not unsafe)
            if unsafe:
                assert len(found.labels) == min(unsafe)
                check_policy_run(world, found.states, found.labels)
                assert world.flags[found.states[-1]] & UNSAFE
            else:
                assert found.reached == len(reached)
            if seed % 4:  # where a policy stops it is safe, and yet no strategy
                assert found.is_safe == safe[s]
        many = explore_envelope(world.system(), range(len(world)))
        assert many.is_safe == (not any(f & UNSAFE for f in world.flags))


def test_envelope_limit() -> None:
    n = 100
    actions = [[(0, [(s + 1) % n])] for s in range(n)]
    system = SafetySystem(Explicit([0] * n, actions, [0] * n).transitions(), FirstLabel())
    cut = explore_envelope(system, [0], expansions=50)
    assert (cut.is_safe, cut.states, cut.limit) == (False, [], "expansions")
    assert explore_envelope(system, [0]).is_safe
