"""Forged folders: honest campaigns of every kind, what a stranger changes in them, and what a replay is to say.

`plain` and `full` are said where the digest was computed again by the forger, by a replay and by a replay in full; None
stands for nothing: that lie cannot be seen in the files. `counted` is what the plain replay then says that it has not
checked.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.seal import seal_from_scratch
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.seal import CHANGED
from misstep.errors import MisstepError
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from support.campaigns import BATCHES, SHARING, small_model
from support.dominance import logistics
from support.forged_models import ON_MODELS
from support.forged_tasks import ON_TASKS
from support.forging import (
    Forgery,
    contradicted_once,
    fixed_bugs,
    less_risk,
    less_risk_of_runs,
    repeated,
    sql,
)
from support.permitted import DrawingPolicy, improving, mostly, true_distance
from support.tasks import generated_task
from support.unsteady import PLANNING


class Said(NamedTuple):
    problems: tuple[str, ...]
    not_checked: frozenset[str] = frozenset()

    @property
    def changed(self) -> bool:
        """Whether it is noticed that rows are not those that were written, at the latest by the digest."""
        return any(CHANGED in problem or problem.startswith("refused") for problem in self.problems)


WORLDS = ("task", "model", "set", "flaky", "retest", "risk")


def made(place: Path) -> dict[str, Path]:
    """Honest campaigns."""
    tasks = [generated_task("visitall", width=3, height=2), logistics(2, 2)]
    with run_campaign(
        tasks,
        "noisy:0.2:5+heuristic:ff",
        out=place / "task",
        pool=25,
        oracle="bmo(0)",
        config=SHARING,
    ) as own:
        own.judge("exact")
    run_campaign(
        small_model("one-way-line"), "random:1", out=place / "model", runs=30, config=BATCHES
    ).close()
    task = generated_task("gripper", balls=3)
    drawing = DrawingPolicy(task, mostly(improving(true_distance), 4, 1))
    run_campaign(task, drawing, out=place / "set", pool=14, oracle="exact", risk=True).close()
    (place / "planning.py").write_text(PLANNING)
    counter = f"python:{place / 'planning.py'}:Counter"
    run_campaign(task, counter, out=place / "flaky", pool=14, oracle="exact").close()
    icy = load_task(generate("one-way-line", cells=5, packages=2, vmax=3, drop=True, ice="2"))
    run_campaign(icy, "random:1", out=place / "risk", runs=10, risk=True, config=BATCHES).close()
    with open_campaign(place / "model") as old:
        old.retest("random:2", out=place / "retest").campaign.close()
    return {world: place / world for world in WORLDS}


def forged(own: Forgery, honest: dict[str, Path], place: Path) -> Path:
    folder = Path(shutil.copytree(honest[own.world], place / "forged"))
    own.forge(folder)
    return folder


def sealed_again(folder: Path) -> None:
    """As somebody does who has read the source."""
    with closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
        seal_from_scratch(connection)


def said_of(folder: Path, *, full: bool) -> Said:
    try:
        with open_campaign(folder) as campaign:
            report = campaign.replay(full=full).report
        problems = tuple(str(problem) for _, problem in report.problems)
        return Said(problems, frozenset(report.not_checked))
    except MisstepError as error:
        return Said((f"refused: {error}",))


FORGERIES: tuple[Forgery, ...] = (
    *ON_TASKS,
    *ON_MODELS,
    Forgery(
        "permitted sets changed",
        "set",
        sql(
            "UPDATE permitted SET operators = json_remove(operators, '$[0]'), "
            "probabilities = json_remove(probabilities, '$[0]') WHERE json_array_length(operators) > 1"
        ),
        "permitted",
        "permitted",
    ),
    Forgery(
        "permitted sets removed",
        "set",
        sql("DELETE FROM permitted"),
        "not recorded",
        "not recorded",
    ),
    Forgery(
        "risk changed",
        "set",
        sql("UPDATE runs SET permitted = json_set(permitted, '$.risk', json('[0.123,0.124]'))"),
        None,
        "the goal is missed with probability",
        "risks",
    ),
    Forgery(
        "contradictions removed",
        "flaky",
        sql("DELETE FROM contradictions"),
        None,
        None,
        "flaky verdicts",
    ),
    Forgery(
        "contradictions listed twice",
        "flaky",
        sql(
            "INSERT INTO contradictions SELECT task, replace(state, ',', ', '), first, second, asked "
            "FROM contradictions"
        ),
        "two contradictions in one state",
        "two contradictions in one state",
    ),
    Forgery(
        "state listed twice, with a blank between its values",
        "flaky",
        repeated,
        "the same state as",
        "the same state as",
    ),
    Forgery(
        "bounds added to verdicts FLAKY",
        "flaky",
        sql("UPDATE verdicts SET lower = 2, upper = 3 WHERE verdict = 'FLAKY'"),
        "claims something all the same",
        "claims something all the same",
    ),
    Forgery(
        "second answer that is no operator",
        "flaky",
        sql("UPDATE contradictions SET second = 1000"),
        "which is none",
        "which is none",
    ),
    Forgery(
        "bugs said to be fixed",
        "retest",
        fixed_bugs,
        None,
        None,
        "runs of the policy",
    ),
    Forgery(
        "unsafe runs of a retest said to be safe",
        "retest",
        sql("UPDATE fuzzed SET ends = replace(ends, 'unsafe', 'safe')"),
        "the runs are said to have ended otherwise",
        "the runs are said to have ended otherwise",
    ),
    Forgery(
        "decisions changed where no run passes, and the risks with them",
        "risk",
        less_risk,
        None,
        None,
        "decisions",
    ),
    Forgery(
        "decisions listed twice, the other ones as none",
        "risk",
        sql("INSERT INTO decisions SELECT task, replace(state, ',', ', '), NULL FROM decisions"),
        "a state has two decisions",
        "a state has two decisions",
    ),
    Forgery(
        "all faults of a bug deleted",
        "retest",
        sql(
            "DELETE FROM faults WHERE run = (SELECT max(run) FROM faults f WHERE NOT EXISTS "
            "(SELECT 1 FROM states s JOIN runs r ON r.number = f.run, json_each(r.states) j "
            "WHERE s.state = j.value AND s.number != f.run))"
        ),
        None,
        None,
        "missing faults",
    ),
    Forgery(
        "decisions of runs changed, and the risks with them, and the policy said to contradict itself elsewhere",
        "risk",
        less_risk_of_runs,
        "the policy is said to do otherwise than in its run",
        "the policy is said to do otherwise than in its run",
    ),
    Forgery(
        "the policy said to contradict itself where a risk rests on its decision",
        "risk",
        contradicted_once,
        "the policy contradicts itself in a state that it can get to",
        "the policy contradicts itself in a state that it can get to",
    ),
    Forgery(
        "contradictions removed, and bugs made of it",
        "flaky",
        sql(
            "DELETE FROM contradictions",
            "UPDATE verdicts SET verdict = 'BUG', kind = 'fails', low = NULL",
        ),
        "oracle exact:",
        "oracle exact:",
    ),
)
