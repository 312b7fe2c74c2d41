"""The kinds of steps: what they measure is true."""

from __future__ import annotations

from typing import Any

import pytest

from misstep.campaigns.metrics import joint_recall
from misstep.experiments import kinds
from misstep.experiments.kinds import blaming, deciding, models, oracles, tasks
from misstep.policies.labels.load import load_label_policy
from misstep.safety.census import safety_census
from misstep.safety.decider import KINDS, Decider
from support.experiments import without_times

SUBJECT = {
    "model": "one-way-line",
    "options": {"cells": 6, "packages": 2, "drop": True},
    "policies": ["first"],
}
COLLECTING = {"configuration": "greedy-inf", "runs": 60, "max_steps": 100}
LIMITS = {"evaluations": None, "seconds": 60, "megabytes": None}
HOW = {
    "subject": SUBJECT,
    "collecting": COLLECTING,
    "limits": LIMITS,
    "seed": 0,
    "path_evaluations": None,
}


def seen(oracle: str, radius: str) -> list[dict[str, Any]]:
    payload = {**HOW, "states": 30, "first": 0, "count": 30, "oracle": oracle, "radius": radius}
    found = list(deciding.observations(payload, deciding.run(payload)))
    return [{"row": "line", "seed": 0, **own} for own in found]


@pytest.mark.parametrize("radius", ["0", "1", "inf"])
def test_all_oracles_say_what_an_exact_decider_says(radius: str) -> None:
    opened = models.open_subject(SUBJECT)
    states = models.drawn_states(models.collected(SUBJECT, COLLECTING, 0), 30, 0)
    exact = Decider(opened.system(), "vi")
    truth = [exact.decide(state, float(radius)).answer.value for state in states]
    for oracle in KINDS:
        assert [own["answer"] for own in seen(oracle, radius)] == truth, oracle


def test_truth_is_what_some_oracle_has_proven() -> None:
    found = [*seen("tarjan", "1"), *seen("tarjan", "inf")]
    deciding.joined(found)
    by_radius = {own["state"]: own["answer"] for own in found if own["radius"] == "inf"}
    assert all(own["truth"] == by_radius[own["state"]] for own in found)
    assert {own["truth"] for own in found} <= {"safe", "not safe"}
    found[0]["answer"], found[-1]["answer"] = "safe", "not safe"
    found[0]["state"] = found[-1]["state"] = 999
    deciding.joined(found)
    assert found[0]["truth"] == found[-1]["truth"] == deciding.CONTRADICTION


def test_states_are_drawn_from_before_the_end_of_unsafe_runs() -> None:
    runs = models.collected(SUBJECT, COLLECTING, 0)
    all_states = models.drawn_states(runs, 10**6, 0)
    assert set(all_states) == {state for run in runs for state in run.states[:-1]}
    few = models.drawn_states(runs, 5, 1)
    assert few == models.drawn_states(runs, 5, 1) != models.drawn_states(runs, 5, 2)
    assert set(few) <= set(all_states)
    assert len(few) == 5
    ends = {run.states[-1] for run in runs}
    assert not ends & set(all_states)


@pytest.mark.parametrize("radius", ["1", "inf"])
def test_shared_knowledge_changes_effort_and_no_verdict(radius: str) -> None:
    found = {}
    for knowledge in blaming.KNOWLEDGE:
        payload = {**HOW, "paths": 20, "oracle": "tarjan", "radius": radius, "knowledge": knowledge}
        found[knowledge] = blaming.run(payload)["paths"]
    effort = {name: sum(own["evaluations"] for own in paths) for name, paths in found.items()}
    assert effort["none"] > effort["path"] >= effort["all"]
    verdicts = {
        name: [{k: v for k, v in without_times(own).items() if k != "evaluations"} for own in paths]
        for name, paths in found.items()
    }
    assert verdicts["none"] == verdicts["path"] == verdicts["all"]


