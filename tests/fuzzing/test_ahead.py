"""Walks that are started ahead of their turn: larger batches, the same pools, and few unneeded questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from misstep.fuzzing import ahead
from misstep.fuzzing.fuzz import make_fuzzer
from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.settings import Settings, preset
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from support import fuzzing
from support.fuzzing import InPython
from support.tasks import small_task

SPEC = "noisy:0.1:3+heuristic:ff"
VARIANTS: dict[str, Settings] = {
    **fuzzing.VARIANTS,
    "p22 without filter": preset("p22", max_states=60, novelty=0),
}


def fuzzed(
    task: Task, settings: Settings, batch_size: int | None = None
) -> tuple[Fuzzer, list[int]]:
    policy = InPython(load_policy(SPEC, task))
    runner = PolicyRunner(policy, batch_size=batch_size)
    fuzzer = make_fuzzer(task, runner, replace(settings, patience=300), 5)
    fuzzer.run_initial_state()
    fuzzer.run()
    return fuzzer, policy.batches


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["transport-2", "ferry-3", "blocksworld-4"])
def test_the_pool_is_that_of_a_fuzzer_that_does_not_look_ahead(variant: str, name: str) -> None:
    task = small_task(name)
    alone, _ = fuzzed(task, VARIANTS[variant], 1)
    assert alone.ahead is None
    for batch_size in (None, 2, 10):
        other, batches = fuzzed(task, VARIANTS[variant], batch_size)
        assert other.ahead is not None
        assert other.pool == alone.pool
        assert max(batches) <= (batch_size or ahead.ENOUGH)


def test_batches_are_larger() -> None:
    task = small_task("transport-2")
    settings = preset("p24", max_states=100)
    _, single = fuzzed(task, settings, 1)
    _, batches = fuzzed(task, settings)
    assert len(batches) < len(single) / 4
    assert max(batches) == ahead.ENOUGH


@pytest.mark.parametrize("variant", VARIANTS)
def test_questions_in_vain_are_bounded_and_counted(variant: str) -> None:
    task = small_task("transport-2")
    settings = VARIANTS[variant]
    _, single = fuzzed(task, settings, 1)
    fuzzer, batches = fuzzed(task, settings)
    assert fuzzer.ahead is not None
    needed, asked = sum(single), sum(batches)
    allowed = min(ahead.ALLOWED_AT_ONCE, ahead.ALLOWED_FOR_STATE * settings.max_states)
    assert asked >= needed
    # The last batches may go beyond what is allowed, and the walks under way at the end are not counted.
    assert fuzzer.ahead.in_vain <= allowed + ahead.ALLOWED_SHARE * needed + ahead.ENOUGH
    assert asked - needed <= allowed + ahead.ALLOWED_SHARE * needed + 4 * ahead.ENOUGH


def test_nothing_is_asked_ahead_where_nothing_may_be_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "ALLOWED_FOR_STATE", 0)
    monkeypatch.setattr(ahead, "ALLOWED_SHARE", 0)
    task = small_task("transport-2")
    _, single = fuzzed(task, VARIANTS["detour"], 1)
    _, batches = fuzzed(task, VARIANTS["detour"])
    assert sum(batches) == sum(single)


def test_who_likes_batches() -> None:
    task = small_task("ferry-3")
    native = load_policy("heuristic:ff", task)
    foreign = InPython(native)
    assert not ahead.likes_batches(None)
    assert not ahead.likes_batches(PolicyRunner(native))
    assert ahead.likes_batches(PolicyRunner(foreign))
    assert not ahead.likes_batches(PolicyRunner(foreign, batch_size=1))
    foreign.batch_size = 1  # as language models have it
    assert not ahead.likes_batches(PolicyRunner(foreign))
    assert not ahead.likes_batches(PolicyRunner(foreign, batch_size=64))
