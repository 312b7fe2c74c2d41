"""The two tables of P25 on tasks of the IPC 2023 learning track, at a scale that fits the time there is.

    python -m benchmarks.p25 --out DIR [--scale smallest|small|medium|paper] [--domains a,b] [--jobs 2]

Upper table: the models of one `line` training, chosen by each of the five offline criteria. Lower table: the training
configurations, with several budgets of epochs, chosen by pi-test-val. As in the paper, training tasks are the first
ones of the track, validation tasks are spread over the rest, all policies meet the same pools, and numbers are means
over repetitions. `start` is what the other configurations have after their start-up phase. A domain that cannot be
handled stays in the tables, with the reason. The file of tables is written anew after each repetition.

The smallest scale takes less than an hour on two cores. It has fewer and smaller tasks, fewer epochs and one
repetition, and shows that the machinery works, not what the paper found.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import remark, report
from benchmarks.models import common_states, read_tree, results_of
from misstep.errors import MisstepError, UnsupportedError
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from misstep.training.algorithms import CRITERIA, select_offline
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.testing import TestSettings, summarise
from misstep.training.trainer import train
from misstep.training.tree import PolicyTree

DATA = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "ipc23-learning"
CONFIGURATIONS = ("line", "line-pitest", "tree", "tree-pitest")


@dataclass(frozen=True)
class Scale:
    """How much of the paper's experiment is done."""

    train: int
    validate: int
    last_validate: int  # of the numbers of training tasks
    test: int  # of each difficulty
    difficulties: tuple[str, ...]
    budgets: tuple[int, ...]
    n_init: int
    n_start: int
    steps: int
    validation_pool: int
    test_pool: int
    repetitions: int
    teacher_expansions: int
    max_operators: (
        int  # larger tasks are left out, as in the paper those that do not fit into memory
    )


SCALES = {
    "smallest": Scale(12, 8, 45, 10, ("easy",), (8, 16), 2, 2, 250, 15, 20, 1, 2_000, 1_500),
    "small": Scale(12, 10, 60, 12, ("easy",), (16, 24), 4, 2, 200, 25, 50, 2, 10_000, 4_000),
    "medium": Scale(20, 20, 100, 30, ("easy",), (40, 60), 4, 5, 700, 50, 100, 2, 50_000, 10_000),
    "paper": Scale(
        20,
        40,
        100,
        30,
        ("easy", "medium", "hard"),
        (40, 60, 80, 240),
        4,
        5,
        700,
        50,
        100,
        4,
        100_000,
        1_000_000,
    ),
}


def load(domain: Path, files: list[Path], scale: Scale) -> list[Task]:
    tasks = []
    for file in files:
        try:
            task = load_task(domain, file)
        except MisstepError as error:
            remark(f"{file}: left out, {error}")
            continue
        if 0 < task.operator_count <= scale.max_operators:
            task.name = f"{file.parent.name}-{file.stem}"
            tasks.append(task)
    return tasks


def split_training(files: list[Path], scale: Scale) -> tuple[list[Path], list[Path]]:
    """The first ones to train on, others spread over the rest to validate on."""
    rest = files[scale.train : scale.last_validate]
    step = max(1, len(rest) // scale.validate)
    return files[: scale.train], rest[::step][: scale.validate]


def one_repetition(
    data: Path, name: str, repetition: int, out: Path, scale: Scale
) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    began, began_cpu = time.perf_counter(), time.process_time()
    folder = data / name
    domain = folder / "domain.pddl"
    training, validating = split_training(sorted((folder / "training").rglob("*.pddl")), scale)
    tasks, validation = load(domain, training, scale), load(domain, validating, scale)
    test_files = [
        file
        for difficulty in scale.difficulties
        for file in sorted((folder / "testing" / difficulty).glob("*.pddl"))[: scale.test]
    ]
    tests = load(domain, test_files, scale)
    for kind, found in (("training", tasks), ("validation", validation), ("test", tests)):
        if not found:
            raise UnsupportedError(f"no {kind} task with at most {scale.max_operators} operators")
    test_settings = TestSettings(pool_size=scale.test_pool, seed=11)
    lower: dict[str, dict[str, int]] = {}
    upper: dict[str, Any] = {}
    for budget in scale.budgets:
        row: dict[str, int] = {}
        for config in CONFIGURATIONS:
            settings = TrainingSettings(
                config=config,
                epochs=budget,
                n_init=scale.n_init,
                n_start=scale.n_start,
                seed=repetition,
                unit_costs=True,
                teacher_expansions=scale.teacher_expansions,
                learner=LearnerSettings(steps=scale.steps),
                test=TestSettings(pool_size=scale.validation_pool, seed=5),
            )
            place = out / f"{name}-{repetition}-{config}-{budget}"
            shutil.rmtree(place, ignore_errors=True)
            train(tasks, validation, place, settings)
            tree = read_tree(place)
            if config == "line" and budget == max(scale.budgets):
                upper = criteria(place, tree, tests, test_settings)
                row[config] = upper["criteria"]["pi-test-val"]["coverage"]
                continue
            chosen = [select_offline(tree, "pi-test-val")]
            first = scale.n_init * (1 + scale.n_start)
            if config == "tree-pitest":
                chosen.append(select_offline(PolicyTree(tree.nodes[:first]), "pi-test-val"))
            results = results_of(place, tree, tests, test_settings, chosen)
            row[config] = summarise(results[chosen[0]])["coverage"]
            if config == "tree-pitest":
                row["start"] = summarise(results[chosen[1]])["coverage"]
        lower[str(budget)] = row
    return {
        "domain": name,
        "repetition": repetition,
        "sizes": {"train": len(tasks), "validate": len(validation), "test": len(tests)},
        "upper": upper,
        "lower": lower,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - began_cpu, 1),
    }


