"""Shields keep a policy from known faults, or from everything that is not safe.

    blacklist  forbids decisions that are known faults. It costs nothing at run time but guarantees nothing, because
               there may be other faults. `harden` repeats this until the fuzzer finds no more unsafe runs.
    oracle     takes the policy's best label among those with only safe outcomes. From a safe state its runs are safe
               for ever. It asks a decider at run time; answers are remembered.
    repair     takes the label of a safe strategy if it has one: the policy is then safe from the bug state on.

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
    "label is decided to be safe, because the state is not safe or the evaluations ran out, the policy decides."
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
        """The system under its policy without the forbidden labels."""
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
    """A policy that is shielded by a decider. `system` is the shielded system."""

    def __init__(self, decider: Decider[StateT, LabelT], budget: Budget | None = None) -> None:
        _policy(decider.system)
        self.decider = decider
        limits = (budget or decider.budget).as_arguments()
        self.native = _core.OracleShield(decider.native, **limits)
        self.system = decider.system.with_policy(self.native)

    @property
    def corrected(self) -> int:
        """The number of states where it took another label than the policy."""
        return self.native.corrected

    @property
    def unguarded(self) -> int:
        """The number of states where no label was decided to be safe, so that the policy decided."""
        return self.native.unguarded

    def table(
        self, starts: Sequence[StateT], max_states: int = 1_000_000
    ) -> ShieldTable[StateT, LabelT]:
        """The allowed labels of all states that runs by the table can reach from these states.

        Such a run takes the first allowed label. The shield itself may take another one: what its evaluations left open
        when the table was made may be decided when it is asked again.
        """
        system = self.decider.system
        ids = list(dict.fromkeys(system.id(state) for state in starts))
        seen = set(ids)
        allowed: dict[StateT, tuple[LabelT, ...]] = {}
        for id in ids:  # grows
            if len(allowed) >= max_states:
                return ShieldTable(allowed, False)
            labels = self.native.allowed(id)
            if labels:
                allowed[system.state(id)] = system.labels(labels)
                outcomes = dict(system.native.actions(id))[labels[0]]
            else:
                outcomes = system.native.policy_outcomes(id)
            for outcome in outcomes:
                if outcome not in seen:
                    seen.add(outcome)
                    ids.append(outcome)
        return ShieldTable(allowed, True)


@dataclass(frozen=True)
class ShieldTable(Generic[StateT, LabelT]):
    """An oracle shield as a table; complete if all states that its runs can reach were looked at.

    A state that is not in it is terminal, or has no label that is decided to be safe; there the policy decides.
    """

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
    """An oracle shield as a file: the decider, the policy, the model, and the budget of the decider.

    The answers are not in the file: the decider is asked while the policy runs, and remembers. So the file is small and
    works for every state of the model. The budget has no time limit, because then the policy would depend on the speed
    of the machine.
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
    """The system under its policy, but with the label of the strategy where it has one."""
    return _patched(system, strategy.labels)


def _patched(
    system: System[StateT, LabelT], labels: dict[StateT, LabelT]
) -> System[StateT, LabelT]:
    patches = {system.id(state): system.label_id(label) for state, label in labels.items()}
    return system.with_policy(_core.PatchedPolicy(_policy(system), patches))


@dataclass(frozen=True)
class Hardening(Generic[StateT, LabelT]):
    """The result of `harden`. `unsafe_runs` has the number of unsafe runs of each round. The last number is not 0 if
    the rounds ran out, or if the remaining runs have no new fault, such as runs from lost states."""

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
    """Fuzz, find faults and forbid them, until no unsafe run is found or there is no new fault."""
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
