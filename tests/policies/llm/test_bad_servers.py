"""Servers that misbehave. None of this is a crash of the policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.errors import ToolError
from misstep.policies.llm.chat import ChatServer, NoAnswerError
from misstep.policies.llm.policy import LanguageModelPolicy
from misstep.policies.policy import TIMED_OUT
from support.chat_server import (
    Act,
    chat_server,
    content,
    dripping,
    dying,
    dying_halfway,
    endless,
    endless_chunk,
    html,
    silent,
    status,
    uncountable_chunk,
)
from support.tasks import rows, small_task, walk

# The server always does so: the message, and how often it is asked (with one retry).
NO_ANSWER: dict[str, tuple[Act, str, int]] = {
    "html": (html, "the server answered '<!doctype html><title>Welcome</title>', not a chat", 1),
    "silent": (silent, "no answer within 0.3 s", 1),
    "dripping": (dripping, "no answer within 0.3 s", 1),
    "dying": (dying, "the server broke off its answer", 2),
    "dying halfway": (dying_halfway, "the server broke off its answer", 2),
    "a chunk": (uncountable_chunk, "the server broke off its answer", 2),
    "busy": (status(429), "HTTP 429: sorry", 2),
    "broken": (status(500, "<html>\nsecret-123 failed"), "HTTP 500: <html> *** failed", 2),
    "waits": (status(503, "later", Retry_After="0"), "HTTP 503: later", 2),
    "too long": (status(400, "context length"), "HTTP 400: context length", 1),
    "list": (content(b"[]"), "the server answered '[]', not a chat", 1),
    "empty": (content(b""), "the server answered '', not a chat", 1),
    "no choice": (content(b'{"choices": []}'), "not a chat completion", 1),
    "number": (content(b'{"choices": [{"message": {"content": 3}}]}'), "is 3, not a text", 1),
    "deep": (content(b"[" * 100_000), "not a chat completion", 1),
    "binary": (content(b"\xff\x00"), "not a chat completion", 1),
}
REFUSALS = {
    401: "the key is missing or wrong",
    403: "access is denied",
    404: "no such model or path",
    302: "the server redirects (HTTP 302), which is not followed",
}


def make(url: str, cache: Path, timeout: float) -> LanguageModelPolicy:
    server = ChatServer(url, key="secret-123", timeout=timeout, retries=1, pause=0.001)
    return LanguageModelPolicy(small_task("gripper-4"), "m", server, url=url, cache=cache)


@pytest.mark.parametrize("name", NO_ANSWER)
def test_there_is_no_answer_and_nothing_is_kept(name: str, tmp_path: Path) -> None:
    act, message, asked = NO_ANSWER[name]
    state = rows([small_task("gripper-4").initial_state])
    with chat_server(acts={-1: act}) as server:
        policy = make(server.url, tmp_path / "c", 0.3 if "0.3 s" in message else 60)
        answers = policy.decide(state)
        assert answers.operators.tolist() == [TIMED_OUT]
        assert message in answers.messages[0]
        assert "\n" not in answers.messages[0]
        assert len(server.requests) == asked == policy.usage.requests
        # It recovers, and then there is an answer.
        server.acts.clear()
        policy._server._timeout = 60
        assert policy.decide(state).operators[0] >= 0
        policy.close()


@pytest.mark.parametrize("act", [endless, endless_chunk])
def test_an_endless_answer_is_bounded(act: Act) -> None:
    with (
        chat_server(acts={-1: act}) as server,
        pytest.raises(NoAnswerError, match="larger than 8 MiB"),
    ):
        ChatServer(server.url).ask({})


@pytest.mark.parametrize("code", REFUSALS)
def test_a_server_that_refuses_us_ends_the_work(code: int, tmp_path: Path) -> None:
    act = status(code, "it is secret-123", Location="http://127.0.0.1:9/")
    with chat_server(acts={-1: act}) as server:
        policy = make(server.url, tmp_path / "c", 60)
        with pytest.raises(ToolError) as caught:
            policy.decide(rows([policy.task.initial_state]))
        assert REFUSALS[code] in str(caught.value)
        assert "secret" not in str(caught.value)
        assert len(server.requests) == 1
        policy.close()


@pytest.mark.parametrize("broken", [status(500), dying])
def test_one_bad_answer_does_not_condemn_its_batch(broken: Act, tmp_path: Path) -> None:
    with chat_server(acts={2: html, 5: broken}) as server:
        policy = make(server.url, tmp_path / "c", 60)
        states = rows(list(dict.fromkeys(walk(policy.task, 12, seed=4))))
        answers = policy.decide(states)
        # A broken server and a broken connection are asked again, once.
        assert min(answers.operators.tolist()) == TIMED_OUT
        assert (answers.operators >= 0).sum() == len(states) - 1
        assert len(answers.messages) == 1
        assert len(server.requests) == len(states) + 1
        assert policy.usage.requests == len(states) + 1
        policy.close()


def test_a_server_that_is_away_ends_the_work_and_what_came_is_kept(tmp_path: Path) -> None:
    with chat_server() as server:
        policy = make(server.url, tmp_path / "c", 60)
        states = rows(list(dict.fromkeys(walk(policy.task, 6, seed=4))))
        policy.decide(states[:3])
    with pytest.raises(ToolError, match=r"server http://127.*: the server is away") as caught:
        policy.decide(states)
    assert caught.value.exit_code == 33
    assert len(policy.decide(states[:3]).messages) == 0
    policy.close()


KEY = "sk-0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("length", [60, 90, 380])
@pytest.mark.parametrize("code", [200, 400, 401])
def test_no_part_of_the_key_is_shown(length: int, code: int) -> None:
    """A message is cut, and half a key is no key that could be found and removed."""
    said = f"{'a ' * (length // 2)}{KEY} is wrong{' !' * 200}"
    act = content(said.encode()) if code == 200 else status(code, said)
    with chat_server(acts={-1: act}) as own:
        server = ChatServer(own.url, key=KEY, retries=0)
        with pytest.raises((NoAnswerError, ToolError)) as told:
            server.ask({"model": "m", "messages": []})
    assert KEY[:4] not in str(told.value)


def test_an_answer_with_the_key_in_it_is_not_kept(tmp_path: Path) -> None:
    answer = {"choices": [{"message": {"content": f"You came with {KEY}"}}]}
    with chat_server(acts={-1: content(json.dumps(answer).encode())}) as own:
        server = ChatServer(own.url, key=KEY, retries=0)
        task = small_task("gripper-4")
        policy = LanguageModelPolicy(task, "m", server, url=own.url, cache=tmp_path / "c")
        answers = policy.decide(rows([task.initial_state]))
        policy.close()
    assert answers.operators.tolist() == [TIMED_OUT]
    assert "has the key in it" in answers.messages[0]
    assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    policy = make("https://nowhere.invalid/v1", tmp_path / "c", 60)
    with pytest.raises(ToolError, match="the server is away"):
        policy.decide(rows([policy.task.initial_state]))
    policy.close()


def test_a_server_without_encryption_where_it_is_expected() -> None:
    with chat_server() as server:
        with pytest.raises(ToolError, match=r"the server is away: .*SSL"):
            ChatServer(server.url.replace("http:", "https:")).ask({})
        assert server.requests == []


def test_tokens_are_estimated_where_the_server_does_not_count_them() -> None:
    body = b'{"choices": [{"message": {"content": "(move a b)"}}], "usage": {"prompt_tokens": -1}}'
    with chat_server(acts={-1: content(body)}) as server:
        reply = ChatServer(server.url).ask({"model": "m"})
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("(move a b)", 4, 3)


def test_a_refusal_of_the_model_is_an_empty_answer() -> None:
    with chat_server(
        acts={-1: content(b'{"choices": [{"message": {"content": null}}]}')}
    ) as server:
        assert ChatServer(server.url).ask({}).text == ""
