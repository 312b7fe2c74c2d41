"""Safety: work of the deciders, decisions per second, steps of the fuzzer per second.

python -m benchmarks.safety [STATES]

Random graphs: as many states as given (20,000), 3 labels with 2 outcomes each, 30 questions to one decider each
time. LocalFix against TarjanSafe, in nodes evaluated and in time; the answers are compared. Densities of unsafe
states are around the point where questions get hard.

Line: a truck on a line with speed, where acceleration and braking may fail; past the end is unsafe. Every question
from scratch: a new system, nothing kept.

Fuzzing: a native policy on a random graph without unsafe states, 200 runs of 1,000 steps on a new system, so that the
first visit of each state is paid for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from benchmarks.common import alternate, remark, report
from misstep._core import (
    ExplicitTransitions,
    FirstLabel,
    SafetyFuzzer,
    SafetySystem,
    make_safety_decider,
)

RUNS = 5
UNSAFE, GOAL = 1, 2


class Builder:
    """Lists an explicit system row by row."""

    def __init__(self) -> None:
        self.flags: list[int] = []
        self.actions = [0]
        self.labels: list[int] = []
        self.offsets = [0]
        self.outcomes: list[int] = []
        self.distances: list[float] = []

    def label(self, label: int, outcomes: list[int]) -> None:
        self.labels.append(label)
        self.outcomes += outcomes
        self.offsets.append(len(self.outcomes))

    def close(self, flags: int, distance: float) -> None:
        self.flags.append(flags)
        self.actions.append(len(self.labels))
        self.distances.append(distance)

    def build(self, initial: list[int]) -> ExplicitTransitions:
        return ExplicitTransitions(
            self.flags,
            self.actions,
            self.labels,
            self.offsets,
            self.outcomes,
            initial,
            self.distances,
        )


def random_graph(states: int, unsafe: float, seed: int) -> ExplicitTransitions:
    random = Random(seed)
    builder = Builder()
    for _ in range(states):
        is_unsafe = random.random() < unsafe
        if not is_unsafe:
            for label in range(3):
                builder.label(label, [random.randrange(states) for _ in range(2)])
        builder.close(UNSAFE if is_unsafe else 0, 0.0 if is_unsafe else random.randint(1, 1000))
    return builder.build([0])


def line(length: int, top: int, cells_of_ice: int, rounds: int) -> ExplicitTransitions:
    """Place, speed and laps done; the truck goes back to the start from the last cell at speed 0. Label 0
    accelerates, 1 keeps, 2
    brakes; on ice the first and the last may fail. The goal is to have made all laps."""
    random = Random(1)
    ice = set(random.sample(range(length), cells_of_ice))
    crash = length * (top + 1) * rounds
    goal = crash + 1

    def number(place: int, speed: int, lap: int) -> int:
        return (lap * length + place) * (top + 1) + speed

    builder = Builder()
    for lap in range(rounds):
        for place in range(length):
            for speed in range(top + 1):
                ahead = place + speed
                for label, change in ((0, 1), (1, 0), (2, -1)):
                    after = speed + change
                    if not 0 <= after <= top:
                        continue
                    if ahead >= length:
                        builder.label(label, [crash])
                    elif place == length - 1 and speed == 0 and label == 1:
                        builder.label(label, [goal if lap + 1 == rounds else number(0, 0, lap + 1)])
                    else:
                        speeds = {after, speed} if place in ice and change else {after}
                        builder.label(label, [number(ahead, s, lap) for s in sorted(speeds)])
                builder.close(0, max(1.0, length - ahead))
    builder.close(UNSAFE, 0.0)
    builder.close(GOAL, float(length))
    return builder.build([number(p, 0, 0) for p in range(length // 2)])


def ask(transitions: ExplicitTransitions, kind: str, radius: int | None) -> tuple[Any, ...]:
    """Nodes evaluated, seconds, answers of 30 questions to one decider."""
    decider = make_safety_decider(SafetySystem(transitions, FirstLabel()), kind, 0)
    states = [s * 617 % len(transitions) for s in range(30)]
    started = time.process_time()
    decisions = [decider.decide(s, radius) for s in states]
    seconds = time.process_time() - started
    return sum(d.evaluations for d in decisions), seconds, [d.answer for d in decisions]


def graphs(states: int) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for unsafe in (0.1, 0.15, 0.2):
        transitions = random_graph(states, unsafe, 7)
        for radius in (1, 2, None):
            nodes, answers, clocks = {}, {}, {}
            for kind in ("localfix", "tarjan"):
                nodes[kind], _, answers[kind] = ask(transitions, kind, radius)
            contestants: list[Callable[[], float]] = [
                partial(lambda k, r, t: ask(t, k, r)[1], kind, radius, transitions)
                for kind in ("localfix", "tarjan")
            ]
            clocks = dict(zip(("localfix", "tarjan"), alternate(RUNS, *contestants), strict=True))
            assert answers["localfix"] == answers["tarjan"]
            name = f"unsafe {unsafe}, radius {'none' if radius is None else radius}"
            ratio = nodes["tarjan"] / nodes["localfix"]
            safe = answers["localfix"].count("safe")
            remark(
                f"{name:28} {safe:2} safe  localfix {nodes['localfix']:9,} nodes"
                f" {1e3 * clocks['localfix']:8.1f} ms  tarjan {nodes['tarjan']:9,} nodes"
                f" {1e3 * clocks['tarjan']:8.1f} ms  {ratio:5.1f}x"
            )
            results[name] = {
                "safe": safe,
                "localfix_nodes": nodes["localfix"],
                "tarjan_nodes": nodes["tarjan"],
                "nodes_ratio": round(ratio, 2),
                "localfix_milliseconds": round(1e3 * clocks["localfix"], 1),
                "tarjan_milliseconds": round(1e3 * clocks["tarjan"], 1),
            }
    return results


def decisions(transitions: ExplicitTransitions, kind: str, radius: int | None) -> float:
    """Questions answered a second, each by a new decider on a new system."""
    states = [s * 7919 % len(transitions) for s in range(300)]
    started = time.process_time()
    for s in states:
        decider = make_safety_decider(SafetySystem(transitions, FirstLabel()), kind, 0)
        decider.decide(s, radius)
    return len(states) / (time.process_time() - started)


def fuzz_rate(transitions: ExplicitTransitions, select: str, lookahead: int | None) -> float:
    """Steps a second, the first visit of each state included."""
    fuzzer = SafetyFuzzer(
        SafetySystem(transitions, FirstLabel()),
        select=select,
        lookahead=lookahead,
        lookahead_cap=100_000,
        max_steps=1000,
        stop_on_revisit=False,
    )
    started = time.process_time()
    runs = fuzzer.runs(0, 0, 200)
    return sum(len(run) for run in runs) / (time.process_time() - started)


def main() -> None:
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    results: dict[str, Any] = {"random graphs": graphs(states)}
    track = line(60, 4, 20, 10)
    scratch: dict[str, Any] = {}
    for radius in (1, None):
        rates = alternate(
            RUNS,
            *(partial(decisions, track, kind, radius) for kind in ("localfix", "tarjan", "lrtdp")),
        )
        name = f"radius {'none' if radius is None else radius}"
        scratch[name] = dict(zip(("localfix", "tarjan", "lrtdp"), map(round, rates), strict=True))
        remark(f"line, {len(track):,} states, {name}: decisions/s from scratch {scratch[name]}")
    results["decisions per second from scratch"] = scratch
    fuzzing: dict[str, Any] = {}
    endless = random_graph(states, 0.0, 7)
    for select, lookahead in (("uniform", 1), ("greedy", 1), ("sample", 1), ("greedy", None)):
        (rate,) = alternate(RUNS, partial(fuzz_rate, endless, select, lookahead))
        name = f"{select}-{'inf' if lookahead is None else lookahead}"
        fuzzing[name] = round(rate)
        remark(f"fuzzing {name:10} {rate:12,.0f} steps/s")
    results["fuzzing steps per second"] = fuzzing
    report("safety", results)


if __name__ == "__main__":
    main()
