"""Safety testing on JANI models: fuzzing with a network, decisions from scratch, greedy runs with unlimited lookahead.

python -m benchmarks.safety_jani [STATES]

Fuzzing: the two-way line with 10 cells and 15 packages that may fall off, a native network with two hidden layers of
64, runs of at most 1,000 steps on a new engine, so that the first visit of each state is paid for. Steps on states met
before cost next to nothing; `fresh` counts only those that the network was asked about.

Decisions: the one-way line with 10 cells and 15 packages and ice, with and without parking, with and without packages
that may fall off; as many states as given (1,000) of unsafe runs of the network. Each is decided for radius infinity
from scratch: a new engine, system and decider, nothing kept; at most 10 seconds each. Labels are tried as their worst
outcomes look (the default), as the policy ranks them, which asks the network about every state expanded, or as
declared. The published tool decides about 600 a second with TarjanSafe and 48 with LRTDP with parking, and runs out of
time on most states without; its policies and its machine are others, and the networks here are not trained, so the
ratios are only a rough guide.

Runs: greedy ones with unlimited lookahead on the same models; published are 12 to 87 a second.

Seconds are processor time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.common import alternate, remark, report
from misstep import _core
from misstep.policies.networks.mlp import Layer, MlpWeights, mlp_network
from misstep.safety import FuzzSettings, System, jani_transitions
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model, write_model

RUNS = 3
FUZZ_RUNS = 1000
SECONDS = 10.0  # of one decision
SHARE = 20.0  # seconds for all decisions of one kind
PUBLISHED = {"tarjan": 600, "lrtdp": 48}
PUBLISHED_RUNS = 87
DECIDERS = ("tarjan", "localfix", "lrtdp")
ORDERS = ("safest", "policy", "declared")
POLICIES = 3  # networks with different random weights


def model(name: str, **choices: Any) -> JaniTask:
    path = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / "model.jani"
    write_model(generate_model(name, **choices), path)
    return load_jani(path)


class Setup:
    """A task with a network over all its variables, as often as wanted on a new engine."""

    def __init__(self, task: JaniTask, seed: int) -> None:
        self.task = task
        random = np.random.default_rng(seed)
        sizes = [len(task.variable_names), 64, 64, len(task.labels)]
        layers = (
            Layer(random.normal(size=(b, a)) / a**0.5, random.normal(size=b))
            for a, b in pairwise(sizes)
        )
        self.network = mlp_network(MlpWeights(tuple(layers)))

    def system(self, order: str = "safest") -> System[State, str]:
        task, engine = self.task, self.task.new_engine()
        columns, labels = range(len(task.variable_names)), range(len(task.labels))
        policy = _core.NetworkPolicy(engine, self.network.core, list(columns), list(labels))
        return System(jani_transitions(task, engine), policy, order=order)


def fuzz_rates(setup: Setup, settings: FuzzSettings) -> tuple[float, float]:
    """Steps of the runs a second, and decisions of the network a second, those of lookaheads included."""
    system = setup.system()
    fuzzer = settings.fuzzer(system)
    began = time.process_time()
    runs = fuzzer.runs(1, 0, FUZZ_RUNS)
    seconds = time.process_time() - began
    return sum(map(len, runs)) / seconds, system.native.policy_calls / seconds


def fuzzing() -> dict[str, Any]:
    task = model("two-way-line", cells=10, packages=15, drop=True)
    found: dict[str, Any] = {}
    for seed in range(POLICIES):
        setup = Setup(task, seed)
        for name, settings in (
            ("uniform-1", FuzzSettings("uniform", 1)),
            ("greedy-inf", FuzzSettings("greedy")),
        ):
            rates = [fuzz_rates(setup, settings) for _ in range(RUNS)]
            steps, fresh = (sorted(rate[i] for rate in rates)[RUNS // 2] for i in (0, 1))
            found[f"network {seed}, {name}"] = {
                "steps_per_second": round(steps),
                "fresh_per_second": round(fresh),
            }
            remark(f"network {seed}, {name}: {steps:,.0f} steps/s, {fresh:,.0f} fresh/s")
    return found


def unsafe_states(setup: Setup, count: int) -> tuple[list[State], dict[str, Any]]:
    """States of unsafe runs, and how fast greedy runs with unlimited lookahead are."""
    system = setup.system()
    fuzzer = FuzzSettings("greedy").fuzzer(system)
    began = time.process_time()
    runs = fuzzer.runs(1, 0, FUZZ_RUNS)
    rate = FUZZ_RUNS / (time.process_time() - began)
    unsafe = [run for run in runs if run.end == "unsafe"]
    states = list(dict.fromkeys(id for run in unsafe for id in run.states[:-1]))
    chosen = Random(0).sample(states, min(count, len(states)))
    told = {
        "runs_per_second": round(rate),
        "times_published": round(rate / PUBLISHED_RUNS, 1),
        "unsafe": len(unsafe),
        "steps": round(sum(map(len, runs)) / len(runs), 1),
    }
    engine = system.transitions.engine  # type: ignore[attr-defined]
    return [engine.values(id) for id in chosen], told


def decide(setup: Setup, kind: str, order: str, states: list[State], told: dict[str, Any]) -> float:
    """Decisions a second; those of a state that was not decided count in time and not in number."""
    answers: Counter[str] = Counter()
    evaluations = 0
    began = time.process_time()
    for state in states:
        system = setup.system(order)
        decider = _core.make_safety_decider(system.native, kind, 0)
        decision = decider.decide(system.id(state), None, seconds=SECONDS)
        answers[decision.answer] += 1
        evaluations += decision.evaluations
        if time.process_time() - began > SHARE:
            break
    seconds = time.process_time() - began
    asked = sum(answers.values())
    told.update(asked=asked, answers=dict(answers), nodes=round(evaluations / asked))
    return (asked - answers["unknown"]) / seconds


def decisions(park: bool, drop: bool, count: int) -> dict[str, Any]:
    task = model("one-way-line", cells=10, packages=15, drop=drop, ice="5,7", park=park)
    found: dict[str, Any] = {}
    for seed in range(POLICIES):
        setup = Setup(task, seed)
        states, runs = unsafe_states(setup, count)
        found[f"network {seed}"] = own = {"greedy runs": runs}
        if not states:
            continue
        contestants = [(kind, order) for kind in DECIDERS for order in ORDERS]
        told: list[dict[str, Any]] = [{} for _ in contestants]
        # Where a question takes milliseconds, one round is enough.
        rates = alternate(
            RUNS if park else 1,
            *(
                partial(decide, setup, kind, order, states, own_told)
                for (kind, order), own_told in zip(contestants, told, strict=True)
            ),
        )
        for (kind, order), rate, more in zip(contestants, rates, told, strict=True):
            own[f"{kind}, order {order}"] = result = {"per_second": round(rate, 1), **more}
            if park and kind in PUBLISHED:
                result["times_published"] = round(rate / PUBLISHED[kind], 1)
            remark(
                f"park {park}, drop {drop}, network {seed}, {kind}, order {order}: {rate:,.1f}/s"
            )
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    results: dict[str, Any] = {"fuzzing on the two-way line": fuzzing()}
    for park in (True, False):
        for drop in (True, False):
            name = (
                f"one-way line, {'parking' if park else 'no parking'}{', falling' if drop else ''}"
            )
            results[name] = decisions(park, drop, count)
    report("safety on JANI models", results)


if __name__ == "__main__":
    main()
