"""Rows that are models: a built-in model at a size, or a file, with policies of which the first that fits is tested.

`options = "shipped"` takes the size that the shipped network of the model was trained on; where none is shipped,
`fallback` says the size.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError
from misstep.experiments.kinds import MISSING, Json
from misstep.experiments.kinds.fitting import first_fitting
from misstep.experiments.schema import Key, number, table, text, texts, whole
from misstep.files import read_bytes
from misstep.policies.load import load_policy
from misstep.policies.shipped import shipped, shipped_names
from misstep.safety.decider import KINDS as ORACLES
from misstep.safety.decider import Budget
from misstep.safety.fuzz import CONFIGURATIONS, UnsafeRun, fuzz
from misstep.safety.jani import system_of
from misstep.safety.system import System
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model, write_model

SHIPPED = "shipped"
_KEPT = 4  # subjects and collections of runs that a worker keeps
_MOST_BYTES = 64 * 2**20
_MOST_EXPANSIONS = 200_000  # of an engine that serves for further questions
RADII = ("0", "1", "2", "3", "inf")

ROW_KEYS = {
    "name": text(),
    "model": text(),
    "options": Key(
        f'a table of sizes, or "{SHIPPED}"',
        lambda own: own == SHIPPED or isinstance(own, dict),
        {},
        True,
    ),
    "fallback": table({}),
    "policies": texts(),
    "tags": table({}),
}
# How runs are collected whose states are decided and whose decisions are blamed.
COLLECTING = {
    "configuration": Key(f"one of {', '.join(CONFIGURATIONS)}", lambda own: own in CONFIGURATIONS),
    "runs": whole(),
    "max_steps": whole(1000),
}
# What one question may cost.
LIMITS = {
    "evaluations": whole(None),
    "seconds": number(60.0),
    "megabytes": number(None),
}


def subject(row: Json) -> Json:
    """The data of a row that a unit needs."""
    model, options = row["model"], row["options"]
    found: Json = {"model": model, "policies": row["policies"]}
    if model.endswith(".jani"):
        path = Path(row["folder"] or ".") / model
        content = read_bytes(path, _MOST_BYTES, "a model")
        digest = hashlib.sha256(content).hexdigest()
        return {**found, "model": str(path), "options": {}, "digest": digest}
    if options == SHIPPED:
        known = model in shipped_names("safety")
        options = dict(shipped("safety", model).card["options"]) if known else row["fallback"]
    return {**found, "options": options}


@dataclass(frozen=True)
class Opened:
    task: JaniTask
    policy: str

    def system(self) -> System[State, str]:
        """The model under the policy, with nothing known about it yet."""
        engine = self.task.new_engine()
        return system_of(self.task, load_policy(self.policy, self.task, engine=engine), engine)


class Systems:
    """Systems for many questions. The engine caches outcomes and the policy's answers, but no verdicts.

    Loading a network for a new engine takes longer than most questions, so an engine is used for many of them, until it
    holds so many states that it takes too much memory.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._current: System[State, str] | None = None

    def next(self) -> System[State, str]:
        if self._current is None or self._current.native.expansions > _MOST_EXPANSIONS:
            self._current = self._opened.system()
        return self._current


def open_subject(found: Json) -> Opened:
    return _open(json.dumps(found, sort_keys=True))


@lru_cache(_KEPT)
def _open(found: str) -> Opened:
    own = json.loads(found)
    if MISSING in own:
        raise InputFileError(own[MISSING])
    task = _load(own["model"], own["options"])
    return Opened(task, _fitting(own["policies"], task))


def _load(model: str, options: dict[str, Any]) -> JaniTask:
    if model.endswith(".jani"):
        return load_jani(Path(model))
    with tempfile.TemporaryDirectory(prefix="misstep-") as folder:
        path = Path(folder) / "model.jani"
        write_model(generate_model(model, **options), path)
        return load_jani(path)


def _fitting(specs: Sequence[str], task: JaniTask) -> str:
    """The first policy that can be loaded for the model."""

    def load(spec: str) -> None:
        load_policy(spec, task, engine=task.new_engine())

    return first_fitting(specs, load, "the model")


def is_trained(policy: str) -> bool:
    """Whether a row has a network that comes with Misstep, and not a simple policy in its place."""
    return policy.startswith("shipped:")


def collecting(step: Json) -> Json:
    return {name: step[name] for name in COLLECTING}


def collected(subject: Json, how: Json, seed: int) -> tuple[UnsafeRun[State, str], ...]:
    """The distinct unsafe runs of a fuzzer, as they were found; not those that are unsafe from the start."""
    return _collected(json.dumps([subject, how, seed], sort_keys=True))


@lru_cache(_KEPT)
def _collected(text: str) -> tuple[UnsafeRun[State, str], ...]:
    found, how, seed = json.loads(text)
    settings = replace(
        CONFIGURATIONS[how["configuration"]], runs=how["runs"], max_steps=how["max_steps"]
    )
    return fuzz(open_subject(found).system(), settings, seed=seed).runs


def drawn_states(runs: Sequence[UnsafeRun[State, str]], most: int, seed: int) -> list[State]:
    """States on the runs before their last ones, all or so many at random."""
    states = list(dict.fromkeys(state for run in runs for state in run.states[:-1]))
    if len(states) <= most:
        return states
    return random.Random(f"states {seed}").sample(states, most)


def limits(step: Json) -> Json:
    return {name: step[name] for name in LIMITS}


def budget(own: Json) -> Budget:
    size = own["megabytes"]
    return Budget(
        evaluations=own["evaluations"],
        seconds=own["seconds"],
        bytes=None if size is None else int(size * 2**20),
    )


def radius_of(text: str) -> float:
    return float(text)


__all__ = [
    "COLLECTING",
    "LIMITS",
    "ORACLES",
    "RADII",
    "ROW_KEYS",
    "Opened",
    "Systems",
    "budget",
    "collected",
    "collecting",
    "drawn_states",
    "is_trained",
    "limits",
    "open_subject",
    "radius_of",
    "subject",
]
