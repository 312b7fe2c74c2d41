"""Units that share a transaction are stored whole, in order and sealed, and are lost only if the process is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns import transactions
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.engine import Engine
from misstep.campaigns.rows import FaultRow
from misstep.campaigns.seal import GIVEN_TABLES, computed_sums, read_sums
from misstep.campaigns.store import RowsDoNotFitError, Store, create_store, open_store
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.units import Result, Unit
from misstep.campaigns.workers import Outcome, ThisProcess, Worker
from misstep.checking.seal import Sealed
from misstep.errors import MisstepError, ToolError
from support.campaigns import CONFIG, add_tested, fill, small_model, state_row, told
from support.storm import COMPARING
from support.tasks import small_task

WORLDS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "planning": (
        lambda: small_task("gripper-4"),
        "noisy:0.4:1+heuristic:ff",
        {"pool": 20, "oracle": COMPARING, "config": {"planning": {"chunk": 3, "round": 2}}},
    ),
    "model": (
        lambda: small_model("one-way-line"),
        "first",
        {"runs": 60, "config": {"model": {"batch": 5}}},
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "c"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with create_store(folder, CONFIG) as store:
        fill(store, 12, 8)
        yield store


def check_seal(store: Store) -> None:
    sums = {table: own for table, own in read_sums(store.connection).items() if own != (0, 0)}
    assert sums == computed_sums(store.connection)
    assert Sealed(store.connection).problems == []


def states(store: Store) -> int:
    return int(store.rows("SELECT count(*) FROM states")[0][0])


def gather(store: Store, number: int) -> None:
    with store.unit(gathered=True):
        fill_one(store, number)


def fill_one(store: Store, number: int) -> None:
    store.insert("states", [(1, *state_row(number).encoded())])


# -- the store ------------------------------------------------------------------------------------


def test_readers_see_gathered_units_together_and_sealed(store: Store, folder: Path) -> None:
    assert store.gathers_for() is None
    gather(store, 12)
    gather(store, 13)
    left = store.gathers_for()
    assert left is not None
    assert 0 <= left <= transactions.GATHERED_SECONDS
    with open_store(folder, readonly=True) as reader:
        assert states(reader) == 12
        check_seal(reader)
    assert states(store) == 14  # the writer sees them at once
    store.commit()
    assert store.gathers_for() is None
    with open_store(folder, readonly=True) as reader:
        assert states(reader) == 14
        check_seal(reader)


def test_a_plain_unit_joins_those_that_are_gathered(store: Store) -> None:
    gather(store, 12)
    with store.unit():
        fill_one(store, 13)
    assert store.connection.in_transaction
    store.commit()
    check_seal(store)
    with store.unit():
        fill_one(store, 14)
    assert not store.connection.in_transaction


def test_closing_commits_what_was_gathered(folder: Path) -> None:
    with create_store(folder, CONFIG) as store:
        fill(store, 12, 8)
        gather(store, 12)
    with open_store(folder, readonly=True) as reader:
        assert states(reader) == 13
        check_seal(reader)


def test_a_unit_that_fails_takes_those_gathered_with_it_and_leaves_a_valid_seal(
    store: Store,
) -> None:
    gather(store, 12)
    with pytest.raises(RowsDoNotFitError):
        gather(store, 12)
    assert states(store) == 12
    check_seal(store)
    gather(store, 12)
    store.commit()
    check_seal(store)


# -- rows that the seal inserts -------------------------------------------------------------------


@pytest.mark.parametrize("table", GIVEN_TABLES)
@pytest.mark.parametrize("verb", ["INSERT", "REPLACE", "INSERT OR IGNORE"])
def test_no_row_gets_past_the_seal(store: Store, table: str, verb: str) -> None:
    findings = fill_faults(store)
    before = store.rows(f"SELECT count(*) FROM {table}")
    with pytest.raises(MisstepError, match="not authorized"):
        store.execute(f"{verb} INTO {table} SELECT * FROM {table}")
    assert store.rows(f"SELECT count(*) FROM {table}") == before
    add_tested(findings, 8)
    check_seal(store)


def fill_faults(store: Store) -> Any:
    from misstep.campaigns.tables import Content

    findings = Content(store).findings("counter")
    findings.add_faults([FaultRow(0, 0, (0, 0), 0, 1, 1, 2, 1, True)])
    return findings


def test_a_whole_number_among_real_ones_has_the_digest_of_what_is_stored(store: Store) -> None:
    fill_faults(store)  # with a share of 1, which the table holds as 1.0
    check_seal(store)


def test_a_value_that_the_table_would_change_is_refused(store: Store) -> None:
    row = (1, 0, 1, "[0]", 0, 1, 1, 2, 1, 0, None)
    with pytest.raises(TypeError, match="hold as another one"):
        store.insert("faults", [row])
    assert store.rows("SELECT count(*) FROM faults") == [(0,)]
    check_seal(store)


def test_rows_that_were_refused_cannot_be_committed(store: Store) -> None:
    """Of several rows, those before the one that does not fit may have been inserted."""

    def work() -> None:
        with store.unit():
            rows = [(1, *state_row(number).encoded()) for number in (12, 13, 3)]
            with pytest.raises(RowsDoNotFitError):
                store.insert("states", rows)

    with pytest.raises(MisstepError, match="rows that were refused"):
        work()
    assert states(store) == 12
    check_seal(store)


# -- campaigns ------------------------------------------------------------------------------------


def start(world: str, folder: Path | None) -> Any:
    make, policy, how = WORLDS[world]
    return run_campaign(make(), policy, out=folder, resume=folder is not None, **how)


def units(folder: Path) -> int:
    with open_store(folder, readonly=True) as store:
        check_seal(store)
        return int(store.rows("SELECT count(*) FROM units")[0][0])


def killed_after(world: str, folder: Path, count: int) -> int:
    """Kill a process that gathers all units when it has stored the given number; returns how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        keep, left = Engine._keep, count

        def counted(engine: Engine, *given: Any) -> None:
            nonlocal left
            keep(engine, *given)
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        Engine._keep = counted  # type: ignore[method-assign, assignment]
        transactions.GATHERED_SECONDS = 1000.0
        ThisProcess.ends_within = lambda *_: True  # type: ignore[method-assign]
        start(world, folder).close()
    finally:
        os._exit(0)


