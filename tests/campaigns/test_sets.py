"""Campaigns with policies that are not functions of the state: set-valued, stochastic, open loop, with memory."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.confirm import WeighPayload
from misstep.campaigns.engine import Engine
from misstep.campaigns.planning.confirm import weigh_runs
from misstep.campaigns.rows import Ids, RunRow, Values
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.campaign import check_database
from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, NO_ACTION, Answers, Candidates, Policy, States
from misstep.tasks.task import State, Task
from support.alone import ran_alone
from support.campaigns import SHARING, small_model, told
from support.permitted import (
    DrawingPolicy,
    PlanPolicy,
    SetPolicy,
    crashing,
    everything,
    improving,
    mostly,
    random_task,
    true_distance,
)
from support.tasks import generated_task, random_costs, sas, small_task

HOW: dict[str, Any] = {"pool": 20, "oracle": "exact", "config": SHARING}
UNINTERRUPTED = Engine._keep
RULE = mostly(improving(true_distance), 4, 1)


def gripper() -> Task:
    return random_costs(generated_task("gripper", balls=3), 7, (0, 1, 2, 5))


def records(policy: Policy, **how: Any) -> list[dict[str, Any]]:
    with run_campaign(policy.task, policy, **{**HOW, **how}) as found:
        report = check_database(found._content.store.connection)
        assert report.valid, str(report)
        return told(found)


@pytest.mark.parametrize("how", [{"batch_size": 1}, {"batch_size": 64}, {"jobs": 2}])
@pytest.mark.parametrize("costly_some", [False, True])
def test_records_do_not_depend_on_the_number_of_processes(
    how: dict[str, Any], costly_some: bool
) -> None:
    task = gripper()
    expected = records(SetPolicy(task, RULE), costly_some=costly_some)
    kinds = Counter(row["kind"] for row in expected)
    assert kinds["fails-some"]
    assert kinds["costly-some" if costly_some else "costly-best"]
    assert records(SetPolicy(task, RULE), costly_some=costly_some, **how) == expected


def test_the_fields_of_a_record_of_a_set_valued_policy() -> None:
    (row, *_) = (own for own in records(SetPolicy(gripper(), RULE)) if own["kind"] == "costly-best")
    known = row["run"]["permitted"]
    assert known["closed"]
    assert row["run"]["cost"] == known["least"] <= known["most"]
    assert row["gap"] == [known["least"] - row["bounds"][1]] * 2
    assert row["run"]["risk"] is None
    assert row["chooser"] is None


def test_a_second_oracle_needs_no_new_runs() -> None:
    task = gripper()
    policy = SetPolicy(task, RULE)
    with run_campaign(task, policy, **{**HOW, "oracle": "lookahead(1)"}) as found:
        before = [row["run"] for row in told(found)]
        found.judge("exact")
        assert [row["run"] for row in told(found)] == before
        assert check_database(found._content.store.connection).valid
        assert all(record.verdict != "UNKNOWN" for record in found.records)


def test_crashes_have_a_kind_of_their_own() -> None:
    rows = records(SetPolicy(gripper(), crashing(improving(true_distance), 10, 5)))
    kinds = {row["kind"] for row in rows if row["run"]["outcome"] == "error"}
    assert kinds == {"crash"}


def test_a_policy_that_changes_its_mind_is_noticed() -> None:
    """Two processes that disagree about what is permitted cannot both be right."""
    task = gripper()
    policy = SetPolicy(task, RULE)
    with run_campaign(task, policy, **HOW) as found:
        findings = found._content.findings(task.name)
        known = findings.permitted()[0]
        other = next(op for op in range(task.operator_count) if op not in known.operators)
        with found._content.store.unit():
            findings.add_permitted([known._replace(operators=(*known.operators, other))])
        (row,) = findings.contradictions()
        # Both are answers that were given: a contradiction by an answer on no run would be refused.
        assert (row.state, row.first, row.second) == (known.state, known.operators[0], other)
        assert findings.permitted()[0] == known


def test_many_sets_that_differ_are_stored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time all contradictions were read: minutes for some thousands."""
    policy = SetPolicy(gripper(), RULE)
    with run_campaign(policy.task, policy, **HOW) as found:
        findings = found._content.findings(policy.task.name)
        sets = findings.permitted()
        reads = 0

        def read() -> list[Any]:
            nonlocal reads
            reads += 1
            return []

        monkeypatch.setattr(findings, "contradictions", read)
        with found._content.store.unit():
            findings.add_permitted(own._replace(operators=(*own.operators, 99)) for own in sets)
        monkeypatch.undo()
        assert reads == 1
        assert len(findings.contradictions()) == len(sets) > 1


