"""What goes in comes out, in order, and only if it makes sense."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep.campaigns.records import (
    KINDS,
    OUTCOMES,
    VERDICTS,
    Event,
    PoolRecord,
    RunRecord,
    VerdictRecord,
)
from misstep.campaigns.store import (
    POOL_FINISHED,
    TASK_FINISHED,
    CampaignStore,
    LastUnit,
    create_store,
    open_store,
)
from misstep.errors import InputFormatError, UsageError
from misstep.tasks.pddl.text import Source
from misstep.tasks.task import Task
from support.campaigns import (
    SIZE,
    counter_task,
    fill,
    pool_record,
    run_record,
    verdict_record,
)

NAMES = st.lists(st.text(), max_size=4).map(tuple)
COUNT = st.integers(0, 2**63 - 1)
TIME = st.floats(0, allow_infinity=False)


@st.composite
def interval(draw: st.DrawFn) -> tuple[int | None, int | None]:
    low, high = draw(st.none() | COUNT), draw(st.none() | COUNT)
    if low is None or high is None:
        return (low, None)
    return min(low, high), max(low, high)


@st.composite
def results(draw: st.DrawFn) -> tuple[list[PoolRecord], list[RunRecord], list[VerdictRecord]]:
    states = draw(st.lists(st.tuples(COUNT, COUNT), min_size=1, max_size=6, unique=True))
    pool, runs, verdicts = [], [], []
    for index, state in enumerate(states):
        reference = draw(st.integers(0, index - 1)) if index else None
        pool.append(
            PoolRecord("counter", index, state, reference, draw(NAMES), draw(COUNT), draw(TIME))
        )
        runs.append(
            RunRecord(
                "counter",
                state,
                draw(st.sampled_from(OUTCOMES)),
                draw(COUNT),
                draw(COUNT),
                draw(NAMES),
                draw(st.none() | st.text(st.characters(codec="utf-8"))),
            )
        )
        verdict = draw(st.sampled_from(VERDICTS))
        kind = draw(st.sampled_from(KINDS)) if verdict == "BUG" else None
        (low, high), (lower, upper) = draw(interval()), draw(interval())
        verdicts.append(
            VerdictRecord(
                "counter",
                state,
                verdict,
                kind,
                low,
                high,
                upper,
                lower,
                draw(st.none() | st.just("aras/ehc")),
                draw(st.none() | NAMES),
                draw(TIME),
                draw(COUNT),
                draw(COUNT),
            )
        )
    return pool, runs, verdicts


@settings(max_examples=40, deadline=None)
@given(results())
def test_round_trip(
    records: tuple[list[PoolRecord], list[RunRecord], list[VerdictRecord]],
) -> None:
    pool, runs, verdicts = records
    with TemporaryDirectory() as folder:
        with create_store(folder, {}) as store:
            store.add_task(counter_task())
            store.add_pool(*pool)
            for run, verdict in zip(runs, verdicts, strict=True):
                store.add_tested(run, verdict)
        with open_store(folder, readonly=True) as store:
            assert store.pool("counter") == pool
            assert store.runs("counter") == runs
            assert store.verdicts("counter") == verdicts


def test_tested_states(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store:
        tested = list(store.tested())
        assert store.remarks == ()
        assert store.config == {"seed": 7, "fuzz": {"bias": "loop"}}
        assert store.policy == ("heuristic:ff", "abc")
    assert [state.index for state in tested] == list(range(SIZE - 10))
    assert tested[2].as_dict() == {
        "task": "counter",
        "state": [0, 2],
        "facts": ["v0(0)", "v1(2)"],
        "walk": ["op0", "op1"],
        "outcome": "goal",
        "policy_cost": 5,
        "verdict": "UNKNOWN",
        "kind": None,
        "gap": [0, None],
        "upper_bound": None,
        "lower_bound": 0,
        "oracle": None,
        "witness": None,
        "derivation": None,
        "seconds": 0.5,
        "fuzzing_bug": False,
    }
    assert (tested[3].policy_cost, tested[3].gap, tested[3].kind) == (None, (None, None), "fails")
    # 7 -> 3 -> 1 -> 0: the walk is told from the initial state.
    assert tested[7].walk == ("op0", "op1") * 3
    assert tested[0].walk == ()


def test_tasks_come_sorted_and_whole(tmp_path: Path) -> None:
    pddl = (Source("d.pddl", b"(define \xe9)"), Source("p.pddl", b"(define)"))
    with create_store(tmp_path / "c", {}) as store:
        for name in ("b", "a"):
            store.add_task(Task(counter_task().sas, name=name, pddl=pddl))
            store.add_pool(pool_record(0, name))
            store.add_tested(run_record(0, name), verdict_record(0, name))
    with open_store(tmp_path / "c", readonly=True) as store:
        assert store.task_names() == ["a", "b"]
        assert [state.task for state in store.tested()] == ["a", "b"]
        assert [state.task for state in store.tested("b")] == ["b"]
        assert store.task("a").pddl == pddl
        assert store.task("a").digest == counter_task().digest
        with pytest.raises(UsageError, match="no task z; expected one of a, b"):
            list(store.tested("z"))


def test_a_state_from_elsewhere_has_no_walk(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", {}) as store:
        store.add_task(counter_task())
        store.add_pool(pool_record(0), PoolRecord("counter", 1, (1, 1)))
        store.add_tested(
            RunRecord("counter", (1, 1), "cut", 5, 5),
            VerdictRecord("counter", (1, 1), "BUG", "unclassified", 2, None, 3, 0, "x", ("op0",)),
        )
        (state,) = store.tested()
        assert (state.walk, state.policy_cost, state.outcome) == (None, None, "cut")


def test_last_unit(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", {}) as store:
        store.add_task(counter_task())
        assert store.last_unit("counter") == LastUnit(0, None, 0, None, False, False)
        fill(store, 5, 2)
        assert store.last_unit("counter") == LastUnit(5, 40, 2, 2, False, False)
        store.add_event(Event(1.5, POOL_FINISHED, "time limit", {"seconds": 3.5}, "counter"))
        assert store.last_unit("counter") == LastUnit(5, 40, 2, 2, True, False)
        for index in (2, 3, 4):
            store.add_tested(run_record(index), verdict_record(index))
        store.add_event(Event(2.0, TASK_FINISHED, task="counter"))
        assert store.last_unit("counter") == LastUnit(5, 40, 5, None, True, True)
        assert store.events() == [
            Event(1.5, POOL_FINISHED, "time limit", {"seconds": 3.5}, "counter"),
            Event(2.0, TASK_FINISHED, "", {}, "counter"),
        ]


def test_better_verdicts_come_with_the_state_that_brought_them(tmp_path: Path) -> None:
    better = VerdictRecord("counter", (0, 1), "BUG", "costly", 1, 2, 3, 2, "pool", ("op1",))
    with create_store(tmp_path / "c", {}) as store:
        fill(store, 4, 2)
        with pytest.raises(UsageError, match="no verdict to replace"):
            store.add_tested(run_record(2), verdict_record(2), [better, verdict_record(3)])
        assert store.verdicts("counter") == [verdict_record(0), verdict_record(1)]
        store.add_tested(run_record(2), verdict_record(2), [better])
        assert store.verdicts("counter") == [verdict_record(0), better, verdict_record(2)]


def interrupted_unit(store: CampaignStore) -> None:
    with store.unit():
        store.add_pool(pool_record(3))
        store.add_event(Event(0, "x"))
        raise KeyboardInterrupt


def test_units_are_whole(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", {}) as store:
        fill(store, 3, 0)
        with pytest.raises(UsageError, match=r"pool state 5 .* out of order; expected number 4"):
            store.add_pool(pool_record(3), pool_record(5))
        with pytest.raises(UsageError, match="UNIQUE"):
            store.add_pool(PoolRecord("counter", 3, (0, 1), 0))
        with pytest.raises(KeyboardInterrupt):
            interrupted_unit(store)
        assert (store.last_unit("counter").pool, store.events()) == (3, [])
        with pytest.raises(UsageError, match="state 0 9 is not in the pool"):
            store.add_tested(run_record(9), verdict_record(9))
        with pytest.raises(UsageError, match="different states"):
            store.add_tested(run_record(0), verdict_record(1))
        store.add_tested(run_record(0), verdict_record(0))
        with pytest.raises(UsageError, match="cannot store a run"):
            store.add_tested(run_record(0), verdict_record(0))


def test_resuming_with_something_else_is_refused(campaign: Path) -> None:
    with open_store(campaign) as store:
        store.add_task(counter_task())
        store.set_policy("heuristic:ff", "abc")
        with pytest.raises(InputFormatError, match="task counter is not the one"):
            store.add_task(counter_task(size=6000))
        with pytest.raises(InputFormatError, match="policy heuristic:ff is not the one"):
            store.set_policy("heuristic:ff", "other weights")


def test_text_that_no_database_takes(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", {}) as store:
        fill(store, 1, 0)
        run = RunRecord("counter", (0, 0), "error", 0, 0, ("\udc80",), "half \udc80 \0 done")
        store.add_tested(run, verdict_record(0))
        (run,) = store.runs("counter")
        assert (run.operators, run.message) == (("\udc80",), "half ? \0 done")


def test_closed_readonly_and_forked_stores_say_so(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store, pytest.raises(UsageError, match="reading"):
        store.add_event(Event(0, "x"))
    store.close()
    with pytest.raises(UsageError, match="closed"):
        store.task_names()
    with open_store(campaign) as store:
        store._pid = os.getpid() + 1
        with pytest.raises(UsageError, match="forked"):
            store.task_names()
        store._pid = os.getpid()


def test_it_is_wal_and_readers_see_what_is_committed(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", {}) as store:
        fill(store, 2, 1)
        with open_store(tmp_path / "c", readonly=True) as reader:
            assert reader.last_unit("counter").pool == 2
            with store.unit():
                store.add_pool(pool_record(2))
                assert reader.last_unit("counter").pool == 2
            assert reader.last_unit("counter").pool == 3
    connection = sqlite3.connect(tmp_path / "c" / "run.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize(
    "build",
    [
        lambda: PoolRecord("t", 1, (0,), 1),
        lambda: PoolRecord("t", -1, (0,)),
        lambda: PoolRecord("t", 0, ()),
        lambda: PoolRecord("t", 0, (-1,)),
        lambda: RunRecord("t", (0,), "lost", 0, 0),
        lambda: RunRecord("t", (0,), "goal", 0, 2**63),
        lambda: VerdictRecord("t", (0,), "BUG"),
        lambda: VerdictRecord("t", (0,), "OPTIMAL", "fails"),
        lambda: VerdictRecord("t", (0,), "BUG", "odd"),
        lambda: VerdictRecord("t", (0,), "MAYBE"),
        lambda: VerdictRecord("t", (0,), "UNKNOWN", gap_low=3, gap_high=2),
        lambda: VerdictRecord("t", (0,), "UNKNOWN", upper_bound=3, lower_bound=None),
    ],
)
def test_records_that_make_no_sense(build: object) -> None:
    with pytest.raises(UsageError):
        build()  # type: ignore[operator]
