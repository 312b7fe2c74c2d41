"""Whoever is killed at any moment and told to go on ends as if nothing was: campaigns of both worlds, and trainings.

    PYTHONPATH=src:tests python -m support.storm --kills 1000 --jobs 16

A victim works in a process of its own, which is killed by SIGKILL at random moments, from the start of Python on, and
started again on the same folder, with one process or with several, until it is done. What it leaves behind must be
what an undisturbed run leaves. A victim that is done before its kills are used up is followed by another one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.tasks.domains import generate as generate_instance
from misstep.tasks.generate import generate
from misstep.tasks.jani.load import load_jani
from misstep.tasks.load import AnyTask, load_task
from misstep.tasks.models import generate_model
from misstep.tasks.pddl.load import load_planning_task
from support.campaigns import told
from support.unsteady import PLANNING

COMPARING = "bmo(10), bmo(20)+aras/ehc"
SHARED: dict[str, Any] = {"planning": {"chunk": 5, "round": 3}}


@dataclass(frozen=True)
class Victim:
    """What is killed: `work` goes on in a folder with so many processes; `result` is what has to be the same."""

    work: Callable[[Path, int], None]
    result: Callable[[Path], object]
    size: Callable[[Path], int]
    """How much is done, which never gets less."""
    check: Callable[[Path], None] = lambda _: None
    kills: int = 25
    """At most. With more of them, a victim that takes long to begin would never get any further."""


# -- campaigns ------------------------------------------------------------------------------------

CAMPAIGNS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "planning": (
        {"domain": "blocksworld", "blocks": 5},
        "noisy:0.3:1+heuristic:ff",
        {"pool": 80, "oracle": COMPARING, "config": SHARED, "max_steps": 60},
    ),
    "model": (
        {"domain": "two-way-line", "cells": 12, "packages": 3, "vmax": 3},
        "random:3",
        {"runs": 6_000, "config": {"model": {"batch": 50}}, "radius": 1},
    ),
}


# Policies in Python, which are asked again: one that is a function of the state, and one that is not.
ASKED_AGAIN: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    name: ({"domain": "gripper", "balls": 4}, policy, {"pool": 120, "oracle": "exact"})
    for name, policy in (("python", "Steady"), ("random", "Random"))
}


def campaign_task(name: str) -> AnyTask:
    choices = dict({**CAMPAIGNS, **ASKED_AGAIN}[name][0])
    return load_task(generate(choices.pop("domain"), **choices))


def _test(name: str) -> Callable[[Path, int], None]:
    def work(out: Path, jobs: int) -> None:
        _, policy, how = CAMPAIGNS[name]
        run_campaign(campaign_task(name), policy, out=out, resume=True, jobs=jobs, **how).close()

    return work


def _test_python(name: str) -> Callable[[Path, int], None]:
    def work(out: Path, jobs: int) -> None:
        _, policy, how = ASKED_AGAIN[name]
        file = out.parent / "policies.py"
        if not file.exists():
            file.write_text(PLANNING)
        spec, task = f"python:{file}:{policy}", campaign_task(name)
        run_campaign(task, spec, out=out, resume=True, jobs=jobs, **how).close()

    return work


def _records(out: Path) -> object:
    with open_campaign(out) as found:
        return told(found), found.summary.finished


def _units(out: Path) -> int:
    if not (out / "run.db").exists():
        return 0
    with open_campaign(out) as found:
        return int(found._store.rows("SELECT count(*) FROM units")[0][0])


def _units_without_bugs(out: Path) -> int:
    """At no moment has a random policy a bug."""
    if not (out / "run.db").exists():
        return 0
    with open_campaign(out) as found:
        summary = found.summary
        assert (summary.bugs["total"], summary.optimal) == (0, 0), str(summary)
        query = "SELECT count(*) FROM units WHERE stage != 'confirmed'"
        return int(found._store.rows(query)[0][0])


def _verdicts(out: Path) -> object:
    with open_campaign(out) as found:
        return {record.verdict for record in found.records}, found.summary.finished


def _replays(out: Path) -> None:
    with open_campaign(out, trust_policy=True) as found:
        assert found.summary.finished
        assert found.replay(rerun=True).ok


# -- trainings ------------------------------------------------------------------------------------


def _train_asnet(out: Path, jobs: int) -> None:  # noqa: ARG001
    import torch

    from misstep.training.settings import LearnerSettings, TrainingSettings
    from misstep.training.testing import TestSettings
    from misstep.training.trainer import resume, train

    torch.set_num_threads(1)
    tasks = [load_planning_task(generate_instance("gripper", balls=balls)) for balls in (1, 2, 3)]
    for balls, task in enumerate(tasks, 1):
        task.name = f"gripper-{balls}"
    if (out / "settings.json").exists():
        resume(tasks[:2], tasks[2:], out)
        return
    learner = LearnerSettings(steps=4, batch_size=8, learning_rate=0.02)
    settings = TrainingSettings(
        config="line",
        epochs=12,
        n_init=2,
        hidden=4,
        layers=1,
        seed=3,
        learner=learner,
        test=TestSettings(pool_size=5, seed=3),
    )
    train(tasks[:2], tasks[2:], out, settings)


def _train_qlearning(out: Path, jobs: int) -> None:  # noqa: ARG001
    from misstep.training.qlearning.trainer import resume, train
    from support.qlearning import small_settings

    task = load_jani(generate_model("one-way-line", cells=3, packages=1, vmax=2))
    if (out / "settings.json").exists():
        resume(task, out)
        return
    # Longer, so that there is time to be killed in.
    train(task, out, replace(small_settings(), steps=2560, checkpoints=16))


def _networks(out: Path) -> object:
    """All networks, and what the training would go on from; without times."""
    parts = ("models", "moments", "data", "tree.json", "best.safetensors", "best.nnet")
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file()
        and (file.relative_to(out).parts[0] in parts or file.suffix in (".nnet", ".jani2nnet"))
    }


def _lines(out: Path) -> int:
    """Checkpoints in the log."""
    log = out / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


VICTIMS: dict[str, Victim] = {
    name: Victim(_test(name), _records, _units, _replays) for name in CAMPAIGNS
}
VICTIMS["python"] = Victim(_test_python("python"), _records, _units, _replays, kills=4)
VICTIMS["random"] = Victim(_test_python("random"), _verdicts, _units_without_bugs, kills=4)
if importlib.util.find_spec("torch") is not None:
    VICTIMS["asnet"] = Victim(_train_asnet, _networks, _lines)
    VICTIMS["qlearning"] = Victim(_train_qlearning, _networks, _lines)


# -- killing --------------------------------------------------------------------------------------


@dataclass
class Tally:
    kills: int = 0
    done: int = 0
    differences: list[str] = field(default_factory=list)


def start(name: str, out: Path, jobs: int) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-m", "support.storm", "--victim", name, str(out), str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )


def finish(name: str, out: Path, jobs: int) -> float:
    """Let a victim work to its end; the seconds that it took."""
    process = start(name, out, jobs)
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    told_last, said = process.communicate()
    if told_last != "done\n":
        raise AssertionError(f"{name}: {said[-3000:]}")
    return time.monotonic() - began


def killed_once(name: str, out: Path, jobs: int, after: float, at_start: bool) -> bool:
    """Whether the process was still at work when it was to be killed."""
    process = start(name, out, jobs)
    assert process.stdout is not None
    if not at_start:
        process.stdout.readline()  # it begins
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    if "Traceback" in said or process.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(f"{name}: {said[-3000:]}")
    return process.returncode != 0


def storm(name: str, out: Path, kills: int, whole: float, expected: object, seed: int) -> Tally:
    """Kill one victim so many times, or until it is done, and compare what it leaves."""
    chance, tally, size = random.Random(f"{name}:{seed}"), Tally(), 0
    try:
        while tally.kills < kills:
            after = chance.random() * whole * 2 / kills
            jobs = chance.choice((1, 1, 2, 3))
            at_start = chance.random() < 0.1
            if not killed_once(name, out, jobs, after, at_start):
                break
            tally.kills += 1
            before, size = size, VICTIMS[name].size(out)
            assert size >= before, f"{before} units were done, and now {size}"
        finish(name, out, 1)
        tally.done += 1
        if VICTIMS[name].result(out) != expected:
            tally.differences.append(f"{name}, seed {seed}: other results in {out}")
        VICTIMS[name].check(out)
    except AssertionError as error:
        tally.differences.append(f"{name}, seed {seed}: {str(error) or 'the check failed'} ({out})")
    return tally


def run(names: list[str], kills: int, jobs: int, seed: int, place: Path) -> Tally:
    """Storms on all victims in turn, several at once, until there were that many kills."""
    expected: dict[str, tuple[float, object]] = {}
    for name in names:
        whole = finish(name, place / f"{name}-undisturbed", 1)
        expected[name] = whole, VICTIMS[name].result(place / f"{name}-undisturbed")
    total, number = Tally(), seed

    def one(number: int) -> Tally:
        name = names[number % len(names)]
        each = min(VICTIMS[name].kills, max(1, kills // len(names)))
        return storm(name, place / f"{name}-{number}", each, *expected[name], number)

    with ThreadPoolExecutor(jobs) as pool:
        while total.kills < kills and number < seed + 100 * kills:
            for own in pool.map(one, range(number, number + max(jobs, len(names)))):
                total.kills += own.kills
                total.done += own.done
                total.differences += own.differences
            number += max(jobs, len(names))
            print(f"{total.kills} kills, {total.done} done", file=sys.stderr, flush=True)
            if total.differences:
                break
    return total


def main() -> int:
    if sys.argv[1:2] == ["--victim"]:
        name, out, jobs = sys.argv[2:]
        print("ready", flush=True)
        VICTIMS[name].work(Path(out), int(jobs))
        print("done", flush=True)
        return 0
    parser = argparse.ArgumentParser(prog="support.storm", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[*VICTIMS])
    parser.add_argument("--out", type=Path, help="where the folders are kept; default: nowhere")
    given = parser.parse_args()
    names = given.only or [*VICTIMS]
    with tempfile.TemporaryDirectory(prefix="storm-") as folder:
        total = run(names, given.kills, given.jobs, given.seed, given.out or Path(folder))
    for line in total.differences:
        print(line)
    of = "campaigns and trainings" if "asnet" in names else "campaigns"
    print(
        f"storm: {total.kills} kills, {total.done} {of} ({', '.join(names)}), "
        f"{len(total.differences)} differences"
    )
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
