"""Campaigns on models end to end: true against exhaustive value iteration, and checked from what they store."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.store import open_store
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.jani import SafetyTask
from misstep.errors import MisstepError, ToolError
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
def test_verdicts_and_faults_are_true(name: str, radius: float) -> None:
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
    found = run_campaign(small_model("two-way-line"), "first", runs=60, radius=radius)
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


def test_what_one_run_left_open_a_later_one_decides(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert any("left open by the budget of the oracle" in text for text in found.summary.remarks)
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


def test_what_runs_met_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_model("one-way-line")
    kept = told(run_campaign(task, "random:3", runs=120, config=BATCHES))
    assert kept
    monkeypatch.setattr("misstep.campaigns.models.work.FUZZING_BYTES", 0)
    assert told(run_campaign(task, "random:3", runs=120, config=BATCHES)) == kept


def test_lookaheads_that_were_cut_are_told() -> None:
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


def test_no_start_state_is_told_with_its_model(tmp_path: Path) -> None:
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


def test_what_a_worker_has_met_before_does_not_decide() -> None:
    """Also where a decider draws at random: LRTDP."""
    model = load_task(generate("blocksworld-cost", blocks=3, limit=2, max_cost=2))
    how: dict[str, Any] = {"oracle": "lrtdp", "runs": 40, "batch": 5, "evaluations": 10}
    assert told(run_campaign(model, "random:3", **how)) == told(
        run_campaign(model, "random:3", jobs=2, **how)
    )
