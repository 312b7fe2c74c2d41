"""Fault analysis of unsafe runs: a unit is an oracle, a radius and a way to share knowledge, on the runs of a row.

path   results about a state of a run are used for its other states; the next run starts without them (the paper)
all    results are used for all runs
none   every question is answered from scratch: the baseline
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

from misstep import _core
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part
from misstep.experiments.kinds.models import (
    COLLECTING,
    LIMITS,
    ORACLES,
    RADII,
    Systems,
    budget,
    collected,
    collecting,
    is_trained,
    limits,
    open_subject,
    radius_of,
)
from misstep.experiments.schema import texts, whole
from misstep.safety.decider import Answer, Decider
from misstep.safety.faults import analyse
from misstep.safety.system import Radius, System
from misstep.tasks.jani.task import State

WORLD = "models"
VERSION = 1
KNOWLEDGE = ("path", "all", "none")
KEYS = {
    **COLLECTING,
    **LIMITS,
    "paths": whole(),
    "path_evaluations": whole(None),
    "oracles": texts(ORACLES),
    "radii": texts(RADII),
    "knowledge": texts(KNOWLEDGE),
}
COLUMNS = (
    *("policy", "trained", "oracle", "radius", "knowledge", "path", "length", "faults", "complete"),
    *("safe_states", "undecided", "seconds", "evaluations"),
)


class PathDecider(Decider[State, str]):
    """Answers questions about the states of one run within an allowance for all of them together.

    An allowance in evaluations, unlike one in seconds, gives the same results on every machine. What it does not cover
    is left open.
    """

    def __init__(self, system: System[State, str], payload: Json) -> None:
        super().__init__(system, payload["oracle"], budget=budget(payload["limits"]))
        self._forgets = payload["knowledge"] == "none"
        self._each = self.budget
        self._allowance = payload["path_evaluations"]
        self._left = self._allowance

    def next_path(self) -> None:
        self._left = self._allowance

    def decide_id(self, id: int, radius: Radius = math.inf) -> _core.SafetyDecision:
        if self._forgets:
            self.native = _core.make_safety_decider(self.system.native, self.kind, 0)
        if self._left is not None:
            limits = (self._each.evaluations, max(1, self._left))
            self.budget = replace(self._each, evaluations=min(x for x in limits if x is not None))
        found = super().decide_id(id, radius)
        if self._left is not None:
            self._left -= found.evaluations
        return found


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    for radius in step["radii"]:
        for oracle in step["oracles"]:
            for knowledge in step["knowledge"]:
                payload = {
                    "subject": row["subject"],
                    "collecting": collecting(step),
                    "limits": limits(step),
                    "paths": step["paths"],
                    "path_evaluations": step["path_evaluations"],
                    "oracle": oracle,
                    "radius": radius,
                    "knowledge": knowledge,
                    "seed": seed,
                }
                label = f"{oracle}, radius {radius}, knowledge {knowledge}"
                yield Part(label, payload, step["paths"])


def run(payload: Json) -> Json:
    opened = open_subject(payload["subject"])
    runs = collected(payload["subject"], payload["collecting"], payload["seed"])
    kept: PathDecider | None = None
    systems = Systems(opened)
    paths = []
    for own in runs[: payload["paths"]]:
        decider = kept or PathDecider(systems.next(), payload)
        decider.next_path()
        if payload["knowledge"] == "all":
            kept = decider
        began = process_time()
        found = analyse(decider, own, radius_of(payload["radius"]), largest=None)
        spent = process_time() - began
        paths.append(
            {
                "length": len(own),
                "faults": len(found.faults),
                "complete": found.is_complete,
                "safe_states": sum(step.safety is Answer.SAFE for step in found.steps),
                "undecided": sum(step.safety is Answer.UNKNOWN for step in found.steps),
                "seconds": spent,
                "evaluations": sum(step.effort.evaluations for step in found.steps),
            }
        )
    return {"policy": opened.policy, "paths": paths}


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    about = {name: payload[name] for name in ("oracle", "radius", "knowledge")}
    about |= {"policy": result["policy"], "trained": is_trained(result["policy"])}
    for number, path in enumerate(result["paths"]):
        yield {**about, "path": number, **path}


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None  # a run has as many questions as states
