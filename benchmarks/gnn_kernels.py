"""The graph network on a GPU before and after: PyTorch's own operations against the fused kernels, in one run.

    python -m benchmarks.gnn_kernels [--policies ../shared/policies/kr22-gnn] [--limit 140] [--out FILE]

Checks values against double precision and decisions against the CPU, measures states per second over batch sizes,
says where the time goes, and tries other cuts of the kernels. A part that fails says why, and the rest goes on.
Tables go to standard output, and JSON at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gnn
from misstep.policies.gnn import GNNPolicy, load
from misstep.tasks.load import load_task

BATCHES = (64, 256, 1024, 4096, 16_384, 65_536)
CHECKED = {"blocks": 4000, "gripper": 1600, "logistics": 480, "visitall": 480}
PLACES = ("../shared", "shared")
VARIANTS: dict[str, dict[str, Any]] = {
    "pieces 64/4 fork": {},
    "pieces 64/4": {"fork": False},
    "pieces 64/4 fork, 2 stages": {"stages": 2},
    "pieces 64/8 fork": {"send_warps": 8, "update_warps": 8},
    "pieces 64/4 fork, update 32/4": {"update_tile": 32},
    "pieces 32/4 fork": {"send_tile": 32, "update_tile": 32},
    "bf16x6 64/4 fork": {"precision": "bf16x6"},
    "tf32x3 32/4 fork": {"precision": "tf32x3", "send_tile": 32, "update_tile": 32},
    "tf32 64/4 fork": {"precision": "tf32"},
    "pieces 64/4, no graph": {"records": False},
}
SIZES = (64, 1024, 16_384)  # at which variants are compared
WORST = 1e-4  # error that a variant may have to be chosen
BEGIN = time.perf_counter()
Results = dict[str, Any]


def say(text: str) -> None:
    print(f"[{time.perf_counter() - BEGIN:6.1f} s] {text}", flush=True)


def found_policies(given: Path | None) -> Path:
    names = [given] if given else [Path(place) / "policies" / "kr22-gnn" for place in PLACES]
    names += [] if given else [Path(place) / "kr22-gnn" for place in PLACES]
    for name in names:
        if (name / "blocks" / "model.ckpt").is_file():
            return name
    sys.exit(f"no checkpoints in {', '.join(map(str, names))}")


def opened(policies: Path, domain: str, options: str, variant: str = "") -> GNNPolicy:
    folder = policies / domain
    problem = folder / "tasks" / f"{gnn.TASKS[domain]}.pddl"
    task = load_task(folder / "tasks" / "domain.pddl", problem)
    policy = load(f"{options} {folder / 'model.ckpt'}", task)
    if variant:
        set_up(policy, variant)
    return policy


def successors(policy: GNNPolicy, states: Any) -> tuple[Any, Any]:
    offsets, operators = policy.task.applicable_batch(states)
    parents = np.repeat(np.arange(len(states)), np.diff(offsets))
    return policy.task.apply_batch(np.ascontiguousarray(states[parents]), operators), offsets


def on_cpu(policies: str, domain: str, first: int, last: int) -> tuple[list[int], list[float]]:
    """Decisions of some states on the CPU, in a process of its own."""
    policy = opened(Path(policies), domain, "--device=cpu")
    states = gnn.random_states(policy, CHECKED[domain])[first:last]
    answers = policy.decide(states)
    assert answers.values is not None
    return answers.operators.tolist(), answers.values.tolist()


def exact(policy: GNNPolicy, states: Any, offsets: Any) -> Any:
    """Values in double precision through PyTorch."""
    import torch

    evaluator = policy._evaluator
    groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    before = torch.get_default_dtype()
    network = evaluator.network.double()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            batch = evaluator.batcher.build(states, groups, len(offsets) - 1)
            return network(batch)[0].cpu().numpy()
    finally:
        torch.set_default_dtype(before)
        evaluator.network.float()


def check(policies: Path, answered: dict[str, list[Any]], variant: str) -> Results:
    results: Results = {}
    for domain, parts in answered.items():
        fast = opened(policies, domain, "--device=cuda", variant)
        slow = opened(policies, domain, "--device=cuda --plain")
        states = gnn.random_states(fast, CHECKED[domain])
        asked, offsets = successors(fast, states[:400])
        expected = exact(slow, asked, offsets)
        values, _ = fast._evaluator.evaluate(asked, offsets)
        plain, _ = slow._evaluator.evaluate(asked, offsets)
        operators = np.array([op for part in parts for op in part[0]])
        cpu_values = np.array([value for part in parts for value in part[1]])
        states = states[: len(operators)]
        answers = fast.decide(states)
        usual = slow.decide(states)
        alone = np.concatenate(
            [fast.decide(states[i : i + 1]).operators for i in range(min(100, len(states)))]
        )
        mixed = np.random.default_rng(0).permutation(len(states))
        again = fast.decide(states[mixed])
        assert answers.values is not None
        assert again.values is not None
        results[domain] = {
            "kernels": fast._evaluator.refused or "used",
            "greatest value": float(np.abs(expected).max()),
            "error of kernels": float(np.abs(values - expected).max()),
            "error of PyTorch fp32": float(np.abs(plain - expected).max()),
            "states": len(states),
            "other decisions than the CPU": int((answers.operators != operators).sum()),
            "PyTorch on the GPU: other decisions than the CPU": int(
                (usual.operators != operators).sum()
            ),
            "greatest difference to the CPU": float(np.abs(answers.values - cpu_values).max()),
            "other decisions alone": int((alone != answers.operators[:100]).sum()),
            "other bits in another order": int((again.values != answers.values[mixed]).sum()),
        }
        say(f"check {domain}: {json.dumps(results[domain])}")
    return results


def per_second(work: Callable[[], int], seconds: float) -> float:
    """States per second, the median of calls."""
    work()
    work()
    rates: list[float] = []
    begin = time.perf_counter()
    while len(rates) < 3 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        rates.append(work() / (time.perf_counter() - before))
    return statistics.median(rates)


def decisions(policy: GNNPolicy, states: Any, seconds: float) -> float:
    return per_second(lambda: policy.decide(states).evaluations, seconds)


def chosen(policy: GNNPolicy, batch: int, parents: Any) -> Any:
    """Parents with about so many successors in all, from the middle."""
    sizes = np.cumsum(np.diff(policy.task.applicable_batch(parents)[0]))
    return parents[: max(1, int(np.searchsorted(sizes, batch, side="right")))]


def rates(policies: Path, domain: str, variant: str, seconds: float) -> Results:
    """Whole decisions, as campaigns ask for them: successors, evaluation, choice."""
    contestants = {
        "before": opened(policies, domain, "--device=cuda --plain"),
        "after": opened(policies, domain, "--device=cuda", variant),
    }
    parents = gnn.random_states(contestants["after"], 40_000)
    results: Results = {name: {} for name in contestants}
    for batch in BATCHES:
        states = chosen(contestants["after"], batch, parents)
        for name, policy in contestants.items():
            results[name][batch] = round(decisions(policy, states, seconds))
    one = parents[:1]
    for name, policy in contestants.items():
        results[name]["one decision"] = round(decisions(policy, one, seconds))
    say(f"{domain:8s} {'batch':>12s} {'before':>10s} {'after':>10s} {'ratio':>6s}")
    for batch in results["before"]:
        old, new = results["before"][batch], results["after"][batch]
        say(f"{domain:8s} {batch!s:>12s} {old:10d} {new:10d} {new / old:6.2f}")
    return results


def breakdown(policies: Path, domain: str, batch: int, variant: str) -> Results:
    """Milliseconds of one call of decide: the host's parts, and the kernels by name."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    policy = opened(policies, domain, f"--device=cuda{'' if variant else ' --plain'}", variant)
    states = chosen(policy, batch, gnn.random_states(policy, 2 * batch))
    asked, offsets = successors(policy, states)

    def milliseconds(work: Callable[[], Any], repeats: int = 5) -> float:
        for _ in range(2):
            work()
        took = []
        for _ in range(repeats):
            torch.cuda.synchronize()
            before = time.perf_counter()
            work()
            torch.cuda.synchronize()
            took.append(1000 * (time.perf_counter() - before))
        return round(statistics.median(took), 3)

    result: Results = {
        "states": len(asked),
        "decide": milliseconds(lambda: policy.decide(states)),
        "successors": milliseconds(lambda: successors(policy, states)),
        "evaluate": milliseconds(lambda: policy._evaluator.evaluate(asked, offsets)),
        "asked again alone": len(policy._scores(asked, offsets, None)[1]),
    }
    with contextlib.suppress(Exception):
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            policy._evaluator.evaluate(asked, offsets)
            torch.cuda.synchronize()
        kernels = {}
        for event in found.key_averages():
            spent = getattr(event, "self_device_time_total", 0) / 1000
            if spent > 0:
                kernels[event.key[:40]] = (round(spent, 3), event.count)
        ordered = sorted(kernels.items(), key=lambda item: -item[1][0])
        result["device busy"] = round(sum(spent for spent, _ in kernels.values()), 3)
        result["kernels: ms, count"] = dict(ordered[:9])
    return result