@pytest.mark.parametrize("world", WORLDS)
def test_killed_between_units_of_one_transaction(world: str, tmp_path: Path) -> None:
    with start(world, None) as whole:
        expected, sums = told(whole), read_sums(whole._store.connection)
    assert expected
    for count in (1, 2, 5, 9):
        folder = tmp_path / str(count)
        assert killed_after(world, folder, count) == -signal.SIGKILL
        assert units(folder) == 0  # none of them was committed, and what is there is sound
        start(world, folder).close()
        with open_campaign(folder) as found:
            assert told(found) == expected
            own = read_sums(found._store.connection)
            assert {t: own[t] for t in GIVEN_TABLES if t in own} == {
                t: sums[t] for t in GIVEN_TABLES if t in sums
            }
    assert killed_after(world, tmp_path / "done", 10**6) == 0  # a transaction for all of them
    with open_campaign(tmp_path / "done") as found:
        assert told(found) == expected


@pytest.mark.parametrize("error", [ToolError("the policy broke"), KeyboardInterrupt()])
def test_an_error_of_a_unit_keeps_the_units_before_it(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do = Worker.do
    done: list[str] = []

    def breaking(worker: Worker, unit: Unit, seconds: float | None = None) -> Outcome:
        if len(done) == 4:
            raise error
        done.append(unit.key)
        return do(worker, unit, seconds)

    monkeypatch.setattr(Worker, "do", breaking)
    monkeypatch.setattr(transactions, "GATHERED_SECONDS", 1000.0)
    monkeypatch.setattr(ThisProcess, "ends_within", lambda *_: True)
    with pytest.raises(type(error)):
        start("model", folder)
    assert units(folder) == 4


def test_nothing_waits_for_a_unit_that_may_take_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first unit of each kind may take long, and so may one after a slow unit."""
    do, commits = Worker.do, Store.commit
    open_before: list[int] = []
    committed = 0

    def commit(store: Store) -> None:
        nonlocal committed
        committed += store._gathering is not None
        commits(store)

    def slow(worker: Worker, unit: Unit, seconds: float | None = None) -> Outcome:
        open_before.append(committed)
        outcome = do(worker, unit, seconds)
        assert isinstance(outcome, Result)
        return outcome

    monkeypatch.setattr(Store, "commit", commit)
    monkeypatch.setattr(Worker, "do", slow)
    monkeypatch.setattr(transactions, "GATHERED_SECONDS", 0.0)  # every unit is a slow one
    start("model", folder).close()
    assert len(open_before) > 10
    assert all(a < b for a, b in pairwise(open_before))


def test_only_units_like_quick_ones_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("misstep.campaigns.workers.monotonic", lambda: clock[0])

    class Timed(Worker):
        def do(self, unit: Unit, seconds: float | None = None) -> Outcome:  # noqa: ARG002
            clock[0] += float(unit.key)
            return Result(None)

    workers = ThisProcess(Timed(None, "random:1"))  # type: ignore[arg-type]

    def expected(job: str, takes: str) -> bool:
        workers.submit(Unit("task", "stage", takes, job), None)
        found = workers.ends_within(0.1)
        workers.next()
        return found

    assert not expected("judge", "0.01")  # nothing is known
    assert expected("judge", "0.5")
    assert not expected("judge", "0.01")
    assert expected("judge", "0.01")
    assert not expected("blame", "0.01")
    assert not workers.ends_within(0.0)
    workers.close()
