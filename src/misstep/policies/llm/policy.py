"""A language model as a policy: a prompt for each state, and the operator that the answer names.

A language model need not give the same answer twice, not even at temperature 0. The cache makes it a function of the
state: the first answer counts, in this campaign and in repetitions. `ask_again` asks whether the model would give the
same answer again; these answers are kept separately. A failure of the server is not an answer of the policy: a state
without an answer counts as TIMED_OUT, never as a crash, and if the server is away, the work ends and can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from misstep.errors import BudgetLimitError, UnsupportedError, UsageError
from misstep.policies.llm.cache import AnswerCache
from misstep.policies.llm.chat import ChatServer, NoAnswerError, Reply
from misstep.policies.llm.prompt import Prompt, named_operator
from misstep.policies.options import Parser, positive, split_options, whole, word
from misstep.policies.policy import (
    FAILED,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.tasks.task import State, Task


class Price(NamedTuple):
    """Prices of a million tokens, in any currency."""

    prompt: float = 0.0
    completion: float = 0.0


@dataclass
class Usage:
    """What this policy object has spent, and what the cache has saved."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def cost(self, price: Price) -> float:
        spent = self.prompt_tokens * price.prompt + self.completion_tokens * price.completion
        return spent / 1e6


@dataclass(frozen=True)
class Budget:
    """Limits for one policy object. None means no limit."""

    tokens: int | None = None
    calls: int | None = None


class _SpentError(Exception):
    """The budget is spent, so no more requests may be sent."""


class LanguageModelPolicy(Policy):
    """A chat model that is asked for one operator in each state."""

    def __init__(
        self,
        task: Task,
        model: str,
        server: ChatServer,
        *,
        url: str,
        prompt: Path | None = None,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        cache: Path | None = None,
        price: Price | None = None,
        budget: Budget | None = None,
        parallel: int = 4,
    ) -> None:
        super().__init__(task)
        if task.pddl is None:
            _ = task.lifted  # raises an error that says what is missing
        self.model = model
        self.price = price or Price()
        self.budget = budget or Budget()
        self.usage = Usage()
        self.deterministic = temperature == 0
        self.batch_size = max(16, parallel)
        self._url = url
        self._server = server
        self._prompt = Prompt(task, prompt)
        self._settings = {"temperature": temperature, "max_tokens": max_tokens}
        self._parallel = parallel
        self._lock = threading.Lock()
        self._times: Counter[str] = Counter()  # how often each question was asked again
        self._cache = AnswerCache(cache)
        self.name = f"llm:{model}@{url}"
        what = json.dumps([1, model, url, self._prompt.template, self._settings])
        self.digest = hashlib.sha256(what.encode()).hexdigest()

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among candidates")
        return self._answers(states, again=False)

    def ask_again(self, states: States) -> Answers:
        """Asks the server another time. These answers are kept as well, numbered in order, so that a stopped campaign
        can continue, and a repeated one gives the same result."""
        return self._answers(states, again=True)

    @property
    def cost(self) -> float:
        """The cost of the tokens of this policy object, by `price`."""
        return self.usage.cost(self.price)

    def _answers(self, states: States, *, again: bool) -> Answers:
        rows = [State(values) for values in checked_states(states, self.task).tolist()]
        requests = [self._request(state) for state in rows]
        questions = [self._question(request) for request in requests]
        times = {question: self._times[question] + 1 if again else 0 for question in questions}
        texts = self._known(times)
        open_questions = {q: r for q, r in zip(questions, requests, strict=True) if q not in texts}
        before = self.usage.requests
        faults = self._ask(open_questions, texts, times)
        if again:
            self._times.update(times.keys())
        answers = Answers(np.full(len(rows), FAILED, dtype=np.int32))
        answers.evaluations = self.usage.requests - before
        for row, (state, question) in enumerate(zip(rows, questions, strict=True)):
            if question in faults:
                answers.operators[row] = TIMED_OUT
                answers.messages[row] = faults[question]
                continue
            try:
                answers.operators[row] = named_operator(texts[question], self.task, state)
            except ValueError as error:
                answers.messages[row] = str(error)
        return answers

    def _request(self, state: State) -> dict[str, object]:
        message = {"role": "user", "content": self._prompt.text(state)}
        return {"model": self.model, "messages": [message], **self._settings}

    def _question(self, request: Mapping[str, object]) -> str:
        """The key in the cache. It includes the URL, since two servers may use one name for two models."""
        return hashlib.sha256(json.dumps([self._url, request]).encode()).hexdigest()

    def _known(self, times: Mapping[str, int]) -> dict[str, str]:
        found = {question: self._cache.get(question, number) for question, number in times.items()}
        known = {question: text for question, text in found.items() if text is not None}
        self.usage.cached += len(known)
        return known

    def _ask(
        self,
        requests: Mapping[str, Mapping[str, object]],
        texts: dict[str, str],
        times: Mapping[str, int],
    ) -> dict[str, str]:
        """Asks the server and fills in the texts; returns the reason for each question without an answer.

        All answers that arrived are stored in the cache before any error is raised.
        """
        faults: dict[str, str] = {}
        if not requests:
            return faults
        ended: BaseException | None = None
        with ThreadPoolExecutor(min(self._parallel, len(requests))) as pool:
            asked = {pool.submit(self._spend, request): q for q, request in requests.items()}
            try:
                for done in as_completed(asked):
                    try:
                        reply = done.result()
                        texts[asked[done]] = self._keep(asked[done], reply, times[asked[done]])
                    except NoAnswerError as fault:
                        faults[asked[done]] = " ".join(str(fault).split())
                    except CancelledError:
                        continue  # by us, below
                    except Exception as error:
                        # That the server is away is the better message than that failed calls have used up the budget.
                        if ended is None or isinstance(ended, _SpentError):
                            ended = error
                        for other in asked:
                            other.cancel()
            except BaseException:  # after Ctrl-C nothing more is sent
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if ended is not None:
            raise self._over_budget() if isinstance(ended, _SpentError) else ended
        return faults

    def _keep(self, question: str, reply: Reply, number: int) -> str:
        return self._cache.add(question, self.model, reply, number)

    def _spend(self, request: Mapping[str, object]) -> Reply:
        with self._lock:
            if self._spent() is not None:
                raise _SpentError
            self.usage.requests += 1
        try:
            reply = self._server.ask(request)
        except NoAnswerError as fault:
            with self._lock:
                self.usage.requests += fault.requests - 1
            raise
        with self._lock:
            self.usage.requests += reply.requests - 1
            self.usage.prompt_tokens += reply.prompt_tokens
            self.usage.completion_tokens += reply.completion_tokens
        return reply

    def _spent(self) -> str | None:
        """A sentence on the part of the budget that is used up, if any is."""
        for name, used, limit in (
            ("tokens", self.usage.tokens, self.budget.tokens),
            ("calls", self.usage.requests, self.budget.calls),
        ):
            if limit is not None and used >= limit:
                return f"{used:,} of {limit:,} {name} are spent"
        return None

    def _over_budget(self) -> BudgetLimitError:
        spent = self.usage
        return BudgetLimitError(
            f"{self._spent()} "
            f"({spent.requests:,} calls, {spent.tokens:,} tokens, cost {self.cost:.4g})",
            where=f"policy {self.name}",
            hint=f"the same command with --resume continues with a new budget; answers are kept in {self._cache.file}",
        )

    def close(self) -> None:
        self._cache.close()