def set_up(policy: GNNPolicy, variant: str) -> str:
    """Goes over to a variant; says what hinders, if anything does."""
    from misstep.policies.gnn.fused import Settings

    policy._evaluator.fuse("cuda", Settings(**VARIANTS[variant]))
    return policy._evaluator.refused


def variants(policies: Path, seconds: float) -> Results:
    results: Results = {}
    bits: dict[str, Any] = {}
    for domain in ("blocks", "gripper"):
        policy = opened(policies, domain, "--device=cuda --plain")
        parents = gnn.random_states(policy, 20_000)
        batches = {size: successors(policy, chosen(policy, size, parents)) for size in SIZES}
        expected = exact(policy, *batches[1024])
        for variant, own in VARIANTS.items():
            name = f"{domain} {variant}"
            try:
                refused = set_up(policy, variant)
                if refused:
                    raise ValueError(refused)
                evaluate = policy._evaluator.evaluate
                values, _ = evaluate(*batches[1024])
                same = bits.setdefault(f"{domain} {own.get('precision')}", values)
                found: Results = {
                    "error": float(np.abs(values - expected).max()),
                    "other bits than the first of its kind": int((values != same).sum()),
                }
                for size, (batch, cuts) in batches.items():
                    found[str(size)] = round(rate_of(evaluate, batch, cuts, seconds))
                results[name] = found
                say(f"{name}: {json.dumps(found)}")
            except Exception as error:
                say(f"{name} failed: {error!r:.300}")
    return results


