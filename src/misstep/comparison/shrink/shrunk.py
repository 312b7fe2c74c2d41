"""The result of shrinking: a small campaign, and how much smaller it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.comparison.shrink.legal import LEGAL
from misstep.errors import InputFormatError
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task

META = "shrunk"


@dataclass(frozen=True)
class Sizes:
    """Sizes before and after shrinking; None for sizes that this kind of task does not have."""

    objects: int | None = None
    goals: int | None = None
    facts: int | None = None
    plan: int | None = None  # steps of the witness
    run: int | None = None  # steps of the policy's run
    walk: int | None = None  # steps from the original initial state to the start
    changed: int | None = None  # of a model: variables whose value is not that of a start
    constants: int | None = None  # of a model: the sum of the constants that may be lowered
    strategy: int | None = None  # of a model: states that the witness names

    def as_dict(self) -> dict[str, int | None]:
        return dict(vars(self))

    @staticmethod
    def from_dict(values: object) -> Sizes:
        if not isinstance(values, dict) or not set(values) <= set(Sizes.__dataclass_fields__):
            raise InputFormatError("sizes that are none")
        if not all(own is None or (type(own) is int and own >= 0) for own in values.values()):
            raise InputFormatError("sizes that are not numbers")
        return Sizes(**values)


@dataclass(frozen=True)
class Effort:
    """The effort of the search."""

    candidates: int = 0  # that were examined
    translations: int = 0  # of them, those that the translator was asked for
    refused: int = 0  # of them, those that the policy does not take
    judged: int = 0  # of them, translated tasks that the policy took
    undecided: int = 0  # single removals from the result of which it is not known whether they work
    accepted: int = 0
    seconds: float = 0.0

    @property
    def avoided(self) -> int:
        """Candidates that needed no translation."""
        return self.candidates - self.translations

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "avoided": self.avoided}

    @staticmethod
    def from_dict(values: object) -> Effort:
        if not isinstance(values, dict):
            raise InputFormatError("an effort that is none")
        given = {name: own for name, own in values.items() if name != "avoided"}
        if not set(given) <= set(Effort.__dataclass_fields__) or not all(
            isinstance(own, (int, float)) and not isinstance(own, bool) and own >= 0
            for own in given.values()
        ):
            raise InputFormatError("an effort that is none")
        return Effort(**given)


@dataclass(frozen=True)
class Note:
    """The row `shrunk` of a small campaign: its origin, and the state of the search."""

    id: str  # of the record in the original campaign
    digest: str  # of the original task and policy
    kind: str | None
    family: str | None
    number: int  # of the bug in the small campaign
    start: int  # step of the original run where the small task starts
    before: Sizes
    after: Sizes
    legal: str  # what holds of the start
    allowed: str  # what was allowed
    minimal: bool
    reason: str
    removed: tuple[str, ...] = ()
    walk: tuple[str, ...] | None = None  # names of operators from the original initial state
    effort: Effort = field(default_factory=Effort)
    position: Mapping[str, Any] | None = None  # of the search, to continue from

    def as_dict(self) -> dict[str, Any]:
        plain = dict(vars(self))
        plain["removed"] = list(self.removed)
        plain["walk"] = None if self.walk is None else list(self.walk)
        for name in ("before", "after", "effort"):
            plain[name] = getattr(self, name).as_dict()
        return plain

    @staticmethod
    def from_dict(values: object, where: str) -> Note:
        """Read a note from an untrusted folder."""
        try:
            if not isinstance(values, dict) or set(values) != set(Note.__dataclass_fields__):
                raise InputFormatError("fields are missing, or too many")
            _require(values, str, "id", "digest", "legal", "allowed", "reason")
            for name in ("kind", "family"):
                if values[name] is not None:
                    _require(values, str, name)
            numbers = (values["start"], values["number"])
            if any(type(n) is not int for n in numbers) or type(values["minimal"]) is not bool:
                raise InputFormatError("a field of another type")
            if values["legal"] not in LEGAL or values["allowed"] not in LEGAL:
                raise InputFormatError("no word for legal states")
            for name in ("removed", "walk"):
                own = values[name]
                if (own is not None or name == "removed") and not _texts(own):
                    raise InputFormatError(f"{name} is not a list of texts")
            return Note(
                **{
                    **values,
                    "before": Sizes.from_dict(values["before"]),
                    "after": Sizes.from_dict(values["after"]),
                    "effort": Effort.from_dict(values["effort"]),
                    "removed": tuple(values["removed"]),
                    "walk": None if values["walk"] is None else tuple(values["walk"]),
                }
            )
        except InputFormatError as error:
            raise InputFormatError(
                f"the row {META!r} is damaged: {error.what}",
                where=where,
                hint="delete the folder and shrink again",
            ) from None


def _texts(own: object) -> bool:
    return isinstance(own, list) and all(isinstance(text, str) for text in own)


def _require(values: Mapping[str, Any], kind: type, *names: str) -> None:
    for name in names:
        if not isinstance(values[name], kind):
            raise InputFormatError(f"{name} is {values[name]!r:.40}")


class Shrunk:
    """A shrunk bug. `campaign` is an ordinary campaign; `record` is the bug in it."""

    def __init__(self, campaign: Campaign, note: Note) -> None:
        self.campaign = campaign
        self.note = note

    @cached_property
    def record(self) -> Record:
        """The bug in the small task."""
        return self.campaign.records[self.note.number]

    @property
    def id(self) -> str:
        """The id of the original record."""
        return self.note.id

    @property
    def objects_before(self) -> int | None:
        return self.note.before.objects

    @property
    def objects_after(self) -> int | None:
        return self.note.after.objects

    @property
    def plan_before(self) -> int | None:
        return self.note.before.plan

    @property
    def plan_after(self) -> int | None:
        return self.note.after.plan

    @property
    def legal(self) -> str:
        return self.note.legal

    @property
    def minimal(self) -> bool:
        return self.note.minimal

    @property
    def reason(self) -> str:
        return self.note.reason

    @property
    def removed(self) -> tuple[str, ...]:
        return self.note.removed

    @property
    def task(self) -> Task | JaniTask:
        return self.campaign.tasks[0]

    @property
    def problem_text(self) -> str | None:
        """The small problem as PDDL; None for a model or a task without PDDL."""
        task = self.task
        return task.pddl[1].text if isinstance(task, Task) and task.pddl else None

    @property
    def domain_text(self) -> str | None:
        task = self.task
        return task.pddl[0].text if isinstance(task, Task) and task.pddl else None

    @property
    def plan_text(self) -> str | None:
        """The witness in the format of the planning competitions."""
        witness = self.record.witness
        if witness.names is None:
            return None
        lines = [f"({name})\n" for name in witness.names]
        return "".join(lines) + f"; cost = {witness.cost}\n"

    def as_dict(self) -> dict[str, Any]:
        folder = self.campaign.folder
        return {
            **self.note.as_dict(),
            "folder": None if folder is None else str(folder),
            "record": self.record.id,
        }

    def __str__(self) -> str:
        before, after = self.note.before, self.note.after
        changes = [
            f"{name} {was} -> {now}"
            for (name, was), now in zip(
                before.as_dict().items(), after.as_dict().values(), strict=True
            )
            if was is not None and now is not None
        ]
        family = "" if self.note.family is None else f", {self.note.family}"
        return f"{self.id} ({self.note.kind}{family}): {', '.join(changes)}; {self.reason}"

    def __repr__(self) -> str:
        return f"<Shrunk {self}>"


__all__ = ["META", "Effort", "Note", "Shrunk", "Sizes"]