def _at_least_0(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else positive(text)


def _at_least_1(text: str) -> int:
    number = whole(text)
    if number < 1:
        raise ValueError("a positive whole number, as in --{name}=10")
    return number


def _price(text: str) -> Price:
    parts = text.split(",")
    try:
        if len(parts) != 2:
            raise ValueError
        return Price(_at_least_0(parts[0]), _at_least_0(parts[1]))
    except ValueError:
        raise ValueError("two prices of a million tokens, as in --{name}=0.15,0.6") from None


PARSERS: dict[str, Parser] = {
    "prompt": word,
    "temperature": _at_least_0,
    "max-tokens": _at_least_1,
    "key-env": word,
    "cache": word,
    "timeout": positive,
    "retries": whole,
    "price": _price,
    "budget-tokens": whole,
    "budget-calls": whole,
    "parallel": _at_least_1,
}


def load(argument: str, task: Task) -> LanguageModelPolicy:
    """Loads `llm:[OPTION...] MODEL@URL`; docs/policies/llm.md has the options."""
    options, target = split_options(argument, "llm", PARSERS)
    model, at, address = target.partition("@http")
    if not model or not at or any(part.isspace() for part in target):
        raise UsageError(
            "the policy is incomplete",
            where=f"policy llm:{argument}",
            expected="llm:MODEL@URL, as in llm:qwen3@http://localhost:8000/v1",
        )
    url = "http" + address
    server = ChatServer(
        url,
        key=_key(options.pop("key_env", None)),
        timeout=options.pop("timeout", 60.0),
        retries=min(options.pop("retries", 3), 20),
    )
    budget = Budget(options.pop("budget_tokens", None), options.pop("budget_calls", None))
    for name in ("prompt", "cache"):
        if name in options:
            options[name] = Path(options[name])
    policy = LanguageModelPolicy(task, model, server, url=url, budget=budget, **options)
    policy.name = f"llm:{argument}"
    return policy


def _key(name: str | None) -> str | None:
    """Reads the key from the environment. It is never in a spec, a file or a message."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the environment variable {name} {'holds no key' if key else 'is not set'}",
            where=f"policy llm:--key-env={name}",
        )
    return key


__all__ = ["Budget", "LanguageModelPolicy", "Price", "Usage", "load"]
