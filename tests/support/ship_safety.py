"""Makes the networks for safety models that Misstep ships from those of sweeps.

    PYTHONPATH=src python tests/support/ship_safety.py --out src/misstep/shipped/safety DIR/chosen/*.jani2nnet

Weights are rounded to four digits, which makes the files small. What is rounded is another network, so it is judged
again, with more episodes and runs than the sweep could afford, and its card says what came out. An ensemble of trees is
fitted to it and kept where it reaches the goal in at least three of ten episodes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.files import write_bytes
from misstep.policies.networks import load_network
from misstep.policies.networks.mlp import Layer, MlpWeights, Normalisation
from misstep.policies.networks.nnet import decode_nnet, write_nnet
from misstep.tasks.jani.interface import load_interface, write_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.judging import Effort, judge_network
from misstep.training.qlearning.published import domain_of
from misstep.training.qlearning.subjects import keep_forest

Floats = NDArray[np.float64]
DIGITS = 4
EFFORT = Effort(episodes=1000, runs=1000, starts=500, decided=50, seconds=2.0)
GOOD_TREES = 0.3


def rounded(weights: MlpWeights) -> MlpWeights:
    def short(values: Floats) -> Floats:
        flat = [float(f"{value:.{DIGITS}g}") for value in values.ravel()]
        return np.array(flat, dtype=np.float64).reshape(values.shape)

    layers = tuple(Layer(short(own.matrix), short(own.bias)) for own in weights.layers)
    old = weights.normalisation
    assert old is not None
    new = Normalisation(old.mean, old.range, old.output_mean, old.output_range)
    return MlpWeights(layers, new, weights.activation)


def ship(source: Path, out: Path, work: Path) -> dict[str, Any]:
    interface = load_interface(source)
    card: dict[str, Any] = json.loads(source.with_suffix(".json").read_text(encoding="utf-8"))
    domain = domain_of(card["model"])
    model = work / f"{domain.name}.jani"
    write_bytes(model, domain.model_text().encode())
    task: JaniTask = load_jani(model)
    target = out / f"{domain.name}.nnet"
    assert interface.policy_file is not None
    weights = decode_nnet(interface.policy_file.read_bytes(), str(interface.policy_file))
    write_nnet(rounded(weights), target)
    write_interface(
        target.with_suffix(".jani2nnet"),
        network=target,
        inputs=[item.name for item in interface.inputs],
        labels=interface.outputs,
        hidden=interface.hidden,
    )
    columns = interface.columns(task)
    judged = judge_network(task, target, columns, domain.horizon, EFFORT)
    card |= {
        "digits": DIGITS,
        "digest": load_network(target).digest,
        "test": {"seed": EFFORT.seed, "horizon": domain.horizon, **judged.episodes},
        "fuzzing": judged.fuzzing,
    }
    write_bytes(target.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
    sys.stderr.write(f"{domain.name}: {judged.episodes} {judged.fuzzing}\n")
    trees = keep_forest(out, domain, task, EFFORT, 20)
    good = trees["test"]["goal_rate"] >= GOOD_TREES
    sys.stderr.write(f"{domain.name}-trees: {trees['test']}, {'kept' if good else 'not kept'}\n")
    if not good:
        for ending in ("ensemble.json", "jani2nnet", "json"):
            (out / f"{domain.name}-trees.{ending}").unlink()
    return card


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp"))
    parser.add_argument("networks", type=Path, nargs="+")
    options = parser.parse_args()
    for source in options.networks:
        ship(source, options.out, options.work)


if __name__ == "__main__":
    main()
