"""The server's task is matched with ours by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from misstep.errors import InputFormatError
from misstep.policies.policy import States
from misstep.policies.remote.names import Matching
from misstep.tasks.task import State, Task

Shuffle = Callable[..., bytes]


@pytest.mark.parametrize("seed", range(5))
def test_any_order(task: Task, states: States, shuffle: Shuffle, seed: int) -> None:
    server = Task(shuffle(task, seed))
    matching = Matching(task, server, "server")
    translated = matching.states(states)
    for ours, theirs in zip(states.tolist(), translated.tolist(), strict=True):
        here, there = State(ours), State(theirs)
        assert set(task.facts(here)) == set(server.facts(there))
        known = {matching.operator(op, here) for op in server.applicable(there)}
        assert known == set(task.applicable(here))
        for op in server.applicable(there):
            after = matching.states(
                np.array([task.apply(here, matching.operator(op, here)).values], dtype=np.int32)
            )
            assert tuple(after[0].tolist()) == server.apply(there, op).values


def test_other_spelling(task: Task) -> None:
    names = task.sas.replace(b"NegatedAtom", b"<none of those>").replace(
        b"Atom carry", b"Atom CARRY"
    )
    Matching(task, Task(names), "server")


def test_another_problem(task: Task, larger: Task) -> None:
    with pytest.raises(InputFormatError, match=r"has Atom .*ball3.*, ours has not"):
        Matching(task, Task(larger.sas), "server")
    with pytest.raises(InputFormatError, match="no variable of ours has the same values"):
        Matching(larger, Task(task.sas), "server")


def test_another_goal(task: Task) -> None:
    before, _, rest = task.sas.partition(b"begin_goal\n")
    first, count, after = rest.partition(b"end_goal")
    lines = first.split(b"\n")
    fewer = b"\n".join([str(len(task.goal) - 1).encode(), *lines[2:]])
    with pytest.raises(InputFormatError, match=r"the goal Atom .* of ours is none of the server's"):
        Matching(task, Task(before + b"begin_goal\n" + fewer + count + after), "server")


def test_another_operator(task: Task) -> None:
    name = task.operator_name(0).encode()
    other = Task(task.sas.replace(b"\n" + name + b"\n", b"\nfly away\n"))
    with pytest.raises(InputFormatError, match=r"has operator \(fly away\), ours has not"):
        Matching(task, other, "server")


def test_dropped_operator(task: Task) -> None:
    start = task.sas.index(b"begin_operator")
    end = task.sas.index(b"end_operator\n") + len(b"end_operator\n")
    sas = task.sas[:start] + task.sas[end:]
    count = task.operator_count
    sas = sas.replace(
        f"\n{count}\nbegin_operator".encode(), f"\n{count - 1}\nbegin_operator".encode()
    )
    with pytest.raises(InputFormatError, match=r"the server's task has no operator \(drop ball1"):
        Matching(task, Task(sas), "server")


def test_variables_the_server_does_not_see(task: Task, shuffle: Shuffle) -> None:
    # A task with a clock that nothing depends on, which the server's translator left out.
    clock = "begin_variable\nclock\n-1\n2\nAtom tick()\nAtom tock()\nend_variable\n"
    text = task.sas.decode()
    count = task.variable_count
    text = text.replace(f"\n{count}\nbegin_variable", f"\n{count + 1}\nbegin_variable", 1)
    at = text.rindex("end_variable\n") + len("end_variable\n")
    text = text[:at] + clock + text[at:]
    text = text.replace("end_state", "0\nend_state")
    operators = task.operator_count
    tick = f"begin_operator\nwait\n0\n1\n0 {count} 0 1\n1\nend_operator\n"
    head = f"\n{operators}\nbegin_operator"
    text = text.replace(head, f"\n{operators + 1}\n{tick}begin_operator", 1)
    ours = Task(text.encode())
    matching = Matching(ours, Task(shuffle(task, 3)), "server")
    assert sorted(matching.operators) == [(op,) for op in range(1, operators + 1)]
