"""What a safety campaign keeps, in the same store as the classical ones: model, unsafe runs, decided states.

A batch of fuzzed runs is one unit, and so is the analysis of one unsafe run with all that it decided. States are JSON
lists of values, so that real numbers come back bit by bit.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from misstep.campaigns.safety_settings import SafetySettings
from misstep.campaigns.store import CampaignStore
from misstep.errors import InputFormatError
from misstep.safety.fuzz import UnsafeRun
from misstep.tasks.jani.load import rebuild
from misstep.tasks.jani.task import JaniTask, State


@dataclass(frozen=True)
class DecidedState:
    """A state of an unsafe run and what the oracle says about it. A bug if it is safe: the policy gets unsafe."""

    index: int
    state: State
    path: int  # number of the first unsafe run through it
    step: int
    label: str  # the policy's decision
    verdict: str  # BUG, NOT A BUG or UNKNOWN
    smallest_radius: (
        float | None
    )  # deviations that a safe strategy needs; infinite: more than were tried
    fault: bool | None  # the decision leads from a safe state to one that is not; None: not known
    outcome: State | None  # such a state
    strategy: tuple[tuple[State, str], ...] | None  # the witness: what to do instead
    seconds: float = 0.0
    evaluations: int = 0

    def as_dict(self, task: JaniTask, tables: SafetyStore) -> dict[str, Any]:
        """Within a finite radius of the campaign, a fault is an r-fault, which is another notion."""
        smallest = self.smallest_radius
        return {
            "task": task.name,
            "state": list(self.state),
            "facts": task.text(self.state),
            "path": self.path,
            "step": self.step,
            "decision": self.label,
            "verdict": self.verdict,
            "kind": "unsafe" if self.verdict == "BUG" else None,
            "radius": tables.radius,
            "smallest_radius": f">{tables.largest}"
            if smallest == math.inf
            else smallest and int(smallest),
            "fault": self.fault,
            "outcome": None if self.outcome is None else list(self.outcome),
            "witness": None
            if self.strategy is None
            else [[list(state), label] for state, label in self.strategy],
            "seconds": self.seconds,
        }


class SafetyStore:
    """The safety tables of a campaign."""

    def __init__(self, store: CampaignStore) -> None:
        self.store = store

    @property
    def radius(self) -> str:
        """Of the campaign: a number, or inf."""
        return str(self.store.config["radius"])

    @property
    def largest(self) -> int:
        """The largest radius that was tried for the severity of a bug."""
        return SafetySettings.from_dict(self.store.config, str(self.store.path)).largest

    # -- the model --------------------------------------------------------------------------------

    def set_model(self, task: JaniTask) -> None:
        """Keep the model with all files it was read from. Setting it again changes nothing."""
        known = self.store.rows("SELECT digest FROM models")
        if known:
            if known[0][0] != task.digest:
                raise InputFormatError(
                    f"the model {task.name} is not the one that the campaign began with",
                    where=str(self.store.folder),
                    hint="its files were changed: start a new campaign",
                )
            return
        source = dict(task.source)
        source["files"] = {
            name: base64.b64encode(content).decode() for name, content in source["files"].items()
        }
        packed = zlib.compress(json.dumps(source).encode())
        self.store.insert(
            "the model", "models(name, digest, source)", (task.name, task.digest, packed)
        )

    def model(self) -> JaniTask:
        """The model, rebuilt from the database alone."""
        found = self.store.rows("SELECT digest, source FROM models")
        if not found:
            raise InputFormatError(
                "the campaign ended before it knew its model",
                where=str(self.store.folder),
                hint="start it again without --resume",
            )
        digest, packed = found[0]
        try:
            source = json.loads(zlib.decompress(packed))
            source["files"] = {k: base64.b64decode(v) for k, v in source["files"].items()}
            task = rebuild(source)
        except (ValueError, KeyError, zlib.error) as error:
            raise InputFormatError(
                f"the model in the campaign is damaged: {error}", where=str(self.store.path)
            ) from error
        if task.digest != digest:
            raise InputFormatError(
                "the model in the campaign is not what it was", where=str(self.store.path)
            )
        return task

    # -- runs -------------------------------------------------------------------------------------

    def add_fuzzed(
        self, first: int, runs: int, ends: dict[str, int], found: Sequence[UnsafeRun[State, str]]
    ) -> None:
        """A batch of runs; those that are new among the unsafe ones are kept."""
        with self.store.unit():
            row = (first, runs, ends["unsafe"], json.dumps(ends))
            self.store.insert("a batch of runs", "fuzzed", row)
            for run in found:
                states = json.dumps(list(run.states))
                if not self.store.rows("SELECT 1 FROM paths WHERE states = ?", states):
                    labels = json.dumps(list(run.labels))
                    self.store.insert(
                        "a run", "paths(number, states, labels)", (run.number, states, labels)
                    )

    @property
    def fuzzed(self) -> int:
        """Runs done so far."""
        return int(self.store.rows("SELECT coalesce(sum(runs), 0) FROM fuzzed")[0][0])

    @property
    def unsafe_runs(self) -> int:
        return int(self.store.rows("SELECT coalesce(sum(unsafe), 0) FROM fuzzed")[0][0])

    def paths(self, *, open_only: bool = False) -> list[UnsafeRun[State, str]]:
        where = "WHERE analysed = 0 " if open_only else ""
        query = f"SELECT number, states, labels FROM paths {where}ORDER BY number"
        return [
            UnsafeRun(
                tuple(_state(values) for values in json.loads(states)),
                tuple(json.loads(labels)),
                number,
            )
            for number, states, labels in self.store.rows(query)
        ]

    # -- decided states ---------------------------------------------------------------------------

    def add_analysed(self, path: int, decided: Sequence[DecidedState]) -> None:
        """The analysis of one run. What is decided replaces what was left open before."""
        with self.store.unit():
            for entry in decided:
                self.store.insert("a decided state", "decided", _row(entry), replace=True)
            self.store.execute("UPDATE paths SET analysed = 1 WHERE number = ?", path)

    def decided(self) -> Iterator[DecidedState]:
        for row in self.store.rows("SELECT * FROM decided ORDER BY idx"):
            yield _decided(row)


def _state(values: list[Any]) -> State:
    return tuple(values)


def _row(entry: DecidedState) -> tuple[Any, ...]:
    return (
        entry.index,
        json.dumps(list(entry.state)),
        entry.path,
        entry.step,
        entry.label,
        entry.verdict,
        entry.smallest_radius,
        None if entry.fault is None else int(entry.fault),
        None if entry.outcome is None else json.dumps(list(entry.outcome)),
        None if entry.strategy is None else json.dumps(entry.strategy),
        entry.seconds,
        entry.evaluations,
    )


def _decided(row: tuple[Any, ...]) -> DecidedState:
    index, state, path, step, label, verdict, radius, fault, outcome, strategy, *effort = row
    return DecidedState(
        index,
        _state(json.loads(state)),
        path,
        step,
        label,
        verdict,
        radius,
        None if fault is None else bool(fault),
        None if outcome is None else _state(json.loads(outcome)),
        None
        if strategy is None
        else tuple((_state(values), own) for values, own in json.loads(strategy)),
        *effort,
    )


__all__ = ["DecidedState", "SafetyStore"]
