"""Saved dominance functions are read back unchanged, or refused with a reason."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

import pytest

from misstep._core import CounterRandom
from misstep.errors import InputFileError, InputFormatError
from misstep.oracles.dominance import DominanceFunction, DominanceSettings
from misstep.oracles.dominance.files import task_digest
from misstep.tasks.task import Task
from support.dominance import Operator, RawTask, Truth, gripper, logistics, solvable_tasks
from support.tasks import random_costs, small_task, with_costs


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "gripper.dom"
    DominanceFunction.compute(gripper(2)).save(path)
    return path


def test_a_saved_function_is_read_back_unchanged(tmp_path: Path) -> None:
    tasks = [
        *solvable_tasks(range(20)),
        gripper(3),
        random_costs(small_task("transport-2"), 1, (5, 10**6)),
    ]
    for task in tasks:
        for settings in (
            DominanceSettings(limit_transitions=1000),
            DominanceSettings(limit_transitions=40, cells=10),
        ):
            function = DominanceFunction.compute(task, settings)
            function.save(tmp_path / "d")
            loaded = DominanceFunction.load(tmp_path / "d", task)
            assert loaded.factors == function.factors
            assert loaded.core.write() == function.core.write()
            states = Truth.of(task).states[:500].copy() if len(task.domain_sizes) < 6 else None
            if states is not None:
                assert (loaded.matrix(states, states) == function.matrix(states, states)).all()
            start = task.initial_state
            assert loaded.best_morphs(start, 20) == function.best_morphs(start, 20)


def test_an_unsolvable_task_can_be_saved_as_well(tmp_path: Path) -> None:
    task = RawTask((2, 2), (0, 0), ((0, 1),), (Operator(((1, 0, 1),)),)).task()
    DominanceFunction.compute(task).save(tmp_path / "d")
    assert not DominanceFunction.load(tmp_path / "d", task).solvable


def test_another_task_is_refused(saved: Path) -> None:
    task = gripper(2)
    costs = [task.cost(op) for op in range(task.operator_count)]
    text = task.sas.decode()
    others = [
        gripper(3),
        logistics(2, 1),
        with_costs(task, [*costs[:-1], 2]),
        Task(text.replace("begin_goal\n2\n3 1\n4 1", "begin_goal\n2\n3 1\n4 0").encode()),
        Task(text.replace("begin_goal\n2\n3 1\n4 1", "begin_goal\n1\n3 1").encode()),
    ]
    assert len({task_digest(other) for other in [task, *others]}) == 6
    for other in others:
        with pytest.raises(InputFormatError, match="another task"):
            DominanceFunction.load(saved, other)


def test_a_task_with_other_names_is_accepted(saved: Path) -> None:
    renamed = Task(gripper(2).sas.replace(b"op0", b"drive").replace(b"Atom v0", b"Atom robot"))
    assert DominanceFunction.load(saved, renamed).solvable


def test_files_that_are_not_a_dominance_function_are_refused(saved: Path, tmp_path: Path) -> None:
    task = gripper(2)
    content = saved.read_bytes()
    for wrong, reason in [
        (b"", "not a dominance function"),
        (b"MISSTEPD", "not a dominance function"),
        (b"something else entirely" * 10, "not a dominance function"),
        (content[:-1], "cut off"),
        (content[:88], "cut off"),
        (content + b"x", "damaged"),
        (content[:8] + struct.pack("<I", 7) + content[12:], "version 7"),
    ]:
        (tmp_path / "bad").write_bytes(wrong)
        with pytest.raises(InputFormatError, match=reason):
            DominanceFunction.load(tmp_path / "bad", task)
    with pytest.raises(InputFileError, match="no such file"):
        DominanceFunction.load(tmp_path / "missing", task)
    with pytest.raises(InputFileError, match="folder"):
        DominanceFunction.load(tmp_path, task)
    with pytest.raises(InputFileError, match="cannot write"):
        DominanceFunction.compute(task).save(tmp_path / "no" / "folder")


def test_every_flipped_byte_is_noticed(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    # The flag of the header (bytes 12 to 15) is read as true or false and needs no protection.
    for place in [*range(12), *range(16, len(content), 7)]:
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        (tmp_path / "bad").write_bytes(damaged)
        with pytest.raises(InputFormatError):
            DominanceFunction.load(tmp_path / "bad", gripper(2))


def test_damaged_tables_with_a_right_checksum_are_refused_or_harmless(
    saved: Path, tmp_path: Path
) -> None:
    """The core reads what a file says with care: wrong numbers never lead outside its tables."""
    content = saved.read_bytes()
    body = zlib.decompress(content[88:])
    random = CounterRandom(9)
    refused = 0
    for _ in range(400):
        changed = bytearray(body)
        for _ in range(1 + random.below(3)):
            changed[random.below(len(changed))] = random.below(256)
        if random.below(4) == 0:
            del changed[random.below(len(changed)) :]
        packed = zlib.compress(bytes(changed))
        header = content[:16] + struct.pack("<Q", len(packed)) + content[24:56]
        (tmp_path / "bad").write_bytes(header + hashlib.sha256(packed).digest() + packed)
        try:
            function = DominanceFunction.load(tmp_path / "bad", gripper(2))
        except InputFormatError:
            refused += 1
            continue
        start = gripper(2).initial_state
        function.value(start, start)
        function.best_morphs(start, 3)
    assert refused > 100


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(InputFileError):
        DominanceFunction.compute(gripper(1)).save(target)
    assert list(tmp_path.iterdir()) == [target]
