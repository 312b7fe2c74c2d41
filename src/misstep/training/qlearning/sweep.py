"""Policies for the nine domains at published sizes: many trainings side by side, and the best unsafe one of each.

    python -m misstep.training.qlearning.sweep --out DIR --jobs 16 --minutes 8

Networks of two hidden layers of 16 to 256 units are trained on each domain. Every checkpoint is a candidate; the
promising ones of each training are judged (`judging.py`), and the best that is still unsafe is chosen, first for each
width, then for the domain. An ensemble of trees is fitted to the values of the chosen network.

    DIR/models/NAME.jani
    DIR/trainings/NAME/w64-s0/     a folder as `misstep train qlearning` makes it
    DIR/candidates.jsonl           a line for each checkpoint that was judged
    DIR/widths/NAME-w64.*          the best unsafe network of each width, with a card
    DIR/chosen/NAME.*              the chosen one; NAME-trees.* is the ensemble
    DIR/summary.json               the figures of the chosen ones

Trainings share the time by the weights of their domains and end at a checkpoint when their time is over. A checkpoint
does not depend on how long its training continues, so the command on its card makes the chosen network again. The sweep
itself can be started again in the same folder: trainings continue, and nothing is judged twice.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from misstep.binomial import percent
from misstep.campaigns.process import end_with
from misstep.files import write_bytes
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.judging import Candidate, Effort, best_unsafe, judge_network
from misstep.training.qlearning.published import PUBLISHED, Domain, domain_of
from misstep.training.qlearning.subjects import keep_forest, keep_network

WIDTHS = (16, 32, 64, 128, 256)
LEARNING = 0.78  # share of the time; the rest is for judging and for trees
LEAST = 3.0  # a training shorter than so many seconds is not worthwhile
Result = TypeVar("Result")


@dataclass(frozen=True)
class Unit:
    """One training."""

    domain: str
    width: int
    seed: int

    @property
    def path(self) -> str:
        return f"trainings/{self.domain}/w{self.width}-s{self.seed}"


@dataclass(frozen=True)
class Plan:
    out: Path
    domains: tuple[Domain, ...] = PUBLISHED
    widths: tuple[int, ...] = WIDTHS
    seeds: int = 0  # of each width; 0: as many as the domain has
    jobs: int = 1
    seconds: float = 480.0
    steps: int | None = None  # of a training; the domain's own if not given
    finalists: int = 3  # checkpoints of a training that are judged
    effort: Effort = field(default_factory=Effort)
    trees: int = 20

    def units(self) -> list[Unit]:
        """Longest first, and the widths of one domain together."""
        ordered = sorted(self.domains, key=lambda own: -own.weight)
        return [
            Unit(domain.name, width, seed)
            for domain in ordered
            for seed in range(self.seeds or domain.seeds)
            for width in sorted(self.widths, reverse=True)
        ]

    def share(self, domain: Domain) -> float:
        """The seconds of one training of the domain, if all cores are busy all the time."""
        weights = sum(domain_of(unit.domain).weight for unit in self.units())
        return self.seconds * LEARNING * self.jobs * domain.weight / weights


class _TimeIsUpError(Exception):
    """Ends a training after a checkpoint, from within."""


# -- the work of one process ------------------------------------------------------------------


def learn(plan: Plan, unit: Unit, deadline: float) -> int:
    """Train, or continue, until the steps are made or the time is over; returns the number of checkpoints."""
    from misstep.training.qlearning.trainer import resume, train

    domain, out = domain_of(unit.domain), plan.out / unit.path
    until = min(deadline, time.time() + plan.share(domain))
    if until - time.time() < LEAST:
        return len(_lines(out))
    task = _task(plan, domain.name)
    settings = domain.settings(task, unit.width, unit.seed, plan.steps)

    def report(_: dict[str, Any]) -> None:
        if time.time() > until:
            raise _TimeIsUpError

    try:
        if (out / "settings.json").exists():
            resume(task, out, asked=settings, report=report)
        else:
            train(task, out, settings, starts=domain.starts(task), report=report)
    except _TimeIsUpError:
        pass
    return len(_lines(out))


def judge(plan: Plan, unit: Unit, line: dict[str, Any]) -> Candidate:
    domain, task = domain_of(unit.domain), _task(plan, unit.domain)
    columns = columns_seen(domain, task)
    network = f"{unit.path}/{line['network']}"
    file = (plan.out / network).with_suffix(".nnet")
    judged = judge_network(task, file, columns, domain.horizon, plan.effort)
    return Candidate(unit.domain, unit.width, unit.seed, line["step"], network, judged)


def keep(plan: Plan, name: str, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Write the best of each width and the chosen network with its trees; the card of the chosen one."""
    domain, task = domain_of(name), _task(plan, name)
    for width in sorted({own.width for own in candidates}):
        best = best_unsafe([own for own in candidates if own.width == width])
        keep_network(plan.out, best, domain, task, plan.out / "widths", f"{name}-w{width}")
    chosen = best_unsafe(candidates)
    card = keep_network(plan.out, chosen, domain, task, plan.out / "chosen", name)
    if plan.trees:
        keep_forest(plan.out / "chosen", domain, task, plan.effort, plan.trees)
    return card


def columns_seen(domain: Domain, task: JaniTask) -> list[int]:
    ignored = domain.ignored(task)
    return [i for i, name in enumerate(task.variable_names) if name not in ignored]


def _task(plan: Plan, name: str) -> JaniTask:
    return load_jani(plan.out / "models" / f"{name}.jani")


