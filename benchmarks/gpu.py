"""ASNets and graph networks on a GPU: states per second over batch sizes, and where it saturates.

    python -m benchmarks.gpu [--policies ../shared/policies/kr22-gnn] [--out FILE]

The batch size of saturation is the smallest one that reaches 90 % of the best rate.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import asnet, gnn
from benchmarks.common import remark
from misstep.policies.asnet.structure import structure_of

ASNET_BATCHES = (1, 64, 256, 1024, 4096, 16_384, 32_768, 131_072)
GNN_BATCHES = (64, 256, 1024, 4096, 16_384, 65_536)
# What plain PyTorch in fp32 gives on an H200.
PLAIN = {"asnet": {64: 11_000, 32_768: 2_300_000}, "gnn": {64: 2_400, 16_384: 205_000}}


def saturation(rates: dict[int, float]) -> int:
    best = max(rates.values())
    return min(batch for batch, rate in rates.items() if rate >= 0.9 * best)


def measure_asnet(name: str, batches: tuple[int, ...]) -> dict[str, Any]:
    from misstep.policies.asnet.torch_network import ASNet

    with tempfile.TemporaryDirectory() as folder:
        task = asnet.make_task(name, Path(folder))
    found = asnet.benchmark(task, ASNet.random(structure_of(task).shape), batches, "cuda")
    rates: dict[str, dict[int, float]] = {}
    for label, rate in found.items():
        kind, _, size = label.rpartition(" batch ")
        rates.setdefault(kind, {})[int(size)] = round(rate)
    return {kind: {"rates": own, "saturates_at": saturation(own)} for kind, own in rates.items()}


def measure_gnn(policies: Path, domain: str) -> dict[str, Any]:
    found = gnn.measure(policies, domain, "cuda", GNN_BATCHES, seconds=2.0)
    rates = {int(size): round(own["states_per_second"]) for size, own in found["batches"].items()}
    single = round(found["one_decision_at_a_time"]["states_per_second"])
    return {"rates": rates, "saturates_at": saturation(rates), "one_decision_at_a_time": single}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, default=Path("../shared/policies/kr22-gnn"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    card = torch.cuda.get_device_name()
    results: dict[str, Any] = {"card": card, "torch": torch.__version__, "plain_fp32": PLAIN}
    for name in ("blocks 10", "transport 1044 operators"):
        batches = ASNET_BATCHES if name == "blocks 10" else ASNET_BATCHES[:-1]
        results[f"asnet {name}"] = measure_asnet(name, batches)
        remark(f"asnet {name}: {json.dumps(results[f'asnet {name}'])}")
    if arguments.policies.is_dir():
        for domain in ("blocks", "gripper"):
            results[f"gnn {domain}"] = measure_gnn(arguments.policies, domain)
            remark(f"gnn {domain}: {json.dumps(results[f'gnn {domain}'])}")
    text = json.dumps(results, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