MOODY = """
import os, random
class Moody:
    def __init__(self, task):
        pass
    def permitted(self, state):
        draw = random.Random(repr((state.values, os.getpid(), os.environ.get("MOOD"))))
        actions = list(state.actions)
        return draw.sample(actions, min(draw.randint(1, 2), len(actions)))
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_that_permit_otherwise_make_states_flaky(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with an internal error, or its records were refused."""
    (tmp_path / "moody.py").write_text(MOODY)
    policy = f"python:{tmp_path / 'moody.py'}:Moody"
    keep, left = Engine._keep, 5

    def interrupted(engine: Engine, run: Any, stage: Any, unit: Any, result: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        keep(engine, run, stage, unit, result)

    how: dict[str, Any] = {"pool": 40, "oracle": "exact", "chunk": 10, "round": 2}
    task = generated_task("gripper", balls=4)
    monkeypatch.setattr(Engine, "_keep", interrupted)
    monkeypatch.setenv("MOOD", "good")
    with pytest.raises(KeyboardInterrupt):
        run_campaign(task, policy, out=tmp_path / "c", jobs=jobs, **how)
    monkeypatch.setenv("MOOD", "bad")
    with run_campaign(task, policy, out=tmp_path / "c", jobs=jobs, resume=True, **how) as found:
        for mood in ("bad", "worse"):
            monkeypatch.setenv("MOOD", mood)
            if mood == "worse":
                found.judge("aras/ehc", jobs=jobs)
            assert found.summary.flaky == found.summary.tested
            replayed = found.replay()
            assert replayed.ok, str(replayed)


HASTY = """
import os
class Hasty:
    def __init__(self, task):
        pass
    def permitted(self, state):
        end = sum(state.values) % 3 == 0
        if end and os.environ.get("MOOD") == "good":
            return END
        return state.actions[:2]
"""


@pytest.mark.parametrize("end", ["[]", "[0]"])  # nothing, or an operator that rarely applies
def test_runs_that_would_not_end_any_more_make_states_flaky(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A further oracle ended with an internal error: it gets stuck where 2 operators are permitted."""
    (tmp_path / "hasty.py").write_text(HASTY.replace("END", end))
    task = generated_task("visitall", width=3, height=3)
    monkeypatch.setenv("MOOD", "good")
    with run_campaign(
        task, f"python:{tmp_path / 'hasty.py'}:Hasty", pool=10, oracle="undo"
    ) as found:
        monkeypatch.setenv("MOOD", "bad")
        found.judge("bmo(100)+aras/ehc")
        assert found.summary.flaky
        replayed = found.replay()
        assert replayed.ok, str(replayed)


def test_the_risk_of_a_stochastic_policy() -> None:
    task = gripper()
    for row in records(DrawingPolicy(task, RULE), risk=True):
        low, high = row["run"]["risk"]
        assert 0 <= low <= high <= 1
        assert high - low < 1e-6
        if row["verdict"] == "OPTIMAL":
            assert high < 1e-6
        if row["kind"] == "fails-all":
            assert low > 1 - 1e-6
    assert all(row["run"]["risk"] is None for row in records(DrawingPolicy(task, RULE)))


# -- runs that depend on their start --------------------------------------------------------------


@cache
def distances(task: Task) -> Callable[[State], float]:
    return true_distance(task)


def some_plan(task: Task, state: State) -> list[int]:
    """A plan in most states, too long or broken in others."""
    operators: list[int] = []
    distance = distances(task)
    here = state
    while not task.is_goal(here):
        options = task.applicable(here)
        operators.append(min(options, key=lambda op: distance(task.apply(here, op))))
        here = task.apply(here, operators[-1])
    if hash(state) % 5 == 0:
        return operators[:-1]
    if hash(state) % 5 == 1 and operators:
        back = [op for op in range(task.operator_count) if _undoes(task, state, operators[0], op)]
        return [operators[0], *back[:1], *operators] if back else operators
    return operators


def _undoes(task: Task, state: State, first: int, second: int) -> bool:
    after = task.apply(state, first)
    return second in task.applicable(after) and task.apply(after, second) == state


def test_an_avoiding_policy() -> None:
    task = small_task("gripper-4")
    policy = load_policy("noisy:0.3:5+heuristic:ff", task)
    rows = records(policy, revisit="avoid")
    assert all(row["chooser"] == "--revisit avoid" for row in rows)
    assert all(row["run"]["outcome"] != "loop" for row in rows)
    assert records(policy, revisit="avoid", jobs=2, batch_size=1) == rows
    with run_campaign(task, policy, revisit="avoid", **HOW) as found:
        remarks = found.summary.remarks
        assert any("depend on their start" in text for text in remarks)
        assert "the results depend on the policy together with --revisit avoid" in remarks
        bug = next(record for record in found.records if record.is_bug)
        assert "the policy together with --revisit avoid" in str(found.explain(bug))


def test_an_avoiding_policy_that_cannot() -> None:
    task = gripper()
    with pytest.raises(UsageError, match="cannot choose among"):
        run_campaign(task, SetPolicy(task, RULE), revisit="avoid", **HOW)


class FirstOfMany(Policy):
    """A set-valued policy with a fixed chooser."""

    chooser = "--choose=first"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.inner = SetPolicy(task, RULE)

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        assert candidates is None
        offsets, operators = self.inner.permitted(states)
        first = [operators[a] if b > a else -1 for a, b in pairwise(offsets.tolist())]
        return Answers(np.array(first, dtype=np.int32))


def test_a_fixed_chooser_is_named(tmp_path: Path) -> None:
    task = gripper()
    out = tmp_path / "c"
    with run_campaign(task, FirstOfMany(task), out=out, **HOW) as found:
        assert {record.chooser for record in found.records} == {"--choose=first"}
        assert any("the policy together with --choose=first" in t for t in found.summary.remarks)
        assert {record.kind for record in found.records} <= {None, "fails", "costly"}
    with open_campaign(out) as again:
        assert {record.chooser for record in again.records} == {"--choose=first"}


def test_open_loop_plans() -> None:
    task = generated_task("gripper", balls=2)
    policy = PlanPolicy(task, some_plan)
    rows = records(policy)
    assert {row["run"]["outcome"] for row in rows} == {"goal", "stuck"}
    assert {row["kind"] for row in rows} >= {"fails", "costly"}
    assert records(PlanPolicy(task, some_plan), jobs=2) == rows


def test_label_policies_are_refused() -> None:
    class Labels:
        def permitted(self, _: Any) -> list[str]:
            return ["a"]

    with pytest.raises(UnsupportedError, match="permits several labels"):
        run_campaign(small_model("two-way-line"), Labels(), runs=5)


# -- policies that permit other operators when they are asked again ---------------------------------


def _move(before: int, after: int, cost: int = 1) -> str:
    return f"0\n1\n0 0 {before} {after}\n{cost}"


FORK = [
    _move(0, 1),
    _move(0, 2),
    _move(2, 3),
    _move(1, 4),
    _move(4, 3),
    _move(2, 5, 9),
    _move(5, 3),
]


@pytest.mark.parametrize(
    ("stops", "hidden", "verdict"),
    [((4,), [], "FLAKY"), ((), [5], "FLAKY"), ((4,), None, "BUG"), ((), None, "OPTIMAL")],
)
def test_what_is_permitted_off_the_run_is_asked_again(
    stops: tuple[int, ...],
    hidden: list[int] | None,
    verdict: str,
    request: pytest.FixtureRequest,
) -> None:
    """That all permitted runs fail, or cost too much, rests on states that the stored run does not come to."""
    here = os.getpid()

    def rule(_: Task, state: State, applicable: list[int]) -> list[int]:
        at = state.values[0]
        if at in stops:
            return []
        if at == 2 and hidden is not None and os.getpid() == here:
            return hidden
        return applicable

    if ran_alone(rule, request):
        return
    task = Task(sas([6], [0], [(0, 3)], FORK).encode(), name="fork")
    campaign = run_campaign(task, SetPolicy(task, rule, "off the run"), pool=1)
    assert [record.verdict for record in campaign.records] == [verdict]


def test_garbled_sets_crash_again() -> None:
    task = Task(sas([6], [0], [(0, 3)], FORK).encode(), name="fork")
    campaign = run_campaign(task, SetPolicy(task, lambda *_: [99], "no operator"), pool=3)
    assert {(record.verdict, record.kind) for record in campaign.records} == {("BUG", "crash")}


def test_probabilities_are_enough() -> None:
    """A policy that draws need not have `permitted`, and a goal has no risk."""

    class Draws(DrawingPolicy):
        def permitted(self, states: States) -> Candidates:
            return Policy.permitted(self, states)

    task = Task(sas([6], [0], [(0, 3)], FORK).encode(), name="fork")
    campaign = run_campaign(task, Draws(task, everything), pool=3, risk=True)
    assert all(record.verdict != "FLAKY" for record in campaign.records)
    done = Task(sas([6], [3], [(0, 3)], FORK).encode(), name="done")
    (record,) = run_campaign(done, Draws(done, everything), pool=1, risk=True).records
    assert record.run.risk == (0, 0)


def by_mood(task: Task, state: State, applicable: list[int]) -> list[int]:
    """The best operators; in another session others, or an error in some states."""
    best = improving(true_distance)(task, state, applicable)
    if os.environ["MOOD"] == "good":
        return best
    number = sum(i * value for i, value in enumerate(state.values))
    if number % 4 == 0 and os.environ["MOOD"] == "broken":
        raise ValueError("no idea")
    others = [own for own in applicable if own not in best]
    return others if others and (number % 2 or os.environ["MOOD"] == "bad") else best


@pytest.mark.parametrize("mood", ["bad", "broken"])
@pytest.mark.parametrize("kind", [SetPolicy, DrawingPolicy])
def test_another_session_that_permits_otherwise_is_a_contradiction(
    kind: type[SetPolicy], mood: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States stayed OPTIMAL, because runs that were asked about again are not asked a second time."""
    monkeypatch.setenv("MOOD", "good")
    policy = kind(gripper(), by_mood)
    with run_campaign(policy.task, policy, out=tmp_path / "c", **HOW) as found:
        optimal = [
            own.id for own in found.records if own.verdict == "OPTIMAL" and own.run.operators
        ]
        assert len(optimal) > 10
        monkeypatch.setenv("MOOD", mood)
        found.judge("bmo(20)+aras/ehc")
        assert {found.record(own).verdict for own in optimal} == {"FLAKY"}
        replayed = found.replay()
        assert replayed.ok, str(replayed)


def stopped_after(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the work ends with Ctrl-C after so many units."""
    left = iter(range(units))
    keep = UNINTERRUPTED

    def interrupted(*arguments: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        keep(*arguments)

    monkeypatch.setattr(Engine, "_keep", interrupted)


@pytest.mark.parametrize("moods", [("good", "broken"), ("bad", "broken"), ("broken", "good")])
@pytest.mark.parametrize("units", [2, 4, 8])
def test_crashes_of_one_session_in_states_that_another_one_has_answers_for(
    moods: tuple[str, str], units: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay called such folders invalid while they were not finished, and crashes stayed bugs."""
    policy = SetPolicy(gripper(), by_mood)
    monkeypatch.setenv("MOOD", moods[0])
    stopped_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run_campaign(policy.task, policy, out=tmp_path / "c", **HOW)
    with open_campaign(tmp_path / "c", policy) as found:
        monkeypatch.setenv("MOOD", moods[1])
        stopped_after(units, monkeypatch)
        with contextlib.suppress(KeyboardInterrupt):
            found.resume()
        replayed = found.replay()
        assert replayed.ok, str(replayed)
        monkeypatch.setattr(Engine, "_keep", UNINTERRUPTED)
        found.resume()
        replayed = found.replay()
        assert replayed.ok, str(replayed)


@pytest.mark.parametrize(
    ("seed", "oracle", "sessions"),
    [
        pytest.param(
            12,
            "bmo(20)+aras/ehc",
            [("broken", 3, {}), ("good", 0, {}), ("broken", 8, {"oracle": "bmo(2)"})],
            id="faults were looked for, an internal error",
        ),
        pytest.param(
            15,
            "bmo(2)",
            [("other", 8, {}), ("broken", 6, {}), ("bad", 1, {"pool": 23})],
            id="a run failed beside the claim that none does",
        ),
        pytest.param(
            13,
            "exact",
            [("broken", 3, {}), ("good", 8, {}), ("bad", 2, {"oracle": "undo"})],
            id="a further oracle did not know, and its verdict was not FLAKY yet",
        ),
    ],
)
@pytest.mark.parametrize("kind", [SetPolicy, DrawingPolicy])
def test_sessions_of_a_policy_that_permits_otherwise_each_time(
    kind: type[SetPolicy],
    seed: int,
    oracle: str,
    sessions: list[tuple[str, int, dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = kind(random_task(seed), by_mood)
    how = {**HOW, "oracle": oracle}
    for number, (mood, units, what) in enumerate([*sessions, ("good", 99, {})]):
        monkeypatch.setenv("MOOD", mood)
        stopped_after(units, monkeypatch)
        with contextlib.suppress(KeyboardInterrupt):
            if number == 0:
                run_campaign(policy.task, policy, out=tmp_path / "c", **how)
            with open_campaign(tmp_path / "c", policy) as found:
                found.judge(what["oracle"]) if "oracle" in what else found.resume(**what)
        with open_campaign(tmp_path / "c", policy) as found:
            replayed = found.replay()
            assert replayed.ok, str(replayed)


def test_a_crash_in_a_state_with_a_stored_answer_is_a_contradiction() -> None:
    task = Task(sas([6], [0], [(0, 3)], FORK).encode(), name="fork")
    start: Values = (0,)
    crash, goal = RunRow(0, "error", 0, ()), RunRow(1, "goal", 0, ())
    runs = ((start, crash), ((3,), goal))
    cases: list[tuple[dict[Values, Ids], dict[int, int]]] = [
        ({start: (0,)}, {0: 0}),
        ({start: ()}, {0: 0}),
        ({}, {}),
    ]
    for permitted, met in cases:
        weighed = weigh_runs(task, WeighPayload(runs, (), False, permitted=permitted))
        assert weighed.met == met
        assert [row.state for row in weighed.crossing] == [start] * len(met)
        assert all(
            (row.first, row.second) == (FAILED, *permitted[start], NO_ACTION)[:2]
            for row in weighed.crossing
        )


def test_an_interrupted_retest_has_recorded_what_is_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also along runs that the witnesses have not judged; a replay refused these runs."""
    keep = Engine._keep

    def interrupted(engine: Engine, run: Any, stage: Any, unit: Any, result: Any) -> None:
        if unit.stage.startswith("judge"):
            raise KeyboardInterrupt
        keep(engine, run, stage, unit, result)

    policy = SetPolicy(random_task(7), everything)
    with run_campaign(policy.task, "random:1", pool=6, oracle="undo", patience=20) as old:
        monkeypatch.setattr(Engine, "_keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            old.retest(policy, out=tmp_path / "new", oracle="exact")
    with open_campaign(tmp_path / "new", policy) as found:
        assert len(found._content.findings(policy.task.name).runs()) > len(found.records)
        replayed = found.replay()
        assert replayed.ok, str(replayed)
