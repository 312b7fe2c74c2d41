"""Forged certificates of set-valued policies are found, whatever is forged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from misstep.campaigns.testing import test as run_campaign
from misstep.checking import CheckError
from misstep.checking.campaign import check_database
from misstep.checking.gaps import Claim
from misstep.checking.permitted import PermittedSets
from misstep.checking.sas import parse_sas
from support.permitted import Rule, SetPolicy, careless, improving, mostly, true_distance
from support.tasks import generated_task, random_costs, sas

# A line of five cells with the goal at 4: steps of cost 1, jumps of two cells for 5, a way back, a dead end at 5.
LINE = sas(
    [6],
    [0],
    [(0, 4)],
    [
        *(f"0\n1\n0 0 {x} {x + 1}\n1" for x in range(4)),
        *(f"0\n1\n0 0 {x} {x + 2}\n5" for x in range(3)),
        "0\n1\n0 0 1 0\n1",
        "0\n1\n0 0 2 5\n1",
    ],
)
STEP, JUMP, BACK, TRAP = (0, 1, 2, 3), (4, 5, 6), 7, 8
FAR = float("inf")


def sets(**rows: list[int]) -> PermittedSets:
    """What is permitted in cells: `c0=[0, 4]`."""
    found = PermittedSets(parse_sas(LINE, "line"))
    for cell, operators in rows.items():
        found.add((int(cell[1:]),), operators)
    return found


STEPS: dict[str, list[int]] = {f"c{x}": [x] for x in range(4)}


def test_the_costs_of_permitted_runs_by_hand() -> None:
    assert sets(**STEPS).claim_problem((0,), Claim(True, 4, 4, False)) is None
    both: dict[str, list[int]] = {**STEPS, "c0": [0, 4]}
    assert sets(**both).claim_problem((0,), Claim(True, 4, 7, False)) is None
    for least, most in ((3, 7), (5, 7), (4, 6), (4, 8)):
        assert sets(**both).claim_problem((0,), Claim(True, least, most, False)) is not None


def test_failing_runs_are_noticed() -> None:
    for cell, operators in (("c1", [1, BACK]), ("c2", [2, TRAP]), ("c3", [0, 3]), ("c2", [])):
        rows: dict[str, list[int]] = {**STEPS, cell: operators, "c5": []}
        assert sets(**rows).claim_problem((0,), Claim(True, 4, 4, False)) is not None


def test_what_is_missing_is_not_assumed() -> None:
    rows = {**STEPS}
    del rows["c3"]
    assert "not recorded" in str(sets(**rows).claim_problem((0,), Claim(True, 4, 4, False)))
    assert "not recorded" in str(sets(**rows).no_goal_problem((0,)))
    # A bound that does not need to know more, and one that does.
    assert sets(**rows).claim_problem((0,), Claim(False, 3, FAR, False)) is None
    assert sets(**rows).claim_problem((0,), Claim(False, 4, FAR, False)) is not None


def test_no_run_reaches_the_goal() -> None:
    assert sets(c0=[0], c1=[BACK]).no_goal_problem((0,)) is None
    assert sets(c0=[0], c1=[3]).no_goal_problem((0,)) is None  # names what does not apply
    assert sets(**STEPS).no_goal_problem((0,)) == "a permitted run reaches the goal"


def test_runs_are_permitted() -> None:
    own = sets(**STEPS, c5=[])
    states = [(0,), (1,), (2,)]
    assert own.run_problem(states, [0, 1], "cut", None) is None
    assert "not permitted" in str(own.run_problem([(0,), (2,)], [4], "cut", None))
    assert "not recorded" in str(sets(c0=[0]).run_problem(states, [0, 1], "cut", None))
    assert "gets stuck where" in str(own.run_problem(states, [0, 1], "stuck", None))
    assert own.run_problem([(5,)], [], "stuck", None) is None
    assert "is not permitted" in str(own.run_problem(states, [0, 1], "inapplicable", 3))


@pytest.mark.parametrize("wrong", [[9], [-1], [1, 0], [0, 0]])
def test_wrong_rows_are_refused(wrong: list[int]) -> None:
    with pytest.raises(CheckError):
        sets(c0=wrong)
    with pytest.raises(CheckError):
        sets(c4=[])
    with pytest.raises(CheckError, match="two sets"):
        sets(c0=[0]).add((0,), [0, 4])


# -- whole campaigns ------------------------------------------------------------------------------


@cache
def campaign(costly_some: bool) -> sqlite3.Connection:
    task = random_costs(generated_task("gripper", balls=3), 7, (0, 1, 2, 5))
    rule: Rule = (
        mostly(improving(true_distance), 3, 3)
        if costly_some
        else careless(mostly(improving(true_distance), 4, 1), 1, 4)
    )
    options: dict[str, Any] = {"oracle": "exact", "fuzz": "none", "pool": 60, "fault_budget": None}
    copy = sqlite3.connect(":memory:", isolation_level=None)
    with run_campaign(task, SetPolicy(task, rule), costly_some=costly_some, **options) as found:
        found._content.store.connection.backup(copy)
    return copy


def copied(costly_some: bool) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    campaign(costly_some).backup(copy)
    return copy


def kinds(costly_some: bool) -> set[str | None]:
    rows = campaign(costly_some).execute("SELECT DISTINCT kind FROM verdicts").fetchall()
    return {kind for (kind,) in rows}


def test_true_campaigns_pass() -> None:
    assert kinds(False) >= {"fails-some", "costly-best", None}
    assert kinds(True) >= {"costly-some", "costly-best"}
    for costly_some in (False, True):
        report = check_database(campaign(costly_some))
        assert report.valid, str(report)
        assert report.checked["permitted graphs"] > 0


def problems(connection: sqlite3.Connection) -> list[str]:
    try:
        return [str(finding.problem) for finding in check_database(connection).problems]
    except CheckError as error:
        return [str(error)]


OF_PROOF = (
    "number IN (SELECT number FROM verdicts WHERE kind LIKE 'costly%' OR verdict = 'OPTIMAL')"
)
Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize("costly_some", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda own: own | {"least": own["least"] + 1},
        lambda own: own | {"least": max(0, own["least"] - 1), "most": own["most"] + 1},
        lambda own: own | {"most": None},
        lambda own: own | {"closed": False},
        lambda own: own | {"closed": 1},
        lambda own: own | {"least": -1},
        lambda _: None,
        lambda _: [],
    ],
)
def test_forged_claims_are_found(costly_some: bool, change: Change) -> None:
    copy = copied(costly_some)
    query = f"SELECT number, permitted FROM runs WHERE {OF_PROOF} AND permitted LIKE '%most\":_%'"
    for number, text in copy.execute(query).fetchall():
        own = json.loads(text)
        if own["most"] is not None and own["least"] > 0:
            forged = change(own)
            value = None if forged is None else json.dumps(forged)
            copy.execute("UPDATE runs SET permitted = ? WHERE number = ?", (value, number))
            break
    else:
        pytest.fail("no such run")
    assert problems(copy)


@pytest.mark.parametrize("costly_some", [False, True])
@pytest.mark.parametrize(
    "kind", ["fails-all", "fails-some", "costly-best", "costly-some", "costly"]
)
def test_forged_kinds_are_found(costly_some: bool, kind: str) -> None:
    query = "SELECT number FROM verdicts WHERE verdict = 'BUG' AND kind != ?"
    rows = campaign(costly_some).execute(query, (kind,)).fetchall()
    assert rows
    for (number,) in rows[:10]:
        copy = copied(costly_some)
        copy.execute("UPDATE verdicts SET kind = ? WHERE number = ?", (kind, number))
        assert any("the kind is" in text for text in problems(copy))


def test_a_missing_set_is_noticed() -> None:
    """Every stored set is needed by a proof."""
    count = campaign(False).execute("SELECT count(*) FROM permitted").fetchone()[0]
    for place in range(0, count, max(1, count // 25)):
        copy = copied(False)
        rows = "SELECT rowid FROM permitted ORDER BY rowid LIMIT 1 OFFSET ?"
        copy.execute(f"DELETE FROM permitted WHERE rowid = ({rows})", (place,))
        assert problems(copy)


def test_a_smaller_set_does_not_hide_a_failure() -> None:
    """A set without the operator that the recorded run takes."""
    copy = copied(False)
    query = """
        SELECT s.state, r.operators FROM runs r JOIN states s ON s.number = r.number
        WHERE json_array_length(r.operators) > 0
    """
    state, operators = copy.execute(query).fetchone()
    first = json.loads(operators)[0]
    (known,) = copy.execute("SELECT operators FROM permitted WHERE state = ?", (state,)).fetchone()
    rest = [op for op in json.loads(known) if op != first]
    copy.execute("UPDATE permitted SET operators = ? WHERE state = ?", (json.dumps(rest), state))
    assert any("not permitted" in text for text in problems(copy))


@pytest.mark.parametrize("text", ["[0, 0]", "[-1]", "[99999]", "{}", "x", None, '["0"]', "[1.5]"])
def test_damaged_sets_are_refused(text: str | None) -> None:
    copy = copied(False)
    copy.execute("PRAGMA ignore_check_constraints = 1")
    try:
        copy.execute("UPDATE permitted SET operators = ? WHERE rowid = 1", (text,))
    except sqlite3.IntegrityError:
        return
    assert problems(copy)


@pytest.mark.parametrize("nature", [None, '{"kind": "function"}', '{"kind": "odd"}', "[]"])
def test_a_forged_nature_of_the_policy_is_found(nature: str | None) -> None:
    copy = copied(False)
    copy.execute("DELETE FROM meta WHERE key = 'nature'")
    if nature is not None:
        copy.execute("INSERT INTO meta VALUES ('nature', ?)", (nature,))
    assert problems(copy)
