"""A policy that is not a function of the state has no bugs, and a policy that is one is never called flaky.

Policies are in files (`support.unsteady`), as users have them, and are asked again in a new interpreter. The sizes are
such that a test fails by chance with a probability below 1e-9.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from misstep._core import CounterRandom
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.confirm import AskedRun, AskPayload, Questions
from misstep.campaigns.confirmed import NOT_ASKED_AGAIN
from misstep.campaigns.engine import Engine
from misstep.campaigns.left_open import NOT_CONFIRMED
from misstep.campaigns.rows import ContradictionRow, RunRow
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.units import Unit
from misstep.checking.campaign import check_database
from misstep.cli.campaigns import exit_code
from misstep.errors import UndecidedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
)
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task
from support import jani
from support.alone import ran_alone
from support.campaigns import small_model, told
from support.jani import bounded, destination, edge, op, pa, variable
from support.unsteady import HANGING, MODEL, PLANNING

FLAKY = ["Random", "Place", "Hashes", "Counter", "Liar", "Declared"]
SEVERAL = [1, pytest.param(2, marks=pytest.mark.soundness)]  # processes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unsteady")
    (place / "planning.py").write_text(PLANNING)
    (place / "model.py").write_text(MODEL)
    (place / "hanging.py").write_text(HANGING)
    return place


@pytest.fixture(scope="module")
def task() -> Task:
    made = load_task(generate("gripper", balls=4))
    assert isinstance(made, Task)
    return made


def of_task(folder: Path, task: Task, name: str, **options: Any) -> Campaign:
    policy = f"python:{folder / 'planning.py'}:{name}"
    return run_campaign(task, policy, **{"pool": 60, "oracle": "exact", **options})


def of_model(folder: Path, name: str, **options: Any) -> Campaign:
    policy = f"python:{folder / 'model.py'}:{name}"
    return run_campaign(small_model("one-way-line"), policy, **{"runs": 100, **options})


def check_flaky(campaign: Campaign) -> None:
    """Check that nothing is claimed about any state, that the reason is given, and that the records are valid."""
    summary = campaign.summary
    assert (summary.bugs["total"], summary.optimal, summary.faults) == (0, 0, 0)
    assert summary.flaky > 0
    assert exit_code(summary) == 13
    flaky = [record for record in campaign.records if record.verdict == "FLAKY"]
    assert len(flaky) == summary.flaky
    for record in flaky:
        assert (record.kind, record.faults, record.witness.type) == (None, None, "none")
        assert all(own.verdict == "FLAKY" for own in record.verdicts)
        assert not any(own.first == own.second for own in record.contradictions)
    replayed = campaign.replay()
    assert replayed.ok, str(replayed)
    verdicts = sum(len(record.verdicts) for record in flaky)
    assert replayed.report.checked["flaky verdicts"] == verdicts
    met = [record for record in flaky if record.contradictions]
    lines = dict(summary.lines())
    if summary.contradictions:
        assert met
        assert f"in record {met[0].id}" in lines["flaky"]
        told_of = str(campaign.explain(met[0]))
        assert "answers differently when asked again" in told_of
        assert met[0].contradictions[0].first.name in told_of
    else:
        assert "declares that it is not deterministic" in lines["flaky"]
        assert "declares so" in str(campaign.explain(flaky[0]))


@pytest.mark.parametrize("jobs", SEVERAL)
@pytest.mark.parametrize("name", FLAKY)
def test_no_bugs_of_a_policy_that_contradicts_itself(
    folder: Path, task: Task, name: str, jobs: int
) -> None:
    campaign = of_task(folder, task, name, jobs=jobs)
    check_flaky(campaign)
    assert campaign.summary.flaky == 60


@pytest.mark.parametrize("jobs", SEVERAL)
@pytest.mark.parametrize("name", FLAKY)
def test_no_bugs_of_a_policy_of_a_model_that_contradicts_itself(
    folder: Path, name: str, jobs: int
) -> None:
    check_flaky(of_model(folder, name, jobs=jobs))


@pytest.mark.parametrize("fuzz", ["uniform-1", "greedy-inf"])
def test_a_policy_of_a_model_that_answers_otherwise_in_company(folder: Path, fuzz: str) -> None:
    """A run of `uniform-1` asks about one state at a time."""
    check_flaky(of_model(folder, "Company", fuzz=fuzz))


def test_a_policy_that_contradicts_itself_late_is_found_if_it_is_asked_often(
    folder: Path, task: Task
) -> None:
    summary = of_task(folder, task, "PatientLiar").summary
    assert summary.contradictions > 0
    assert summary.flaky > 0
    assert exit_code(summary) == 13


@pytest.mark.parametrize("name", ["Steady", "Batches"])
def test_a_function_of_the_state_is_never_flaky(folder: Path, task: Task, name: str) -> None:
    one = of_task(folder, task, name)
    two = of_task(folder, task, name, jobs=2, batch_size=7)
    for campaign in (one, two):
        summary = campaign.summary
        assert (summary.flaky, summary.contradictions) == (0, 0)
        assert summary.asked_again >= 60
        assert summary.bugs["total"] > 0
        assert exit_code(summary) == 1
        assert campaign.replay().ok
    assert told(one) == told(two)


def test_a_function_of_the_state_is_never_flaky_on_models(folder: Path) -> None:
    one, two = of_model(folder, "Steady"), of_model(folder, "Steady", jobs=2)
    for campaign in (one, two):
        summary = campaign.summary
        assert (summary.flaky, summary.contradictions) == (0, 0)
        assert summary.asked_again > 0
        assert exit_code(summary) == 1
    assert told(one) == told(two)


def test_an_optimal_policy_is_reported_as_such(folder: Path, task: Task) -> None:
    summary = of_task(folder, task, "Optimal").summary
    assert (summary.optimal, summary.flaky, exit_code(summary)) == (60, 0, 0)


@pytest.mark.parametrize("jobs", SEVERAL)
def test_crashes_are_counted_and_have_an_exit_code(folder: Path, task: Task, jobs: int) -> None:
    summary = of_task(folder, task, "Crashes", jobs=jobs).summary
    assert 0 < summary.crashes < 60
    assert summary.bugs["total"] == summary.bugs["crash"]
    assert (summary.flaky, summary.contradictions) == (0, 0)
    assert exit_code(summary) == 11
    assert dict(summary.lines())["crashes"].startswith(f"{summary.crashes} (runs in which")


def test_a_crash_that_does_not_happen_again_is_flaky(folder: Path, task: Task) -> None:
    campaign = of_task(folder, task, "CrashesOnce")
    summary = campaign.summary
    assert (summary.bugs["total"], summary.optimal, summary.flaky) == (0, 0, 60)
    assert exit_code(summary) in (10, 11)  # whether all runs crashed is chance
    assert campaign.replay().ok


def test_a_policy_that_always_crashes_was_not_tested(folder: Path, task: Task) -> None:
    summary = of_task(folder, task, "CrashesAlways").summary
    assert (summary.crashes, summary.flaky, exit_code(summary)) == (60, 0, 10)


@pytest.mark.parametrize(("name", "code"), [("Slow", 12), ("SlowAlways", 10)])
def test_time_outs_are_unknown(folder: Path, task: Task, name: str, code: int) -> None:
    campaign = of_task(folder, task, name)
    summary = campaign.summary
    late = [record for record in campaign.records if record.run.outcome == "timeout"]
    assert len(late) == summary.timeouts > 0
    assert all(record.verdict == "UNKNOWN" for record in late)
    assert (summary.bugs["total"], summary.flaky) == (0, 0)
    assert exit_code(summary) == code
    assert "did not answer in time" in dict(summary.lines())["time-outs"]


def test_crashes_of_models(folder: Path) -> None:
    campaign = of_model(folder, "Crashes")
    summary = campaign.summary
    assert 0 < summary.crashes == summary.outcomes["error"] < 100
    assert summary.flaky == 0
    assert exit_code(summary) == (1 if summary.bugs["total"] else 11)
    assert any("no idea" in text for text in summary.remarks)
    always = of_model(folder, "CrashesAlways").summary
    assert (always.crashes, always.bugs["total"], exit_code(always)) == (100, 0, 10)


def test_a_program_that_hangs_on_a_model(folder: Path) -> None:
    policy = f"exec:--timeout=0.1 {sys.executable} {folder / 'hanging.py'}"
    summary = run_campaign(small_model("one-way-line"), policy, runs=40).summary
    assert (summary.timeouts, summary.runs, summary.bugs["total"]) == (40, 40, 0)
    assert exit_code(summary) == 10


# -- going on -------------------------------------------------------------------------------------


def test_only_what_is_new_is_asked_again(folder: Path, task: Task, tmp_path: Path) -> None:
    campaign = of_task(folder, task, "Steady", pool=30, out=tmp_path / "c")
    first = campaign.summary.asked_again
    assert campaign.resume().summary.asked_again == first
    campaign.judge("undo, lookahead(2)")
    assert campaign.summary.asked_again == first
    campaign.resume(pool=60)
    whole = of_task(folder, task, "Steady")
    whole.judge("undo, lookahead(2)")
    assert campaign.summary.asked_again > first
    assert told(campaign) == told(whole)
    assert open_campaign(tmp_path / "c").summary.flaky == 0


@pytest.mark.parametrize("world", ["planning", "model"])
def test_interrupted_while_it_asks_again(
    folder: Path, task: Task, tmp_path: Path, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each unit in turn; what was asked is not asked again, and the records are the same."""

    def begin(out: Path | None) -> Campaign:
        if world == "planning":
            return of_task(folder, task, "Steady", pool=30, out=out, resume=out is not None)
        return of_model(folder, "Steady", runs=30, out=out, resume=out is not None)

    whole = begin(None)
    for stops in range(2):
        out = tmp_path / str(stops)
        with monkeypatch.context() as patched:
            stop_at_confirm(patched, stops)
            with pytest.raises(KeyboardInterrupt):
                begin(out)
        campaign = begin(out)
        assert told(campaign) == told(whole)
        assert campaign.summary.asked_again == whole.summary.asked_again


