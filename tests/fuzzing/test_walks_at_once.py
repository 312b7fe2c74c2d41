"""W walks at the same time: W = 1 is the papers' fuzzer, and other W agree with a plain loop."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from misstep.errors import UsageError
from misstep.fuzzing.fuzz import make_fuzzer
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.settings import Settings, preset
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from support.fuzzing import VARIANTS, InPython, naive_walks
from support.tasks import generated_task, small_task

SPEC = "noisy:0.1:3+heuristic:ff"
# Pools of the fuzzer before it knew of several walks, as `digest` has them.
RECORDED = {
    ("detour", "transport-2"): "f0971c89bfce071b",
    ("detour", "ferry-3"): "8174d6b90ce618c2",
    ("mixed", "transport-2"): "7aa4dbbe8b4d29ff",
    ("mixed", "ferry-3"): "44b9c4a418d1c8bc",
    ("novelty", "transport-2"): "eb6ffe421aeef558",
    ("novelty", "ferry-3"): "e390eaefd4d8a452",
    ("p22", "transport-2"): "fc6e78e569d6179c",
    ("p22", "ferry-3"): "aaa399f9d56a86b0",
}


def digest(pool: Pool) -> str:
    rows = [(e.state.values, e.reference, e.walk, e.iteration) for e in pool]
    counters = (pool.iterations, pool.duplicates, pool.rejected, pool.discarded)
    steps = (pool.walk_steps, pool.run_steps, pool.smoothed_at)
    return hashlib.sha256(repr((rows, counters, steps)).encode()).hexdigest()[:16]


def fuzzer_of(
    task: Task, settings: Settings, *, native: bool = False, pool: Pool | None = None
) -> Fuzzer:
    policy: Policy = load_policy(SPEC, task)
    runner = PolicyRunner(policy if native else InPython(policy))
    return make_fuzzer(task, runner, replace(settings, patience=300), 5, pool=pool)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["transport-2", "ferry-3"])
def test_one_walk_at_a_time_makes_the_pools_of_before(variant: str, name: str) -> None:
    fuzzer = fuzzer_of(small_task(name), VARIANTS[variant])
    assert digest(fuzzer.run()) == RECORDED[variant, name]


@pytest.mark.parametrize("walks", [2, 5, 16])
@pytest.mark.parametrize("variant", ["detour", "mixed"])
@pytest.mark.parametrize("name", ["transport-2", "ferry-3"])
def test_the_pool_is_that_of_a_plain_loop(walks: int, variant: str, name: str) -> None:
    task = small_task(name)
    settings = replace(VARIANTS[variant], walks=walks)
    pool = fuzzer_of(task, settings).run()
    twin = naive_walks(fuzzer_of(task, settings), pool.iterations)
    assert [(e.state, e.reference, e.walk, e.iteration) for e in pool] == twin
    assert digest(pool) != RECORDED[variant, name]


@pytest.mark.parametrize("walks", [1, 4, 40])
def test_the_plain_loop_knows_when_the_choice_is_smoothed(walks: int) -> None:
    task = small_task("ferry-3")
    settings = replace(VARIANTS["detour"], walks=walks)
    pool = fuzzer_of(task, settings).run()
    assert pool.smoothed_at is not None
    found_later = [entry for entry in pool if entry.iteration >= pool.smoothed_at]
    assert found_later  # so that the twin shows a share at the wrong iteration
    twin = naive_walks(fuzzer_of(task, settings), pool.iterations)
    assert [(e.state, e.reference, e.walk, e.iteration) for e in pool] == twin


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_pool_does_not_depend_on_who_is_asked_how(variant: str) -> None:
    task = small_task("transport-2")
    settings = replace(VARIANTS[variant], walks=16)
    together, native = fuzzer_of(task, settings), fuzzer_of(task, settings, native=True)
    assert together.ahead is not None
    assert native.ahead is None
    assert together.run() == native.run()


@pytest.mark.parametrize("stop", [1, 17, 40])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_fuzzer_that_goes_on_makes_the_same_pool(variant: str, stop: int) -> None:
    task = small_task("ferry-3")
    settings = replace(VARIANTS[variant], walks=8)
    whole = fuzzer_of(task, settings).run()
    first = fuzzer_of(task, settings)
    for _ in range(stop):
        assert first.step()
    assert fuzzer_of(task, settings, pool=first.pool).run() == whole


def test_a_smaller_pool_is_the_beginning_of_a_larger_one() -> None:
    task = small_task("transport-2")
    settings = replace(VARIANTS["detour"], walks=16)
    small = fuzzer_of(task, replace(settings, max_states=20)).run()
    large = fuzzer_of(task, settings).run()
    assert small.entries == large.entries[:20]


def test_fewer_batches_with_more_walks() -> None:
    task = generated_task("gripper", balls=8)

    def batches(walks: int) -> list[int]:
        policy = InPython(load_policy(SPEC, task))
        settings = preset("p24", max_states=200, walks=walks)
        make_fuzzer(task, PolicyRunner(policy), settings, 5).run()
        return policy.batches

    assert len(batches(16)) < len(batches(1))


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, 100_000, "many"])
def test_a_wrong_number_of_walks_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="walks is"):
        preset("p24", walks=wrong)


def test_the_preset_for_slow_policies() -> None:
    assert preset("slow") == preset("p24", walks=16)
