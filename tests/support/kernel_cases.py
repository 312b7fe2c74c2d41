"""The kernels of the graph network in Triton's interpreter, on the CPU. Run as a script; prints JSON.

Triton reads TRITON_INTERPRET when it is imported, so this runs in a process of its own.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from misstep.policies.gnn.checkpoint import Checkpoint, Relation, weight_shapes
from misstep.policies.gnn.encoding import Encoding, encode
from misstep.policies.gnn.evaluator import Evaluator
from misstep.policies.gnn.fused import FusedNetwork, Settings, Tables
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.task import Task

# Predicates of three arities and none; the last object is in no atom once the robot has left.
DOMAIN = """(define (domain rooms) (:requirements :strips)
  (:predicates (at ?r ?p) (door ?p ?q) (seen ?p) (way ?p ?q ?s) (calm))
  (:action go :parameters (?r ?p ?q)
    :precondition (and (at ?r ?p) (door ?p ?q))
    :effect (and (not (at ?r ?p)) (at ?r ?q) (seen ?q) (not (calm))))
  (:action leave :parameters (?r ?p)
    :precondition (at ?r ?p) :effect (not (at ?r ?p))))
"""
PROBLEMS = (
    """(define (problem p) (:domain rooms) (:objects a b c r)
  (:init (at r a) (seen a) (door a b) (door b a) (door b c) (door c b) (way a b c) (way c c a) (calm))
  (:goal (and (seen b) (seen c) (door a b))))""",
    """(define (problem q) (:domain rooms) (:objects a b c d e r)
  (:init (at r a) (door a b) (door b c) (door c d) (door d e) (door e a) (way e d c))
  (:goal (and (seen e) (at r a))))""",
)
PREDICATES = (("at", 2), ("door", 2), ("seen", 1), ("way", 3), ("calm", 0))


def tasks() -> list[Task]:
    found = []
    for problem in PROBLEMS:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "domain.pddl").write_text(DOMAIN)
            Path(folder, "problem.pddl").write_text(problem)
            found.append(load_planning_task(Path(folder)))
    return found


def checkpoint(width: int) -> Checkpoint:
    relations = tuple(
        Relation(name + end, arity) for end in ("", "_goal") for name, arity in PREDICATES
    )
    generator = torch.Generator().manual_seed(1)
    weights = {
        name: torch.randn(shape, generator=generator) * shape[-1] ** -0.5
        for name, shape in weight_shapes(relations, width, True).items()
    }
    return Checkpoint(relations, width, 2, weights, True, "")


def some_states(task: Task, count: int) -> Any:
    random = np.random.default_rng(0)
    rows = [np.array([task.initial_state.values], dtype=np.int32)]
    while len(rows) < count:
        operators = task.applicable_batch(rows[-1])[1]
        step = (
            rows[0]
            if len(operators) == 0
            else task.apply_batch(rows[-1], random.choice(operators, 1))
        )
        rows.append(step)
    return np.concatenate(rows)


def sharing(encoding: Encoding) -> Encoding:
    """The same tables, read by variables that share all facts, as where several tasks are joined."""
    slots = encoding.atoms_per_state
    return dataclasses.replace(
        encoding,
        variable_offsets=np.zeros(slots, dtype=np.int64),
        constant_facts=np.zeros(0, dtype=np.int64),
        always_visible=False,
    )


def on_a_small_card(network: Checkpoint, encoding: Encoding) -> list[Any]:
    """Tries kernels where large tiles do not fit."""
    launch = FusedNetwork.launch

    def refuse(self: FusedNetwork, *arguments: Any) -> None:
        if self.settings.send_tile > 32:
            raise RuntimeError("out of shared memory")
        launch(self, *arguments)

    with patch.object(FusedNetwork, "launch", refuse):
        small = Evaluator(network, encoding, 0, "cpu")
        small.fuse("cpu")
        forced = Evaluator(network, encoding, 0, "cpu")
        forced.fuse("cpu", Settings())
    tile = small.fused.settings.send_tile if small.fused else None
    return [small.refused, tile, forced.refused]


def main() -> None:
    small, large = tasks()
    network = checkpoint(16)
    encodings = [encode(task, network.relations, "test") for task in (small, large)]
    evaluators = [Evaluator(network, encoding, 0, "cpu") for encoding in encodings]
    result: dict[str, Any] = {"nodes": [encoding.node_count for encoding in encodings]}
    states = [some_states(task, 9) for task in (small, large)]
    offsets = np.array([0, 3, 3, 4, 9])
    plain = [own.evaluate(s, offsets) for own, s in zip(evaluators, states, strict=True)]
    for own in evaluators:
        own.fuse("cpu")
    result["refused"] = [own.refused for own in evaluators]
    result["steady"] = [own.steady for own in evaluators]
    fused = [own.evaluate(s, offsets) for own, s in zip(evaluators, states, strict=True)]
    result["error"] = []
    for one, other in zip(plain, fused, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a is not None
            assert b is not None
            result["error"].append(float(np.abs(a - b).max()))
    alone = [evaluators[1].evaluate(states[1][4:9], np.array([0, 5]))[0]]
    result["alone"] = bool((alone[0] == fused[1][0][4:9]).all())

    undivided = Evaluator(network, encodings[0], 0, "cpu")
    undivided.fuse("cpu", Settings(precision="tf32x3"))
    assert not undivided.refused, undivided.refused
    whole = undivided.evaluate(states[0], offsets)[0]
    result["error of whole products"] = float(np.abs(whole - plain[0][0]).max())

    wide = evaluators[1].fused
    assert isinstance(wide, FusedNetwork)
    tables = [Tables(encoding, "cpu") for encoding in encodings]
    groups = np.repeat(np.arange(4), np.diff(offsets))
    with torch.inference_mode():
        joined = wide(
            [(tables[0], states[0]), (tables[1], states[1])], np.concatenate((groups, groups + 4))
        )
    # The first task has fewer objects, whose initial embeddings are the same in the larger network.
    result["joined"] = [
        bool((joined[0, :9] == fused[0][0].astype(np.float32)).all()),
        bool((joined[0, 9:] == fused[1][0].astype(np.float32)).all()),
    ]

    shared = Evaluator(network, sharing(encodings[0]), 0, "cpu")
    facts = states[0] + encodings[0].variable_offsets
    constant = np.tile(encodings[0].constant_facts, (len(facts), 1))
    rows = np.concatenate((facts, constant), axis=1).astype(np.int32)
    shared.fuse("cpu")
    result["shared"] = [
        shared.refused,
        bool((shared.evaluate(rows, offsets)[0] == fused[0][0]).all()),
    ]

    result["small card"] = on_a_small_card(network, encodings[0])
    odd = Evaluator(checkpoint(24), encodings[0], 0, "cpu")
    odd.fuse("cpu")
    result["odd width"] = [odd.refused, odd.steady]
    broken = Evaluator(network, encodings[0], 0, "cpu")
    broken.network.update_in_bias.fill_(float("nan"))
    broken.fuse("cpu")
    result["not a number"] = bool(np.isnan(broken.evaluate(states[0], offsets)[0]).all())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
