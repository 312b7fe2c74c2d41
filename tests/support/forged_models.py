"""What is forged in a campaign on a model: see `support.forged`."""

from __future__ import annotations

from support.forging import (
    Forgery,
    changed_strategies,
    column,
    contradicted_elsewhere,
    listed,
    lost_bugs,
    misled_strategies,
    missing_strategies,
    other_better_label,
    repeated,
    sql,
    truncated_unsafe_run,
)

ON_MODELS: tuple[Forgery, ...] = (
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
)

__all__ = ["ON_MODELS"]
