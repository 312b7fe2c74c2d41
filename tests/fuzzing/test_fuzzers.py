"""Pools are reproducible by replay and by seed, for all batches and after an interruption; fuzzers stop."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import pytest

from misstep._core import NoveltyStore, StateSpace
from misstep.errors import UsageError
from misstep.fuzzing.fuzz import fuzz, make_fuzzer
from misstep.fuzzing.fuzzer_2024 import Fuzzer2024
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.settings import PRESETS, Settings, preset
from misstep.policies.load import load_policy
from misstep.policies.policy import Answers, Candidates, States
from misstep.runs.outcomes import OUTCOMES
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from support.fuzzing import InPython
from support.tasks import CONDITIONAL, random_costs, rows, sas, small_task

VARIANTS: dict[str, Settings] = {
    "p22": preset("p22", max_states=40),
    "p22-filter-off": preset("p22", max_states=40, novelty=None),
    "p23": preset("p23", max_states=40),
    "p23-novelty": preset("p23", max_states=25, novelty=1),
    "p22-triples": preset("p22", max_states=40, novelty=3),
    "none": preset("p24", bias="none", max_states=40),
    "policy-cost": preset("p24", bias="policy-cost", max_states=40),
    "loop": preset("p24", bias="loop", max_states=40),
    "detour": preset("p24", max_states=40, state_budget=8, expansion_budget=20),
    "surface": preset("p24", bias="surface", max_states=40, novelty=2),
    "loop-h*": preset("p24", bias="loop", estimate="h*", max_states=40),
    "surface-h*": preset("p24", bias="surface", estimate="h*", max_states=40, dead_ends="exact"),
    "surface-searched": preset(
        "p24", bias="surface", estimate="h*", exact_states=10, estimate_evaluations=30
    ),
    "loop-searched": preset(
        "p24", bias="loop", estimate="h*", exact_states=10, state_budget=8, max_states=25
    ),
    "mixed": preset("p24", max_states=40, unbiased_share=0.5),
    "p22-mixed": preset("p22", max_states=40, unbiased_share=0.5),
    "detour-search": preset("p24", dead_ends="search", max_states=40, infinite_failures=False),
}
SPEC = "noisy:0.1:3+optimal"
QUICK: dict[str, Any] = {"patience": 300}


def pool_of(
    task: Task, settings: Settings, seed: int = 1, spec: str = SPEC, **options: Any
) -> Pool:
    return fuzz(task, PolicyRunner(load_policy(spec, task), **options), settings, seed)


@pytest.mark.parametrize("name", ["gripper-4", "spanner-3", "visitall-3x3", "floortile-2x2"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_walks_can_be_replayed(variant: str, name: str) -> None:
    task = random_costs(small_task(name), 2, (0, 1, 3))
    settings = replace(VARIANTS[variant], **QUICK)
    pool = pool_of(task, settings)
    assert len(pool) <= settings.max_states
    assert len(pool) == settings.max_states or pool.remarks
    assert len(pool) > 3 or settings.novelty
    assert len(set(pool.states)) == len(pool)
    assert pool[0].state == task.initial_state
    novelty = settings.novelty and NoveltyStore(task, settings.novelty)
    for index, entry in enumerate(pool):
        assert entry.reference < max(index, 1)
        assert len(entry.walk) <= settings.max_walk_length
        state = pool[entry.reference].state
        for op in entry.walk:
            assert op in task.applicable(state)
            state = task.apply(state, op)
        assert state == entry.state
        if settings.algorithm == "2024" and index > 0:
            assert not task.is_goal(state)
            assert task.applicable(state)
        if novelty:
            assert novelty.is_novel(state)
            novelty.insert(state)
    ended = pool.duplicates + pool.rejected + pool.discarded + len(pool) - 1
    assert ended >= pool.iterations if settings.algorithm == "2022" else ended == pool.iterations


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_pool_for_all_batches_and_for_native_policies(variant: str) -> None:
    task = small_task("transport-2")
    settings = replace(VARIANTS[variant], **QUICK)
    native = pool_of(task, settings)
    assert native != pool_of(task, settings, seed=2)
    for batch_size in (1, 7, 1000):
        policy = InPython(load_policy(SPEC, task))
        pool = fuzz(task, PolicyRunner(policy, batch_size=batch_size), settings, 1)
        assert pool == native
        assert not settings.needs_policy or max(policy.batches) <= batch_size
        if batch_size == 1000 and settings.needs_policy:
            assert max(policy.batches) > 1
    # Nor does it matter what the policy was asked before.
    runner = PolicyRunner(load_policy(SPEC, task))
    runner.run(StateSpace(task, [task.initial_state]).states(), None)
    assert fuzz(task, runner, settings, 1) == native


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["transport-2", "floortile-2x2"])
def test_same_pool_after_an_interruption(variant: str, name: str) -> None:
    task = small_task(name)
    settings = replace(VARIANTS[variant], **QUICK)
    whole = pool_of(task, settings)
    for stop in (0, 1, 17, whole.iterations - 1):
        first = make_fuzzer(task, PolicyRunner(load_policy(SPEC, task)), settings, 1)
        for _ in range(stop):
            assert first.step()
        saved = copy.deepcopy(first.pool)
        second = make_fuzzer(task, PolicyRunner(load_policy(SPEC, task)), settings, 1, pool=saved)
        assert second.run() == whole


@pytest.mark.parametrize("variant", VARIANTS)
def test_entries_alone_are_enough_to_go_on(variant: str) -> None:
    """That is what a campaign stores; whether the choice was smoothed has to be seen from them."""
    task = small_task("miconic-3")
    settings = replace(VARIANTS[variant], max_states=10_000, patience=60)
    whole = pool_of(task, settings)
    assert (whole.smoothed_at is not None) == settings.needs_policy
    ends = [e.iteration for e in whole] + [whole.iterations]
    places = [k for k in range(1, len(whole) + 1) if ends[k - 1] != ends[k]]  # whole iterations
    for k in places[:: 1 + len(places) // 12]:
        saved = Pool(whole.entries[:k], iterations=ends[k - 1] + 1)
        policy = load_policy(SPEC, task)
        resumed = make_fuzzer(task, PolicyRunner(policy), settings, 1, pool=saved).run()
        assert resumed.entries == whole.entries
        assert resumed.smoothed_at == whole.smoothed_at
        assert without_count(resumed) == without_count(whole)


def without_count(pool: Pool) -> list[str]:
    """Entries do not say how many weights rested on searches that were cut; that is counted anew."""
    return [remark for remark in pool.remarks if "cut searches" not in remark]


class Nervous(InPython):
    """Raises Ctrl-C at its n-th call."""

    calls_left = 0

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return super().decide(states, candidates)


@pytest.mark.parametrize("variant", ["p22", "p22-filter-off", "detour", "surface"])
def test_an_interrupted_iteration_leaves_no_trace(variant: str) -> None:
    task = small_task("transport-2")
    settings = replace(VARIANTS[variant], **QUICK)
    whole = pool_of(task, settings)
    interruptions = 0
    for calls in range(1, 40, 3):
        policy = Nervous(load_policy(SPEC, task))
        policy.calls_left = calls
        fuzzer = make_fuzzer(task, PolicyRunner(policy, batch_size=3), settings, 1)
        try:
            fuzzer.run()
        except KeyboardInterrupt:
            interruptions += 1
        assert fuzzer.run() == whole
    assert interruptions > 5


@pytest.mark.parametrize("bias", ["loop", "detour", "surface"])
def test_the_fast_biases_give_the_pool_of_the_slow_ones(bias: str) -> None:
    task = small_task("ferry-3")
    settings = preset("p24", bias=bias, max_states=30, patience=300)
    pools = [
        Fuzzer2024(
            task, PolicyRunner(load_policy("heuristic:ff", task)), settings, 4, naive=naive
        ).run()
        for naive in (False, True)
    ]
    assert pools[0] == pools[1]


def test_p22_puts_failures_into_the_pool_and_walks_around_them() -> None:
    task = small_task("blocksworld-4")
    runner = PolicyRunner(load_policy("noisy:0.2:3+optimal", task))
    pool = fuzz(task, runner, preset("p22", novelty=None, max_states=60, min_weight=0.0), 1)
    failing = {
        state for state in pool.states if runner.trace(state, 1000).outcome not in ("goal", "cut")
    }
    assert failing
    for entry in pool:
        state = pool[entry.reference].state
        for op in entry.walk[:-1]:
            state = task.apply(state, op)
            assert runner.trace(state, 1000).outcome in ("goal", "cut")


def test_walks_are_drawn_into_failures() -> None:
    """P24: a failing successor weighs infinitely, so each step goes to one if there is one within the budget."""
    task = small_task("gripper-4")
    runner = PolicyRunner(load_policy("noisy:0.05:3+optimal", task))
    settings = preset("p24", bias="policy-cost", max_states=40, min_weight=0.0, patience=300)
    failed = OUTCOMES.index("loop")

    def share(pool: Pool) -> float:
        ends = runner.run(rows(pool.states))
        return float((ends.outcomes == failed).mean())

    assert share(fuzz(task, runner, settings, 1)) > share(
        fuzz(task, runner, replace(settings, bias="none"), 1)
    )


@pytest.mark.parametrize("paper", ["p22", "p24"])
def test_a_share_of_the_walks_ignores_the_bias(paper: str) -> None:
    """With all of them, no policy is asked; with a part, fewer of its steps are looked at than with none."""
    task = small_task("transport-2")
    settings = preset(paper, max_states=40, patience=300)
    steps = [
        pool_of(task, replace(settings, unbiased_share=share)).run_steps for share in (0, 0.5, 1)
    ]
    assert steps[0] > steps[1] > steps[2] == 0


# -- fuzzers that run dry -------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_states_than_there_are(variant: str) -> None:
    task = small_task("gripper-4")
    patience = 5000 if variant == "none" else 400
    settings = replace(VARIANTS[variant], max_states=1_000_000, patience=patience)
    space = StateSpace(task, [task.initial_state])
    pool = pool_of(task, settings)
    assert len(pool) <= len(space)
    assert f"no new state in {patience} iterations in a row" in pool.remarks[-1]
    assert "stopped" in pool.remarks[-1]
    assert (pool.smoothed_at is not None) == settings.needs_policy
    assert pool.iterations < patience * (len(pool) + 2)
    if variant == "none":  # everything but the goals
        assert len(pool) == len(space) - int(space.is_goal.sum())


@pytest.mark.parametrize("name", ["miconic-3", "gripper-4"])
def test_smoothing_finds_what_weights_of_zero_hide(name: str) -> None:
    task = small_task(name)
    settings = preset("p24", patience=1000, max_states=10_000)
    sharp, smooth = (
        pool_of(task, replace(settings, min_weight=w), spec="optimal") for w in (0.0, 0.1)
    )
    assert sharp.smoothed_at is None
    assert smooth.smoothed_at == sharp.iterations
    assert smooth.entries[: len(sharp)] == sharp.entries
    assert len(smooth) > 1.2 * len(sharp)
    assert "10% of the choices are uniform" in smooth.remarks[0]


def test_the_loop_bias_where_there_is_no_way_back() -> None:
    task = small_task("spanner-3")
    settings = preset("p24", bias="loop", max_states=10, patience=100)
    stopped = pool_of(task, replace(settings, min_weight=0.0), spec="optimal")
    assert len(stopped) == 1
    assert stopped.discarded == stopped.iterations == 100
    assert len(pool_of(task, settings, spec="optimal")) == 10


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_to_walk(variant: str) -> None:
    settings = replace(VARIANTS[variant], patience=50)
    solved = Task(sas([2], [1], [(0, 1)], ["0\n1\n0 0 -1 0\n1"]).encode())
    pool = pool_of(solved, settings, spec="first")
    assert (len(pool), pool.iterations) == (1, 0)
    assert "the initial state is a goal" in pool.remarks[0]
    empty = Task(sas([2], [0], [(0, 1)], []).encode())
    pool = pool_of(empty, settings, spec="first")
    assert (len(pool), pool.iterations) == (1, 0)
    assert "no operators" in pool.remarks[0]
    # The only operator leads to the goal, or nowhere.
    for effect in (1, 0):
        lonely = Task(sas([2], [0], [(0, 1)], [f"1\n0 0\n1\n0 0 -1 {effect}\n1"]).encode())
        pool = pool_of(lonely, settings, spec="first")
        assert len(pool) <= 2
        assert "no new state" in pool.remarks[-1]


def test_conditional_effects() -> None:
    task = Task(CONDITIONAL.encode())
    for variant in VARIANTS.values():
        pool = pool_of(task, replace(variant, patience=200), spec="heuristic:ff")
        assert len(pool) > 1


# -- limits ---------------------------------------------------------------------------------------


def test_limits_leave_a_remark() -> None:
    task = small_task("gripper-4")
    pool = pool_of(task, preset("p24", max_iterations=5))
    assert pool.iterations == 5
    assert pool.remarks == [f"5 iterations were allowed: stopped at {len(pool)} of 100 states"]
    slow = preset("p24", time_limit=1e-9, max_states=90)
    pool = pool_of(task, slow)
    assert pool.iterations == 1
    assert "the time limit of 1e-09 seconds" in pool.remarks[0]


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misstep.fuzzing.fuzzer.PROGRESS_EVERY", 0.0)
    task = small_task("gripper-4")
    seen: list[int] = []
    pool = fuzz(task, None, preset("p24", bias="none"), progress=lambda p: seen.append(len(p)))
    assert seen == sorted(seen)
    assert len(seen) == pool.iterations
    assert [len(p) for p in make_fuzzer(task, None, preset("p24", bias="none"))] == seen


# -- what is too large ----------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["loop", "detour", "surface"])
def test_h_star_beyond_enumeration_is_the_same_h_star(bias: str) -> None:
    """With evaluations enough, the searches give what the state space gives, and so the same pool."""
    for name in ("spanner-3", "transport-2"):
        task = random_costs(small_task(name), 2, (0, 1, 3))
        exact = preset("p24", bias=bias, estimate="h*", max_states=20, state_budget=10, **QUICK)
        searched = replace(exact, exact_states=10, estimate_evaluations=1_000_000)
        expected, found = pool_of(task, exact), pool_of(task, searched)
        assert found.entries == expected.entries
        assert found.remarks[0] == (
            "the task has more than 10 states: h* comes from A* with LM-cut, at most 1,000,000 evaluations each"
        )
        assert found.remarks[1:] == expected.remarks
        assert found.cut_weights == 0


def test_searches_for_h_star_that_are_cut_are_counted() -> None:
    task = small_task("transport-2")
    settings = preset(
        "p24", bias="detour", estimate="h*", exact_states=10, estimate_evaluations=2, max_states=20
    )
    pool = pool_of(task, replace(settings, **QUICK))
    assert len(pool) == 20
    assert pool.cut_weights > 0
    (remark,) = [text for text in pool.remarks if "cut searches" in text]
    assert remark == (
        "the limit of 2 evaluations cut searches for h*, whose lower bounds stand in; "
        f"weights that rest on them: {pool.cut_weights:,}"
    )
    assert pool.cut_weights > pool_of(task, replace(settings, estimate_evaluations=40)).cut_weights


def test_what_is_too_large_is_lost_with_a_remark() -> None:
    task = Task(CONDITIONAL.encode())
    settings = preset(
        "p24", bias="surface", estimate="h*", dead_ends="exact", exact_states=2, patience=200
    )
    pool = pool_of(task, settings, spec="heuristic:ff")
    large = "the task has more than 2 states"
    assert pool.remarks[:2] == [
        f"{large}, and conditional effects: the bias surface measures with ff instead of h*",
        f"{large}: dead ends are recognised by search instead of exactly",
    ]
    plain = replace(settings, estimate="ff", dead_ends="search")
    assert pool.entries == pool_of(task, plain, spec="heuristic:ff").entries
    # What nothing needs is not missed.
    unbiased = preset("p24", bias="none", estimate="h*", exact_states=2, patience=200)
    assert "more than" not in " ".join(pool_of(task, unbiased, spec="heuristic:ff").remarks)


def test_a_full_novelty_filter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task("transport-2")
    monkeypatch.setattr(
        "misstep.fuzzing.fuzzer._core.NoveltyStore",
        lambda task, arity: NoveltyStore(task, arity, max_tuples=25),
    )
    settings = preset("p22", novelty=3, max_states=10)
    pool = pool_of(task, settings)
    assert "the novelty filter is full: it keeps 25 tuples of facts" in pool.remarks[0]
    assert pool.rejected == 0


# -- the step limit of all runs -------------------------------------------------------------------


class Measuring(PolicyRunner):
    """Notes down the longest run."""

    longest = 0

    def run_ids(self, ids: Any, max_steps: int | None = None, progress: Any = None) -> Any:
        ends = super().run_ids(ids, max_steps, progress)
        self.longest = max(self.longest, int(ends.steps.max(initial=0)))
        return ends


@pytest.mark.parametrize("max_steps", [1, 3, None])
def test_no_run_is_followed_further_than_the_step_limit(max_steps: int | None) -> None:
    task = small_task("transport-2")
    settings = replace(VARIANTS["p22-filter-off"], **QUICK)
    runner = Measuring(load_policy(SPEC, task))
    fuzz(task, runner, settings, 1, max_steps=max_steps)
    assert runner.longest > 3 if max_steps is None else runner.longest == max_steps
    for variant, budget in (("policy-cost", 50), ("loop", 50), ("detour", 8), ("p24-free", None)):
        settings = VARIANTS.get(variant) or preset("p24", state_budget=None, max_states=20)
        own = PolicyRunner(load_policy(SPEC, task))
        fuzzer = make_fuzzer(task, own, replace(settings, **QUICK), 1, max_steps=max_steps)
        assert isinstance(fuzzer, Fuzzer2024)
        limits = [limit for limit in (budget, max_steps) if limit is not None]
        assert fuzzer.state_budget == min(limits, default=None)
        _, successors = fuzzer.walks.successors(fuzzer.ids[0])
        with pytest.raises(StopIteration) as weighed:  # at once: the policy is native
            next(fuzzer.weigh(successors[:1]))
        ends = own.run_ids(successors[:1], fuzzer.state_budget)
        assert weighed.value.value.steps == ends.steps.sum()


def test_the_novelty_filter_can_be_turned_off() -> None:
    for off in (0, None):
        assert preset("p22", novelty=off) == preset("p22", novelty=0)
        assert (
            make_fuzzer(small_task("gripper-4"), None, preset("p23", novelty=off)).novelty is None
        )
    task = small_task("transport-2")
    on, off_pool = (pool_of(task, preset("p22", novelty=n, max_states=60, **QUICK)) for n in (1, 0))
    assert on.rejected > 0
    assert off_pool.rejected == 0


# -- settings -------------------------------------------------------------------------------------


def test_presets_have_the_values_of_the_papers() -> None:
    p22, p23, p24 = (PRESETS[name] for name in ("p22", "p23", "p24"))
    assert (p22.max_states, p22.max_walk_length, p22.novelty, p22.time_limit) == (200, 5, 2, 18000)
    assert (p22.bias, p22.state_budget, p22.infinite_failures) == ("policy-length", None, False)
    assert (p23.max_states, p23.bias, p23.time_limit) == (200, "none", 28800)
    assert (p24.max_states, p24.max_walk_length, p24.time_limit) == (100, 5, 3600)
    assert (p24.state_budget, p24.expansion_budget, p24.novelty) == (50, 200, 0)
    assert {p.dead_ends for p in PRESETS.values()} == {"hmax"}
    task = small_task("gripper-4")
    for name in PRESETS:
        settings = preset(name, max_states=10)
        assert len(pool_of(task, settings)) <= 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "2023"}, "no algorithm '2023'"),
        ({"bias": "beauty"}, "no bias of the 2024 fuzzer 'beauty'"),
        ({"bias": "policy-length"}, "expected none, policy-cost"),
        ({"algorithm": "2022"}, "no bias of the 2022 fuzzer 'detour'"),
        ({"estimate": "lmcut"}, "no estimate 'lmcut'; expected ff, h"),
        ({"dead_ends": "magic"}, "no dead-end filter"),
        ({"max_states": 0}, "max_states is 0; expected a positive number"),
        ({"max_walk_length": True}, "max_walk_length is True"),
        ({"max_walk_length": 2.5}, "max_walk_length is 2.5"),
        ({"state_budget": -1}, "state_budget is -1"),
        ({"expansion_budget": 0}, "expansion_budget is 0"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"novelty": 4}, "novelty is 4; expected 1, 2 or 3; 0 for off"),
        ({"novelty": -1}, "novelty is -1"),
        ({"novelty": 1.5}, "novelty is 1.5"),
        ({"estimate_evaluations": 0}, "estimate_evaluations is 0"),
        ({"max_steps": 5}, "no setting 'max_steps'"),
        ({"novelty": True}, "novelty is True"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": math.nan}, "time_limit is nan"),
        ({"patience": 0}, "patience is 0"),
        ({"min_weight": 1.5}, "min_weight is 1.5"),
        ({"min_weight": "much"}, "min_weight is 'much'"),
        ({"unbiased_share": 1.5}, "unbiased_share is 1.5; expected 0 to 1"),
        ({"unbiased_share": True}, "unbiased_share is True"),
        ({"max_state": 5}, "no setting 'max_state'"),
    ],
)
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        preset("p24", **changes)


def test_bad_arguments() -> None:
    task, other = small_task("gripper-4"), small_task("ferry-3")
    with pytest.raises(UsageError, match="no preset 'p21'"):
        fuzz(task, None, "p21")
    with pytest.raises(UsageError, match="needs a policy"):
        fuzz(task, None)
    with pytest.raises(UsageError, match="another task"):
        fuzz(task, PolicyRunner(load_policy("first", other)))
    with pytest.raises(UsageError, match="the seed is -1"):
        fuzz(task, None, "p23", -1)
    with pytest.raises(UsageError, match="initial state"):
        make_fuzzer(task, None, "p23", pool=Pool.of(other))