def _lines(folder: Path) -> list[dict[str, Any]]:
    file = folder / "log.jsonl"
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# -- the whole --------------------------------------------------------------------------------


def sweep(plan: Plan, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Runs the whole sweep; returns the content of summary.json."""
    began = time.time()
    for domain in plan.domains:
        path = plan.out / "models" / f"{domain.name}.jani"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, domain.model_text().encode())
    deadline = began + plan.seconds * LEARNING
    own = (os.getpid(),)
    with ProcessPoolExecutor(plan.jobs, get_context("spawn"), end_with, own) as pool:
        futures = {pool.submit(learn, plan, unit, deadline): unit for unit in plan.units()}
        for unit, checkpoints in _results(futures, say):
            say(f"{time.time() - began:5.0f} s  {unit.path}: {checkpoints} checkpoints")
        candidates = _judged(plan, pool, began, say)
        keeping = {
            pool.submit(keep, plan, name, own): name for name, own in _by_domain(candidates).items()
        }
        cards = dict(_results(keeping, say))
    summary = {
        "seconds": round(time.time() - began, 1),
        "trainings": len(plan.units()),
        "judged": len(candidates),
        "chosen": {name: cards[name] for name in sorted(cards)},
    }
    write_bytes(plan.out / "summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    return summary


def _judged(
    plan: Plan, pool: ProcessPoolExecutor, began: float, say: Callable[[str], None]
) -> list[Candidate]:
    """All candidates, including those of earlier calls. Those with the highest goal rates are judged first."""
    file = plan.out / "candidates.jsonl"
    candidates = list(read_candidates(file))
    known = {own.network for own in candidates}
    work = [
        (line["test"]["goal_rate"], unit, line)
        for unit in plan.units()
        for line in finalists(_lines(plan.out / unit.path), plan.finalists)
        if f"{unit.path}/{line['network']}" not in known
    ]
    work.sort(key=lambda item: -item[0])
    deadline = began + plan.seconds * (1 + LEARNING) / 2
    futures: dict[Future[Candidate], Unit] = {}
    for _, unit, line in work:
        futures[pool.submit(judge, plan, unit, line)] = unit
    for _, found in _results(futures, say):
        candidates.append(found)
        text = "".join(json.dumps(own.as_dict()) + "\n" for own in candidates)
        write_bytes(file, text.encode())
        goals, unsafe = (found.judged.episodes[key] for key in ("goal_rate", "unsafe_rate"))
        say(
            f"{time.time() - began:5.0f} s  {found.network}: goal {percent(goals, 1)}%, unsafe {percent(unsafe, 1)}%"
        )
        if time.time() > deadline and {own.domain for own in candidates} >= {
            own.name for own in plan.domains
        }:
            for future in futures:
                future.cancel()
    return candidates


def finalists(lines: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The checkpoints of a training to judge: the best ones with unsafe episodes, and the best ones of the others.

    The others may turn out to be unsafe in more episodes than their tests had."""

    def rating(line: dict[str, Any]) -> tuple[float, int]:
        return line["test"]["goal_rate"], line["step"]

    ranked = sorted(lines, key=rating, reverse=True)
    unsafe = [line for line in ranked if line["test"]["unsafe_rate"] > 0]
    others = [line for line in ranked if line["test"]["unsafe_rate"] == 0]
    return unsafe[:count] + others[:count]


def read_candidates(file: Path) -> Iterator[Candidate]:
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Candidate.from_dict(json.loads(line))


def _by_domain(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for own in candidates:
        found.setdefault(own.domain, []).append(own)
    return found


Key = TypeVar("Key")


def _results(
    futures: dict[Future[Result], Key], say: Callable[[str], None]
) -> Iterator[tuple[Key, Result]]:
    """Results as they arrive. Failures are reported and left out, so that one bad training does not end the others."""
    for future in as_completed(futures):
        if future.cancelled():
            continue
        failed = future.exception()
        if failed is None:
            yield futures[future], future.result()
        else:
            say(f"failed: {futures[future]}: {failed!r}")


def table(summary: dict[str, Any]) -> str:
    rows = [f"{'domain':18} {'hidden':>8} {'steps':>9} {'goal':>7} {'unsafe':>7} {'bugs':>5}"]
    for name, card in summary["chosen"].items():
        test = card["test"]
        hidden = ",".join(map(str, card["hidden"]))
        rows.append(
            f"{name:18} {hidden:>8} {card['training_steps']:>9,} {test['goal_rate']:>7.1%} "
            f"{test['unsafe_rate']:>7.1%} {card['fuzzing']['bugs']:>5}"
        )
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m misstep.training.qlearning.sweep")
    parser.add_argument("--out", type=Path, required=True, help="folder to keep all in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--minutes", type=float, default=8.0, help="for everything")
    parser.add_argument("--domains", default=",".join(own.name for own in PUBLISHED))
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--seeds", type=int, default=0, help="of each width; 0: the domain's own")
    parser.add_argument("--steps", type=int, help="of a training at most")
    parser.add_argument("--episodes", type=int, default=Effort.episodes, help="of a judged network")
    own = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    plan = Plan(
        own.out,
        tuple(domain_of(name) for name in own.domains.split(",")),
        tuple(int(width) for width in own.widths.split(",")),
        own.seeds,
        own.jobs,
        60 * own.minutes,
        own.steps,
        effort=replace(Effort(), episodes=own.episodes),
    )
    summary = sweep(plan, lambda line: print(line, file=sys.stderr, flush=True))
    print(table(summary))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
