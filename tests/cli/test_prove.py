"""`misstep prove`: exit codes, certificates on the disk, checking them, bad usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.tasks.generate import generate
from misstep.tasks.models import generate_model, write_model
from support.commands import result_of, run

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    write_model(generate_model("bouncing-ball", horizon=5), path := tmp_path / "ball.jani")
    return path


def test_a_proof_and_its_check(ball: Path, tmp_path: Path) -> None:
    proof = tmp_path / "safe.proof"
    options = (ball, "--property", "sampled")
    found = result_of("prove", *options, "--policy", "first", "--certificate", proof)
    assert (found["verdict"], found["certificate"]) == ("PROVEN", str(proof))
    assert found["checked"]["valid"]
    assert found["certificate_bytes"] == proof.stat().st_size
    assert result_of("prove", *options, "--check", proof)["valid"]
    assert result_of("prove", *options, "--check", proof, "--policy", "first")["asked_again"]
    other = result_of("prove", *options, "--check", proof, "--policy", "random:1", code=35)
    assert "its digest differs" in other["reason"]
    # Without the property the task is another one.
    assert (
        "the digest of the task differs"
        in result_of("prove", ball, "--check", proof, code=35)["reason"]
    )


def test_what_is_printed(ball: Path, capsys: Captured) -> None:
    assert run("prove", ball, "--property", "sampled", "--policy", "first") == 0
    text = capsys.readouterr().out
    assert text.startswith("PROVEN: no run of the policy from a start is ever unsafe")
    assert "VALID" in text


def test_starts_that_cannot_be_listed(ball: Path) -> None:
    found = result_of("prove", ball, "--policy", "first", code=10)
    assert found["verdict"] == "UNKNOWN"
    assert "a real variable is free" in found["reason"]


def test_a_bug(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "beluga.jani"
    write_model(generate_model("beluga", racks=1, lines="0/1", swaps=4), path)
    found = result_of("prove", path, "--policy", "random:1", code=1)
    assert found["verdict"] == "BUG"
    assert found["finding"]["avoidable"]
    steps, states = found["finding"]["run"]["steps"], found["finding"]["run"]["states"]
    assert len(states) == len(steps) + 1
    assert run("prove", path, "--policy", "random:1") == 1
    text = capsys.readouterr().out
    assert text.startswith(
        "BUG: the policy gets into an unsafe state from a start that can be kept safe"
    )
    assert "could it be avoided: yes" in text
    assert (
        result_of("prove", path, "--policy", "first", "--max-states", "5", code=22)["end"]
        == "states"
    )


def test_a_planning_task(tmp_path: Path, capsys: Captured) -> None:
    generate("gripper", balls=1).write(tmp_path)
    proof = tmp_path / "reaches.proof"
    found = result_of("prove", tmp_path, "--policy", "optimal", "--certificate", proof)
    assert found["verdict"] == "PROVEN"
    assert result_of("prove", tmp_path, "--check", proof, "--policy", "optimal")["valid"]
    assert result_of("prove", tmp_path, "--policy", "first", code=1)["finding"]["avoidable"]
    assert run("prove", tmp_path, "--policy", "first") == 1
    assert "a plan: (" in capsys.readouterr().out
    assert result_of("prove", tmp_path, "--policy", "optimal", "--from", "runs")["method"] == "runs"


def test_starts_that_nobody_can_save(tmp_path: Path) -> None:
    path = tmp_path / "line.jani"
    model = generate_model("one-way-line", cells=6, packages=2, vmax=3, drop=True, ice="3")
    write_model(model, path)
    found = result_of("prove", path, "--policy", "first", code=1)
    assert (found["verdict"], found["hopeless"]) == ("NOT A BUG", 21)
    found = result_of("prove", path, "--policy", "first", "--leave-out-hopeless", code=1)
    assert "nothing to prove" in found["reason"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--policy is missing"),
        (["--policy", "first", "--from", "runs"], "--from has no meaning here"),
        (["--policy", "first", "--ask", "never"], "--ask never"),
        (["--policy", "first", "--time", "0"], "--time is 0"),
        (
            ["--policy", "first", "--check", "x", "--certificate", "y"],
            "--certificate has no meaning",
        ),
        (["--policy", "first", "--max-states", "-1"], "--max-states is -1"),
    ],
)
def test_bad_usage(options: list[str], message: str, ball: Path, capsys: Captured) -> None:
    assert run("prove", ball, *options) == 2
    assert message in capsys.readouterr().err


def test_options_of_models_on_a_planning_task(tmp_path: Path, capsys: Captured) -> None:
    generate("gripper", balls=1).write(tmp_path)
    assert run("prove", tmp_path, "--policy", "first", "--ask", "all") == 2
    assert "--ask has no meaning here" in capsys.readouterr().err
    assert run("prove", tmp_path, "--policy", "first", "--from", "here") == 2
    assert "--from here" in capsys.readouterr().err


def test_files_that_are_no_certificates(ball: Path, tmp_path: Path, capsys: Captured) -> None:
    assert run("prove", ball, "--check", tmp_path / "nothing") == 30
    assert run("prove", ball, "--check", ball) == 31
    assert f"--check {ball}: this is not a certificate" in capsys.readouterr().err
    generate("gripper", balls=1).write(tmp_path / "task")
    proof = tmp_path / "reaches.proof"
    assert run("prove", tmp_path / "task", "--policy", "optimal", "--certificate", proof) == 0
    assert run("prove", ball, "--check", proof) == 2
    assert "the certificate is about a planning" in capsys.readouterr().err


def test_a_certificate_replaces_certificates_only(
    ball: Path, tmp_path: Path, capsys: Captured
) -> None:
    """This is found out before the work, which may take hours."""
    mine, proof = tmp_path / "mine.py", tmp_path / "safe.proof"
    mine.write_text("def policy(state): ...\n")
    proving = ("prove", ball, "--property", "sampled", "--policy", "first", "--certificate")
    assert run(*proving, mine) == 30
    assert "the file exists and is not a certificate" in capsys.readouterr().err
    assert mine.read_text() == "def policy(state): ...\n"
    assert run(*proving, tmp_path / "none" / "safe.proof") == 30
    shown = capsys.readouterr()
    assert "there is no such folder" in shown.err
    assert not shown.out
    assert run(*proving, proof) == run(*proving, proof) == 0
