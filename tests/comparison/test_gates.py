"""Gates: when they fail, compared with exact distances, and their exit codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.comparison.baseline import Baseline, Known
from misstep.comparison.changes import Change, change_of
from misstep.comparison.gates import FAIL_ON, Gate, parse_fail_on, trouble_of
from misstep.errors import UsageError
from misstep.tasks.task import Task
from support.campaigns import small_model
from support.tasks import small_task
from support.worlds import world

BAD, OTHER = "noisy:0.3:1+heuristic:ff", "noisy:0.3:2+heuristic:ff"
NAME = "gripper-4"


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task(NAME)


@pytest.fixture(scope="module")
def bad(task: Task) -> Campaign:
    return misstep.test(task, BAD, pool=30, oracle="census")


@pytest.fixture(scope="module")
def fine(bad: Campaign) -> Campaign:
    return misstep.test(None, "optimal", pool_from=bad, oracle="census")


@pytest.fixture(scope="module")
def other(bad: Campaign) -> Campaign:
    return misstep.test(None, OTHER, pool_from=bad, oracle="census")


def loss(record: misstep.Record) -> float:
    """Exactly."""
    if record.run.outcome != "goal":
        return math.inf
    assert record.run.cost is not None
    return record.run.cost - world(NAME, ()).h_star(
        misstep.State([int(value) for value in record.state])
    )


@pytest.mark.parametrize("through_file", [False, True])
def test_new_fixed_and_still_are_true(
    bad: Campaign, other: Campaign, fine: Campaign, tmp_path: Any, through_file: bool
) -> None:
    for before, after in ((bad, other), (other, bad), (bad, fine), (fine, bad)):
        known = Baseline.of(before)
        if through_file:
            known.write(tmp_path / "known.json")
            known = Baseline.read(tmp_path / "known.json")
        result = Gate(("new", "worse"), baseline=known).check(after)
        old = {record.state: loss(record) for record in before.records}
        now = {record.id: (old[record.state], loss(record)) for record in after.records}

        def those(holds: Callable[[float, float], bool], now: Any = now) -> set[str]:
            return {own for own, (was, is_now) in now.items() if holds(was, is_now)}

        assert {r.id for r in result.new} == those(lambda was, now: was == 0 < now)
        assert {r.id for r in result.fixed} == those(lambda was, now: was > 0 == now)
        assert {r.id for r in result.still} == those(lambda was, now: was > 0 < now)
        assert {r.id for r in result.worse} == those(lambda was, now: 0 < was < now)
        assert {r.id for r in result.bugs} == those(lambda _, now: now > 0)
        assert result.failing == {r.id for r in (*result.new, *result.worse)}
        assert result.passed == (not result.failing)
        assert result.untested == result.undecided == 0


def test_the_same_campaign_has_nothing_new(bad: Campaign) -> None:
    result = Gate(("new", "worse"), baseline=Baseline.of(bad)).check(bad)
    assert (result.passed, result.exit_code, result.remarks) == (True, 0, ())
    assert len(result.still) == len(bad.bugs) > 0
    assert "gate     passed\nagainst  0 new, 0 fixed" in str(result)


def test_another_policy_is_said(bad: Campaign, fine: Campaign) -> None:
    (text,) = Gate(baseline=Baseline.of(bad)).check(fine).remarks
    assert text == f"the baseline is of the policy {BAD}, but optimal is tested"


@dataclass
class Retested:
    campaign: Campaign
    changes: list[Change]


def test_a_retest_needs_no_baseline(bad: Campaign, other: Campaign) -> None:
    changes = [change_of(a, b) for a, b in zip(bad.records, other.records, strict=True)]
    again = Gate(("new",)).check(Retested(other, changes))
    by_file = Gate(("new",), baseline=Baseline.of(bad)).check(other)
    assert again.new == by_file.new
    assert again.fixed == by_file.fixed
    assert again.still == by_file.still
    assert again.compared


def test_unknown_states_are_judged_by_their_family(task: Task, bad: Campaign) -> None:
    """The fuzzer follows the policy: a bug of a known family elsewhere is not new."""
    larger = misstep.test(task, BAD, pool=60, oracle="census")
    known = Baseline.of(bad)
    result = Gate(("new",), baseline=known).check(larger)
    tested = {record.state for record in bad.records}
    for record in larger.bugs:
        if record.state in tested:
            assert record in result.still
        elif record.family in known.families:
            assert record in result.elsewhere
        else:
            assert record in result.new
    assert result.elsewhere
    assert len(result.bugs) == len(result.new) + len(result.still) + len(result.elsewhere)


def test_the_same_policy_has_no_new_bug_where_nothing_was_known(task: Task) -> None:
    """What a stronger oracle proves of the same policy was there before."""
    weak = misstep.test(task, "heuristic:ff", pool=30, oracle="lmcut")
    strong = misstep.test(None, "heuristic:ff", pool_from=weak, oracle="census")
    result = Gate(("new",), baseline=Baseline.of(weak)).check(strong)
    assert result.uncovered
    assert result.passed
    assert not Gate(("any",), baseline=Baseline.of(weak)).check(strong).passed


def test_a_bug_where_the_same_digest_was_fine_is_new(bad: Campaign, fine: Campaign) -> None:
    """A policy may read weights from a file that it does not name: then it has changed and its digest has not."""
    known = Baseline.of(fine)
    assert bad.policy is not None
    same = replace(known, digest=bad.policy.digest)
    result = Gate(("new",), baseline=same).check(bad)
    assert not result.passed
    assert result.new == Gate(("new",), baseline=known).check(bad).new
    assert not result.uncovered
    # Where the cost of the old run is known, a dearer one is another run.
    spent = {key: Known("UNKNOWN", cost=0) for key in known.states}
    assert not Gate(("new",), baseline=replace(same, states=spent)).check(bad).passed


# -- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "passes"),
    [
        (Gate(), True),
        (Gate(("any",)), False),
        (Gate(("errors",)), True),
        (Gate(max_bugs=0), False),
        (Gate(max_bugs=29), False),
        (Gate(max_bugs=30), True),
    ],
)
def test_conditions(gate: Gate, passes: bool, bad: Campaign) -> None:
    assert len(bad.bugs) == 30
    result = gate.check(bad)
    assert result.passed == passes
    assert result.exit_code == (0 if passes else 1)
    assert bool(result.reasons) != passes


def test_what_compares_needs_something_to_compare_with(bad: Campaign) -> None:
    with pytest.raises(UsageError, match="the gate fails on worse bugs; expected a baseline"):
        Gate(("worse",)).check(bad)
    wrong: Any = "x"
    with pytest.raises(UsageError, match="max_bugs is 'x'; expected 0 or more"):
        Gate(max_bugs=wrong)
    with pytest.raises(UsageError, match="no condition 'old'; expected one of new, any"):
        Gate(("old",))


def test_conditions_are_read_from_words() -> None:
    assert parse_fail_on(["new,worse", "errors", "new"]) == ("new", "worse", "errors")
    assert parse_fail_on(FAIL_ON) == FAIL_ON
    with pytest.raises(UsageError, match="--fail-on 'nwe'; expected one of new, any, worse, err"):
        parse_fail_on(["nwe"])


# -- errors ---------------------------------------------------------------------------------------


def crashing(share: int) -> Callable[[misstep.StateView], str]:
    """An optimal policy would do; one that crashes in some states is what is asked for."""

    def act(state: misstep.StateView) -> str:
        if sum(state.values) % share == 0:
            raise RuntimeError("no idea")
        return state.operators[0]

    return act


def test_a_policy_that_crashes_never_passes_silently(task: Task) -> None:
    campaign = misstep.test(task, crashing(3), pool=10)
    summary = campaign.summary
    assert 0 < summary.crashes < summary.runs
    passed = Gate(max_bugs=1000).check(campaign)
    assert passed.passed
    assert passed.exit_code == trouble_of(summary) == 11
    assert passed.errors == summary.crashes
    assert "but      the policy gave no answer in" in str(passed)
    failed = Gate(("errors",)).check(campaign)
    assert (failed.passed, failed.exit_code) == (False, 1)
    assert all(record.kind != "crash" for record in failed.bugs)
    nowhere = Gate(max_bugs=1000).check(misstep.test(task, crashing(1), pool=10))
    assert (nowhere.passed, nowhere.exit_code) == (True, 10)


def test_a_gate_that_has_tested_nothing_does_not_end_with_success(task: Task) -> None:
    alone = misstep.test(task, "first", pool=10, require_solved=True)
    assert alone.records == []
    result = Gate(("any", "errors")).check(alone)
    assert (result.passed, result.exit_code) == (True, 10)
    assert "but      nothing was tested (exit code 10)" in str(result)
    lost = misstep.load_task(misstep.generate("one-way-line", cells=3), unsafe="true")
    hopeless = misstep.test(lost, "first", runs=5)
    assert hopeless.records == []
    assert Gate(("any",)).check(hopeless).exit_code == 10
    # A policy that crashes is not one that fails to solve the task: it is tested, so that the crashes are counted.
    crashed = misstep.test(task, crashing(1), pool=10, require_solved=True)
    assert crashed.summary.crashes == 10
    assert Gate(("errors",)).check(crashed).exit_code == 1


# -- what ends a campaign early -------------------------------------------------------------------


def test_a_gate_that_passes_because_nothing_was_decided_says_so(task: Task) -> None:
    """Runs of one step are cut, and an oracle with no budget proves nothing."""
    found = misstep.test(task, "optimal", pool=10, oracle="astar(evaluations=1)", max_steps=1)
    assert found.summary.unknown == found.summary.tested > 0
    result = Gate(fail_on=("any",)).check(found)
    assert result.passed
    assert "tested states was decided" in str(result)
    decided = misstep.test(task, "optimal", pool=10, oracle="exact")
    assert "was decided" not in str(Gate(fail_on=("any",)).check(decided))


def test_what_is_forbidden_lets_the_gate_fail(bad: Campaign, other: Campaign) -> None:
    digests = {own.name: own.digest for own in other.tasks}
    for conditions in (("new",), ("worse",), ("new", "worse"), ("any",), ("errors",), ()):
        gate = Gate(conditions, baseline=Baseline.of(bad))
        forbidden = gate.forbids(digests)
        failing = gate.check(other).failing
        assert {record.id for record in other.records if forbidden(record)} == failing


# -- models ---------------------------------------------------------------------------------------


def test_models_have_gates() -> None:
    model = small_model("one-way-line")
    first, second = (misstep.test(model, f"random:{k}", runs=40) for k in (1, 2))
    same = Gate(("new", "worse"), baseline=Baseline.of(first)).check(first)
    assert same.passed
    assert len(same.still) == len(first.bugs) > 0
    known = {record.state for record in first.bugs}
    seen = {record.state for record in first.records}
    result = Gate(("new",), baseline=Baseline.of(first)).check(second)
    assert {r.state for r in second.bugs if r.state in known} == {r.state for r in result.still}
    assert all(r.state not in known for r in result.new)
    assert all(r.state not in seen for r in result.elsewhere)
