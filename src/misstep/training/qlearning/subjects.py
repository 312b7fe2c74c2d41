"""Writes a test subject: a chosen network, or the trees fitted to it, as files with a card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from misstep.files import write_bytes
from misstep.policies.networks import load_network
from misstep.policies.networks.trees import encode_ensemble
from misstep.tasks.jani.interface import load_interface, write_interface
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.forest import ForestSettings, agreement, collect, fit_forest
from misstep.training.qlearning.judging import Candidate, Effort, judge_network
from misstep.training.qlearning.published import Domain


def keep_network(
    sweep: Path, chosen: Candidate, domain: Domain, task: JaniTask, folder: Path, name: str
) -> dict[str, Any]:
    """`NAME.nnet` with its interface and its card, which is returned."""
    interface = load_interface(sweep / chosen.network)
    assert interface.policy_file is not None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.nnet"
    write_bytes(target, interface.policy_file.read_bytes())
    inputs = [item.name for item in interface.inputs]
    _interface(target, inputs, interface.outputs, interface.hidden)
    network = load_network(target)
    ignored = domain.ignored(task)
    settings = domain.settings(task, chosen.width, chosen.seed)
    card = {
        "model": domain.name,
        "options": domain.options,
        "commands": [
            domain.generate_command(),
            "python -m misstep.training.qlearning.sweep --out DIR "
            f"--domains {domain.name} --widths {chosen.width} --seeds {chosen.seed + 1}",
        ],
        "chosen": "most goals among the checkpoints with an unsafe episode or fuzzing run"
        if chosen.judged.is_unsafe
        else "most goals; no checkpoint had an unsafe episode or fuzzing run",
        "checkpoint": f"w{chosen.width}-s{chosen.seed}/checkpoints/{chosen.step:09}.jani2nnet",
        "seed": chosen.seed,
        "training_steps": chosen.step,
        "epsilon_steps": settings.epsilon_steps,
        "inputs": network.inputs,
        "outputs": network.outputs,
        "ignored": list(ignored),
        "hidden": list(interface.hidden),
        "digest": network.digest,
        "test": {"seed": Effort().seed, "horizon": domain.horizon, **chosen.judged.episodes},
        "fuzzing": chosen.judged.fuzzing,
    }
    write_bytes(target.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
    return card


def keep_forest(
    folder: Path, domain: Domain, task: JaniTask, effort: Effort, trees: int
) -> dict[str, Any]:
    """`NAME-trees.ensemble.json`, fitted to the network NAME in the folder, with its interface and card."""
    interface = load_interface(folder / f"{domain.name}.jani2nnet")
    network = load_network(folder / f"{domain.name}.nnet")
    columns = interface.columns(task)
    settings = ForestSettings(trees=trees)
    sample = collect(task, network, columns, domain.horizon, settings, domain.starts(task))
    ensemble = fit_forest(sample, settings)
    target = folder / f"{domain.name}-trees.ensemble.json"
    write_bytes(target, encode_ensemble(ensemble).encode())
    inputs = [item.name for item in interface.inputs]
    _interface(folder / f"{domain.name}-trees.json", inputs, interface.outputs, (), target)
    fitted = load_network(target)
    judged = judge_network(task, target, columns, domain.horizon, effort)
    card = {
        "model": domain.name,
        "options": domain.options,
        "commands": [domain.generate_command()],
        "fitted_to": domain.name,
        "trees": settings.trees,
        "depth": settings.depth,
        "states": len(sample.rows),
        "agreement": round(agreement(sample, fitted), 4),
        "ignored": list(domain.ignored(task)),
        "inputs": fitted.inputs,
        "outputs": fitted.outputs,
        "digest": fitted.digest,
        "test": {"seed": effort.seed, "horizon": domain.horizon, **judged.episodes},
        "fuzzing": judged.fuzzing,
    }
    path = folder / f"{domain.name}-trees.json"
    write_bytes(path, (json.dumps(card, indent=1) + "\n").encode())
    return card


def _interface(
    target: Path,
    inputs: list[str],
    labels: tuple[str, ...],
    hidden: tuple[int, ...],
    network: Path | None = None,
) -> None:
    write_interface(
        target.with_suffix(".jani2nnet"),
        network=network or target,
        inputs=inputs,
        labels=labels,
        hidden=hidden,
    )


__all__ = ["keep_forest", "keep_network"]
