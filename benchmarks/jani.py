"""Exploring JANI models: every outcome of every state, against other explorers of the same file.

python -m benchmarks.jani
"""

from __future__ import annotations

import json
import tempfile
import warnings
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.common import alternate, remark, report
from misstep._core import CounterRandom
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask

RUNS = 5
SLOW_RUNS = 3
PEER_STATES = 2000  # of the peer that is asked state by state
STEPS = 200_000
SIZES = {"line-8-3": (8, 3), "line-10-4": (10, 4)}

Json = Any


def op(symbol: str, *operands: Json) -> Json:
    left, *rest = operands
    for right in rest:
        left = {"op": symbol, "left": left, "right": right}
    return left


def bounded(low: int, high: int) -> Json:
    return {"kind": "bounded", "base": "int", "lower-bound": low, "upper-bound": high}


def edge(label: str, guard: list[Json], *outcomes: dict[str, Json]) -> Json:
    share = 1 / len(outcomes)
    return {
        "location": "l",
        "action": label,
        "guard": {"exp": op("∧", *guard)},
        "destinations": [
            {
                "location": "l",
                "probability": {"exp": share},
                "assignments": [{"ref": name, "value": value} for name, value in outcome.items()],
            }
            for outcome in outcomes
        ],
    }


def two_way_line(cells: int, packages: int, vmax: int = 3) -> Json:
    """A truck on a line, both ways: it picks packages up and drops them, may lose one on the move, and crashes
    when it leaves the line. Integers only, and no inequalities, so that every peer can read it."""
    ahead = op("+", "pos", "vel")
    inside = [op("≤", 0, ahead), op("≤", ahead, cells - 1)]
    edges = []
    for i in range(cells):
        here = [op("=", "pos", i), op("=", "vel", 0)]
        load, up, down = f"load_{i}", op("+", f"load_{i}", 1), op("-", f"load_{i}", 1)
        more, less = op("+", "cargo", 1), op("-", "cargo", 1)
        edges.append(edge("pick", [*here, op("≥", load, 1)], {load: down, "cargo": more}))
        edges.append(edge("drop", [*here, op("≥", "cargo", 1)], {load: up, "cargo": less}))
    for label, allowed, change in (
        ("acc", op("≤", "vel", vmax - 1), 1),
        ("dec", op("≥", "vel", 1 - vmax), -1),
        ("move", op("≥", op("*", "vel", "vel"), 1), 0),
    ):
        moved = {"pos": ahead, "vel": op("+", "vel", change)}
        edges.append(edge(label, [allowed, op("=", "cargo", 0), *inside], moved))
        for i in range(cells):
            lost = {
                **moved,
                f"load_{i}": op("+", f"load_{i}", 1),
                "cargo": op("-", "cargo", 1),
            }
            guard = [op("=", "pos", i), allowed, op("≥", "cargo", 1), *inside]
            edges.append(edge(label, guard, moved, lost))
        for beyond in (op("<", ahead, 0), op(">", ahead, cells - 1)):
            edges.append(edge(label, [allowed, beyond, op("=", "crash", 0)], {"crash": 1}))
    labels = ("pick", "drop", "acc", "dec", "move")
    variables = [
        *((f"load_{i}", bounded(0, packages), packages if i == 1 else 0) for i in range(cells)),
        ("pos", bounded(0, cells - 1), 0),
        ("cargo", bounded(0, packages), 0),
        ("vel", bounded(-vmax, vmax), 0),
        ("crash", bounded(0, 1), 0),
    ]
    return {
        "jani-version": 1,
        "name": "two-way-line",
        "type": "mdp",
        "actions": [{"name": label} for label in labels],
        "variables": [
            {"name": name, "type": kind, "initial-value": value} for name, kind, value in variables
        ],
        "automata": [
            {
                "name": "m",
                "locations": [{"name": "l"}],
                "initial-locations": ["l"],
                "edges": edges,
            }
        ],
        "system": {
            "elements": [{"automaton": "m"}],
            "syncs": [{"synchronise": [label], "result": label} for label in labels],
        },
        "properties": [],
    }


PROPERTY = {
    "name": "safety",
    "expression": {
        "op": "PA",
        "reach": {"op": "state-condition", "exp": op("=", "crash", 1)},
    },
}


def load(document: Json) -> JaniTask:
    path = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / "line.jani"
    path.write_text(json.dumps({**document, "properties": [PROPERTY]}))
    return load_jani(path)


def explore(task: JaniTask) -> float:
    """Also behind crashes, as the peers do."""
    began = process_time()
    task.space(raw=True)
    return process_time() - began


