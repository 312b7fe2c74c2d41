"""The stored data of a campaign, table by table.

`Content` has the tasks, the policy and the events of a campaign; `Findings` has what was found on one task.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import time
from typing import Any, NamedTuple

from misstep.campaigns.batches import Sizes, decoded_sizes, encoded, summed
from misstep.campaigns.database import AGAIN
from misstep.campaigns.encoding import encoded_rows
from misstep.campaigns.nature import Nature, read_nature
from misstep.campaigns.rows import (
    LARGEST,
    ContradictionRow,
    Event,
    FaultRow,
    Ids,
    RunRow,
    SetRow,
    StateRow,
    Values,
    VerdictRow,
    clean,
    decoded,
    ids_of,
    values_of,
)
from misstep.campaigns.sources import packed_source, read_source
from misstep.campaigns.store import Store
from misstep.decoding import parse_json, unpack
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.policies.policy import NO_ACTION
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask, rebuild_task

MAX_UNPACKED = 2**30  # bytes of a dominance function
REMARK, LIMIT = "remark", "limit"
CONFIRM = "confirm"  # the stage that asks the policy again
CONFIRMED = "confirmed"  # marks runs that were weighed after the policy was asked about them
RISK = "risk"  # the stage that computes risks


class PolicyIdentity(NamedTuple):
    spec: str
    digest: str


class Content:
    """Tasks, policy, events."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._tasks: dict[str, AnyTask] = {}

    # -- tasks ------------------------------------------------------------------------------------

    def add_task(self, task: AnyTask) -> None:
        """Store the task with everything that is needed to replay it. Adding it again changes nothing."""
        known = self.store.rows("SELECT digest FROM tasks WHERE name = ?", task.name)
        if known:
            if known[0][0] != task.digest:
                raise InputFormatError(
                    f"the task {task.name} is not the one that the campaign began with",
                    where=self.store.where,
                    hint="its files were changed: start a new campaign, or give the task another name",
                )
            return
        if "\n" in task.name:  # it would say anything on a line of its own
            raise UsageError(
                "the name of a task has a line break", where=repr(task.name), hint="rename its file"
            )
        row = (None, task.name, task.world, task.digest, packed_source(task.source))
        self.store.insert("tasks", [row])
        if isinstance(task, JaniTask):
            self._tasks[task.name] = (
                task  # cached: reading a model takes as long as judging hundreds of its states
            )

    def task_names(self) -> list[str]:
        names = [name for (name,) in self.store.rows("SELECT name FROM tasks ORDER BY id")]
        if not all(isinstance(name, str) and name and "\n" not in name for name in names):
            raise InputFormatError(
                "the database is damaged: a task without a name on one line",
                where=self.store.path,
                hint=AGAIN,
            )
        return names

    def task_id(self, name: str) -> int:
        return int(self._task_row(name, "id")[0])

    def task(self, name: str) -> AnyTask:
        """The task, rebuilt from the database alone."""
        if name not in self._tasks:
            digest, packed = self._task_row(name, "digest, source")
            try:
                task = rebuild_task(read_source(packed))
            except (MisstepError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._damaged(name, str(error)[:200]) from error
            task.name = name
            if task.digest != digest:
                raise self._damaged(name, "its files are not what they were")
            # By the world of the settings it is decided which policies are plain, and what is done with the tasks.
            world = self.store.config.get("world", task.world)
            if task.world != world:
                kinds = f"its world is {task.world}, and that of the settings {world!r:.40}"
                raise self._damaged(name, kinds)
            self._tasks[name] = task
        return self._tasks[name]

    def _damaged(self, name: str, why: str) -> InputFormatError:
        return InputFormatError(
            f"the database is damaged: the task {name}: {why}", where=self.store.path, hint=AGAIN
        )

    def _task_row(self, name: str, columns: str) -> tuple[Any, ...]:
        found = self.store.rows(f"SELECT {columns} FROM tasks WHERE name = ?", name)
        if not found and name in self.task_names():
            raise self._damaged(name, "its table and its index differ")
        if not found:
            raise UsageError(
                f"the campaign has no task {name}",
                where=self.store.where,
                expected="one of " + ", ".join(self.task_names()[:10]),
            )
        return found[0]

    def findings(self, task: str) -> Findings:
        return Findings(self.store, self.task_id(task), task)

    # -- the policy -------------------------------------------------------------------------------

    @property
    def policy(self) -> PolicyIdentity | None:
        found = self.store.rows("SELECT spec, digest FROM policy")
        if not found:
            return None
        if not all(isinstance(text, str) for text in found[0]):
            raise InputFormatError(
                "the database is damaged: the policy is not text", where=self.store.path, hint=AGAIN
            )
        return PolicyIdentity(*found[0])

    @property
    def policy_files(self) -> dict[str, str]:
        """The known files that the policy depends on, with their digests."""
        found = self.store.rows("SELECT value FROM meta WHERE key = 'files'")
        return decoded(_files, found[0], self.store.path) if found else {}

    def set_policy_files(self, files: dict[str, str]) -> None:
        self.store.set_meta("files", json.dumps(files))

    def set_policy(self, spec: str, digest: str) -> None:
        """Store which policy is tested. A policy that has changed since is refused."""
        known = self.policy
        if known is None:
            self.store.insert("policy", [(spec, digest)])
        elif known.spec != spec:
            raise InputFormatError(
                f"the policy {spec} is not the one that the campaign began with ({known.spec})",
                where=self.store.where,
                hint="start a new campaign for it",
            )
        elif known.digest != digest:
            raise InputFormatError(
                f"the policy {spec} has changed since the campaign began",
                where=self.store.where,
                hint="'misstep retest DIR --policy SPEC' tests the new version on the same states",
            )

    @property
    def nature(self) -> Nature:
        return read_nature(self.store)

    def set_nature(self, nature: Nature) -> None:
        self.store.set_meta("nature", json.dumps(nature._asdict()))

    # -- events -----------------------------------------------------------------------------------

    def add_event(self, kind: str, text: str, task: str | None = None) -> None:
        self.store.insert("events", [(None, time(), kind, task, clean(text))])

    def events(self) -> list[Event]:
        query = "SELECT time, kind, task, text FROM events ORDER BY id"
        return [decoded(Event.decoded, row, self.store.path) for row in self.store.rows(query)]

    def spent(self) -> list[tuple[str, float, int]]:
        """Stage, seconds and policy calls."""
        query = "SELECT stage, sum(seconds), sum(policy_calls) FROM units GROUP BY stage"
        return [decoded(_spent, row, self.store.path) for row in self.store.rows(query)]

    def batches(self) -> Counter[int]:
        """How many states the policy was asked about at once -> how often."""
        rows = self.store.rows("SELECT batches FROM units")
        parts = (decoded(lambda row: decoded_sizes(row[0]), row, self.store.path) for row in rows)
        return summed(parts)


class Snapshot(NamedTuple):
    """Stored knowledge: its bytes, and the number of states it is about; auxiliary states come after them."""

    given: int
    content: bytes


class Findings:
    """The states, runs, verdicts and faults of one task, and the units that are done."""

    def __init__(self, store: Store, task: int, name: str) -> None:
        self.store = store
        self.task = task
        self.name = name
        self._dominance: bytes | str | None = None
        self._clock: float | None = None  # once somebody has asked

    # -- units ------------------------------------------------------------------------------------

    def done(self, stage: str) -> set[str]:
        """The keys of the units of a stage that are stored."""
        query = "SELECT key FROM units WHERE task = ? AND stage = ?"
        return {key for (key,) in self.store.rows(query, self.task, stage)}

    def marked(self, stage: str) -> set[int]:
        """The keys of the stored units of a stage, if they are numbers of states."""
        query = "SELECT key FROM units WHERE task = ? AND stage = ?"
        rows, where = self.store.rows(query, self.task, stage), self.store.path
        return {decoded(lambda row: int(row[0]), row, where) for row in rows}

    def mark_done(
        self,
        stage: str,
        key: str,
        seconds: float,
        policy_calls: int,
        batches: Sizes | None = None,
    ) -> None:
        """Mark a unit as done. `batches` maps sizes of batches to the number of calls of that size."""
        sizes = encoded(batches or {})
        self.store.insert("units", [(self.task, stage, key, seconds, policy_calls, sizes)])
        if self._clock is not None:
            self._clock += seconds

    def mark_all_done(self, stage: str, keys: Iterable[str]) -> None:
        """Mark units as done that took no time."""
        self.store.insert("units", [(self.task, stage, key, 0.0, 0, encoded({})) for key in keys])

    def forget_stage(self, stage: str) -> None:
        self.store.execute("DELETE FROM units WHERE task = ? AND stage = ?", self.task, stage)
        self._clock = None

    def clock(self) -> float:
        """Seconds of all stored units: the time of the task, independent of workers and interruptions."""
        if self._clock is None:
            query = "SELECT coalesce(sum(seconds), 0) FROM units WHERE task = ?"
            self._clock = self._sum(query, self.task)
        return self._clock

    def seconds(self, stage: str) -> float:
        """The seconds that the stored units of a stage took."""
        query = "SELECT coalesce(sum(seconds), 0) FROM units WHERE task = ? AND stage = ?"
        return self._sum(query, self.task, stage)

    def _sum(self, query: str, *parameters: Any) -> float:
        total = float(self.store.rows(query, *parameters)[0][0])
        if not 0 <= total < math.inf:
            raise InputFormatError(
                f"a damaged row: units that took {total} seconds", where=self.store.path
            )
        return total

    # -- states and runs --------------------------------------------------------------------------

    def add_states(self, rows: Sequence[StateRow]) -> None:
        """Store states; their numbers must follow those of the task."""
        size = self.state_count()
        for place, row in enumerate(rows, size):
            if row.number != place:
                raise UsageError(
                    f"state {row.number} of {self.name} comes out of order",
                    where=self.store.path,
                    expected=f"number {place}",
                )
        self.store.insert("states", encoded_rows(self.task, rows))

    def state_count(self) -> int:
        query = "SELECT coalesce(max(number) + 1, 0) FROM states WHERE task = ?"
        return int(self.store.rows(query, self.task)[0][0])

    def states(self) -> list[StateRow]:
        return self._read(StateRow.decoded, "states", "number")

    def add_runs(self, rows: Iterable[RunRow]) -> None:
        """Store runs. Runs that are stored already stay, because a run is always the same."""
        self.store.insert("runs", encoded_rows(self.task, rows), "ignore")

    def runs(self) -> list[RunRow]:
        return self._read(RunRow.decoded, "runs", "number")

    def add_permitted(self, rows: Iterable[SetRow]) -> None:
        """Store permitted operators of states. A different second answer is a contradiction; the first one stays."""
        known = "SELECT operators FROM permitted WHERE task = ? AND state = ?"
        fresh = []
        contradictions = []  # stored together, because each time all of them are read
        for row in dict.fromkeys(rows):
            encoded = row.encoded()
            found = self.store.rows(known, self.task, encoded[0])
            if not found:
                fresh.append((self.task, *encoded))
            elif found[0][0] != encoded[1]:
                before = set(decoded(lambda own: ids_of(own[0]), found[0], self.store.path))
                now = set(row.operators)
                # An operator of each set, and one of them not in the other set: both are answers that were given.
                first = min(before - now or before, default=NO_ACTION)
                second = min(now - before or now, default=NO_ACTION)
                contradictions.append(ContradictionRow(row.state, first, second, 2))
        self.store.insert("permitted", fresh)
        self.add_contradictions(contradictions)

    def permitted(self) -> list[SetRow]:
        return self._read(SetRow.decoded, "permitted", "state")

    # -- verdicts and faults ----------------------------------------------------------------------

    def add_verdicts(self, rows: Iterable[VerdictRow]) -> None:
        """Store verdicts; a new verdict of an oracle replaces its older one."""
        self.store.insert("verdicts", encoded_rows(self.task, rows), "replace")

    def verdicts(self, oracle: str | None = None) -> list[VerdictRow]:
        """The verdicts of one oracle, or of all, in the order of the states."""
        found = self._read(VerdictRow.decoded, "verdicts", "number, rowid")
        return [row for row in found if oracle is None or row.oracle == oracle]

    def verdict_count(self, oracle: str) -> int:
        query = "SELECT count(*) FROM verdicts WHERE task = ? AND oracle = ?"
        return int(self.store.rows(query, self.task, oracle)[0][0])

    def judged_in(self, oracle: str, round: int) -> set[int]:
        """Numbers of the states that were judged in a round."""
        query = "SELECT number FROM verdicts WHERE task = ? AND oracle = ? AND round = ?"
        return {int(number) for (number,) in self.store.rows(query, self.task, oracle, round)}

    def oracles(self) -> list[str]:
        """The oracles that have judged, in the order in which they did."""
        query = "SELECT oracle FROM verdicts WHERE task = ? GROUP BY oracle ORDER BY min(rowid)"
        specs = [spec for (spec,) in self.store.rows(query, self.task)]
        if not all(isinstance(spec, str) for spec in specs):
            raise InputFormatError(
                "the database is damaged: an oracle is not text", where=self.store.path, hint=AGAIN
            )
        return specs

    def add_faults(self, rows: Iterable[FaultRow]) -> None:
        self.store.insert("faults", encoded_rows(self.task, rows), "replace")

    def forget_faults(self) -> None:
        self.store.execute("DELETE FROM faults WHERE task = ?", self.task)

    def faults(self) -> list[FaultRow]:
        return self._read(FaultRow.decoded, "faults", "run, step")

    # -- policies that contradict themselves ------------------------------------------------------

    def add_contradictions(self, rows: Iterable[ContradictionRow]) -> None:
        """Store contradictions; only the first one of each state is kept.

        Any run may meet a new one, so no verdict counts until the runs are weighed again. A risk that rests on the
        decision in one of the states is computed again.
        """
        rows = list(rows)
        known = {row.state for row in self.contradictions()} if rows else set()
        encoded = [(self.task, *row.encoded()) for row in rows if row.state not in known]
        if not encoded:
            return
        self.store.insert("contradictions", encoded, "ignore")
        self.forget_stage(CONFIRMED)
        bad = "SELECT state FROM contradictions WHERE task = ?"
        query = f"SELECT count(*), sum(state IN ({bad})) FROM decisions WHERE task = ?"
        decisions, contradicted = self.store.rows(query, self.task, self.task)[0]
        if contradicted or not decisions:  # where none are kept, there were too many of them
            for table in ("risks", "decisions"):
                self.store.execute(f"DELETE FROM {table} WHERE task = ?", self.task)
            self.forget_stage(RISK)

    def contradictions(self) -> list[ContradictionRow]:
        """The contradictions, in the order in which they were found."""
        return self._read(ContradictionRow.decoded, "contradictions", "rowid")

    def flaky(self, first: int = 0, last: int = LARGEST) -> set[int]:
        """Numbers of the states that are FLAKY, among all or a few."""
        wanted = "task = ? AND number BETWEEN ? AND ? AND verdict = 'FLAKY'"
        query = f"SELECT DISTINCT number FROM verdicts WHERE {wanted}"
        return {int(number) for (number,) in self.store.rows(query, self.task, first, last)}

    def permitted_sets(self) -> dict[Values, Ids]:
        """The stored operators that a set-valued policy permits, by state."""
        query = "SELECT state, operators FROM permitted WHERE task = ?"
        rows = self.store.rows(query, self.task)
        return dict(decoded(_permitted, row, self.store.path) for row in rows)

    def drop_faults(self, run: int, last: int) -> None:
        """Delete the faults of a run up to a step."""
        self.store.execute(
            "DELETE FROM faults WHERE task = ? AND run = ? AND step <= ?", self.task, run, last
        )

    def asked_again(self) -> int:
        """The number of decisions that were asked again, each counted once, however often it was asked."""
        query = (
            "SELECT coalesce(sum(policy_calls), 0) FROM units "
            "WHERE task = ? AND stage = ? AND key NOT LIKE 'often %'"
        )
        return int(self._sum(query, self.task, CONFIRM))

    def _read(self, decode: Any, table: str, order: str) -> list[Any]:
        where = self.store.path
        return self.store.read_rows(
            table, self.task, order, lambda row: decoded(decode, row[1:], where)
        )

    # -- what units hand on -----------------------------------------------------------------------

    def set_dominance(self, tables: bytes | None, problem: str | None = None) -> None:
        """Store the dominance function, so that derivations can be checked, or the reason why there is none."""
        packed = None if tables is None else zlib.compress(tables)
        self.store.insert("dominance", [(self.task, packed, problem)])

    def set_packed_dominance(self, packed: bytes) -> None:
        """The same of a function that a worker has compressed, which takes as long as to store a hundred records."""
        self.store.insert("dominance", [(self.task, packed, None)])

    def dominance(self) -> bytes | str | None:
        """The tables, or the reason why there are none; None if it was not tried."""
        if self._dominance is None:
            self._dominance = self._read_dominance()
        return self._dominance

    def _read_dominance(self) -> bytes | str | None:
        query = "SELECT tables, problem FROM dominance WHERE task = ?"
        found = self.store.rows(query, self.task)
        if not found:
            return None
        packed, problem = found[0]
        if packed is None:
            return str(problem)
        try:
            return unpack(packed, MAX_UNPACKED)
        except ValueError as error:
            raise InputFormatError(
                f"the database is damaged: the dominance function of {self.name}: {error}",
                where=self.store.path,
                hint=AGAIN,
            ) from error

    def set_knowledge(self, oracle: str, round: int, part: int, own: Snapshot) -> None:
        row = (self.task, oracle, round, part, own.given, own.content)
        self.store.insert("knowledge", [row], "replace")

    def knowledge(self, oracle: str, round: int) -> dict[int, Snapshot]:
        """The stored knowledge of a round, by part."""
        query = (
            "SELECT part, given, content FROM knowledge WHERE task = ? AND oracle = ? AND round = ?"
        )
        rows = self.store.rows(query + " ORDER BY part", self.task, oracle, round)
        for _, given, content in rows:
            if type(given) is not int or not isinstance(content, bytes):
                raise InputFormatError("a damaged row: no knowledge", where=self.store.path)
        return {part: Snapshot(given, content) for part, given, content in rows}

    def forget_knowledge(
        self, oracle: str, *, before: int | None = None, parts: int | None = None
    ) -> None:
        """Delete the knowledge of all rounds before one, or the parts of one round but not their merged result."""
        if before is not None:
            self.store.execute(
                "DELETE FROM knowledge WHERE task = ? AND oracle = ? AND round < ?",
                *(self.task, oracle, before),
            )
        if parts is not None:
            self.store.execute(
                "DELETE FROM knowledge WHERE task = ? AND oracle = ? AND round = ? AND part >= 0",
                *(self.task, oracle, parts),
            )

    # -- runs of the fuzzer of models -------------------------------------------------------------

    def add_fuzzed(self, first: int, runs: int, ends: dict[str, int]) -> None:
        self.store.insert("fuzzed", [(self.task, first, runs, json.dumps(ends))])

    def fuzzed(self) -> Iterator[tuple[int, int, dict[str, int]]]:
        """First run, number of runs and how they ended, batch by batch."""
        query = "SELECT first, runs, ends FROM fuzzed WHERE task = ? ORDER BY first"
        for row in self.store.rows(query, self.task):
            yield decoded(_batch, row, self.store.path)


def _files(row: Sequence[Any]) -> dict[str, str]:
    files = parse_json(row[0])
    if not isinstance(files, dict) or not all(isinstance(v, str) for v in files.values()):
        raise ValueError("the files of the policy are not named")
    return {str(name): digest for name, digest in files.items()}


def _permitted(row: Sequence[Any]) -> tuple[Values, Ids]:
    return values_of(row[0]), ids_of(row[1])


def _spent(row: Sequence[Any]) -> tuple[str, float, int]:
    stage, seconds, calls = row
    if not isinstance(stage, str) or not 0 <= seconds < math.inf or type(calls) is not int:
        raise ValueError("expected what a stage has taken")
    return stage, float(seconds), calls


def _batch(row: Sequence[Any]) -> tuple[int, int, dict[str, int]]:
    first, runs, text = row
    ends = parse_json(text)
    if not isinstance(ends, dict):
        raise ValueError("expected how many runs ended in which way")
    if not all(type(count) is int and count >= 0 for count in (first, runs, *ends.values())):
        raise ValueError("expected numbers of runs")
    return first, runs, ends


__all__ = [
    "CONFIRM",
    "CONFIRMED",
    "LIMIT",
    "REMARK",
    "RISK",
    "Content",
    "Findings",
    "PolicyIdentity",
    "Snapshot",
]