def test_an_allowance_for_a_run_leaves_states_open() -> None:
    payload = {**HOW, "paths": 10, "oracle": "tarjan", "radius": "inf", "knowledge": "path"}
    whole = blaming.run(payload)["paths"]
    largest = max(own["evaluations"] for own in whole)
    assert largest > 20
    some = blaming.run({**payload, "path_evaluations": largest // 2})["paths"]
    assert not all(own["complete"] for own in some)
    assert any(own["undecided"] for own in some)
    # A question may end one evaluation later, and each further one costs one.
    bound = [largest // 2 + 4 * own["length"] for own in some]
    assert all(own["evaluations"] <= most for own, most in zip(some, bound, strict=True))
    enough = blaming.run({**payload, "path_evaluations": 10 * largest})["paths"]
    assert without_times(enough) == without_times(whole)


def test_faults_are_among_those_of_the_census() -> None:
    payload = {**HOW, "paths": 1000, "oracle": "tarjan", "radius": "inf", "knowledge": "path"}
    paths = blaming.run(payload)["paths"]
    opened = models.open_subject(SUBJECT)
    exact = safety_census(opened.task, load_label_policy("first", opened.task))
    assert all(own["complete"] for own in paths)
    assert 0 < max(own["faults"] for own in paths) <= exact.faults
    # A run from a safe state has a fault, one without a safe state has none.
    assert all(bool(own["faults"]) == bool(own["safe_states"]) for own in paths)


def test_a_subject_takes_the_size_of_the_shipped_network_or_the_fallback() -> None:
    row = {"model": "beluga", "options": "shipped", "fallback": {"racks": 1}, "policies": ["first"]}
    assert models.subject(row)["options"]["racks"] == 2
    row["model"] = "no-such-model"
    assert models.subject(row)["options"] == {"racks": 1}


ORACLES: dict[str, Any] = {
    "name": "oracles",
    "seconds": None,
    "least_states": 1,
    "isolated": [],
    "beside": [],
    "portfolio": [],
}


def test_recall_is_that_of_the_metrics() -> None:
    row = {
        "name": "g",
        "domain": "gripper",
        "sizes": [{"balls": 2}, {"balls": 3}],
        "competition": None,
        "tasks_folder": None,
        "most_tasks": 9,
        "policies": ["shipped:nothing", "noisy:0.1:1+optimal"],
    }
    step = {**ORACLES, "oracles": {"greedy": "gbfs(10)", "ehc": "ehc"}, "pool": 5}
    found: list[dict[str, Any]] = []
    for part in oracles.units(step, {**row, "subject": tasks.subject(row)}, 0):
        result = oracles.run(part.payload)
        assert without_times(result) == without_times(oracles.run(part.payload))
        for own in oracles.observations(part.payload, result):
            found.append({"row": "g", "seed": 0, **own})
    assert {own["policy"] for own in found} == {"noisy:0.1:1+optimal"}
    kinds.join("planning-oracles", found)
    records: dict[tuple[Any, Any], list[oracles._Opinion]] = {}
    for own in found:
        if own["oracle"] != oracles.BEST_OF:
            key = (own["task"], own["state"])
            records.setdefault(key, []).append(
                oracles._Opinion(str(own["oracle"]), bool(own["bug"]))
            )
    seen = [oracles._Seen(t, f"{t}:{s}", tuple(v)) for (t, s), v in records.items()]
    exact = joint_recall(seen, min_states_a_task=1)  # type: ignore[arg-type]
    for oracle, share in exact.recall.items():
        judged = [own["bug"] for own in found if own["oracle"] == oracle and own["joint"]]
        assert len(judged) == exact.states
        assert sum(judged) / len(judged) == share
    best = [own["bug"] for own in found if own["oracle"] == oracles.BEST_OF]
    assert sum(best) == len({k for k, v in records.items() if any(o.is_bug for o in v)})


def test_the_same_pool_for_all_oracles() -> None:
    row = {
        "name": "g",
        "domain": "gripper",
        "sizes": [{"balls": 3}],
        "competition": None,
        "tasks_folder": None,
        "most_tasks": 9,
        "policies": ["noisy:0.1:1+optimal"],
    }
    step = {**ORACLES, "oracles": ["gbfs(10)", "ehc"], "pool": 6, "isolated": ["ehc"]}
    parts = oracles.units(step, {**row, "subject": tasks.subject(row)}, 3)
    solved = [[(s[0], s[1]) for s in oracles.run(part.payload)["states"]] for part in parts]
    assert solved[0] == solved[1]
