"""The digest of the records is that of the rows after every write, and the checker agrees."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.campaigns.rows import FaultRow
from misstep.campaigns.seal import MODULUS, Value, computed_sums, read_sums, sums_of
from misstep.campaigns.store import RowsDoNotFitError, Store, memory_store
from misstep.campaigns.tables import Findings
from misstep.checking.seal import Sealed
from support.campaigns import CONFIG, add_tested, fill, run_row, state_row, verdict_row
from support.seals import row_digest


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store(CONFIG) as store:
        yield store


def check(store: Store) -> None:
    sums = read_sums(store.connection)
    assert {table: own for table, own in sums.items() if own != (0, 0)} == computed_sums(
        store.connection
    )
    sealed = Sealed(store.connection)
    assert sealed.problems == []
    assert sealed.digest is not None


WRITES: dict[str, Callable[[Findings], object]] = {
    "states": lambda f: f.add_states([state_row(f.state_count())]),
    "run again": lambda f: f.add_runs([run_row(0), run_row(1)]),
    "verdict replaced": lambda f: f.add_verdicts([verdict_row(0)._replace(round=1)]),
    "faults": lambda f: f.add_faults([FaultRow(0, 0, (0, 0), 0, 1, 1, 2, 1.0, True)]),
    "unit": lambda f: f.mark_done("pool", "key", 1.5, 3),
    "dominance": lambda f: f.set_dominance(b"\x00tables\xff"),
    "event": lambda f: f.store.insert("events", [(None, 1.5, "remark", None, "é\x00\u2028'")]),
    "fuzzed": lambda f: f.add_fuzzed(0, 5, {"safe": 5}),
    "meta": lambda f: f.store.set_meta("nature", "x"),
    "finished": lambda f: f.store.set_meta("finished", "1"),
    "update": lambda f: f.store.execute("UPDATE verdicts SET low = 7"),
    "delete": lambda f: f.store.execute("DELETE FROM verdicts WHERE number < 5"),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_digest_is_right_after_every_kind_of_write(name: str, store: Store) -> None:
    findings = fill(store, 12, 8)
    check(store)
    for _ in range(1 if name in ("dominance", "fuzzed", "unit") else 2):
        WRITES[name](findings)
        check(store)


def test_a_failed_write_leaves_the_digest_unchanged(store: Store) -> None:
    findings = fill(store, 12, 8)
    before = read_sums(store.connection)

    def work() -> None:
        with store.unit():
            add_tested(findings, 9)
            store.insert("states", [(1, 0, "[]", None, "[]", 0, 0, 0, 0.0)])

    with pytest.raises(RowsDoNotFitError):
        work()
    assert read_sums(store.connection) == before
    check(store)
    add_tested(findings, 9)
    check(store)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM verdicts WHERE number = 3", "verdicts has 7 rows, and 8 were written"),
        ("UPDATE runs SET cost = cost + 1 WHERE number = 3", "rows of runs were changed"),
        ("UPDATE meta SET value = value || ' ' WHERE key = 'config'", "rows of meta were changed"),
        ("DELETE FROM policy", "policy has 0 rows, and 1 were written"),
        ("INSERT INTO policy VALUES ('x', 'y')", "policy has 2 rows, and 1 were written"),
        ("UPDATE meta SET value = '[]' WHERE key = 'seal'", "the digest of the records is damaged"),
        ("UPDATE meta SET value = '{\"runs\": 7}' WHERE key = 'seal'", "runs has 8 rows, and 0"),
    ],
)
def test_changes_by_other_programs_are_found(store: Store, statement: str, expected: str) -> None:
    findings = fill(store, 12, 8)
    other = sqlite3.connect(":memory:", isolation_level=None)
    store.connection.backup(other)
    other.execute(statement)
    assert any(expected in problem for problem in Sealed(other).problems)
    assert Sealed(store.connection).problems == []
    add_tested(findings, 8)
    check(store)


def test_no_two_rows_are_written_alike() -> None:
    rows: list[tuple[str | int | float | bytes | None, ...]] = [
        ("t", 1, None),
        ("t", "1", None),
        ("t", 1.0, None),
        ("t", b"1", None),
        ("t", 1, "None"),
        ("t", "1, None", None),
        ("t", None, 1),
        ("tasks", b"1", None),
        ("tasks", "1", None),
        ("u", 1, None),
    ]
    assert len({row_digest(row) for row in rows}) == len(rows)


values = st.one_of(
    st.none(),
    st.integers(),
    st.floats(allow_nan=False),
    st.binary(max_size=200),
    st.text(st.characters(), max_size=200),
    st.text("'\"\\\n\t\x7f\xa0\u20ac\U0001f600\ud800a", max_size=80),
)
tables = st.sampled_from(["states", "tasks", "knowledge", "it's"])
rows_of_tables = st.lists(
    st.builds(lambda table, row: (table, *row), tables, st.lists(values, max_size=4))
)


@given(rows_of_tables)
def test_the_core_computes_the_same_sums(rows: list[tuple[Value, ...]]) -> None:
    expected: dict[str, tuple[int, int]] = {}
    for row in rows:
        count, total = expected.get(str(row[0]), (0, 0))
        expected[str(row[0])] = count + 1, (total + row_digest(row)) % MODULUS
    assert sums_of(rows) == expected


def test_texts_of_every_length_around_a_block() -> None:
    for size in range(200):
        assert sums_of([("t", "x" * size)]) == {"t": (1, row_digest(("t", "x" * size)))}
        assert sums_of([("tasks", b"x" * size)]) == {
            "tasks": (1, row_digest(("tasks", b"x" * size)))
        }


def test_rows_without_a_table_are_refused() -> None:
    for row in ((), (1,)):
        with pytest.raises(ValueError, match="name of its table"):
            sums_of([row])
