"""States are values: equality, hash, order, pickling, text, independent of the process."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from misstep.errors import MisstepError
from misstep.tasks.task import State
from support.tasks import small_task, walk


def test_equality_hash_and_order() -> None:
    a, b, c = State([1, 2, 3]), State([1, 2, 3]), State([1, 3, 0])
    assert a == b
    assert hash(a) == hash(b)
    assert a != c
    assert a < c <= c
    assert c > a
    assert {a, b, c} == {a, c}
    assert a != (1, 2, 3)
    assert (len(a), a[0], a[-1], a.values) == (3, 1, 3, (1, 2, 3))
    with pytest.raises(IndexError):
        a[3]
    with pytest.raises(ValueError, match="non-negative"):
        State([-1])


@pytest.mark.parametrize("state", [State([]), State([0]), State([5, 0, 70_000])])
def test_pickle_and_text_round_trip(state: State) -> None:
    assert pickle.loads(pickle.dumps(state)) == state
    assert State.parse(str(state)) == state
    assert eval(repr(state)) == state
    with pytest.raises(ValueError, match="numbers"):
        State.parse("0 x")


def test_hash_is_the_same_in_another_process() -> None:
    program = "from misstep.tasks.task import State; print(hash(State([3, 1, 2])))"
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(other.stdout) == hash(State([3, 1, 2]))


@pytest.mark.parametrize("name", ["blocksworld-4", "satellite-1", "visitall-3x3", "childsnack-2"])
def test_states_can_be_written_as_atoms(name: str) -> None:
    task = small_task(name)
    for state in walk(task, 60, seed=1):
        assert task.parse_state(", ".join(task.facts(state))) == state
        assert task.parse_state(str(state)) == state


def test_wrong_atoms_are_refused() -> None:
    task = small_task("gripper-4")
    atoms = task.facts(task.initial_state)
    with pytest.raises(MisstepError, match="no variable atom"):
        task.parse_state(", ".join([*atoms, "at(ball9, room-a)"]))
    with pytest.raises(MisstepError, match="of the values of variable"):
        task.parse_state("at(ball1, room-a)")
    with pytest.raises(MisstepError, match="of the values of variable"):
        task.parse_state(", ".join([*atoms, "at(ball1, room-b)"]))
    with pytest.raises(MisstepError, match="state has 2 values"):
        task.parse_state("0 0")
