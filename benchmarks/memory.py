"""Memory: the state registry, a census of a million states, a policy graph of a million decisions.

python -m benchmarks.memory
"""

from __future__ import annotations

import resource
from time import perf_counter

from benchmarks.common import remark, report
from misstep._core import StateSpace
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    import tempfile
    from pathlib import Path

    # 1,556,480 states: 2 (2^n + n 2^n + n (n-1) 2^(n-2)) with n = 14.
    folder = Path(tempfile.mkdtemp(prefix="misstep-bench-"))
    task = load_task(*write_instance(generate("gripper", balls=14), folder))
    before = peak_mb()
    began = perf_counter()
    space = StateSpace(task, [task.initial_state])
    seconds = perf_counter() - began
    states = len(space)
    registry = space.registry_bytes / states
    remark(
        f"census: {states:,} states, {space.transition_count:,} transitions, {seconds:.1f} s, peak {peak_mb():.0f} MB"
    )
    remark(f"registry: {registry:.1f} bytes a state, of these {task.packed_bytes} packed state")

    runner = PolicyRunner(load_policy("random:1", task))
    rows = space.states()[:1_000_000]
    began = perf_counter()
    ends = runner.run(rows, None)
    ran = perf_counter() - began
    began = perf_counter()
    runner.graph.ends(ends.ids, None)
    looked_up = perf_counter() - began
    graph_mb = runner.graph.bytes / 2**20 * 1e6 / len(runner.graph)
    rate = len(ends.ids) / looked_up
    remark(f"policy graph: {graph_mb:.0f} MB a million states, {rate / 1e6:.1f} million look-ups/s")
    report(
        "memory",
        {
            "census_states": states,
            "census_seconds": round(seconds, 2),
            "census_peak_mb": round(peak_mb() if before else 0),
            "registry_bytes_beside_packed": round(registry - task.packed_bytes, 2),
            "policy_graph_mb_a_million": round(graph_mb),
            "policy_graph_decisions_per_second": round(runner.policy_calls / ran),
            "outcome_lookups_per_second": round(rate),
        },
    )


if __name__ == "__main__":
    main()
