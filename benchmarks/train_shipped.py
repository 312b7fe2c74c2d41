"""Trains the policies that Misstep ships, and the table of P25's selection criteria over several seeds.

    python -m benchmarks.train_shipped --out DIR [--jobs N] [--domains gripper,ferry] [--seeds 4] [--scale 1.0]

A process for each domain and seed, with one thread each. For each domain DIR gets `DOMAIN.safetensors` and its card,
`DOMAIN.json` and `DOMAIN.md`; `criteria.json` is the table; with --keep, `trainings/` has every model.

A shipped policy is a test subject: good enough to solve most small tasks, and not perfect. So of all models of a domain
that solve at least most of the held-out tasks, the best-scored one with proven bugs is taken; only if there is none
the best of all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import remark
from benchmarks.models import common_states, read_tree, results_of
from misstep.policies.asnet.model_file import read_model, write_model
from misstep.policies.asnet.weights import LAYERS, Weights
from misstep.tasks.domains import generate, write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from misstep.training.algorithms import CRITERIA, select_offline
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.testing import TestSettings, summarise
from misstep.training.trainer import train

Sizes = dict[str, int]
GOOD = 0.6  # of the held-out tasks
TEST = TestSettings(pool_size=50, seed=7)  # on the held-out tasks


@dataclass(frozen=True)
class Subject:
    """How a domain is trained. Tasks are sizes with the seed of the generator."""

    train: list[Sizes]
    validate: list[Sizes]
    test: list[Sizes]
    epochs: int  # over all lines
    steps: int
    n_init: int = 4
    unit_costs: bool = False
    layers: int = 2


def _each(seeds: range, *sizes: Sizes) -> list[Sizes]:
    return [{**size, "seed": seed} for size in sizes for seed in seeds]


SUBJECTS: dict[str, Subject] = {
    "gripper": Subject(
        train=_each(range(1), *({"balls": n} for n in (1, 2, 3, 4))),
        validate=_each(range(1, 2), *({"balls": n, "scatter": 50} for n in (5, 6, 7, 8, 9))),
        test=_each(
            range(2, 3), *({"balls": n, "scatter": s} for n in (6, 10, 12, 16, 20) for s in (0, 50))
        ),
        epochs=40,
        steps=20,
    ),
    "blocksworld": Subject(
        train=_each(range(1, 3), *({"blocks": n} for n in (3, 4, 5))),
        validate=_each(range(100, 102), *({"blocks": n} for n in (6, 7, 8, 9, 10))),
        test=_each(range(200, 206), *({"blocks": n} for n in (6, 7, 8, 9, 10))),
        epochs=60,
        steps=250,
    ),
    "ferry": Subject(
        train=_each(
            range(1, 2), *({"cars": c, "locations": n} for c, n in ((1, 2), (2, 3), (3, 3), (3, 4)))
        ),
        validate=_each(
            range(100, 102),
            *({"cars": c, "locations": n} for c, n in ((4, 4), (5, 4), (5, 6), (6, 5))),
        ),
        test=_each(
            range(200, 203),
            *({"cars": c, "locations": n} for c, n in ((4, 5), (6, 6), (8, 6), (10, 8))),
        ),
        epochs=40,
        steps=100,
    ),
    "visitall": Subject(
        train=[
            {"width": w, "height": h, "percent": p, "seed": 1}
            for w, h, p in ((2, 2, 100), (3, 2, 100), (3, 3, 100), (3, 3, 60), (4, 3, 60))
        ],
        validate=[
            {"width": w, "height": h, "percent": p, "seed": 100 + p}
            for w, h in ((3, 4), (4, 4), (5, 4), (5, 5))
            for p in (50, 100)
        ],
        test=[
            {"width": w, "height": h, "percent": p, "seed": 200 + p}
            for w, h in ((4, 4), (5, 4), (5, 5), (6, 5), (6, 6))
            for p in (50, 80, 100)
        ],
        epochs=60,
        steps=150,
    ),
    "transport": Subject(
        train=[
            {"vehicles": v, "packages": p, "locations": n, "seed": s}
            for v, p, n, s in (
                (1, 1, 3, 1),
                (1, 2, 4, 1),
                (2, 2, 4, 1),
                (1, 3, 4, 2),
                (1, 2, 5, 3),
                (2, 1, 5, 4),
                (1, 1, 6, 5),
            )
        ],
        validate=[
            {"vehicles": v, "packages": p, "locations": n, "seed": 100 + s}
            for v, p, n in ((1, 3, 4), (2, 3, 5), (2, 4, 6), (3, 4, 6))
            for s in (0, 1)
        ],
        test=[
            {"vehicles": v, "packages": p, "locations": n, "seed": 200 + s}
            for v, p, n in ((1, 3, 5), (2, 4, 5), (2, 5, 6), (3, 6, 7))
            for s in (0, 1, 2)
        ],
        epochs=60,
        steps=150,
        unit_costs=True,
        layers=3,
    ),
}


LONGEST = ["transport", "blocksworld", "visitall", "ferry", "gripper"]


def make_tasks(domain: str, sizes: list[Sizes], folder: Path) -> list[Task]:
    tasks = []
    for size in sizes:
        instance = generate(domain, **size)
        # Another process may be writing the same one.
        files = write_instance(instance, folder / str(os.getpid()) / instance.name)
        task = load_task(*files)
        task.name = instance.name
        tasks.append(task)
    return tasks


def settings_of(subject: Subject, seed: int, scale: float) -> TrainingSettings:
    lines = max(1, round(subject.epochs * scale) // subject.n_init)
    return TrainingSettings(
        config="line",
        epochs=lines * subject.n_init,
        n_init=subject.n_init,
        seed=seed,
        layers=subject.layers,
        all_states=True,
        unit_costs=subject.unit_costs,
        learner=LearnerSettings(steps=subject.steps),
    )


def one_training(domain: str, seed: int, out: Path, scale: float, device: str) -> dict[str, Any]:
    """Train one seed of a domain and test all its models on the held-out tasks."""
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    subject = SUBJECTS[domain]
    folder = out / "trainings" / f"{domain}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    sources = out / "tasks"
    tasks = make_tasks(domain, subject.train, sources)
    validation = make_tasks(domain, subject.validate, sources)
    settings = settings_of(subject, seed, scale)
    summary = train(tasks, validation, folder, settings, device=device)
    tree = read_tree(folder)
    held_out = make_tasks(domain, subject.test, sources)
    results = results_of(folder, tree, held_out, TEST)
    solved = {id: sum(r.initial_solved for r in own) for id, own in results.items()}
    chosen = {criterion: select_offline(tree, criterion, solved) for criterion in CRITERIA}
    return {
        "domain": domain,
        "seed": seed,
        "folder": str(folder),
        "summary": summary.seconds,
        "chosen": chosen,
        "table": {name: summarise(results[id]) for name, id in chosen.items()},
        # The share of states is over tasks that all compared policies solve, as in P25.
        "common": common_states(results, list(chosen.values())),
        "models": {id: summarise(own) for id, own in results.items()},
        "scores": [float(score) for score in tree.scores()],
        "validation": {node.id: summarise(node.results) for node in tree},
        "details": {id: [r.as_dict() for r in own] for id, own in results.items()},
        "seconds": round(time.perf_counter() - began, 1),
    }


def pick(runs: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """The model to ship: the best one with bugs among those that solve most held-out tasks."""

    def order(run: dict[str, Any], id: int) -> tuple[float, ...]:
        own, validated = run["models"][id], run["validation"][id]
        return own["coverage"], validated["coverage"], own["solved"], -own["bugs"], -id

    candidates = [(run, id) for run in runs for id in run["models"]]
    tested = [
        (run, id)
        for run, id in candidates
        if run["models"][id]["coverage"] >= GOOD * run["models"][id]["tasks"]
        and run["models"][id]["bugs"] > 0
    ]
    return max(tested or candidates, key=lambda pair: order(*pair))


def ship(domain: str, runs: list[dict[str, Any]], out: Path, scale: float) -> dict[str, Any]:
    run, id = pick(runs)
    subject = SUBJECTS[domain]
    settings = settings_of(subject, run["seed"], scale)
    weights, _ = read_model(Path(run["folder"]) / "models" / f"{id:04d}.safetensors")
    own = run["models"][id]
    notes = {**weights.training, "domain": domain, "coverage": [own["coverage"], own["tasks"]]}
    path = out / f"{domain}.safetensors"
    digest = write_model(
        Weights(weights.shape, weights.hidden, weights.layers, weights.tensors, notes), path
    )
    names = {
        key: [generate(domain, **size).name for size in getattr(subject, key)]
        for key in ("train", "validate", "test")
    }
    unsolved = [r["task"] for r in run["details"][id] if not r["initial_solved"]]
    costly = sorted(
        (r for r in run["details"][id] if r["initial_solved"] and r["bugs"]),
        key=lambda r: -r["bugs"] / r["processed"],
    )
    card = {
        "policy": path.name,
        "domain": domain,
        "digest": digest,
        "bytes": path.stat().st_size,
        "architecture": {
            "hidden": weights.hidden,
            "layers": weights.layers,
            "parameters": weights.parameter_count,
        },
        "seed": run["seed"],
        "model": id,
        "command": command(settings, names),
        "training": {
            "tasks": names["train"],
            "loss": weights.training.get("loss"),
            "success": weights.training.get("success"),
        },
        "validation": {"names": names["validate"], **run["validation"][id]},
        "held_out": {"names": names["test"], **own},
        "test": {"pool": TEST.pool_size, "seed": TEST.seed, "oracle": TEST.oracle},
        "known_weaknesses": {
            "unsolved": unsolved,
            "bugs": {r["task"]: f"{r['bugs']} of {r['processed']} states" for r in costly[:10]},
        },
    }
    (out / f"{domain}.json").write_text(json.dumps(card, indent=1) + "\n")
    (out / f"{domain}.md").write_text(card_text(card))
    return card


def command(settings: TrainingSettings, names: dict[str, list[str]]) -> str:
    """What makes all models again, once the instances are generated (their names hold the sizes)."""
    options = f"--config {settings.config} --epochs {settings.epochs} --inits {settings.n_init}"
    options += f" --steps {settings.learner.steps} --seed {settings.seed} --all-states"
    if settings.layers != LAYERS:
        options += f" --layers {settings.layers}"
    if settings.unit_costs:
        options += " --unit-costs"
    files = {key: " ".join(f"{name}/problem.pddl" for name in own) for key, own in names.items()}
    domain = f"{names['train'][0]}/domain.pddl"
    return f"misstep train asnet {domain} {files['train']} --validate {files['validate']} {options} --out DIR"


def card_text(card: dict[str, Any]) -> str:
    held, weak = card["held_out"], card["known_weaknesses"]
    size = f"{card['architecture']['parameters']:,} parameters, {card['bytes']:,} bytes"
    states = f"{held['solved']} of {held['processed']} test states solved, {held['bugs']} counted as bugs"
    training, validation, test = card["training"], card["validation"], card["test"]
    lines = [
        f"# {card['domain']}: an ASNet",
        "",
        f"{size}, seed {card['seed']}, model {card['model']} of its training.",
        "",
        f"- Trained on: {', '.join(training['tasks'])}. It solves {training['success']:.0%} of them.",
        f"- Validation: {validation['coverage']} of {validation['tasks']} tasks.",
        f"- Held out: {held['coverage']} of {held['tasks']} tasks; {states}.",
        "  A task that is not solved from its initial state counts as all bugs.",
        f"  Pools of {test['pool']} states a task from random walks (seed {test['seed']}), oracle `{test['oracle']}`.",
        "- Chosen among the models of all seeds by these same tasks: expect less on others.",
        f"- Known weaknesses: fails on {', '.join(weak['unsolved']) or 'none of them'}.",
    ]
    lines += [f"  {task}: {text} are proven bugs." for task, text in weak["bugs"].items()]
    lines += ["", "Made by:", "", "```", card["command"], "```", ""]
    return "\n".join(lines)


def criteria_table(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """P25's upper table: means over the seeds."""
    table: dict[str, Any] = {}
    for domain in dict.fromkeys(run["domain"] for run in runs):
        own = [run for run in runs if run["domain"] == domain]
        rows = {}
        for criterion in CRITERIA:
            results = [run["table"][criterion] for run in own]
            common = [run["common"][str(run["chosen"][criterion])] for run in own]
            processed = max(1, sum(c["processed"] for c in common))
            rows[criterion] = {
                "coverage": [r["coverage"] for r in results],
                "mean_coverage": sum(r["coverage"] for r in results) / len(results),
                "solved_states": round(sum(c["solved"] for c in common) / processed, 4),
                "bug_states": round(sum(c["bugs"] for c in common) / processed, 4),
            }
        table[domain] = {
            "tasks": own[0]["table"][CRITERIA[0]]["tasks"],
            "seeds": [run["seed"] for run in own],
            "seconds": [run["seconds"] for run in own],
            "criteria": rows,
        }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--domains", default=",".join(SUBJECTS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of epochs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--keep", action="store_true", help="keep all models, not only the shipped")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    domains = arguments.domains.split(",")
    began = time.perf_counter()
    # Translations and threads of the workers must not fight for cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MKL_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    runs: list[dict[str, Any]] = []
    with ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        jobs = {
            pool.submit(one_training, domain, seed, out, arguments.scale, arguments.device): (
                domain,
                seed,
            )
            for domain in sorted(domains, key=LONGEST.index)  # no long one is left for the end
            for seed in range(1, arguments.seeds + 1)
        }
        for job in as_completed(jobs):
            run = job.result()
            runs.append(run)
            row = {name: own["coverage"] for name, own in run["table"].items()}
            remark(f"{run['domain']} seed {run['seed']}: {run['seconds']} s, {row}")
    runs.sort(key=lambda run: (domains.index(run["domain"]), run["seed"]))
    cards = {
        d: ship(d, [run for run in runs if run["domain"] == d], out, arguments.scale)
        for d in domains
    }
    table = criteria_table(runs)
    (out / "criteria.json").write_text(json.dumps(table, indent=1) + "\n")
    shutil.rmtree(out / "tasks", ignore_errors=True)
    if not arguments.keep:
        shutil.rmtree(out / "trainings")
    json.dump(
        {
            "benchmark": "train_shipped",
            "seconds": round(time.perf_counter() - began, 1),
            "criteria": table,
            "shipped": {
                d: {
                    "held_out": card["held_out"],
                    "bytes": card["bytes"],
                    "seed": card["seed"],
                    "model": card["model"],
                }
                for d, card in cards.items()
            },
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
