"""What is forged in a campaign on tasks: see `support.forged`."""

from __future__ import annotations

from support.forging import (
    Forgery,
    changed_table,
    column,
    listed,
    other_better,
    raised_lower,
    raised_to_optimal,
    removed_task,
    repeated,
    shortened,
    sql,
    swapped_states,
    unnoticed,
)

ON_TASKS: tuple[Forgery, ...] = (
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
)

__all__ = ["ON_TASKS"]
