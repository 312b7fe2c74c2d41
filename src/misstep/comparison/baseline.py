"""The baseline: the known bugs, in a file that is small enough to commit.

Known bugs of a policy should not fail every build, but one more bug should. So a baseline stores the digest of each
task and a short digest of each tested state: bugs with the data to decide whether they are fixed or worse, states that
are proven to be fine, and undecided states with the cost of the policy's run. Everything is sorted and each bug is one
line, so that a diff of the file shows how the policy changed.

A bug in a state that the baseline does not contain is compared by its family: the fuzzer follows the policy, so a new
version is tested on other states, where old faults show again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.records import KINDS, Effort, Found, Record, Run, Times, Witness
from misstep.campaigns.rows import Values
from misstep.comparison.changes import FAILING, is_unconfirmed, spent
from misstep.decoding import excerpt, parse_json
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import is_there, read_bytes, reason, write_bytes

FORMAT, VERSION = "misstep baseline", 1
MAX_BYTES = 64 * 2**20
_HEX = 12  # of the digest of a state: two of 100,000 states share one with a probability of 2 in 100,000
_DIGEST = re.compile(rf"[0-9a-f]{{{_HEX}}}")
_OPEN = re.compile(rf"([0-9a-f]{{{_HEX}}})=(\d{{1,18}}|fails|unsafe|open)")
_HINT = "write it anew with misstep test --write-baseline FILE"
_WITHOUT = Witness("none", None, None, None, None, None, None, None)


@dataclass(frozen=True)
class Known:
    """What a baseline knows about a state. Costs are as in records; `enough` is the cost of the witness."""

    verdict: str  # BUG, OPTIMAL (also of a model) or UNKNOWN
    kind: str | None = None
    gap: int | None = None  # at least; None: infinite, or that of a model
    family: str | None = None
    outcome: str = "goal"
    cost: int | None = None
    enough: int | None = None
    radius: tuple[int | None, int | None] | None = None

    def as_record(self, world: str) -> Record:
        """A record with the parts that are needed to compare two records of one state."""
        return Record(
            id="",
            task="",
            oracle="",
            world=world,
            number=0,
            state=(),
            facts=(),
            found=Found(None, None, None, None, None),
            run=Run(self.outcome, (), (), self.cost, None, None),
            verdict=self.verdict,
            kind=self.kind,
            gap=(self.gap, None) if world == "planning" else None,
            radius=self.radius,
            bounds=(0, self.enough) if world == "planning" else None,
            witness=_WITHOUT,
            source=None,
            verdicts=(),
            faults=None,
            family=self.family,
            contradictions=(),
            effort=Effort(0, 0),
            times=Times(0.0, 0.0, 0.0),
            at=0.0,
            fuzzing_bug=None,
        )


@dataclass(frozen=True)
class Baseline:
    """The known bugs of a campaign. `Baseline.of(campaign).write(path)`; `Baseline.read(path)`."""

    world: str
    policy: str
    digest: str | None  # of the policy
    tasks: dict[str, str]  # name -> digest
    states: dict[str, Known]  # by `state_digest`
    of_task: dict[str, list[str]] = field(repr=False)  # name -> its states
    where: str = "the baseline"

    @cached_property
    def bugs(self) -> dict[str, Known]:
        return {key: known for key, known in self.states.items() if known.verdict == "BUG"}

    @cached_property
    def families(self) -> dict[str, int]:
        """The known families with the numbers of their bugs."""
        return dict(Counter(own.family for own in self.bugs.values() if own.family is not None))

    # -- from campaigns ---------------------------------------------------------------------------

    @staticmethod
    def of(campaign: Campaign) -> Baseline:
        """The baseline of a campaign."""
        settings, identity = campaign.settings, campaign.policy
        tasks = {task.name: task.digest for task in campaign.tasks}
        states: dict[str, Known] = {}
        of_task: dict[str, list[str]] = {name: [] for name in tasks}
        for record in campaign.iter_records():
            key = state_digest(tasks[record.task], record.state)
            states[key] = _known(record)
            of_task[record.task].append(key)
        return Baseline(
            settings.world,
            settings.policy if identity is None else identity.spec,
            None if identity is None else identity.digest,
            tasks,
            states,
            of_task,
            "the baseline" if campaign.folder is None else str(campaign.folder),
        )

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Baseline:
        """Read a baseline from a file, or make one from the folder of a campaign."""
        place = Path(path)
        if is_there(place) and place.is_dir():
            with open_campaign(place) as campaign:
                return Baseline.of(campaign)
        content = read_bytes(place, MAX_BYTES, "a baseline, or the folder of a campaign")
        try:
            return _decoded(parse_json(content), str(place))
        except (ValueError, RecursionError) as error:
            what = str(error)
            if isinstance(error, json.JSONDecodeError):
                what = f"it is not JSON at line {error.lineno}, column {error.colno}"
            raise InputFormatError(
                f"this is not a baseline: {excerpt(what, 200)}",
                where=str(place),
                expected="a file that misstep test --write-baseline has written, or the folder of a campaign",
                hint=_HINT,
            ) from None

    # -- to a file --------------------------------------------------------------------------------

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a new file, or replace an older baseline."""
        refuse_others(Path(path))
        write_bytes(Path(path), self.text().encode())

    def text(self) -> str:
        """The baseline as sorted JSON, one line per bug."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "world": self.world}
        head["policy"] = {"spec": self.policy, "digest": self.digest}
        yield "{"
        for name, value in head.items():
            yield f" {json.dumps(name)}: {json.dumps(value)},"
        yield ' "families": {'
        yield from _commas(
            f"  {json.dumps(name)}: {count}" for name, count in sorted(self.families.items())
        )
        yield " },"
        yield ' "tasks": {'
        for place, name in enumerate(sorted(self.tasks), 1):
            yield from self._task_lines(name, "," if place < len(self.tasks) else "")
        yield " }"
        yield "}"

    def _task_lines(self, name: str, comma: str) -> Iterator[str]:
        own = {key: self.states[key] for key in sorted(set(self.of_task[name]))}
        yield f"  {json.dumps(name)}: {{"
        yield f'   "digest": {json.dumps(self.tasks[name])},'
        yield '   "bugs": {'
        yield from _commas(
            f'    "{key}": {json.dumps(_entry(known, self.world))}'
            for key, known in own.items()
            if known.verdict == "BUG"
        )
        yield "   },"
        fine = " ".join(key for key, known in own.items() if known.verdict == "OPTIMAL")
        left = " ".join(
            f"{key}={_spent(known)}" for key, known in own.items() if known.verdict == "UNKNOWN"
        )
        yield f'   "fine": "{fine}",'
        yield f'   "open": "{left}"'
        yield f"  }}{comma}"

    # -- what it fits to --------------------------------------------------------------------------

    def check_tasks(self, world: str, tasks: Mapping[str, str]) -> list[str]:
        """Raise an error if this baseline is about other tasks; returns remarks on smaller differences."""
        if world != self.world:
            raise InputFormatError(
                f"the baseline is about {_of_world(self.world)} and the campaign about {_of_world(world)}",
                where=self.where,
                expected="a baseline of the same tasks",
            )
        for name, digest in tasks.items():
            if self.tasks.get(name, digest) != digest:
                raise InputFormatError(
                    f"the baseline is about another task {name!r:.100}",
                    where=self.where,
                    expected="the same content under the same name",
                    hint=f"if the task was changed on purpose, {_HINT}",
                )
        ours, theirs = set(self.tasks.values()), set(tasks.values())
        if not ours & theirs:
            raise InputFormatError(
                "the baseline is about none of the tasks that are tested",
                where=self.where,
                expected="a baseline of " + ", ".join(sorted(tasks)[:5]),
                hint=_HINT,
            )
        remarks = []
        unknown = sorted(name for name, digest in tasks.items() if digest not in ours)
        untested = sorted(name for name, digest in self.tasks.items() if digest not in theirs)
        if unknown:
            remarks.append(f"the baseline does not know the task(s) {_names(unknown)}")
        if untested:
            remarks.append(f"the task(s) {_names(untested)} of the baseline were not tested")
        return remarks


def refuse_others(path: Path) -> None:
    """Raise an error if the file exists and is not a baseline, such as a policy that was named by mistake."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            begins = file.read(4096)
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(path)) from error
    if begins.strip() and f'"{FORMAT}"'.encode() not in begins:
        raise UsageError(
            "this file is not a baseline, so it is not overwritten",
            where=str(path),
            expected="the name of a new file, or of an older baseline",
        )


