"""A new policy on the states of an old campaign: who judges, what is trusted, what is refused, and resuming."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep import Campaign
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.engine import Engine
from misstep.campaigns.lent import loan_of
from misstep.campaigns.planning.work import PlanningWork
from misstep.campaigns.testing import test as run_campaign
from misstep.cli.campaigns import exit_code
from misstep.comparison.baseline import Baseline
from misstep.comparison.changes import spent
from misstep.comparison.compare import compare
from misstep.comparison.retest import Retest, retest
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.oracles.oracle import Tester
from misstep.tasks.task import State
from support.campaigns import BATCHES, NOISY, SHARING, small_model, told
from support.dominance import logistics
from support.forged import sealed_again
from support.tasks import generated_task
from support.unsteady import PLANNING

BEFORE = "noisy:0.2:5+heuristic:ff"


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gripper") / "found"
    task = generated_task("gripper", balls=3)
    run_campaign(task, BEFORE, out=out, pool=30, config=SHARING).close()
    return out


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("line") / "found"
    model = small_model("one-way-line")
    run_campaign(model, "random:1", out=out, runs=40, config=BATCHES).close()
    return out


def again(folder: Path, policy: Any, **how: Any) -> Retest:
    return misstep.open_campaign(folder).retest(policy, **how)


# -- who judges -----------------------------------------------------------------------------------


def test_no_oracle_is_asked_where_witnesses_decide(
    gripper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def test(*_: object, **__: object) -> None:
        raise AssertionError("an oracle was asked")

    for kind in _testers():
        monkeypatch.setattr(kind, "test", test)
    found = again(gripper, "optimal")
    assert found.by_oracles == 0
    assert found.counts["fixed"] == sum(own.was_bug for own in found.changes) > 0
    assert found.counts["clean"] == len(found.changes) - found.counts["fixed"]
    assert not found.bugs
    assert all(own.after.effort.evaluations == 0 for own in found.changes)


def _testers() -> list[type]:
    kinds: list[type] = [Tester]
    for kind in kinds:  # grows
        kinds += kind.__subclasses__()
    return [kind for kind in kinds if "test" in vars(kind)]


def test_the_oracle_is_asked_about_the_rest(gripper: Path, tmp_path: Path) -> None:
    """Without plans and lower bounds in the old campaign, nothing but runs is left to judge by."""
    bare = copied(
        gripper,
        tmp_path,
        "UPDATE verdicts SET plan = NULL, upper = NULL, lower = 0, low = 0, high = NULL, derivation = NULL, "
        "kind = NULL, verdict = 'UNKNOWN'",
    )
    found = again(bare, NOISY)
    assert found.by_oracles > 0
    with misstep.open_campaign(gripper) as before:
        expected = {own.number: own.verdict for own in before.retest(NOISY).campaign.records}
    assert {own.number: own.verdict for own in found.campaign.records} == expected


def test_what_matches_the_witness_is_judged_on_demand() -> None:
    """An oracle with a poor plan finds the bug; the policy that does as well is fixed, and still not optimal."""
    task = generated_task("gripper", balls=3)
    with run_campaign(task, "random:7", oracle="gbfs(10000)", pool=8) as before:
        plans = {
            own.state: own.witness.operators
            for own in before.records
            if own.is_bug and own.witness.operators
        }

        def follow(state: Any) -> int | None:
            for start, plan in plans.items():
                here = State(list(map(int, start)))
                for operator in plan:
                    if here.values == tuple(state.values):
                        return int(operator)
                    here = task.apply(here, operator)
            return None

        lazy = before.retest(follow)
        keen = before.retest(follow, judge_fixed=True, oracle="exact")
    assert lazy.counts["fixed"] == len([own for own in lazy.outline if own.was_bug]) > 0
    assert lazy.by_oracles == 0
    assert any(own.after.verdict == "UNKNOWN" for own in lazy.outline)
    assert all(own.after.verdict in ("BUG", "OPTIMAL") for own in keen.outline)
    assert keen.counts["better"] > 0  # the plans were not the cheapest ones
    assert lazy.campaign.replay().ok
    assert keen.campaign.replay().ok


def test_an_unchanged_policy_is_named(gripper: Path) -> None:
    found = again(gripper, BEFORE)
    assert found.unchanged
    assert "has not changed" in found.remarks()[0]
    assert found.counts["still"] == len(found.bugs) > 0
    assert not again(gripper, NOISY).unchanged


def test_the_answer_as_text_and_data(gripper: Path) -> None:
    found = again(gripper, "random:7")
    text = str(found)
    assert found.bugs[0].after.id in text
    assert "new" in text
    data = json.loads(json.dumps(found.as_dict()))
    assert sum(data["counts"].values()) == data["states"] == len(found.changes)
    assert data["bugs"]["now"] == len(found.campaign.bugs)
    assert [own["change"] for own in data["changes"]] == [own.word for own in found.changes]
    assert found.changes[0].after.facts  # in full, unlike the outline
    assert not found.outline[0].after.facts


def test_a_retest_can_be_tested_again(gripper: Path, tmp_path: Path) -> None:
    first = again(gripper, "random:7", out=tmp_path / "one")
    second = first.campaign.retest("optimal", out=tmp_path / "two")
    assert second.counts["fixed"] == len(first.bugs) > 0
    assert second.by_oracles == 0
    assert second.campaign.replay(rerun=True).ok


# -- what is believed -----------------------------------------------------------------------------


def copied(folder: Path, place: Path, *statements: str) -> Path:
    """A copy that somebody has changed who knows how to seal it again."""
    copy = Path(shutil.copytree(folder, place / "copy"))
    with closing(sqlite3.connect(copy / "run.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    sealed_again(copy)
    return copy


FORGERIES: dict[str, str] = {
    "plans of nothing": "UPDATE verdicts SET plan = '[]', upper = 0, lower = 0, low = 1, high = NULL, verdict = 'BUG', "
    "kind = 'costly'",
    "plans that do not apply": "UPDATE verdicts SET plan = '[0,0,0]', upper = 3, lower = 0 WHERE plan IS NOT NULL",
    "plans of other states": "UPDATE verdicts SET plan = (SELECT plan FROM verdicts WHERE number = 3), lower = 0",
    "runs of other states": "UPDATE runs SET operators = (SELECT operators FROM runs WHERE number = 3)",
    "derivations of nothing": """UPDATE verdicts SET plan = NULL, upper = 0, lower = 0, verdict = 'BUG',
        kind = 'costly', derivation = '[{"state": [0, 0, 0, 0, 0, 0], "value": 5, "factors": []}]'""",
    "all states bugs": "UPDATE verdicts SET verdict = 'BUG', kind = 'fails', low = NULL, high = NULL",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_no_forged_witness_becomes_a_bug(what: str, gripper: Path, tmp_path: Path) -> None:
    with again(gripper, NOISY).campaign as honest:
        truth = {own.number: own.is_bug for own in honest.records}
    found = again(copied(gripper, tmp_path, FORGERIES[what]), NOISY)
    for own in found.campaign.records:
        assert not own.is_bug or truth[own.number]
    for change in (*found.changes, *found.outline):  # "still there" is a claim, too
        assert not change.is_bug or truth[change.after.number]
    assert found.campaign.replay(full=True).ok


def test_records_that_cannot_be_read_are_refused(gripper: Path, tmp_path: Path) -> None:
    copy = copied(gripper, tmp_path, "UPDATE verdicts SET plan = '[99999]', upper = 1, lower = 0")
    with pytest.raises(InputFormatError, match="no operator has the id 99999"):
        again(copy, "optimal", out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_lower_bound_that_a_plan_contradicts_is_dropped(gripper: Path, tmp_path: Path) -> None:
    found = again(
        copied(gripper, tmp_path, "UPDATE verdicts SET lower = 90, upper = NULL"), "optimal"
    )
    assert any("lower bounds" in text for text in found.campaign.summary.remarks)
    assert found.campaign.replay(full=True).ok


def test_a_lower_bound_that_the_new_policy_contradicts_is_an_error(tmp_path: Path) -> None:
    task = generated_task("gripper", balls=3)
    with run_campaign(task, "random:7", oracle="lmcut", pool=5, out=tmp_path / "found") as before:
        assert not before.bugs
    change = "UPDATE verdicts SET lower = 90, verdict = 'UNKNOWN'"
    with pytest.raises(InputFormatError, match="costs less than its lower bound"):
        again(copied(tmp_path / "found", tmp_path, change), "optimal")


def test_no_forged_strategy_becomes_a_bug(line: Path, tmp_path: Path) -> None:
    with misstep.open_campaign(line) as before:
        lost = next(own.number for own in before.records if own.verdict == "NOT A BUG")
        strategy = next(own for own in before.records if own.is_bug)
    copy = copied(
        line,
        tmp_path,
        f"""UPDATE verdicts SET verdict = 'BUG', kind = 'unsafe', low = 1, high = NULL, strategy =
        (SELECT strategy FROM verdicts WHERE number = {strategy.number})
        WHERE number = {lost}""",
    )
    found = again(copy, "random:1")
    assert found.campaign.records[lost].verdict == "NOT A BUG"
    assert any("strategy" in text for text in found.campaign.summary.remarks)


@pytest.mark.parametrize("how", ["retest", "pool"])
def test_states_of_a_task_have_to_be_where_their_walks_lead(
    how: str, gripper: Path, tmp_path: Path
) -> None:
    """With every value 0, a ball is in two grippers at once, so that nobody can ever get there."""

    def tested(folder: Path) -> Campaign:
        if how == "retest":
            return again(folder, "first").campaign
        return misstep.test(None, "first", pool_from=folder)

    last = "number = (SELECT max(number) FROM states)"
    change = "UPDATE states SET state = '[0,0,0,0,0,0]'{} WHERE " + last
    with pytest.raises(InputFormatError, match="is not where its walk leads"):
        tested(copied(gripper, tmp_path, change.format("")))
    # Without a walk it is brought from elsewhere, as a shrunk bug may be; that is said.
    copy = copied(gripper, tmp_path / "b", change.format(", reference = NULL, walk = '[]'"))
    remarks = tested(copy).summary.remarks
    assert any(text.endswith("has no walk from the initial state to 1 state") for text in remarks)
    assert not any("has no walk" in text for text in tested(gripper).summary.remarks)


def test_states_of_a_model_have_to_be_reached(line: Path, tmp_path: Path) -> None:
    with misstep.open_campaign(line) as before:
        states = [list(own.state) for own in before.records]
    strange = next(s for s in ([*own[:-3], 3, *own[-2:]] for own in states) if s not in states)
    copy = copied(
        line, tmp_path, f"UPDATE states SET state = '{json.dumps(strange)}' WHERE number = 0"
    )
    with pytest.raises(InputFormatError, match="not where its run is"):
        again(copy, "random:1")


# -- going on -------------------------------------------------------------------------------------


class Stopped(Exception):  # noqa: N818, as it is none
    pass


@pytest.mark.parametrize("world", ["gripper", "line"])
def test_interrupted_anywhere_it_goes_on_to_the_same_records(
    world: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(world)
    policy = NOISY if world == "gripper" else "random:3"
    monkeypatch.setattr("misstep.campaigns.planning.witnesses.WITNESS_UNIT", 7)
    whole = told(again(folder, policy, oracle=_poor(world)).campaign)
    keep = Engine._keep
    for units in (0, 1, 3, 6):
        left = [units]

        def counted(self: Engine, *given: Any, left: list[int] = left) -> None:
            if left[0] == 0:
                raise Stopped
            left[0] -= 1
            keep(self, *given)

        monkeypatch.setattr(Engine, "_keep", counted)
        out = tmp_path / str(units)
        with pytest.raises(Stopped):
            again(folder, policy, oracle=_poor(world), out=out)
        monkeypatch.setattr(Engine, "_keep", keep)
        with open_campaign(out) as begun:
            replayed = begun.replay()
            assert replayed.ok, str(replayed)
            assert replayed.report.checked["records"] == len(begun.records)
        found = again(folder, policy, oracle=_poor(world), out=out, resume=True)
        assert told(found.campaign) == whole


def _poor(world: str) -> str:
    return "bmo(10)" if world == "gripper" else "localfix"


@pytest.mark.parametrize("world", ["gripper", "line"])
def test_several_processes_and_no_lender(
    world: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(request.getfixturevalue(world), tmp_path / "lender"))
    found = again(folder, "random:3", out=tmp_path / "again", jobs=2)
    assert told(found.campaign) == told(again(folder, "random:3").campaign)
    shutil.rmtree(folder)
    with misstep.open_campaign(tmp_path / "again") as alone:
        assert alone.replay(rerun=True, full=True).ok
        assert alone.settings.retest == "witnesses"
        assert alone.bugs[0].id in str(alone.explain(alone.bugs[0]))
        loan = loan_of(alone._store)
        assert loan is not None
        assert loan.finished


def test_a_policy_that_contradicts_itself_is_flaky(gripper: Path, tmp_path: Path) -> None:
    (tmp_path / "unsteady.py").write_text(PLANNING)
    found = again(gripper, f"python:{tmp_path / 'unsteady.py'}:Random")
    assert found.counts["flaky"] > 0
    assert not found.bugs


def test_a_policy_that_is_no_function_fixes_nothing(gripper: Path, tmp_path: Path) -> None:
    """It says of itself that it may act otherwise the next time, so that a good run promises nothing."""
    (tmp_path / "unsteady.py").write_text(PLANNING)
    found = again(gripper, f"python:{tmp_path / 'unsteady.py'}:Declared")
    assert found.counts["flaky"] == len(found.outline)
    assert exit_code(found.campaign.summary) == 13
    assert found.campaign.replay().ok


def test_nothing_is_fixed_before_the_policy_was_asked_again(
    gripper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unsteady.py").write_text(PLANNING)
    policy = f"python:{tmp_path / 'unsteady.py'}:Optimal"
    keep = Engine._keep

    def interrupted(engine: Engine, run: Any, stage: Any, unit: Any, result: Any) -> None:
        if unit.stage == "confirm":
            raise KeyboardInterrupt
        keep(engine, run, stage, unit, result)

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "_keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            again(gripper, policy, out=tmp_path / "c")
    left = compare(gripper, tmp_path / "c").change_counts()
    assert left == {**dict.fromkeys(left, 0), "undecided": sum(left.values())}
    baseline = Baseline.of(misstep.open_campaign(tmp_path / "c"))
    assert all(spent(own.as_record("planning")) is None for own in baseline.states.values())
    found = again(gripper, policy, out=tmp_path / "c", resume=True)
    assert found.counts["fixed"] == found.as_dict()["bugs"]["before"] > 0


def test_a_policy_that_refuses_states_is_counted(line: Path) -> None:
    asked: list[Any] = []

    def refuses(state: Any) -> str:
        asked.append(state)
        raise ValueError("I do not know this state")

    found = again(line, refuses)
    assert asked
    assert found.counts["undecided"] == len(found.changes)
    assert found.as_dict()["crashes"] == len(found.changes)
    assert {own.after.run.outcome for own in found.changes} == {"error"}
    assert found.campaign.replay().ok


# -- bad input ------------------------------------------------------------------------------------


def _elsewhere(folder: Path, place: Path) -> Any:
    other = run_campaign(generated_task("ferry", cars=2), "first", pool=3)
    other.save(place / "other").close()
    return lambda: again(folder, "first", out=place / "other", resume=True)


BAD: dict[str, tuple[Callable[[Path, Path], Callable[[], object]], type[Exception], str]] = {
    "no policy": (lambda f, _: lambda: again(f, None), UsageError, "the policy to test is missing"),
    "the same folder": (lambda f, _: lambda: again(f, "first", out=f), UsageError, "replace"),
    "another campaign": (_elsewhere, UsageError, "not the campaign in the folder"),
    "no such oracle": (lambda f, _: lambda: again(f, "first", oracle="best"), UsageError, "best"),
    "no such folder": (
        lambda _, p: lambda: again(p / "nothing", "first"),
        InputFileError,
        "no such folder",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_refused(what: str, gripper: Path, tmp_path: Path) -> None:
    make, error, message = BAD[what]
    call = make(gripper, tmp_path)
    with pytest.raises(error, match=message):
        call()


def test_a_campaign_without_records_is_refused(tmp_path: Path) -> None:
    """It would pass every gate. Of a model, a campaign of a safe policy has no records."""
    task = generated_task("gripper", balls=3)
    empty = run_campaign(task, BEFORE, out=tmp_path / "found", limits={"time": 1e-9})
    assert not empty.records
    with pytest.raises(UsageError, match="no records to test again"):
        empty.retest("optimal", out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_folder_that_is_used(gripper: Path, tmp_path: Path) -> None:
    again(gripper, "first", out=tmp_path / "out").campaign.close()
    with pytest.raises(InputFileError, match="campaign in this folder already"):
        again(gripper, "first", out=tmp_path / "out")
    with pytest.raises(UsageError, match="not the campaign in the folder"):
        again(gripper, "optimal", out=tmp_path / "out", resume=True)


def test_a_campaign_in_progress_is_tested_as_far_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = generated_task("gripper", balls=3)
    keep, left = Engine._keep, [6]

    def counted(self: Engine, *given: Any) -> None:
        if left[0] == 0:
            raise Stopped
        left[0] -= 1
        keep(self, *given)

    monkeypatch.setattr(Engine, "_keep", counted)
    with pytest.raises(Stopped):
        run_campaign(task, BEFORE, out=tmp_path / "part", pool=30, config=SHARING)
    monkeypatch.setattr(Engine, "_keep", keep)
    with misstep.open_campaign(tmp_path / "part") as before:
        tested = len(before.records)
        found = before.retest("optimal")
    assert 0 < tested < 30
    assert len(found.changes) == tested
    assert not found.finished
    assert "not finished" in found.remarks()[0]


def test_a_model_is_judged_by_another_oracle_from_the_start(line: Path) -> None:
    found: Campaign = again(line, "first").campaign
    with pytest.raises(UsageError, match="judged while its runs are made"):
        found.judge("tarjan")


def test_faults_are_looked_for_in_so_many_bugs(
    gripper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("misstep.comparison.retest.BLAMED", 2)
    with misstep.open_campaign(gripper) as before:
        some = before.retest("random:7")
        every = retest(before, "random:7", fault_budget=50)
        none = retest(before, "random:7", fault_budget="none")
    blamed = [own for own in some.campaign.bugs if own.faults is not None]
    assert len(blamed) == 2
    assert all(own.number not in {b.number for b in before_bugs(gripper)} for own in blamed)
    assert all(own.faults is not None for own in every.campaign.bugs)
    assert all(own.faults is None for own in none.campaign.bugs)


def before_bugs(folder: Path) -> list[Any]:
    with misstep.open_campaign(folder) as campaign:
        return campaign.bugs


# -- derivations ----------------------------------------------------------------------------------


def test_derivations_count_as_far_as_a_function_computed_here_says_so(tmp_path: Path) -> None:
    task = logistics(2, 2)
    out = tmp_path / "found"
    how: dict[str, Any] = {"oracle": "bmo(0)", "pool": 30, "fault_budget": "none"}
    with run_campaign(task, "random:7", out=out, **how) as before:
        derived = [own.number for own in before.bugs if own.witness.type == "derivation"]
        bounds = {own.number: own.bounds for own in before.records}
    assert derived
    bare = copied(out, tmp_path, "UPDATE verdicts SET plan = NULL WHERE derivation IS NOT NULL")
    found = again(bare, "random:7")
    for number in derived:
        own = found.campaign.records[number]
        assert own.is_bug
        assert own.bounds == bounds[number]
    assert found.campaign.replay(full=True).ok
    with closing(sqlite3.connect(bare / "run.db", isolation_level=None)) as connection:
        for number, text in connection.execute(
            "SELECT number, derivation FROM verdicts WHERE derivation IS NOT NULL"
        ).fetchall():
            steps = [{**s, "value": 99} if "value" in s else s for s in json.loads(text)]
            change = "UPDATE verdicts SET derivation = ?, upper = 0, lower = 0 WHERE number = ?"
            connection.execute(change, (json.dumps(steps), number))
    sealed_again(bare)
    told_more = again(bare, "random:7")
    assert told(told_more.campaign) == told(found.campaign)  # the lender's word changes nothing


def test_a_bug_of_a_derivation_is_not_settled_by_a_plan_that_is_as_dear_as_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old run is a plan itself, so the policy is as good as that one; the derivation says that it is a bug."""
    monkeypatch.setattr(PlanningWork, "_concrete", lambda *_: None)  # no search finds a plan for it
    how: dict[str, Any] = {"oracle": "bmo(0)", "pool": 1, "fault_budget": "none"}
    policy = "noisy:0.5:2+heuristic:ff"
    with run_campaign(logistics(3, 2), policy, out=tmp_path / "found", **how) as before:
        (bug,) = before.bugs
    assert bug.witness.type == "derivation"
    assert bug.kind == "costly"
    found = again(tmp_path / "found", policy)
    assert found.counts["still"] == 1
    assert found.campaign.replay().ok
