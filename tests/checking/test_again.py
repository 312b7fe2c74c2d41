"""What the checker computes again (cheapest plans and safe states), and what it leaves to the engine."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import zlib
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from misstep.campaigns import again
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.seal import seal_from_scratch
from misstep.campaigns.states import state_of
from misstep.campaigns.testing import test as run_campaign
from misstep.checking import distances, planning_records
from misstep.checking.campaign import check_database
from misstep.checking.distances import Distances
from misstep.checking.jani import SafetyTask
from misstep.checking.safe_states import SafeStates
from misstep.checking.sas import parse_sas
from misstep.planning import make_heuristic
from support.campaigns import ModelTruth, small_model
from support.forging import raised_to_optimal
from support.tasks import generated_task
from support.worlds import world


def test_the_checker_computes_the_cheapest_plans_of_all_states() -> None:
    here = world("transport-2", (1, 2, 5))
    sas = parse_sas(here.task.sas.decode())
    found = Distances(sas, [sas.initial_state])
    assert found.known
    states = list(found._all)
    assert len(states) > 50
    for state in states:
        assert found.of(state) == here.h_star(state_of(here.task, state))
        assert found.steps(state) == here.length(state_of(here.task, state))
    assert not Distances(sas, [sas.initial_state], limit=100).known


@pytest.mark.parametrize("name", ["one-way-line", "two-way-line", "blocksworld-cost"])
def test_the_checker_computes_the_safe_states(name: str) -> None:
    task = small_model(name)
    truth = ModelTruth(task, "first")
    own = SafetyTask.from_source({"world": "model", "name": task.name, **task.source})
    found = SafeStates(own, limit=10**6)
    answers = {state: found.is_safe(own.read_state(list(state))) for state in truth.number}
    assert answers == {state: truth.safe(state, math.inf) for state in truth.number}
    assert len(set(answers.values())) == 2
    assert SafeStates(own, limit=1).is_safe(own.read_state(list(next(iter(truth.number))))) is None


def test_what_is_too_large_for_the_checker_is_left_to_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = generated_task("visitall", width=3, height=2)
    with run_campaign(task, "noisy:0.2:5+heuristic:ff", pool=25, oracle="exact") as found:
        report = found.replay(full=True).report
        assert report.confirmed["verdicts OPTIMAL"] > 3
        assert report.confirmed["lower bounds"] > report.confirmed["verdicts OPTIMAL"]
        assert report.confirmed_by_engine == {"translations": 1}
        assert "verdicts OPTIMAL" not in report.not_checked

        own = Distances
        monkeypatch.setattr(planning_records, "Distances", lambda sas, starts: own(sas, starts, 1))
        by_engine = found.replay(full=True).report
        assert by_engine.valid
        assert by_engine.confirmed_by_engine == {
            "translations": 1,
            "verdicts OPTIMAL": report.confirmed["verdicts OPTIMAL"],
            "lower bounds": report.confirmed["lower bounds"] - by_engine.left_open["lower bounds"],
        }
        # Of bugs that fail: nothing rests on the bounds, and no search is worth the time.
        fails = [own for own in found.records if own.kind == "fails"]
        assert by_engine.left_open == {
            "lower bounds": len(fails),
            "losses": report.confirmed["losses"],
        }
        monkeypatch.setattr(again, "EVALUATIONS", 1)
        monkeypatch.setattr(again, "make_heuristic", lambda _, own: make_heuristic("max", own))
        left = found.replay(full=True).report
        assert left.left_open["lower bounds"] > 0
        assert left.not_checked["lower bounds"] == left.left_open["lower bounds"]

        monkeypatch.undo()
        monkeypatch.setattr(distances, "LIMIT", 0)
        plain = check_database(found._content.store.connection)
        assert plain.not_checked["verdicts OPTIMAL"] == report.confirmed["verdicts OPTIMAL"]
        raised_to_optimal(found._content.store.connection)
        monkeypatch.setattr(planning_records, "Distances", lambda sas, starts: own(sas, starts, 1))
        problems = [str(problem) for _, problem in found.replay(full=True).report.problems]
        assert any("but a plan costs" in problem for problem in problems)


def test_a_sas_file_that_is_not_the_translation_is_told(tmp_path: Path) -> None:
    """The checker reads the SAS file only; another version of the translator may write another one."""
    folder = tmp_path / "found"
    task = generated_task("gripper", balls=2)
    run_campaign(task, "heuristic:ff", out=folder, pool=3).close()
    with closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
        (packed,) = connection.execute("SELECT source FROM tasks").fetchone()
        source = json.loads(zlib.decompress(packed))
        other = task.sas.replace(b"\nvar0\n", b"\nother\n")
        source["files"]["task.sas"] = base64.b64encode(other).decode()
        connection.execute(
            "UPDATE tasks SET source = ?, digest = ?",
            (zlib.compress(json.dumps(source).encode()), sha256(other).hexdigest()),
        )
        seal_from_scratch(connection)
    with open_campaign(folder) as campaign:
        report = campaign.replay(full=True).report
    assert report.valid
    assert report.not_checked["translations"] == report.left_open["translations"] == 1
    assert "do not translate to its SAS file" in report.remarks[0]
