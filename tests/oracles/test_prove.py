"""Proofs on planning tasks: every reachable state, the policy's own run, dead ends, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from misstep.errors import UsageError
from misstep.faults.prove import check_certificate, prove
from misstep.oracles.prove import ReachSettings
from misstep.safety.prove import ProveSettings
from misstep.tasks.task import Task
from support.prove import put_together, taken_apart
from support.small import task_of
from support.tasks import sas
from support.unsteady import PLANNING as UNSTEADY


def test_an_optimal_policy_is_proven() -> None:
    task = task_of("gripper", balls=2)
    proof = prove(task, "optimal")
    assert (proof.verdict, proof.exit_code, proof.hopeless) == ("PROVEN", 0, 0)
    assert proof.checked is not None
    assert proof.checked.valid
    assert proof.certificate is not None
    assert check_certificate(proof.certificate, task, "optimal").valid
    report = check_certificate(proof.certificate, task, "first")
    assert "its digest differs" in report.reason


@pytest.mark.parametrize("low", [0, -(2**63) - 1, -(2**64) + 16])
def test_the_policy_is_asked_again_wherever_columns_count_from(low: int) -> None:
    """The values are those of the task, and the numbers in the file need not fit into a number with a sign."""
    task = task_of("gripper", balls=2)
    certificate = prove(task, "optimal").certificate
    assert certificate is not None
    header, columns = taken_apart(certificate)
    columns[0] = [number + header["columns"][0]["low"] - low for number in columns[0]]
    header["columns"][0] |= {"low": low, "width": 8}
    assert check_certificate(put_together(header, columns), task, "optimal").valid


def test_a_failing_state_is_reported() -> None:
    task = task_of("gripper", balls=2)
    proof = prove(task, "first")
    assert (proof.verdict, proof.exit_code) == ("BUG", 1)
    finding = proof.finding
    assert finding is not None
    assert finding.outcome in ("loop", "stuck")
    assert finding.avoidable
    state = finding.state
    for name in finding.plan:
        state = task.apply(state, task.resolve(name, state))
    assert task.is_goal(state)


def test_the_scope_runs_covers_the_policy_s_own_run() -> None:
    task = task_of("gripper", balls=2)
    proof = prove(task, "optimal", ReachSettings(scope="runs"))
    assert proof.verdict == "PROVEN"
    assert proof.checked is not None
    assert proof.checked.states == proof.states == proof.asked + 1
    assert prove(task, "first", ReachSettings(scope="runs")).verdict == "BUG"


def test_states_without_a_plan_are_no_bugs() -> None:
    task = Task(sas([2, 2], [0, 0], [(1, 1)], ["0\n1\n0 0 0 1\n1"]).encode())
    proof = prove(task, "first")
    assert (proof.verdict, proof.hopeless) == ("PROVEN", 2)
    assert proof.checked is not None
    assert proof.checked.valid
    proof = prove(task, "first", ReachSettings(scope="runs"))
    assert (proof.verdict, proof.exit_code) == ("NOT A BUG", 1)
    assert proof.finding is not None
    assert proof.finding.avoidable is False


def test_a_proof_that_reaches_a_limit_gives_no_answer() -> None:
    task = task_of("gripper", balls=3)
    proof = prove(task, "optimal", ReachSettings(max_states=10))
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "states", 22)
    proof = prove(task, "first", ReachSettings(time_limit=1e-9))
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "time", 20)


def test_a_crash_or_ctrl_c_gives_no_answer() -> None:
    task = task_of("gripper", balls=1)

    def crash(_: Any) -> None:
        raise ValueError("no idea")

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    proof = prove(task, crash)
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "crash", 11)
    assert "no idea" in proof.reason
    proof = prove(task, stop)
    assert (proof.verdict, proof.end, proof.exit_code) == ("UNKNOWN", "interrupted", 23)


def test_crashes_are_not_counted_as_failing_states() -> None:
    task = task_of("gripper", balls=1)

    def policy(state: Any) -> None:
        if state.state != task.initial_state:
            raise ValueError("no idea")

    proof = prove(task, policy)
    assert (proof.verdict, proof.failing) == ("BUG", 1)
    assert proof.states > 2


def test_an_unsteady_policy_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(UNSTEADY)
    task = task_of("gripper", balls=1)
    for name in ("Liar", "Declared"):
        proof = prove(task, f"python:{tmp_path}/agents.py:{name}")
        assert proof.verdict == "FLAKY", (name, proof.reason)
        assert proof.exit_code == 13


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="scope is 'here'"):
        ReachSettings(scope="here")
    with pytest.raises(UsageError, match="for models"):
        prove(task_of("gripper", balls=1), "first", ProveSettings())
