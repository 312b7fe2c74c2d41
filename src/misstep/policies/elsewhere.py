"""A policy in a process of its own, with another order of hashes: whether it says the same there."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from misstep.errors import MisstepError, PolicyCrashError
from misstep.kept import start
from misstep.policies.policy import Operators, States
from misstep.tasks.task import Task

_MAIN = (
    "import json, sys; folder, path = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from misstep.policies.elsewhere import main; main(folder)"
)


def decide_elsewhere(spec: str, task: Task, states: States) -> Operators:
    """The operators that the policy names in a new interpreter, state by state."""
    import json

    ours = os.environ.get("PYTHONHASHSEED")
    environment = {**os.environ, "PYTHONHASHSEED": "2" if ours == "1" else "1"}
    with tempfile.TemporaryDirectory(prefix="misstep-") as folder:
        (Path(folder) / "question").write_bytes(pickle.dumps((spec, task, states)))
        program = start(
            [sys.executable, "-c", _MAIN, json.dumps([folder, sys.path])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        try:
            code = program.process.wait()
        finally:
            program.end()
        answer = Path(folder) / "answer"
        if code != 0 or not answer.exists():
            raise PolicyCrashError(f"the process ended with exit code {code}")
        found = pickle.loads(answer.read_bytes())
    if isinstance(found, MisstepError):
        raise found
    return np.asarray(found, dtype=np.int32)


def main(folder: str) -> None:
    """The program of the other process."""
    from misstep.policies.conformance import answers_of
    from misstep.policies.load import load_policy

    spec, task, states = pickle.loads((Path(folder) / "question").read_bytes())
    found: object
    try:
        policy = load_policy(spec, task)
        try:
            found = answers_of(policy, states).operators.tolist()
        finally:
            policy.close()
    except MisstepError as error:
        found = error
    (Path(folder) / "answer").write_bytes(pickle.dumps(found))


__all__ = ["decide_elsewhere"]
