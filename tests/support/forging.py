"""A forgery, and ways to change the rows of a stored campaign, for `support.forged`."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from misstep.checking.jani import SafetyTask
from misstep.checking.model_risk import policy_risks
from misstep.checking.sas import SasTask, State, parse_sas
from misstep.checking.semantics import apply, is_applicable
from misstep.checking.stored import Store, source_of
from support.strategies import Pairs, pairs_of, write_pairs

Forge = Callable[[sqlite3.Connection], None]


class Forgery(NamedTuple):
    what: str
    world: str  # which honest folder
    how: Forge
    plain: str | None
    full: str | None
    counted: str | None = None  # what the plain replay counts as not checked

    def forge(self, folder: Path) -> None:
        with closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
            before = list(connection.iterdump())
            connection.execute("BEGIN")
            self.how(connection)
            connection.execute("COMMIT")
            assert list(connection.iterdump()) != before, f"{self.what}: nothing was changed"


def sql(*statements: str) -> Forge:
    def how(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return how


def column(table: str, name: str, change: Callable[[Any], Any], where: str = "1") -> Forge:
    """Change a column of the first row of which something is true and which the change changes."""

    def how(connection: sqlite3.Connection) -> None:
        key = "key" if table == "meta" else "rowid"
        rows = connection.execute(f"SELECT {key}, {name} FROM {table} WHERE {where}").fetchall()
        for id, old in rows:
            new = change(old)
            if new != old:
                connection.execute(f"UPDATE {table} SET {name} = ? WHERE {key} = ?", (new, id))
                return

    return how


def listed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def how(text: Any) -> Any:
        return json.dumps(change(json.loads(text)), separators=(",", ":"))

    return how


def sas_of(connection: sqlite3.Connection) -> SasTask:
    """The first task."""
    return parse_sas(source_of(Store(connection).tasks()[0])["files"]["task.sas"].decode())


def shortened(connection: sqlite3.Connection, *, elsewhere: bool) -> None:
    """A run that reaches the goal is said to get stuck where it starts, on another run or not."""
    sas = sas_of(connection)
    passed: dict[State, set[int]] = {}
    rows = connection.execute(
        "SELECT number, state, operators, outcome FROM runs JOIN states USING (task, number) WHERE task = 1"
    ).fetchall()
    for number, state, operators, _ in rows:
        here = tuple(json.loads(state))
        for operator in json.loads(operators):
            passed.setdefault(here, set()).add(number)
            here = apply(here, sas.operators[operator])
    number, plan = next(
        (number, operators)
        for number, state, operators, outcome in rows
        if outcome == "goal" and (passed[tuple(json.loads(state))] != {number}) == elsewhere
    )
    cost = len(json.loads(plan))
    connection.execute(
        "UPDATE runs SET operators = '[]', outcome = 'stuck', cost = 0 WHERE task = 1 AND number = ?",
        (number,),
    )
    connection.execute("DELETE FROM faults WHERE task = 1 AND run = ?", (number,))
    connection.execute(
        "UPDATE verdicts SET verdict = 'BUG', kind = 'fails', low = NULL, high = NULL, lower = 0, upper = ?, "
        "plan = ?, derivation = NULL WHERE task = 1 AND number = ?",
        (cost, plan, number),
    )


def unnoticed(*hide: str) -> Forge:
    """A run that contradicts another one, and something that could keep the checker from comparing them."""

    def how(connection: sqlite3.Connection) -> None:
        shortened(connection, elsewhere=True)
        sql(*hide)(connection)

    return how


def contradicted_elsewhere(connection: sqlite3.Connection) -> None:
    """Removes all faults of a model, and says that the policy contradicts itself where a single run begins."""
    connection.execute("DELETE FROM faults")
    contradicted_once(connection)


def less_risk_of_runs(connection: sqlite3.Connection) -> None:
    """The policy is said to stop everywhere, without a risk, and to contradict itself where a single run begins."""
    contradicted_once(connection)
    connection.execute("UPDATE decisions SET label = NULL")
    connection.execute("UPDATE risks SET low = 0.0, high = 0.0")


def contradicted_once(connection: sqlite3.Connection) -> None:
    """The policy is said to contradict itself where a single run begins."""
    runs = {
        number: (json.loads(states), json.loads(labels))
        for number, states, labels in connection.execute(
            "SELECT number, states, operators FROM runs"
        )
    }
    for number, (states, labels) in runs.items():
        met = [own for own, (others, _) in runs.items() if states[0] in others]
        text = json.dumps(states[0], separators=(",", ":"))
        record = connection.execute(
            "SELECT number FROM states WHERE run = ? AND step = 0", (number,)
        ).fetchone()
        if met == [number] and record is not None and labels:
            break
    connection.execute("INSERT INTO contradictions VALUES (1, ?, ?, ?, 2)", (text, labels[0], -1))
    connection.execute(
        "UPDATE verdicts SET verdict = 'FLAKY', kind = NULL, low = 0, high = NULL, lower = NULL, upper = NULL, "
        "strategy = NULL, size = NULL WHERE number = ?",
        record,
    )


def fixed_bugs(connection: sqlite3.Connection) -> None:
    """Of a retest: the strategies of all bugs as the decisions of a policy that is safe now."""
    connection.execute("DELETE FROM faults")
    bugs = "IN (SELECT number FROM verdicts WHERE verdict = 'BUG')"
    connection.execute(
        "UPDATE runs SET outcome = 'safe', operators = '[]', states = json_array(json_extract(states, '$[0]')) "
        f"WHERE number {bugs}"
    )
    connection.execute(
        "UPDATE verdicts SET verdict = 'NOT A BUG', kind = NULL, low = 0, high = 0 WHERE verdict = 'BUG'"
    )
    within = "outcome = 'safe' AND number >= first AND number < first + fuzzed.runs"
    connection.execute(
        f"UPDATE fuzzed SET ends = (SELECT json_object('safe', count(*), 'unsafe', fuzzed.runs - count(*)) "
        f"FROM runs WHERE {within})"
    )


def less_risk(connection: sqlite3.Connection) -> None:
    """The policy is said to stop wherever no run shows what it does, and its risks are computed from that."""
    task = SafetyTask.from_source(source_of(Store(connection).tasks()[0]))
    runs = connection.execute("SELECT states FROM runs").fetchall()
    shown = {json.dumps(own, separators=(",", ":")) for (text,) in runs for own in json.loads(text)}
    for rowid, state in connection.execute("SELECT rowid, state FROM decisions").fetchall():
        if state not in shown:
            connection.execute("UPDATE decisions SET label = NULL WHERE rowid = ?", (rowid,))
    rows = connection.execute("SELECT state, label FROM decisions").fetchall()
    risks = policy_risks(task, {task.read_state(json.loads(own)): label for own, label in rows})
    for number, state in connection.execute("SELECT number, state FROM states").fetchall():
        low, high = risks.of(task.read_state(json.loads(state)))
        connection.execute(
            "UPDATE risks SET low = ?, high = ? WHERE number = ?", (low, high, number)
        )


def repeated(connection: sqlite3.Connection) -> None:
    """The last bug is listed again, with a blank in the text of its state."""
    task, number, run = connection.execute(
        "SELECT task, number, run FROM states JOIN verdicts USING (task, number) WHERE verdict IN ('BUG', 'FLAKY') "
        "ORDER BY number DESC"
    ).fetchone()
    (new,) = connection.execute("SELECT max(number) + 1 FROM states").fetchone()
    own_run = run == number  # on a model many states share one
    tables = [("states", "number"), ("verdicts", "number")]
    tables += [("runs", "number"), ("faults", "run")] if own_run else []
    for table, key in tables:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        changes = {key: str(new)}
        if table == "states":
            changes |= {"state": "replace(state, ',', ', ')", "run": str(new if own_run else run)}
        shown = ", ".join(changes.get(column, column) for column in columns)
        connection.execute(
            f"INSERT INTO {table} SELECT {shown} FROM {table} WHERE task = ? AND {key} = ?",
            (task, number),
        )


def swapped_states(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT rowid, state FROM states WHERE task = 1 LIMIT 3").fetchall()
    (first, one), (second, other) = rows[1:]
    connection.execute("UPDATE states SET state = 'x' WHERE rowid = ?", (first,))
    connection.execute("UPDATE states SET state = ? WHERE rowid = ?", (one, second))
    connection.execute("UPDATE states SET state = ? WHERE rowid = ?", (other, first))


def raised_to_optimal(connection: sqlite3.Connection) -> None:
    """The policy's own cost as a lower bound."""
    connection.execute(
        "UPDATE verdicts SET verdict = 'OPTIMAL', kind = NULL, low = 0, high = 0, plan = NULL, derivation = NULL, "
        "lower = (SELECT cost FROM runs r WHERE r.task = verdicts.task AND r.number = verdicts.number), "
        "upper = (SELECT cost FROM runs r WHERE r.task = verdicts.task AND r.number = verdicts.number) "
        "WHERE kind = 'costly'"
    )
    connection.execute(
        "DELETE FROM faults WHERE task = 1 AND run IN (SELECT number FROM verdicts "
        "WHERE task = 1 AND verdict = 'OPTIMAL')"
    )


