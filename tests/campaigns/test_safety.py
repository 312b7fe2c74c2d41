"""Safety campaigns end to end: true against the fixpoint, the same after interruptions, checked from their files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from misstep.campaigns.safety import SafetyCampaign, safety_summary
from misstep.campaigns.safety_replay import replay_safety
from misstep.campaigns.safety_settings import SafetySettings
from misstep.campaigns.safety_store import SafetyStore

from misstep.campaigns.store import create_store, open_store
from misstep.cli.main import main
from misstep.errors import Interrupted, UsageError
from misstep.policies.load import load_policy
from misstep.safety import Answer, Budget, Decider, System, UnsafeRun
from misstep.safety.faults import PathReport, analyse
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model, write_model
from support.commands import misstep, result_of

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("one-way-line", {"cells": 5, "packages": 2, "vmax": 3, "drop": True}),
    ("two-way-line", {"cells": 5, "packages": 2, "vmax": 3}),
    ("blocksworld-cost", {"blocks": 3, "limit": 2, "max-cost": 2}),
    ("n-puzzle", {"width": 2, "height": 2, "max-cost": 1, "tile": 1, "cell": 3}),
    ("beluga", {"racks": 1, "lines": "0,2/1", "swaps": 5}),
]


def model(folder: Path, name: str, choices: dict[str, Any]) -> Path:
    path = folder / f"{name}.jani"
    options = {key.replace("-", "_"): value for key, value in choices.items()}
    write_model(generate_model(name, **options), path)
    return path


def run(folder: Path, task: JaniTask, settings: SafetySettings) -> list[dict[str, Any]]:
    store = create_store(folder, settings.as_dict())
    with store, SafetyCampaign(task, settings) as campaign:
        campaign.run(store)
    return records(folder)


def records(folder: Path) -> list[dict[str, Any]]:
    with open_store(folder, readonly=True) as store:
        tables = SafetyStore(store)
        task = tables.model()
        return [{**entry.as_dict(task, tables), "seconds": 0} for entry in tables.decided()]


@pytest.mark.parametrize("radius", [math.inf, 1])
@pytest.mark.parametrize(("name", "choices"), MODELS)
def test_verdicts_and_faults_are_true(
    tmp_path: Path, name: str, choices: dict[str, Any], radius: float
) -> None:
    task = load_jani(model(tmp_path, name, choices))
    for policy in ("first", "random:3"):
        handle = load_policy(policy, task)
        system = System(jani_transitions(task), handle.policy)
        truth = Decider(system, "vi")
        found = run(
            tmp_path / policy.replace(":", ""), task, SafetySettings(policy, runs=60, radius=radius)
        )
        for row in found:
            state = tuple(row["state"])
            safe = truth.decide(state, radius).answer
            assert row["verdict"] == {Answer.SAFE: "BUG", Answer.NOT_SAFE: "NOT A BUG"}[safe]
            outcomes = task.outcomes(state, row["decision"])
            lost = any(truth.decide(t, radius).answer is Answer.NOT_SAFE for t in outcomes)
            assert row["fault"] == (safe is Answer.SAFE and lost)
        with open_store(tmp_path / policy.replace(":", ""), readonly=True) as store:
            for with_policy in (False, True):
                results = list(replay_safety(store, with_policy=with_policy))
                assert [reason for *_, reason in results if reason] == []
            total = safety_summary(store)
        assert total.distinct_states == len(found) == total.bugs + total.not_bugs
        assert total.faults == sum(row["fault"] for row in found)


@pytest.mark.parametrize("radius", [1, 4, math.inf])
def test_the_severity_agrees_with_the_verdict(tmp_path: Path, radius: float) -> None:
    task = load_jani(model(tmp_path, *MODELS[1]))
    found = run(tmp_path / "c", task, SafetySettings("first", runs=60, radius=radius))
    tried = 4 if radius == 4 else 2
    truth = Decider(System(jani_transitions(task), load_policy("first", task).policy), "vi")
    told = set()
    for row in found:
        smallest, answer = truth.smallest_radius(tuple(row["state"]), tried)
        expected = f">{tried}" if smallest == math.inf else smallest
        told.add(row["smallest_radius"])
        assert row["smallest_radius"] == expected
        if radius <= tried:
            assert (row["verdict"] == "BUG") == (smallest is not None and smallest <= radius)
        else:
            assert (row["verdict"] == "BUG") == answer.is_safe
    assert told == {None, 1, 2, f">{tried}", *((3, 4) if tried == 4 else ())}
    with open_store(tmp_path / "c", readonly=True) as store:
        bugs = safety_summary(store).bugs_by_radius
    assert (f">{tried}" in bugs) == (radius == math.inf)
    assert "inf" not in bugs


def test_an_interrupted_campaign_ends_with_the_same_records(tmp_path: Path) -> None:
    task = load_jani(model(tmp_path, *MODELS[0]))
    settings = SafetySettings("first", runs=120)
    expected = run(tmp_path / "a", task, settings)
    assert expected

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    store = create_store(tmp_path / "b", settings.as_dict())
    stops = 0
    while True:
        with store, SafetyCampaign(task, settings) as campaign:
            try:
                campaign.run(store, stop)
                break
            except KeyboardInterrupt:
                stops += 1
        store = open_store(tmp_path / "b")
    assert stops > 5
    assert records(tmp_path / "b") == expected


def test_what_one_run_left_open_a_later_one_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_jani(model(tmp_path, *MODELS[4]))
    settings = SafetySettings("first", runs=60)
    expected = run(tmp_path / "a", task, settings)
    runs: list[UnsafeRun[State, str]] = []

    def starved(
        decider: Decider[State, str], run: UnsafeRun[State, str], *given: Any, **named: Any
    ) -> PathReport[State, str]:
        runs.append(run)
        if len(runs) == 1:
            decider = Decider(decider.system, budget=Budget(evaluations=0))
        return analyse(decider, run, *given, **named)

    monkeypatch.setattr("misstep.campaigns.safety.analyse", starved)
    found = run(tmp_path / "b", task, settings)
    later = {state for own in runs[1:] for state in own.states}
    again = [row for row in expected if row["path"] == runs[0].number]
    shared = [row for row in again if tuple(row["state"]) in later]
    assert 0 < len(shared) < len(again)
    for before, now in zip(expected, found, strict=True):
        if before in again and before not in shared:
            assert now["verdict"] == "UNKNOWN"
        else:
            assert now == before


def test_tampering_is_found(tmp_path: Path) -> None:
    task = load_jani(model(tmp_path, *MODELS[0]))
    rows = run(tmp_path / "c", task, SafetySettings("first", runs=60))
    bug = next(k for k, row in enumerate(rows) if row["verdict"] == "BUG")
    with open_store(tmp_path / "c") as store:
        state = json.dumps(rows[bug]["state"])
        strategy = json.dumps([[rows[bug]["state"], rows[bug]["decision"]]])
        store.execute("UPDATE decided SET strategy = ? WHERE state = ?", strategy, state)
        store.execute("UPDATE paths SET labels = replace(labels, 'acc', 'dec') WHERE number = 0")
    with open_store(tmp_path / "c", readonly=True) as store:
        wrong = [reason for *_, reason in replay_safety(store) if reason]
    assert len(wrong) >= 2


def test_commands(tmp_path: Path) -> None:
    path, out = model(tmp_path, *MODELS[0]), tmp_path / "c"
    summary = result_of("test", path, "--policy", "first", "--runs", "50", "--out", out, code=1)
    for key in [
        "runs",
        "unsafe_runs",
        "distinct_states",
        "bugs",
        "not_bugs",
        "unknown",
        "faults",
        "seconds",
    ]:
        assert key in summary
    assert summary["runs"] == 50
    again = result_of("test", "--resume", "--out", out, code=1)
    assert again["bugs"] == summary["bugs"]
    assert result_of("replay", out, "--rerun")["wrong"] == []
    faults = result_of("explain", out, "--shield", tmp_path / "shield.json")["faults"]
    assert len(faults) == summary["faults"]
    bug = faults[0]
    index = next(r["index"] for r in _indexed(out) if r["state"] == bug["state"])
    told = result_of("explain", out, str(index))
    assert told["run"][-1]["verdict"] == "UNSAFE"
    assert told["faults"]
    done = misstep("explain", out, str(index))
    assert done.returncode == 0
    assert "<- fault" in done.stdout
    done = misstep("explain", out, "999")
    assert (done.returncode, "no bug '999'" in done.stderr) == (2, True)
    spec = f"shield:{tmp_path / 'shield.json'}+first"
    done = misstep("test", path, "--policy", spec, "--runs", "20", "--out", tmp_path / "d")
    assert done.returncode in (0, 1)


def test_an_explanation_says_no_more_than_the_radius_decides(tmp_path: Path) -> None:
    """States that are not 1-safe may well be safe: in a campaign with radius 1 none is called lost."""
    path = model(tmp_path, *MODELS[1])
    told = {}
    for radius in ("1", "inf"):
        out = tmp_path / radius
        words = ("--policy", "first", "--runs", "50", "--radius", radius, "--out", out)
        assert misstep("test", path, *words).returncode == 1
        rows = records(out)
        bug = next(i for i, row in enumerate(rows) if row["verdict"] == "BUG")
        told[radius] = misstep("explain", out, str(bug)).stdout
    assert "1-safe, but the policy gets unsafe" in told["1"]
    assert "The last 1-safe state is that of step" in told["1"]
    assert "  not 1-safe  " in told["1"]
    assert "lost" not in told["1"]
    assert "last safe state" not in told["1"]
    assert "The last safe state is that of step" in told["inf"]
    assert "  lost  " in told["inf"]


def _indexed(folder: Path) -> list[dict[str, Any]]:
    with open_store(folder, readonly=True) as store:
        return [{"index": e.index, "state": list(e.state)} for e in SafetyStore(store).decided()]


@pytest.mark.parametrize(
    "wrong",
    [
        {"fuzz": "detour"},
        {"oracle": "aras"},
        {"radius": -1},
        {"radius": 0.5},
        {"runs": 0},
        {"max_steps": 2**32},
        {"seed": 2**64},
        {"seed": -1},
    ],
)
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SafetySettings("first", **wrong)


def test_wrong_options(tmp_path: Path) -> None:
    path = model(tmp_path, *MODELS[0])
    for options in (
        ["--radius", "many"],
        ["--constant", "x"],
        ["--oracle", "bmo(100)"],
        ["--fuzz", "loop"],
        ["--property", "nothing"],
    ):
        done = misstep("test", path, "--policy", "first", "--out", tmp_path / "x", *options)
        assert done.returncode in (2, 30, 31, 32), (options, done.stderr)
        assert done.stderr.count("\n") == 1
    done = misstep("test", path, "--out", tmp_path / "x")
    assert (done.returncode, "no policy to test" in done.stderr) == (2, True)


def test_a_failed_start_leaves_no_campaign(tmp_path: Path) -> None:
    path, out = model(tmp_path, *MODELS[0]), tmp_path / "out"
    words = ("test", path, "--runs", "5", "--out", out, "--policy")
    for wrong in (
        ("shipped:nope",),
        ("frist",),
        (f"python:{tmp_path}/no.py:act",),
        ("first", "--seed", str(2**64)),
    ):
        done = misstep(*words, *wrong)
        assert done.returncode in (2, 30), done.stderr
        assert not out.exists()
    assert misstep(*words, "first").returncode == 1


def test_what_runs_met_may_be_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_jani(model(tmp_path, *MODELS[0]))
    settings = SafetySettings("random:3", runs=120)
    kept = run(tmp_path / "kept", task, settings)
    assert kept
    monkeypatch.setattr("misstep.campaigns.safety.FUZZING_BYTES", 0)
    assert run(tmp_path / "forgotten", task, settings) == kept


def test_lookaheads_that_were_cut_are_told(tmp_path: Path) -> None:
    choices = {"horizon": 8, "nondeterministic": True}
    task = load_jani(model(tmp_path, "follow-car", choices))
    for cap in (10, 100_000):
        settings = SafetySettings("first", runs=3, lookahead_cap=cap)
        folder = tmp_path / str(cap)
        run(folder, task, settings)
        with open_store(folder, readonly=True) as store:
            told = [text for text in safety_summary(store).remarks if "--lookahead-cap" in text]
        assert len(told) == (cap == 10)


def test_labels_that_do_not_apply(tmp_path: Path) -> None:
    """An error by default for a policy without values; its run may end there instead, also when it is replayed."""
    path = model(tmp_path, *MODELS[1])
    (tmp_path / "stubborn.py").write_text("def act(state):\n    return 'dec'\n")
    policy = f"python:{tmp_path / 'stubborn.py'}:act"
    words = ("test", path, "--policy", policy, "--runs", "5", "--out", tmp_path / "out")
    refused = misstep(*words)
    assert (refused.returncode, refused.stderr.count("\n")) == (33, 1)
    assert "names dec, which does not apply" in refused.stderr
    assert "--inapplicable" in refused.stderr
    stopped = misstep(*words[:-1], tmp_path / "stopped", "--inapplicable", "stop_safe", "--json")
    assert json.loads(stopped.stdout)["runs"] == 5
    assert misstep("replay", tmp_path / "stopped", "--rerun").returncode == 0
    wrong = misstep(*words[:-1], tmp_path / "wrong", "--inapplicable", "guess")
    assert (wrong.returncode, "filter, stop_safe, error" in wrong.stderr) == (2, True)


def test_no_start_state_is_told_with_its_file(tmp_path: Path) -> None:
    document = json.loads(model(tmp_path, *MODELS[0]).read_text())
    nothing = {"op": "state-condition", "exp": False}
    document["properties"][0]["expression"]["start"] = nothing
    path = tmp_path / "nowhere.jani"
    path.write_text(json.dumps(document))
    for words in (("test", path, "--policy", "first", "--out", tmp_path / "x"), ("census", path)):
        done = misstep(*words)
        assert (done.returncode, done.stderr.count("\n")) == (31, 1)
        assert "nowhere" in done.stderr
        assert "no state satisfies the start condition" in done.stderr


def test_ctrl_c_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, *MODELS[0])

    def stop(_self: SafetyStore, *_: object) -> None:
        raise KeyboardInterrupt

    out = str(tmp_path / "out")
    monkeypatch.setattr(SafetyStore, "add_analysed", stop)
    with pytest.raises(SystemExit) as end:
        main(["test", str(path), "--policy", "first", "--out", out])
    monkeypatch.undo()
    assert end.value.code == Interrupted.exit_code
    told = capsys.readouterr().err
    assert (told.count("\n"), f"--resume --out {out}" in told) == (1, True)
    assert result_of("test", "--resume", "--out", out, code=1)["runs"] == 1000