def rate_of(evaluate: Callable[..., Any], batch: Any, cuts: Any, seconds: float) -> float:
    return per_second(lambda: len(evaluate(batch, cuts)[0]), seconds)


def best_of(results: Results) -> str:
    """The variant with the greatest product of rates, of those that are exact enough."""
    products: dict[str, int] = {}
    for variant in VARIANTS:
        names = [f"{domain} {variant}" for domain in ("blocks", "gripper")]
        own: list[Results] = [results[name] for name in names if name in results]
        if len(own) == len(names) and all(found["error"] < WORST for found in own):
            products[variant] = math.prod(found[str(s)] for found in own for s in SIZES)
    return max(products, key=lambda variant: products[variant], default=next(iter(VARIANTS)))


def warm(policies: Path, variant: str) -> None:
    """Compiles the kernels of a variant, so that others find them on the disk."""
    for domain in ("blocks", "gripper"):
        policy = opened(policies, domain, "--device=cuda --plain")
        say(f"warm {variant} {domain}: {set_up(policy, variant)[:300] or 'compiled'}")


def attempt(
    results: Results, name: str, limit: float, work: Callable[..., Any], *arguments: Any
) -> None:
    if time.perf_counter() - BEGIN > limit:
        say(f"{name}: no time left")
        return
    try:
        results[name] = work(*arguments)
    except Exception:
        say(f"{name} failed:\n{traceback.format_exc()[-1500:]}")


def measure(policies: Path, limit: float) -> Results:
    import torch

    results: Results = {"torch": torch.__version__, "card": torch.cuda.get_device_name()}
    try:
        import triton

        results["triton"] = triton.__version__
    except ImportError as error:
        results["triton"] = repr(error)
    results["cores"] = os.cpu_count()
    say(json.dumps(results))
    answered = prepared(policies)
    attempt(results, "variants", limit, variants, policies, 0.25)
    best = best_of(results.get("variants", {}))
    results["best"] = best
    say(f"best: {best}")
    attempt(results, "check", limit, check, policies, answered, best)
    for domain in ("blocks", "gripper"):
        attempt(results, domain, limit, rates, policies, domain, best, 0.4)
    for domain in ("blocks", "gripper"):
        for batch in (1024, 16_384):
            for variant in ("", best):
                name = f"breakdown {domain} {batch} {variant or 'plain'}"
                attempt(results, name, limit, breakdown, policies, domain, batch, variant)
                say(f"{name}: {json.dumps(results.get(name))}")
    return results


def prepared(policies: Path) -> dict[str, list[Any]]:
    """Decisions on the CPU; meanwhile all variants are compiled."""
    command = [sys.executable, "-m", "benchmarks.gnn_kernels", "--policies", str(policies)]
    warming = [subprocess.Popen([*command, "--warm", name]) for name in VARIANTS]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        futures: dict[str, list[Future[Any]]] = {
            domain: [
                pool.submit(on_cpu, str(policies), domain, first, first + count // 8)
                for first in range(0, count // 8 * 8, count // 8)
            ]
            for domain, count in CHECKED.items()
        }
        for process in warming:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(1, 60 - (time.perf_counter() - BEGIN)))
        for process in warming:
            if process.poll() is None:
                process.kill()
        return {domain: [future.result() for future in own] for domain, own in futures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path)
    parser.add_argument(
        "--limit", type=float, default=140.0, help="seconds after which no part begins"
    )
    parser.add_argument("--warm", choices=VARIANTS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    policies = found_policies(arguments.policies)
    if arguments.warm:
        warm(policies, arguments.warm)
        return
    results = measure(policies, arguments.limit)
    text = json.dumps(results)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
