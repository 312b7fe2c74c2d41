"""Campaigns on models end to end: they agree with exhaustive value iteration, and the checker accepts their records."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.store import open_store
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.jani import SafetyTask
from misstep.comparison.baseline import Baseline
from misstep.errors import MisstepError, ToolError, UsageError
from misstep.safety import Budget, Decider, UnsafeRun
from misstep.safety.faults import PathReport, analyse
from misstep.tasks.generate import generate
from misstep.tasks.jani.task import State
from misstep.tasks.load import load_task
from support.campaigns import BATCHES, MODELS, ModelTruth, small_model, told
from support.strategies import packed_pairs


@cache
def truth_of(name: str, policy: str) -> ModelTruth:
    return ModelTruth(small_model(name), policy)


@pytest.mark.parametrize("radius", [math.inf, 1])
@pytest.mark.parametrize("name", MODELS)
def test_verdicts_and_faults_agree_with_value_iteration(name: str, radius: float) -> None:
    task = small_model(name)
    for policy in ("first", "random:3"):
        found = run_campaign(task, policy, runs=60, radius=radius, config=BATCHES)
        truth_of(name, policy).check(found)
        assert found.replay().ok
        assert found.replay(rerun=True).ok
        total = found.summary
        assert total.states == len(found) == total.bugs["total"] + total.optimal
        faults = {(fault.state) for record in found.records for fault in record.faults or ()}
        assert len(faults) <= total.faults


@pytest.mark.parametrize("radius", [1, 4, math.inf])
def test_the_severity_agrees_with_the_verdict(radius: float) -> None:
    task = small_model("two-way-line")
    found = run_campaign(
        task, "first", runs=60, radius=radius, severity="all", severity_budget=10_000
    )
    truth = truth_of("two-way-line", "first")
    tried = 4 if radius == 4 else 2
    told_radii = set()
    for record in found.records:
        smallest = truth.smallest_radius(record.state, tried)
        assert record.radius is not None
        told_radii.add(record.radius)
        if smallest is not None:
            assert record.radius == (smallest, smallest)
        elif record.is_bug:
            assert record.radius == (tried + 1, None)
        assert record.is_bug == truth.safe(record.state, radius)
    assert {(1, 1), (2, 2)} <= told_radii
    bugs = found.summary.radii
    assert (f"at least {tried + 1}" in bugs) == (radius == math.inf)
    assert sum(bugs.values()) == len(found.bugs)


@pytest.mark.parametrize("severity", ["none", "bugs", "all"])
@pytest.mark.parametrize("radius", [1, math.inf])
def test_severity_is_asked_for_apart_from_the_verdict(severity: str, radius: float) -> None:
    task = small_model("two-way-line")
    found = run_campaign(task, "first", runs=60, radius=radius, severity=severity, evaluations=6)
    truth_of("two-way-line", "first").check(found)
    assert found.replay(rerun=True).ok
    asked = run_campaign(task, "first", runs=60, radius=radius, evaluations=6)
    assert [own.verdict for own in found.records] == [own.verdict for own in asked.records]
    assert found.bugs
    for record in found.bugs:
        assert (record.radius is None) == (severity == "none")
        assert found.explain(record.id).record.radius == record.radius
    total = found.summary
    if severity == "none":
        assert total.radii == {}
        assert "radius" not in dict(total.lines())
        assert total.worst is not None
        assert "can be avoided" in total.worst["sentence"]
        assert found.metrics()["radius"] == {}
    else:
        assert sum(total.radii.values()) == len(found.bugs)


def test_a_budget_of_severity_changes_no_verdict_and_no_truth() -> None:
    task = small_model("n-puzzle")
    truth = truth_of("n-puzzle", "random:3")
    unlimited = run_campaign(task, "random:3", runs=60, severity_budget=100_000)
    starved = run_campaign(task, "random:3", runs=60, severity_budget=1)
    for found in (unlimited, starved):
        truth.check(found)
    assert [own.verdict for own in starved.records] == [own.verdict for own in unlimited.records]
    for record in unlimited.bugs:
        least = truth.smallest_radius(record.state, 2)
        assert record.radius == ((3, None) if least is None else (least, least))
    exact = sum(own.radius[0] == own.radius[1] for own in starved.bugs if own.radius is not None)
    assert exact < len(unlimited.bugs)


def test_statistics_about_faults_agree_with_the_records() -> None:
    """The statistics against the records and the truth: a run from a safe state has a fault."""
    task = small_model("two-way-line")
    found = run_campaign(task, "first", runs=60)
    truth = truth_of("two-way-line", "first")
    own = found.summary.blame
    assert own == found.metrics()["blame"] == found.metrics()["tasks"][task.name]["blame"]
    with_fault = total = most = 0
    distances = []
    for row in found._content.findings(task.name).runs():
        assert row.states is not None
        steps = [
            step for step, state in enumerate(row.states[:-1]) if truth.is_fault(state, math.inf)
        ]
        if truth.safe(row.states[0], math.inf):
            assert steps
        with_fault += bool(steps)
        total += len(steps)
        most = max(most, len(steps))
        distances += [len(row.operators) - step for step in steps]
        assert own["runs"] >= own["with_fault"]
    assert (own["with_fault"], sum(own["by_tenth"]), own["most"]) == (with_fault, total, most)
    assert own["faults_a_run"] == total / own["runs"]
    assert own["steps_before_end"] == median(distances)
    assert f"{with_fault} of {own['runs']} unsafe runs have one" in str(found.summary)


def test_tarjan_as_published_is_refused_as_an_oracle(tmp_path: Path) -> None:
    task = small_model("one-way-line")
    with pytest.raises(UsageError, match="for comparisons only"):
        run_campaign(task, "first", runs=5, oracle="tarjan-published")
    with (
        run_campaign(task, "first", runs=5, out=tmp_path / "c") as found,
        pytest.raises(UsageError, match="for comparisons only"),
    ):
        found.judge("tarjan-published")


@pytest.mark.parametrize(
    "options",
    [
        {"fuzz": "probable"},
        {"fuzz": "greedy-1", "on_revisit": "stop"},
        {"fuzz": "sample-inf", "layers": "all"},
        {"fuzz": "greedy-inf", "layers": "all", "distance": "unsafe"},
    ],
)
def test_every_way_to_fuzz_gives_true_records(options: dict[str, Any]) -> None:
    for name in ("one-way-line", "blocksworld-cost"):
        found = run_campaign(small_model(name), "random:3", runs=60, **options)
        truth_of(name, "random:3").check(found)
        assert found.replay(rerun=True).ok
        assert found.summary.outcomes["unsafe"] > 0


def test_a_later_run_decides_what_an_earlier_one_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_model("beluga")
    expected = told(run_campaign(task, "first", runs=60))
    runs: list[UnsafeRun[State, str]] = []

    def starved(
        decider: Decider[State, str], run: UnsafeRun[State, str], *given: Any, **named: Any
    ) -> PathReport[State, str]:
        runs.append(run)
        if len(runs) == 1:
            decider = Decider(decider.system, budget=Budget(evaluations=0))
        return analyse(decider, run, *given, **named)

    monkeypatch.setattr("misstep.campaigns.models.work.analyse", starved)
    config = {"model": {"batch": 1}}  # what another batch decides comes back to the first
    found = told(run_campaign(task, "first", runs=60, config=config))
    later = {state for own in runs[1:] for state in own.states}
    first = runs[0].number
    shared = [r for r in expected if r["found"]["run"] == first and tuple(r["state"]) in later]
    alone = [r for r in expected if r["found"]["run"] == first and tuple(r["state"]) not in later]
    assert shared
    assert alone
    verdicts = {tuple(row["state"]): row["verdict"] for row in found}
    for row in expected:
        state = tuple(row["state"])
        assert verdicts[state] == ("UNKNOWN" if row in alone else row["verdict"])


def test_a_small_budget_leaves_states_open() -> None:
    task = small_model("beluga")
    found = run_campaign(task, "random:3", runs=60, evaluations=3, config=BATCHES)
    verdicts = Counter(record.verdict for record in found.records)
    assert verdicts["UNKNOWN"] > 0
    assert any(
        "left undecided by the budget of the oracle" in text for text in found.summary.remarks
    )
    truth_of("beluga", "random:3").check(found)
    assert found.replay(rerun=True).ok
    found.judge("vi")  # has the same budget, and needs less of it or more
    truth_of("beluga", "random:3").check(found)


def test_tampering_is_found(tmp_path: Path) -> None:
    task = small_model("one-way-line")
    with run_campaign(task, "first", runs=60, out=tmp_path / "c") as found:
        bug = found.bugs[0]
        forged = packed_pairs(
            SafetyTask.from_source(task.source), [(bug.state, bug.run.operators[0])]
        )
    with open_store(tmp_path / "c") as store:
        store.execute("UPDATE strategies SET states = ?, content = ? WHERE number = 0", *forged)
        store.execute("UPDATE runs SET operators = replace(operators, '2', '3') WHERE number = 0")
    with open_campaign(tmp_path / "c") as found:
        assert not found.replay().ok
        assert len(found.replay().report.problems) >= 2


def test_a_failed_start_leaves_no_campaign(tmp_path: Path) -> None:
    task, out = small_model("one-way-line"), tmp_path / "out"
    for policy, options in (
        ("shipped:nope", {}),
        ("frist", {}),
        (f"python:{tmp_path}/no.py:act", {}),
        ("first", {"seed": 2**64}),
        ("first", {"radius": "many"}),
        ("first", {"oracle": "bmo(100)"}),
        ("first", {"fuzz": "loop"}),
    ):
        with pytest.raises(MisstepError):
            run_campaign(task, policy, runs=5, out=out, **options)
        assert not out.exists()
    run_campaign(task, "first", runs=5, out=out).close()


def test_forgetting_the_states_of_runs_changes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_model("one-way-line")
    kept = told(run_campaign(task, "random:3", runs=120, config=BATCHES))
    assert kept
    monkeypatch.setattr("misstep.campaigns.models.work.FUZZING_BYTES", 0)
    assert told(run_campaign(task, "random:3", runs=120, config=BATCHES)) == kept


def test_lookaheads_that_were_cut_are_reported() -> None:
    task = load_task(generate("follow-car", horizon=8, nondeterministic=True))
    for cap in (10, 100_000):
        found = run_campaign(task, "first", runs=3, lookahead_cap=cap)
        said = [text for text in found.summary.remarks if "--lookahead-cap" in text]
        assert len(said) == (cap == 10)


def test_labels_that_do_not_apply(tmp_path: Path) -> None:
    """An error by default for a policy without values; its run may end there instead, also when it is replayed."""
    task = small_model("two-way-line")
    (tmp_path / "stubborn.py").write_text("def act(state):\n    return 'dec'\n")
    policy = f"python:{tmp_path / 'stubborn.py'}:act"
    with pytest.raises(ToolError, match=r"names dec, which does not apply.*--inapplicable"):
        run_campaign(task, policy, runs=5)
    stopped = run_campaign(task, policy, runs=5, inapplicable="stop_safe")
    assert stopped.summary.runs == 5
    assert stopped.replay(rerun=True).ok
    with pytest.raises(MisstepError, match="filter, stop_safe, error"):
        run_campaign(task, policy, runs=5, inapplicable="guess")


def test_a_model_without_a_start_state_is_named(tmp_path: Path) -> None:
    document = json.loads(next(iter(generate("one-way-line").files.values())))
    document["properties"][0]["expression"]["start"] = {"op": "state-condition", "exp": False}
    (tmp_path / "nowhere.jani").write_text(json.dumps(document))
    with pytest.raises(MisstepError, match="no state satisfies the start condition") as caught:
        run_campaign(tmp_path / "nowhere.jani", "first", out=tmp_path / "x")
    assert "nowhere" in str(caught.value)


def test_a_record_of_a_model_has_the_keys_of_all_records() -> None:
    found = run_campaign(small_model("two-way-line"), "first", runs=60)
    (bug, *_) = [record for record in found.bugs if record.faults]
    own = bug.as_dict()
    assert (own["world"], own["gap"], own["bounds"]) == ("model", None, None)
    assert own["found"]["walk"] is None
    assert len(own["run"]["states"]) == len(own["run"]["operators"]) + 1
    assert own["run"]["states"][0] == own["state"]
    assert own["witness"]["type"] == "strategy"
    assert len(own["witness"]["strategy"]) == own["witness"]["size"]
    assert own["faults"][0]["outcome"] is not None
    assert own["facts"][0].startswith("load_0=")


def test_records_do_not_depend_on_what_a_worker_has_met_before() -> None:
    """Also where a decider draws at random: LRTDP."""
    model = load_task(generate("blocksworld-cost", blocks=3, limit=2, max_cost=2))
    how: dict[str, Any] = {"oracle": "lrtdp", "runs": 40, "batch": 5, "evaluations": 10}
    assert told(run_campaign(model, "random:3", **how)) == told(
        run_campaign(model, "random:3", jobs=2, **how)
    )


def test_bugs_without_a_severity_are_reported_and_retested(tmp_path: Path) -> None:
    """The report, a baseline and a retest of bugs without a radius."""
    task = small_model("two-way-line")
    with run_campaign(task, "first", runs=60, severity="none", out=tmp_path / "c") as found:
        assert found.bugs
        found.report(tmp_path / "r.html")
        found.export("baseline", tmp_path / "known.json")
        assert Baseline.read(tmp_path / "known.json").world == "model"
        again = found.retest("first", out=tmp_path / "again")
        words = {change.word for change in again.changes if change.before.is_bug}
        assert words == {"still"}
        assert all(own.after.radius is None for own in again.changes if own.after.is_bug)
