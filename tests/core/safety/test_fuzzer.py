"""The fuzzer's runs are runs of the policy and a function of seed and number; the envelope contains all runs."""

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
    (select, lookahead, stop, layers)
    for select, lookahead, stop, layers in product(
        ("greedy", "sample", "uniform"), (1, 2, None), (True, False), ("new", "all")
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
    all_layers: bool = False,
    plain: bool = False,
) -> SafetyFuzzer:
    return SafetyFuzzer(
        system,
        select=select,
        lookahead=lookahead,
        lookahead_cap=cap,
        max_steps=max_steps,
        stop_on_revisit=stop,
        all_layers=all_layers,
        plain_distance=plain,
    )


@pytest.mark.parametrize(("select", "lookahead", "stop", "layers"), CONFIGURATIONS)
def test_runs_are_valid(select: str, lookahead: int | None, stop: bool, layers: str) -> None:
    ends: Counter[str] = Counter()
    for seed in range(120):
        world = random_world(Random(seed), stops=seed % 4 == 0)
        world.initial = list(range(len(world)))
        system = world.system()
        everything = layers == "all"
        found = fuzzer(system, select, lookahead, stop=stop, cap=200, all_layers=everything)
        for run in found.runs(seed, 0, 10):
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
                assert run.states[-1] in run.states[:-1]
            if run.end == "step limit":
                assert len(run) >= 30
    assert ends["unsafe"] > 100
    # With all states in a layer, a cycle never runs out of them.
    assert ends["exhausted"] > (20 if everything else 100)
    assert ends["revisit"] > 10
    if not stop and select != "greedy":
        assert ends["step limit"] > 10


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


def test_a_run_that_alternates_between_two_states_ends() -> None:
    world = Explicit([0, 0], [[(0, [1])], [(0, [0])]], [0, 0])
    assert fuzzer(world.system(), stop=True).runs(0, 0, 1)[0].states == [0, 1, 0]
    # Nothing is left to chance there, so it would go round for ever.
    round_and_round = fuzzer(world.system(), lookahead=1, stop=False, max_steps=7).runs(0, 0, 1)[0]
    assert (round_and_round.end, round_and_round.states) == ("revisit", [0, 1, 0])
    limited = fuzzer(world.system(), lookahead=1, stop=False, max_steps=1).runs(0, 0, 1)[0]
    assert (limited.end, len(limited)) == ("step limit", 1)
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


def test_an_envelope_that_reaches_a_limit_gives_no_answer() -> None:
    n = 100
    actions = [[(0, [(s + 1) % n])] for s in range(n)]
    system = SafetySystem(Explicit([0] * n, actions, [0] * n).transitions(), FirstLabel())
    cut = explore_envelope(system, [0], expansions=50)
    assert (cut.is_safe, cut.states, cut.limit) == (False, [], "expansions")
    assert explore_envelope(system, [0]).is_safe


@pytest.mark.parametrize("select", ["greedy", "sample", "uniform"])
def test_a_run_that_goes_on_finds_what_lies_behind_a_choice(select: str) -> None:
    """From 0 either back over 1 or into an unsafe state, both looking alike: whoever goes on gets there in the end."""
    world = Explicit(
        [0, 0, 0, UNSAFE],
        [[(0, [1, 2])], [(0, [0])], [(0, [3])], []],
        [0] * 4,
        [0],
        [1.0, 1.0, 1.0, 0.0],
    )
    for stop, least, most in ((True, 20, 80), (False, 100, 100)):
        found = fuzzer(world.system(), select, 1, stop=stop, max_steps=1000).runs(2, 0, 100)
        unsafe = sum(run.end == "unsafe" for run in found)
        assert least <= unsafe <= most
        assert all(run.end == "revisit" for run in found if run.end != "unsafe")


