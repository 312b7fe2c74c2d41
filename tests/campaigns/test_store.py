"""The store returns rows as they were written, in order, and refuses wrong ones."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.rows import (
    KINDS,
    OUTCOMES,
    VERDICTS,
    Event,
    FaultRow,
    RunRow,
    StateRow,
    VerdictRow,
)
from misstep.campaigns.store import Store, begin_store, create_store, memory_store, open_store
from misstep.campaigns.strategies import add_strategies, packed_strategy
from misstep.campaigns.tables import Content, Findings, Snapshot
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.tasks.pddl.text import Source
from misstep.tasks.task import Task
from support.campaigns import (
    CONFIG,
    SIZE,
    add_tested,
    counter_task,
    fill,
    run_row,
    state_row,
    verdict_row,
    without_times,
)

COUNT = st.integers(0, 2**63 - 1)
IDS = st.lists(COUNT, max_size=4).map(tuple)
TIME = st.floats(0, allow_infinity=False)
NUMBER = st.booleans() | COUNT | st.floats(allow_nan=False, allow_infinity=False)
STATE = st.tuples(NUMBER, NUMBER)


@st.composite
def interval(draw: st.DrawFn) -> tuple[int | None, int | None]:
    low, high = draw(st.none() | COUNT), draw(st.none() | COUNT)
    if low is None or high is None:
        return (low, None)
    return min(low, high), max(low, high)


Rows = tuple[list[StateRow], list[RunRow], list[VerdictRow], list[FaultRow]]


@st.composite
def results(draw: st.DrawFn) -> Rows:
    found = draw(st.lists(STATE, min_size=1, max_size=6, unique_by=repr))
    states, runs, verdicts, faults = [], [], [], []
    for number, state in enumerate(found):
        reference = draw(st.integers(0, number - 1)) if number else None
        states.append(
            StateRow(number, state, reference, draw(IDS), draw(COUNT), number, 0, draw(TIME))
        )
        runs.append(
            RunRow(
                number,
                draw(st.sampled_from(OUTCOMES)),
                draw(st.none() | COUNT),
                draw(IDS),
                draw(st.none() | st.lists(STATE).map(tuple)),
                draw(st.none() | COUNT),
                draw(st.none() | st.text(st.characters(codec="utf-8"))),
                draw(TIME),
            )
        )
        for oracle in draw(st.lists(st.sampled_from(["undo", "exact"]), unique=True)):
            verdict = draw(st.sampled_from(VERDICTS))
            kind = draw(st.sampled_from(KINDS)) if verdict == "BUG" else None
            verdicts.append(
                VerdictRow(
                    *(number, oracle, draw(COUNT), verdict, kind),
                    *draw(interval()),
                    *draw(interval()),
                    draw(st.none() | st.just("aras/ehc")),
                    draw(st.none() | IDS),
                    draw(st.none() | st.just(({"operator": 1, "name": "ü"},))),
                    draw(st.none() | st.just(0)),
                    draw(st.none() | COUNT),
                    draw(COUNT),
                    draw(COUNT),
                    draw(TIME),
                    draw(TIME),
                )
            )
        faults.append(
            FaultRow(
                *(number, draw(COUNT), state, draw(st.none() | COUNT), draw(st.none() | COUNT)),
                *draw(interval()),
                draw(st.none() | st.floats(0, 1)),
                draw(st.booleans()),
                draw(st.none() | STATE),
            )
        )
    return states, runs, verdicts, faults


def same(one: object, other: object) -> bool:
    return repr(one) == repr(other)  # unlike ==, tells true from 1 and 0 from -0.0


@settings(max_examples=25, deadline=None)
@given(results())
def test_rows_are_read_as_they_were_written(rows: Rows) -> None:
    states, runs, verdicts, faults = rows
    with TemporaryDirectory() as folder:
        for store in (memory_store({}), create_store(folder, {})):
            content = Content(store)
            content.add_task(counter_task())
            findings = content.findings("counter")
            findings.add_states(states)
            findings.add_runs(runs)
            assert add_strategies(findings, [(1, b"packed")]) == [0]
            findings.add_verdicts(verdicts)
            findings.add_faults(faults)
            assert same(findings.states(), states)
            store.close()
        with open_store(folder, readonly=True) as store:
            findings = Content(store).findings("counter")
            assert packed_strategy(findings, 0) == (1, b"packed")
            assert same(findings.states(), states)
            assert same(findings.runs(), runs)
            assert same(findings.verdicts(), verdicts)
            assert same(findings.faults(), faults)


def test_records(campaign: Path) -> None:
    with open_campaign(campaign) as found:
        records = found.records
        assert found.remarks == ()
        assert found.settings.seed == 7
        assert found.policy == ("heuristic:ff", "abc")
        assert [record.number for record in records] == list(range(SIZE - 10))
        own = without_times(records[2].as_dict())
        opinion = own.pop("verdicts")
        assert own == {
            "id": "counter:2",
            "world": "planning",
            "task": "counter",
            "number": 2,
            "state": [0, 2],
            "facts": ["v0(0)", "v1(2)"],
            "found": {
                "walk": {"operators": [0, 1], "names": ["op0", "op1"]},
                "reference": 0,
                "iteration": 20,
                "run": None,
                "step": None,
            },
            "run": {
                "outcome": "goal",
                "operators": [0, 1],
                "names": ["op0", "op1"],
                "cost": 5,
                "states": None,
                "message": None,
                "permitted": None,
                "risk": None,
                "least_risk": None,
                "avoidable": None,
            },
            "verdict": "UNKNOWN",
            "kind": None,
            "gap": [0, None],
            "radius": None,
            "bounds": [0, None],
            "witness": dict.fromkeys(
                ("operators", "names", "cost", "steps", "bound", "strategy", "size")
            )
            | {"type": "none"},
            "oracle": "undo",
            "source": None,
            "faults": None,
            "contradictions": [],
            "effort": {"expansions": 7, "evaluations": 0},
            "fuzzing_bug": False,
            "chooser": None,
            "family": None,
        }
        assert len(opinion) == 1
        assert (records[2].times.pool, records[2].times.run, records[2].times.judge) == (
            *(0.5, 0.125, 0.5),
        )
        assert (records[3].run.cost, records[3].gap, records[3].kind) == (6, (None, None), "fails")
        assert (records[3].witness.type, records[3].witness.cost) == ("plan", 2)
        assert records[SIZE - 11].witness.type == "derivation"
        assert records[SIZE - 11].witness.bound == 2
        # 7 -> 3 -> 1 -> 0: the walk is told from the initial state.
        walk = records[7].found.walk
        assert walk is not None
        assert walk.names == ("op0", "op1") * 3
        first = records[0].found.walk
        assert first is not None
        assert first.operators == ()


def test_tasks_come_in_their_order_and_whole(tmp_path: Path) -> None:
    pddl = (Source("d.pddl", b"(define \xe9)"), Source("p.pddl", b"(define)"))
    with create_store(tmp_path / "c", CONFIG) as store:
        content = Content(store)
        for name in ("b", "a"):
            content.add_task(Task(counter_task().sas, name=name, pddl=pddl))
            findings = content.findings(name)
            findings.add_states([state_row(0)])
            add_tested(findings, 0)
    with open_campaign(tmp_path / "c") as found:
        assert [record.task for record in found.records] == ["b", "a"]
        task = found.tasks[1]
        assert isinstance(task, Task)
        assert (task.name, task.pddl, task.digest) == ("a", pddl, counter_task().digest)
        with pytest.raises(UsageError, match="no task z; expected one of b, a"):
            found._content.findings("z")


def test_a_state_from_elsewhere_has_no_walk(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        findings = fill(store, 1, 0)
        findings.add_states([StateRow(1, (1, 1), None, run=1)])
        findings.add_runs([RunRow(1, "cut", 5, (0,))])
        findings.add_verdicts(
            [VerdictRow(1, "undo", 0, "BUG", "unclassified", 2, None, 0, 3, "x", (0,))]
        )
    with open_campaign(tmp_path / "c") as found:
        (record,) = found.records
        assert (record.found.walk, record.run.outcome) == (None, "cut")


def test_a_verdict_of_an_oracle_takes_the_place_of_its_last(tmp_path: Path) -> None:
    better = VerdictRow(1, "undo", 3, "BUG", "costly", 1, 2, 2, 3, "pool", (1,))
    other = verdict_row(1)._replace(oracle="exact")
    with create_store(tmp_path / "c", CONFIG) as store:
        findings = fill(store, 4, 2)
        findings.add_verdicts([better, other])
        assert findings.verdicts() == [verdict_row(0), better, other]
        assert findings.verdicts("exact") == [other]
        assert findings.oracles() == ["undo", "exact"]
        with pytest.raises(UsageError, match="cannot store into verdicts"):
            findings.add_verdicts([verdict_row(9)])  # of no state
        # A run is the same whoever makes it again.
        findings.add_runs([run_row(1)._replace(outcome="stuck")])
        assert findings.runs()[1] == run_row(1)


def test_later_units_read_what_earlier_units_hand_on(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        findings = fill(store, 2, 0)
        assert findings.dominance() is None
        findings.set_dominance(b"tables")
        assert findings.dominance() == b"tables"
        for round_, part in ((0, 0), (0, 1), (0, -1), (1, 0), (1, -1)):
            findings.set_knowledge("undo", round_, part, Snapshot(part + 1, b"%d" % round_))
        findings.set_knowledge("exact", 0, 0, Snapshot(0, b"x"))
        assert findings.knowledge("undo", 0) == {
            -1: Snapshot(0, b"0"),
            0: Snapshot(1, b"0"),
            1: Snapshot(2, b"0"),
        }
        findings.forget_knowledge("undo", parts=1)
        assert set(findings.knowledge("undo", 1)) == {-1}
        findings.forget_knowledge("undo", before=1)
        assert findings.knowledge("undo", 0) == {}
        assert findings.knowledge("exact", 0) == {0: Snapshot(0, b"x")}
        findings.mark_done("judge undo", "0", 1.5, 3)
        findings.mark_done("pool", "0", 0.5, 3)
        assert (findings.done("judge undo"), findings.clock()) == ({"0"}, 2.0)
        assert findings.seconds("pool") == 0.5
        with pytest.raises(UsageError, match="cannot store into units"):
            findings.mark_done("judge undo", "0", 1.5, 3)
        findings.forget_stage("judge undo")
        assert findings.done("judge undo") == set()
        findings.add_fuzzed(0, 10, {"unsafe": 3})
        assert list(findings.fuzzed()) == [(0, 10, {"unsafe": 3})]


def interrupted_unit(findings: Findings) -> None:
    with findings.store.unit():
        findings.add_states([state_row(3)])
        Content(findings.store).add_event("x", "text")
        raise KeyboardInterrupt


def test_units_are_whole(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        content, findings = Content(store), fill(store, 3, 0)
        with pytest.raises(UsageError, match=r"state 5 .* out of order; expected number 4"):
            findings.add_states([state_row(3), state_row(5)])
        with pytest.raises(UsageError, match="UNIQUE"):
            findings.add_states([StateRow(3, (0, 1), 0)])
        with pytest.raises(KeyboardInterrupt):
            interrupted_unit(findings)
        assert (findings.state_count(), content.events()) == (3, [])
        with store.unit(), store.unit():  # a unit inside a unit belongs to it
            findings.add_states([state_row(3)])
        assert findings.state_count() == 4


def test_resuming_with_something_else_is_refused(campaign: Path) -> None:
    with open_store(campaign) as store:
        content = Content(store)
        content.add_task(counter_task())
        content.set_policy("heuristic:ff", "abc")
        with pytest.raises(InputFormatError, match="task counter is not the one"):
            content.add_task(counter_task(size=6000))
        with pytest.raises(InputFormatError, match="policy heuristic:ff has changed"):
            content.set_policy("heuristic:ff", "other weights")
        with pytest.raises(InputFormatError, match="policy first is not the one"):
            content.set_policy("first", "abc")
    with pytest.raises(UsageError, match="its seed is 7, not 8"):
        begin_store(campaign, {**CONFIG, "seed": 8}, resume=True)
    with pytest.raises(InputFileError, match="a campaign in this folder already"):
        begin_store(campaign, CONFIG)
    begin_store(campaign, CONFIG, resume=True).close()


def test_a_campaign_that_knew_nothing_was_never_begun(tmp_path: Path) -> None:
    create_store(tmp_path / "c", CONFIG).close()
    with begin_store(tmp_path / "c", {**CONFIG, "seed": 8}) as store:
        assert store.config["seed"] == 8


def test_text_that_no_database_takes(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        findings = fill(store, 1, 0)
        findings.add_runs([RunRow(0, "error", 0, (), message="half \udc80 \0 done")])
        findings.add_verdicts([verdict_row(0)._replace(source="half \udc80")])
        Content(store).add_event("remark", "half \udc80", "counter")
        assert findings.runs()[0].message == "half ? \0 done"
        assert findings.verdicts()[0].source == "half ?"
        (event,) = Content(store).events()
        assert event == Event(event.time, "remark", "counter", "half ?")


def test_closed_readonly_and_forked_stores_say_so(campaign: Path) -> None:
    with open_store(campaign, readonly=True) as store, pytest.raises(UsageError, match="reading"):
        Content(store).add_event("remark", "x")
    store.close()
    with pytest.raises(UsageError, match="closed"):
        Content(store).task_names()
    with open_store(campaign) as store:
        child = os.fork()
        if child == 0:  # carried into another process, which must not touch it
            try:
                Content(store).task_names()
            except UsageError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert Content(store).task_names() == ["counter"]
    with open_store(campaign) as store:  # a child that closes it changes nothing
        child = os.fork()
        if child == 0:
            store.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert store.meta("writing") == "1"
        with pytest.raises(InputFileError, match="has it open already"):
            open_store(campaign)


def test_it_is_wal_and_readers_see_what_is_committed(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        findings = fill(store, 2, 1)
        with open_store(tmp_path / "c", readonly=True) as reader:
            read = Content(reader).findings("counter")
            assert read.state_count() == 2
            with store.unit():
                findings.add_states([state_row(2)])
                assert read.state_count() == 2
            assert read.state_count() == 3
            with reader.snapshot():
                assert read.state_count() == 3
                findings.add_states([state_row(3)])
                assert read.state_count() == 3
            assert read.state_count() == 4
    connection = sqlite3.connect(tmp_path / "c" / "run.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_store_in_memory_can_be_saved(tmp_path: Path) -> None:
    store: Store = memory_store(CONFIG)
    fill(store)
    store.save(tmp_path / "c")
    with open_store(tmp_path / "c") as saved:
        assert saved.config == CONFIG
        assert Content(saved).findings("counter").states() == [state_row(i) for i in range(SIZE)]
        assert saved.remarks == ()
        with pytest.raises(InputFileError, match="a campaign in this folder already"):
            store.save(tmp_path / "c")


@pytest.mark.parametrize(
    "build",
    [
        lambda: StateRow(1, (0,), 1),
        lambda: StateRow(1, (0,), 2),
        lambda: StateRow(-1, (0,)),
        lambda: StateRow(0, (0,), seconds=-1),
        lambda: StateRow(0, (0,), seconds=float("nan")),
        lambda: RunRow(0, "lost", 0, ()),
        lambda: RunRow(0, "goal", 2**63, ()),
        lambda: RunRow(0, "goal", 0, (), named=-1),
        lambda: VerdictRow(0, "x", 0, "BUG"),
        lambda: VerdictRow(0, "x", 0, "OPTIMAL", "fails"),
        lambda: VerdictRow(0, "x", 0, "BUG", "odd"),
        lambda: VerdictRow(0, "x", 0, "MAYBE"),
        lambda: VerdictRow(0, "x", 0, "UNKNOWN", low=3, high=2),
        lambda: VerdictRow(0, "x", 0, "UNKNOWN", lower=None, upper=3),
        lambda: FaultRow(0, 0, (0,), 1, 2, 3, 2),
        lambda: FaultRow(0, -1, (0,), 1, 2, 0, 0),
    ],
)
def test_wrong_rows_are_refused(
    build: Callable[[], StateRow | RunRow | VerdictRow | FaultRow],
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        build().encoded()
