"""Which defaults find and decide most: biases of the fuzzer, shares of unbiased walks, and oracles.

python -m benchmarks.default_choices --jobs 16                      all pairs, biases and shares
python -m benchmarks.default_choices --jobs 16 --oracle "lmcut, ehc"  that oracle beside the default one
python -m benchmarks.default_choices --pairs ferry --seeds 1 --list   what would be run

A pair is a policy and a task. Each variant tests each pair with each seed: the same number of states and the same time
for each campaign. What a campaign has not decided when its time is up counts as open. Faults are distinct decisions
that are to blame, so many bugs with one cause are one fault. The first variant is what the others are compared with.
Prints JSON; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from time import perf_counter
from typing import Any, NamedTuple

import misstep
from benchmarks.common import remark, report
from misstep.campaigns.limits import Limits

POLICIES = ("heuristic:ff", "heuristic:add", "noisy:0.1:1+heuristic:ff")
# Sizes at which a campaign of a hundred states takes seconds, some with exact distances and some beyond.
TASKS: dict[str, tuple[str, dict[str, int]]] = {
    "blocksworld-6": ("blocksworld", {"blocks": 6}),
    "blocksworld-9": ("blocksworld", {"blocks": 9}),
    "childsnack-3": ("childsnack", {"children": 3, "trays": 1}),
    "ferry-4": ("ferry", {"cars": 4, "locations": 4}),
    "ferry-6": ("ferry", {"cars": 6, "locations": 5}),
    "floortile-3x3": ("floortile", {"width": 3, "height": 3}),
    "gripper-8": ("gripper", {"balls": 8}),
    "miconic-6": ("miconic", {"passengers": 6, "floors": 6}),
    "satellite-2": ("satellite", {"satellites": 2, "directions": 5, "observations": 4}),
    "spanner-5": ("spanner", {"spanners": 5, "nuts": 3, "locations": 4}),
    "transport-4": ("transport", {"vehicles": 2, "packages": 3, "locations": 6}),
    "visitall-4x4": ("visitall", {"width": 4, "height": 4}),
    # Too large for a census.
    "blocksworld-12": ("blocksworld", {"blocks": 12}),
    "ferry-9": ("ferry", {"cars": 9, "locations": 6}),
    "gripper-16": ("gripper", {"balls": 16}),
    "miconic-10": ("miconic", {"passengers": 10, "floors": 8}),
    "satellite-3": ("satellite", {"satellites": 3, "directions": 7, "observations": 6}),
    "transport-6": ("transport", {"vehicles": 3, "packages": 6, "locations": 8}),
    "visitall-5x5": ("visitall", {"width": 5, "height": 5}),
}
SHIPPED = {
    "blocksworld-6": "shipped:blocksworld",
    "ferry-4": "shipped:ferry",
    "ferry-6": "shipped:ferry",
    "gripper-8": "shipped:gripper",
    "transport-4": "shipped:transport",
    "visitall-4x4": "shipped:visitall",
    "blocksworld-12": "shipped:blocksworld",
    "ferry-9": "shipped:ferry",
    "gripper-16": "shipped:gripper",
    "transport-6": "shipped:transport",
    "visitall-5x5": "shipped:visitall",
}
# Bugs are rare here: a bias has to find the few bad decisions. Only where the state space is small.
NEARLY_OPTIMAL = "noisy:0.02:1+optimal"
SMALL = ("blocksworld-6", "childsnack-3", "ferry-4", "gripper-8", "miconic-6", "spanner-5")
PAIRS = [
    *((task, policy) for task in TASKS for policy in POLICIES),
    *SHIPPED.items(),
    *((task, NEARLY_OPTIMAL) for task in SMALL),
]
BIASES: dict[str, dict[str, Any]] = {
    "detour": {"fuzz": "detour"},
    "mixed 0.1": {"fuzz": "detour", "unbiased_share": 0.1},
    "mixed 0.25": {"fuzz": "detour", "unbiased_share": 0.25},
    "mixed 0.5": {"fuzz": "detour", "unbiased_share": 0.5},
    "none": {"fuzz": "none"},
}
COUNTED = ("bugs", "decided", "open", "faults")


class Job(NamedTuple):
    """One campaign."""

    task: str
    policy: str
    variant: str
    seed: int
    options: dict[str, Any]
    pool: int
    seconds: float

    @property
    def pair(self) -> str:
        return f"{self.task} {self.policy}"


def work(job: Job) -> dict[str, float]:
    """What a campaign finds; in a process of its own."""
    domain, sizes = TASKS[job.task]
    task = misstep.load_task(misstep.generate(domain, seed=1, **sizes))
    began = perf_counter()
    with misstep.test(
        task,
        job.policy,
        pool=job.pool,
        seed=job.seed,
        limits=Limits(time=job.seconds),
        **job.options,
    ) as found:
        summary = found.summary
    bugs, decided = summary.bugs["total"], summary.bugs["total"] + summary.optimal
    decided += summary.unsolvable
    return {
        "bugs": bugs,
        "decided": decided,
        "open": summary.states - decided,
        "faults": summary.faults,
        "seconds": round(perf_counter() - began, 2),
    }


def summed(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = round(total.get(name, 0) + value, 2)
    return total


def compared(
    results: dict[str, dict[str, dict[str, float]]], variants: list[str]
) -> dict[str, Any]:
    """Sums over all pairs, and on how many pairs a variant finds more or fewer bugs and faults than the first."""
    totals: dict[str, Any] = {}
    for variant in variants:
        own = [found[variant] for found in results.values()]
        first = [found[variants[0]] for found in results.values()]
        totals[variant] = summed(own)
        for what in ("bugs", "faults", "decided"):
            gains = [mine[what] - old[what] for mine, old in zip(own, first, strict=True)]
            totals[variant][f"more {what}"] = sum(gain > 0 for gain in gains)
            totals[variant][f"fewer {what}"] = sum(gain < 0 for gain in gains)
    return totals


def show(results: dict[str, dict[str, dict[str, float]]], totals: dict[str, Any]) -> None:
    variants = list(totals)
    width = max(len(pair) for pair in [*results, "fewer decided"])
    cell = max(20, *(len(variant) + 2 for variant in variants))
    remark("bugs/decided/open/faults".ljust(width) + "".join(v.rjust(cell) for v in variants))
    for pair, found in [*sorted(results.items()), ("sum", totals)]:
        cells = ("/".join(f"{found[v][name]:g}" for name in COUNTED) for v in variants)
        remark(pair.ljust(width) + "".join(text.rjust(cell) for text in cells))
    for name in (
        "seconds",
        *(f"{a} {b}" for b in ("bugs", "faults", "decided") for a in ("more", "fewer")),
    ):
        remark(name.ljust(width) + "".join(f"{totals[v][name]:g}".rjust(cell) for v in variants))


def jobs_of(given: argparse.Namespace) -> list[Job]:
    variants = dict(BIASES)
    for spec in given.oracle:
        variants[spec] = {"oracle": spec}
    if given.variants:
        variants = {name: options for name, options in variants.items() if name in given.variants}
    return [
        Job(task, policy, variant, seed, options, given.pool, given.seconds)
        for task, policy in PAIRS
        if given.pairs in f"{task} {policy}"
        for seed in range(given.seeds)
        for variant, options in variants.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="campaigns at the same time")
    parser.add_argument("--seeds", type=int, default=3, help="of each pair and variant")
    parser.add_argument("--pool", type=int, default=100, help="states of a campaign")
    parser.add_argument("--seconds", type=float, default=5.0, help="time of a campaign")
    parser.add_argument("--oracle", action="append", default=[], help="an oracle to compare")
    parser.add_argument("--pairs", default="", help="only those with this in the name")
    parser.add_argument("--variants", nargs="*", help="only these, the first is the old default")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    given = parser.parse_args()
    jobs = jobs_of(given)
    if given.list or not jobs:
        remark("\n".join(sorted({f"{job.pair}: {job.variant}" for job in jobs})) or "nothing")
        return
    single: dict[str, dict[str, list[dict[str, float]]]] = {}
    # A new interpreter for each worker: campaigns leave nothing to each other but the cache of translations.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
        waiting = {pool.submit(work, job): job for job in jobs}
        for done, future in enumerate(as_completed(waiting), 1):
            job = waiting[future]
            own = single.setdefault(job.pair, {}).setdefault(job.variant, [])
            own.append(future.result())
            remark(f"{done} of {len(jobs)}: {job.pair}, {job.variant}, seed {job.seed}: {own[-1]}")
    variants = list(dict.fromkeys(job.variant for job in jobs))
    results = {
        pair: {variant: summed(found[variant]) for variant in variants}
        for pair, found in single.items()
    }
    totals = compared(results, variants)
    show(results, totals)
    settings = {"pairs": len(results), "seeds": given.seeds, "pool": given.pool}
    settings["seconds"] = given.seconds
    report("default_choices", {"settings": settings, "sum": totals, "pairs": results})


if __name__ == "__main__":
    main()