def state_digest(task: str, state: Values) -> str:
    """A short name of a state, the same in every campaign on a task of this digest."""
    text = f"{task} {json.dumps(list(state))}"
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX]


def _known(record: Record) -> Known:
    verdict = {"BUG": "BUG", "OPTIMAL": "OPTIMAL", "NOT A BUG": "OPTIMAL"}.get(
        record.verdict, "UNKNOWN"
    )
    outcome, cost = record.run.outcome, record.run.cost
    if record.run.permitted is not None:  # keep only the permitted run that counts
        own = spent(record)
        cost = None if own is None or math.isinf(own) else int(own)
        outcome = "cut" if own is None else outcome
    if record.verdict == "FLAKY" or is_unconfirmed(record):
        outcome, cost = "cut", None  # the run is not reproducible, or not known to be
    if not record.is_bug:
        return Known(verdict, outcome=outcome, cost=cost)
    return Known(
        verdict,
        record.kind,
        None if record.gap is None else record.gap[0],
        record.family,
        outcome,
        cost,
        None if record.bounds is None else record.bounds[1],
        record.radius,
    )


def _entry(known: Known, world: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": known.kind, "family": known.family}
    if world == "planning":
        run = {"outcome": known.outcome, "cost": known.cost, "enough": known.enough}
        return {**entry, "gap": known.gap, **run}
    return {**entry, "outcome": known.outcome, "radius": known.radius}


def _spent(known: Known) -> str:
    if known.outcome in FAILING:
        return "fails"
    if known.outcome == "unsafe":
        return known.outcome
    return "open" if known.cost is None or known.outcome != "goal" else str(known.cost)


def _commas(lines: Iterable[str]) -> Iterator[str]:
    """Each line but the last with a comma behind it."""
    before = None
    for line in lines:
        if before is not None:
            yield f"{before},"
        before = line
    if before is not None:
        yield before


def _of_world(world: str) -> str:
    return "planning tasks" if world == "planning" else "models"


def _names(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# -- reading --------------------------------------------------------------------------------------


def _decoded(found: Any, where: str) -> Baseline:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"the field format is not {FORMAT!r}")
    if found.get("version") != VERSION:
        version = excerpt(repr(found.get("version")), 20)
        raise ValueError(f"it has the version {version}, but this Misstep reads {VERSION}")
    world = found.get("world")
    if world not in ("planning", "model"):
        raise ValueError("the field world is neither planning nor model")
    policy = _object(found.get("policy"), "policy")
    spec, digest = policy.get("spec"), policy.get("digest")
    if not isinstance(spec, str) or not isinstance(digest, (str, type(None))):
        raise ValueError("the field policy has no spec and digest")
    tasks: dict[str, str] = {}
    states: dict[str, Known] = {}
    of_task: dict[str, list[str]] = {}
    for name, own in _object(found.get("tasks"), "tasks").items():
        task = _object(own, f"tasks, {name!r:.80}")
        if not isinstance(task.get("digest"), str):
            raise ValueError(f"the task {name!r:.80} has no digest")
        read = _read_states(task, world, name)
        tasks[name], of_task[name] = task["digest"], list(read)
        states |= read
    if not tasks:
        raise ValueError("it names no task")
    baseline = Baseline(world, spec, digest, tasks, states, of_task, where)
    if found.get("families") != baseline.families:
        raise ValueError(
            "the field families does not fit the bugs: the file was changed by hand or merged wrongly"
        )
    return baseline


def _read_states(task: dict[str, Any], world: str, name: str) -> dict[str, Known]:
    read: dict[str, Known] = {}
    for key, entry in _object(task.get("bugs"), f"bugs of {name!r:.80}").items():
        if not _DIGEST.fullmatch(key):
            raise ValueError(f"{excerpt(key, 40)!r} is not the digest of a state")
        read[key] = _read_bug(_object(entry, f"bugs, {key}"), world, key)
    for key in _words(task, "fine", name):
        if not _DIGEST.fullmatch(key):
            raise ValueError(f"{excerpt(key, 40)!r} is not the digest of a state")
        read[key] = Known("OPTIMAL")
    for word in _words(task, "open", name):
        parts = _OPEN.fullmatch(word)
        if parts is None:
            raise ValueError(f"{excerpt(word, 40)!r} is not the digest of a state with a cost")
        key, cost = parts.groups()
        outcome = {"fails": "loop", "unsafe": "unsafe", "open": "cut"}.get(cost, "goal")
        read[key] = Known("UNKNOWN", outcome=outcome, cost=int(cost) if outcome == "goal" else None)
    return read


def _read_bug(entry: dict[str, Any], world: str, key: str) -> Known:
    kind, family, outcome = entry.get("kind"), entry.get("family"), entry.get("outcome")
    if kind not in KINDS:
        raise ValueError(f"the bug {key} has no kind that is known")
    if not isinstance(family, (str, type(None))) or not isinstance(outcome, str):
        raise ValueError(f"the bug {key} has no family and outcome")
    if world == "model":
        radius = entry.get("radius", ())
        if radius is None:  # nobody asked
            return Known("BUG", kind, None, family, outcome)
        if not isinstance(radius, list) or len(radius) != 2:
            raise ValueError(f"the bug {key} has no radius")
        low, high = (_count(number, key) for number in radius)
        return Known("BUG", kind, None, family, outcome, radius=(low, high))
    numbers = (_count(entry.get(own), key) for own in ("gap", "cost", "enough"))
    gap, cost, enough = numbers
    return Known("BUG", kind, gap, family, outcome, cost, enough)


def _count(number: Any, key: str) -> int | None:
    if number is not None and (type(number) is not int or number < 0):
        raise ValueError(
            f"the bug {key} has {excerpt(repr(number), 40)} where a number is expected"
        )
    return None if number is None else int(number)


def _words(task: dict[str, Any], field: str, name: str) -> list[str]:
    text = task.get(field)
    if not isinstance(text, str):
        raise ValueError(f"the task {name!r:.80} has no field {field}")
    return text.split()


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"the field {name} is not an object")
    return value


__all__ = ["FORMAT", "VERSION", "Baseline", "Known", "refuse_others", "state_digest"]
