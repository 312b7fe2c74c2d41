"""Trains the networks for safety models that Misstep ships, and writes their cards.

    python -m benchmarks.train_safety --out DIR [--domains one-way-line,beluga]

A shipped policy is a test subject: good, and not safe. So of the checkpoints of a training the best-rated one is taken
that has a proven bug: a start state from which a run of the policy gets unsafe although some strategy would not. DIR
gets `NAME.nnet`, `NAME.jani2nnet` and the card `NAME.json` for each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import remark
from misstep._core import CounterRandom
from misstep.files import write_bytes
from misstep.policies.networks import choose, load_network
from misstep.policies.networks.network import Network
from misstep.safety import Answer, Budget, Decider, FuzzSettings, System, fuzz
from misstep.tasks.jani.interface import load_interface, write_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from misstep.training.qlearning.evaluate import evaluate
from misstep.training.qlearning.settings import QSettings
from misstep.training.qlearning.trainer import columns_of, rating, train

RUNS = 300  # of the fuzzer
EPISODES = 1000  # of the rates on the card


@dataclass(frozen=True)
class Subject:
    model: str
    options: dict[str, Any]
    settings: QSettings
    name: str = field(default="")

    @property
    def title(self) -> str:
        return self.name or self.model

    def commands(self) -> list[str]:
        own = self.settings
        flags = [
            f"--{key.replace('_', '-')}" + ("" if value is True else f" {value}")
            for key, value in self.options.items()
        ]
        hidden = ",".join(map(str, own.hidden))
        return [
            " ".join(["misstep generate", self.model, *flags, "-o model.jani"]),
            f"misstep train qlearning model.jani --out DIR --hidden {hidden} --steps {own.steps} "
            f"--checkpoints {own.checkpoints} --horizon {own.horizon} --episodes {own.episodes} "
            f"--seed {own.seed}" + (" --uniform-outcomes" if own.uniform_outcomes else ""),
        ]


def _settings(steps: int, horizon: int, checkpoints: int) -> QSettings:
    return QSettings(
        hidden=(32, 32),
        steps=steps,
        horizon=horizon,
        checkpoints=checkpoints,
        episodes=200,
        uniform_outcomes=True,
    )


SUBJECTS = [
    Subject("one-way-line", {"cells": 8, "packages": 3, "drop": True}, _settings(80_000, 100, 16)),
    Subject("beluga", {"racks": 2, "lines": "0,3/2,1", "swaps": 6}, _settings(160_000, 100, 16)),
    Subject("inverted-pendulum", {"horizon": 100}, _settings(60_000, 150, 24)),
]


class Greedy:
    """The network as a policy on states."""

    def __init__(self, task: JaniTask, network: Network, columns: list[int]) -> None:
        self.task, self.network, self.columns = task, network, columns

    def act(self, state: State) -> int:
        mask = np.zeros((1, len(self.task.labels)), np.bool_)
        mask[0, self.task.applicable(state)] = True
        row = np.array([[float(state[i]) for i in self.columns]])
        return int(choose(self.network.evaluate(row), mask)[0])


def starts_of(task: JaniTask, count: int, seed: int = 0) -> list[State]:
    random = CounterRandom(seed, 7)
    return [task.sample_initial(random) for _ in range(count)]


def proven_bugs(
    task: JaniTask, network: Network, columns: list[int], starts: list[State]
) -> dict[str, Any]:
    """Fuzzing from start states; those of unsafe runs are decided."""
    system = System(task, Greedy(task, network, columns), initial=starts)
    report = fuzz(system, FuzzSettings("greedy", 1, runs=RUNS), seed=0, starts=starts)
    decider = Decider(system, budget=Budget(evaluations=200_000, seconds=20))
    found = {run.states[0] for run in report.runs if len(run)}
    decided = [(decider.decide(state).answer, state) for state in sorted(found)]
    answers = [answer for answer, _ in decided]
    return {
        "bug_at": next((task.text(s) for answer, s in decided if answer is Answer.SAFE), None),
        "runs": RUNS,
        "unsafe_runs": report.ends["unsafe"],
        "start_states": len(found),
        "bugs": answers.count(Answer.SAFE),
        "not_bugs": answers.count(Answer.NOT_SAFE),
        "unknown": answers.count(Answer.UNKNOWN),
    }


def make(subject: Subject, out: Path) -> dict[str, Any]:
    work = Path(tempfile.mkdtemp(prefix="misstep-safety-"))
    (work / "model.jani").write_text(generate_model(subject.model, **subject.options).text)
    task = load_jani(work / "model.jani")
    own = subject.settings
    summary = train(task, work / "training", own, report=lambda line: remark(json.dumps(line)))
    columns = columns_of(task, own)
    lines = [json.loads(t) for t in (work / "training" / "log.jsonl").read_text().splitlines()]
    starts = starts_of(task, 200)
    for line in sorted(lines, key=rating, reverse=True):
        network = load_network((work / "training" / line["network"]).with_suffix(".nnet"))
        bugs = proven_bugs(task, network, columns, starts)
        remark(f"{subject.title}: step {line['step']}: {bugs}")
        if bugs["bugs"]:
            break
    else:
        raise SystemExit(f"{subject.title}: no checkpoint has a bug")
    interface = load_interface(work / "training" / line["network"])
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{subject.title}.nnet"
    assert interface.policy_file is not None
    write_bytes(target, interface.policy_file.read_bytes())
    write_interface(
        target.with_suffix(".jani2nnet"),
        network=target,
        inputs=[item.name for item in interface.inputs],
        labels=interface.outputs,
        hidden=interface.hidden,
    )
    test: dict[str, Any] = {
        "seed": 1,
        "horizon": own.horizon,
        "uniform_outcomes": own.uniform_outcomes,
    }
    rates = evaluate(task, network, columns, episodes=EPISODES, **test)
    card = {
        "model": subject.model,
        "options": subject.options,
        "commands": subject.commands(),
        "checkpoint": line["network"],
        "seed": own.seed,
        "training_steps": line["step"],
        "training_seconds": summary.seconds,
        "inputs": network.inputs,
        "outputs": network.outputs,
        "hidden": list(interface.hidden),
        "digest": network.digest,
        "test": {**test, **rates},
        "fuzzing": bugs,
    }
    write_bytes(target.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
    return card


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--domains", default=",".join(s.title for s in SUBJECTS))
    options = parser.parse_args()
    chosen = options.domains.split(",")
    cards = {s.title: make(s, options.out) for s in SUBJECTS if s.title in chosen}
    print(json.dumps(cards))


if __name__ == "__main__":
    main()
