"""Does learning from bugs get rid of them sooner than learning on? Five seeds, three domains, three arms.

    python -m benchmarks.learning_loop --out DIR --jobs 16

Each seed trains a network that is not safe yet. Then the loop of `misstep train loop` goes on from it: with episodes
that begin in bugs (bugs), as many steps without (plain), and with bugs and the shield (shield). Prints the table as
Markdown and writes DIR/study.json. Started again in the same folder it goes on.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.common import remark
from misstep.files import write_bytes
from misstep.tasks.jani.load import load_jani
from misstep.tasks.models import generate_model
from misstep.training.qlearning.loop import LoopSettings, Round, run_loop
from misstep.training.qlearning.settings import QSettings

SHIELD = "shield"


@dataclass(frozen=True)
class Study:
    domain: str
    options: dict[str, Any]
    first: int  # steps of the network that the loop begins with
    steps: int  # of each round


STUDIES = (
    Study("one-way-line", {"cells": 8, "packages": 3, "drop": True}, 24_000, 12_000),
    Study("bouncing-ball", {"horizon": 40}, 1_200, 1_200),
    Study("beluga", {"racks": 2, "lines": "0,3/2,1", "swaps": 6}, 30_000, 12_000),
)


def work(study: Study, seed: int, out: Path, rounds: int, scale: float) -> list[Round]:
    """All arms of one domain and seed."""
    from misstep.training.qlearning.trainer import resume, train

    folder = out / study.domain / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / "model.jani", generate_model(study.domain, **study.options).text.encode())
    task = load_jani(folder / "model.jani")
    learning = QSettings(
        hidden=(32, 32),
        steps=max(64, int(study.steps * scale)),
        seed=seed,
        horizon=100,
        checkpoints=4,
        epsilon_first=0.2,
        epsilon_last=0.05,
    )
    beginning = replace(
        learning, steps=max(64, int(study.first * scale)), epsilon_first=1.0, checkpoints=2
    )
    if (folder / "first" / "settings.json").exists():
        resume(task, folder / "first")
    else:
        train(task, folder / "first", beginning)
    init = folder / "first" / "last.jani2nnet"
    settings = LoopSettings(
        rounds=rounds,
        runs=max(10, int(200 * min(1.0, scale))),
        episodes=max(50, int(2000 * min(1.0, scale))),
        test_seconds=30,
        learning=learning,
    )
    rows = _looped(task, init, folder / "loop", settings)
    shielded = replace(settings, plain=False, learning=replace(learning, shield=True))
    more = _looped(task, init, folder / SHIELD, shielded)
    return rows + [replace(row, arm=SHIELD) for row in more]


def _looped(task: Any, init: Path, folder: Path, settings: LoopSettings) -> list[Round]:
    return run_loop(task, init, folder, settings, resume=(folder / "loop.json").exists())


def table(rows: Iterable[tuple[str, int, Round]]) -> str:
    """Means over the seeds: domain, arm and round."""
    groups: dict[tuple[str, str, int], list[Round]] = {}
    for domain, _, row in rows:
        groups.setdefault((domain, row.arm, row.round), []).append(row)
    lines = [
        "| domain | arm | round | goal | unsafe (least, most) | unsafe runs | bugs | seeds without bugs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (domain, arm, number), own in sorted(groups.items()):
        unsafe = [row.unsafe_rate for row in own]
        goals = sum(row.goal_rate for row in own) / len(own)
        runs = sum(row.unsafe_runs for row in own) / max(1, sum(row.runs for row in own))
        lines.append(
            f"| {domain} | {arm} | {number} | {goals:.1%} | {sum(unsafe) / len(own):.2%} "
            f"({min(unsafe):.2%}, {max(unsafe):.2%}) | {runs:.1%} | "
            f"{sum(row.bugs for row in own) / len(own):.1f} | "
            f"{sum(row.bugs == 0 for row in own)} of {len(own)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--domains", default=",".join(study.domain for study in STUDIES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of all steps, runs, episodes")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows: list[tuple[str, int, Round]] = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        futures = {
            pool.submit(work, study, seed, options.out, options.rounds, options.scale): (
                study.domain,
                seed,
            )
            for study in STUDIES
            if study.domain in options.domains.split(",")
            for seed in range(options.seeds)
        }
        for future in as_completed(futures):
            domain, seed = futures[future]
            failed = future.exception()
            if failed is not None:
                remark(f"failed: {domain}, seed {seed}: {failed!r}")
                continue
            rows += [(domain, seed, row) for row in future.result()]
            remark(f"done: {domain}, seed {seed}")
    document = [{"domain": domain, "seed": seed, **asdict(row)} for domain, seed, row in rows]
    write_bytes(options.out / "study.json", (json.dumps(document, indent=1) + "\n").encode())
    print(table(rows))


if __name__ == "__main__":
    main()
