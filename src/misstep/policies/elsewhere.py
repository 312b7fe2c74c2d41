"""Ask a policy in a new process with another hash seed, to see whether it gives the same answers."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from misstep.errors import MisstepError, PolicyCrashError, TimeLimitError
from misstep.kept import NOT_FROM_HERE, leave, start
from misstep.policies.policy import Operators, States
from misstep.tasks.task import Task

_MAIN = (
    f"{NOT_FROM_HERE}import json, sys; folder, path, function = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from misstep.policies.elsewhere import main; main(folder, function)"
)


def ask_elsewhere(function: str, *question: object, seconds: float | None = None) -> Any:
    """The result of a function (`MODULE:NAME`) in a new interpreter. Its Misstep errors are raised here.

    The policy may hang there, even while it is loaded; `seconds` limits that.
    """
    ours = os.environ.get("PYTHONHASHSEED")
    environment = {**os.environ, "PYTHONHASHSEED": "2" if ours == "1" else "1"}
    with tempfile.TemporaryDirectory(prefix="misstep-") as folder:
        (Path(folder) / "question").write_bytes(pickle.dumps(question))
        program = start(
            [sys.executable, "-c", _MAIN, json.dumps([folder, sys.path, function])],
            folder=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        try:
            code = program.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeLimitError("the process that asks the policy again did not end") from None
        finally:
            program.end()
        answer = Path(folder) / "answer"
        if code != 0 or not answer.exists():
            raise PolicyCrashError(
                f"the process that asks the policy again ended with exit code {code}"
            )
        found = pickle.loads(answer.read_bytes())
    if isinstance(found, MisstepError):
        raise found
    return found


def main(folder: str, function: str) -> None:
    """The program of the other process."""
    module, _, name = function.partition(":")
    question = pickle.loads((Path(folder) / "question").read_bytes())
    found: object
    try:
        found = getattr(import_module(module), name)(*question)
    except MisstepError as error:
        found = error
    (Path(folder) / "answer").write_bytes(pickle.dumps(found))
    leave(0)


def decide_elsewhere(
    spec: str, task: Task, states: States, seconds: float | None = None
) -> Operators:
    """The operators that the policy chooses in a new interpreter, state by state."""
    found = ask_elsewhere(f"{__name__}:decide", spec, task, states, seconds=seconds)
    return np.asarray(found, dtype=np.int32)


def decide(spec: str, task: Task, states: States) -> list[int]:
    """The operators that the policy chooses after it is loaded again."""
    from misstep.policies.conformance import answers_of
    from misstep.policies.load import load_policy

    policy = load_policy(spec, task)
    try:
        named: list[int] = answers_of(policy, states).operators.tolist()
        return named
    finally:
        policy.close()


__all__ = ["ask_elsewhere", "decide_elsewhere"]