def raised_lower(connection: sqlite3.Connection) -> None:
    """The bound is raised, and the largest gap with it, so that the arithmetic is right."""
    task, number = connection.execute(
        "SELECT task, number FROM verdicts WHERE kind = 'costly' AND low = high AND low > 1 "
        "AND oracle = 'exact'"
    ).fetchone()
    where = f"WHERE task = {task} AND number = {number} AND oracle = 'exact'"
    connection.execute(
        f"UPDATE verdicts SET low = low - 1, high = high - 1, lower = lower + 1 {where}"
    )
    connection.execute(f"UPDATE verdicts SET upper = upper + 1 {where}")


def changed_table(connection: sqlite3.Connection) -> None:
    """One summand of a dominance function."""
    task, packed = connection.execute(
        "SELECT task, tables FROM dominance WHERE tables NOT NULL ORDER BY task DESC"
    ).fetchone()
    tables = bytearray(zlib.decompress(packed))
    tables[-1] ^= 1
    connection.execute(
        "UPDATE dominance SET tables = ? WHERE task = ?", (zlib.compress(bytes(tables)), task)
    )


def removed_task(connection: sqlite3.Connection) -> None:
    for table in ("faults", "verdicts", "states", "runs", "dominance", "knowledge", "units"):
        connection.execute(f"DELETE FROM {table} WHERE task = 2")
    connection.execute("DELETE FROM tasks WHERE id = 2")


