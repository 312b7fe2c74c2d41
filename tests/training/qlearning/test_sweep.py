"""The sweep over domains, widths and seeds, what is chosen from it, and trees fitted to it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import UsageError
from misstep.policies.load import load_policy
from misstep.policies.networks.trees import tree_network
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import MODELS
from misstep.training.qlearning.forest import ForestSettings, Sample, agreement, fit_forest
from misstep.training.qlearning.judging import (
    Candidate,
    Effort,
    Judged,
    best_unsafe,
    starts_to_fuzz,
)
from misstep.training.qlearning.published import PUBLISHED, domain_of
from misstep.training.qlearning.sweep import LEARNING, Plan, finalists, judge, keep, learn, table

pytest.importorskip("torch")


def test_the_time_is_shared_by_weights(tmp_path: Path) -> None:
    plan = Plan(tmp_path, jobs=16, seconds=480)
    units = plan.units()
    assert {unit.domain for unit in units} == {domain.name for domain in PUBLISHED} == set(MODELS)
    weights = [domain_of(unit.domain).weight for unit in units]
    assert weights == sorted(weights, reverse=True)
    spent = sum(plan.share(domain_of(unit.domain)) for unit in units)
    assert math.isclose(spent, 480 * LEARNING * 16)
    with pytest.raises(UsageError, match="no domain 'chess'"):
        domain_of("chess")


def line(step: int, goal: float, unsafe: float) -> dict[str, Any]:
    return {"step": step, "test": {"goal_rate": goal, "unsafe_rate": unsafe}}


def test_finalists() -> None:
    lines = [line(1, 0.2, 0.8), line(2, 0.9, 0.0), line(3, 0.9, 0.1), line(4, 0.95, 0.0)]
    assert [own["step"] for own in finalists(lines, 1)] == [3, 4]
    assert [own["step"] for own in finalists(lines, 2)] == [3, 1, 4, 2]


def candidate(width: int, goal: float, unsafe: float, runs: int = 0, bugs: int = 0) -> Candidate:
    judged = Judged({"goal_rate": goal, "unsafe_rate": unsafe}, {"unsafe_runs": runs, "bugs": bugs})
    return Candidate("beluga", width, 0, 100, f"{width}.jani2nnet", judged)


def test_the_best_that_is_still_unsafe_is_chosen() -> None:
    perfect = candidate(16, 1.0, 0.0)
    assert best_unsafe([perfect, candidate(32, 0.7, 0.3), candidate(64, 0.9, 0.1)]).width == 64
    # Unsafe runs of the fuzzer count too; among equals bugs, then the smaller network.
    assert best_unsafe([perfect, candidate(32, 0.9, 0.1), candidate(64, 1.0, 0.0, 3)]).width == 64
    assert best_unsafe([candidate(32, 0.9, 0.1, 1, 0), candidate(64, 0.9, 0.1, 1, 1)]).width == 64
    assert best_unsafe([candidate(64, 0.9, 0.1), candidate(32, 0.9, 0.1)]).width == 32
    assert best_unsafe([perfect]) is perfect
    assert Candidate.from_dict(json.loads(json.dumps(perfect.as_dict()))) == perfect


@pytest.mark.parametrize("domain", PUBLISHED, ids=lambda own: own.name)
def test_pools_and_settings(domain: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.jani"
    path.write_text(domain.model_text())
    task = load_jani(path)
    settings = domain.settings(task, 16, 3)
    assert settings.hidden == (16, 16)
    assert settings.seed == 3
    assert set(settings.ignore) <= set(task.variable_names)
    if domain.pool is not None and "line" in domain.name:
        packages = domain.options["packages"]
        for state in domain.starts(task)[:200]:
            values = dict(zip(task.variable_names, state, strict=True))
            carried = sum(v for n, v in values.items() if n.startswith(("load_", "cargo")))
            assert carried == packages
            assert not task.is_unsafe(state)
    starts = starts_to_fuzz(task, Effort(starts=10))
    assert len(starts) == 10
    assert min(map(task.distance, starts[5:])) <= min(map(task.distance, starts[:5]))


def test_from_training_to_card(tmp_path: Path) -> None:
    """One unit after the other, in this process."""
    domain = domain_of("beluga")
    effort = Effort(episodes=20, runs=10, starts=10, decided=2)
    plan = Plan(tmp_path, (domain,), (16,), 1, 1, 600.0, 320, 1, effort, trees=2)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "beluga.jani").write_text(domain.model_text())
    (unit,) = plan.units()
    checkpoints = learn(plan, unit, math.inf)
    assert checkpoints > 1
    assert learn(plan, unit, math.inf) == checkpoints  # nothing is left to do
    log = (tmp_path / unit.path / "log.jsonl").read_text()
    lines = [json.loads(own) for own in log.splitlines()]
    found = [judge(plan, unit, own) for own in finalists(lines, 1)]
    card = keep(plan, "beluga", found)
    assert card["hidden"] == [16, 16]
    assert card["test"]["episodes"] == 20
    task = load_jani(tmp_path / "models" / "beluga.jani")
    for name in ("chosen/beluga", "chosen/beluga-trees", "widths/beluga-w16"):
        policy = load_policy(str(tmp_path / f"{name}.jani2nnet"), task)
        own = json.loads((tmp_path / f"{name}.json").read_text())
        assert own["inputs"] == len(task.variable_names)
        policy.close()
    assert "beluga" in table({"chosen": {"beluga": card}})


def test_a_training_stops_when_its_time_is_over(tmp_path: Path) -> None:
    plan = Plan(tmp_path, (domain_of("beluga"),), (16,), 1, 1, 600.0, 320)
    (unit,) = plan.units()
    assert learn(plan, unit, 0.0) == 0
    assert not (tmp_path / unit.path).exists()


# -- trees ----------------------------------------------------------------------------------------


def sample_of(rows: Any, values: Any, masks: Any = None) -> Sample:
    array = np.asarray(values, dtype=np.float64)
    allowed = np.ones(array.shape, np.bool_) if masks is None else np.asarray(masks)
    return Sample(np.asarray(rows, dtype=np.float64), allowed, array)


def test_trees_fit_what_a_tree_can_say() -> None:
    rows = [[x, y] for x in range(8) for y in range(8)]
    values = [[0.0, 10.0 if x > 3 else -10.0, 5.0 if y > 5 else -20.0] for x, y in rows]
    sample = sample_of(rows, values)
    settings = ForestSettings(trees=20, depth=3, least=1)
    ensemble = fit_forest(sample, settings)
    network = tree_network(ensemble, "fitted")
    assert len(ensemble.trees) == 20
    assert agreement(sample, network) == 1.0
    best = np.max(sample.values, axis=1, keepdims=True)
    assert np.abs(network.evaluate(sample.rows) - (sample.values - best)).max() < 0.1


def test_labels_that_do_not_apply_say_nothing() -> None:
    rows = [[x] for x in range(20)]
    masks = [[True, x % 2 == 0] for x in range(20)]
    clean = [[0.0, 1.0 if x > 9 else -1.0] for x in range(20)]
    noisy = [
        [a, b if allowed[1] else 1e6 * (-1) ** x]
        for x, ((a, b), allowed) in enumerate(zip(clean, masks, strict=True))
    ]
    settings = ForestSettings(trees=5, depth=2, least=1)
    assert fit_forest(sample_of(rows, clean, masks), settings) == fit_forest(
        sample_of(rows, noisy, masks), settings
    )


def test_one_state_makes_trees_without_nodes() -> None:
    ensemble = fit_forest(sample_of([[1.0, 2.0]], [[3.0, 1.0]]), ForestSettings(trees=2))
    assert all(not tree.nodes for tree in ensemble.trees)
    assert replace(ensemble, trees=()).inputs == 2
