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
from support.forging import (
    Forge,
    changed_strategies,
    changed_table,
    column,
    contradicted_elsewhere,
    contradicted_once,
    fixed_bugs,
    less_risk,
    less_risk_of_runs,
    listed,
    lost_bugs,
    misled_strategies,
    missing_strategies,
    other_better,
    other_better_label,
    raised_lower,
    raised_to_optimal,
    removed_task,
    repeated,
    shortened,
    sql,
    swapped_states,
    truncated_unsafe_run,
    unnoticed,
)
from support.permitted import DrawingPolicy, improving, mostly, true_distance
from support.tasks import generated_task
from support.unsteady import PLANNING


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
    Forgery(
        "verdict flipped: BUG to UNKNOWN",
        "task",
        sql("UPDATE verdicts SET verdict = 'UNKNOWN', kind = NULL WHERE verdict = 'BUG'"),
        "the verdict is BUG, not UNKNOWN",
        "the verdict is BUG, not UNKNOWN",
    ),
    Forgery(
        "verdict flipped: OPTIMAL to BUG",
        "task",
        sql("UPDATE verdicts SET verdict = 'BUG', kind = 'costly' WHERE verdict = 'OPTIMAL'"),
        "the verdict is OPTIMAL, not BUG",
        "the verdict is OPTIMAL, not BUG",
    ),
    Forgery(
        "kind changed",
        "task",
        sql("UPDATE verdicts SET kind = 'fails' WHERE kind = 'costly'"),
        "the kind is costly, not fails",
        "the kind is costly, not fails",
    ),
    Forgery(
        "gap changed",
        "task",
        sql("UPDATE verdicts SET low = low + 1, high = high + 1 WHERE kind = 'costly'"),
        "the gap is",
        "the gap is",
    ),
    Forgery(
        "plan removed",
        "task",
        sql("UPDATE verdicts SET plan = NULL, derivation = NULL WHERE verdict = 'BUG'"),
        "a bug without a plan or a derivation",
        "a bug without a plan or a derivation",
    ),
    Forgery(
        "plan changed",
        "task",
        column("verdicts", "plan", listed(lambda x: x[1:]), "plan NOT NULL"),
        "the plan:",
        "the plan:",
    ),
    Forgery(
        "run shortened where another run goes on, and a bug made of it",
        "task",
        lambda connection: shortened(connection, elsewhere=True),
        "the policy answers otherwise",
        "the policy answers otherwise",
    ),
    Forgery(
        "run shortened where no other run passes, and a bug made of it",
        "task",
        lambda connection: shortened(connection, elsewhere=False),
        None,
        None,
        "runs of the policy",
    ),
    Forgery(
        "the same, and the policy removed",
        "task",
        unnoticed("DELETE FROM policy"),
        "the policy answers otherwise",
        "the policy answers otherwise",
    ),
    Forgery(
        "the same, and the policy said to answer with plans",
        "task",
        unnoticed("""INSERT OR REPLACE INTO meta VALUES ('nature', '{"kind": "plan"}')"""),
        "is said to answer with plans",
        "is said to answer with plans",
    ),
    Forgery(
        "the same, and the policy said to avoid where it was",
        "task",
        unnoticed("""INSERT OR REPLACE INTO meta VALUES ('nature', '{"kind": "avoid"}')"""),
        "which is not the setting",
        "which is not the setting",
    ),
    Forgery(
        "the same, and the policy written with an escape",
        "task",
        unnoticed(
            """INSERT OR REPLACE INTO meta VALUES ('nature', '{"kind": "plan"}')""",
            """UPDATE meta SET value = replace(value, '"noisy:', '"nois\\u0079:') WHERE key = 'config'""",
        ),
        "is said to answer with plans",
        "is said to answer with plans",
    ),
    Forgery(
        "the same, and another policy in the settings",
        "task",
        unnoticed(
            """INSERT OR REPLACE INTO meta VALUES ('nature', '{"kind": "plan"}')""",
            """UPDATE meta SET value = replace(value, '"noisy:', '"python:') WHERE key = 'config'""",
        ),
        "of another policy than the settings name",
        "of another policy than the settings name",
    ),
    Forgery(
        "the same, and FLAKY by another oracle",
        "task",
        unnoticed(
            "INSERT INTO verdicts SELECT task, number, 'other', round, 'FLAKY', NULL, 0, NULL, 0, NULL, NULL, NULL, "
            "NULL, NULL, NULL, 0, 0, 0, 0 FROM verdicts WHERE oracle = 'exact'"
        ),
        "and that of another oracle FLAKY",
        "and that of another oracle FLAKY",
    ),
    Forgery(
        "outcome of a run changed",
        "task",
        sql("UPDATE runs SET outcome = 'goal' WHERE outcome = 'loop'"),
        "the run:",
        "the run:",
    ),
    Forgery(
        "operator of a run changed",
        "task",
        column("runs", "operators", listed(lambda x: [x[0], *x])),
        "the run:",
        "the run:",
    ),
    Forgery("states swapped", "task", swapped_states, "the walk:", "the walk:"),
    Forgery(
        "fault moved to another step",
        "task",
        column(
            "faults",
            "step",
            lambda x: x + 1,
            "step = 0 AND NOT EXISTS (SELECT 1 FROM faults f "
            "WHERE f.task = faults.task AND f.run = faults.run AND f.step = 1)",
        ),
        "the fault at step 1",
        "the fault at step 1",
    ),
    Forgery(
        "fault on another state",
        "task",
        column("faults", "state", listed(lambda x: [*x[:-1], 1 - x[-1] if x[-1] < 2 else 0])),
        "the run is in another state there",
        "the run is in another state there",
    ),
    Forgery(
        "better decision changed",
        "task",
        other_better,
        None,
        "the better operator is no better",
        "losses",
    ),
    Forgery(
        "loss of a fault changed",
        "task",
        sql(
            "UPDATE faults SET low = low + 1, high = high + 1 WHERE low NOT NULL AND high NOT NULL"
        ),
        None,
        "the decision loses",
        "losses",
    ),
    Forgery(
        "share of a fault changed",
        "task",
        column("faults", "share", lambda x: 1 - x, "share NOT NULL"),
        "the shares of the faults",
        "the shares of the faults",
    ),
    Forgery(
        "fault deleted that shares the gap with others",
        "task",
        sql("DELETE FROM faults WHERE share = 0"),
        None,
        "loses something, and no fault says so",
    ),
    Forgery(
        "fault that loses nothing",
        "task",
        sql("UPDATE faults SET low = 0, share = NULL WHERE low NOT NULL"),
        "it is not said to lose anything",
        "it is not said to lose anything",
    ),
    Forgery(
        "all faults of a bug deleted",
        "task",
        sql(
            "DELETE FROM faults WHERE task = 1 AND run = (SELECT min(run) FROM faults WHERE task = 1)"
        ),
        None,
        None,
        "missing faults",
    ),
    Forgery(
        "bug listed twice, with a blank between its values",
        "task",
        repeated,
        "the same state as",
        "the same state as",
    ),
    Forgery(
        "results said to belong to a rule that chooses",
        "task",
        sql("""INSERT INTO meta VALUES ('nature', '{"kind": "function", "chooser": "first"}')"""),
        "a rule is said to choose for the policy",
        "a rule is said to choose for the policy",
    ),
    Forgery(
        "lower bound raised to what the policy spends, so that it is OPTIMAL",
        "task",
        raised_to_optimal,
        None,
        "and a cheapest plan costs",
        "verdicts OPTIMAL",
    ),
    Forgery(
        "unsolvability invented by a further oracle",
        "task",
        sql(
            "INSERT INTO verdicts SELECT task, number, 'other', 0, CASE outcome WHEN 'goal' THEN 'UNKNOWN' ELSE "
            "'OPTIMAL' END, NULL, 0, CASE outcome WHEN 'goal' THEN cost ELSE 0 END, "
            "CASE outcome WHEN 'goal' THEN 0 END, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0 FROM runs"
        ),
        "the lower bound is inf, and a plan costs",
        "and a cheapest plan costs",
    ),
    Forgery("both bounds raised", "task", raised_lower, "the plan:", "the plan:"),
    Forgery(
        "unsolvability invented",
        "task",
        sql(
            "UPDATE verdicts SET verdict = 'OPTIMAL', kind = NULL, lower = NULL, upper = NULL, low = 0, high = 0, "
            "plan = NULL, derivation = NULL WHERE kind = 'fails'",
            "DELETE FROM faults",
        ),
        None,
        "and a cheapest plan costs",
        "verdicts OPTIMAL",
    ),
    Forgery(
        "dominance table changed",
        "task",
        changed_table,
        None,
        "dominance function",
        "dominance functions",
    ),
    Forgery(
        "verdicts deleted",
        "task",
        sql("DELETE FROM faults", "DELETE FROM verdicts WHERE verdict = 'BUG'"),
        "there is no verdict of oracle",
        "there is no verdict of oracle",
    ),
    Forgery(
        "last state deleted, with all of it",
        "task",
        sql(
            "DELETE FROM faults WHERE task = 2 AND run = (SELECT max(number) FROM states WHERE task = 2)",
            "DELETE FROM verdicts WHERE task = 2 AND number = (SELECT max(number) FROM states WHERE task = 2)",
            "DELETE FROM runs WHERE task = 2 AND number = (SELECT max(number) FROM states WHERE task = 2)",
            "DELETE FROM states WHERE task = 2 AND number = (SELECT max(number) FROM states WHERE task = 2)",
        ),
        None,
        None,
    ),
    Forgery(
        "run deleted, with the verdicts on it",
        "task",
        sql(
            *(
                f"DELETE FROM {table} WHERE task = 2 AND {key} = 3"
                for table, key in (("faults", "run"), ("verdicts", "number"), ("runs", "number"))
            )
        ),
        "the campaign is finished, and there is no run",
        "the campaign is finished, and there is no run",
    ),
    Forgery("whole task removed", "task", removed_task, None, None),
    Forgery(
        "digest of the policy changed", "task", sql("UPDATE policy SET digest = 'f00'"), None, None
    ),
    Forgery(
        "settings changed",
        "task",
        column("meta", "value", lambda x: x.replace("seed = 0", "seed = 1"), "key = 'config'"),
        None,
        None,
    ),
    Forgery(
        "objective changed",
        "task",
        column(
            "meta",
            "value",
            lambda x: x.replace('objective = "cost"', 'objective = "goal"'),
            "key = 'config'",
        ),
        "the gap is",
        "the gap is",
    ),
    Forgery(
        "digest of a task changed",
        "task",
        sql("UPDATE tasks SET digest = upper(digest)"),
        "the digest of the task",
        "its files are not what they were",
    ),
    Forgery(
        "effort changed", "task", sql("UPDATE verdicts SET expansions = expansions + 1"), None, None
    ),
    Forgery(
        "verdict flipped: BUG to NOT A BUG",
        "model",
        lost_bugs,
        None,
        "unsafe states can be avoided from here",
        "verdicts NOT A BUG",
    ),
    Forgery(
        "verdict NOT A BUG of a further oracle",
        "model",
        sql(
            "INSERT INTO verdicts SELECT task, number, 'tarjan', 0, 'NOT A BUG', NULL, NULL, NULL, NULL, NULL, NULL, "
            "NULL, NULL, NULL, NULL, 0, 0, 0, 0 FROM verdicts"
        ),
        "and a strategy avoids unsafe states",
        "unsafe states can be avoided from here",
    ),
    Forgery(
        "verdict flipped: NOT A BUG to BUG, no strategy",
        "model",
        missing_strategies,
        "a bug without a strategy",
        "a bug without a strategy",
    ),
    Forgery(
        "strategy removed",
        "model",
        sql("UPDATE verdicts SET strategy = NULL WHERE verdict = 'BUG'"),
        "a bug without a strategy",
        "a bug without a strategy",
    ),
    Forgery(
        "strategy with holes",
        "model",
        lambda connection: changed_strategies(connection, lambda pairs: pairs[:-1]),
        "no label in the strategy",
        "no label in the strategy",
    ),
    Forgery(
        "strategy with another label",
        "model",
        lambda connection: changed_strategies(
            connection, lambda pairs: [(state, (label + 1) % 3) for state, label in pairs]
        ),
        "oracle localfix: strategy ",
        "oracle localfix: strategy ",
    ),
    Forgery(
        "strategy that says that it leads elsewhere",
        "model",
        misled_strategies,
        "does not lead where the strategy says",
        "does not lead where the strategy says",
    ),
    Forgery(
        "strategy of other states",
        "model",
        sql(
            "UPDATE verdicts SET strategy = (SELECT max(number) FROM strategies)"
            " WHERE strategy NOT NULL"
        ),
        "it does not have the state of the record",
        "it does not have the state of the record",
    ),
    Forgery(
        "content of strategies damaged",
        "model",
        sql("UPDATE strategies SET content = substr(content, 1, length(content) - 1)"),
        "cut off",
        "cut off",
    ),
    Forgery(
        "run shortened", "model", truncated_unsafe_run, "the last state is not unsafe", "not unsafe"
    ),
    Forgery(
        "labels of a run removed",
        "model",
        sql("UPDATE runs SET operators = '[]'"),
        "one state more than labels",
        "one state more than labels",
    ),
    Forgery(
        "label of a run changed",
        "model",
        column("runs", "operators", listed(lambda x: [1 - min(x[0], 1), *x[1:]])),
        "run ",
        "run ",
    ),
    Forgery(
        "radius raised",
        "model",
        sql("UPDATE verdicts SET low = 9, high = 9 WHERE verdict = 'BUG'"),
        "below the smallest radius",
        "below the smallest radius",
    ),
    Forgery(
        "radius lowered",
        "model",
        sql("UPDATE verdicts SET low = 1, high = 1 WHERE verdict = 'BUG' AND low > 1"),
        None,
        None,
        "radii",
    ),
    Forgery(
        "radius invented where nothing helps",
        "model",
        sql("UPDATE verdicts SET low = 1, high = 2 WHERE verdict = 'NOT A BUG'"),
        "and the verdict is NOT A BUG",
        "and the verdict is NOT A BUG",
    ),
    Forgery(
        "outcome of a fault removed",
        "model",
        sql("UPDATE faults SET outcome = NULL"),
        "the outcome is missing",
        "the outcome is missing",
    ),
    Forgery(
        "loss of a fault invented",
        "model",
        sql("UPDATE faults SET low = 1, high = 1"),
        "how much is lost",
        "how much is lost",
    ),
    Forgery(
        "faults deleted",
        "model",
        sql("DELETE FROM faults"),
        "and no fault says so",
        "and no fault says so",
    ),
    Forgery(
        "the same, and the policy said to contradict itself elsewhere",
        "model",
        contradicted_elsewhere,
        "and no fault says so",
        "and no fault says so",
    ),
    Forgery(
        "the same, and the campaign said to be unfinished",
        "model",
        sql("DELETE FROM faults", "UPDATE meta SET value = '0' WHERE key = 'finished'"),
        "and no fault says so",
        "and no fault says so",
    ),
    Forgery(
        "the same, and something said to be left open",
        "model",
        sql(
            "DELETE FROM faults",
            "INSERT INTO verdicts SELECT task, number, 'tarjan', 0, 'UNKNOWN', NULL, 0, NULL, NULL, NULL, NULL, NULL, "
            "NULL, NULL, NULL, 0, 0, 0, 0 FROM verdicts",
        ),
        None,
        None,
        "missing faults",
    ),
    Forgery(
        "unsafe runs said to have ended otherwise",
        "model",
        sql("""UPDATE fuzzed SET ends = '{"unsafe": 0, "exhausted": ' || runs || '}'"""),
        "0 runs from number 0 on are said to be unsafe",
        "0 runs from number 0 on are said to be unsafe",
    ),
    Forgery(
        "more unsafe runs than runs",
        "model",
        sql("""UPDATE fuzzed SET ends = json_set(ends, '$.unsafe', 50) WHERE first = 0"""),
        "it is said how 50 ended",
        "it is said how 50 ended",
    ),
    Forgery(
        "batches of runs removed",
        "model",
        sql("DELETE FROM fuzzed"),
        "0 runs are said to be unsafe",
        "0 runs are said to be unsafe",
    ),
    Forgery(
        "better label changed", "model", other_better_label, None, "is not safe", "better decisions"
    ),
    Forgery(
        "fault moved to another step",
        "model",
        sql("UPDATE faults SET step = step - 1 WHERE step > 0"),
        "no fault says so",
        "no fault says so",
    ),
    Forgery(
        "bug listed twice, with a blank between its values",
        "model",
        repeated,
        "the same state as",
        "the same state as",
    ),
    Forgery(
        "results said to belong to a rule that chooses",
        "model",
        sql("""INSERT INTO meta VALUES ('nature', '{"kind": "function", "chooser": "first"}')"""),
        "of a kind that only planning tasks have",
        "of a kind that only planning tasks have",
    ),
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
