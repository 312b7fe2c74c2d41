"""Evaluations per second of networks over plain vectors, on one core: ours and those of their makers.

    python -m benchmarks.networks [--out FILE]

Writes JSON. Fully connected networks against PyTorch in single and double precision; tree ensembles against
XGBoost and LightGBM, each on its own model; whatever is not installed is left out. Both sides get numpy
arrays and give numpy arrays. Times are of the processor; each figure is the best of several rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from misstep._core import available_kernels
from misstep.policies.networks import load_network
from misstep.policies.networks.mlp import Layer, MlpWeights, mlp_network

SIZES = ([12, 64, 64, 5], [12, 256, 256, 5])
BATCHES = (1, 1024)
SECONDS = 0.2
ROUNDS = 5


def rate(work: Callable[[], Any], rows: int) -> float:
    """Rows per second of the best round."""
    work()
    best = 0.0
    for _ in range(ROUNDS):
        calls, start = 0, time.process_time()
        while (passed := time.process_time() - start) < SECONDS:
            work()
            calls += 1
        best = max(best, calls * rows / passed)
    return best


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def mlp(sizes: list[int]) -> dict[str, float]:
    random = np.random.default_rng(0)
    layers = [
        Layer(random.normal(size=(b, a)) / a, random.normal(size=b)) for a, b in pairwise(sizes)
    ]
    weights = MlpWeights(tuple(layers))
    result: dict[str, float] = {}
    for count in BATCHES:
        rows = random.normal(size=(count, sizes[0]))
        for kernels in available_kernels():
            network = mlp_network(weights, kernels=kernels)
            result[f"{kernels} batch {count}"] = rate(partial(network.evaluate, rows), count)
        if is_installed("torch"):
            result |= torch_rates(weights, rows)
            ours = result[f"{available_kernels()[0]} batch {count}"]
            for precision in ("float32", "float64"):
                peer = result[f"torch {precision} batch {count}"]
                result[f"ratio to torch {precision} batch {count}"] = ours / peer
    return result


def torch_rates(weights: MlpWeights, rows: Any) -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    modules: list[Any] = []
    for layer in weights.layers:
        linear = torch.nn.Linear(*reversed(layer.matrix.shape), dtype=torch.float64)
        linear.weight.data = torch.from_numpy(layer.matrix)
        linear.bias.data = torch.from_numpy(layer.bias)
        modules += [linear, torch.nn.ReLU()]
    model = torch.nn.Sequential(*modules[:-1])
    result = {}
    for precision in ("float64", "float32"):
        kind = getattr(torch, precision)
        typed, given = model.to(kind), rows.astype(precision)

        def work(typed: Any = typed, given: Any = given) -> Any:
            with torch.inference_mode():
                return typed(torch.from_numpy(given)).numpy()

        result[f"torch {precision} batch {len(rows)}"] = rate(work, len(rows))
    return result


def trees(folder: Path) -> dict[str, float]:
    random = np.random.default_rng(0)
    x = random.integers(0, 10, size=(2000, 12)).astype(np.float64)
    labels = (x[:, 0] + x[:, 1] * 2 > x[:, 2] * 3).astype(int) + (x[:, 3] > 5)
    result: dict[str, float] = {}
    for peer, train in (("xgboost", _xgboost), ("lightgbm", _lightgbm)):
        if not is_installed(peer):
            continue
        path, predict = train(folder, x, labels)
        network = load_network(path)
        for count in BATCHES:
            rows = np.ascontiguousarray(x[:count])
            ours = rate(partial(network.evaluate, rows), count)
            theirs = rate(partial(predict, rows), count)
            result[f"native, model of {peer}, batch {count}"] = ours
            result[f"{peer} batch {count}"] = theirs
            result[f"ratio to {peer} batch {count}"] = ours / theirs
    return result


def _xgboost(folder: Path, x: Any, labels: Any) -> tuple[Path, Callable[[Any], Any]]:
    import xgboost

    settings = {"objective": "multi:softprob", "num_class": 3, "max_depth": 5, "nthread": 1}
    booster = xgboost.train(settings, xgboost.DMatrix(x, label=labels), 20)
    booster.save_model(folder / "model.json")
    return folder / "model.json", lambda rows: booster.inplace_predict(rows, predict_type="margin")


def _lightgbm(folder: Path, x: Any, labels: Any) -> tuple[Path, Callable[[Any], Any]]:
    import lightgbm

    settings = {"objective": "multiclass", "num_class": 3, "max_depth": 5, "num_threads": 1}
    booster = lightgbm.train({**settings, "verbose": -1}, lightgbm.Dataset(x, label=labels), 20)
    booster.save_model(folder / "model.txt")
    return folder / "model.txt", lambda rows: booster.predict(rows, raw_score=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    results: dict[str, Any] = {f"mlp {'-'.join(map(str, s))}": mlp(list(s)) for s in SIZES}
    with tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder:
        results["trees 60 of depth 5"] = trees(Path(folder))
    whole = {"benchmark": "networks", "machine": platform.machine(), "results": results}
    text = json.dumps(whole, indent=1) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text)


if __name__ == "__main__":
    main()
