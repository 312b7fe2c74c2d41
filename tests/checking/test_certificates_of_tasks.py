"""Certificates of planning tasks that were damaged are refused, each with the reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from misstep.checking.__main__ import main
from misstep.checking.certificates import CertificateReport, check_planning, read_certificate
from misstep.checking.errors import CheckError
from misstep.faults.prove import prove
from misstep.tasks.task import Task
from support.prove import (
    Change,
    Columns,
    Header,
    changed_header,
    put_together,
    taken_apart,
    with_row,
    without_row,
)
from support.small import task_of


@cache
def spanner() -> tuple[Task, bytes]:
    """A task with dead ends, and a policy that is optimal."""
    task = task_of("spanner", spanners=2, nuts=1, locations=2)
    proof = prove(task, "optimal")
    assert proof.verdict == "PROVEN", proof.reason
    assert proof.hopeless > 0
    assert proof.certificate is not None
    return task, proof.certificate


def check_task(content: bytes) -> CertificateReport:
    return check_planning(read_certificate(content), spanner()[0].sas)


def of_code(columns: Columns, test: Callable[[int], bool]) -> int:
    return next(row for row, code in enumerate(columns[-2]) if test(code))


def put(column: int, row: int, number: int) -> Change:
    def change(header: Header, columns: Columns) -> tuple[Header, Columns]:
        columns[column][row] = number
        return header, columns

    return change


PLANNING_DAMAGE: dict[str, tuple[Change, str]] = {
    "the initial state is missing": (
        lambda h, c: (h, without_row(c, 0)),
        "the initial state is missing",
    ),
    "a reachable state is missing": (
        lambda h, c: (h, without_row(c, len(c[0]) - 1)),
        "missing|none that",
    ),
    "ranks permuted": (
        lambda h, c: (h, [*c[:-1], list(reversed(c[-1]))]),
        "the rank does not get smaller|a goal and has a rank",
    ),
    "a rank is too small": (
        lambda h, c: put(-1, of_code(c, lambda code: code >= 2), 0)(h, c),
        "the rank does not get smaller",
    ),
    "a goal has a rank": (
        lambda h, c: put(-1, of_code(c, lambda code: code == 0), 1)(h, c),
        "is a goal and has a rank|the rank does not get smaller",
    ),
    "a goal is said to be none": (
        lambda h, c: put(-2, of_code(c, lambda code: code == 0), 2)(h, c),
        "is said to be none",
    ),
    "a state is said to be a goal": (
        lambda h, c: put(-2, of_code(c, lambda code: code >= 2), 0)(h, c),
        "is said to be a goal",
    ),
    "a solvable state is said to be a dead end": (
        lambda h, c: put(-2, of_code(c, lambda code: code >= 2), 1)(h, c),
        "is not a dead end",
    ),
    "a dead end is said to be solved": (
        lambda h, c: put(-2, of_code(c, lambda code: code == 1), 2)(h, c),
        "does not apply|to none that reaches the goal",
    ),
    "an operator that does not exist": (
        lambda h, c: put(-2, of_code(c, lambda code: code >= 2), 250)(h, c),
        "the task has no operator number 248",
    ),
    "an operator that does not apply": (
        lambda h, c: put(-2, 0, max(c[-2]) - 1)(h, c),
        "does not apply",
    ),
    "a value that is none": (put(0, 0, 200), "has a value that is none of its own"),
    "a state stands twice": (
        lambda h, c: (h, with_row(c, *(column[0] for column in c))),
        "a state stands twice",
    ),
    "the digest of the task": (changed_header("task.digest", "0" * 64), "it is about another task"),
    "the name of a variable": (
        changed_header("columns.0.name", "x"),
        "the variables are not those of the task",
    ),
}


@pytest.mark.parametrize("name", PLANNING_DAMAGE)
def test_damage_of_ranks_is_refused(name: str) -> None:
    change, reason = PLANNING_DAMAGE[name]
    header, columns = taken_apart(spanner()[1])
    report = check_task(put_together(*change(copy.deepcopy(header), copy.deepcopy(columns))))
    assert not report.valid
    assert any(part in report.reason for part in reason.split("|")), report.reason


def test_the_certificate_of_the_whole_task_is_valid() -> None:
    assert check_task(spanner()[1]).valid


def test_a_certificate_without_a_known_scope_is_refused() -> None:
    header, columns = taken_apart(spanner()[1])
    header["from"] = "somewhere"
    with pytest.raises(CheckError, match="which states it is about"):
        check_task(put_together(header, columns))


def test_a_task_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, content = spanner()
    (tmp_path / "task.sas").write_bytes(task.sas)
    (tmp_path / "reaches.proof").write_bytes(content)
    assert main([str(tmp_path / "reaches.proof"), str(tmp_path / "task.sas")]) == 0
    assert "VALID the policy reaches the goal" in capsys.readouterr().out


@pytest.mark.parametrize("said", [{}, [], None, 1, "some"])
def test_which_states_it_is_about(said: object) -> None:
    header, columns = taken_apart(spanner()[1])
    with pytest.raises(CheckError):
        check_task(put_together({**header, "from": said}, columns))
