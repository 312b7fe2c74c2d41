"""Whole campaigns, every fuzzer with every oracle, on enumerated tasks: no record says what is not so.

A campaign is what a user runs: the pool with its walks, the runs, the oracles in their order, the check of witnesses,
the store. The part that runs always takes one combination for each task; `make soundness` takes them all.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from misstep.campaigns.configuration import CampaignSettings
from misstep.faults.explain import follow

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.replay import replay, rerun
from misstep.campaigns.store import create_store, open_store
from misstep.faults.distances import distances
from misstep.fuzzing.settings import preset
from misstep.oracles import DEFAULT_ORACLE
from misstep.tasks.task import State
from support.oracles import variant
from support.tasks import SMALL

COSTS: list[tuple[int, ...]] = [(), (0, 1, 5), (2, 3, 50)]
POLICIES = ["heuristic:ff", "noisy:0.3:5+heuristic:ff", "first", "random:7", "optimal"]
FUZZERS: list[dict[str, Any]] = [
    {"name": "p22"},
    {"name": "p22", "novelty": 1},
    {"name": "p23"},
    {"name": "p24", "bias": "none", "dead_ends": "none"},
    {"name": "p24", "bias": "policy-cost"},
    {"name": "p24", "bias": "loop", "dead_ends": "search"},
    {"name": "p24", "bias": "loop", "estimate": "h*", "dead_ends": "exact"},
    {"name": "p24", "bias": "detour"},
    {"name": "p24", "bias": "detour", "estimate": "h*", "dead_ends": "none"},
    {"name": "p24", "bias": "surface"},
    {"name": "p24", "bias": "surface", "estimate": "h*", "dead_ends": "search"},
]
ORACLES = [
    "elimination, undo, lookahead(2), aras/ehc",
    "undo | lookahead(1)",
    "astar",
    "gbfs(100) | elimination",
    "smo(5)",
    "bmo(10)",
    "exact",
    DEFAULT_ORACLE,
]


def check(
    folder: Path,
    name: str,
    costs: tuple[int, ...],
    policy: str,
    fuzzer: dict[str, Any],
    oracle: str,
) -> Counter[str]:
    task, space = variant(name, costs)
    fuzzing = preset(**fuzzer, max_states=25, patience=300)
    settings = CampaignSettings(policy, oracle, seed=3, chunk=10, fuzzing=fuzzing)
    with create_store(folder, settings.as_dict()) as store:
        Campaign(store, settings).run([task])
    known = distances(task)
    found: Counter[str] = Counter()
    with open_store(folder, readonly=True) as store:
        assert [reason for *_, reason in replay(store) if reason] == []
        assert [reason for *_, reason in rerun(store) if reason] == []
        runs = {run.state: run for run in store.runs(task.name)}
        for record in store.tested():
            state = State(list(record.state))
            walked = follow(task, task.initial_state, record.walk or (), "", 0)
            assert walked.states[-1] == state
            best = float(space.h_star[space.find(state)])
            run = runs[record.state]
            cost = run.cost if run.outcome == "goal" else math.inf
            # A cut run may still get there; all that is known is what it has spent.
            cut = run.outcome == "cut"
            gap = 0 if math.isinf(best) else cost - best
            low, high = (math.inf if bound is None else bound for bound in record.gap)
            assert low <= (max(0, run.cost - best) if cut else gap) or (low == 0)
            assert cut or gap <= high
            assert record.verdict != "BUG" or (run.cost > best if cut else gap > 0)
            assert record.verdict != "OPTIMAL" or gap == 0
            assert record.lower_bound is None or record.lower_bound <= best
            assert record.upper_bound is None or record.upper_bound >= best
            found[record.verdict] += 1
            if run.outcome in ("goal", "loop", "stuck") and math.isfinite(best):
                trace = follow(task, state, run.operators, run.outcome, run.cost)
                regrets = known.regrets(trace)
                assert regrets.gap_low == regrets.gap_high == gap
                if run.outcome == "goal":
                    assert regrets.total == gap
                if gap > 0:
                    assert regrets.faults
                    assert sum(regrets.shares() or [1]) == pytest.approx(1)
    return found


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_samples(number: int, tmp_path: Path) -> None:
    name = list(SMALL)[number]
    for k, policy in enumerate(POLICIES):
        place = number + k
        costs, fuzzer = COSTS[place % len(COSTS)], FUZZERS[place % len(FUZZERS)]
        oracle = ORACLES[place % len(ORACLES)]
        assert check(tmp_path / str(k), name, costs, policy, fuzzer, oracle).total()


@pytest.mark.soundness
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", SMALL)
def test_every_fuzzer_and_oracle(
    name: str, costs: tuple[int, ...], policy: str, tmp_path: Path
) -> None:
    for k, (fuzzer, oracle) in enumerate(product(FUZZERS, ORACLES)):
        check(tmp_path / str(k), name, costs, policy, fuzzer, oracle)