def other_better(connection: sqlite3.Connection) -> None:
    """Any other operator that applies."""
    sas = sas_of(connection)
    for rowid, state, decision, better in connection.execute(
        "SELECT rowid, state, decision, better FROM faults WHERE task = 1 AND better NOT NULL"
    ).fetchall():
        values = tuple(json.loads(state))
        for number, operator in enumerate(sas.operators):
            if number not in (decision, better) and is_applicable(values, operator):
                connection.execute("UPDATE faults SET better = ? WHERE rowid = ?", (number, rowid))


def other_better_label(connection: sqlite3.Connection) -> None:
    """Any other label that applies."""
    task = SafetyTask.from_source(source_of(Store(connection).tasks()[0]))
    for rowid, state, decision, better in connection.execute(
        "SELECT rowid, state, decision, better FROM faults WHERE better NOT NULL"
    ).fetchall():
        values = task.read_state(json.loads(state))
        for label in range(len(task.labels)):
            if label not in (decision, better) and task.model.is_applicable(values, label):
                connection.execute("UPDATE faults SET better = ? WHERE rowid = ?", (label, rowid))


def truncated_unsafe_run(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE runs SET operators = json_remove(operators, '$[#-1]'), states = json_remove(states, '$[#-1]')"
    )


def missing_strategies(connection: sqlite3.Connection) -> None:
    """Said to have been too large, of states that are lost."""
    connection.execute(
        "UPDATE verdicts SET verdict = 'BUG', kind = 'unsafe', low = 0, high = NULL, size = 2000000 "
        "WHERE verdict = 'NOT A BUG'"
    )


def changed_strategies(connection: sqlite3.Connection, change: Callable[[Pairs], Pairs]) -> None:
    for (number,) in connection.execute("SELECT number FROM strategies").fetchall():
        write_pairs(connection, number, change(pairs_of(connection, number)))


def misled_strategies(connection: sqlite3.Connection) -> None:
    """The last state of each is said to lead to the first one as well, so that it looks larger than it is."""
    for number, packed in connection.execute("SELECT number, content FROM strategies").fetchall():
        data = bytearray(zlib.decompress(packed))
        data[-1] ^= 1
        connection.execute(
            "UPDATE strategies SET content = ? WHERE number = ?",
            (zlib.compress(bytes(data)), number),
        )


def lost_bugs(connection: sqlite3.Connection) -> None:
    """Bugs as states that were lost anyway."""
    connection.execute("DELETE FROM faults")
    connection.execute(
        "UPDATE verdicts SET verdict = 'NOT A BUG', kind = NULL, low = NULL, high = NULL, strategy = NULL, "
        "size = NULL WHERE verdict = 'BUG'"
    )
