"""Reads the tables of a campaign in `run.db`, schema 5. Nothing in a file is trusted.

Columns can hold anything, so every value is checked before it is used; damage becomes a `CheckError` that names it.
States, operators and labels are JSON lists; the source of a task is compressed JSON with its files in base64.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import sqlite3
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from misstep.checking.errors import CheckError
from misstep.checking.texts import parse

SCHEMA = "5"
NATURES = ("function", "set", "plan", "avoid")
WITHOUT_PLANS = {
    *("first", "random", "heuristic", "plan", "optimal", "asnet"),
    *("rules", "sketch", "wl", "sb3", "shipped", "noisy"),
}  # kinds of policies that decide in each state anew
WITH_CHOOSERS = {"rules", "sketch", "shipped"}  # those of them that permit several operators
MAX_BYTES = 2**30  # of anything that is decompressed
# Of the source of a task. The largest that we know has 115 million bytes and 7 million lines.
MAX_SOURCE = 2**28
MAX_LINES = 25_000_000  # of its SAS file, each of which takes many times its size in memory
MAX_MEMBERS = 10**6  # of the source of a task
Json = Any
_PLAIN = "the plain tables of a campaign"
# Settings as misstep writes them, one in each line, so that no other spelling of TOML hides one from the checker.
_VALUE = r'"(?:[^"\\]|\\.)*"|[\w.+-]+'
_SETTING = re.compile(
    rf"\[[\w.-]+\]|[\w-]+ = (?:{_VALUE}|\[(?:(?:{_VALUE})(?:, (?:{_VALUE}))*)?\])"
)
_PLAIN_SETTING = "one setting in each line, as in key = value, or [table]"
# The tables that there may be, with the columns that are read here.
COLUMNS = {
    "meta": "key value",
    "tasks": "id name world digest source",
    "policy": "spec",
    "runs": "task number outcome cost operators states named",
    "states": "task number state reference walk run step",
    "verdicts": "task number oracle verdict kind low high lower upper plan derivation strategy size",
    "strategies": "task number states content",
    "faults": "task run step state decision better low high share recurring outcome",
    "contradictions": "",
    "permitted": "",
    "risks": "task number low high least_low least_high",
    "decisions": "task state label",
    "dominance": "task tables",
    "knowledge": "",
    "fuzzed": "task first runs ends",
    "units": "task stage key",
    "events": "",
}


@dataclass(frozen=True, slots=True)
class StoredTask:
    id: int
    name: str
    world: str
    digest: object
    source: object


@dataclass(frozen=True, slots=True)
class StoredState:
    number: int
    state: object
    reference: object
    walk: object
    run: object
    step: object


@dataclass(frozen=True, slots=True)
class StoredRun:
    number: int
    outcome: object
    cost: object
    operators: object
    states: object
    named: object
    permitted: object


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    number: int
    oracle: object
    verdict: object
    kind: object
    low: object
    high: object
    lower: object
    upper: object
    plan: object
    derivation: object
    strategy: object
    size: object


@dataclass(frozen=True, slots=True)
class StoredFault:
    run: int
    step: int
    state: object
    decision: object
    better: object
    low: object
    high: object
    share: object
    recurring: object
    outcome: object


@dataclass(frozen=True, slots=True)
class StoredContradiction:
    state: object
    first: object
    second: object
    asked: object


class Store:
    """Reads the tables of one campaign."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        try:
            _refuse_strange(connection)
            schema = self._meta("schema")
        except sqlite3.DatabaseError as error:
            raise CheckError(f"no database of a campaign: {error}") from None
        if schema != SCHEMA:
            raise CheckError(f"the campaign has schema {schema}", expected=f"schema {SCHEMA}")
        self._config = self._meta("config") or ""
        for line in self._config.split("\n"):
            if line and _SETTING.fullmatch(line) is None:
                raise CheckError(
                    f"the settings have the line {line!r:.80}", expected=_PLAIN_SETTING
                )

    def _meta(self, key: str) -> str | None:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def setting(self, table: str, key: str) -> str | None:
        """A text from the settings, which are TOML. This reads `key = "text"` in a table (before the first one, if it
        is ""), which is enough here, and works with versions of Python that have no TOML reader."""
        inside = table == ""
        for line in self._config.split("\n"):
            if line.startswith("["):
                inside = line.strip() == f"[{table}]"
            found = re.fullmatch(rf'{re.escape(key)} = ("(?:[^"\\]|\\.)*")', line)
            if inside and found:
                return str(loaded(found[1], f"the setting {key}"))  # escapes are those of JSON
        return None

    def truth(self, table: str, key: str) -> bool:
        """A truth value from the settings; false if it is missing."""
        inside = False
        for line in self._config.split("\n"):
            if line.startswith("["):
                inside = line.strip() == f"[{table}]"
            if inside and re.fullmatch(rf"\s*{re.escape(key)}\s*=\s*true\s*(#.*)?", line):
                return True
        return False

    def nature(self) -> str:
        """The kind of the policy: a function of the state, unless the campaign says otherwise."""
        text = self._meta("nature")
        if text is None:
            return "function"
        nature = loaded(text, "the nature of the policy")
        kind = nature.get("kind") if isinstance(nature, dict) else None
        if kind not in NATURES:
            raise CheckError(f"no nature of a policy: {kind!r}", expected=", ".join(NATURES))
        # With memory of its run, or a plan, a policy need not have one answer in a state: this must not be said of all.
        if (kind == "avoid") != (self.setting("planning", "revisit") == "avoid"):
            raise CheckError(
                f"the policy is said to be of the kind {kind}, which is not the setting"
            )
        spec = self.setting("", "policy") or ""
        if kind == "plan" and spec.partition(":")[0] in WITHOUT_PLANS:
            raise CheckError(f"the policy is said to answer with plans, and {spec:.60} does not")
        chooser = nature.get("chooser")
        if chooser is not None and not isinstance(chooser, str):
            raise CheckError(f"the rule that chooses for the policy is {chooser!r:.60}")
        if chooser is not None and spec.partition(":")[0] in WITHOUT_PLANS - WITH_CHOOSERS:
            raise CheckError(f"a rule is said to choose for the policy, and {spec:.60} has none")
        return str(kind)

    def has_nature(self) -> bool:
        """Whether something is said of the kind of the policy, or of a rule that chooses for it."""
        return self._meta("nature") is not None

    def permitted(self, task: int) -> Iterator[tuple[object, object, object]]:
        """States, what is permitted there, and how probable it is."""
        yield from self._of("permitted", "state, operators, probabilities", task)

    def policies(self) -> list[object]:
        """The policy that the records are said to be of, which readers show."""
        return [spec for (spec,) in self._rows("policy", "spec", "")]

    def finished(self) -> bool:
        """Whether the campaign is finished, so that every oracle must have judged every state."""
        return self._meta("finished") == "1"

    def asks(self) -> bool:
        """Whether the policy has to be asked again before a verdict counts."""
        return self._meta("asks") == "1"

    def marked(self, task: int, mark: str) -> frozenset[int]:
        """The runs of a task with a mark, such as that the policy was asked about them again.

        Readers may take another text for a number, so none is passed over."""
        marks = [
            key for (key,) in self._rows("units", "key", "WHERE task = ? AND stage = ?", task, mark)
        ]
        for key in marks:
            if not isinstance(key, str) or not re.fullmatch("[0-9]{1,18}", key):
                raise CheckError(f"a run is marked by {key!r:.60}, which is not its number")
        return frozenset(map(int, marks))

    def blamed(self, task: int) -> frozenset[int]:
        """The numbers of the bugs whose faults were looked for."""
        return self.marked(task, "blamed") if self._has_units() else frozenset()

    def _has_units(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'units'"
        return self.connection.execute(query).fetchone() is not None

    def left_open(self, task: int) -> bool:
        """Whether something was left undecided on a model: verdicts, or whether a decision is a fault."""
        found = [own.verdict for own in self.verdicts(task)]
        if "UNKNOWN" in found or not self._has_units():
            return "UNKNOWN" in found
        query = "SELECT 1 FROM units WHERE task = ? AND stage LIKE 'unsure %' LIMIT 1"
        return self.connection.execute(query, (task,)).fetchone() is not None

    def measured_families(self) -> int:
        """Families of which it was measured how often they occur."""
        text = self._meta("families")
        found = None if text is None else loaded(text, "the measurements of families")
        measured = found.get("measured") if isinstance(found, dict) else None
        return len(measured) if isinstance(measured, dict) else int(text is not None)

    def fuzzed(self, task: int) -> Iterator[tuple[object, object, object]]:
        """For a model: the first run of each batch, the number of its runs, and how they have ended."""
        yield from self._of("fuzzed", "first, runs, ends", task)

    def tasks(self) -> list[StoredTask]:
        rows = self._rows("tasks", "id, name, world, digest, source", "ORDER BY id")
        return [
            StoredTask(_key(id), str(name), str(world), *rest) for id, name, world, *rest in rows
        ]

    def count_states(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM states").fetchone()[0])

    def states(self, task: int) -> list[StoredState]:
        columns = "number, state, reference, walk, run, step"
        return [StoredState(_key(n), *rest) for n, *rest in self._of("states", columns, task)]

    def runs(self, task: int) -> list[StoredRun]:
        columns = "number, outcome, cost, operators, states, named, permitted"
        return [StoredRun(_key(n), *rest) for n, *rest in self._of("runs", columns, task)]

    def verdicts(self, task: int) -> list[StoredVerdict]:
        columns = "number, oracle, verdict, kind, low, high, lower, upper, plan, derivation, strategy, size"
        return [StoredVerdict(_key(n), *rest) for n, *rest in self._of("verdicts", columns, task)]

    def strategies(self, task: int) -> Iterator[tuple[int, object, object]]:
        """Numbers, how many states they are said to have, and their content."""
        for number, states, content in self._of("strategies", "number, states, content", task):
            yield _key(number), states, content

    def faults(self, task: int) -> list[StoredFault]:
        columns = "run, step, state, decision, better, low, high, share, recurring, outcome"
        return [
            StoredFault(_key(run), _key(step), *rest)
            for run, step, *rest in self._of("faults", columns, task)
        ]

    def contradictions(self, task: int) -> list[StoredContradiction]:
        columns = "state, first, second, asked"
        return [StoredContradiction(*row) for row in self._of("contradictions", columns, task)]

    def risks(self, task: int) -> dict[int, tuple[object, object, object, object]]:
        """For a model: bounds on the policy's and on the least possible risk, by the number of the state."""
        columns = "number, low, high, least_low, least_high"
        return {
            _key(number): (low, high, least_low, least_high)
            for number, low, high, least_low, least_high in self._of("risks", columns, task)
        }

    def decisions(self, task: int) -> list[tuple[object, object]]:
        """For a model: states, and the policy's label there."""
        return [(state, label) for state, label in self._of("decisions", "state, label", task)]

    def dominance(self, task: int) -> bytes | None:
        for (tables,) in self._of("dominance", "tables", task):
            return None if tables is None else unpacked(tables)
        return None

    def orphans(self) -> Iterator[tuple[str, object]]:
        """Tables with rows of tasks that do not exist."""
        for table in (
            "states",
            "runs",
            "verdicts",
            "strategies",
            "faults",
            "permitted",
            "contradictions",
            "risks",
        ):
            rest = "WHERE task IS NULL OR task NOT IN (SELECT id FROM tasks) LIMIT 1"
            for (task,) in self._rows(table, "task", rest):
                yield table, task

    def _of(self, table: str, columns: str, task: int) -> Iterator[tuple[Any, ...]]:
        return self._rows(table, columns, "WHERE task = ? ORDER BY 1", task)

    def _rows(
        self, table: str, columns: str, rest: str, *values: int | str
    ) -> Generator[tuple[Any, ...], None, None]:
        # Not `yield from`: after Ctrl-C it would close the cursor, maybe after its connection.
        found = self.connection.execute(f"SELECT {columns} FROM {table} {rest}", values)
        for row in found:  # noqa: UP028
            yield row


def _refuse_strange(connection: sqlite3.Connection) -> None:
    """Accepts only plain tables with plain columns: views, triggers and the like would run untrusted code."""
    connection.execute("PRAGMA trusted_schema = OFF")
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        made_by_sqlite = kind == "index" and sql is None and str(name).startswith("sqlite_auto")
        if made_by_sqlite:
            continue
        if kind != "table" or name not in COLUMNS:
            raise CheckError(f"the database has the {kind} {name!r:.60}", expected=_PLAIN)
        if not re.match(r"CREATE TABLE\s", str(sql)):
            raise CheckError(f"the table {name} is virtual", expected=_PLAIN)
    for table, columns in COLUMNS.items():
        found = list(connection.execute(f"PRAGMA table_xinfo({table})"))
        if any(row[6] for row in found):
            raise CheckError(f"the table {table} has hidden or computed columns", expected=_PLAIN)
        missing = set(columns.split()) - {row[1] for row in found}
        if found and missing:  # a missing table is reported when it is read
            raise CheckError(f"the table {table} has no column {min(missing)}", expected=_PLAIN)


# Values of columns


def source_of(task: StoredTask) -> dict[str, Json]:
    """The source of a task, with its files as bytes."""
    text = unpacked(task.source, MAX_SOURCE)
    # Texts in base64 have none of these. Lists without end would fill the memory, and take hours to read.
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_MEMBERS:
        raise CheckError(f"the source of the task has more than {MAX_MEMBERS} members")
    source = loaded(text, "the source of the task")
    files = source.get("files") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not isinstance(files, dict):
        raise CheckError("the source of the task has no files")
    try:
        content = {n: base64.b64decode(text, validate=True) for n, text in files.items()}
    except (TypeError, ValueError, binascii.Error):
        raise CheckError("the files of the task are damaged") from None
    if content.get("task.sas", b"").count(b"\n") > MAX_LINES:
        raise CheckError(f"the SAS file of the task has more than {MAX_LINES} lines")
    return {**source, "files": content}


def unpacked(data: object, most: int | None = None) -> bytes:
    """The bytes behind compressed ones; an error above `most`, or else above a gigabyte."""
    most = MAX_BYTES if most is None else most
    if not isinstance(data, bytes):
        raise CheckError("compressed data are missing")
    unpack = zlib.decompressobj()
    try:
        found = unpack.decompress(data, most)
    except zlib.error:
        raise CheckError("compressed data are damaged") from None
    if not unpack.eof or unpack.unconsumed_tail:
        raise CheckError(f"compressed data are cut off or have more than {most} bytes")
    return found


def loaded(text: object, what: str) -> Json:
    if not isinstance(text, (str, bytes)):
        raise CheckError(f"{what} is missing or no text")
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"{what} is not JSON: {error!s:.200}") from None


def integer(value: object, what: str) -> int:
    if type(value) is not int:
        raise CheckError(f"{what} is {value!r:.80}", expected="an integer")
    return value


def integers(text: object, what: str) -> list[int]:
    """A JSON list of integers."""
    found = loaded(text, what)
    if not isinstance(found, list):
        raise CheckError(f"{what} is not a list")
    return [integer(value, what) for value in found]


def numbers(text: object, what: str) -> list[float]:
    """A JSON list of numbers."""
    found = loaded(text, what)
    if not isinstance(found, list) or not all(type(own) in (int, float) for own in found):
        raise CheckError(f"{what} are not a list of numbers")
    try:
        return [float(own) for own in found]
    except OverflowError:
        raise CheckError(f"{what} are not a list of numbers") from None


def cost(value: object, what: str) -> float | int:
    """A cost or a number of deviations: NULL stands for infinity."""
    if value is None:
        return math.inf
    if isinstance(value, float) and value.is_integer():  # a column of type REAL
        value = int(value)
    if integer(value, what) < 0:
        raise CheckError(f"{what} is {value}", expected="no negative number")
    return integer(value, what)


def _key(value: object) -> int:
    return integer(value, "the number of a row")


__all__ = [
    "Store",
    "StoredContradiction",
    "StoredFault",
    "StoredRun",
    "StoredState",
    "StoredTask",
    "StoredVerdict",
    "cost",
    "integer",
    "integers",
    "loaded",
    "numbers",
    "source_of",
    "unpacked",
]
