"""Language models that behave: prompts, answers, the cache, budgets, and campaigns."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.errors import (
    BudgetLimitError,
    InputFileError,
    InputFormatError,
    MisstepError,
    ToolError,
    UnsupportedError,
)
from misstep.policies.conformance import check_policy
from misstep.policies.llm import LanguageModelPolicy
from misstep.policies.llm.cache import AnswerCache
from misstep.policies.llm.chat import Reply
from misstep.policies.load import load_policy
from misstep.policies.policy import FAILED, Candidates
from misstep.tasks.task import Task
from support.chat_server import chat_server
from support.tasks import rows, small_task, walk


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISSTEP_CACHE_DIR", str(tmp_path / "caches"))


def make(spec: str, task: Task) -> LanguageModelPolicy:
    policy = load_policy(spec, task)
    assert isinstance(policy, LanguageModelPolicy)
    return policy


def test_the_last_line_of_the_answer_decides() -> None:
    task = small_task("gripper-4")
    states = walk(task, 20, seed=1)
    with chat_server() as server:
        policy = make(f"llm:tiny@{server.url}", task)
        answers = policy.decide(rows(states))
        assert answers.operators.tolist() == [task.applicable(state)[0] for state in states]
        assert answers.messages == {}
        asked = len(set(states))
        assert len(server.requests) == asked == answers.evaluations
        # Later everything is known.
        assert policy.decide(rows(states)).evaluations == 0
        assert len(server.requests) == asked
        assert set(server.paths) == {"/v1/chat/completions"}
        request = server.requests[0]
        assert (request["model"], request["temperature"]) == ("tiny", 0)
        assert policy.usage.tokens == 110 * asked
        policy.close()


def test_a_prompt_shows_all_of_the_state(tmp_path: Path) -> None:
    task = small_task("spanner-3")
    template = tmp_path / "mine.txt"
    template.write_text("{domain}\n--\n{task}\n--\n{state}\n--\n{goal}\n--\n{operators} { {} {A}")
    with chat_server(lambda *_: "(walk bob shed location1)") as server:
        policy = make(f"llm:--prompt={template} m@{server.url}/", task)
        (operator,) = policy.decide(rows([task.initial_state])).operators.tolist()
        assert task.operator_name(operator) == "walk bob shed location1"
        text = server.requests[0]["messages"][0]["content"]
        policy.close()
    domain, problem, state, goal, operators = text.split("\n--\n")
    assert domain.startswith("(define (domain spanner)")
    assert "(:objects" in problem
    assert state.splitlines() == sorted(map(str, task.lifted.init))
    assert goal.splitlines() == ["(tightened nut1)", "(tightened nut2)"]
    assert operators == "(walk bob shed location1) { {} {A}"


ANSWERS = {
    "": "the model answered nothing",
    "   \n": "the model answered nothing",
    "move room-a room-b": "the last line of the model's answer is 'move room-a room-b', not an oper",
    "(move room-a room-b) is best": "is best', not an operator",
    "(move room-a room-b)\nI hope this helps!": "'I hope this helps!', not an operator",
    "(move room-a room-b) (move room-b room-a)": "not an operator",
    "```\n(move room-a room-b)\n```": "not an operator",
    "(fly room-a)": "the model named (fly room-a), and the task has no such operator",
    "()": "not an operator",
    "x" * 100_000: "not an operator",
}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: repr(answer[:30]))
def test_answers_are_read_strictly(answer: str) -> None:
    task = small_task("gripper-4")
    with chat_server(lambda *_: answer) as server:
        policy = make(f"llm:m@{server.url}", task)
        answers = policy.decide(rows([task.initial_state]))
        policy.close()
    assert answers.operators.tolist() == [FAILED]
    assert ANSWERS[answer] in answers.messages[0]
    assert len(answers.messages[0]) < 250
    assert "\n" not in answers.messages[0]


def test_an_operator_that_does_not_apply_is_an_answer() -> None:
    task = small_task("gripper-4")
    with chat_server(lambda *_: "Well.\n  (MOVE room-b  room-a)  \n\n") as server:
        trace = misstep.run(f"llm:m@{server.url}", task)
    assert trace.outcome == "inapplicable"


def test_a_flaky_model_is_a_function_of_the_state_until_it_is_asked_again() -> None:
    task = small_task("gripper-4")
    names = [task.operator_name(op) for op in task.applicable(task.initial_state)]
    with chat_server(lambda _, number: f"({names[number % 3]})") as server:
        policy = make(f"llm:m@{server.url}", task)
        state = rows([task.initial_state])
        first = policy.decide(state).operators.tolist()
        assert policy.decide(state).operators.tolist() == first
        second, third = (policy.ask_again(state).operators.tolist() for _ in range(2))
        assert len({*first, *second, *third}) == 3
        assert policy.decide(state).operators.tolist() == first
        assert len(server.requests) == 3
        with sqlite3.connect(policy._cache.file) as database:
            stored = database.execute("SELECT number, text FROM answers ORDER BY number").fetchall()
        database.close()
        assert stored == [(number, f"({names[number]})") for number in range(3)]
        policy.close()


def test_the_cache_gives_the_answers_when_the_server_is_gone(tmp_path: Path) -> None:
    task = small_task("ferry-3")
    cache = tmp_path / "deep" / "answers.sqlite"
    states = rows(walk(task, 20, seed=1))
    with chat_server() as server:
        spec = f"llm:--cache={cache} m@{server.url}"
        policy = make(spec, task)
        first = policy.decide(states).operators.tolist()
        policy.close()
    policy = make(spec, task)
    assert policy.decide(states).operators.tolist() == first
    assert policy.usage.requests == 0
    assert policy.usage.cached == len(set(map(tuple, states.tolist())))
    with pytest.raises(ToolError, match="the server is away: Connection refused; start it"):
        policy.ask_again(states)
    policy.close()
    # Another model, template or temperature is another question.
    for other in (f"m2@{server.url}", f"--temperature=1 m@{server.url}"):
        policy = make(f"llm:--cache={cache} {other}", task)
        assert policy.deterministic == ("temperature" not in other)
        with pytest.raises(ToolError, match="the server is away"):
            policy.decide(states)
        policy.close()


def test_a_budget_ends_the_work_and_keeps_it() -> None:
    task = small_task("ferry-3")
    states = rows(walk(task, 40, seed=1))
    with chat_server() as server:
        spec = f"llm:--budget-calls=5 --price=1,10 m@{server.url}"
        policy = make(spec, task)
        with pytest.raises(
            BudgetLimitError, match=r"5 of 5 calls are spent \(5 calls, 550 tokens"
        ) as c:
            policy.decide(states)
        assert "with --resume continues" in str(c.value)
        assert policy.cost == pytest.approx(5 * (100 * 1 + 10 * 10) / 1e6)
        policy.close()
        # What was paid for is there, and the next process goes on.
        policy = make(spec, task)
        with pytest.raises(BudgetLimitError):
            policy.decide(states)
        assert policy.usage.cached == 5
        assert len(server.requests) == 10
        policy.close()
        policy = make(f"llm:--budget-tokens=200 --parallel=1 other@{server.url}", task)
        with pytest.raises(BudgetLimitError, match="220 of 200 tokens"):
            policy.decide(states)
        policy.close()


def test_a_campaign_is_resumed_after_the_budget_and_after_the_server_was_away(
    tmp_path: Path,
) -> None:
    task = misstep.generate("gripper", balls=2)
    settings: dict[str, Any] = {"pool": 5, "seed": 1}
    folder = tmp_path / "found"
    with chat_server() as server:
        spec = f"llm:--budget-calls=4 m@{server.url}"
        with pytest.raises(BudgetLimitError) as caught:
            misstep.test(task, spec, out=folder, **settings)
        assert caught.value.exit_code == 22
        for _ in range(40):
            try:
                found = misstep.test(task, spec, out=folder, resume=True, **settings)
                break
            except BudgetLimitError:
                continue
        times = Counter(json.dumps(request) for request in server.requests)
        # Once to decide, and what was reported at least once more to confirm it; a few are asked up to ten times.
        assert 2 * len(times) <= times.total() <= 4 * len(times)
    # The cache knows everything: the same campaign without a server.
    again = misstep.test(task, spec.replace("--budget-calls=4 ", ""), **settings)
    assert [(r.id, r.verdict) for r in again.records] == [(r.id, r.verdict) for r in found.records]
    with pytest.raises(ToolError, match="the server is away") as away:
        misstep.test(task, spec, **{**settings, "pool": 12, "seed": 9})
    assert away.value.exit_code == 33


def test_the_key_is_in_the_header_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-123")
    task = small_task("gripper-4")
    cache = tmp_path / "answers"
    with chat_server() as server:
        policy = make(f"llm:--key-env=MY_KEY --cache={cache} m@{server.url}", task)
        digest = policy.digest
        policy.decide(rows([task.initial_state]))
        policy.close()
        assert server.headers[0]["authorization"] == "Bearer secret-123"
        assert "secret" not in repr(policy) + policy.name + json.dumps(server.requests)
        assert all(b"secret" not in file.read_bytes() for file in tmp_path.glob("answers*"))
        other = make(f"llm:m@{server.url}", task)
        assert other.digest == digest
        other.decide(rows([task.initial_state]))
        assert "authorization" not in server.headers[1]
        other.close()


def test_it_conforms() -> None:
    task = small_task("gripper-4")
    with chat_server() as server:
        assert check_policy(lambda: load_policy(f"llm:m@{server.url}", task), states=20)[1] == []
        policy = make(f"llm:m@{server.url}", task)
        states = rows([task.initial_state])
        with pytest.raises(UnsupportedError, match="does not choose"):
            policy.decide(states, Candidates(*task.applicable_batch(states)))
        policy.close()


BAD = {
    "llm:": "expected llm:MODEL@URL",
    "llm:m": "expected llm:MODEL@URL",
    "llm:@http://localhost": "expected llm:MODEL@URL",
    "llm:m@ftp://localhost": "expected llm:MODEL@URL",
    "llm:m@http://": "this is not a URL of a server; expected http://HOST:PORT/v1",
    "llm:m@http://localhost:99999": "this is not a URL of a server",
    "llm:m@http://me:pass@localhost": "more than host, port and path; a key is given in an env",
    "llm:m@http://localhost/v1?key=abc": "more than host, port and path",
    "llm:--key-env=NOT_THERE_1 m@http://localhost": "variable NOT_THERE_1 is not set",
    "llm:--key-env=BAD_KEY m@http://localhost": "variable BAD_KEY holds no key",
    "llm:--temperature=hot m@http://localhost": "--temperature is hot; expected",
    "llm:--price=1 m@http://localhost": "two prices of a million tokens, as in --price=0.15,0.6",
    "llm:--parallel=0 m@http://localhost": "a positive whole number",
    "llm:--prompt=/not/there m@http://localhost": "/not/there: no such file",
    "llm:--prompt=FOLDER/unknown m@http://localhost": r"unknown:2: there is no placeholder {facts}",
    "llm:--prompt=FOLDER/blind m@http://localhost": "the template does not show the state",
    "llm:--prompt=FOLDER/latin m@http://localhost": "not UTF-8",
    "llm:--cache=FOLDER/blind m@http://localhost": "the cache cannot be used: file is not a database",
    "llm:--cache=FOLDER/other m@http://localhost": "the file is another database",
    "llm:--cache=FOLDER m@http://localhost": "the cache cannot be used",
    "llm:--cache=FOLDER/blind/x m@http://localhost": "cannot write",
}


@pytest.mark.parametrize("spec", BAD)
def test_bad_specs_and_files(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAD_KEY", "ab\ncd")
    (tmp_path / "unknown").write_text("{state}\n{facts}")
    (tmp_path / "blind").write_text("What now? " * 100)
    (tmp_path / "latin").write_bytes(b"{state} \xe9")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(MisstepError) as caught:
        load_policy(spec.replace("FOLDER", str(tmp_path)), small_task("gripper-4"))
    assert BAD[spec] in str(caught.value)
    assert "pass" not in str(caught.value)


VIEW = """
CREATE VIEW answers AS WITH RECURSIVE own(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM own)
SELECT x AS question, 0 AS number, x AS text FROM own
"""
TRIGGER = "CREATE TRIGGER t BEFORE INSERT ON answers BEGIN UPDATE answers SET text = '(fly)'; END"


@pytest.mark.parametrize("sql", [f"DROP TABLE answers; {VIEW}", TRIGGER, "CREATE TABLE t (x)"])
def test_a_cache_with_sql_of_its_own(sql: str, tmp_path: Path) -> None:
    """The view has rows without end, so that asking for one would never come back."""
    file = tmp_path / "answers"
    AnswerCache(file).close()
    AnswerCache(file).close()  # as it should be
    with closing(sqlite3.connect(file)) as database:
        database.executescript(sql)
    with pytest.raises(InputFormatError, match="its tables were changed by somebody"):
        AnswerCache(file)


def test_another_database_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE t (x)")
    before = file.read_bytes()
    with pytest.raises(InputFormatError, match="another database"):
        AnswerCache(file)
    assert file.read_bytes() == before


def test_an_answer_in_the_cache_that_is_no_text(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers")
    cache.add("why", "m", Reply("because", 1, 1, 1))
    cache._database.execute("UPDATE answers SET text = x'00ff'")
    with pytest.raises(InputFormatError, match="is not a text"):
        cache.get("why")
    cache.close()


def test_a_task_without_its_pddl_files() -> None:
    with pytest.raises(UnsupportedError, match="load the task from its PDDL files"):
        load_policy("llm:m@http://localhost", Task(small_task("gripper-4").sas))


def test_without_a_home_a_cache_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misstep.policies.llm.cache.default_folder", lambda: None)
    with pytest.raises(InputFileError, match="give --cache=FILE"):
        load_policy("llm:m@http://localhost", small_task("gripper-4"))
