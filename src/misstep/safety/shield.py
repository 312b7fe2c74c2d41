"""Shields: keep a policy from what was found, or from everything that is not safe.

    blacklist  forbids decisions that were found to be faults. Costs nothing at run time, and guarantees nothing: the
               next fault may lie elsewhere. `harden` goes on until the fuzzer finds no more unsafe runs.
    oracle     takes the policy's best label all of whose outcomes are decided to be safe. From a safe state its runs
               are safe for ever. Costs questions to a decider at run time, which are remembered.
    repair     takes the labels of a safe strategy where it has one: a policy that is safe from the bug state on.

Blacklists and tables of oracle shields are exported as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from misstep import _core
from misstep.decoding import parse_json
from misstep.errors import InputFormatError, UsageError
from misstep.files import write_bytes
from misstep.safety.decider import KINDS, Budget, Decider, Strategy
from misstep.safety.faults import Fault, analyse_all
from misstep.safety.fuzz import FuzzSettings, fuzz
from misstep.safety.system import LabelT, StateT, System

FORMAT = "misstep-shield"
VERSION = 1
DECIDER = "decider"
GUARANTEE = (
    "From a safe state the run stays safe for ever, as long as the decider decides within its evaluations. Where no "
    "label is decided to be safe, because the state is not safe or the evaluations ran out, the policy has its way."
)
Shield = TypeVar("Shield")


@dataclass(frozen=True)
class Blacklist(Generic[StateT, LabelT]):
    """Labels that must not be taken, by state."""

    forbidden: dict[StateT, tuple[LabelT, ...]]
    # The deviations within which the faults were found: a number as text, or inf; None: nobody has said. Within a
    # finite radius other decisions may be the safer ones, so it is part of what the list claims.
    radius: str | None = None

    @classmethod
    def of(
        cls, faults: Iterable[Fault[StateT, LabelT]], radius: str | None = None
    ) -> Blacklist[StateT, LabelT]:
        forbidden: dict[StateT, tuple[LabelT, ...]] = {}
        for fault in faults:
            known = forbidden.get(fault.state, ())
            if fault.label not in known:
                forbidden[fault.state] = (*known, fault.label)
        return cls(forbidden, radius)

    def with_faults(self, faults: Iterable[Fault[StateT, LabelT]]) -> Blacklist[StateT, LabelT]:
        more = Blacklist.of(faults).forbidden
        return Blacklist(
            {
                state: tuple(dict.fromkeys((*self.forbidden.get(state, ()), *more.get(state, ()))))
                for state in (*self.forbidden, *more)
            },
            self.radius,
        )

    def shield(self, system: System[StateT, LabelT]) -> System[StateT, LabelT]:
        """The system under its policy, but for what is forbidden."""
        forbidden = {
            system.id(state): [system.label_id(label) for label in labels]
            for state, labels in self.forbidden.items()
        }
        return system.with_policy(_core.BlacklistShield(_policy(system), forbidden))

    def to_json(self) -> str:
        more = {} if self.radius is None else {"radius": self.radius}
        return _document("blacklist", "forbidden", self.forbidden.items(), **more)

    @classmethod
    def from_json(cls, text: str) -> Blacklist[StateT, LabelT]:
        return _parse(
            text,
            "blacklist",
            lambda document: cls(_labels(document, "forbidden"), document.get("radius")),
        )


class OracleShield(Generic[StateT, LabelT]):
    """The policy under the eyes of a decider. `system` is the shielded one."""

    def __init__(self, decider: Decider[StateT, LabelT], budget: Budget | None = None) -> None:
        _policy(decider.system)
        self.decider = decider
        limits = (budget or decider.budget).as_arguments()
        self.native = _core.OracleShield(decider.native, **limits)
        self.system = decider.system.with_policy(self.native)

    @property
    def corrected(self) -> int:
        """States where it took another label than the policy."""
        return self.native.corrected

    @property
    def unguarded(self) -> int:
        """States where no label was decided to be safe, so that it let the policy have its way."""
        return self.native.unguarded

    def table(
        self, starts: Sequence[StateT], max_states: int = 1_000_000
    ) -> ShieldTable[StateT, LabelT]:
        """The labels that it allows wherever its runs from these states can get to; the first one is the one it
        takes."""
        system = self.system
        ids = list(dict.fromkeys(system.id(state) for state in starts))
        seen = set(ids)
        allowed: dict[StateT, tuple[LabelT, ...]] = {}
        for id in ids:  # grows
            if len(allowed) >= max_states:
                return ShieldTable(allowed, False)
            labels = self.native.allowed(id)
            if labels:
                allowed[system.state(id)] = system.labels(labels)
            for outcome in system.native.policy_outcomes(id):
                if outcome not in seen:
                    seen.add(outcome)
                    ids.append(outcome)
        return ShieldTable(allowed, True)


@dataclass(frozen=True)
class ShieldTable(Generic[StateT, LabelT]):
    """An oracle shield written down; complete if it says something wherever it can get to."""

    allowed: dict[StateT, tuple[LabelT, ...]]
    is_complete: bool
    task: str | None = None  # digest of the model that it was made for; None: nobody has said
    policy: str | None = None  # spec of the policy behind it

    def __post_init__(self) -> None:
        for state, labels in self.allowed.items():
            if not labels:
                raise UsageError(f"no label is allowed in {state!r}")

    def shield(self, system: System[StateT, LabelT]) -> System[StateT, LabelT]:
        """The system under its policy, which takes the first allowed label where the table knows one."""
        return _patched(system, {state: labels[0] for state, labels in self.allowed.items()})

    def to_json(self) -> str:
        named = {"task": self.task, "policy": self.policy}
        more = {key: value for key, value in named.items() if value is not None}
        return _document(
            "oracle", "allowed", self.allowed.items(), complete=self.is_complete, **more
        )

    @classmethod
    def from_json(cls, text: str) -> ShieldTable[StateT, LabelT]:
        return _parse(
            text,
            "oracle",
            lambda document: cls(
                _labels(document, "allowed"),
                bool(document["complete"]),
                _optional_text(document, "task"),
                _optional_text(document, "policy"),
            ),
        )


@dataclass(frozen=True)
class DeciderShield:
    """An oracle shield as a file: which decider watches which policy on which model, and what it may spend.

    The answers are not in the file: the decider is asked while the policy runs, and remembers. So the file is small
    and holds for every state of the model. The budget has no time in it, which would make the policy another one on a
    slower machine.
    """

    task: str  # digest of the model
    model: str  # its name, for people
    policy: str  # spec of the policy behind it
    decider: str = "localfix"
    evaluations: int = 1_000_000  # for one state

    def __post_init__(self) -> None:
        if self.decider not in KINDS:
            raise UsageError(f"no decider {self.decider!r:.60}", expected=", ".join(KINDS))
        if type(self.evaluations) is not int or not 1 <= self.evaluations < 2**63:
            raise UsageError(f"evaluations is {self.evaluations!r:.60}", expected="1 or more")

    def shield(self, system: System[StateT, LabelT]) -> System[StateT, LabelT]:
        budget = Budget(evaluations=self.evaluations, seconds=None)
        return OracleShield(Decider(system, self.decider, budget=budget)).system

    def to_json(self) -> str:
        document = {"format": FORMAT, "version": VERSION, "kind": DECIDER, "guarantee": GUARANTEE}
        return json.dumps({**document, **asdict(self)}, indent=1) + "\n"

    def write(self, path: Path) -> None:
        write_bytes(path, self.to_json().encode())

    @classmethod
    def from_json(cls, text: str) -> DeciderShield:
        def make(document: dict[str, Any]) -> DeciderShield:
            for name in ("task", "model", "policy", "decider"):
                if not isinstance(document[name], str):
                    raise ValueError(f"{name} is not text")
            return cls(**{own.name: document[own.name] for own in fields(cls)})

        return _parse(text, DECIDER, make)


def repair(
    system: System[StateT, LabelT], strategy: Strategy[StateT, LabelT]
) -> System[StateT, LabelT]:
    """The system under its policy, which follows the strategy where that says something."""
    return _patched(system, strategy.labels)


def _patched(
    system: System[StateT, LabelT], labels: dict[StateT, LabelT]
) -> System[StateT, LabelT]:
    patches = {system.id(state): system.label_id(label) for state, label in labels.items()}
    return system.with_policy(_core.PatchedPolicy(_policy(system), patches))


@dataclass(frozen=True)
class Hardening(Generic[StateT, LabelT]):
    """What `harden` did. `unsafe_runs` are those found in each round; the last number is not 0 if rounds ran out, or if
    runs were left that pass no new fault, such as those from states that are lost from the start."""

    blacklist: Blacklist[StateT, LabelT]
    system: System[StateT, LabelT]
    unsafe_runs: tuple[int, ...]


def harden(
    decider: Decider[StateT, LabelT],
    settings: FuzzSettings | None = None,
    *,
    seed: int = 0,
    starts: Sequence[StateT] | None = None,
    rounds: int = 10,
) -> Hardening[StateT, LabelT]:
    """Fuzz, find faults, forbid them, and again, until no unsafe run is found or nothing new is to be forbidden."""
    blacklist: Blacklist[StateT, LabelT] = Blacklist({})
    system = decider.system
    counts: list[int] = []
    for round in range(rounds):
        report = fuzz(system, settings, seed=seed + round, starts=starts)
        counts.append(len(report.runs))
        shielded = Decider(system, decider.kind, budget=decider.budget)
        found = analyse_all(shielded, report.runs, largest=None)
        more = blacklist.with_faults(found.faults)
        if more == blacklist:
            break
        blacklist = more
        system = blacklist.shield(decider.system)
    return Hardening(blacklist, system, tuple(counts))


def _policy(system: System[StateT, LabelT]) -> _core.LabelPolicy:
    if system.policy is None:
        raise UsageError("the system has no policy to shield")
    return system.policy


def _document(
    kind: str, key: str, entries: Iterable[tuple[StateT, tuple[LabelT, ...]]], **more: Any
) -> str:
    states = [{"state": state, key: list(labels)} for state, labels in entries]
    document = {"format": FORMAT, "version": VERSION, "kind": kind, **more, "states": states}
    try:
        return json.dumps(document)
    except TypeError as error:
        raise UsageError(
            f"states or labels of this model cannot be written as JSON: {error}",
            expected="numbers, strings, and tuples of these",
        ) from error


def _parse(text: str, kind: str, make: Callable[[dict[str, Any]], Shield]) -> Shield:
    try:
        document = parse_json(text)
        if (document["format"], document["version"], document["kind"]) != (FORMAT, VERSION, kind):
            raise ValueError(f"this is a {document['format']} {document['kind']}")
        return make(document)
    except (ValueError, KeyError, TypeError, UsageError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputFormatError(
            f"cannot read the shield: {reason}",
            expected=f"a shield of kind {kind}, version {VERSION}",
        ) from error


def _optional_text(document: dict[str, Any], key: str) -> str | None:
    found = document.get(key)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{key} is not text")
    return found


def _labels(document: dict[str, Any], key: str) -> dict[StateT, tuple[LabelT, ...]]:
    return {
        _hashable(entry["state"]): tuple(map(_hashable, entry[key])) for entry in document["states"]
    }


def _hashable(value: Any) -> Any:
    """JSON has lists where there were tuples."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


__all__ = [
    "GUARANTEE",
    "Blacklist",
    "DeciderShield",
    "Hardening",
    "OracleShield",
    "ShieldTable",
    "harden",
    "repair",
]
