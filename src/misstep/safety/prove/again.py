"""Whether a policy of models stands by what it said: a sample of its decisions, asked again.

A proof rests on what the policy said once in each state. If it is no function of the state, it proves nothing. So a
sample is asked again as campaigns do: one by one instead of in batches, shuffled, some of it several times, and in a
process of its own that has loaded the policy anew with another PYTHONHASHSEED. Native policies see the state and
nothing else, and are not asked again.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.errors import MisstepError, PolicyCrashError, PolicyTimeoutError
from misstep.kept import start
from misstep.policies.labels.load import load_label_policy
from misstep.policies.labels.policy import LabelPolicy
from misstep.safety.jani import system_of
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State

SAMPLE = 1000  # decisions
REPEATED = (32, 8, 8, 8)  # how many of them are asked a second time, a third time, and so on
_MAIN = (
    "import json, sys; folder, path = json.loads(sys.argv[1]); sys.path[:] = path; "
    "from misstep.safety.prove.again import main; main(folder)"
)
Said = tuple[State, str | None]  # a state, and the label that the policy takes there


@dataclass(frozen=True)
class Contradiction:
    """Two answers to one state. None is no label; a crash or no answer in time is told in words."""

    state: State
    first: str | None
    second: str | None


def ask_again(
    task: JaniTask, policy: LabelPolicy, said: Sequence[Said], seed: int = 0
) -> list[Contradiction]:
    """Where the policy says something else now. `said` is all of what is asked about."""
    if policy.native or not said:
        return []
    found: dict[State, Contradiction] = {}

    def compare(asked: Sequence[Said], answers: Sequence[str | None]) -> None:
        for (state, first), second in zip(asked, answers, strict=True):
            if first != second:
                found.setdefault(state, Contradiction(state, first, second))

    system = system_of(task, policy, policy.engine)
    order = random.Random(f"{seed} asked again")
    for count in (len(said), *REPEATED):
        asked = order.sample(list(said), min(count, len(said)))
        compare(asked, _answers(system, [state for state, _ in asked]))
    if not policy.in_memory:
        asked = order.sample(list(said), len(said))
        states = [state for state, _ in asked]
        compare(asked, _elsewhere(policy, task, states))
    return list(found.values())


def sampled(count: int, most: int, seed: int) -> list[int]:
    """Which of so many decisions are asked again."""
    return sorted(random.Random(f"{seed} sample").sample(range(count), min(count, most)))


def _answers(system: System[State, str], states: Sequence[State]) -> list[str | None]:
    """A system remembers what its policy said, so this one starts with nothing."""
    assert system.policy is not None
    fresh = system.with_policy(system.policy)
    answers: list[str | None] = []
    for state in states:
        try:
            label = fresh.native.decision(fresh.id(state))
        except PolicyTimeoutError:
            answers.append("(no answer in time)")
        except PolicyCrashError:
            answers.append("(a crash)")
        else:
            answers.append(None if label is None else fresh.label(label))
    return answers


def _elsewhere(policy: LabelPolicy, task: JaniTask, states: list[State]) -> list[str | None]:
    """The labels that the policy names in a new interpreter, with another order of hashes."""
    ours = os.environ.get("PYTHONHASHSEED")
    environment = {**os.environ, "PYTHONHASHSEED": "2" if ours == "1" else "1"}
    with tempfile.TemporaryDirectory(prefix="misstep-") as folder:
        question = (policy.spec, policy.inapplicable, task, states)
        (Path(folder) / "question").write_bytes(pickle.dumps(question))
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
            raise PolicyCrashError(
                f"the process that asks the policy again ended with exit code {code}"
            )
        found: Any = pickle.loads(answer.read_bytes())
    if isinstance(found, MisstepError):
        raise found
    return list(found)


def main(folder: str) -> None:
    """The program of the other process."""
    spec, inapplicable, task, states = pickle.loads((Path(folder) / "question").read_bytes())
    found: object
    try:
        policy = load_label_policy(spec, task, inapplicable=inapplicable)
        try:
            found = _answers(system_of(task, policy, policy.engine), states)
        finally:
            policy.close()
    except MisstepError as error:
        found = error
    (Path(folder) / "answer").write_bytes(pickle.dumps(found))


__all__ = ["SAMPLE", "Contradiction", "Said", "ask_again", "sampled"]