def ask_each(task: JaniTask, states: int) -> float:
    """State by state through Python, each successor with its values: seconds a state."""
    engine = task.new_engine()
    queue = [engine.intern(task.initial_states()[0])]
    seen = set(queue)
    began = process_time()
    for asked, id in enumerate(queue):
        if asked == states:
            break
        for _, outcomes in engine.expand(id, raw=True):
            for outcome in outcomes:
                if outcome not in seen:
                    seen.add(outcome)
                    queue.append(outcome)
                    engine.values(outcome)
    return (process_time() - began) / states


def policy_steps(task: JaniTask) -> float:
    """A random walk: labels, outcomes of one of them, distance of one of these. Seconds a step."""
    engine = task.new_engine()
    random = CounterRandom(1)
    start = engine.intern(task.initial_states()[0])
    id = start
    began = process_time()
    for _ in range(STEPS):
        labels = engine.applicable(id)
        if not labels:
            id = start
            continue
        outcomes = engine.outcomes(id, labels[random.below(len(labels))])
        id = outcomes[random.below(len(outcomes))]
        engine.distance(id)
    return (process_time() - began) / STEPS


class Momba:
    def __init__(self, document: Json) -> None:
        from momba import engine, jani

        warnings.simplefilter("ignore", UserWarning)  # one for each real constant
        self.network = jani.load_model(json.dumps(document), ignore_properties=True)
        self.engine = engine

    def ask_each(self, names: list[str], states: int) -> float:
        """Its states do not compare by value, so the values are what is seen."""
        explorer = self.engine.Explorer.new_discrete_time(self.network)
        queue = list(explorer.initial_states)
        seen = set()
        began = process_time()
        for asked, state in enumerate(queue):
            if asked == states:
                break
            for transition in state.transitions:
                for destination in transition.destinations.support:
                    target = destination.state
                    values = tuple(target.global_env[name].as_int for name in names)
                    if values not in seen:
                        seen.add(values)
                        queue.append(target)
        return (process_time() - began) / states

    def explore(self, found: dict[str, int]) -> float:
        explorer = self.engine.Explorer.new_discrete_time(self.network)
        began = process_time()
        found["momba"] = explorer.count_states()
        return process_time() - began


class Storm:
    def __init__(self, document: Json) -> None:
        import stormpy

        self.stormpy = stormpy
        path = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / "line.jani"
        path.write_text(json.dumps(document))
        self.model, _ = stormpy.parse_jani_model(str(path))

    def explore(self, found: dict[str, int]) -> float:
        began = process_time()
        built = self.stormpy.build_model(self.model)
        found["storm"] = int(built.nr_states)
        return process_time() - began


def main() -> None:
    results: dict[str, Any] = {}
    for name, (cells, packages) in SIZES.items():
        document = two_way_line(cells, packages)
        task = load(document)
        space = task.space(raw=True)
        peers: dict[str, Any] = {}
        for label, peer in (("momba", Momba), ("storm", Storm)):
            try:
                peers[label] = peer(document)
            except ImportError:
                remark(f"{label} is not installed")
        found: dict[str, int] = {}
        seconds, *others = alternate(
            SLOW_RUNS if peers else RUNS,
            partial(explore, task),
            *(partial(peer.explore, found) for peer in peers.values()),
        )
        for label, count in found.items():
            assert count == len(space), (label, count, len(space))
        entry: dict[str, Any] = {
            "states": len(space),
            "outcomes": space.outcome_count,
            "seconds": round(seconds, 4),
            "outcomes_per_second": round(space.outcome_count / seconds),
            "bytes_per_state": round(space.bytes / len(space), 1),
        }
        for label, other in zip(peers, others, strict=True):
            entry[f"{label}_seconds"] = round(other, 3)
            entry[f"ratio_{label}"] = round(other / seconds, 1)
        python = alternate(RUNS, partial(ask_each, task, PEER_STATES), partial(policy_steps, task))
        entry["microseconds_a_state_through_python"] = round(1e6 * python[0], 2)
        entry["microseconds_a_policy_step_through_python"] = round(1e6 * python[1], 2)
        if "momba" in peers:
            names = list(task.variable_names)
            (slow,) = alternate(SLOW_RUNS, partial(peers["momba"].ask_each, names, PEER_STATES))
            entry["momba_microseconds_a_state_through_python"] = round(1e6 * slow, 1)
            entry["ratio_momba_through_python"] = round(slow / python[0], 1)
            entry["ratio_momba_through_python_to_native"] = round(slow / (seconds / len(space)), 1)
        remark(f"{name}: {json.dumps(entry)}")
        results[name] = entry
    report("jani", results)


if __name__ == "__main__":
    main()
