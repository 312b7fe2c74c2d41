"""The checker has a short check for most runs: it must give the same answer as the long check, word by word."""

from __future__ import annotations

import random

import pytest

from misstep.checking import run as runs
from misstep.checking.sas import SasTask, State, parse_sas
from misstep.checking.semantics import apply, is_applicable, is_goal
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import Task


@pytest.fixture(scope="module")
def blocks() -> SasTask:
    task = load_task(generate("blocksworld", seed=1, blocks=3))
    assert isinstance(task, Task)
    return parse_sas(task.sas.decode())


def some_run(task: SasTask, draw: random.Random) -> tuple[list[State], list[int], str]:
    """A random walk, often with a mistake, and the outcome that is claimed for it."""
    states, operators = [task.initial_state], []
    for _ in range(draw.randrange(9)):
        if is_goal(states[-1], task) and draw.random() < 0.9:
            break
        fit = [i for i, own in enumerate(task.operators) if is_applicable(states[-1], own)]
        operators.append(draw.choice(fit))
        states.append(apply(states[-1], task.operators[operators[-1]]))
        if states[-1] in states[:-1] and draw.random() < 0.8:
            break
    outcome = "stuck"
    if is_goal(states[-1], task) or states[-1] in states[:-1]:
        outcome = "goal" if is_goal(states[-1], task) else "loop"
    if operators and draw.random() < 0.3:
        operators[draw.randrange(len(operators))] = draw.randrange(-1, len(task.operators) + 1)
    if draw.random() < 0.1:
        states[draw.randrange(len(states))] = task.initial_state
    if len(states) > 1 and draw.random() < 0.05:
        states.pop()
    return states, operators, draw.choice(runs.OUTCOMES) if draw.random() < 0.4 else outcome


def test_the_short_check_gives_the_same_answer_as_the_long_one(
    blocks: SasTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    given = []
    for _ in range(2000):
        cost = draw.choice([None, 3, 4, 5])
        given.append(
            (*some_run(blocks, draw), draw.choice([None, 0, 3]), cost, draw.random() < 0.3)
        )

    def reports() -> list[runs.RunReport]:
        return [runs.validate_run(blocks, *own[:5], revisits=own[5]) for own in given]

    short = reports()
    assert any(report.valid for report in short)
    assert not all(report.valid for report in short)
    monkeypatch.setattr(runs, "_followed", lambda *_: None)
    assert reports() == short