def reference_end(world: Explicit, select: str, seed: int, number: int, steps: int) -> str:
    """A run of one step at a time, as Algorithm 1 says, that neither stops at a revisit nor notices a circle."""
    random = CounterRandom(seed, number)
    here = world.initial[random.below(len(world.initial))]
    for _ in range(steps):
        if world.flags[here] & UNSAFE:
            return "unsafe"
        label = world.policy[here]
        outcomes = (
            [] if world.is_terminal(here) else list(dict.fromkeys(world.outcomes(here, label)))
        )
        fresh = [t for t in outcomes if t != here]
        unsafe = [t for t in fresh if world.flags[t] & UNSAFE]
        if unsafe:
            return "unsafe"
        if not fresh:
            return "exhausted"
        if select == "greedy":
            least = min(world.distances[t] for t in fresh)
            fresh = [t for t in fresh if world.distances[t] == least]
        here = fresh[random.below(len(fresh))]
    return "step limit"


@pytest.mark.parametrize("select", ["greedy", "uniform"])
def test_ending_a_circle_loses_no_unsafe_run(select: str) -> None:
    """Against a plain loop with the same random numbers: the same runs get unsafe, and circles are those that would
    have gone on to the limit."""
    circles = 0
    for seed in range(200):
        world = random_world(Random(seed), stops=seed % 4 == 0)
        world.initial = list(range(len(world)))
        found = fuzzer(world.system(), select, 1, stop=False, max_steps=200).runs(seed, 0, 10)
        for number, run in enumerate(found):
            expected = reference_end(world, select, seed, number, 200)
            if run.end == "revisit":
                circles += 1
                assert expected == "step limit"
            else:
                assert run.end == expected
    assert circles > 100


def test_layers_as_algorithm_1_defines_them() -> None:
    """Algorithm 1 reads: the states d steps away, also those that are nearer. In two steps from 0 that is 0 itself and
    2; ours leaves 0 out, and goes to 2 for certain."""
    world = Explicit(
        [0, 0, 0, GOAL],
        [[(0, [1])], [(0, [0, 2])], [(0, [3])], []],
        [0] * 4,
        [0],
        [1.0, 5.0, 9.0, 9.0],
    )
    # Both see 1 alone after one step, and go there; from 1 the layers are the same as well.
    plateau = Explicit(
        [0, 0, 0, 0, GOAL],
        [[(0, [1, 2])], [(0, [0, 3])], [(0, [0, 3])], [(0, [4])], []],
        [0] * 5,
        [0],
        [1.0, 5.0, 5.0, 9.0, 9.0],
    )
    for all_layers, second in ((False, 3), (True, 0)):
        runs = fuzzer(plateau.system(), stop=True, all_layers=all_layers).runs(0, 0, 20)
        assert {run.states[2] for run in runs} == {second}
    ours = fuzzer(world.system(), stop=True).runs(0, 0, 1)[0]
    letter = fuzzer(world.system(), stop=True, all_layers=True).runs(0, 0, 1)[0]
    assert ours.states[:2] == letter.states[:2] == [0, 1]


def test_sampling_counts_a_state_of_several_layers_once() -> None:
    """0 leads to 1 and 2, both back to 0: with all states in a layer, the second one is 0 alone, which ends the
    lookahead. Each of the three is as likely as the others, although 0 is there by two ways."""
    world = Explicit(
        [0, 0, 0], [[(0, [1, 2])], [(0, [0])], [(0, [0])]], [0] * 3, [0], [1.0, 1.0, 1.0]
    )
    found = fuzzer(world.system(), "sample", stop=True, all_layers=True).runs(0, 0, 3000)
    first = Counter((run.states[1], len(run.states) > 2 and run.states[2] == 0) for run in found)
    assert sum(first.values()) == 3000
    assert all(run.end == "revisit" for run in found)


def test_the_plain_distance_leaves_the_models_own_out() -> None:
    world = star([2.0, 1.0, 3.0])
    guided = fuzzer(world.system(), lookahead=1).runs(0, 0, 300)
    assert {run.states[1] for run in guided} == {2}
    plain = Counter(
        run.states[1] for run in fuzzer(world.system(), lookahead=1, plain=True).runs(0, 0, 300)
    )
    assert set(plain) == {1, 2, 3}
    assert min(plain.values()) > 60


def test_probable_needs_probabilities() -> None:
    with pytest.raises(ValueError, match="no probabilities"):
        fuzzer(star([1.0]).system(), "probable", 1)