def stop_at_confirm(patched: pytest.MonkeyPatch, left: int) -> None:
    """Interrupt the work when so many units that confirm are stored."""
    stop_at_stage(patched, "confirm", left)


def stop_at_stage(patched: pytest.MonkeyPatch, stage_of: str, left: int) -> None:
    keep = Engine._keep

    def interrupted(engine: Engine, run: Any, stage: Any, unit: Unit, result: Any) -> None:
        nonlocal left
        left -= unit.stage.startswith(stage_of)
        if left < 0:
            raise KeyboardInterrupt
        keep(engine, run, stage, unit, result)

    patched.setattr(Engine, "_keep", interrupted)


@pytest.mark.parametrize("name", ["Random", "Place", "Declared"])
@pytest.mark.parametrize("make", [of_task, of_model])
def test_no_bugs_of_an_interrupted_campaign_on_a_flaky_policy(
    folder: Path, task: Task, tmp_path: Path, name: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was asked again until then."""
    subject = (folder, task) if make is of_task else (folder,)
    for stops in count():
        out = tmp_path / str(stops)
        with monkeypatch.context() as patched:
            stop_at_confirm(patched, stops)
            try:
                make(*subject, name, out=out)
                break
            except KeyboardInterrupt:
                pass
        campaign = open_campaign(out)
        summary = campaign.summary
        assert (summary.bugs["total"], summary.optimal, summary.worst) == (0, 0, None)
        assert {record.verdict for record in campaign.records} <= {"UNKNOWN", "FLAKY"}
        assert exit_code(summary) in (13, 20)
        replayed = campaign.replay()
        assert replayed.ok, str(replayed)
    assert stops >= 1


@pytest.mark.parametrize("make", [of_task, of_model])
def test_bugs_count_once_the_policy_was_asked_again(
    folder: Path, task: Task, tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = (folder, task) if make is of_task else (folder,)
    out = tmp_path / "c"
    whole = make(*subject, "Steady")
    bugs = whole.summary.bugs["total"]
    with monkeypatch.context() as patched:
        stop_at_confirm(patched, 0)
        with pytest.raises(KeyboardInterrupt):
            make(*subject, "Steady", out=out)
    campaign = open_campaign(out)
    assert bugs > 0
    assert campaign.summary.left_open[NOT_CONFIRMED] >= bugs
    assert f"{NOT_CONFIRMED}; misstep test --resume --out {out} asks it" in str(campaign.summary)
    record = next(own for own in campaign.records if own.source == NOT_ASKED_AGAIN)
    assert (record.verdict, record.kind, record.witness.type) == ("UNKNOWN", None, "none")
    assert campaign.record(record.id) == record
    with pytest.raises(UndecidedError, match="before the policy was asked again"):
        campaign.explain(record)
    assert campaign.replay().ok
    assert told(make(*subject, "Steady", out=out, resume=True)) == told(whole)


def test_the_runs_of_a_campaign_that_is_interrupted_while_it_grows_need_no_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may pass known bugs before they are judged."""
    out = tmp_path / "c"
    campaign = run_campaign(small_model("one-way-line"), "first", runs=5, out=out)
    with monkeypatch.context() as patched:
        stop_at_stage(patched, "judge", 0)
        with pytest.raises(KeyboardInterrupt):
            campaign.resume(runs=10)
    replayed = open_campaign(out).replay()
    assert replayed.ok, str(replayed)
    assert replayed.report.not_checked["missing faults"]


def test_bugs_of_before_still_count_while_a_campaign_grows(
    folder: Path, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = of_task(folder, task, "Steady", pool=30, out=tmp_path / "c")
    before = campaign.summary.bugs["total"]
    assert before > 0
    with monkeypatch.context() as patched:
        stop_at_confirm(patched, 0)
        with pytest.raises(KeyboardInterrupt):
            campaign.resume(pool=60)
    summary = open_campaign(tmp_path / "c").summary
    assert summary.bugs["total"] == before
    assert summary.left_open[NOT_CONFIRMED] > 0


UNCONFIRMED = """
import os, random
if os.environ.get("MEMORY") == "low" and os.environ.get("PYTHONHASHSEED", "0") != "0":
    raise MemoryError  # in the process that asks again
def act(state):
    return random.choice(state.actions if hasattr(state, "actions") else state.labels)
"""


@pytest.mark.parametrize("world", ["planning", "model"])
def test_what_was_not_asked_again_does_not_count(
    task: Task, tmp_path: Path, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unconfirmed.py").write_text(UNCONFIRMED)
    policy = f"python:{tmp_path / 'unconfirmed.py'}:act"
    out = tmp_path / "c"
    monkeypatch.setenv("MEMORY", "low")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if world == "planning":
        campaign = run_campaign(task, policy, pool=30, oracle="exact", out=out)
    else:
        campaign = run_campaign(small_model("one-way-line"), policy, runs=50, out=out)
    summary = campaign.summary
    assert summary.tested > 0
    assert (summary.bugs["total"], summary.optimal, summary.faults) == (0, 0, 0)
    assert summary.unknown == summary.tested
    assert summary.worst is None
    assert exit_code(summary) == 21
    assert {record.verdict for record in campaign.records} == {"UNKNOWN"}
    assert all(record.faults is None for record in campaign.records)
    assert campaign.replay().ok
    monkeypatch.delenv("MEMORY")
    check_flaky(open_campaign(out, policy).resume())


@pytest.mark.parametrize("world", ["planning", "model"])
def test_runs_that_were_not_compared_yet_may_disagree(
    folder: Path, task: Task, tmp_path: Path, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An honest folder is not refused for what a policy did in two sessions; nothing is reported of it either."""
    out = tmp_path / "c"

    def begin() -> Campaign:
        if world == "planning":
            return of_task(folder, task, "Mood", out=out, resume=True, chunk=10, round=1)
        return of_model(folder, "Mood", runs=600, out=out, resume=True)

    for mood, stage, units in (("good", "judge", 2), ("bad", "confirm", 0)):
        monkeypatch.setenv("MOOD", mood)
        with monkeypatch.context() as patched:
            stop_at_stage(patched, stage if world == "planning" or units == 0 else "fuzz", units)
            with pytest.raises(KeyboardInterrupt):
                begin()
    campaign = open_campaign(out)
    assert {record.verdict for record in campaign.records} == {"UNKNOWN"}
    replayed = campaign.replay()
    assert replayed.ok, str(replayed)
    with closing(sqlite3.connect(out / "run.db")) as database:
        # If it were finished, all this would count.
        database.execute("UPDATE meta SET value = '1' WHERE key = 'finished'")
        problems = str(check_database(database))
    told_by = "answers otherwise" if world == "planning" else "contradicts itself"
    assert f"the policy {told_by}" in problems
    check_flaky(begin())


@pytest.mark.parametrize("key", ["{}", "+{}", " {}", "0_{}", b"%d"])
def test_what_readers_count_has_to_hold_however_it_is_marked(
    folder: Path, task: Task, tmp_path: Path, key: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged mark that readers take for the number of a run, and the checker does not, would hide a contradiction."""
    monkeypatch.setenv("MOOD", "bad")
    with monkeypatch.context() as patched:
        stop_at_confirm(patched, 1)
        with pytest.raises(KeyboardInterrupt):
            of_task(folder, task, "Mood", out=tmp_path / "c")
    with closing(sqlite3.connect(tmp_path / "c" / "run.db")) as database:
        runs = [number for (number,) in database.execute("SELECT number FROM runs")]
        add = "INSERT OR REPLACE INTO units VALUES (1, ?, ?, 0.0, ?, '{}')"
        database.execute(add, ("confirm", "ask 1: runs 0 to 0", 10**6))  # so it is a function
        for stage in ("confirmed", "asked", "asked often"):
            database.execute("DELETE FROM units WHERE stage = ?", (stage,))
            for run in runs:
                mark = key % run if isinstance(key, bytes) else key.format(run)
                database.execute(add, (stage, mark, 0))
        database.commit()
    with open_campaign(tmp_path / "c") as campaign:
        assert "BUG" in {record.verdict for record in campaign.records}
        assert not campaign.replay().ok


@pytest.mark.parametrize("name", ["Random", "Seldom"])
@pytest.mark.parametrize("world", ["planning", "model"])
def test_verdicts_of_a_further_oracle_do_not_count_on_runs_that_were_flaky(
    folder: Path, task: Task, tmp_path: Path, world: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if world == "planning":
        campaign = of_task(folder, task, name, out=tmp_path / "c", oracle="aras")
    else:
        campaign = of_model(folder, name, out=tmp_path / "c")
    flaky = {record.id for record in campaign.records if record.verdict == "FLAKY"}
    assert flaky
    with monkeypatch.context() as patched:
        stop_at_confirm(patched, 0)
        with pytest.raises(KeyboardInterrupt):
            campaign.judge("exact" if world == "planning" else "tarjan")
    campaign = open_campaign(tmp_path / "c")
    for record in campaign.records:
        if record.id in flaky:
            assert {own.verdict for own in record.verdicts} <= {"FLAKY", "UNKNOWN"}
    replayed = campaign.replay()
    assert replayed.ok, str(replayed)


def test_bugs_of_a_function_are_confirmed_before_a_limit_ends_the_work(
    folder: Path, task: Task
) -> None:
    """Round by round; so a limit leaves the bugs of all rounds but the last."""
    seen = []

    def watch(stage: str, *_: object) -> None:
        seen.append(stage.rpartition(": ")[2])

    how: dict[str, Any] = {"chunk": 10, "round": 1, "pool": 30}
    unlimited = of_task(folder, task, "Steady", **how)
    limited = of_task(folder, task, "Steady", limits={"time": 3600}, progress=watch, **how)
    assert told(limited) == told(unlimited)
    assert "judging" in seen[seen.index("asking again") :]


def test_flaky_stays_flaky(folder: Path, task: Task) -> None:
    campaign = of_task(folder, task, "Random", pool=40)
    campaign.judge("undo, lookahead(2)")
    check_flaky(campaign)
    campaign.resume(pool=80)
    check_flaky(campaign)
    assert campaign.summary.flaky == 80


def test_a_policy_in_memory_is_asked_in_a_fork(task: Task, request: pytest.FixtureRequest) -> None:
    def by_process(state: Any) -> str | None:
        draw = CounterRandom(hash((os.getpid(), state.values)) % 2**64)
        return None if draw.below(2) else str(state.operators[0])

    def steady(state: Any) -> str:
        return str(min(state.operators))

    if ran_alone(by_process, request):
        return
    assert run_campaign(task, by_process, pool=60, oracle="exact").summary.flaky == 60
    summary = run_campaign(task, steady, pool=60, oracle="exact").summary
    assert (summary.flaky, summary.bugs["total"]) == (0, 60)


POOLED = """
from concurrent.futures import ThreadPoolExecutor

import misstep

pool = ThreadPoolExecutor(1)
task = misstep.load_task(misstep.generate("gripper", balls=2))
found = misstep.test(task, lambda state: pool.submit(min, state.operators).result(), pool=5)
print(found.summary.tested, found.summary.flaky)
"""


def test_a_policy_that_has_started_threads_is_not_asked_in_a_fork() -> None:
    """It had none before the first question. A fork would wait for ever for threads that it does not have."""
    command = [sys.executable, "-c", POOLED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "5 0\n"), done.stderr


def test_a_native_policy_is_not_asked_again(task: Task) -> None:
    summary = run_campaign(task, "random:3", pool=20, oracle="exact").summary
    assert (summary.asked_again, summary.flaky) == (0, 0)
    assert summary.bugs["total"] > 0


# -- parts ----------------------------------------------------------------------------------------


def test_dead_ends_are_not_optimal() -> None:
    task = load_task(generate("spanner", spanners=2, nuts=2, locations=3))
    campaign = run_campaign(task, "first", pool=40, oracle="exact")
    summary = campaign.summary
    dead = [record for record in campaign.records if record.is_unsolvable]
    assert len(dead) == summary.unsolvable > 0
    optimal = sum(record.verdict == "OPTIMAL" for record in campaign.records)
    assert summary.optimal + summary.unsolvable == optimal
    assert dict(summary.lines())["unsolvable"].startswith(f"{len(dead)} ")
    assert str(dead[0]).endswith("OPTIMAL, unsolvable")


def test_forged_contradictions_are_found(folder: Path, task: Task, tmp_path: Path) -> None:
    """A verdict on a run through a contradiction, a contradiction on no run, and a FLAKY verdict that claims."""
    forgeries = {
        "UPDATE verdicts SET verdict = 'OPTIMAL', low = 0, high = 0": "is not FLAKY",
        "UPDATE verdicts SET plan = '[]'": "claims something",
        "UPDATE contradictions SET first = 40": "on no run",
        "UPDATE contradictions SET second = first": "equal answers",
    }
    campaign = of_task(folder, task, "Random")
    for place, (forgery, problem) in enumerate(forgeries.items()):
        campaign.save(tmp_path / str(place)).close()
        with closing(sqlite3.connect(tmp_path / str(place) / "run.db")) as database:
            database.execute(forgery)
            database.commit()
            problems = [str(own.problem) for own in check_database(database).problems]
        assert any(problem in text for text in problems), (forgery, problems[:3])


def test_questions_come_in_another_order_and_are_all_asked() -> None:
    states = [(i,) for i in range(100)]
    run = RunRow(0, "stuck", 0, tuple(range(99)), None)
    payload = AskPayload((AskedRun((0,), run, None),), 1, 1, "salt", frozenset({(3,)}), {})
    decisions = [(state, i) for i, state in enumerate(states)]
    questions = Questions(payload, [decisions])
    asked = []
    for batch in questions.batches(16):
        assert 1 <= len(batch) <= 16
        asked += batch
        questions.answered(batch, [7 if state == (5,) else int(state[0]) for state in batch])
    assert set(asked) == set(states) - {(3,)}
    assert asked[:99] != sorted(asked[:99])
    assert len(asked) > 99  # some more than once
    outcome = questions.outcome()
    assert outcome.contradictions == (ContradictionRow((5,), 5, 7, 2),)
    assert outcome.decisions == 99


def test_only_bugs_and_flaky_records_are_explained(folder: Path, task: Task) -> None:
    campaign = of_task(folder, task, "Optimal", pool=5)
    with pytest.raises(UsageError, match="is not a bug"):
        campaign.explain(campaign.records[0])


CROSSING = jani.model(
    [variable("x", bounded(0, 5), 0)],
    [
        edge("a", op("=", "x", 0), destination({"x": 1}, 0.5), destination({"x": 2}, 0.5)),
        edge("a", op("=", "x", 1), destination({"x": 3})),
        edge("b", op("=", "x", 1), destination({"x": 2})),
        *(edge("a", op("=", "x", x), destination({"x": 5})) for x in (2, 3)),
        *(edge("c", op("=", "x", x), destination({"x": 4})) for x in (1, 2, 3)),
    ],
    prop=pa(op("=", "x", 5)),
    actions="a b c",
)


class Turning:
    def __call__(self, state: Any) -> str:
        return os.environ["MOOD"] if state["x"] == 1 else "a"


def test_runs_without_a_record_of_their_own_are_compared_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a later session passes known states only, and decides otherwise in one of them."""
    monkeypatch.setenv("MOOD", "a")
    how: dict[str, Any] = {"runs": 20, "batch": 2, "fuzz": "uniform-1"}
    with run_campaign(jani.task(CROSSING), Turning(), out=tmp_path / "c", **how) as campaign:
        assert {record.verdict for record in campaign.records} == {"BUG"}
        monkeypatch.setenv("MOOD", "b")
        campaign.resume(runs=60)
        verdicts = {record.state[0]: record.verdict for record in campaign.records}
        assert verdicts.keys() == {0, 1, 2, 3}
        assert verdicts[1] == "FLAKY"
        replayed = campaign.replay()
        assert replayed.ok, str(replayed)


class Busy(Policy):
    """Optimal. In some states it does not answer in time in one session, and crashes in another one."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.inner = load_policy("optimal", task)
        self.digest = "busy"

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        answers = self.inner.decide(states, candidates)
        operators, messages = answers.operators.copy(), {}
        instead = {"late": TIMED_OUT, "broken": FAILED}.get(os.environ["MOOD"])
        for row, values in enumerate(states.tolist()):
            if instead is not None and sum(i * x for i, x in enumerate(values)) % 5 == 0:
                operators[row], messages[row] = instead, "busy"
        return Answers(operators, messages)


@pytest.mark.parametrize("mood", ["good", "broken"])
def test_a_run_without_an_answer_in_time_stays_what_it_was(
    mood: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the process that judges with a further oracle, the policy has answered there. Its verdict was OPTIMAL, or a
    crash, although the run is the one that was late."""
    task = load_task(generate("gripper", balls=2))
    assert isinstance(task, Task)
    policy = Busy(task)
    monkeypatch.setenv("MOOD", "late")
    how: dict[str, Any] = {"pool": 8, "oracle": "exact", "patience": 20, "chunk": 1, "round": 4}
    with monkeypatch.context() as patched:
        stop_at_stage(patched, "judge", 3)
        with pytest.raises(KeyboardInterrupt):
            run_campaign(task, policy, out=tmp_path / "c", **how)
    monkeypatch.setenv("MOOD", mood)
    with open_campaign(tmp_path / "c", policy) as campaign:
        campaign.judge("bmo(20)+aras/ehc")
        late = [record for record in campaign.records if record.run.outcome == "timeout"]
        assert len(late) == 3
        assert {record.verdict for record in late} == {"UNKNOWN"}
        assert len(campaign.records) == 8
        replayed = campaign.replay()
        assert replayed.ok, str(replayed)


def test_a_run_that_is_cut_shows_no_decision_where_it_ends(folder: Path, task: Task) -> None:
    """It meets no contradiction there, and a replay knows that."""
    found = of_task(folder, task, "Optimal", pool=40, oracle="undo", max_steps=4)
    ends: dict[tuple[int, ...], int] = {}
    said: dict[tuple[int, ...], int] = {}
    for record in found.records:
        state = State(list(map(int, record.state)))
        for operator in record.run.operators:
            said[state.values] = operator
            state = task.apply(state, operator)
        if record.run.outcome == "cut":
            ends[state.values] = record.number
    place = next(own for own in ends if own in said)
    with found._writing() as content, content.store.unit():
        row = ContradictionRow(place, said[place], NO_ACTION, 2)
        content.findings(task.name).add_contradictions([row])
    found.resume()
    assert found.summary.flaky
    assert found.record(ends[place]).verdict != "FLAKY"
    replayed = found.replay()
    assert replayed.ok, str(replayed)


def test_a_fault_is_none_of_another_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later session takes the better label where an earlier run has a fault, which was blamed on it, too."""
    edges = [
        edge("a", op("=", "x", 0), destination({"x": 1}, 0.5), destination({"x": 2}, 0.5)),
        edge("a", op("=", "x", 1), destination({"x": 5})),
        edge("b", op("=", "x", 1), destination({"x": 2})),
        edge("a", op("=", "x", 2), destination({"x": 5})),
        edge("b", op("=", "x", 2), destination({"x": 4})),
    ]
    model = jani.model([variable("x", bounded(0, 5), 0)], edges, prop=pa(op("=", "x", 5)))
    monkeypatch.setenv("MOOD", "a")
    how: dict[str, Any] = {"runs": 20, "batch": 1, "fuzz": "uniform-1"}
    with run_campaign(jani.task(model), Turning(), out=tmp_path / "c", **how) as campaign:
        assert campaign.summary.faults
        monkeypatch.setenv("MOOD", "b")
        with monkeypatch.context() as patched:
            stop_at_confirm(patched, 0)
            with pytest.raises(KeyboardInterrupt):
                campaign.resume(runs=60)
        replayed = campaign.replay()
        assert replayed.ok, str(replayed)
        campaign.resume()
        assert campaign.summary.flaky
        assert campaign.replay().ok
