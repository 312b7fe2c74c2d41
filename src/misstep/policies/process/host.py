"""The program behind `python:--timeout=S FILE.py:NAME`: a user's Python policy in a process of its own.

It speaks the protocol of policy programs (docs/policy-protocol.md) with additions for what a Python policy can do more:
the first line names a file with the task, the greeting has the flags of the policy or the error that loading it gave,
and a question may `ask` for something else than decisions. What the code prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import MisstepError
from misstep.kept import NOT_FROM_HERE
from misstep.policies.policy import Candidates, Policy
from misstep.policies.process.protocol import VERSION
from misstep.stops import mark_stops
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import State, Task

MAIN = (
    f"{NOT_FROM_HERE}import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from misstep.policies.process.host import main; main()"
)
Reply = dict[str, Any]


def command() -> list[str]:
    """Starts a host, in a new interpreter that finds the same modules as this one."""
    return [sys.executable, "-c", MAIN, json.dumps(sys.path)]


def first_line(task: Task | JaniTask, argument: str, folder: Path) -> bytes:
    """Tells a host the policy and the task, which goes into the folder: it may be large."""
    file = folder / "task.pickle"
    file.write_bytes(pickle.dumps(task))
    content = {"protocol": VERSION, "task_file": str(file), "policy": argument}
    return json.dumps(content).encode() + b"\n"


class TaskHost:
    """A policy of a planning task."""

    def __init__(self, argument: str, task: Task) -> None:
        from misstep.policies.function import FunctionPolicy, load

        self.task = task
        self.policy: Policy = load(argument, task)
        roles = self.policy.roles if isinstance(self.policy, FunctionPolicy) else None
        self.alone = roles is not None and roles.act_batch is None

    def greeting(self) -> Reply:
        own = self.policy
        flags = ("deterministic", "batch_size", "chooses", "set_valued", "stochastic", "plans")
        return {
            "digest": own.digest,
            **{flag: getattr(own, flag) for flag in flags},
            "files": own.files,
            "alone": self.alone,
        }

    @property
    def environment(self) -> dict[str, str | None]:
        return dict(self.policy.environment)

    def answer(self, asked: Reply) -> Reply:
        ask = asked.get("ask", "decide")
        if ask == "plan":
            return {"operators": list(self.policy.plan(State(asked["states"][0])))}
        states = np.array(asked["states"], dtype=np.int32).reshape(-1, self.task.variable_count)
        if ask == "permitted":
            if self.policy.stochastic:
                support, weights = self.policy.probabilities(states)
                return {**_listed(support), "weights": weights.tolist()}
            return _listed(self.policy.permitted(states))
        candidates = None
        if "candidates" in asked:
            offsets, operators = asked["candidates"]
            candidates = Candidates(np.array(offsets), np.array(operators, dtype=np.int32))
        answers = self.policy.decide(states, candidates)
        errors = {str(row): text for row, text in answers.messages.items()}
        return {"operators": answers.operators.tolist(), "errors": errors}


def _listed(candidates: Candidates) -> Reply:
    return {"offsets": candidates.offsets.tolist(), "operators": candidates.operators.tolist()}


class ModelHost:
    """A policy of a model."""

    def __init__(self, argument: str, task: JaniTask) -> None:
        from misstep.policies.labels.function import load_code
        from misstep.policies.labels.policy import Setting

        self.task = task
        self.loaded = load_code(argument, Setting(task, task.engine, None))

    def greeting(self) -> Reply:
        own = self.loaded
        roles = own.labels.roles
        return {
            "digest": own.digest,
            "deterministic": roles.deterministic,
            "batch_size": None if roles.act_batch is not None else 1,
            "valued": roles.values is not None,
            "set_valued": roles.permitted is not None or roles.probabilities is not None,
            "stochastic": roles.probabilities is not None,
            "plans": roles.plan is not None,
            "files": own.files,
        }

    @property
    def environment(self) -> dict[str, str | None]:
        return dict(self.loaded.labels.home.environment)

    def answer(self, asked: Reply) -> Reply:
        names = self.task.variable_names
        ids = [
            self.task.engine.intern(tuple(state[name] for name in names))
            for state in asked["states"]
        ]
        own = self.loaded.labels
        if asked.get("ask") == "values":
            return {"values": own.values(ids[0], asked["labels"])}
        if asked.get("ask") == "permitted":
            return {"weights": list(own.weights(ids[0]).items())}
        labels = own.act_batch(ids) if own.roles.act_batch is not None else [own.act(ids[0])]
        return {"labels": [None if i is None else self.task.labels[i] for i in labels]}


def main() -> None:
    """Answers questions until there are none."""
    # Native code prints to descriptor 1, Python to sys.stdout: neither is an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    questions = sys.stdin.buffer
    mark_stops()  # Ctrl-C does not reach this process: it has a session of its own
    # A request to end comes from the policy itself: a crash.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)

    def say(content: Reply) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    hello = json.loads(questions.readline())
    greeting: Reply = {"protocol": VERSION, "name": hello["policy"]}
    try:
        task = pickle.loads(Path(hello["task_file"]).read_bytes())
        make: Callable[..., TaskHost | ModelHost]
        make = ModelHost if isinstance(task, JaniTask) else TaskHost
        host = make(hello["policy"], task)
    except MisstepError as error:
        say({**greeting, "error": error.as_dict()})
        return
    said = host.environment
    say({**greeting, **host.greeting(), "environment": said})
    for line in questions:
        asked = json.loads(line)
        reply: Reply = {"id": asked["id"]}
        try:
            reply |= host.answer(asked)
        except MisstepError as error:
            reply["error"] = error.what if isinstance(host, ModelHost) else str(error)
        except ValueError as error:  # a crash of the code, already in one line
            reply["error"] = str(error)
        if host.environment != said:
            reply["environment"] = said = host.environment
        say(reply)


__all__ = ["ModelHost", "TaskHost", "command", "first_line", "main"]