def criteria(
    place: Path, tree: PolicyTree, tests: list[Task], settings: TestSettings
) -> dict[str, Any]:
    results = results_of(place, tree, tests, settings)
    solved = {id: sum(r.initial_solved for r in own) for id, own in results.items()}
    chosen = {criterion: select_offline(tree, criterion, solved) for criterion in CRITERIA}
    # The paper compares states between the three criteria that look at more than training tasks.
    common = common_states(
        results, [chosen[c] for c in ("solved-val", "pi-test-val", "solved-test")]
    )
    return {
        "criteria": {
            name: {"model": id, "coverage": solved[id], "states": common.get(str(id))}
            for name, id in chosen.items()
        }
    }


def tables(runs: list[dict[str, Any]]) -> dict[str, Any]:
    def mean(values: list[float]) -> float:
        return round(sum(values) / len(values), 2)

    found: dict[str, Any] = {}
    for domain in sorted({run["domain"] for run in runs}):
        own = [run for run in runs if run["domain"] == domain]
        rows = {}
        for criterion in CRITERIA:
            entries = [run["upper"]["criteria"][criterion] for run in own]
            row: dict[str, Any] = {"coverage": mean([entry["coverage"] for entry in entries])}
            states = [entry["states"] for entry in entries if entry["states"]]
            processed = sum(s["processed"] for s in states)
            if criterion not in ("early-train", "loss-train") and processed:
                row["solved_percent"] = round(100 * sum(s["solved"] for s in states) / processed, 1)
                row["bug_percent"] = round(100 * sum(s["bugs"] for s in states) / processed, 1)
            rows[criterion] = row
        budgets = own[0]["lower"]
        found[domain] = {
            "sizes": own[0]["sizes"],
            "criteria": rows,
            "configurations": {
                budget: {c: mean([run["lower"][budget][c] for run in own]) for c in budgets[budget]}
                for budget in budgets
            },
            "seconds": [run["seconds"] for run in own],
            "cpu_seconds": [run["cpu_seconds"] for run in own],
        }
    return found


def show(found: dict[str, Any], failed: dict[str, str]) -> None:
    remark("\ncoverage by criterion: " + ", ".join(CRITERIA))
    for domain, entry in found.items():
        values = "  ".join(f"{entry['criteria'][c]['coverage']:6.1f}" for c in CRITERIA)
        remark(f"{domain:12} {entry['sizes']['test']:3}  {values}")
    remark("\ncoverage by configuration")
    for domain, entry in found.items():
        for budget, row in entry["configurations"].items():
            values = "  ".join(f"{c} {value:.1f}" for c, value in row.items())
            remark(f"{domain:12} {budget:>4} epochs  {values}")
    for domain, reason in failed.items():
        remark(f"{domain:12} not handled: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", choices=SCALES, default="smallest")
    parser.add_argument("--domains")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no benchmarks at {arguments.data}")
    scale = SCALES[arguments.scale]
    names = (
        arguments.domains.split(",")
        if arguments.domains
        else sorted(folder.parent.name for folder in arguments.data.glob("*/domain.pddl"))
    )
    repetitions = arguments.repetitions or scale.repetitions
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    runs: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    results: dict[str, Any] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        jobs = {
            pool.submit(one_repetition, arguments.data, name, r, arguments.out, scale): name
            for name in names
            for r in range(1, repetitions + 1)
        }
        for job in as_completed(jobs):
            name = jobs[job]
            try:
                runs.append(job.result())
                remark(f"{name}: {runs[-1]['seconds']} s, {json.dumps(runs[-1]['lower'])}")
            except Exception as error:  # The other domains are not to be lost by any of them.
                failed[name] = f"{type(error).__name__}: {error}"
                remark(f"{name}: {failed[name]}")
            results = {
                "scale": arguments.scale,
                **asdict(scale),
                "repetitions": repetitions,
                "seconds": round(time.perf_counter() - began, 1),
                "failed": failed,
                "domains": tables(runs),
            }
            (arguments.out / "tables.json").write_text(json.dumps(results, indent=1) + "\n")
    show(results["domains"], failed)
    report("p25", results)


if __name__ == "__main__":
    main()
